/**
 * How often each text was met, by its 64-bit hash (`hashText`): 12 bytes a text at a load of a third to two thirds, where a Map of strings takes over 100.
 * Two texts of one hash would be counted as one: among 10^7 by chance with p < 10^-5, and nobody outside knows the seed.
 */
const FIRST_PLACES = 1_024;

export class TextCounts {
  #hi = new Uint32Array(FIRST_PLACES);
  #lo = new Uint32Array(FIRST_PLACES);
  /** 0 = free. */
  #counts = new Uint32Array(FIRST_PLACES);
  #texts = 0;

  get texts(): number {
    return this.#texts;
  }

  get(hi: number, lo: number): number {
    return this.#counts[this.#place(hi, lo)]!;
  }

  add(hi: number, lo: number, count = 1): void {
    const at = this.#place(hi, lo);
    if (this.#counts[at] === 0) {
      this.#hi[at] = hi;
      this.#lo[at] = lo;
      this.#texts++;
    }
    this.#counts[at]! += count;
    if (this.#texts * 3 > this.#counts.length * 2) this.#grow();
  }

  /** Where it stands, or would stand. */
  #place(hi: number, lo: number): number {
    const mask = this.#counts.length - 1;
    let at = lo & mask;
    while (this.#counts[at] !== 0 && (this.#lo[at] !== lo || this.#hi[at] !== hi)) at = (at + 1) & mask;
    return at;
  }

  #grow(): void {
    const { hi, lo, counts } = { hi: this.#hi, lo: this.#lo, counts: this.#counts };
    this.#hi = new Uint32Array(counts.length * 2);
    this.#lo = new Uint32Array(counts.length * 2);
    this.#counts = new Uint32Array(counts.length * 2);
    this.#texts = 0;
    for (let at = 0; at < counts.length; at++) if (counts[at] !== 0) this.add(hi[at]!, lo[at]!, counts[at]!);
  }
}
