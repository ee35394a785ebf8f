/**
 * Chance without state: a 32-bit hash of a seed and up to four numbers. The simulated web is a function of such hashes, so that a million hosts
 * need no memory and two runs see the same web in whatever order they look at it. Rounds as in MurmurHash3 (Austin Appleby, public domain).
 */

/** Uniform over 0 … 2^32 − 1. The numbers count modulo 2^32. */
export function mix(seed: number, a: number, b = 0, c = 0, d = 0): number {
  let h = seed | 0;
  h = round(h, a | 0);
  h = round(h, b | 0);
  h = round(h, c | 0);
  h = round(h, d | 0);
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function round(h: number, k: number): number {
  let x = Math.imul(k, 0xcc9e2d51);
  x = (x << 15) | (x >>> 17);
  const y = h ^ Math.imul(x, 0x1b873593);
  return (Math.imul((y << 13) | (y >>> 19), 5) + 0xe6546b64) | 0;
}

/** Uniform in [0, 1). */
export function unit(seed: number, a: number, b = 0, c = 0, d = 0): number {
  return mix(seed, a, b, c, d) / 2 ** 32;
}

/** Of a text, FNV-1a. */
export function hashOfText(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

/** Pareto with the given least value and exponent: heavy-tailed, the smaller alpha the heavier. `u` in [0, 1). Whole numbers up to `max`. */
export function pareto(u: number, min: number, alpha: number, max: number): number {
  return Math.min(max, Math.floor(min * (1 - u) ** (-1 / alpha)));
}

/** Log-normal around `median`; `u` and `v` in [0, 1) (Box–Muller). */
export function logNormal(u: number, v: number, median: number, sigma: number): number {
  return median * Math.exp(sigma * Math.sqrt(-2 * Math.log(1 - u)) * Math.cos(2 * Math.PI * v));
}

/** A name drawn by its share; `rest` when u lies beyond all shares. */
export function drawn<K extends string>(u: number, shares: Partial<Readonly<Record<K, number>>>, rest: K): K {
  let left = u;
  for (const name in shares) {
    left -= shares[name] ?? 0;
    if (left < 0) return name;
  }
  return rest;
}
