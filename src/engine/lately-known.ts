/**
 * Links that were met lately and are known for sure: those that stand on every page of a site cost one look-up, before scope, canonical form and key.
 *
 * A link is told by a 64-bit hash of its text in two lanes of multilinear hashing (Carter and Wegman 1979; Lemire and Kaser 2014) whose keys are drawn
 * when the process starts: who chooses the links cannot choose them so that two meet, and by chance two links of ASCII meet with p < 2⁻⁵², with most pairs
 * far below that. Four places a set, in one cache line; the newest takes the first place and the last one is forgotten.
 * What it does not do: answer for a link that it does not hold, or hold one for long.
 */
import type { Random } from '../ports/random.ts';

/** Longer links are not held. */
const LINK_CHARS_MAX = 1_024;
const WAYS = 4;
const WORDS_PER_SET = WAYS * 2;
const PLACE_BITS = 3;

/** Where the link's URL is known: by this shard, or by another to which it was sent. */
export const KNOWN_HERE = 1;
export const KNOWN_ELSEWHERE = 2;
export type KnownPlace = typeof KNOWN_HERE | typeof KNOWN_ELSEWHERE;

export class LatelyKnown {
  readonly #words: Uint32Array;
  readonly #setMask: number;
  readonly #keysHi = new Int32Array(LINK_CHARS_MAX);
  readonly #keysLo = new Int32Array(LINK_CHARS_MAX);
  #hi = 0;
  #lo = 0;

  /** `links`: how many are held at most, a power of two; 8 bytes each. */
  constructor(links: number, random: Random) {
    this.#words = new Uint32Array(links * 2);
    this.#setMask = links / WAYS - 1;
    for (let i = 0; i < LINK_CHARS_MAX; i++) {
      this.#keysHi[i] = random.next() * 4_294_967_296;
      this.#keysLo[i] = random.next() * 4_294_967_296;
    }
  }

  /** 0 when the link is not held. */
  find(link: string): KnownPlace | 0 {
    if (link.length > LINK_CHARS_MAX) return 0;
    this.#hash(link);
    const words = this.#words;
    const at = (this.#hi & this.#setMask) * WORDS_PER_SET;
    for (let way = at; way < at + WORDS_PER_SET; way += 2) {
      const lo = words[way + 1]!;
      if (words[way] === this.#hi && ((lo ^ this.#lo) & ~PLACE_BITS) === 0 && lo !== 0) return (lo & PLACE_BITS) as KnownPlace;
    }
    return 0;
  }

  /** A link that `find` does not know. */
  remember(link: string, place: KnownPlace): void {
    if (link.length > LINK_CHARS_MAX) return;
    this.#hash(link);
    const at = (this.#hi & this.#setMask) * WORDS_PER_SET;
    this.#words.copyWithin(at + 2, at, at + WORDS_PER_SET - 2);
    this.#words[at] = this.#hi;
    this.#words[at + 1] = (this.#lo & ~PLACE_BITS) | place;
  }

  clear(): void {
    this.#words.fill(0);
  }

  #hash(link: string): void {
    const keysHi = this.#keysHi;
    const keysLo = this.#keysLo;
    const { length } = link;
    let hi = length;
    let lo = Math.imul(length, 0x9e3779b1);
    for (let i = 0; i < length; i++) {
      const code = link.charCodeAt(i);
      hi = (hi + Math.imul(keysHi[i]!, code)) | 0;
      lo = (lo + Math.imul(keysLo[i]!, code)) | 0;
    }
    // The high bits of a sum of products are the good ones; the set is chosen by low bits.
    this.#hi = (hi ^ (hi >>> 15)) >>> 0;
    this.#lo = (lo ^ (lo >>> 15)) >>> 0;
  }
}
