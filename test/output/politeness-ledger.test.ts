import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { OUTCOME_NAMES } from '../../src/core/reasons.ts';
import {
  LEDGER_PATH_BYTES_MAX,
  LedgerEncoder,
  LedgerReader,
  type LedgerReadOptions,
  type LedgerRecord,
  type LedgerStart,
  wholeFramesLength,
} from '../../src/output/politeness-ledger.ts';

const START: LedgerStart = {
  kind: 'start',
  lease: 1,
  what: 'page',
  scheme: 'https',
  hostKey: 'w.example:8443',
  path: '/a?b=c',
  address: '192.0.2.7',
  gapOwedMs: 1_000,
  gapRule: 'crawl-delay',
  robotsHash: '0123456789abcdef',
  monoMs: 12.25,
  epochMs: 1_767_000_000_000,
};

const ascii = fc.stringMatching(/^[!-~]{0,60}$/);
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const ms = fc.double({ min: 0, max: 1e13, noNaN: true });
const header = fc.record(
  { kind: fc.constant('header' as const), shard: u32, bootId: ascii, monoMs: ms, epochMs: ms, configVersion: ascii, agent: fc.string() },
  { noNullPrototype: true },
);
const start = fc.record(
  {
    kind: fc.constant('start' as const),
    lease: fc.maxSafeNat(),
    what: fc.constantFrom('page' as const, 'robots' as const),
    scheme: fc.constantFrom('http' as const, 'https' as const),
    hostKey: ascii,
    path: fc.oneof(
      ascii,
      fc.string({ maxLength: 200 }).map((s) => s.toWellFormed()),
    ),
    address: fc.ipV6(),
    gapOwedMs: u32,
    gapRule: ascii,
    robotsHash: fc.stringMatching(/^[0-9a-f]{16}$/),
    monoMs: ms,
    epochMs: ms,
  },
  {
    noNullPrototype: true,
    requiredKeys: ['kind', 'lease', 'what', 'scheme', 'hostKey', 'path', 'address', 'gapOwedMs', 'gapRule', 'monoMs', 'epochMs'],
  },
);
const end = fc.record(
  {
    kind: fc.constant('end' as const),
    lease: fc.maxSafeNat(),
    durationMs: ms,
    status: fc.integer({ min: 0, max: 65_535 }),
    retryAfterMs: u32,
    owedMs: u32,
    outcome: fc.constantFrom(...OUTCOME_NAMES, 'aborted' as const),
    bodyBytes: fc.maxSafeNat(),
  },
  { noNullPrototype: true, requiredKeys: ['kind', 'lease', 'durationMs', 'status', 'outcome', 'bodyBytes'] },
);
const anyRecord: fc.Arbitrary<LedgerRecord> = fc.oneof(header, start, end);

function encodeAll(records: readonly LedgerRecord[]): { bytes: Buffer; ends: number[] } {
  const encoder = new LedgerEncoder();
  const frames: Buffer[] = [];
  const ends = [0];
  for (const record of records) {
    const frame = record.kind === 'header' ? encoder.header(record) : record.kind === 'start' ? encoder.start(record) : encoder.end(record);
    frames.push(Buffer.from(frame));
    ends.push(ends.at(-1)! + frame.length);
  }
  return { bytes: Buffer.concat(frames), ends };
}

function readAll(bytes: Uint8Array, options?: LedgerReadOptions): { records: LedgerRecord[]; goodLength: number; tornBytes: number } {
  const reader = new LedgerReader(bytes, options);
  return { records: [...reader], goodLength: reader.goodLength, tornBytes: reader.tornBytes };
}

test('R-C8 property: decode(encode(x)) = x for any records in any order', () => {
  fc.assert(
    fc.property(fc.array(anyRecord, { maxLength: 12 }), (records) => {
      const { bytes } = encodeAll(records);
      assert.deepEqual(readAll(bytes), { records, goodLength: bytes.length, tornBytes: 0 });
    }),
  );
});

test('a ledger cut anywhere gives every whole record and tells the good length', () => {
  const records = [START, { ...START, lease: 2 }, { ...START, lease: 3 }];
  const { bytes, ends } = encodeAll(records);
  for (let length = 0; length <= bytes.length; length++) {
    const whole = ends.findLastIndex((at) => at <= length);
    const read = readAll(bytes.subarray(0, length));
    assert.deepEqual(read, { records: records.slice(0, whole), goodLength: ends[whole], tornBytes: length - ends[whole]! });
  }
});

test('zeros that a power cut left at the end are a torn end', () => {
  const { bytes } = encodeAll([START]);
  const read = readAll(Buffer.concat([bytes, Buffer.alloc(500)]));
  assert.equal(read.goodLength, bytes.length);
  assert.equal(read.tornBytes, 500);
});

test('a flipped byte anywhere before the last frame never passes unnoticed', () => {
  const records = [START, { ...START, lease: 2 }, { ...START, lease: 3 }];
  const { bytes, ends } = encodeAll(records);
  fc.assert(
    fc.property(fc.nat(ends[2]! - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      const damaged = Buffer.from(bytes);
      damaged[at]! ^= flip;
      assert.throws(() => readAll(damaged, { durableLength: bytes.length }), { code: 'PORTOLAN_STATE_DAMAGED' });
    }),
  );
});

test('offline a wrong checksum with records behind it is damage, not a torn end', () => {
  const { bytes, ends } = encodeAll([START, START]);
  bytes[ends[1]! - 1]! ^= 1;
  assert.throws(() => readAll(bytes), { code: 'PORTOLAN_STATE_DAMAGED' });
});

test('behind what was made durable the first bad frame is the end, before it a cut frame is damage', () => {
  const { bytes, ends } = encodeAll([START, START, START]);
  bytes[ends[2]! - 1]! ^= 1;
  assert.equal(readAll(bytes, { durableLength: ends[1]! }).goodLength, ends[1]);
  assert.throws(() => readAll(bytes, { durableLength: ends[2]! }), { code: 'PORTOLAN_STATE_DAMAGED' });
  assert.throws(() => readAll(bytes.subarray(0, ends[1]! - 1), { durableLength: ends[1]! }), { code: 'PORTOLAN_STATE_DAMAGED' });
});

test('the torn end that is cut at open begins where the last whole frame ends', () => {
  const { bytes, ends } = encodeAll([START, START, START]);
  const read = (offset: number, length: number) => bytes.subarray(offset, offset + length);
  assert.equal(wholeFramesLength(read, ends[1]!, bytes.length), bytes.length);
  assert.equal(wholeFramesLength(read, ends[1]!, bytes.length - 1), ends[2]);
});

test('a path over its bound is cut and says so, a number over its field is clamped', () => {
  const path = `/${'x'.repeat(LEDGER_PATH_BYTES_MAX)}`;
  const [read] = readAll(encodeAll([{ ...START, path, gapOwedMs: 1e12 }]).bytes).records;
  assert.deepEqual(read, { ...START, path: path.slice(0, LEDGER_PATH_BYTES_MAX), pathCut: true, gapOwedMs: 0xffff_ffff });
});

test('a ledger of a newer format is refused by name', () => {
  const { bytes } = encodeAll([{ kind: 'header', shard: 1, bootId: 'b', monoMs: 1, epochMs: 2, configVersion: 'c', agent: 'a' }]);
  bytes[7] = 2;
  bytes.writeUInt32LE(crc32(bytes.subarray(0, bytes.length - 4)), bytes.length - 4);
  assert.throws(() => readAll(bytes), { code: 'PORTOLAN_STATE_NEWER' });
});
