/** One question to the index: the hash asked for, the best answer so far, and what it cost. Reused, so that a probe makes no object. */
import { hammingDistance } from './simhash.ts';

/** Entries looked at per table and segment. Only a cluster that should not be in the index (see NearIndex) reaches it. */
export const ENTRIES_MAX = 16_384;
/** Words of an entry: hash hi, hash lo, id low, id high. */
export const ENTRY_WORDS = 4;
export const ENTRY_BYTES = ENTRY_WORDS * 4;
const TWO_32 = 4_294_967_296;

export class NearProbe {
  hi = 0;
  lo = 0;
  /** Best distance so far; one more than asked for while nothing is found. */
  distance = 0;
  id = -1;
  /** Entries that share the kept bits, counted once for each table. */
  candidates = 0;
  truncated = false;

  start(hi: number, lo: number, maxDistance: number): void {
    this.hi = hi | 0;
    this.lo = lo | 0;
    this.distance = maxDistance + 1;
    this.id = -1;
    this.candidates = 0;
    this.truncated = false;
  }

  /** Takes the entry at word `at` into account. Nearest wins, then the smallest id. */
  offer(entries: Uint32Array, at: number): void {
    this.candidates++;
    const distance = hammingDistance(entries[at]!, entries[at + 1]!, this.hi, this.lo);
    if (distance > this.distance) return;
    const id = entryId(entries, at);
    if (distance < this.distance || (this.id >= 0 && id < this.id)) {
      this.distance = distance;
      this.id = id;
    }
  }
}

export function entryId(entries: Uint32Array, at: number): number {
  return entries[at + 3]! * TWO_32 + entries[at + 2]!;
}

export function putEntry(entries: Uint32Array, at: number, hi: number, lo: number, id: number): void {
  entries[at] = hi;
  entries[at + 1] = lo;
  entries[at + 2] = id % TWO_32;
  entries[at + 3] = Math.floor(id / TWO_32);
}
