/**
 * Everything durable about one host key: its queues, its politeness debt, its failures and its counts. One object exists per host that is
 * active or was touched lately; a cold host is a row and a few words of typed arrays.
 */
import type { EpochMs } from './time.ts';

/** Priority levels 0 (best) … 4, and one more queue for entries that wait for another attempt. */
export const LEVELS = 5;
export const RETRY_LEVEL = 5;
export const QUEUES = 6;

export interface HostQueue {
  /** Sequence number of the chunk that holds the next entry. */
  headSeq: number;
  /** Entries of that chunk already consumed. */
  headOffset: number;
  /** Sequence number of the last chunk written; headSeq − 1 when there is none. */
  tailSeq: number;
  /** Bytes in the last chunk. */
  tailBytes: number;
  /** Entries waiting. */
  queued: number;
}

/** Any state but open ends every URL of the host, queued or found later, with the reason of its name. */
export type HostState = 'open' | 'retired' | 'robots-given-up' | 'over-budget' | 'forbidden';

export interface HostRecord {
  readonly id: number;
  readonly key: string;
  readonly domain: string;
  state: HostState;
  readonly queues: readonly HostQueue[];
  /** URL law: admitted = Σ queued + fetched + dropped. */
  admitted: number;
  fetched: number;
  dropped: number;
  /** Debt: the next exchange may start at lastEndMs + owedMs. */
  lastEndMs: EpochMs;
  owedMs: number;
  /** Which rule set owedMs, for explain and the ledger. */
  gapRule: GapRule;
  lastDurationMs: number;
  /** Crawl-delay of robots.txt in milliseconds; −1 when none is given. */
  crawlDelayMs: number;
  /** Doublings by 429/503 that are in force, 0 … 16; each success takes one off. */
  backoff: number;
  /** Consecutive host-wide faults and timeouts. */
  faults: number;
  /** Times set aside in a row. */
  setAside: number;
  /** Set aside or told to wait until this time; 0 when not. */
  waitUntilMs: EpochMs;
  /** Pages fetched in the present budget cycle and its start. */
  cyclePages: number;
  cycleStartMs: EpochMs;
  /** Pages with a content verdict and how many of them were near-duplicates (F4). */
  judged: number;
  nearDuplicates: number;
  address: string;
}

export const GAP_RULES = [
  'none',
  'default',
  'host-delay',
  'crawl-delay',
  'duration',
  'backoff',
  'retry-after',
  'set-aside',
  'fault',
  'restart',
  'parked',
] as const;
export type GapRule = (typeof GAP_RULES)[number];

export function newHostRecord(id: number, key: string, domain: string): HostRecord {
  return {
    id,
    key,
    domain,
    state: 'open',
    queues: Array.from({ length: QUEUES }, () => ({ headSeq: 1, headOffset: 0, tailSeq: 0, tailBytes: 0, queued: 0 })),
    admitted: 0,
    fetched: 0,
    dropped: 0,
    lastEndMs: 0,
    owedMs: 0,
    gapRule: 'none',
    lastDurationMs: 0,
    crawlDelayMs: -1,
    backoff: 0,
    faults: 0,
    setAside: 0,
    waitUntilMs: 0,
    cyclePages: 0,
    cycleStartMs: 0,
    judged: 0,
    nearDuplicates: 0,
    address: '',
  };
}

export function queuedTotal(host: HostRecord): number {
  let total = 0;
  for (const queue of host.queues) total += queue.queued;
  return total;
}

/** The earliest time at which the next exchange with this host may start. */
export function hostDueMs(host: HostRecord): EpochMs {
  return Math.max(host.lastEndMs + host.owedMs, host.waitUntilMs);
}

/** Best (lowest) level with an entry, the retry queue counting as the last; −1 when all are empty. */
export function bestLevel(host: HostRecord): number {
  for (let level = 0; level < QUEUES; level++) if (host.queues[level]!.queued > 0) return level;
  return -1;
}

/** A copy that later changes do not reach, for a batch. */
export function copyHost(host: HostRecord): HostRecord {
  return { ...host, queues: host.queues.map((queue) => ({ ...queue })) };
}
