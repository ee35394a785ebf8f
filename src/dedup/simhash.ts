/**
 * 64-bit SimHash of visible text (Charikar 2002; Manku, Jain and Das Sarma 2007): pages that share nearly all of their word shingles differ in
 * few bits (R-H2).
 *
 * Features are runs of three words, weighted by frequency n as 1 + ⌊log₄ n⌋: with the frequency itself a line repeated all over a table outvotes the
 * rest of the page (measured on documentation pages with edited copies, share of verdicts ≤ 3 bits whose Jaccard index is ≥ 0.9: weight n 0.90,
 * log₂ 0.94, log₄ 0.96, no weight 0.96; two-word shingles 0.74, and single words far less). A word is a run of letters and marks; one that
 * holds a digit is left out, with the shingle closing over the gap, so that dates, counters and tokens move no bit. A character of a
 * script without spaces is a word by itself, which makes the shingles character 3-grams there.
 * One pass over the code units, no RegExp and no substring; the 64 counters are bytes packed in 16 words, emptied every 255 shingles.
 * What it does not do: find the main text. Navigation, footers and scripts must be out of the text already.
 */
import { BREAK, DIGIT, LETTER, SKIP, textClasses, UNSPACED } from './text-classes.ts';

const SHINGLES_PER_DRAIN = 255;
const EACH_BYTE = 0x01010101;
/** 1, 4, 16, 64 among the powers of two. */
const POWERS_OF_FOUR = 0x55;
const SHINGLE_WORDS = 3;
const WORDS_PER_BLOCK = 1_024;
const UNITS_MIN = 65_536;
/** A larger buffer is given back after the text that needed it. */
const UNITS_KEPT_MAX = 1_048_576;
const OCCURRENCE_CELLS = 65_536;
const OCCURRENCES_MAX = 255;

const TEXT_SEED_HI = 0x6a09e667;
const TEXT_SEED_LO = 0x3c6ef372;

export class SimHasher {
  readonly #classes = textClasses();
  readonly #hashes = new Int32Array(SHINGLES_PER_DRAIN * 2);
  #waiting = 0;
  readonly #counts = new Int32Array(64);
  /** Occurrences so far of the shingles whose hash begins with these 16 bits; a collision only makes a weight a little smaller. */
  readonly #occurrences = new Uint8Array(OCCURRENCE_CELLS);
  #shingles = 0;
  #digitWords = 0;
  #units = new Uint16Array(UNITS_MIN);
  readonly #words = new Int32Array(WORDS_PER_BLOCK + 2);
  #first = 0;
  #second = 0;
  #wordsBefore = 0;
  #textHi = 0;
  #textLo = 0;

  /**
   * Writes the hash to `into` (hi, lo) and returns the number of words: those left out for a digit do not count, and two characters of a
   * script without spaces count as one. Text without a whole shingle hashes to what it has; see `nearEligible` for when a hash means anything.
   */
  hash(text: string, into: Uint32Array): number {
    this.#counts.fill(0);
    this.#occurrences.fill(0);
    this.#shingles = 0;
    this.#digitWords = 0;
    this.#first = 0;
    this.#second = 0;
    this.#wordsBefore = 0;
    this.#textHi = TEXT_SEED_HI;
    this.#textLo = TEXT_SEED_LO;
    const words = this.#scan(this.#unitsOf(text.toLowerCase()));
    this.#drain();
    this.#write(into);
    return words;
  }

  /** Words of the text last hashed that were left out because they hold a digit. */
  get digitWords(): number {
    return this.#digitWords;
  }

  /**
   * Hash of the text last hashed (R-H1), 8 bytes: its words in order, those with digits too, without case, white space and punctuation, so that
   * copies which differ in markup alone are equal and pages which differ in a price are not.
   */
  get textHash(): Buffer {
    const bytes = Buffer.allocUnsafe(8);
    bytes.writeInt32BE(mix(this.#textHi), 0);
    bytes.writeInt32BE(mix(this.#textLo ^ Math.imul(this.#textHi, 0x27d4eb2f)), 4);
    return bytes;
  }

  /** The code units and a blank behind them, in a buffer that is used again: reading an array costs a third of asking a string for each unit. */
  #unitsOf(text: string): Uint16Array {
    const { length } = text;
    if (this.#units.length <= length) this.#units = new Uint16Array(Math.max(UNITS_MIN, length * 2));
    Buffer.from(this.#units.buffer).write(text, 0, 'utf16le');
    this.#units[length] = 0x20;
    const units = this.#units.subarray(0, length + 1);
    if (length > UNITS_KEPT_MAX) this.#units = new Uint16Array(UNITS_MIN);
    return units;
  }

  /** First loop: characters to word hashes, in blocks. Two small loops run twice as fast as one that does everything. */
  #scan(units: Uint16Array): number {
    const classes = this.#classes;
    const block = this.#words;
    const length = units.length - 1;
    let filled = 0;
    let words = 0;
    let characters = 0;
    let word = 0;
    let kind = BREAK;
    for (let i = 0; i <= length; i++) {
      const code = units[i]!;
      const of = classes[code]!;
      if (of === LETTER) {
        if (kind === BREAK) kind = LETTER;
        word = Math.imul(word ^ code, 0x01000193);
        if (code >= 0xd800 && code < 0xdc00) word = Math.imul(word ^ units[i + 1]!, 0x01000193);
        continue;
      }
      if (of === SKIP) continue;
      if (of === DIGIT) {
        kind = DIGIT;
        word = Math.imul(word ^ code, 0x01000193);
        continue;
      }
      if (kind === LETTER) {
        words++;
        block[filled++] = mix(word);
      } else if (kind === DIGIT) {
        this.#digitWords++;
        this.#textLo ^= mix(word ^ Math.imul(words + characters + 1, 0x9e3779b1));
      }
      kind = BREAK;
      word = 0;
      if (of === UNSPACED) {
        characters++;
        block[filled++] = mix(code < 0xd800 || code > 0xdfff ? code : Math.imul(code, 0x401) ^ units[i + 1]!);
      }
      if (filled >= WORDS_PER_BLOCK) {
        this.#shingle(filled);
        filled = 0;
      }
    }
    this.#shingle(filled);
    const total = words + characters;
    if (total < SHINGLE_WORDS && total > 0) {
      const first = total === 1 ? 0 : this.#first;
      this.#put(shingleOf(0, first, this.#second), first, 0, this.#second);
    }
    return words + (characters >>> 1);
  }

  /** Second loop: the block's words to shingles and their weights; the last two words are carried over. */
  #shingle(filled: number): void {
    const block = this.#words;
    const occurrences = this.#occurrences;
    let first = this.#first;
    let second = this.#second;
    let before = this.#wordsBefore;
    let textHi = this.#textHi;
    for (let i = 0; i < filled; i++) {
      const third = block[i]!;
      textHi = Math.imul(textHi ^ third, 0x2545f491) + 0x3779b9;
      if (before >= SHINGLE_WORDS - 1) {
        const a = shingleOf(first, second, third);
        const cell = a >>> 16;
        const occurrence = occurrences[cell]! + 1;
        if (occurrence <= OCCURRENCES_MAX) occurrences[cell] = occurrence;
        if ((occurrence & (occurrence - 1)) === 0 && (occurrence & POWERS_OF_FOUR) !== 0) this.#put(a, first, second, third);
      } else before++;
      first = second;
      second = third;
    }
    this.#first = first;
    this.#second = second;
    this.#wordsBefore = before;
    this.#textHi = textHi;
  }

  #put(a: number, first: number, second: number, third: number): void {
    const at = this.#waiting;
    this.#hashes[at] = a;
    this.#hashes[at + 1] = mix(Math.imul(a, 0x3c6ef372) + Math.imul(third, 0x1b873593) + (first ^ Math.imul(second, 0x5bd1e995)));
    this.#waiting = at + 2;
    if (this.#waiting === this.#hashes.length) this.#drain();
  }

  /** Adds the waiting hashes to the counters, lo and hi in turn. */
  #drain(): void {
    this.#shingles += this.#waiting / 2;
    this.#drainHalf(0);
    this.#drainHalf(1);
    this.#waiting = 0;
  }

  /** Sum k gathers the bits k, k + 8, k + 16 and k + 24, each in a byte of its own: at most 255 times before a byte would run over. */
  #drainHalf(half: 0 | 1): void {
    const hashes = this.#hashes;
    let [s0, s1, s2, s3, s4, s5, s6, s7] = [0, 0, 0, 0, 0, 0, 0, 0];
    for (let i = half; i < this.#waiting; i += 2) {
      const x = hashes[i]!;
      s0 = (s0 + (x & EACH_BYTE)) | 0;
      s1 = (s1 + ((x >>> 1) & EACH_BYTE)) | 0;
      s2 = (s2 + ((x >>> 2) & EACH_BYTE)) | 0;
      s3 = (s3 + ((x >>> 3) & EACH_BYTE)) | 0;
      s4 = (s4 + ((x >>> 4) & EACH_BYTE)) | 0;
      s5 = (s5 + ((x >>> 5) & EACH_BYTE)) | 0;
      s6 = (s6 + ((x >>> 6) & EACH_BYTE)) | 0;
      s7 = (s7 + ((x >>> 7) & EACH_BYTE)) | 0;
    }
    const sums = [s0, s1, s2, s3, s4, s5, s6, s7];
    for (let bit = 0; bit < 32; bit++) {
      const at = half * 32 + bit;
      this.#counts[at] = this.#counts[at]! + ((sums[bit & 7]! >>> (bit & 24)) & 0xff);
    }
  }

  #write(into: Uint32Array): void {
    let hi = 0;
    let lo = 0;
    for (let bit = 0; bit < 32; bit++) {
      if (this.#counts[bit]! * 2 > this.#shingles) lo |= 1 << bit;
      if (this.#counts[bit + 32]! * 2 > this.#shingles) hi |= 1 << bit;
    }
    into[0] = hi;
    into[1] = lo;
  }
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
