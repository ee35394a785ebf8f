import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createRandom } from '../../../src/adapters/node/random.ts';
import { PortolanError } from '../../../src/core/errors.ts';

test('the same seed gives the same sequence, another seed another, high words included', () => {
  const draw = (seed: number) => {
    const random = createRandom(seed);
    return [random.next(), random.int(1_000_000), random.uuid()];
  };
  fc.assert(fc.property(fc.maxSafeInteger(), (seed) => assert.deepEqual(draw(seed), draw(seed))));
  const seeds = [0, 1, -1, 2 ** 32, 2 ** 33, 2 ** 32 + 1];
  assert.equal(new Set(seeds.map((seed) => draw(seed).join())).size, seeds.length);
});

test('the sequence of a seed does not change between versions: recorded simulations rest on it', () => {
  const random = createRandom(42);
  assert.deepEqual([random.int(1_000_000), random.int(1_000_000), random.int(1_000_000)], [936618, 415751, 32624]);
});

test('an integer lies below its bound, up to 2^31, and every value comes', () => {
  const random = createRandom(1);
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 ** 31 }), (below) => {
      const drawn = random.int(below);
      assert.ok(Number.isInteger(drawn) && drawn >= 0 && drawn < below);
    }),
  );
  const seen = new Set(Array.from({ length: 200 }, () => random.int(6)));
  assert.deepEqual([...seen].sort(), [0, 1, 2, 3, 4, 5]);
  for (const bad of [0, -1, 1.5, 2 ** 31 + 1]) assert.throws(() => random.int(bad), PortolanError);
});

test('numbers fill [0, 1) evenly', () => {
  const random = createRandom(5);
  const buckets = new Array<number>(16).fill(0);
  for (let i = 0; i < 160_000; i++) {
    const drawn = random.next();
    assert.ok(drawn >= 0 && drawn < 1);
    buckets[Math.floor(drawn * 16)]! += 1;
  }
  for (const count of buckets) assert.ok(Math.abs(count - 10_000) < 500, `${buckets}`);
});

test('RFC 9562 section 5.4: a uuid is of version 4, and without a seed no two generators agree', () => {
  const uuids = new Set<string>();
  for (let i = 0; i < 200; i++) {
    const random = createRandom();
    for (const uuid of [random.uuid(), random.uuid()]) {
      assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      uuids.add(uuid);
    }
  }
  assert.equal(uuids.size, 400);
});
