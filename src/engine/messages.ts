/** What the coordinator and the threads that run shards say to each other; finds and the like go over the link channel instead. */
import type { ErrorCode } from '../core/errors.ts';
import type { ShardStatus } from './shard.ts';

export type ToThread =
  | { readonly type: 'start'; readonly scopeHosts: readonly string[] }
  | { readonly type: 'status'; readonly round: number }
  | { readonly type: 'pause' }
  | { readonly type: 'resume' }
  | { readonly type: 'blocklist'; readonly text: string; readonly file: string }
  | { readonly type: 'stop' };

export type FromThread =
  | { readonly type: 'opened'; readonly statuses: readonly ShardStatus[]; readonly scopeHosts: readonly string[] }
  | {
      readonly type: 'status';
      readonly round: number;
      readonly statuses: readonly ShardStatus[];
      readonly metrics: Readonly<Record<string, number>>;
    }
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
