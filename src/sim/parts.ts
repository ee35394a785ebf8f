/** What a simulation is given from outside: generators of chance, a store whose tables outlive processes, and the turn of the real loop. */
import type { MemoryMetricsView } from '../engine/context.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Disk } from '../ports/disk.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Random } from '../ports/random.ts';
import type { ShardStore } from '../ports/shard-store.ts';

/** The tables of all shards of one crawl: what a machine's databases are to its processes. */
export interface SimStores {
  /** `sync` settles when, or rejects if, the log of a commit becomes durable. Stores opened before on this shard are dead. */
  open(shard: number, sync: () => Promise<void>): ShardStore;
  /** The process dies; with 'lost' the machine too, and what no sync covered is gone. True when something was. */
  crash(shard: number, unsynced: 'lost' | 'kept'): boolean;
}

export interface SimParts {
  /** Resolves when no promise is left to run. */
  readonly hop: () => Promise<void>;
  readonly createRandom: (seed: number) => Random;
  /** `keepRows` false: what an ended URL leaves behind need not be kept; for long runs that are neither killed nor counted again. */
  readonly createStores: (keepRows: boolean) => SimStores;
  readonly createBlobs: (disk: Disk) => BlobStore;
  readonly createMetrics: () => Metrics & MemoryMetricsView;
  /** Of the crawler. */
  readonly version: string;
  /** Release of the public-suffix snapshot. */
  readonly suffixList: string;
  /** Looks at the politeness ledger when the crawl has ended; `marks`: those of each shard's last commit. */
  readonly verify: (blobs: BlobStore, marks: readonly string[]) => Verdict;
}

export interface Verdict {
  readonly requests: number;
  /** In words. */
  readonly objections: readonly string[];
  /** How the exchanges ended, robots.txt and attempts that were repeated included. */
  readonly outcomes: Readonly<Record<string, number>>;
}
