/**
 * How shards reach one another. In one process it is a message port; in a cluster a topic, keyed by the receiving shard.
 *
 * Contract: messages between one ordered pair of shards arrive in the order sent, or not at all; after a loss the sender sends again what
 * was not acknowledged. `finds` are numbered consecutively per (sender, receiver) and are sent only after the sender's batch is durable;
 * the receiver admits exactly taken + 1, drops lower numbers and stops at a gap; `ack` follows the receiver's durable batch. All other kinds may be lost.
 */
export interface LinkChannel {
  send(message: LinkMessage): void;
  /** Registers the receiver of one shard's messages. Messages are delivered one at a time, never within `send`. */
  receive(shard: number, handler: (message: LinkMessage) => void): void;
}

/** The sender number of the seed list. */
export const SEED_SENDER = -1;
/** That of the seeds which were added to a crawl later: one list that only grows. */
export const ADDED_SEED_SENDER = -2;

export function isSeedSender(from: number): boolean {
  return from === SEED_SENDER || from === ADDED_SEED_SENDER;
}

export type LinkMessage =
  | {
      readonly kind: 'finds';
      readonly from: number;
      readonly to: number;
      readonly seq: number;
      readonly count: number;
      readonly blob: Uint8Array;
      readonly list?: string;
    }
  /** `refused`: keys (pairs of halves) that were not admitted, so that the sender does not remember them as known. */
  | { readonly kind: 'ack'; readonly from: number; readonly to: number; readonly upTo: number; readonly refused: Uint32Array }
  /** Content hashes whose pages are durable, for exact verdicts in other shards. */
  | { readonly kind: 'content'; readonly from: number; readonly to: number; readonly entries: readonly ContentEntry[] }
  /** A robots.txt redirect leads to a host of another shard: fetch it under that host's lease. */
  | {
      readonly kind: 'errand';
      readonly from: number;
      readonly to: number;
      readonly id: number;
      readonly url: string;
      readonly hops: number;
    }
  | { readonly kind: 'errand-reply'; readonly from: number; readonly to: number; readonly id: number; readonly answer: ErrandAnswer }
  /** A seed was redirected to this host, which thereby is in scope. */
  | { readonly kind: 'scope'; readonly from: number; readonly to: number; readonly hostKey: string };

/** A body that was stored: what an exact copy refers to. */
export interface ContentEntry {
  /** SHA-256 of the decoded body. */
  readonly hash: Uint8Array;
  readonly url: string;
  readonly fetchedAtMs: number;
  /** Digest of the payload as its WARC record has it; '' when none was written. */
  readonly payloadSha1: string;
}

export type ErrandAnswer =
  | { readonly kind: 'response'; readonly status: number; readonly body: Uint8Array; readonly cacheControl: string }
  | { readonly kind: 'redirect'; readonly url: string }
  | { readonly kind: 'failed'; readonly code: string };
