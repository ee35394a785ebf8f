/**
 * A Bloom filter for a number of keys nobody knows in advance: a chain of filters, each for twice as many keys as the one before
 * (Almeida, Baquero, Preguiça and Hutchison 2007), up to a bound of memory.
 *
 * Invariant: a key that was added is never denied. Beyond the bound nothing is remembered any more and the answer is always "maybe".
 * What it does not do: hash (keys must be uniform), delete, last beyond the process.
 */
import { BloomFilter } from './bloom.ts';

const FIRST_KEYS = 16_384;
const BITS_PER_KEY = 12;
const HASHES = 8;

export class GrowingFilter {
  readonly #bytesMax: number;
  readonly #filters: BloomFilter[] = [];
  #bytes = 0;
  /** Keys the last filter has room for. */
  #room = 0;
  #isFull = false;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(hi: number, lo: number): void {
    if (this.#room === 0 && !this.#isFull) this.#grow();
    if (this.#isFull) return;
    this.#filters.at(-1)!.add(hi, lo);
    this.#room--;
  }

  /** False: never added. */
  mayHave(hi: number, lo: number): boolean {
    return this.#isFull || this.#filters.some((filter) => filter.has(hi, lo));
  }

  #grow(): void {
    const keys = FIRST_KEYS * 2 ** this.#filters.length;
    const filter = BloomFilter.forKeys(keys, BITS_PER_KEY, HASHES);
    this.#bytes += filter.bytes;
    if (this.#bytes > this.#bytesMax) {
      this.#isFull = true;
      this.#filters.length = 0;
      return;
    }
    this.#filters.push(filter);
    this.#room = keys;
  }
}
