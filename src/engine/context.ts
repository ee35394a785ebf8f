/**
 * What the shards of one thread share: the configuration, the pure functions made from it, the thread's caches, and the ports.
 * Nothing here belongs to one shard.
 */
import type { Config } from '../config/schema.ts';
import type { SimHasher } from '../dedup/simhash.ts';
import type { RequestAgent } from '../fetch/headers.ts';
import type { DomainRanks } from '../frontier/domain-ranks.ts';
import type { GapOptions } from '../frontier/gap.ts';
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
import type { DeliveryItem, DeliveryPlan } from './delivery.ts';
import type { EngineHooks } from './hooks.ts';
import type { HostDelays } from './host-delays.ts';
import type { HostRuleTable } from './host-rules.ts';

export interface ThreadContext {
  readonly config: Config;
  readonly rules: CrawlRules;
  /** What of the rules is another for single hosts, and the headers of their requests. */
  readonly hostRules: HostRuleTable;
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
  readonly ranks: DomainRanks;
  readonly scope: Scope;
  readonly handlers: Handlers;
  readonly simhasher: SimHasher;
  /** Replaced when its file changes; `text` is what `current` was read from, '' when there is none. */
  readonly blocklist: { current: Blocklist; text: string };
  /** Replaced when the operator sets one while the crawl runs. */
  readonly hostDelays: { current: HostDelays };
  /** Identifies the span in which monotonic times compare. */
  readonly bootId: string;
  readonly configVersion: string;
  readonly software: string;
  /** Resolves in a later turn of the loop. */
  readonly yieldTurn: () => Promise<void>;
  /** Share of the time since the last call in which this thread's event loop was at work, 0 … 1. Absent in virtual time, where there is none. */
  readonly busy?: () => number;
  /** Functions of the program that runs the crawl. */
  readonly hooks?: EngineHooks;
  /** What that program wants to be handed; nothing when absent. */
  readonly delivery?: DeliveryPlan;
  /** Hands it over; each item is answered with `given` in time. */
  readonly deliver?: (shard: number, items: readonly DeliveryItem[]) => void;
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
  readonly gap: GapOptions;
  readonly skipNearDuplicates: boolean;
  readonly pageBudget: number;
  readonly maxDepth: number | undefined;
  readonly maxSubdomains: number;
  readonly userAgent: string;
  /** Who asks, in every request. A contact that is a mail address goes out as From too. */
  readonly agent: RequestAgent;
}

export function crawlRules(config: Config, version: string): CrawlRules {
  const web = config.scope.mode === 'web';
  const { token, contact } = config.agent;
  const { delay, delayFactor, delayFactorMax, retryAfterMax } = config.politeness;
  const userAgent = `${token}/${version}${contact === '' ? '' : ` (+${contact})`}`;
  return {
    addressDelayMs: config.politeness.addressDelay ?? delay,
    gap: { delayMs: delay, delayFactor, delayFactorMaxMs: delayFactorMax, retryAfterMaxMs: retryAfterMax },
    skipNearDuplicates: (config.dedup.nearDuplicates ?? (web ? 'skip' : 'keep')) === 'skip',
    pageBudget: config.frontier.pageBudget ?? (web ? 10_000 : 0),
    maxDepth: config.scope.maxDepth ?? (web ? 16 : undefined),
    maxSubdomains: web ? config.scope.maxSubdomains : Number.MAX_SAFE_INTEGER,
    userAgent,
    agent: contact.includes('@') && !contact.includes('://') ? { userAgent, from: contact } : { userAgent },
  };
}

export function shardOfHost(context: ThreadContext, host: string): number {
  return shardOf(context.domains.registrableDomain(host), context.shards);
}

/** Counters of a thread, for the coordinator's report. */
export interface MemoryMetricsView {
  snapshot(): Readonly<Record<string, number>>;
}
