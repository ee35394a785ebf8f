/**
 * 64-bit SimHash of visible text (Charikar 2002; Manku, Jain and Das Sarma 2007): pages that share nearly all of their word shingles differ in
 * few bits (R-H2).
 *
 * Features are runs of three words, weighted by frequency n as 1 + ⌊log₄ n⌋: with the frequency itself a line repeated all over a table outvotes the
 * rest of the page (measured on documentation pages with edited copies, share of verdicts ≤ 3 bits whose Jaccard index is ≥ 0.9: weight n 0.90,
 * log₂ 0.94, log₄ 0.96, no weight 0.96; two-word shingles 0.74, and single words far less). A word is a run of letters and marks; one that
 * holds a digit is left out, with the shingle closing over the gap, so that dates, counters and tokens move no bit. A character of a
 * script without spaces is a word by itself, which makes the shingles character 3-grams there.
 * One pass over the code units, no RegExp and no substring; the 64 counters are added to by carry-save adders, 248 shingles at a time.
 * What it does not do: find the main text. Navigation, footers and scripts must be out of the text already.
 */
import { SketchBins } from './sketch.ts';
import { ASTRAL, DIGIT, foldedUnits, LETTER, SKIP, UNIT_BITS, UNSPACED } from './text-classes.ts';

/** Hashes gathered before they are counted: a multiple of eight, and few enough for a counter of eight bits. */
const HASHES_PER_DRAIN = 248;
/** 1, 4, 16, 64 among the powers of two. */
const POWERS_OF_FOUR = 0x55;
const SHINGLE_WORDS = 3;
const WORDS_PER_BLOCK = 1_024;
const OCCURRENCE_CELLS = 65_536;
const OCCURRENCES_MAX = 255;
const WORD_PRIME = 0x01000193;

const TEXT_SEED_HI = 0x6a09e667;
const TEXT_SEED_LO = 0x3c6ef372;

/** What a word is made of so far, as bits. */
const HAS_LETTER = 1;
const HAS_DIGIT = 2;

/** Places in the running state, an array so that no number ever leaves the integers. */
const FIRST = 0;
const SECOND = 1;
const WORDS_BEFORE = 2;
const TEXT_HI = 3;
const TEXT_LO = 4;
const SHINGLES = 5;
const DIGIT_WORDS = 6;
const WAITING = 7;
const ANY_FIRST = 8;
const ANY_SECOND = 9;
const ANY_BEFORE = 10;
const STATE_PLACES = 11;

export class SimHasher {
  /** Made with the first text: it takes some 20 ms, and no first request should wait for it. */
  #folded: Uint32Array | undefined;
  readonly #los = new Int32Array(HASHES_PER_DRAIN);
  readonly #his = new Int32Array(HASHES_PER_DRAIN);
  readonly #loCounts = new Int32Array(32);
  readonly #hiCounts = new Int32Array(32);
  /** Occurrences so far of the shingles whose hash begins with these 16 bits; a collision only makes a weight a little smaller. */
  readonly #occurrences = new Uint8Array(OCCURRENCE_CELLS);
  readonly #words = new Int32Array(WORDS_PER_BLOCK);
  /** Which of the words hold a digit. */
  readonly #hasDigit = new Uint8Array(WORDS_PER_BLOCK);
  readonly #bins = new SketchBins();
  readonly #state = new Int32Array(STATE_PLACES);

  /**
   * Hashes a text given as UTF-16 code units. Writes the hash to `into` (hi, lo) and returns the number of words: those left out for a digit
   * do not count, and two characters of a script without spaces count as one. Text without a whole shingle hashes to what it has; see
   * `nearEligible` for when a hash means anything.
   */
  hash(units: Readonly<Uint16Array>, into: Uint32Array): number {
    this.#loCounts.fill(0);
    this.#hiCounts.fill(0);
    this.#occurrences.fill(0);
    this.#state.fill(0);
    this.#bins.reset();
    this.#state[TEXT_HI] = TEXT_SEED_HI;
    this.#state[TEXT_LO] = TEXT_SEED_LO;
    const words = this.#scan(units);
    this.#drain();
    into[0] = majority(this.#hiCounts, this.#state[SHINGLES]!);
    into[1] = majority(this.#loCounts, this.#state[SHINGLES]!);
    return words;
  }

  /** Words of the text last hashed that were left out because they hold a digit. */
  get digitWords(): number {
    return this.#state[DIGIT_WORDS]!;
  }

  /**
   * Hash of the text last hashed (R-H1), 8 bytes: its words in order, those with digits too, without case, white space and punctuation, so that
   * copies which differ in markup alone are equal and pages which differ in a price are not.
   */
  get textHash(): Buffer {
    const hi = this.#state[TEXT_HI]!;
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeInt32BE(mix(hi), 0);
    bytes.writeInt32BE(mix(this.#state[TEXT_LO]! ^ Math.imul(hi, 0x27d4eb2f)), 4);
    return bytes;
  }

  /** Sketch of the text last hashed; see `likeness`. */
  get sketch(): Buffer {
    return this.#bins.sketch();
  }

  /** First loop: code units to word hashes, in blocks. Letters have a loop of their own, which is all that most of a text needs. */
  #scan(units: Readonly<Uint16Array>): number {
    this.#folded ??= foldedUnits();
    const folded = this.#folded;
    const block = this.#words;
    const hasDigit = this.#hasDigit;
    const length = units.length;
    let filled = 0;
    let words = 0;
    let characters = 0;
    let word = 0;
    let kind = 0;
    let i = 0;
    while (i <= length) {
      const from = i;
      let unit = 0;
      while (i < length) {
        unit = folded[units[i]!]!;
        if (unit >= LETTER) break;
        word = Math.imul(word ^ unit, WORD_PRIME);
        i++;
      }
      if (i > from) kind |= HAS_LETTER;
      const of = i < length ? unit & ~UNIT_BITS : 0;
      if (of === SKIP) {
        i++;
        continue;
      }
      if (of === DIGIT) {
        kind |= HAS_DIGIT;
        word = Math.imul(word ^ (unit & UNIT_BITS), WORD_PRIME);
        i++;
        continue;
      }
      if (of === ASTRAL) {
        kind |= HAS_LETTER;
        const low = i + 1 < length ? units[i + 1]! : 0;
        word = Math.imul(Math.imul(word ^ (unit & UNIT_BITS), WORD_PRIME) ^ low, WORD_PRIME);
        i++;
        continue;
      }
      if (kind === HAS_LETTER) {
        words++;
        hasDigit[filled] = 0;
        block[filled++] = mix(word);
      } else if (kind !== 0) {
        const digits = mix(word);
        this.#digitWord(digits, words + characters);
        hasDigit[filled] = 1;
        block[filled++] = digits;
      }
      kind = 0;
      word = 0;
      if (filled >= WORDS_PER_BLOCK - 1) {
        this.#shingle(filled);
        filled = 0;
      }
      if (of === UNSPACED) {
        characters++;
        hasDigit[filled] = 0;
        block[filled++] = mix(unspaced(unit & UNIT_BITS, i + 1 < length ? units[i + 1]! : 0));
      }
      i++;
    }
    this.#shingle(filled);
    const total = words + characters;
    if (total < SHINGLE_WORDS && total > 0) {
      const first = total === 1 ? 0 : this.#state[FIRST]!;
      const second = this.#state[SECOND]!;
      this.#put(shingleOf(0, first, second), first, 0, second);
    }
    return words + (characters >>> 1);
  }

  /** Words with digits count for the hash of the text by their order and by where they stand among the others. */
  #digitWord(digits: number, before: number): void {
    const state = this.#state;
    state[DIGIT_WORDS] = state[DIGIT_WORDS]! + 1;
    state[TEXT_LO] = (Math.imul(state[TEXT_LO]! ^ digits ^ Math.imul(before + 1, 0x9e3779b1), 0x5bd1e995) + 0x3779b9) | 0;
  }

  /** Second loop: the block's words to shingles and their weights; the last two words are carried over. */
  #shingle(filled: number): void {
    const block = this.#words;
    const occurrences = this.#occurrences;
    const state = this.#state;
    const hasDigit = this.#hasDigit;
    const bins = this.#bins;
    let first = state[FIRST]!;
    let second = state[SECOND]!;
    let before = state[WORDS_BEFORE]!;
    let textHi = state[TEXT_HI]!;
    let anyFirst = state[ANY_FIRST]!;
    let anySecond = state[ANY_SECOND]!;
    let anyBefore = state[ANY_BEFORE]!;
    for (let i = 0; i < filled; i++) {
      const third = block[i]!;
      const any = shingleOf(anyFirst, anySecond, third);
      if (anyBefore >= SHINGLE_WORDS - 1) bins.add(any);
      else anyBefore++;
      // Mostly no word with a digit stands among the three: then both shingles are the same one.
      const isSame = first === anyFirst && second === anySecond;
      anyFirst = anySecond;
      anySecond = third;
      if (hasDigit[i] === 1) continue;
      textHi = (Math.imul(textHi ^ third, 0x2545f491) + 0x3779b9) | 0;
      if (before >= SHINGLE_WORDS - 1) {
        const a = isSame ? any : shingleOf(first, second, third);
        const cell = a >>> 16;
        const occurrence = occurrences[cell]! + 1;
        if (occurrence <= OCCURRENCES_MAX) occurrences[cell] = occurrence;
        if ((occurrence & (occurrence - 1)) === 0 && (occurrence & POWERS_OF_FOUR) !== 0) this.#put(a, first, second, third);
      } else before++;
      first = second;
      second = third;
    }
    state[FIRST] = first;
    state[SECOND] = second;
    state[WORDS_BEFORE] = before;
    state[TEXT_HI] = textHi;
    state[ANY_FIRST] = anyFirst;
    state[ANY_SECOND] = anySecond;
    state[ANY_BEFORE] = anyBefore;
  }

  #put(a: number, first: number, second: number, third: number): void {
    const at = this.#state[WAITING]!;
    this.#los[at] = a;
    this.#his[at] = mix((Math.imul(a, 0x3c6ef372) + Math.imul(third, 0x1b873593) + (first ^ Math.imul(second, 0x5bd1e995))) | 0);
    this.#state[WAITING] = at + 1;
    if (at + 1 === HASHES_PER_DRAIN) this.#drain();
  }

  /** Adds the waiting hashes to the counters. */
  #drain(): void {
    const waiting = this.#state[WAITING]!;
    this.#state[SHINGLES] = this.#state[SHINGLES]! + waiting;
    this.#state[WAITING] = 0;
    countBits(this.#los, waiting, this.#loCounts);
    countBits(this.#his, waiting, this.#hiCounts);
  }
}

/**
 * Adds to counts[k] how many of the first `length` words have bit k. Eight words at a time by carry-save adders (Harley and Seal; Warren, Hacker's
 * Delight, section 5-1): each of the numbers c0, c1, c2 … c7 holds one binary digit of 32 sums at once. Words behind `length` are overwritten with 0.
 */
function countBits(hashes: Int32Array, length: number, counts: Int32Array): void {
  const whole = (length + 7) & ~7;
  hashes.fill(0, length, whole);
  let [c0, c1, c2, c3, c4, c5, c6, c7] = [0, 0, 0, 0, 0, 0, 0, 0];
  for (let i = 0; i < whole; i += 8) {
    const h0 = hashes[i]!;
    const h1 = hashes[i + 1]!;
    const h2 = hashes[i + 2]!;
    const h3 = hashes[i + 3]!;
    const h4 = hashes[i + 4]!;
    const h5 = hashes[i + 5]!;
    const h6 = hashes[i + 6]!;
    const h7 = hashes[i + 7]!;
    const p = c0 ^ h0;
    const twosA = (c0 & h0) | (p & h1);
    const q = p ^ h1 ^ h2;
    const twosB = ((p ^ h1) & h2) | (q & h3);
    const r = q ^ h3 ^ h4;
    const twosC = ((q ^ h3) & h4) | (r & h5);
    const s = r ^ h5 ^ h6;
    const twosD = ((r ^ h5) & h6) | (s & h7);
    c0 = s ^ h7;
    const t = c1 ^ twosA;
    const foursA = (c1 & twosA) | (t & twosB);
    const u = t ^ twosB ^ twosC;
    const foursB = ((t ^ twosB) & twosC) | (u & twosD);
    c1 = u ^ twosD;
    const v = c2 ^ foursA;
    const eights = (c2 & foursA) | (v & foursB);
    c2 = v ^ foursB;
    const carry4 = c3 & eights;
    c3 ^= eights;
    const carry5 = c4 & carry4;
    c4 ^= carry4;
    const carry6 = c5 & carry5;
    c5 ^= carry5;
    c7 ^= c6 & carry6;
    c6 ^= carry6;
  }
  for (let bit = 0; bit < 32; bit++) {
    counts[bit] =
      counts[bit]! +
      (((c0 >>> bit) & 1) |
        (((c1 >>> bit) & 1) << 1) |
        (((c2 >>> bit) & 1) << 2) |
        (((c3 >>> bit) & 1) << 3) |
        (((c4 >>> bit) & 1) << 4) |
        (((c5 >>> bit) & 1) << 5) |
        (((c6 >>> bit) & 1) << 6) |
        (((c7 >>> bit) & 1) << 7));
  }
}

/** The bits that more than half of the shingles have. */
function majority(counts: Int32Array, shingles: number): number {
  let bits = 0;
  for (let bit = 0; bit < 32; bit++) if (counts[bit]! * 2 > shingles) bits |= 1 << bit;
  return bits >>> 0;
}

function unspaced(unit: number, next: number): number {
  return unit < 0xd800 || unit > 0xdfff ? unit : Math.imul(unit, 0x401) ^ next;
}

/** Number of bits in which two 64-bit hashes differ. */
export function hammingDistance(aHi: number, aLo: number, bHi: number, bLo: number): number {
  return bitCount(aHi ^ bHi) + bitCount(aLo ^ bLo);
}

function bitCount(word: number): number {
  let v = word - ((word >>> 1) & 0x55555555);
  v = (v & 0x33333333) + ((v >>> 2) & 0x33333333);
  return Math.imul((v + (v >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

function shingleOf(first: number, second: number, third: number): number {
  return mix(Math.imul(first, 0x2c1b3c6d) ^ (Math.imul(second, 0x297a2d39) + third));
}

/** Finalizer of MurmurHash3: every input bit moves every output bit. */
function mix(value: number): number {
  let x = value | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}
