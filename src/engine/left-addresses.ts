/**
 * Addresses that a host has left for another of its own while the first one is still owed its delay. A host's row holds one address; what the others are
 * owed would be forgotten by the next process, so it goes into the marks of every batch.
 *
 * Bounded by the requests of one address delay: what is owed no more is let go at each freeze.
 */
import type { EpochMs } from '../core/time.ts';

/** `endMs`: end of the last exchange with that host over that address, or when it was last known to be owed. */
export type LeftAddress = readonly [hostKey: string, address: string, endMs: EpochMs];

export class LeftAddresses {
  readonly #left = new Map<string, LeftAddress>();

  /** What was known before of the same host and address is older. */
  add(hostKey: string, address: string, endMs: EpochMs): void {
    if (address !== '') this.#left.set(`${hostKey} ${address}`, [hostKey, address, endMs]);
  }

  /** Those that are still owed; `delayMs`: by host. */
  owed(now: EpochMs, delayMs: (hostKey: string) => number): readonly LeftAddress[] {
    for (const [key, [hostKey, , endMs]] of this.#left) if (endMs + delayMs(hostKey) <= now) this.#left.delete(key);
    return [...this.#left.values()];
  }
}
