/**
 * Keys lately found in runs on disk, exactly, so that the links that stand on every page of a site cost no read (R-G6).
 *
 * Invariant: holds only keys that are in the set, so its "yes" is final; its "no" means nothing. Sets of four 8-byte ways: an empty one is taken first, then they are replaced in turn.
 * Two zeros are an empty way: the key (0, 0) is never cached.
 */
const WAYS = 4;

export class HotCache {
  readonly #words: Int32Array;
  readonly #mask: number;
  #turn = 0;

  /** `keys`: a power of two, at least 4. */
  constructor(keys: number) {
    this.#words = new Int32Array(keys * 2);
    this.#mask = keys / WAYS - 1;
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  has(hi: number, lo: number): boolean {
    const high = hi | 0;
    const low = lo | 0;
    if ((high | low) === 0) return false;
    const words = this.#words;
    const base = (low & this.#mask) * WAYS * 2;
    for (let i = base; i < base + WAYS * 2; i += 2) {
      if (words[i + 1] === low && words[i] === high) return true;
    }
    return false;
  }

  add(hi: number, lo: number): void {
    const words = this.#words;
    const base = (lo & this.#mask) * WAYS * 2;
    let at = base;
    while (at < base + WAYS * 2 && (words[at]! | words[at + 1]!) !== 0) at += 2;
    if (at === base + WAYS * 2) {
      at = base + this.#turn * 2;
      this.#turn = (this.#turn + 1) % WAYS;
    }
    words[at] = hi;
    words[at + 1] = lo;
  }
}
