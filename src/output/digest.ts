/** Digests in the two spellings of web archives: `sha1:` with base32 (RFC 4648 section 6, no padding needed at 20 bytes), `sha256:` with hex. */
import { hash } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The bytes pass as a string: a Buffer of 20 would be memory outside the heap, three for each page. */
export function sha1Digest(bytes: Uint8Array): string {
  return `sha1:${base32(hash('sha1', bytes, 'binary'))}`;
}

export function sha256Digest(bytes: Uint8Array): string {
  return `sha256:${hash('sha256', bytes, 'hex')}`;
}

/** `bytes` as latin-1; their number must be a multiple of 5, so that no padding arises. */
export function base32(bytes: string): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 5) {
    const high = (bytes.charCodeAt(at) << 12) | (bytes.charCodeAt(at + 1) << 4) | (bytes.charCodeAt(at + 2) >> 4); // 20 bits
    const low = ((bytes.charCodeAt(at + 2) & 15) << 16) | (bytes.charCodeAt(at + 3) << 8) | bytes.charCodeAt(at + 4); // 20 bits
    text += ALPHABET[high >> 15]! + ALPHABET[(high >> 10) & 31] + ALPHABET[(high >> 5) & 31] + ALPHABET[high & 31];
    text += ALPHABET[low >> 15]! + ALPHABET[(low >> 10) & 31] + ALPHABET[(low >> 5) & 31] + ALPHABET[low & 31];
  }
  return text;
}
