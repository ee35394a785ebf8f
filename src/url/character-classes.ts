/**
 * Which US-ASCII characters need no work, as one table of bits per character code.
 *
 * Facts behind it: WHATWG URL, "percent-encode sets" and "forbidden host code point"; RFC 3986 section 2. The table is cautious: a character
 * that it does not call plain goes through the URL parser, which is slower and never wrong.
 */

/** WHATWG leaves it as it is in a path, and RFC 3986 allows it there. `/ . % ? #` have meaning and are not in it, apart from the dot. */
export const PATH_PLAIN = 1;
/** The same for the query of an http URL; `?` and `/` are plain there, `'` is not. */
export const QUERY_PLAIN = 2;
/** May stand in a label of a host that needs no mapping: lower-case letters, digits, `-` and `_`. */
export const LABEL_PLAIN = 4;
/** A canonical path may have to spell it in another way, or drop something that begins here. */
export const PATH_WORK = 8;
/** Neither reserved nor unreserved in RFC 3986: URL parsers (and their releases) differ about it, so the canonical form escapes it. */
export const EXCLUDED = 16;
/** RFC 3986 section 2.3. */
export const UNRESERVED = 32;

const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const ALPHANUMERIC = `${LOWER}${LOWER.toUpperCase()}0123456789`;

function table(): Uint8Array {
  const bits = new Uint8Array(128);
  const mark = (characters: string, bit: number): void => {
    for (let i = 0; i < characters.length; i++) bits[characters.charCodeAt(i)]! |= bit;
  };
  mark(`${ALPHANUMERIC}-._~!$&'()*+,;=:@`, PATH_PLAIN);
  mark(`${ALPHANUMERIC}-._~!$&()*+,;=:@/?%[]`, QUERY_PLAIN);
  mark(`${LOWER}0123456789-_`, LABEL_PLAIN);
  mark('%;(', PATH_WORK);
  mark(' "<>\\^`{|}', PATH_WORK | EXCLUDED);
  mark(`${ALPHANUMERIC}-._~`, UNRESERVED);
  return bits;
}

/** Index: character code 0 … 127. Never written after it is made. */
export const CHARACTER_BITS: Uint8Array = table();

export function isHexDigit(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);
}
