/**
 * The file of one run, version 1. All numbers little-endian; Int32Array and Uint32Array views are used on the bytes, so the machine must be too.
 *
 *   blocks   4,096 B each: CRC-32 of the other 4,092 bytes, number of keys, then up to 511 keys as 64-bit numbers, ascending; rest zero
 *   filter   the run's own Bloom filter, 32-bit words
 *   fences   first key of each block, 64-bit numbers
 *   footer   64 B: magic, version, level, keys (64-bit float), blocks, filter words, hashes, CRC of filter, CRC of fences, zeros, CRC of the 60 bytes before
 *
 * Invariant: written once, front to back, never changed. Length and footer must agree to the byte, so a cut file is noticed at open.
 */
import { crc32 } from 'node:zlib';

export const BLOCK_BYTES = 4_096;
export const BLOCK_WORDS = BLOCK_BYTES / 4;
export const BLOCK_KEYS = 511;
export const FOOTER_BYTES = 64;
const MAGIC = 0x4e54_5250; // "PRTN"
const VERSION = 1;

export interface RunFooter {
  readonly level: number;
  readonly keys: number;
  readonly blocks: number;
  readonly filterWords: number;
  readonly hashes: number;
  readonly filterCrc: number;
  readonly fencesCrc: number;
}

export function encodeFooter(footer: RunFooter): Uint8Array {
  const bytes = new Uint8Array(FOOTER_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, VERSION, true);
  view.setUint32(8, footer.level, true);
  view.setFloat64(16, footer.keys, true);
  view.setUint32(24, footer.blocks, true);
  view.setUint32(28, footer.filterWords, true);
  view.setUint32(32, footer.hashes, true);
  view.setUint32(36, footer.filterCrc, true);
  view.setUint32(40, footer.fencesCrc, true);
  view.setUint32(60, crc32(bytes.subarray(0, 60)), true);
  return bytes;
}

/** Undefined when the bytes are no footer of this version or fail their CRC. */
export function decodeFooter(bytes: Uint8Array): RunFooter | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(60, true) !== crc32(bytes.subarray(0, 60))) return undefined;
  if (view.getUint32(0, true) !== MAGIC || view.getUint32(4, true) !== VERSION) return undefined;
  return {
    level: view.getUint32(8, true),
    keys: view.getFloat64(16, true),
    blocks: view.getUint32(24, true),
    filterWords: view.getUint32(28, true),
    hashes: view.getUint32(32, true),
    filterCrc: view.getUint32(36, true),
    fencesCrc: view.getUint32(40, true),
  };
}

export function footerCrc(encoded: Uint8Array): number {
  return new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength).getUint32(60, true);
}

export function runBytes(footer: RunFooter): number {
  return footer.blocks * BLOCK_BYTES + footer.filterWords * 4 + footer.blocks * 8 + FOOTER_BYTES;
}

/** −1, 0 or 1 for two unsigned 64-bit keys given as unsigned halves. */
export function compareKeys(aHi: number, aLo: number, bHi: number, bLo: number): number {
  if (aHi !== bHi) return aHi < bHi ? -1 : 1;
  if (aLo !== bLo) return aLo < bLo ? -1 : 1;
  return 0;
}

export function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}
