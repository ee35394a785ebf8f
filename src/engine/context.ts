/**
 * What the shards of one thread share: the configuration, the pure functions made from it, the thread's caches, and the ports.
 * Nothing here belongs to one shard.
 */
import type { Config } from '../config/schema.ts';
import type { SimHasher } from '../dedup/simhash.ts';
import type { AddressGuard } from '../net/address-guard.ts';
import type { DnsCache } from '../net/dns-cache.ts';
import type { Handlers } from '../parse/handlers.ts';
import type { AddressGate } from '../ports/address-gate.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import type { LinkChannel } from '../ports/link-channel.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Random } from '../ports/random.ts';
import type { ShardStore } from '../ports/shard-store.ts';
import type { Transport } from '../ports/transport.ts';
import type { Blocklist } from '../scope/blocklist.ts';
import type { Scope } from '../scope/scope.ts';
import { type DomainTable, shardOf } from '../url/index.ts';

export interface ThreadContext {
  readonly config: Config;
  readonly rules: CrawlRules;
  readonly shards: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly transport: Transport;
  readonly dns: DnsCache;
  readonly guard: AddressGuard;
  readonly channel: LinkChannel;
  readonly canonicalize: (url: string) => string;
  readonly domains: DomainTable;
  readonly scope: Scope;
  readonly handlers: Handlers;
  readonly simhasher: SimHasher;
  /** Replaced when its file changes. */
  readonly blocklist: { current: Blocklist };
  /** Identifies the span in which monotonic times compare. */
  readonly bootId: string;
  readonly configVersion: string;
  readonly software: string;
  /** Resolves in a later turn of the loop. */
  readonly yieldTurn: () => Promise<void>;
}

/** What belongs to one shard alone. */
export interface ShardPorts {
  readonly store: ShardStore;
  readonly disk: Disk;
  readonly blobs: BlobStore;
  readonly gate: AddressGate;
}

/** The configuration, with the defaults that depend on other keys filled in. */
export interface CrawlRules {
  readonly addressDelayMs: number;
  readonly skipNearDuplicates: boolean;
  readonly pageBudget: number;
  readonly maxDepth: number | undefined;
  readonly maxSubdomains: number;
  readonly userAgent: string;
}

export function crawlRules(config: Config, version: string): CrawlRules {
  const web = config.scope.mode === 'web';
  const { token, contact } = config.agent;
  return {
    addressDelayMs: config.politeness.addressDelay ?? config.politeness.delay,
    skipNearDuplicates: (config.dedup.nearDuplicates ?? (web ? 'skip' : 'keep')) === 'skip',
    pageBudget: config.frontier.pageBudget ?? (web ? 10_000 : 0),
    maxDepth: config.scope.maxDepth ?? (web ? 16 : undefined),
    maxSubdomains: web ? config.scope.maxSubdomains : Number.MAX_SAFE_INTEGER,
    userAgent: `${token}/${version}${contact === '' ? '' : ` (+${contact})`}`,
  };
}

export function shardOfHost(context: ThreadContext, host: string): number {
  return shardOf(context.domains.registrableDomain(host), context.shards);
}

/** Counters of a thread, for the coordinator's report. */
export interface MemoryMetricsView {
  snapshot(): Readonly<Record<string, number>>;
}
