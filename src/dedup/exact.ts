/** Exact duplicates (R-H1): SHA-256 of the decoded body, and a short hash of the visible text for copies that differ in markup alone. */
import { hash } from 'node:crypto';

const TEXT_HASH_BYTES = 8;

/** SHA-256 of the decoded body, 32 bytes. Empty bodies all have the same: ask `exactEligible` before believing it. */
export function contentHash(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer');
}

/**
 * First 8 bytes of SHA-256 over the visible text, lower-cased, without white space, control and format characters, as UTF-16LE.
 * White space goes because where it stands follows from the markup (a block element, an indentation, `&nbsp;`). Digits and punctuation stay:
 * two pages that differ only in a price are two pages. (The SimHash leaves digits out; it is what calls a changed view counter "unchanged".)
 */
export function textHash(text: string): Buffer {
  const folded = text.toLowerCase();
  const units = new Uint16Array(folded.length);
  let count = 0;
  for (let i = 0; i < folded.length; i++) {
    const code = folded.charCodeAt(i);
    if (code > 0x20 && (code < 0x7f || (code > 0xa0 && !isInvisible(code)))) units[count++] = code;
  }
  return hash('sha256', new Uint8Array(units.buffer, 0, count * 2), 'buffer').subarray(0, TEXT_HASH_BYTES);
}

/** White space and format characters above U+00A0. */
function isInvisible(code: number): boolean {
  if (code < 0x1680) return code === 0xad || code === 0x61c;
  return (
    code === 0x1680 ||
    code === 0x180e ||
    (code >= 0x2000 && code <= 0x200f) ||
    (code >= 0x2028 && code <= 0x202f) ||
    (code >= 0x205f && code <= 0x206f) ||
    code === 0x3000 ||
    code === 0xfeff
  );
}
