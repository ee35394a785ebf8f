import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LedgerStream } from '../../src/output/ledger-stream.ts';
import { LedgerEncoder, type LedgerRecord, ledgerBodyParts } from '../../src/output/politeness-ledger.ts';
import { chainOf } from '../../src/output/segment-chain.ts';

/** Over two windows, with frames of very different sizes. */
function manyFrames(): { readonly bytes: Buffer; readonly ends: readonly number[]; readonly records: readonly LedgerRecord[] } {
  const encoder = new LedgerEncoder();
  const records: LedgerRecord[] = [];
  for (let round = 0; round < 20; round++) {
    for (let lease = 0; lease < 100; lease++)
      records.push({ kind: 'end', lease, durationMs: round, status: 200, outcome: 'ok', bodyBytes: 1 });
    records.push(...ledgerBodyParts('robots', Buffer.alloc(110_000, `round ${round}`)));
  }
  const frames = records.map((record) => Buffer.from(encoder.encode(record)));
  const ends = frames.map((_, at) => frames.slice(0, at + 1).reduce((sum, frame) => sum + frame.length, 0));
  return { bytes: Buffer.concat(frames), ends, records };
}

test('a ledger longer than the window gives every record once, at its place, and the chain of its bytes', () => {
  const { bytes, ends, records } = manyFrames();
  const read = (offset: number, length: number) => Uint8Array.from(bytes.subarray(offset, offset + length));
  const stream = new LedgerStream(read, bytes.length);
  let at = 0;
  for (const { record, from, to } of stream.items()) {
    assert.deepEqual({ ...record, ...('bytes' in record ? { bytes: Buffer.from(record.bytes) } : {}) }, { ...records[at] });
    assert.deepEqual([from, to], [ends[at - 1] ?? 0, ends[at]]);
    if (at % 97 === 0) assert.equal(stream.chainTo(to), chainOf(read, to));
    at++;
  }
  assert.equal(at, records.length);
  assert.equal(stream.tornBytes, 0);
  assert.equal(stream.chainTo(bytes.length), chainOf(read, bytes.length));
});

test('a torn end is told, a bad frame with whole frames behind it is damage', () => {
  const { bytes, ends } = manyFrames();
  const over = (part: Uint8Array) => new LedgerStream((offset, length) => part.subarray(offset, offset + length), part.length);
  const torn = over(bytes.subarray(0, bytes.length - 5));
  let records = 0;
  for (const _ of torn.items()) records++;
  assert.deepEqual([records, torn.tornBytes], [ends.length - 1, bytes.length - 5 - ends.at(-2)!]);
  for (const frame of [0, 900, ends.length - 2]) {
    const damaged = Buffer.from(bytes);
    damaged[ends[frame]! - 1]! ^= 1;
    const stream = over(damaged);
    assert.throws(() => [...stream.items()], { code: 'PORTOLAN_STATE_DAMAGED' }, `frame ${frame}`);
  }
});
