/**
 * A series of append-only segments of one shard: WARC, pages.jsonl or the politeness ledger.
 *
 * Life: `openSegments` brings the objects back to what the last commit recorded; then append … sync, again and again; close.
 * `append` copies into one bounded buffer; `flush` hands the buffer to the BlobStore in one call; `sync` makes it durable and gives the mark
 * that belongs into the batch. The mark is taken in the moment `sync` is called: what is appended while it runs belongs to the next.
 * Invariants: a unit given to `append` never spans two segments; a mark only speaks of bytes that were flushed; after any error of the store
 * every further call throws that error (the shard is closed and opened again, PROTOCOL section 1).
 * Not here: what the bytes mean. The series is told how a segment begins (`head`) and where its last whole unit ends (`wholeLength`).
 */
import { assert } from '../core/errors.ts';
import type { BlobStore, BlobWriter } from '../ports/blob-store.ts';
import { chainTailOffset, feedChain, SegmentChain } from './segment-chain.ts';

export const SEGMENT_BUFFER_BYTES = 256 * 1024;
/** Segments that are full and not yet synced: each holds a file descriptor. Reaching it means that nobody commits any more. */
export const SEGMENT_UNSYNCED_COUNT_MAX = 1_024;
const SEGMENT_DIGITS = 5;

export type ReadBytes = (offset: number, length: number) => Uint8Array;

export interface SegmentSeries {
  readonly store: BlobStore;
  /** Names are `<dir>/<prefix>-s<shard>-<nnnnn><suffix>`, numbered from 0. */
  readonly dir: string;
  readonly prefix: string;
  readonly shard: number;
  readonly suffix: string;
  /** A segment that would grow over this many bytes is ended first; one larger unit gets a segment of its own. */
  readonly maxBytes: number;
  /** Bytes held before they are handed to the store. Default SEGMENT_BUFFER_BYTES. */
  readonly bufferBytes?: number;
  /** First bytes of each segment (warcinfo record, ledger header). Counted in its length. `before`: the end of the segment it goes on from. */
  readonly head?: (name: string, segment: number, before: SegmentMark | undefined) => Uint8Array;
  /** End of the last whole unit in the first `length` bytes, `from` being an end of a unit; used on segments whose end is in doubt. */
  readonly wholeLength?: (read: ReadBytes, from: number, length: number) => number;
  /** What lies beyond the mark at open: 'cut' (default) or 'keep' whole units (the ledger, which is replayed). */
  readonly beyond?: 'cut' | 'keep';
  /** Called when a segment is full and the next one begins, with the full one's name. */
  readonly onRotate?: (name: string) => void;
}

/** Where one unit went: the object's name, its first byte and its bytes there. */
export interface SegmentPosition {
  readonly segment: string;
  readonly offset: number;
  readonly length: number;
}

/** What a commit stores of a series. */
export interface SegmentMark {
  readonly segment: number;
  readonly name: string;
  /** Bytes; 0 when the segment has not begun. */
  readonly length: number;
  /** Chained hash of those bytes, see segment-chain.ts. */
  readonly chain: string;
}

/** What opening found and did. */
export interface SegmentOpenReport {
  /** The marked segment has fewer bytes than the mark says: what lay there is lost, `missingBytes` of it. */
  readonly short: boolean;
  readonly missingBytes: number;
  /** The bytes at the mark are there but are not the ones that were committed. */
  readonly damaged: boolean;
  /** End of what can still be believed in the marked segment: the mark's length, or the last whole unit when short. */
  readonly believedBytes: number;
  /** Bytes cut off or removed beyond the mark, or torn. */
  readonly cutBytes: number;
  readonly removedSegments: readonly string[];
  /** With beyond = 'keep': what lies beyond the mark and stays, oldest first. */
  readonly kept: readonly { readonly name: string; readonly from: number; readonly to: number }[];
}

export interface SegmentWriter {
  /**
   * Appends one unit. The bytes are copied: the caller may use its buffer again. `stays`: it goes behind the unit before it, even when the
   * segment is full. Throws PORTOLAN_DISK_*.
   */
  append(bytes: Uint8Array, stays?: boolean): SegmentPosition;
  /** Hands everything appended to the store (for files: to the operating system). */
  flush(): void;
  /** Flushes, makes all of it durable and resolves to the mark of the moment it was called. */
  sync(): Promise<SegmentMark>;
  /** As of the last flush. */
  mark(): SegmentMark;
  /** Bytes appended and not yet flushed. */
  bufferedBytes(): number;
  /** Drops what is not flushed. Idempotent. */
  close(): void;
}

interface Segment {
  readonly number: number;
  readonly name: string;
  readonly chain: SegmentChain;
  /** Bytes flushed. */
  length: number;
  /** Bytes known durable. */
  durable: number;
  writer: BlobWriter | undefined;
}

/** Opens a series at the mark of the last commit, or as new (what is there was never committed) without one. Throws PORTOLAN_DISK_*. */
export function openSegments(
  series: SegmentSeries,
  mark: SegmentMark | undefined,
): { readonly writer: SegmentWriter; readonly report: SegmentOpenReport } {
  const found = new SegmentOpening(series).open(mark);
  return { writer: new BufferedSegmentWriter(series, found.segment, found.unsynced), report: found.report };
}

class BufferedSegmentWriter implements SegmentWriter {
  readonly #series: SegmentSeries;
  readonly #buffer: Uint8Array;
  #buffered = 0;
  #segment: Segment;
  #full: Segment[] = [];
  #before: SegmentMark | undefined;
  #syncing: Promise<void> = Promise.resolve();
  #failure: unknown;
  #open = true;

  constructor(series: SegmentSeries, segment: Segment, unsynced: readonly Segment[]) {
    this.#series = series;
    this.#buffer = new Uint8Array(series.bufferBytes ?? SEGMENT_BUFFER_BYTES);
    this.#segment = segment;
    this.#full = [...unsynced];
  }

  append(bytes: Uint8Array, stays = false): SegmentPosition {
    this.#assertUsable();
    const length = this.#segment.length + this.#buffered;
    if (!stays && length > 0 && length + bytes.length > this.#series.maxBytes) this.#rotate();
    if (this.#segment.length + this.#buffered === 0) this.#begin();
    const offset = this.#segment.length + this.#buffered;
    this.#put(bytes);
    return { segment: this.#segment.name, offset, length: bytes.length };
  }

  flush(): void {
    this.#assertUsable();
    if (this.#buffered === 0) return;
    this.#write(this.#buffer.subarray(0, this.#buffered));
    this.#buffered = 0;
  }

  sync(): Promise<SegmentMark> {
    this.flush();
    const mark = this.mark();
    const current = this.#segment;
    const full = this.#full;
    this.#full = [];
    this.#syncing = this.#syncing.then(() => this.#syncThese(full, current, mark.length));
    return this.#syncing.then(() => mark);
  }

  mark(): SegmentMark {
    const { number, name, length, chain } = this.#segment;
    return { segment: number, name, length, chain: chain.text() };
  }

  bufferedBytes(): number {
    return this.#buffered;
  }

  close(): void {
    this.#open = false;
    for (const segment of [...this.#full, this.#segment]) segment.writer?.close();
    this.#full = [];
  }

  #begin(): void {
    const { head } = this.#series;
    if (head !== undefined) this.#put(head(this.#segment.name, this.#segment.number, this.#before));
  }

  #put(bytes: Uint8Array): void {
    if (this.#buffered + bytes.length > this.#buffer.length) this.flush();
    if (bytes.length > this.#buffer.length) {
      this.#write(bytes);
      return;
    }
    this.#buffer.set(bytes, this.#buffered);
    this.#buffered += bytes.length;
  }

  #write(bytes: Uint8Array): void {
    const segment = this.#segment;
    try {
      segment.writer ??= this.#series.store.open(segment.name);
      assert(segment.writer.length() === segment.length, `${segment.name} is as long as what was written to it`);
      segment.writer.append(bytes);
    } catch (error) {
      this.#failure = error;
      throw error;
    }
    segment.chain.update(bytes);
    segment.length += bytes.length;
  }

  #rotate(): void {
    this.flush();
    assert(this.#full.length < SEGMENT_UNSYNCED_COUNT_MAX, `fewer than ${SEGMENT_UNSYNCED_COUNT_MAX} full segments wait for a sync`);
    const full = this.#segment;
    this.#before = this.mark();
    this.#full.push(full);
    this.#segment = newSegment(this.#series, full.number + 1);
    this.#series.onRotate?.(full.name);
  }

  async #syncThese(full: readonly Segment[], current: Segment, length: number): Promise<void> {
    try {
      await Promise.all([...full, current].map((segment) => (segment.durable < segment.length ? segment.writer?.sync() : undefined)));
    } catch (error) {
      this.#failure = error;
      throw error;
    } finally {
      for (const segment of full) segment.writer?.close();
    }
    current.durable = Math.max(current.durable, length);
  }

  #assertUsable(): void {
    if (this.#failure !== undefined) throw this.#failure;
    assert(this.#open, 'the segment writer is open');
  }
}

/** Brings the objects of a series to the state of a mark; used once per open. */
class SegmentOpening {
  readonly #series: SegmentSeries;
  readonly #removed: string[] = [];
  readonly #kept: { name: string; from: number; to: number }[] = [];
  #cutBytes = 0;

  constructor(series: SegmentSeries) {
    this.#series = series;
  }

  open(mark: SegmentMark | undefined): { segment: Segment; unsynced: readonly Segment[]; report: SegmentOpenReport } {
    const believed = mark === undefined ? NOTHING_COMMITTED : this.#examine(mark);
    const segments = this.#series.beyond === 'keep' ? this.#keep(mark, believed) : [this.#cut(mark, believed)];
    const segment = segments.pop();
    assert(segment !== undefined, 'opening ends with a segment to go on in');
    return { segment, unsynced: segments, report: this.#report(believed) };
  }

  /** Removes what lies beyond the mark; goes on in the marked segment, or in a new one when that is short or damaged. */
  #cut(mark: SegmentMark | undefined, believed: Believed): Segment {
    for (const { number, name } of listSegments(this.#series)) {
      if (number === mark?.segment) this.#cutTo(name, believed.bytes);
      else if (mark === undefined || number > mark.segment) this.#remove(name);
    }
    if (mark === undefined) return newSegment(this.#series, 0);
    return believed.ok ? continueSegment(this.#series, mark) : newSegment(this.#series, mark.segment + 1);
  }

  /** Keeps the whole units beyond the mark. The result is what the next sync has to make durable; its last one is gone on in. */
  #keep(mark: SegmentMark | undefined, believed: Believed): Segment[] {
    const segments: Segment[] = [];
    let last = mark?.segment ?? -1;
    for (const { number, name } of listSegments(this.#series)) {
      if (mark !== undefined && number < mark.segment) continue;
      last = number;
      if (number !== mark?.segment) segments.push(this.#keepBeyond(newSegment(this.#series, number)));
      else if (believed.ok) segments.push(this.#keepBeyond(continueSegment(this.#series, mark)));
      else if (believed.short) this.#cutTo(name, believed.bytes);
      else segments.push(this.#keepBeyond({ ...newSegment(this.#series, number), length: mark.length }));
    }
    const begun = mark !== undefined && believed.ok && mark.length === 0; // named by the mark, but without a file yet
    if (segments.length === 0 && begun) segments.push(newSegment(this.#series, mark.segment));
    else if (segments.length === 0 || (!believed.ok && last === mark?.segment)) segments.push(newSegment(this.#series, last + 1));
    return segments;
  }

  #report(believed: Believed): SegmentOpenReport {
    return {
      short: believed.short,
      missingBytes: believed.missing,
      damaged: !believed.ok && !believed.short,
      believedBytes: believed.bytes,
      cutBytes: this.#cutBytes,
      removedSegments: this.#removed,
      kept: this.#kept,
    };
  }

  /** Compares the marked segment with its mark: length first, then the hash of the tail. */
  #examine(mark: SegmentMark): Believed {
    const { store, wholeLength } = this.#series;
    const actual = store.length(mark.name) ?? 0;
    const read = reader(store, mark.name);
    if (actual < mark.length) {
      const bytes = wholeLength === undefined || actual === 0 ? actual : wholeLength(read, 0, actual);
      return { ok: false, short: true, bytes, missing: mark.length - actual };
    }
    if (continueSegment(this.#series, mark).chain.text() === mark.chain) return { ok: true, short: false, bytes: mark.length, missing: 0 };
    // What is kept is evidence and stays as it is; otherwise what is no longer whole, and what follows it, is given up.
    const bytes = this.#series.beyond === 'keep' || wholeLength === undefined ? mark.length : wholeLength(read, 0, mark.length);
    return { ok: false, short: false, bytes, missing: 0 };
  }

  #keepBeyond(segment: Segment): Segment {
    const { store, wholeLength } = this.#series;
    const from = segment.length;
    const actual = store.length(segment.name) ?? 0;
    const read = reader(store, segment.name);
    const to = actual === from || wholeLength === undefined ? actual : wholeLength(read, from, actual);
    this.#cutTo(segment.name, to);
    if (to === from) return segment;
    this.#kept.push({ name: segment.name, from, to });
    feedChain(segment.chain, read, from, to);
    return { ...segment, length: to, writer: store.open(segment.name) };
  }

  #cutTo(name: string, length: number): void {
    const { store } = this.#series;
    const actual = store.length(name) ?? 0;
    if (actual <= length) return;
    this.#cutBytes += actual - length;
    if (length === 0) store.remove(name);
    else store.cut(name, length);
  }

  #remove(name: string): void {
    this.#cutBytes += this.#series.store.length(name) ?? 0;
    this.#series.store.remove(name);
    this.#removed.push(name);
  }
}

interface Believed {
  readonly ok: boolean;
  readonly short: boolean;
  readonly bytes: number;
  readonly missing: number;
}

/** Without a mark nothing is expected, so nothing is missing. */
const NOTHING_COMMITTED: Believed = { ok: true, short: false, bytes: 0, missing: 0 };

function reader(store: BlobStore, name: string): ReadBytes {
  return (offset, length) => store.read(name, offset, length);
}

function newSegment(series: SegmentSeries, number: number): Segment {
  return { number, name: segmentName(series, number), chain: new SegmentChain(), length: 0, durable: 0, writer: undefined };
}

/** The segment as it stood at the mark, its tail read back from the store. */
function continueSegment(series: SegmentSeries, mark: SegmentMark): Segment {
  const chain = SegmentChain.atLastBlock(mark.chain);
  feedChain(chain, reader(series.store, mark.name), chainTailOffset(mark.length), mark.length);
  return { ...newSegment(series, mark.segment), chain, length: mark.length, durable: mark.length };
}

export function segmentName(series: Pick<SegmentSeries, 'dir' | 'prefix' | 'shard' | 'suffix'>, number: number): string {
  return `${stem(series)}${String(number).padStart(SEGMENT_DIGITS, '0')}${series.suffix}`;
}

function stem(series: Pick<SegmentSeries, 'dir' | 'prefix' | 'shard'>): string {
  return `${series.dir}/${series.prefix}-s${series.shard}-`;
}

/** Segments of the series that exist, in order of their numbers. */
export function listSegments(
  series: Pick<SegmentSeries, 'store' | 'dir' | 'prefix' | 'shard' | 'suffix'>,
): readonly { readonly number: number; readonly name: string }[] {
  const begin = stem(series);
  const segments: { number: number; name: string }[] = [];
  for (const name of series.store.list(begin)) {
    if (!name.endsWith(series.suffix)) continue;
    const digits = name.slice(begin.length, name.length - series.suffix.length);
    if (/^\d{5,9}$/.test(digits)) segments.push({ number: Number(digits), name });
  }
  return segments.sort((a, b) => a.number - b.number);
}
