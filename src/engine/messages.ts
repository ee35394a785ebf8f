/** What the coordinator and the threads that run shards say to each other; finds and the like go over the link channel instead. */
import type { ErrorCode } from '../core/errors.ts';
import type { DeliveryItem } from './delivery.ts';
import type { ShardStatus } from './shard.ts';

export type ToThread =
  | { readonly type: 'start'; readonly scopeHosts: readonly string[] }
  | { readonly type: 'status'; readonly round: number }
  | Steer
  /** The program is done with every page and drop of the shard up to item `seq`. */
  | { readonly type: 'given'; readonly shard: number; readonly seq: number }
  /** The program takes nothing more in this run. */
  | { readonly type: 'abandon' }
  | { readonly type: 'stop' };

/** What changes while a crawl runs. With `ask` the thread answers `applied` when it has carried it out. */
export type Steer = { readonly ask?: number } & (
  | { readonly type: 'pause' }
  | { readonly type: 'resume' }
  /** Blocklist and delays (milliseconds by host pattern), whole: they take the place of those in force. */
  | {
      readonly type: 'rules';
      readonly blocklist: { readonly text: string; readonly file: string } | undefined;
      readonly hostDelays: Readonly<Record<string, number>>;
    }
  /** Seeds that widen the scope. */
  | { readonly type: 'areas'; readonly seeds: readonly string[] }
);

export type FromThread =
  | { readonly type: 'opened'; readonly statuses: readonly ShardStatus[]; readonly scopeHosts: readonly string[] }
  | {
      readonly type: 'status';
      readonly round: number;
      readonly statuses: readonly ShardStatus[];
      readonly metrics: Readonly<Record<string, number>>;
      /** Share of the time since the last status in which the thread's event loop was at work, 0 … 1; 0 where none is measured. */
      readonly busy: number;
    }
  | { readonly type: 'applied'; readonly ask: number }
  /** Pages and drops for the program; goes past the coordinator. */
  | { readonly type: 'items'; readonly shard: number; readonly items: readonly DeliveryItem[] }
  | { readonly type: 'committed'; readonly shard: number; readonly commitSeq: number; readonly pages: number }
  | { readonly type: 'rotated'; readonly shard: number; readonly file: string }
  | { readonly type: 'notice'; readonly shard: number; readonly text: string }
  | { readonly type: 'failed'; readonly shard: number; readonly error: PlainError }
  | { readonly type: 'stopped'; readonly statuses: readonly ShardStatus[] };

export interface PlainError {
  readonly code: ErrorCode | 'PORTOLAN_INTERNAL';
  readonly message: string;
  readonly remedy: string;
  readonly stack: string;
}
