import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import fc from 'fast-check';
import { decodeBody } from '../../src/fetch/content-coding.ts';

const LIMITS = { maxBodyBytes: 1_000_000, maxWireBytes: 1_000_000 };
const CODERS: Record<string, (bytes: Uint8Array) => Buffer> = {
  gzip: (bytes) => zlib.gzipSync(bytes),
  deflate: (bytes) => zlib.deflateSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: (bytes) => zlib.zstdCompressSync(bytes),
};
/** Bytes that compress a little, so that coded and plain sizes are of one order. */
const noisyText = (size: number): Buffer =>
  Buffer.from(Array.from({ length: size }, (_, index) => 32 + ((index * index * 31 + index) % 90)));

test('R-I2 decoding what was coded gives it back, for each coding and each pair of them', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 40_000 }),
      fc.constantFrom(...Object.keys(CODERS)),
      fc.constantFrom('', ...Object.keys(CODERS)),
      (bytes, first, second) => {
        const once = CODERS[first]?.(bytes) ?? bytes;
        const coded = CODERS[second]?.(once) ?? once;
        const decoded = decodeBody(coded, [second === '' ? first : `${first} , ${second}`], true, LIMITS);
        assert.equal(decoded.state, 'whole');
        assert.ok(Buffer.from(bytes).equals(decoded.bytes));
      },
    ),
    { numRuns: 150 },
  );
});

test('R-I2 beyond the cap exactly its first bytes are kept, for every coding and every size around it', () => {
  const text = noisyText(60_000);
  for (const [coding, code] of Object.entries(CODERS)) {
    const coded = code(text);
    for (const maxBodyBytes of [1, 63, 64, 1_000, 16_383, 16_384, 16_385, 40_000, 59_999]) {
      const decoded = decodeBody(coded, [coding], true, { ...LIMITS, maxBodyBytes });
      assert.deepEqual([decoded.state, decoded.bytes.length], ['cut', maxBodyBytes], `${coding} ${maxBodyBytes}`);
      assert.ok(text.subarray(0, maxBodyBytes).equals(decoded.bytes), `${coding} ${maxBodyBytes}`);
    }
    for (const maxBodyBytes of [60_000, 60_001])
      assert.equal(decodeBody(coded, [coding], true, { ...LIMITS, maxBodyBytes }).state, 'whole', coding);
  }
});

test('R-I2 a stacked bomb is bounded at each stage', () => {
  const inner = zlib.gzipSync(Buffer.alloc(50_000_000));
  const decoded = decodeBody(zlib.gzipSync(inner), ['gzip, gzip'], true, { maxBodyBytes: 10_000, maxWireBytes: 60_000 });
  assert.deepEqual([decoded.state, decoded.bytes.length], ['cut', 10_000]);
});

test('R-I2 a stream cut anywhere gives a beginning of its text', () => {
  const text = noisyText(50_000);
  for (const coding of ['gzip', 'deflate', 'br'] as const) {
    const coded = CODERS[coding]?.(text) ?? text;
    fc.assert(
      fc.property(fc.integer({ min: 20, max: coded.length - 1 }), fc.boolean(), (size, isWhole) => {
        const decoded = decodeBody(coded.subarray(0, size), [coding], isWhole, LIMITS);
        assert.equal(decoded.state, 'short');
        assert.ok(text.subarray(0, decoded.bytes.length).equals(decoded.bytes));
      }),
      { numRuns: 40 },
    );
  }
});

test('R-I2 gzip as servers send it: many members, garbage or zeros behind, extra fields, a lying length', () => {
  const text = noisyText(30_000);
  const gzip = zlib.gzipSync(text);
  const withFields = Buffer.concat([
    Buffer.from([0x1f, 0x8b, 8, 4 | 8 | 16 | 2, 0, 0, 0, 0, 0, 3, 3, 0, 1, 2, 3]),
    Buffer.from('name\0comment\0'),
    Buffer.from([0, 0]),
  ]);
  const extended = Buffer.concat([withFields, gzip.subarray(10), Buffer.from('<!-- cached -->')]);
  const check = (name: string, body: Buffer, expected: Buffer): void => {
    const decoded = decodeBody(body, ['gzip'], true, LIMITS);
    assert.deepEqual([decoded.state, decoded.bytes.length], ['whole', expected.length], name);
    assert.ok(expected.equals(decoded.bytes), name);
  };
  check('members', Buffer.concat([gzip, gzip]), Buffer.concat([text, text]));
  check('garbage', Buffer.concat([gzip, Buffer.from('<!-- cached -->')]), text);
  check('zeros', Buffer.concat([gzip, Buffer.alloc(20)]), text);
  check('fields and garbage', extended, text);
  for (const claimed of [0, 1, 0x7fffffff, 0xffffffff]) {
    const lying = Buffer.from(gzip);
    lying.writeUInt32LE(claimed, lying.length - 4);
    assert.equal(decodeBody(lying, ['gzip'], true, LIMITS).bytes.length % text.length, 0, String(claimed));
  }
});

test('R-I2 a checksum that does not fit is damage', () => {
  const gzip = zlib.gzipSync(noisyText(5_000));
  gzip.writeUInt32LE(gzip.readUInt32LE(gzip.length - 8) ^ 1, gzip.length - 8);
  assert.deepEqual(decodeBody(gzip, ['gzip'], true, LIMITS).state, 'damaged');
});

test('R-I2 arbitrary bytes under any coding never throw and never pass the cap', () => {
  const codings = fc.constantFrom('gzip', 'deflate', 'br', 'zstd', 'compress', 'gzip, br', 'br, br, br', 'x', '');
  const gzipLike = fc.uint8Array({ maxLength: 200 }).map((bytes) => Uint8Array.from([0x1f, 0x8b, 8, ...bytes]));
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), gzipLike), codings, fc.boolean(), (bytes, coding, isWhole) => {
      assert.ok(decodeBody(bytes, [coding], isWhole, { maxBodyBytes: 100, maxWireBytes: 100 }).bytes.length <= 100);
    }),
    { numRuns: 2_000 },
  );
});

test('R-I2 a zstd frame that wants a window over 8 MB is refused before the memory is given', () => {
  const params = { [zlib.constants.ZSTD_c_windowLog]: 27, [zlib.constants.ZSTD_c_compressionLevel]: 1 };
  const wide = zlib.zstdCompressSync(Buffer.alloc(20_000_000), { params, pledgedSrcSize: 20_000_000 });
  assert.equal(decodeBody(wide, ['zstd'], true, { maxBodyBytes: 30_000_000, maxWireBytes: 1_000_000 }).state, 'damaged');
});
