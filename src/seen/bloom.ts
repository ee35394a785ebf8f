/**
 * A Bloom filter over 64-bit keys that are uniform already (R-G1).
 *
 * Invariant: a key that was added is never denied. Sized once from the number of keys; it never grows and forgets nothing.
 * The k positions come from the two halves of the key by double hashing (Kirsch and Mitzenmacher 2006), with an affine step x → A·x + b
 * instead of x → x + b: with a plain step a small b lands all k positions on one bit, which in small filters doubles the rate.
 * What it does not do: hash (keys must be uniform), count, delete.
 */

/** A ≡ 5 mod 8, odd: the step is a bijection of 32-bit words (Numerical Recipes, "quick and dirty" generators). */
const STEP = 1_664_525;
const TWO_32 = 4_294_967_296;
/** Positions are 32-bit. At 20 bits per key that is 214 M keys in one filter. */
export const BLOOM_BITS_MAX = TWO_32 - 32;
const SAMPLE_WORDS = 4_096;

/** Expected share of false "maybe" among keys that were never added: (1 − e^(−k/c))^k for c bits per key and k hashes. */
export function bloomFalsePositiveRate(bitsPerKey: number, hashes: number): number {
  return (1 - Math.exp(-hashes / bitsPerKey)) ** hashes;
}

/** Bits per key that reach `rate` with the best number of hashes: −ln(rate) / (ln 2)². */
export function bloomBitsPerKey(rate: number): number {
  return -Math.log(rate) / Math.LN2 ** 2;
}

/** Number of hashes with the lowest rate at `bitsPerKey`: c · ln 2, rounded, at least 1. */
export function bloomHashes(bitsPerKey: number): number {
  return Math.max(1, Math.round(bitsPerKey * Math.LN2));
}

export class BloomFilter {
  readonly words: Uint32Array;
  readonly hashes: number;
  readonly #scale: number;

  /** `words` is used as it is (32 bits each, bit 0 lowest), at most BLOOM_BITS_MAX bits. */
  constructor(words: Uint32Array, hashes: number) {
    this.words = words;
    this.hashes = hashes;
    this.#scale = (words.length * 32) / TWO_32;
  }

  static forKeys(keys: number, bitsPerKey: number, hashes: number): BloomFilter {
    const bits = Math.min(BLOOM_BITS_MAX, Math.max(64, Math.ceil(keys * bitsPerKey)));
    return new BloomFilter(new Uint32Array(Math.ceil(bits / 32)), hashes);
  }

  get bytes(): number {
    return this.words.byteLength;
  }

  add(hi: number, lo: number): void {
    const words = this.words;
    const scale = this.#scale;
    let x = hi | 0;
    for (let i = this.hashes; i > 0; i--) {
      const bit = ((x >>> 0) * scale) >>> 0;
      const at = bit >>> 5;
      words[at] = words[at]! | (1 << (bit & 31));
      x = (Math.imul(x, STEP) + lo) | 0;
    }
  }

  /** False: never added. True: added, or one of the false positives. */
  has(hi: number, lo: number): boolean {
    const words = this.words;
    const scale = this.#scale;
    let x = hi | 0;
    for (let i = this.hashes; i > 0; i--) {
      const bit = ((x >>> 0) * scale) >>> 0;
      if ((words[bit >>> 5]! & (1 << (bit & 31))) === 0) return false;
      x = (Math.imul(x, STEP) + lo) | 0;
    }
    return true;
  }

  /** Share of bits set, from at most 4,096 words evenly spread (positions are uniform). */
  fill(): number {
    const step = Math.max(1, Math.floor(this.words.length / SAMPLE_WORDS));
    let set = 0;
    let seen = 0;
    for (let i = 0; i < this.words.length; i += step) {
      set += bitCount(this.words[i]!);
      seen += 32;
    }
    return seen === 0 ? 0 : set / seen;
  }
}

function bitCount(word: number): number {
  let v = word - ((word >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
