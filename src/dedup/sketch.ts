/**
 * A sketch of a text's set of word shingles, 128 bytes, from which the Jaccard index of two texts is estimated: one-permutation MinHash (Li, Owen and
 * Zhang 2012) with b = 8 bits a bin (Li and König 2010). SimHash finds candidates among millions; the sketch says whether one is really alike.
 *
 * A shingle here is three words in a row of any kind, those with digits too, so that pages which differ in their numbers differ in their sketch. The hash
 * of a shingle chooses a bin and competes in it; a bin that no shingle fell into stays 0. Of n bins in use the estimate has a standard error of
 * √(J(1 − J) / n): 0.027 at J = 0.9 and 128 bins.
 */
export const SKETCH_BINS = 128;
const BIN_SHIFT = 25;
const RANK_BITS = 0x1ff_ffff;
const UNUSED = 0x7fff_ffff;
/** Values of a bin in use: 1 … 255. */
const VALUES = 255;

/** The least hash of each bin so far. */
export class SketchBins {
  readonly #least = new Int32Array(SKETCH_BINS).fill(UNUSED);

  reset(): void {
    this.#least.fill(UNUSED);
  }

  /** `hash`: 32 well mixed bits. */
  add(hash: number): void {
    const bin = hash >>> BIN_SHIFT;
    const rank = hash & RANK_BITS;
    if (rank < this.#least[bin]!) this.#least[bin] = rank;
  }

  sketch(): Buffer {
    const bytes = Buffer.allocUnsafe(SKETCH_BINS);
    for (let bin = 0; bin < SKETCH_BINS; bin++) {
      const least = this.#least[bin]!;
      // A least hash is small, so its low bits are the ones that tell.
      bytes[bin] = least === UNUSED ? 0 : 1 + (least % VALUES);
    }
    return bytes;
  }
}

/** Estimated Jaccard index of the two texts' shingles, 0 … 1. */
export function likeness(a: Uint8Array, b: Uint8Array): number {
  let used = 0;
  let equal = 0;
  for (let bin = 0; bin < SKETCH_BINS; bin++) {
    const ofA = a[bin]!;
    const ofB = b[bin]!;
    if (ofA === 0 && ofB === 0) continue;
    used++;
    if (ofA === ofB) equal++;
  }
  if (used === 0) return 0;
  // Two different bins agree by chance once in 255.
  return Math.max(0, (equal / used - 1 / VALUES) / (1 - 1 / VALUES));
}
