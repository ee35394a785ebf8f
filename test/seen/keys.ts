/** Fixed uniform 64-bit keys for tests: two mixed counters per key (the finalizer of MurmurHash3), so that keys of one mill never repeat. */
export class KeyMill {
  hi = 0;
  lo = 0;
  #count = 0;
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = mix(seed + 0x9e3779b9);
  }

  next(): void {
    this.#count++;
    this.lo = mix(this.#count ^ this.#seed) >>> 0;
    this.hi = mix(this.lo ^ mix(this.#count + this.#seed)) >>> 0;
  }

  /** The next `count` keys as (hi, lo) pairs. */
  pairs(count: number): Uint32Array {
    const pairs = new Uint32Array(count * 2);
    for (let i = 0; i < count; i++) {
      this.next();
      pairs[i * 2] = this.hi;
      pairs[i * 2 + 1] = this.lo;
    }
    return pairs;
  }
}

function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}
