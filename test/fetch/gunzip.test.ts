import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { decodeBody } from '../../src/fetch/content-coding.ts';
import { BodyGunzip } from '../../src/fetch/gunzip.ts';

const CAP = 1_000_000;
const page = (bytes: number): Buffer => Buffer.from('<p>words and words '.repeat(Math.ceil(bytes / 19))).subarray(0, bytes);

test('one engine inflates body after body as gunzipSync does, short and long, and none changes an earlier one', () => {
  const gunzip = new BodyGunzip();
  const bodies = [0, 1, 100, 45_000, 131_072, 131_073, 700_000, CAP].map((bytes) => gzipSync(page(bytes)));
  bodies.push(gzipSync(randomBytes(200_000)), Buffer.concat([gzipSync(page(10)), gzipSync(page(20))]));
  const inflated = [...bodies, ...bodies].map((body) => gunzip.all(body, CAP));
  for (const [i, body] of [...bodies, ...bodies].entries())
    assert.deepEqual(Buffer.from(inflated[i] ?? 'none'), gunzipSync(body), `body ${i}`);
});

test('what is not simple is left to others, and the next body inflates all the same', () => {
  const gunzip = new BodyGunzip();
  const whole = gzipSync(page(45_000));
  const flipped = Buffer.from(whole);
  flipped[40]! ^= 0x55;
  const hard: Record<string, Buffer> = {
    'cut off': whole.subarray(0, -20),
    'without its trailer': whole.subarray(0, -8),
    'over the cap': gzipSync(page(CAP + 1)),
    damaged: flipped,
    'garbage behind': Buffer.concat([whole, Buffer.from('<!-- garbage -->')]),
    'no gzip': page(500),
    empty: Buffer.alloc(0),
  };
  for (const [name, body] of Object.entries(hard)) {
    assert.equal(gunzip.all(body, CAP), undefined, name);
    assert.deepEqual(gunzip.all(whole, CAP), page(45_000), `after ${name}`);
  }
});

test('a body decodes to the same with and without the kept engine', () => {
  const quick = new BodyGunzip();
  const whole = gzipSync(page(45_000));
  const bodies = [
    whole,
    whole.subarray(0, 200),
    Buffer.concat([whole, Buffer.from('xx')]),
    gzipSync(page(CAP * 3)),
    page(500),
    Buffer.concat([whole, whole]),
  ];
  for (const isWhole of [true, false]) {
    for (const body of bodies) {
      const limits = { maxBodyBytes: CAP, maxWireBytes: CAP };
      const [a, b] = [decodeBody(body, ['gzip'], isWhole, limits), decodeBody(body, ['gzip'], isWhole, limits, quick)];
      assert.deepEqual({ ...b, bytes: Buffer.from(b.bytes) }, { ...a, bytes: Buffer.from(a.bytes) });
    }
  }
});
