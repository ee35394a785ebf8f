/** Exact duplicates (R-H1): SHA-256 of the decoded body. Copies that differ in markup alone are found by the text hash of simhash.ts. */
import { hash } from 'node:crypto';

/** SHA-256 of the decoded body, 32 bytes. Empty bodies all have the same: ask `exactEligible` before believing it. */
export function contentHash(bytes: Uint8Array): Buffer {
  return hash('sha256', bytes, 'buffer');
}
