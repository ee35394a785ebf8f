/**
 * The URL key: the first 8 bytes of SHA-256 of the canonical URL, as two unsigned 32-bit halves. Two URLs of 10^9 meet by chance with
 * p ≈ 2.7 %; keys are compared within the hosts of one shard only, which lowers it by their number.
 */
import { hash } from 'node:crypto';

/** Fills into[0] with bytes 0–3 and into[1] with bytes 4–7, big endian. */
export function urlKey(canonical: string, into: Uint32Array): void {
  const digest = hash('sha256', canonical, 'binary');
  into[0] = wordAt(digest, 0);
  into[1] = wordAt(digest, 4);
}

function wordAt(digest: string, index: number): number {
  return (
    (digest.charCodeAt(index) << 24) |
    (digest.charCodeAt(index + 1) << 16) |
    (digest.charCodeAt(index + 2) << 8) |
    digest.charCodeAt(index + 3)
  );
}

/** 16 lower-case hex digits. */
export function keyHex(hi: number, lo: number): string {
  return (hi >>> 0).toString(16).padStart(8, '0') + (lo >>> 0).toString(16).padStart(8, '0');
}
