/**
 * Makes the context of one thread from ports and data alone: the resolver's cache and its guard, scope, blocklist, media type handlers, hashers.
 *
 * Whoever runs shards calls this with its own clock, network and randomness; what the engine does over them is then the same everywhere. Nothing
 * is opened here: ports are borrowed and stay the caller's to close.
 */
import type { Config } from '../config/schema.ts';
import { SimHasher } from '../dedup/simhash.ts';
import { DomainRanks } from '../frontier/domain-ranks.ts';
import { createAddressGuard } from '../net/address-guard.ts';
import { DnsCache } from '../net/dns-cache.ts';
import { createHandlers } from '../parse/handlers.ts';
import type { Clock } from '../ports/clock.ts';
import type { LinkChannel } from '../ports/link-channel.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Random } from '../ports/random.ts';
import type { Resolver } from '../ports/resolver.ts';
import type { Transport } from '../ports/transport.ts';
import { Blocklist } from '../scope/blocklist.ts';
import { createScope, type Scope } from '../scope/scope.ts';
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS, DomainTable } from '../url/index.ts';
import { type CrawlRules, crawlRules, type ThreadContext } from './context.ts';
import type { DeliveryItem, DeliveryPlan } from './delivery.ts';
import { dnsOverrides } from './dns-overrides.ts';
import type { EngineHooks } from './hooks.ts';
import { HostDelays } from './host-delays.ts';
import { HostRuleTable } from './host-rules.ts';

export interface ThreadContextInput {
  readonly config: Config;
  /** Of the whole crawl, not of this thread. */
  readonly shards: number;
  /** Seeds that make the scope, one for each area (openScopeSeeds); none for scope web. */
  readonly areas: readonly string[];
  /** Undefined: nothing is blocked until a list is put into force. */
  readonly blocklist: { readonly text: string; readonly file: string } | undefined;
  /** Delays set for single hosts, milliseconds by host pattern; none when not given. */
  readonly hostDelays?: Readonly<Record<string, number>>;
  /** None when not given. */
  readonly ranks?: DomainRanks | undefined;
  /** Identifies the span in which monotonic times compare. */
  readonly bootId: string;
  readonly configVersion: string;
  /** Of the crawler, for its User-Agent and its output. */
  readonly version: string;
  /** Absent: made from the configuration, with an empty environment. */
  readonly hostRules?: HostRuleTable;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly transport: Transport;
  readonly resolver: Resolver;
  readonly channel: LinkChannel;
  /** Resolves in a later turn of the loop. */
  readonly yieldTurn: () => Promise<void>;
  /** As in ThreadContext. */
  readonly busy?: () => number;
  readonly hooks?: EngineHooks | undefined;
  readonly delivery?: DeliveryPlan | undefined;
  readonly deliver?: (shard: number, items: readonly DeliveryItem[]) => void;
}

/** Throws PORTOLAN_CONFIG_INVALID or PORTOLAN_BLOCKLIST_INVALID for what only the parts themselves can judge. */
export function createThreadContext(input: ThreadContextInput): ThreadContext {
  const { config, version, blocklist } = input;
  const { shards, clock, random, metrics, transport, channel, bootId, configVersion, yieldTurn } = input;
  const rules = crawlRules(config, version);
  const guard = createAddressGuard({ allowNets: config.net.allow });
  return {
    config,
    rules,
    hostRules: input.hostRules ?? new HostRuleTable(config, version, input.areas),
    shards,
    clock,
    random,
    metrics,
    transport,
    dns: new DnsCache({
      resolver: input.resolver,
      clock,
      guard,
      entriesMax: config.dns.cacheEntries,
      ttlMinMs: config.dns.ttlMin,
      ttlMaxMs: config.dns.ttlMax,
      notFoundMs: config.dns.negativeTtl,
      failedMs: config.politeness.faultPause,
      overrides: dnsOverrides(config.dns.resolve),
    }),
    guard,
    channel,
    canonicalize: createCanonicalizer(DEFAULT_CANONICAL_OPTIONS),
    domains: new DomainTable(),
    ranks: input.ranks ?? DomainRanks.none(),
    scope: scopeOf(config, rules, input.areas),
    handlers: createHandlers(input.hooks?.handlers),
    simhasher: new SimHasher(),
    blocklist: { current: Blocklist.parse(blocklist?.text ?? '', blocklist?.file ?? ''), text: blocklist?.text ?? '' },
    hostDelays: { current: new HostDelays(input.hostDelays) },
    bootId,
    configVersion,
    software: `Portolan/${version}`,
    yieldTurn,
    ...(input.busy === undefined ? {} : { busy: input.busy }),
    ...(input.hooks === undefined ? {} : { hooks: input.hooks }),
    ...(input.delivery === undefined ? {} : { delivery: input.delivery }),
    ...(input.deliver === undefined ? {} : { deliver: input.deliver }),
  };
}

function scopeOf(config: Config, rules: CrawlRules, areas: readonly string[]): Scope {
  const { mode, include, exclude, maxUrlBytes, maxParameters, maxSegmentRepeats } = config.scope;
  return createScope({ mode, include, exclude, maxDepth: rules.maxDepth, maxUrlBytes, maxParameters, maxSegmentRepeats }, areas, []);
}
