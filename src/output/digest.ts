/** Digests in the two spellings of web archives: `sha1:` with base32 (RFC 4648 section 6, no padding needed at 20 bytes), `sha256:` with hex. */
import { hash } from 'node:crypto';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export function sha1Digest(bytes: Uint8Array): string {
  return `sha1:${base32(hash('sha1', bytes, 'buffer'))}`;
}

export function sha256Digest(bytes: Uint8Array): string {
  return `sha256:${hash('sha256', bytes, 'hex')}`;
}

/** `bytes.length` must be a multiple of 5, so that no padding arises. */
export function base32(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 5) {
    const high = (bytes[at]! << 12) | (bytes[at + 1]! << 4) | (bytes[at + 2]! >> 4); // 20 bits
    const low = ((bytes[at + 2]! & 15) << 16) | (bytes[at + 3]! << 8) | bytes[at + 4]!; // 20 bits
    text += ALPHABET[high >> 15]! + ALPHABET[(high >> 10) & 31] + ALPHABET[(high >> 5) & 31] + ALPHABET[high & 31];
    text += ALPHABET[low >> 15]! + ALPHABET[(low >> 10) & 31] + ALPHABET[(low >> 5) & 31] + ALPHABET[low & 31];
  }
  return text;
}
