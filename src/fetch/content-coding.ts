/**
 * Undoes content codings in memory, bounded (R-I2): gzip, deflate in both its forms, br, zstd, and two of them stacked.
 *
 * Invariant: never more than the cap is inflated, whatever the body claims; what lies beyond is left off and reported as `cut`.
 * Everything is synchronous. Web servers get codings wrong in known ways, and this room is lenient exactly there: a body that is not coded
 * although the header says so is taken as it is, a stream that ends early gives what decodes, garbage after a whole gzip member is ignored.
 * A damaged stream is `damaged` and gives nothing: half-decoded noise must not pass for text.
 */
import zlib from 'node:zlib';

export interface Decoded {
  readonly bytes: Uint8Array;
  /** `whole`; `cut`: the cap was reached; `short`: the stream ended before its end; `damaged`: no bytes. */
  readonly state: 'whole' | 'cut' | 'short' | 'damaged';
  /** Why it is damaged; otherwise empty. */
  readonly detail: string;
}

export interface DecodeLimits {
  /** Bytes of the decoded body at most. */
  readonly maxBodyBytes: number;
  /** Bytes between two stacked codings at most. */
  readonly maxWireBytes: number;
}

/** Inflates a gzip body that is whole and in order, all of it; undefined for any other (gunzip.ts). */
export interface QuickGunzip {
  all(body: Uint8Array, maxBytes: number): Uint8Array | undefined;
}

type Coding = 'gzip' | 'deflate' | 'br' | 'zstd';

/** Nearly every coded page. */
const GZIP_ALONE: readonly Coding[] = ['gzip'];
/** More than two codings on one body is nobody's page. */
const CODINGS_MAX = 2;
/** RFC 9659: a zstd frame of the web needs no window over 8 MB; more would be memory that the sender chooses. */
const ZSTD_WINDOW_LOG_MAX = 23;
const CHUNK_BYTES_MIN = 16 * 1024;
/** deflate cannot expand more than this (zlib.net, technical details), so a trailer that claims more lies. */
const DEFLATE_RATIO_MAX = 1_032;

/** The codings of a Content-Encoding value, in the order in which they were applied; `undefined` for one that cannot be undone. */
export function parseCodings(values: readonly string[]): readonly (Coding | undefined)[] {
  if (values.length === 1 && values[0] === 'gzip') return GZIP_ALONE;
  return values
    .flatMap((value) => value.toLowerCase().split(','))
    .map((token) => token.trim())
    .filter((token) => !isNoCoding(token))
    .map(toCoding);
}

/** True when `values` name at least one coding to undo. */
export function isCoded(values: readonly string[]): boolean {
  return values.length > 0 && parseCodings(values).length > 0;
}

/**
 * Decodes a body. `values` are those of Content-Encoding; `isWhole` is false when the body was cut or broken off on the wire, so that an
 * early end of the stream is no surprise. `quick` is asked first about gzip.
 */
export function decodeBody(
  body: Uint8Array,
  values: readonly string[],
  isWhole: boolean,
  limits: DecodeLimits,
  quick?: QuickGunzip,
): Decoded {
  const codings = values.length === 0 ? [] : parseCodings(values);
  if (body.length === 0) return { bytes: body, state: 'whole', detail: '' };
  if (quick !== undefined && codings === GZIP_ALONE && isWhole && isGzip(body)) {
    const bytes = quick.all(body, limits.maxBodyBytes);
    if (bytes !== undefined) return { bytes, state: 'whole', detail: '' };
  }
  if (codings.length > CODINGS_MAX) return damaged(`${codings.length} content codings`);
  let result: Decoded = { bytes: body, state: 'whole', detail: '' };
  for (let index = codings.length - 1; index >= 0; index -= 1) {
    const cap = index === 0 ? limits.maxBodyBytes : limits.maxWireBytes;
    const step = decodeOne(result.bytes, codings[index], isWhole && result.state === 'whole', cap);
    if (step.state === 'damaged') return step;
    result = { bytes: step.bytes, state: step.state === 'whole' ? result.state : step.state, detail: '' };
  }
  return capped(result, limits.maxBodyBytes);
}

/** Tokens that are met in the wild and name no coding: nothing, `identity`, and whatever else is not a coding at all (a charset, …). */
function isNoCoding(token: string): boolean {
  return toCoding(token) === undefined && token !== 'compress' && token !== 'x-compress';
}

function toCoding(token: string): Coding | undefined {
  switch (token) {
    case 'gzip':
    case 'x-gzip':
      return 'gzip';
    case 'deflate':
    case 'x-deflate':
      return 'deflate';
    case 'br':
    case 'zstd':
      return token;
    default:
      return undefined;
  }
}

function decodeOne(bytes: Uint8Array, coding: Coding | undefined, isWhole: boolean, cap: number): Decoded {
  switch (coding) {
    case 'gzip':
      if (!isGzip(bytes)) return { bytes, state: 'whole', detail: '' };
      return decodeGzip(bytes, isWhole, cap);
    case 'deflate':
      return orPlain(bytes, decodeDeflate(bytes, isWhole, cap));
    case 'br':
      return orPlain(bytes, run(BROTLI, bytes, isWhole, cap, guessChunk(bytes, cap)));
    case 'zstd':
      return orPlain(bytes, run(ZSTD, bytes, isWhole, cap, guessChunk(bytes, cap)));
    case undefined:
      return orPlain(bytes, damaged('the content coding is not supported'));
  }
}

/** RFC 1952 section 2.3.1. */
function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

/** What zlib has for one format: a bounded call that gives all or throws, and the engine behind it for the first `cap` bytes of more. */
interface Format {
  readonly sync: (bytes: Uint8Array, options: zlib.ZlibOptions) => Buffer;
  readonly engine: (options: zlib.ZlibOptions) => object;
  /** Flush flag that takes the end of the input for a pause. */
  readonly lenientFlush: number;
  readonly options: object;
}

const GZIP: Format = { sync: zlib.gunzipSync, engine: zlib.createGunzip, lenientFlush: zlib.constants.Z_SYNC_FLUSH, options: {} };
const ZLIB: Format = { ...GZIP, sync: zlib.inflateSync, engine: zlib.createInflate };
const RAW: Format = { ...GZIP, sync: zlib.inflateRawSync, engine: zlib.createInflateRaw };
const BROTLI: Format = {
  sync: zlib.brotliDecompressSync,
  engine: zlib.createBrotliDecompress,
  lenientFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
  options: {},
};
const ZSTD: Format = {
  sync: zlib.zstdDecompressSync as Format['sync'],
  engine: zlib.createZstdDecompress as Format['engine'],
  lenientFlush: zlib.constants.ZSTD_e_flush,
  options: { params: { [zlib.constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG_MAX } },
};

function decodeGzip(bytes: Uint8Array, isWhole: boolean, cap: number): Decoded {
  const result = run(GZIP, bytes, isWhole, cap, gzipChunk(bytes, cap));
  return result.state === 'damaged' ? (withoutGarbage(bytes, cap) ?? result) : result;
}

/** RFC 9110 means the zlib wrapper by `deflate`; many servers send the bare stream. */
function decodeDeflate(bytes: Uint8Array, isWhole: boolean, cap: number): Decoded {
  const [b0 = 0, b1 = 0] = bytes;
  const looksWrapped = (b0 & 0x0f) === 8 && ((b0 << 8) | b1) % 31 === 0; // RFC 1950 section 2.2
  if (looksWrapped) {
    const wrapped = run(ZLIB, bytes, isWhole, cap, guessChunk(bytes, cap));
    if (wrapped.state !== 'damaged') return wrapped;
  }
  return run(RAW, bytes, isWhole, cap, guessChunk(bytes, cap));
}

/** The usual case is the first line: one call, one buffer, all of it. Each failure costs one more call. */
function run(format: Format, bytes: Uint8Array, isWhole: boolean, cap: number, chunkSize: number): Decoded {
  const base = { ...format.options, chunkSize: Math.max(64, chunkSize), maxOutputLength: Math.max(1, cap) };
  try {
    if (isWhole) return { bytes: format.sync(bytes, base), state: 'whole', detail: '' };
    return { bytes: format.sync(bytes, { ...base, finishFlush: format.lenientFlush }), state: 'short', detail: '' };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ERR_BUFFER_TOO_LARGE') return firstBytes(format, bytes, cap);
    if (code === 'Z_BUF_ERROR' && isWhole) return run(format, bytes, false, cap, chunkSize);
    return damaged((error as Error).message);
  }
}

/**
 * The first `cap` bytes of a stream that has more. No documented call of zlib gives them synchronously: its engine is given one output
 * buffer of cap + 1 bytes and told to stop beyond `cap`; it then throws, and the buffer is full. A test holds this against each Node line.
 */
function firstBytes(format: Format, bytes: Uint8Array, cap: number): Decoded {
  const size = Math.max(CHUNK_BYTES_MIN, cap + 1);
  const engine = format.engine({ ...format.options, chunkSize: size, maxOutputLength: size - 1 }) as {
    _processChunk?: (chunk: Uint8Array, flush: number) => Uint8Array;
    _outBuffer?: Uint8Array;
    on: (event: 'error', listener: () => void) => void;
    destroy: () => void;
  };
  engine.on('error', () => {});
  try {
    const all = engine._processChunk?.(bytes, format.lenientFlush);
    return all === undefined
      ? damaged('over the cap, and its beginning cannot be had')
      : { bytes: all.subarray(0, cap), state: 'cut', detail: '' };
  } catch (error) {
    const full = engine._outBuffer;
    if ((error as NodeJS.ErrnoException).code !== 'ERR_BUFFER_TOO_LARGE' || full?.length !== size) return damaged((error as Error).message);
    return { bytes: full.subarray(0, cap), state: 'cut', detail: '' };
  } finally {
    engine.destroy();
  }
}

/**
 * A whole gzip member with garbage behind it: the bare stream inside says where it ends, and the member's own checksum says whether it is
 * what was sent. Undefined when it is not.
 */
function withoutGarbage(bytes: Uint8Array, cap: number): Decoded | undefined {
  const start = gzipHeaderSize(bytes);
  if (start === undefined) return undefined;
  try {
    const options = { chunkSize: guessChunk(bytes, cap), maxOutputLength: cap, info: true } as zlib.ZlibOptions;
    const { buffer, engine } = zlib.inflateRawSync(bytes.subarray(start), options) as unknown as {
      buffer: Buffer;
      engine: { bytesWritten: number };
    };
    const end = start + engine.bytesWritten;
    if (end + 8 > bytes.length || readUint32(bytes, end) !== zlib.crc32(buffer)) return undefined;
    return { bytes: buffer, state: 'whole', detail: '' };
  } catch {
    return undefined;
  }
}

/** RFC 1952 section 2.3; undefined when the header is not whole. */
function gzipHeaderSize(bytes: Uint8Array): number | undefined {
  const flags = bytes[3] ?? 0;
  let at = 10;
  if ((flags & 4) !== 0) at += 2 + (bytes[at] ?? 0) + (bytes[at + 1] ?? 0) * 256;
  for (const flag of [8, 16]) {
    if ((flags & flag) === 0) continue;
    const zero = bytes.indexOf(0, at);
    if (zero === -1) return undefined;
    at = zero + 1;
  }
  if ((flags & 2) !== 0) at += 2;
  return at < bytes.length ? at : undefined;
}

/** A gzip trailer says how long the output is (modulo 2^32): with one buffer of that size nothing is copied. Believed within reason. */
function gzipChunk(bytes: Uint8Array, cap: number): number {
  const claimed = bytes.length < 18 ? 0 : readUint32(bytes, bytes.length - 4);
  const isPossible = claimed <= bytes.length * DEFLATE_RATIO_MAX;
  return isPossible ? Math.min(Math.max(claimed, CHUNK_BYTES_MIN), cap) + 1 : guessChunk(bytes, cap);
}

function guessChunk(bytes: Uint8Array, cap: number): number {
  return Math.max(CHUNK_BYTES_MIN, Math.min(bytes.length * 4, cap + 1));
}

function readUint32(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)) >>> 0;
}

function capped(result: Decoded, cap: number): Decoded {
  return result.bytes.length <= cap ? result : { bytes: result.bytes.subarray(0, cap), state: 'cut', detail: '' };
}

/** br has no mark at its beginning, so what fails to decode and reads like text is text that nobody coded. */
function orPlain(bytes: Uint8Array, result: Decoded): Decoded {
  return result.state === 'damaged' && looksLikeText(bytes) ? { bytes, state: 'whole', detail: '' } : result;
}

/** No control characters but white space in the first 256 bytes; coded data has one in 32 bytes or so. */
function looksLikeText(bytes: Uint8Array): boolean {
  return bytes.subarray(0, 256).every((byte) => byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0x1b);
}

function damaged(detail: string): Decoded {
  return { bytes: new Uint8Array(0), state: 'damaged', detail };
}
