/**
 * The one spelling in which patterns of robots.txt and URLs are compared (RFC 9309 section 2.2.2).
 *
 * Rules, for both sides alike:
 * - an escape of an unreserved character (RFC 3986 section 2.3) is decoded: `%7E` is `~`;
 * - every other escape stays, its digits in upper case: `%2f` is `%2F` and never `/`;
 * - `/ ? & = + ; : @ , ! ( )` stay raw: they may separate, so raw and escaped differ;
 * - everything else is escaped: octets outside US-ASCII, controls, blanks, and what URL parsers escape in one component and keep in another
 *   (`'`, `|`, `^`, `[`, `]`, `{`, `}`), so that `?f[0]`, `?f%5B0%5D` and a pattern with either are one;
 * - `*` and `$` become `%2A` and `%24`: as literals. What they mean in a pattern is taken out before (pattern.ts);
 * - a `%` that begins no escape is `%25`.
 *
 * Invariant: the form is pure US-ASCII, and the form of a form is itself.
 * Text is held as octet strings: one character, 0 to 255, per octet. Nothing here resolves dot segments; the caller's URL is canonical.
 */

const HEX_DIGITS = '0123456789ABCDEF';
const PERCENT = 0x25;

/** What stands in the normal form as it is, apart from escapes. The ranges are in the order of how often URLs have them. */
function isPlain(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) || // a-z
    (code >= 0x2b && code <= 0x3b) || // + , - . / 0-9 : ;
    (code >= 0x3f && code <= 0x5a) || // ? @ A-Z
    code === 0x5f || // _
    code === 0x3d || // =
    code === 0x26 || // &
    code === 0x28 || // (
    code === 0x29 || // )
    code === 0x7e || // ~
    code === 0x21 // !
  );
}

/** RFC 3986 section 2.3. */
function isUnreserved(code: number): boolean {
  const lower = code | 0x20;
  return (
    (lower >= 0x61 && lower <= 0x7a) || (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x2e || code === 0x5f || code === 0x7e
  );
}

/** Index of the first character that the normal form may spell in another way, or -1: the text is its own normal form. */
function firstToChange(text: string): number {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (isPlain(code)) continue;
    if (code !== PERCENT || !isFormedEscape(text, index)) return index;
    index += 2;
  }
  return -1;
}

/** Whether an escape stands at `index` that the normal form keeps: upper-case digits, and not of an unreserved character. */
function isFormedEscape(text: string, index: number): boolean {
  const octet = escapedOctet(text, index);
  return octet >= 0 && !isUnreserved(octet) && text.charCodeAt(index + 1) < 0x61 && text.charCodeAt(index + 2) < 0x61;
}

function hexValue(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** The octet written by the escape at `index`, or -1 when no escape stands there. */
function escapedOctet(octets: string, index: number): number {
  const high = hexValue(octets.charCodeAt(index + 1));
  const low = hexValue(octets.charCodeAt(index + 2));
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

function escapeOf(octet: number): string {
  return `%${HEX_DIGITS[octet >> 4]}${HEX_DIGITS[octet & 15]}`;
}

/** Normal form of an octet string; `*` and `$` are literals in it. */
export function normalForm(octets: string): string {
  let index = firstToChange(octets);
  if (index < 0) return octets;
  let form = octets.slice(0, index);
  while (index < octets.length) {
    const code = octets.charCodeAt(index);
    const octet = code === PERCENT ? escapedOctet(octets, index) : -1;
    if (octet >= 0) {
      form += isUnreserved(octet) ? String.fromCharCode(octet) : escapeOf(octet);
      index += 3;
      continue;
    }
    form += isPlain(code) ? octets[index] : escapeOf(code);
    index++;
  }
  return form;
}

/** UTF-8 octets of a text, as an octet string; a lone surrogate is U+FFFD. */
export function utf8Octets(text: string): string {
  let index = 0;
  while (index < text.length && text.charCodeAt(index) < 0x80) index++;
  return index === text.length ? text : Buffer.from(text, 'utf8').toString('latin1');
}

/**
 * Normal form of the path and query of a URL, as the rules match them. A fragment is cut off, a missing first slash is put there (the path of
 * `http://a` and of `http://a?q` is `/`). Costs nothing but a look at each character when the text is plain.
 */
export function pathForm(pathQuery: string): string {
  if (pathQuery.charCodeAt(0) === 0x2f && firstToChange(pathQuery) < 0) return pathQuery;
  const hash = pathQuery.indexOf('#');
  const matched = hash < 0 ? pathQuery : pathQuery.slice(0, hash);
  const rooted = matched.startsWith('/') ? matched : `/${matched}`;
  return normalForm(utf8Octets(rooted));
}

/**
 * Path with query of a URL text, beginning with '/', without fragment; '/' when there is none. For texts that are not parsed URLs yet: a
 * scheme may be missing, in which case all before the first of `/ ? ;` is the authority. Two slashes at the start are none of the path.
 */
export function pathQueryOf(url: string): string {
  const hash = url.indexOf('#');
  const text = hash < 0 ? url : url.slice(0, hash);
  const start = firstOfPath(text, text.startsWith('//') ? 2 : 0);
  const scheme = text.indexOf('://');
  const pathStart = scheme >= 0 && scheme < start ? firstOfPath(text, scheme + 3) : start;
  if (pathStart === text.length) return '/';
  const pathQuery = text.slice(pathStart);
  return pathQuery.startsWith('/') ? pathQuery : `/${pathQuery}`;
}

function firstOfPath(text: string, from: number): number {
  let index = from;
  while (index < text.length && !'/?;'.includes(text[index]!)) index++;
  return index;
}
