/**
 * One immutable run on disk: sorted keys in 4 KB blocks, with its filter and fences in memory (PROTOCOL section 7).
 *
 * Invariant: `mayHold` never denies a key of the run, `holds` is exact. At open length, footer, filter and fences are checked; a block is
 * checked each time it is read. Whatever fails throws SeenDamaged.
 * A look-up costs the filter's probes; a "maybe" costs a binary search of the fences and one read of 4 KB.
 */
import { crc32 } from 'node:zlib';
import type { Disk, DiskFile } from '../ports/disk.ts';
import { BloomFilter } from './bloom.ts';
import { type RunEntry, SeenDamaged } from './manifest.ts';
import {
  BLOCK_BYTES,
  BLOCK_KEYS,
  BLOCK_WORDS,
  bytesOf,
  compareKeys,
  decodeFooter,
  FOOTER_BYTES,
  footerCrc,
  type RunFooter,
  runBytes,
} from './run-format.ts';
import type { WrittenRun } from './run-writer.ts';

const READ_AHEAD_BLOCKS = 16;
const READ_BYTES = 1_048_576;

export class Run {
  readonly entry: RunEntry;
  readonly #file: DiskFile;
  readonly #filter: BloomFilter | undefined;
  readonly #fences: Uint32Array;
  readonly #block = new Uint32Array(BLOCK_WORDS);
  readonly #blockBytes = bytesOf(this.#block);
  readonly #blockChecked = bytesOf(this.#block.subarray(1));

  private constructor(entry: RunEntry, file: DiskFile, filter: BloomFilter | undefined, fences: Uint32Array) {
    this.entry = entry;
    this.#file = file;
    this.#filter = filter;
    this.#fences = fences;
  }

  /** `filterBytesMax`: a larger filter stays on disk, and each look-up of this run then reads a block. */
  static open(disk: Disk, dir: string, entry: RunEntry, filterBytesMax: number): Run {
    const path = `${dir}/${entry.name}`;
    if (!disk.exists(path)) throw new SeenDamaged(`run ${entry.name} is missing`);
    if (disk.size(path) !== entry.bytes) throw new SeenDamaged(`run ${entry.name} has ${disk.size(path)} bytes instead of ${entry.bytes}`);
    const file = disk.openRead(path);
    try {
      const footer = readFooter(file, entry);
      const filter = readFilter(file, footer, entry.name, filterBytesMax);
      return new Run(entry, file, filter, readFences(file, footer, entry.name));
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Opens a run that was just written, without reading it again. */
  static openWritten(disk: Disk, dir: string, written: WrittenRun, filterBytesMax: number): Run {
    const keep = written.filter.bytes <= filterBytesMax;
    const file = disk.openRead(`${dir}/${written.entry.name}`);
    return new Run(written.entry, file, keep ? written.filter : undefined, written.fences);
  }

  get filterBytes(): number {
    return this.#filter?.bytes ?? 0;
  }

  get hasFilter(): boolean {
    return this.#filter !== undefined;
  }

  get memoryBytes(): number {
    return this.filterBytes + this.#fences.byteLength + BLOCK_BYTES;
  }

  /** Share of the filter's bits that are set; 0 without a filter. */
  filterFill(): number {
    return this.#filter?.fill() ?? 0;
  }

  mayHold(hi: number, lo: number): boolean {
    return this.#filter === undefined || this.#filter.has(hi, lo);
  }

  /** Exact; reads one block. Halves unsigned. */
  holds(hi: number, lo: number): boolean {
    const index = lastAtOrBelow(this.#fences, 0, this.#fences.length / 2, hi, lo);
    if (index < 0) return false;
    const block = this.#block;
    const got = this.#file.readAt(this.#blockBytes, index * BLOCK_BYTES, BLOCK_BYTES);
    if (got !== BLOCK_BYTES) throw new SeenDamaged(`run ${this.entry.name} ends inside block ${index}`);
    const keys = checkBlock(block, this.#blockChecked, this.entry.name, index);
    const at = 2 + 2 * lastAtOrBelow(block, 2, keys, hi, lo);
    return at >= 2 && block[at] === lo && block[at + 1] === hi;
  }

  cursor(): RunCursor {
    return new RunCursor(this.#file, this.entry.name, this.#fences.length / 2);
  }

  close(): void {
    this.#file.close();
  }
}

/** All keys of a run in order, 64 KB at a time. Starts at the first key. */
export class RunCursor {
  hi = 0;
  lo = 0;
  done = false;
  readonly #file: DiskFile;
  readonly #name: string;
  readonly #blocks: number;
  readonly #buffer = new Uint32Array(READ_AHEAD_BLOCKS * BLOCK_WORDS);
  #block = -1;
  #key = 0;
  #keysInBlock = 0;

  constructor(file: DiskFile, name: string, blocks: number) {
    this.#file = file;
    this.#name = name;
    this.#blocks = blocks;
    this.next();
  }

  next(): void {
    if (this.#key === this.#keysInBlock && !this.#nextBlock()) {
      this.done = true;
      return;
    }
    const at = (this.#block % READ_AHEAD_BLOCKS) * BLOCK_WORDS + 2 + this.#key * 2;
    this.lo = this.#buffer[at]!;
    this.hi = this.#buffer[at + 1]!;
    this.#key++;
  }

  #nextBlock(): boolean {
    this.#block++;
    if (this.#block >= this.#blocks) return false;
    const inBuffer = this.#block % READ_AHEAD_BLOCKS;
    if (inBuffer === 0) this.#fill();
    const words = this.#buffer.subarray(inBuffer * BLOCK_WORDS, (inBuffer + 1) * BLOCK_WORDS);
    this.#keysInBlock = checkBlock(words, bytesOf(words.subarray(1)), this.#name, this.#block);
    this.#key = 0;
    return true;
  }

  #fill(): void {
    const wanted = Math.min(READ_AHEAD_BLOCKS, this.#blocks - this.#block) * BLOCK_BYTES;
    const got = this.#file.readAt(bytesOf(this.#buffer), this.#block * BLOCK_BYTES, wanted);
    if (got !== wanted) throw new SeenDamaged(`run ${this.#name} ends after ${this.#block * BLOCK_BYTES + got} bytes`);
  }
}

/** Number of keys in the block; `checked` is what its CRC covers. Throws SeenDamaged when its CRC or its count is wrong. */
function checkBlock(block: Uint32Array, checked: Uint8Array, name: string, index: number): number {
  const keys = block[1]!;
  const good = keys >= 1 && keys <= BLOCK_KEYS && crc32(checked) === block[0];
  if (!good) throw new SeenDamaged(`block ${index} of run ${name} fails its check`);
  return keys;
}

/** Index of the last of `count` ascending keys, (lo, hi) words from `start`, that is not above the key; −1 when all are. */
function lastAtOrBelow(words: Uint32Array, start: number, count: number, hi: number, lo: number): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = start + middle * 2;
    if (compareKeys(words[at + 1]!, words[at]!, hi, lo) <= 0) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function readFooter(file: DiskFile, entry: RunEntry): RunFooter {
  const bytes = new Uint8Array(FOOTER_BYTES);
  readFully(file, bytes, entry.bytes - FOOTER_BYTES, entry.name);
  const footer = decodeFooter(bytes);
  if (footer === undefined) throw new SeenDamaged(`the footer of run ${entry.name} fails its check`);
  const same = footerCrc(bytes) === entry.crc && runBytes(footer) === entry.bytes && footer.keys === entry.keys;
  if (!same) throw new SeenDamaged(`run ${entry.name} is not the one that the manifest names`);
  return footer;
}

function readFilter(file: DiskFile, footer: RunFooter, name: string, bytesMax: number): BloomFilter | undefined {
  if (footer.filterWords * 4 > bytesMax) return undefined;
  const words = new Uint32Array(footer.filterWords);
  readFully(file, bytesOf(words), footer.blocks * BLOCK_BYTES, name);
  if (crc32(bytesOf(words)) !== footer.filterCrc) throw new SeenDamaged(`the filter of run ${name} fails its check`);
  return new BloomFilter(words, footer.hashes);
}

function readFences(file: DiskFile, footer: RunFooter, name: string): Uint32Array {
  const fences = new Uint32Array(footer.blocks * 2);
  readFully(file, bytesOf(fences), footer.blocks * BLOCK_BYTES + footer.filterWords * 4, name);
  if (crc32(bytesOf(fences)) !== footer.fencesCrc) throw new SeenDamaged(`the fences of run ${name} fail their check`);
  return fences;
}

function readFully(file: DiskFile, into: Uint8Array, offset: number, name: string): void {
  for (let at = 0; at < into.length; ) {
    const got = file.readAt(into.subarray(at), offset + at, Math.min(READ_BYTES, into.length - at));
    if (got === 0) throw new SeenDamaged(`run ${name} ends after ${offset + at} bytes`);
    at += got;
  }
}
