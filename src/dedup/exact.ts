/** Exact duplicates (R-H1): SHA-256 of the decoded body. Copies that differ in markup alone are found by the text hash of simhash.ts. */
import { hash } from 'node:crypto';

/** SHA-256 of the decoded body, 32 bytes. Empty bodies all have the same: ask `exactEligible` before believing it. */
export function contentHash(bytes: Uint8Array): Buffer {
  return Buffer.from(hash('sha256', bytes, 'binary'), 'latin1'); // out of Node's pool, not memory of its own
}
