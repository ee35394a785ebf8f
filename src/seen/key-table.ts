/**
 * A set of 64-bit keys in one Int32Array of pairs: open addressing, linear probing, 8 bytes a slot, no object per key.
 *
 * Invariant: a slot of two zeros is empty; the key (0, 0) is a flag beside the array. Keys are uniform, so the low bits of the lower half
 * are the slot. Halves are given as 32-bit words, signed or not.
 * What it does not do: delete, or grow by itself (the owner decides, since growing takes time).
 */
export class KeyTable {
  #words: Int32Array;
  #mask: number;
  #filled = 0;
  #holdsZero = false;

  /** `slots`: a power of two. */
  constructor(slots: number) {
    this.#words = new Int32Array(slots * 2);
    this.#mask = slots - 1;
  }

  get count(): number {
    return this.#filled + (this.#holdsZero ? 1 : 0);
  }

  get slots(): number {
    return this.#mask + 1;
  }

  get bytes(): number {
    return this.#words.byteLength;
  }

  /** The pairs (hi, lo) as they lie, empty slots included, without the key (0, 0); to read, not to change. */
  get words(): Int32Array {
    return this.#words;
  }

  get holdsZero(): boolean {
    return this.#holdsZero;
  }

  has(hi: number, lo: number): boolean {
    const high = hi | 0;
    const low = lo | 0;
    if ((high | low) === 0) return this.#holdsZero;
    const words = this.#words;
    const mask = this.#mask;
    let slot = low & mask;
    for (;;) {
      const a = words[slot * 2]!;
      const b = words[slot * 2 + 1]!;
      if (a === high && b === low) return true;
      if ((a | b) === 0) return false;
      slot = (slot + 1) & mask;
    }
  }

  /** True when the key is new. The table must have a free slot. */
  add(hi: number, lo: number): boolean {
    const high = hi | 0;
    const low = lo | 0;
    if ((high | low) === 0) {
      const isNew = !this.#holdsZero;
      this.#holdsZero = true;
      return isNew;
    }
    const words = this.#words;
    const mask = this.#mask;
    let slot = low & mask;
    for (;;) {
      const a = words[slot * 2]!;
      const b = words[slot * 2 + 1]!;
      if (a === high && b === low) return false;
      if ((a | b) === 0) break;
      slot = (slot + 1) & mask;
    }
    words[slot * 2] = high;
    words[slot * 2 + 1] = low;
    this.#filled++;
    return true;
  }

  /** Moves all keys to `slots` slots (a power of two, larger than before): about 20 ns a key. */
  grow(slots: number): void {
    const old = this.#words;
    this.#words = new Int32Array(slots * 2);
    this.#mask = slots - 1;
    this.#filled = 0;
    for (let i = 0; i < old.length; i += 2) {
      if ((old[i]! | old[i + 1]!) !== 0) this.add(old[i]!, old[i + 1]!);
    }
  }
}
