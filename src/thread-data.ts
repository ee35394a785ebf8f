/** What the main thread hands to each of its threads, and what both make from it. */
import { join } from 'node:path';
import type { SharedGateMemory, SharedGateOptions } from './adapters/node/address-gate.ts';
import type { Config } from './config/schema.ts';
import type { DeliveryPlan } from './engine/delivery.ts';

export interface ThreadData {
  readonly config: Config;
  /** Seeds that make the scope, one for each area; none for scope web. */
  readonly areas: readonly string[];
  readonly shards: number;
  /** In the order in which they are to be opened. */
  readonly own: readonly number[];
  /** The crawl begins: a shard may go to work before the others are open. */
  readonly isNew: boolean;
  readonly threads: number;
  readonly dir: string;
  readonly gate: SharedGateMemory;
  readonly gateOptions: SharedGateOptions;
  readonly bootId: string;
  readonly configVersion: string;
  /** Module of the program's hooks, as a URL. */
  readonly hooks?: string | undefined;
  readonly delivery?: DeliveryPlan | undefined;
  readonly blocklist: { readonly text: string; readonly file: string } | undefined;
  /** Delays set for single hosts, milliseconds by host pattern. */
  readonly hostDelays: Readonly<Record<string, number>>;
}

export function shardFile(dir: string, shard: number): string {
  return join(dir, 'state', `shard-${shard}`, 'state.db');
}
