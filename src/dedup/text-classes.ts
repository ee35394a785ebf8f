/**
 * What a UTF-16 code unit is to a fingerprint of text: one number for each of the 65,536, built once per instance (about 20 ms) from the
 * Unicode properties of the running Node. A code unit of an astral character is judged by its high surrogate (see `fillSurrogates`).
 */

/** Letter or mark of a script that puts spaces between words: the folded unit itself, below this. */
export const LETTER = 0x1_0000;
/** The kinds of all others, above the unit's own bits. White space, punctuation, symbols, emoji, control characters: ends a word. */
export const BREAK = 0x1_0000;
/** Number: a word that holds one is left out. */
export const DIGIT = 0x2_0000;
/** Character of a script without spaces (Han, kana, Thai, …): a word of its own, so that three words are a character 3-gram. */
export const UNSPACED = 0x3_0000;
/** Soft hyphen, joiners and other format characters: neither part of a word nor its end. */
export const SKIP = 0x4_0000;
/** First half of a letter beyond the basic plane. */
export const ASTRAL = 0x5_0000;
export const UNIT_BITS = 0xffff;

const SIGMA = 0x3c3;
const FINAL_SIGMA = 0x3c2;

/** Letters and marks of scripts that put no spaces between words. Hangul does. */
const UNSPACED_SCRIPTS =
  /[[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tai_Le}\p{Script=New_Tai_Lue}\p{Script=Tai_Tham}\p{Script=Tibetan}\p{Script=Yi}]&&[\p{L}\p{M}]]+/gv;
const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;

/**
 * For each code unit its lower case (one unit; a final sigma as any other) with its kind above it; letters have no kind. Whole runs of units are
 * matched at once: asking about each unit on its own takes three times as long, in every thread at its start.
 */
export function foldedUnits(): Uint32Array {
  const folded = new Uint32Array(65_536);
  for (let code = 0; code < folded.length; code++) folded[code] = BREAK | code;
  const units = allUnits();
  const mark = (expression: RegExp, kind: number): void => {
    for (const { 0: run, index } of units.matchAll(expression)) {
      for (let at = index; at < index + run.length; at++) folded[codeAt(at)] = kind | codeAt(at);
    }
  };
  mark(/[\p{L}\p{M}]+/gu, 0);
  mark(UNSPACED_SCRIPTS, UNSPACED);
  mark(/\p{Cf}+/gu, SKIP);
  mark(/\p{N}+/gu, DIGIT);
  for (const { 0: run, index } of units.matchAll(/\p{Changes_When_Lowercased}+/gu)) {
    for (let at = index; at < index + run.length; at++) lower(folded, codeAt(at));
  }
  lower(folded, FINAL_SIGMA);
  fillSurrogates(folded);
  return folded;
}

/** Every code unit but the surrogates, which would pair up. */
function allUnits(): string {
  const units = new Uint16Array(65_536 - SURROGATES);
  for (let at = 0; at < units.length; at++) units[at] = codeAt(at);
  return new TextDecoder('utf-16le', { ignoreBOM: true }).decode(units);
}

/** The code unit at this place of `allUnits`. */
function codeAt(at: number): number {
  return at < SURROGATES_FROM ? at : at + SURROGATES;
}

function lower(folded: Uint32Array, code: number): void {
  const unit = code === FINAL_SIGMA ? SIGMA : String.fromCharCode(code).toLowerCase().charCodeAt(0);
  folded[code] = (folded[code]! & ~UNIT_BITS) | unit;
}

/** High surrogates D840–D88F are the Han of planes 2 and 3; D83C–D83E emoji and symbols; the rest letters. The low ones take part only after a high one. */
function fillSurrogates(folded: Uint32Array): void {
  for (let code = 0xd800; code < 0xe000; code++) folded[code] = surrogateKind(code) | code;
}

function surrogateKind(code: number): number {
  if (code >= 0xdc00) return SKIP;
  if (code >= 0xd83c && code < 0xd83f) return BREAK;
  return code >= 0xd840 && code < 0xd890 ? UNSPACED : ASTRAL;
}
