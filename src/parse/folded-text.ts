/**
 * Collects visible text with its white space folded, in one buffer that is used again for the next page.
 *
 * Invariant: the text never starts or ends with a separator and never has two in a row; between two blocks stands \n, between two words
 * a space. Controls and U+00A0 count as white space. Parts of the text can be marked as outside the main text.
 * Unfolded, for who only wants the words: white space within a write stays as it is, and the invariant holds for separators alone.
 */
import { copyUnits, roomFor, stringOf } from './units.ts';

const NO_SEPARATOR = 0;
const WORD_SEPARATOR = 32;
const LINE_SEPARATOR = 10;
/** All bits for each unit that is folded, none for the others. */
const FOLDS: Readonly<Uint16Array> = new Uint16Array(1 << 16).fill(0xffff, 0, 33).fill(0xffff, 0xa0, 0xa1);

export class FoldedText {
  #units: Uint16Array = new Uint16Array(0);
  #main: Uint16Array = new Uint16Array(0);
  #decoded: Uint16Array = new Uint16Array(0);
  #length = 0;
  #separator = NO_SEPARATOR;
  #isFolding = true;
  /** Starts and ends of the parts that are outside the main text, in turn. */
  readonly #gaps: number[] = [];

  /** Starts a text of at most `capacity` units. */
  reset(capacity: number, isFolding = true): void {
    this.#isFolding = isFolding;
    this.#units = roomFor(this.#units, capacity + 1);
    this.#length = 0;
    this.#separator = NO_SEPARATOR;
    this.#gaps.length = 0;
  }

  /** The next write begins a new line. */
  breakLine(): void {
    this.#separator = LINE_SEPARATOR;
  }

  /** The next write begins a new word. */
  breakWord(): void {
    if (this.#separator === NO_SEPARATOR) this.#separator = WORD_SEPARATOR;
  }

  writeString(text: string): void {
    this.#decoded = roomFor(this.#decoded, text.length);
    copyUnits(text, this.#decoded);
    this.write(this.#decoded, 0, text.length);
  }

  /** Writes units [start, end) of `source`. */
  write(source: Uint16Array, start: number, end: number): void {
    if (this.#isFolding) this.#fold(source, start, end);
    else if (start < end) this.#copy(source, start, end);
  }

  #copy(source: Uint16Array, start: number, end: number): void {
    const target = this.#units;
    let length = this.#length;
    if (length > 0 && this.#separator !== NO_SEPARATOR) target[length++] = this.#separator;
    for (let i = start; i < end; i++) target[length++] = source[i]!;
    this.#separator = NO_SEPARATOR;
    this.#length = length;
  }

  /** The loop has no branch inside: words are short, and each end of one would be mispredicted. */
  #fold(source: Uint16Array, start: number, end: number): void {
    const target = this.#units;
    let length = this.#length;
    let wasFolded = 0;
    if (length === 0) wasFolded = 1;
    else if (this.#separator !== NO_SEPARATOR) {
      wasFolded = 1;
      target[length++] = this.#separator;
    }
    const first = length;
    for (let i = start; i < end; i++) {
      const unit = source[i]!;
      const folds = FOLDS[unit]!;
      target[length] = unit ^ ((unit ^ WORD_SEPARATOR) & folds);
      length += 1 - (folds & wasFolded);
      wasFolded = folds & 1;
    }
    if (length !== first) {
      this.#separator = wasFolded === 1 ? WORD_SEPARATOR : NO_SEPARATOR;
      this.#length = length - wasFolded;
    } else if (start < end) {
      this.breakWord();
    }
  }

  /** What follows is outside the main text, until closeGap. */
  openGap(): void {
    this.#gaps.push(this.#length);
  }

  closeGap(): void {
    this.#gaps.push(this.#length);
  }

  /** Units written so far. */
  get length(): number {
    return this.#length;
  }

  /** What was written since there were `from` units, without a separator at its begin. */
  since(from: number): string {
    const start = isSeparator(this.#units[from]) ? from + 1 : from;
    return start < this.#length ? stringOf(this.#units.subarray(start, this.#length)) : '';
  }

  /** Everything written. */
  text(): string {
    return stringOf(this.#units.subarray(0, this.#length));
  }

  /** The text without its gaps, each leaving one \n; all of it when nothing else is left. The units stay as they are until the next reset. */
  mainUnits(): Uint16Array {
    if (this.#gaps.length === 0) return this.#units.subarray(0, this.#length);
    const gaps = [...this.#gaps, this.#length];
    if (gaps.length % 2 === 0) gaps.push(this.#length);
    this.#main = roomFor(this.#main, this.#length + 1);
    let length = 0;
    let from = 0;
    for (let g = 0; g < gaps.length; g += 2) {
      const start = isSeparator(this.#units[from]) ? from + 1 : from;
      const end = gaps[g] ?? this.#length;
      if (end > start) {
        if (length > 0) this.#main[length++] = LINE_SEPARATOR;
        this.#main.set(this.#units.subarray(start, end), length);
        length += end - start;
      }
      from = gaps[g + 1] ?? this.#length;
    }
    return hasWords(this.#main, length) ? this.#main.subarray(0, length) : this.#units.subarray(0, this.#length);
  }
}

/** Whether one of the first `length` units is no white space. */
function hasWords(units: Uint16Array, length: number): boolean {
  for (let i = 0; i < length; i++) if (FOLDS[units[i]!] === 0) return true;
  return false;
}

function isSeparator(unit: number | undefined): boolean {
  return unit === WORD_SEPARATOR || unit === LINE_SEPARATOR;
}
