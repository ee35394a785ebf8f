import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { OUTCOME_NAMES } from '../../src/core/reasons.ts';
import {
  LEDGER_BODY_KINDS,
  LEDGER_FORMAT_VERSION,
  LEDGER_PATH_BYTES_MAX,
  LEDGER_ROBOTS_STATES,
  LedgerEncoder,
  LedgerReader,
  type LedgerReadOptions,
  type LedgerRecord,
  type LedgerStart,
  ledgerBodyParts,
  ledgerHash,
  PEER_IS_ADDRESS,
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
const hex = (digits: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${digits}}$`));
const chain = fc.tuple(hex(64), hex(64)).map(([blocks, tail]) => `${blocks}:${tail}`);
const header = fc.record(
  {
    kind: fc.constant('header' as const),
    opens: fc.boolean(),
    commitSeq: fc.maxSafeNat(),
    prior: fc.record({ segment: u32, length: fc.maxSafeNat(), chain }, { noNullPrototype: true }),
    shard: u32,
    bootId: ascii,
    monoMs: ms,
    epochMs: ms,
    configVersion: ascii,
    agent: fc.string(),
  },
  {
    noNullPrototype: true,
    requiredKeys: ['kind', 'opens', 'commitSeq', 'shard', 'bootId', 'monoMs', 'epochMs', 'configVersion', 'agent'],
  },
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
    peer: fc.oneof(fc.ipV4(), fc.constant(PEER_IS_ADDRESS)),
    isFinal: fc.constant(true),
  },
  { noNullPrototype: true, requiredKeys: ['kind', 'lease', 'durationMs', 'status', 'outcome', 'bodyBytes'] },
);
const body = fc.record(
  {
    kind: fc.constant('body' as const),
    what: fc.constantFrom(...LEDGER_BODY_KINDS),
    hash: hex(16),
    part: fc.nat(0xffff),
    parts: fc.nat(0xffff),
    bytes: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  },
  { noNullPrototype: true },
);
const robots = fc.record(
  {
    kind: fc.constant('robots' as const),
    origin: ascii,
    state: fc.constantFrom(...LEDGER_ROBOTS_STATES),
    hops: fc.nat(255),
    status: fc.nat(0xffff),
    epochMs: ms,
    validMs: u32,
    hash: hex(16),
  },
  { noNullPrototype: true, requiredKeys: ['kind', 'origin', 'state', 'hops', 'status', 'epochMs', 'validMs'] },
);
const mark = fc.record(
  { kind: fc.constant('mark' as const), commitSeq: fc.maxSafeNat(), monoMs: ms, epochMs: ms, chain },
  { noNullPrototype: true },
);
const anyRecord: fc.Arbitrary<LedgerRecord> = fc.oneof(header, start, end, body, robots, mark);

function encodeAll(records: readonly LedgerRecord[]): { bytes: Buffer; ends: number[] } {
  const encoder = new LedgerEncoder();
  const frames: Buffer[] = [];
  const ends = [0];
  for (const record of records) {
    const frame = encoder.encode(record);
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
  const cut = { path: path.slice(0, LEDGER_PATH_BYTES_MAX), pathCut: true, pathHash: ledgerHash(path) };
  assert.deepEqual(read, { ...START, ...cut, gapOwedMs: 0xffff_ffff });
});

test('a ledger of a newer format is refused by name', () => {
  const { bytes } = encodeAll([
    { kind: 'header', opens: true, commitSeq: 0, shard: 1, bootId: 'b', monoMs: 1, epochMs: 2, configVersion: 'c', agent: 'a' },
  ]);
  bytes[7] = LEDGER_FORMAT_VERSION + 1;
  bytes.writeUInt32LE(crc32(bytes.subarray(0, bytes.length - 4)), bytes.length - 4);
  assert.throws(() => readAll(bytes), { code: 'PORTOLAN_STATE_NEWER' });
});

test('a header of format 1 opens a shard, and has no commit to name', () => {
  // As format 1 wrote it: magic, format, shard, mono, wall, boot id, configuration version, agent.
  const payload = Buffer.alloc(4 + 1 + 4 + 8 + 8);
  payload.writeUInt32LE(0x4c50_4f50, 0);
  payload[4] = 1;
  payload.writeUInt32LE(7, 5);
  payload.writeDoubleLE(12.5, 9);
  payload.writeDoubleLE(99, 17);
  const whole = Buffer.concat([payload, Buffer.from('\x01b\x01c\x01\x00a', 'latin1')]);
  const head = Buffer.from([whole.length, 0, 1]);
  const crc = Buffer.alloc(4);
  crc.writeUInt32LE(crc32(Buffer.concat([head, whole])));
  const { records } = readAll(Buffer.concat([head, whole, crc]));
  const rest = { shard: 7, monoMs: 12.5, epochMs: 99, bootId: 'b', configVersion: 'c', agent: 'a' };
  assert.deepEqual(records, [{ kind: 'header', opens: true, commitSeq: -1, ...rest }]);
});

test('a body in parts comes back whole, and one that is too long leaves its hash', () => {
  const bytes = Buffer.alloc(150_000, 'User-agent: *\n');
  const parts = [...ledgerBodyParts('robots', bytes)];
  const { records } = readAll(encodeAll(parts).bytes);
  assert.deepEqual(Buffer.concat(records.map((record) => (record.kind === 'body' ? record.bytes : NOTHING))), bytes);
  assert.ok(records.every((record) => record.kind === 'body' && record.parts === 3 && record.hash === ledgerHash(bytes)));
  const [long, ...more] = [...ledgerBodyParts('blocklist', Buffer.alloc(3_000_000))];
  assert.deepEqual([long?.parts, long?.bytes.length, more.length], [0, 0, 0]);
});

const NOTHING = Buffer.alloc(0);
