/**
 * Randomness of tests and benchmarks: the same seed gives the same sequence on every machine (sfc32 over 32-bit integers).
 * It is not the product's Random port: what judges the crawler shares nothing with it.
 */
export interface Seeded {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer in [0, below), below in 1 … 2^31. */
  int(below: number): number;
  /** True with probability p. */
  chance(p: number): boolean;
  /** An element; the list must not be empty. */
  pick<T>(from: readonly T[]): T;
}

/** Seeds of several numbers are mixed, so that (1, 2) and (2, 1) differ. */
export function seeded(...seed: readonly number[]): Seeded {
  let a = 0x9e3779b9;
  let b = 0x243f6a88;
  let c = 0xb7e15162;
  let counter = 1;
  const step = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (const part of seed) {
    a = (a ^ Math.imul(part | 0, 0x85ebca6b)) | 0;
    for (let i = 0; i < 12; i++) step();
  }
  for (let i = 0; i < 12; i++) step();
  const next = (): number => step() / 4294967296;
  const int = (below: number): number => Math.floor(next() * below);
  return {
    next,
    int,
    chance: (p) => next() < p,
    pick: (from) => {
      const chosen = from[int(from.length)];
      if (chosen === undefined) throw new Error('pick from an empty list');
      return chosen;
    },
  };
}
