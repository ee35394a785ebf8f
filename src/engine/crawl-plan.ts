/** What a node derives from the configuration and the crawl's state before it starts its threads; no port is used here. */
import type { Config } from '../config/schema.ts';
import type { EpochMs } from '../core/time.ts';
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS } from '../url/index.ts';
import { overall, type TotalsSnapshot } from './accounting.ts';
import { crawlRules } from './context.ts';
import type { CoordinatorOptions } from './coordinator.ts';
import { addressDelayOf } from './host-rules.ts';
import { seedMessages } from './seed-messages.ts';

/** Bounds of the one gate that all shards of a node share. */
export interface GatePlan {
  /** Back-queue slots of the process. */
  readonly slots: number;
  /** Requests per second; 0 = no limit. */
  readonly ratePerS: number;
  /** −1 = no limit. */
  readonly pagesLeft: number;
  /** Longest pause that an address is ever owed. */
  readonly owedMsMax: number;
  /** Least pause that an address is owed after an exchange: so long a held gate stays shut for everybody. */
  readonly owedMsMin: number;
}

/** `readTotals` gives those of the last commit of every shard; it is asked only when there is a limit of pages. */
export function gatePlan(config: Config, readTotals: () => readonly TotalsSnapshot[]): GatePlan {
  const { addressDelayMs } = crawlRules(config, '');
  return {
    slots: config.frontier.backQueues,
    ratePerS: config.politeness.rate,
    pagesLeft: pagesLeft(config, readTotals),
    owedMsMax: 2 * addressDelayMs,
    owedMsMin: Math.min(addressDelayMs, ...Object.values(config.hosts).map(({ delay }) => addressDelayOf(config, delay ?? addressDelayMs))),
  };
}

/** Pages that limits.maxPages leaves for this run; −1 without a limit. */
function pagesLeft(config: Config, readTotals: () => readonly TotalsSnapshot[]): number {
  if (config.limits.maxPages === 0) return -1;
  const { fetched } = overall(readTotals());
  return Math.max(0, config.limits.maxPages - (fetched['ok'] ?? 0) - (fetched['truncated'] ?? 0) - (fetched['not-modified'] ?? 0));
}

/** `seeds` as from parseSeed. */
export function coordinatorOptions(config: Config, shards: number, seeds: readonly string[], nowMs: EpochMs): CoordinatorOptions {
  return {
    shards,
    maxPages: config.limits.maxPages,
    maxTimeMs: config.limits.maxTime,
    ceiling: config.fetch.connections,
    ratePerS: config.politeness.rate,
    isEndless: config.scope.mode === 'web',
    seeds: seedMessages(seeds, shards, createCanonicalizer(DEFAULT_CANONICAL_OPTIONS), nowMs),
  };
}

/** Shards go to the threads in turn. */
export function shardsOfThread(thread: number, threads: number, shards: number): number[] {
  return Array.from({ length: shards }, (_, shard) => shard).filter((shard) => threadOfShard(shard, threads) === thread);
}

export function threadOfShard(shard: number, threads: number): number {
  return shard % threads;
}
