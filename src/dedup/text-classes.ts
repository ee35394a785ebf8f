/**
 * What a UTF-16 code unit is to a fingerprint of text: one byte for each of the 65,536, built once per instance (about 10 ms) from the
 * Unicode properties of the running Node. A code unit of an astral character is judged by its high surrogate (see `fill`).
 */

/** White space, punctuation, symbols, emoji, control characters: ends a word. */
export const BREAK = 0;
/** Letter or mark of a script that puts spaces between words. */
export const LETTER = 1;
/** Number: a word that holds one is left out. */
export const DIGIT = 2;
/** Character of a script without spaces (Han, kana, Thai, …): a word of its own, so that three words are a character 3-gram. */
export const UNSPACED = 3;
/** Soft hyphen, joiners and other format characters: neither part of a word nor its end. */
export const SKIP = 4;

/** Scripts that put no spaces between words. Hangul does. */
const UNSPACED_SCRIPTS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tai_Le}\p{Script=New_Tai_Lue}\p{Script=Tai_Tham}\p{Script=Tibetan}\p{Script=Yi}]/u;

export function textClasses(): Uint8Array {
  const classes = new Uint8Array(65_536);
  for (let code = 0; code < 65_536; code++) {
    if (code < 0xd800 || code > 0xdfff) classes[code] = classOf(String.fromCharCode(code));
  }
  fillSurrogates(classes);
  return classes;
}

function classOf(char: string): number {
  if (/\p{N}/u.test(char)) return DIGIT;
  if (/\p{Cf}/u.test(char)) return SKIP;
  if (!/[\p{L}\p{M}]/u.test(char)) return BREAK;
  return UNSPACED_SCRIPTS.test(char) ? UNSPACED : LETTER;
}

/** High surrogates D840–D88F are the Han of planes 2 and 3; D83C–D83E emoji and symbols; the rest letters. The low ones take part only after a high one. */
function fillSurrogates(classes: Uint8Array): void {
  classes.fill(LETTER, 0xd800, 0xdc00);
  classes.fill(BREAK, 0xd83c, 0xd83f);
  classes.fill(UNSPACED, 0xd840, 0xd890);
  classes.fill(SKIP, 0xdc00, 0xe000);
}
