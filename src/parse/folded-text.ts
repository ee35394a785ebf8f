/**
 * Collects visible text with its white space folded, in one buffer that is used again for the next page.
 *
 * Invariant: the text never starts or ends with a separator and never has two in a row; between two blocks stands \n, between two words
 * a space. Controls and U+00A0 count as white space. Parts of the text can be marked as outside the main text.
 */
import { copyUnits, MAX_KEPT_UNITS, roomFor, twoByteString } from './units.ts';

const NO_SEPARATOR = 0;
const WORD_SEPARATOR = 32;
const LINE_SEPARATOR = 10;
/** All bits for each unit that is folded, none for the others. */
const FOLDS: Readonly<Uint16Array> = new Uint16Array(1 << 16).fill(0xffff, 0, 33).fill(0xffff, 0xa0, 0xa1);

export class FoldedText {
  /** One byte a unit until a unit needs two; then `#target` is `#wide`. */
  #narrow: Buffer = Buffer.alloc(0);
  #wide: Uint16Array = new Uint16Array(0);
  #target: Uint8Array | Uint16Array = this.#narrow;
  #decoded: Uint16Array = new Uint16Array(0);
  #length = 0;
  #separator = NO_SEPARATOR;
  /** Starts and ends of the parts that are outside the main text, in turn. */
  readonly #gaps: number[] = [];

  /** Starts a text of at most `capacity` units. */
  reset(capacity: number): void {
    if (this.#narrow.length <= capacity || this.#narrow.length > MAX_KEPT_UNITS)
      this.#narrow = Buffer.alloc(Math.max(capacity + 1, 1 << 16));
    this.#target = this.#narrow;
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

  /** Writes units [start, end) of `source`. The loop has no branch inside: words are short, and each end of one would be mispredicted. */
  write(source: Uint16Array, start: number, end: number): void {
    const target = this.#target;
    let length = this.#length;
    let seen = 0;
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
      seen |= unit;
    }
    if (seen > 0xff && target === this.#narrow) {
      this.#widen();
      this.write(source, start, end);
    } else if (length !== first) {
      this.#separator = wasFolded === 1 ? WORD_SEPARATOR : NO_SEPARATOR;
      this.#length = length - wasFolded;
    } else if (start < end) {
      this.breakWord();
    }
  }

  #widen(): void {
    this.#wide = roomFor(this.#wide, this.#narrow.length);
    this.#wide.set(this.#narrow.subarray(0, this.#length));
    this.#target = this.#wide;
  }

  /** What follows is outside the main text, until closeGap. */
  openGap(): void {
    this.#gaps.push(this.#length);
  }

  closeGap(): void {
    this.#gaps.push(this.#length);
  }

  /** Everything written. */
  text(): string {
    return this.#string(0, this.#length);
  }

  /** The text without its gaps, each leaving one \n; all of it when nothing else is left. */
  mainText(): string {
    if (this.#gaps.length === 0) return this.text();
    const gaps = [...this.#gaps, this.#length];
    if (gaps.length % 2 === 0) gaps.push(this.#length);
    const parts: string[] = [];
    let from = 0;
    for (let g = 0; g < gaps.length; g += 2) {
      const start = isSeparator(this.#target[from]) ? from + 1 : from;
      const end = gaps[g] ?? this.#length;
      if (end > start) parts.push(this.#string(start, end));
      from = gaps[g + 1] ?? this.#length;
    }
    return parts.length === 0 ? this.text() : parts.join('\n');
  }

  #string(start: number, end: number): string {
    if (this.#target === this.#narrow) return this.#narrow.toString('latin1', start, end);
    return twoByteString(this.#wide.subarray(start, end));
  }
}

function isSeparator(unit: number | undefined): boolean {
  return unit === WORD_SEPARATOR || unit === LINE_SEPARATOR;
}
