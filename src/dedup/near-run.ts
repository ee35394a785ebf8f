/**
 * A part of the index on disk: every table is the list of all entries (16 B each) ordered by bucket, which is the leading bits of the table key.
 * In memory stay the start of each bucket and, for sparse layouts, one bit for each of 8 · n leading parts of the key: most probes end there.
 *
 * Never synced and never trusted after a restart: the index is rebuilt from the page rows. Made in steps by generators (`spill`, `merge`),
 * a step being about a millisecond, so that nobody waits long; a generator that is given up removes its file.
 */
import type { Disk, DiskFile } from '../ports/disk.ts';
import { ENTRIES_MAX, ENTRY_BYTES, ENTRY_WORDS, type NearProbe } from './near-probe.ts';
import type { NearSegment } from './near-segment.ts';
import { type NearLayout, type TableMask, tableKey } from './near-tables.ts';

const ENTRIES_PER_BUCKET = 64;
const BITMAP_BITS_PER_ENTRY = 8;
const STEP_ENTRIES = 4_096;
const READ_ENTRIES = 256;

/** Where a run is written, and whether there is room for its bitmaps. */
export interface NearRunPlace {
  readonly disk: Disk;
  readonly path: string;
  readonly level: number;
  readonly bitmapBytesMax: number;
}

export class NearRun {
  readonly layout: NearLayout;
  readonly level: number;
  readonly count: number;
  readonly bucketBits: number;
  /** For each table the position of the first entry of each bucket, and at the end the number of entries. */
  readonly starts: readonly Uint32Array[];
  readonly #place: NearRunPlace;
  readonly #file: DiskFile;
  readonly #bitmaps: readonly Bitmap[] | undefined;
  readonly #buffer = new Uint32Array(READ_ENTRIES * ENTRY_WORDS);
  readonly #bytes = bytesOf(this.#buffer);

  private constructor(layout: NearLayout, place: NearRunPlace, count: number) {
    this.layout = layout;
    this.level = place.level;
    this.count = count;
    this.bucketBits = Math.min(24, Math.max(1, Math.ceil(Math.log2(count / ENTRIES_PER_BUCKET))));
    this.starts = layout.tables.map(() => new Uint32Array(2 ** this.bucketBits + 1));
    const bitmapBytes = layout.sparse ? layout.tables.length * Bitmap.bytesFor(count) : 0;
    this.#bitmaps = layout.sparse && bitmapBytes <= place.bitmapBytesMax ? layout.tables.map(() => new Bitmap(count)) : undefined;
    this.#place = place;
    place.disk.remove(place.path);
    this.#file = place.disk.openAppend(place.path);
  }

  /** Writes a segment's entries. Returns the run when done. */
  static *spill(segment: NearSegment, place: NearRunPlace): Generator<void, NearRun> {
    const run = new NearRun(segment.layout, place, segment.count);
    let whole = false;
    try {
      const ordered = new Uint32Array(segment.count * ENTRY_WORDS);
      for (let table = 0; table < segment.layout.tables.length; table++) {
        yield* run.#count(table, segment.entries);
        yield* run.#scatter(table, segment.entries, ordered);
        yield* run.#append(ordered);
      }
      whole = true;
      return run;
    } finally {
      if (!whole) run.remove();
    }
  }

  /** Writes the entries of `inputs` (one layout) as one run. They stay as they are. */
  static *merge(inputs: readonly NearRun[], place: NearRunPlace): Generator<void, NearRun> {
    const count = inputs.reduce((sum, input) => sum + input.count, 0);
    const run = new NearRun(inputs[0]!.layout, place, count);
    const coarse = Math.min(
      run.bucketBits,
      ...inputs.map((input) => input.bucketBits),
      Math.ceil(Math.log2(Math.max(2, count / STEP_ENTRIES))),
    );
    let whole = false;
    try {
      for (let table = 0; table < run.layout.tables.length; table++) {
        let position = 0;
        for (let part = 0; part < 2 ** coarse; part++) {
          position = run.#mergePart(table, inputs, coarse, part, position);
          yield;
        }
      }
      whole = true;
      return run;
    } finally {
      if (!whole) run.remove();
    }
  }

  get memoryBytes(): number {
    return this.starts.reduce((sum, starts) => sum + starts.byteLength, 0) + this.bitmapBytes + this.#bytes.length;
  }

  get bitmapBytes(): number {
    return this.#bitmaps?.reduce((sum, bitmap) => sum + bitmap.bytes, 0) ?? 0;
  }

  get diskBytes(): number {
    return this.count * ENTRY_BYTES * this.layout.tables.length;
  }

  /** Returns the number of reads it took. */
  probe(table: number, key: number, probe: NearProbe): number {
    if (this.#bitmaps !== undefined && !this.#bitmaps[table]!.has(key)) return 0;
    const bucket = key >>> (32 - this.bucketBits);
    const from = this.starts[table]![bucket]!;
    const to = this.starts[table]![bucket + 1]!;
    if (to - from > ENTRIES_MAX) probe.truncated = true;
    const end = Math.min(to, from + ENTRIES_MAX);
    let reads = 0;
    for (let at = from; at < end; at += READ_ENTRIES) {
      const count = Math.min(READ_ENTRIES, end - at);
      this.#read(table, at, count, this.#bytes);
      reads++;
      this.#offer(this.layout.tables[table]!, count, probe);
    }
    return reads;
  }

  /** Closes and unlinks: a run is of no use to another process. Idempotent. */
  remove(): void {
    this.#file.close();
    this.#place.disk.remove(this.#place.path);
  }

  #offer(mask: TableMask, count: number, probe: NearProbe): void {
    const entries = this.#buffer;
    for (let at = 0; at < count * ENTRY_WORDS; at += ENTRY_WORDS) {
      const differs = ((entries[at]! ^ probe.hi) & mask.hi) | ((entries[at + 1]! ^ probe.lo) & mask.lo);
      if (differs === 0) probe.offer(entries, at);
    }
  }

  #read(table: number, at: number, count: number, into: Uint8Array): void {
    const offset = (table * this.count + at) * ENTRY_BYTES;
    const wanted = count * ENTRY_BYTES;
    for (let got = 0; got < wanted; ) {
      const more = this.#file.readAt(got === 0 ? into : into.subarray(got), offset + got, wanted - got);
      if (more === 0) throw new Error(`${this.#place.path} is shorter than it was written`);
      got += more;
    }
  }

  *#count(table: number, entries: Uint32Array): Generator<void> {
    const starts = this.starts[table]!;
    for (let from = 0; from < this.count; from += STEP_ENTRIES) {
      const to = Math.min(this.count, from + STEP_ENTRIES);
      for (let entry = from; entry < to; entry++) {
        const bucket = this.#bucketOf(table, entries, entry);
        starts[bucket + 1] = starts[bucket + 1]! + 1;
      }
      yield;
    }
    for (let i = 1; i < starts.length; i++) starts[i] = starts[i]! + starts[i - 1]!;
  }

  *#scatter(table: number, entries: Uint32Array, into: Uint32Array): Generator<void> {
    const next = this.starts[table]!.slice();
    for (let from = 0; from < this.count; from += STEP_ENTRIES) {
      const to = Math.min(this.count, from + STEP_ENTRIES);
      for (let entry = from; entry < to; entry++) {
        const bucket = this.#bucketOf(table, entries, entry);
        copyEntry(entries, entry, into, next[bucket]!);
        next[bucket] = next[bucket]! + 1;
      }
      yield;
    }
  }

  *#append(ordered: Uint32Array): Generator<void> {
    const bytes = bytesOf(ordered);
    for (let at = 0; at < bytes.length; at += STEP_ENTRIES * ENTRY_BYTES) {
      this.#file.append(bytes.subarray(at, at + STEP_ENTRIES * ENTRY_BYTES));
      yield;
    }
  }

  /** Writes what of all inputs falls into one part of the key space; `position` entries of the table are written already. Returns the new position. */
  #mergePart(table: number, inputs: readonly NearRun[], coarse: number, part: number, position: number): number {
    const ranges = inputs.map((input) => input.#range(table, coarse, part));
    const count = ranges.reduce((sum, range) => sum + range.to - range.from, 0);
    const unordered = new Uint32Array(count * ENTRY_WORDS);
    let read = 0;
    for (const [i, { from, to }] of ranges.entries()) {
      inputs[i]!.#read(table, from, to - from, bytesOf(unordered.subarray(read * ENTRY_WORDS, (read + to - from) * ENTRY_WORDS)));
      read += to - from;
    }
    const firstBucket = part * 2 ** (this.bucketBits - coarse);
    const next = this.#countPart(table, unordered, count, firstBucket, 2 ** (this.bucketBits - coarse), position);
    const ordered = new Uint32Array(count * ENTRY_WORDS);
    for (let entry = 0; entry < count; entry++) {
      const bucket =
        (tableKey(this.layout.tables[table]!, unordered[entry * 4]!, unordered[entry * 4 + 1]!) >>> (32 - this.bucketBits)) - firstBucket;
      copyEntry(unordered, entry, ordered, next[bucket]! - position);
      next[bucket] = next[bucket]! + 1;
    }
    this.#file.append(bytesOf(ordered));
    return position + count;
  }

  /** Sets the starts of the part's buckets and returns a copy of them to count on. */
  #countPart(table: number, entries: Uint32Array, count: number, firstBucket: number, buckets: number, position: number): Uint32Array {
    const starts = this.starts[table]!;
    for (let entry = 0; entry < count; entry++) {
      const bucket = this.#bucketOf(table, entries, entry);
      starts[bucket + 1] = starts[bucket + 1]! + 1;
    }
    starts[firstBucket] = position;
    for (let i = firstBucket + 1; i <= firstBucket + buckets; i++) starts[i] = starts[i]! + starts[i - 1]!;
    return starts.slice(firstBucket, firstBucket + buckets);
  }

  #range(table: number, coarse: number, part: number): { readonly from: number; readonly to: number } {
    const buckets = 2 ** (this.bucketBits - coarse);
    return { from: this.starts[table]![part * buckets]!, to: this.starts[table]![(part + 1) * buckets]! };
  }

  /** Also marks the entry's key in the bitmap, as every entry of a run is counted exactly once for each table. */
  #bucketOf(table: number, entries: Uint32Array, entry: number): number {
    const key = tableKey(this.layout.tables[table]!, entries[entry * ENTRY_WORDS]!, entries[entry * ENTRY_WORDS + 1]!);
    this.#bitmaps?.[table]?.add(key);
    return key >>> (32 - this.bucketBits);
  }
}

/** Which leading parts of table keys occur: 8 to 16 bits an entry, so at most one probe in nine for an absent key goes to the disk. */
class Bitmap {
  readonly #words: Uint32Array;
  readonly #shift: number;

  constructor(entries: number) {
    const bits = Bitmap.#bitsFor(entries);
    this.#words = new Uint32Array(2 ** (bits - 5));
    this.#shift = 32 - bits;
  }

  static #bitsFor(entries: number): number {
    return Math.min(31, Math.max(6, Math.ceil(Math.log2(entries * BITMAP_BITS_PER_ENTRY))));
  }

  static bytesFor(entries: number): number {
    return 2 ** (Bitmap.#bitsFor(entries) - 3);
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  add(key: number): void {
    const bit = key >>> this.#shift;
    this.#words[bit >>> 5] = this.#words[bit >>> 5]! | (1 << (bit & 31));
  }

  has(key: number): boolean {
    const bit = key >>> this.#shift;
    return (this.#words[bit >>> 5]! & (1 << (bit & 31))) !== 0;
  }
}

function copyEntry(from: Uint32Array, fromEntry: number, to: Uint32Array, toEntry: number): void {
  const a = fromEntry * ENTRY_WORDS;
  const b = toEntry * ENTRY_WORDS;
  to[b] = from[a]!;
  to[b + 1] = from[a + 1]!;
  to[b + 2] = from[a + 2]!;
  to[b + 3] = from[a + 3]!;
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}
