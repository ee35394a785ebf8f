/**
 * The durable state of one shard. A batch is one value: it is applied whole or not at all, and applying the same batch twice changes
 * nothing (its commitSeq must be the stored one + 1; the stored one again is a no-op).
 *
 * Contract: `open` gives the state after the last durable batch. `commit` resolves when the batch survives a power cut. After `commit`
 * rejects, the store is closed and what is in memory is no longer true: the caller throws the shard away. One commit at a time.
 * Reads see the last commit handed in, durable or not. In a cluster the epoch fences: a commit under an old epoch is refused.
 */
import type { HostRecord } from '../core/host.ts';
import type { FateRow, PageRow, QueueEntry } from '../core/records.ts';
import type { ContentEntry } from './link-channel.ts';

export interface ShardStore {
  /** Everything that it shows is durable when it returns, also a batch that a process which died had not synced yet: others are told of it at once. */
  open(shard: number): OpenedShard;
  readHost(id: number): HostRecord | undefined;
  findHostId(key: string): number | undefined;
  /** Callback for every host: id, key, and what the in-memory index needs. Order: by id. Used once at open. */
  scanHosts(each: (host: HostScan) => void): void;
  readChunk(hostId: number, level: number, seq: number): Uint8Array | undefined;
  readRobots(origin: string): RobotsRow | undefined;
  /** Exact content index: the first page with this SHA-256. */
  findContent(hash: Uint8Array): ContentRow | undefined;
  readContent(id: number): ContentRow | undefined;
  /** The first body with this hash of its visible text. */
  findText(textHash: Uint8Array): ContentRow | undefined;
  /** Pages whose stored body begins or ends beyond `bytes` of a segment, or lies in a later one. */
  pagesBeyond(segment: string, bytes: number): PageRow[];
  readPage(hostId: number, keyHi: number, keyLo: number): PageRow | undefined;
  /** Every page and every fate, in no order; for repairs, when output was lost. No other call of the store within `each`. */
  scanPages(each: (page: PageRow) => void): void;
  scanFates(each: (fate: FateRow) => void): void;
  /** Every key of the shard's admitted URLs outside the queues (pages, fates); for rebuilding the seen set. */
  scanKeys(each: (keyHi: number, keyLo: number) => void): void;
  /** What tells bodies apart, oldest first. The hashes may be overwritten after `each`. */
  scanContent(each: (print: ContentPrint) => void): void;
  /** Every entry that waits in a queue (consumed entries of the head chunks left out). */
  scanEntries(each: (hostId: number, level: number, entry: QueueEntry) => void): void;
  commit(batch: Batch): Promise<void>;
  close(): void;
}

export type ContentPrint = Pick<ContentRow, 'id' | 'hash' | 'textHash' | 'simhashHi' | 'simhashLo' | 'words'>;

export interface HostScan {
  readonly id: number;
  readonly key: string;
  readonly domain: string;
  readonly level: number;
  readonly dueMs: number;
  readonly queued: number;
}

export interface OpenedShard {
  readonly commitSeq: number;
  readonly totals: string;
  readonly marks: string;
  readonly seenManifest: string;
  /** Seen keys committed since the last run. */
  readonly seenDeltas: readonly SeenDelta[];
  readonly nextHostId: number;
  readonly nextContentId: number;
  readonly outbox: readonly OutboxRow[];
  readonly taken: readonly TakenRow[];
  readonly scopeHosts: readonly string[];
  /** True when the last stop left no mark of a clean end. */
  readonly unclean: boolean;
  /** True when this open has made the state: there was none. */
  readonly isNew?: boolean;
}

/** New keys (hi, lo alternating), numbered by the seen set. */
export interface SeenDelta {
  readonly seq: number;
  readonly keys: Uint32Array;
}

export interface ContentRow extends ContentEntry {
  readonly id: number;
  /** First 8 bytes of the hash of the visible text; undefined when the body takes no part in near verdicts. */
  readonly textHash: Uint8Array | undefined;
  readonly simhashHi: number;
  readonly simhashLo: number;
  /** Sketch of the shingles (dedup/sketch.ts); undefined with textHash. */
  readonly sketch: Uint8Array | undefined;
  /** Words behind the SimHash; 0 when the body takes no part in near verdicts. */
  readonly words: number;
}

export interface OutboxRow {
  readonly to: number;
  readonly seq: number;
  readonly count: number;
  readonly blob: Uint8Array;
}

export interface TakenRow {
  readonly from: number;
  readonly seq: number;
  readonly finds: number;
  /** Seed list this number belongs to; '' for shards. */
  readonly list: string;
}

export interface RobotsRow {
  readonly origin: string;
  readonly state: string;
  readonly status: number;
  readonly body: Uint8Array | undefined;
  readonly bodySha256: string;
  readonly fetchedAtMs: number;
  readonly expiresAtMs: number;
  readonly failingSinceMs: number;
  readonly failures: number;
}

export interface ChunkWrite {
  readonly hostId: number;
  readonly level: number;
  readonly seq: number;
  readonly count: number;
  readonly blob: Uint8Array;
  /** Add to the end of the stored chunk instead of writing a new one. */
  readonly append: boolean;
}

export interface Batch {
  readonly epoch: number;
  readonly commitSeq: number;
  readonly clean: boolean;
  readonly hosts: readonly HostRecord[];
  readonly chunks: readonly ChunkWrite[];
  /** Chunks of (host, level) below `seq` are consumed. */
  readonly chunksDone: readonly { readonly hostId: number; readonly level: number; readonly fromSeq: number; readonly belowSeq: number }[];
  readonly pages: readonly PageRow[];
  /** Pages whose output was lost and which are queued again. */
  readonly pagesGone: readonly Pick<PageRow, 'hostId' | 'keyHi' | 'keyLo'>[];
  readonly fates: readonly FateRow[];
  /** Fates that are no more: their URLs are queued again. Taken away before `fates` are written. */
  readonly fatesGone?: readonly Pick<FateRow, 'hostId' | 'keyHi' | 'keyLo'>[];
  readonly robots: readonly RobotsRow[];
  readonly content: readonly ContentRow[];
  readonly seenDeltas: readonly SeenDelta[];
  /** New manifest of runs, or undefined when the stored one stays. */
  readonly seenManifest: string | undefined;
  /** Deltas numbered below this are in the manifest's runs and go; −1 when none. */
  readonly seenDeltasBelow: number;
  readonly outbox: readonly OutboxRow[];
  readonly outboxDone: readonly { readonly to: number; readonly upTo: number }[];
  readonly taken: readonly TakenRow[];
  readonly scopeHosts: readonly string[];
  readonly nextHostId: number;
  readonly nextContentId: number;
  readonly totals: string;
  readonly marks: string;
}
