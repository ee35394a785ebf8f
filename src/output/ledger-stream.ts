/**
 * Reads one segment of the politeness ledger in windows, so that a ledger of any size is judged in little memory, and works out the chained
 * hash of the bytes as it goes (segment-chain.ts).
 *
 * Invariant: the records come in the order of the file, each once, with the place of its frame. `tornBytes` says what is left at the end: an
 * unfinished write, or zeros. A bad frame with whole frames behind it is damage (PORTOLAN_STATE_DAMAGED).
 */
import { type LedgerHeader, LedgerReader, type LedgerRecord } from './politeness-ledger.ts';
import { SegmentChain } from './segment-chain.ts';
import type { ReadBytes } from './segment-writer.ts';

const WINDOW_BYTES = 1 << 20;
/** A frame is never longer. */
const FRAME_BYTES_MAX = 3 + 0xffff + 4;

export interface LedgerItem {
  readonly record: LedgerRecord;
  /** Offset of the frame, and of its end. */
  readonly from: number;
  readonly to: number;
}

/** The headers of one segment, read in windows. Ends at the torn end; throws as LedgerReader does. */
export function* ledgerHeaders(read: ReadBytes, length: number): Iterable<LedgerHeader> {
  for (let at = 0; at < length; ) {
    const window = read(at, Math.min(WINDOW_BYTES, length - at));
    const isLast = at + window.length >= length;
    const reader = new LedgerReader(window, isLast ? {} : { durableLength: 0 });
    yield* reader.headers();
    if (isLast || reader.goodLength === 0) return;
    at += reader.goodLength;
  }
}

export class LedgerStream {
  readonly #read: ReadBytes;
  readonly #length: number;
  readonly #chain = new SegmentChain();
  #window: Uint8Array = new Uint8Array(0);
  #chained = 0;
  /** Offset of the window, and of the end of the last whole frame. */
  #at = 0;
  #good = 0;

  constructor(read: ReadBytes, length: number) {
    this.#read = read;
    this.#length = length;
  }

  get tornBytes(): number {
    return this.#length - this.#good;
  }

  /** Chained hash of the bytes up to `to`: the end, or the beginning, of the record that was read last. */
  chainTo(to: number): string {
    this.#chain.update(this.#window.subarray(this.#chained - this.#at, to - this.#at));
    this.#chained = to;
    return this.#chain.text();
  }

  *items(): Iterable<LedgerItem> {
    while (this.#good < this.#length) {
      this.#fill();
      const isLast = this.#at + this.#window.length >= this.#length;
      const reader = new LedgerReader(this.#window, isLast ? {} : { durableLength: 0 });
      const before = this.#good;
      for (const record of reader) {
        const from = this.#good;
        this.#good = this.#at + reader.goodLength;
        yield { record, from, to: this.#good };
      }
      if (isLast) break;
      // A frame that does not end in so many bytes ends nowhere: let the reader say so.
      if (this.#good === before && this.#window.length >= FRAME_BYTES_MAX)
        void [...new LedgerReader(this.#window.subarray(0, FRAME_BYTES_MAX))];
    }
    this.chainTo(this.#good);
  }

  /** The next window begins at the end of the last whole frame. */
  #fill(): void {
    if (this.#good > this.#chained) this.#chain.update(this.#window.subarray(this.#chained - this.#at, this.#good - this.#at));
    this.#chained = this.#good;
    this.#at = this.#good;
    this.#window = this.#read(this.#at, Math.min(WINDOW_BYTES, this.#length - this.#at));
  }
}
