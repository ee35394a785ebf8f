/** What every part of a shard is handed, and what a shard tells the world outside it. */
import type { TotalsSnapshot } from './accounting.ts';
import type { ShardPorts, ThreadContext } from './context.ts';
import type { ShardLoad } from './measurements.ts';

/** One shard's surroundings. Nothing in it belongs to a part: who is handed it may use it, and closes none of it. */
export interface ShardEnv {
  readonly id: number;
  readonly context: ThreadContext;
  readonly ports: ShardPorts;
  readonly events: ShardEvents;
}

export interface ShardEvents {
  /** After each durable commit. */
  committed(shard: number, commitSeq: number, pages: number): void;
  /** A WARC file is full. */
  rotated(shard: number, file: string): void;
  /** A host joined the scope. */
  scopeAdded(hostKey: string): void;
  /** Storage failed or an invariant broke: the shard has stopped. */
  failed(shard: number, error: unknown): void;
  notice(shard: number, text: string): void;
}

/** Why a shard leases nothing; '' when it does. Exchanges in flight go on all the same. */
export type Pause = '' | 'operator' | 'disk' | 'pages' | 'stopping' | 'program';

export interface ShardStatus {
  readonly shard: number;
  /** Nothing to do, nothing in flight, nothing uncommitted, nothing unacknowledged. */
  readonly idle: boolean;
  /** Changes whenever the shard did anything: two equal readings mean that it stood still. */
  readonly version: number;
  readonly commitSeq: number;
  /** As of the last durable commit. */
  readonly totals: TotalsSnapshot;
  readonly sentSeq: Readonly<Record<string, number>>;
  readonly takenSeq: Readonly<Record<string, number>>;
  readonly inFlight: number;
  readonly active: number;
  readonly hosts: number;
  readonly apartHosts: number;
  readonly apartUrls: number;
  readonly waitMs: number;
  readonly paused: Pause;
  /** Where its hosts are and what they wait for. */
  readonly load: ShardLoad;
}

/** A wall clock that moves by more than this against the boot's own clock was set. */
export const CLOCK_STEP_MS = 1_000;
