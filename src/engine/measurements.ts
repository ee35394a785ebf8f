/**
 * From the statuses of the shards, read a few times a second, to what the crawl is doing now: averages and rates over the last seconds.
 *
 * Counters of a shard grow from its opening on; a rate is the difference of two readings, so a resumed crawl starts with none. The window is bounded by
 * time and by number. It keeps numbers only and knows no clock: readings bring their time along.
 */

import { OUTCOME_CODES, type OutcomeCode } from '../core/reasons.ts';
import type { EpochMs } from '../core/time.ts';
import { sum, type TotalsSnapshot } from './accounting.ts';
import type { CrawlMeasures } from './binding-constraint.ts';

/** Where the hosts of a shard are, and how long it waited for what. Gauges are of this moment, `…Total` grows from the opening on. */
export interface ShardLoad {
  /** Hosts on turn whose name is being looked up. */
  readonly resolving: number;
  /** Hosts that stand in a front queue (some twice, after a promotion). */
  readonly inFrontQueues: number;
  /** Hosts that sleep without a slot until a time. */
  readonly sleeping: number;
  /** Hosts in the own queue of an address that enough others are at. */
  readonly parked: number;
  /** Back-queue slots of the whole process. */
  readonly slotsInUse: number;
  readonly slotsTotal: number;
  /** Requests made, committed or not. */
  readonly requestsTotal: number;
  /** Host-milliseconds: how long turns were sent back by the address gate, and by the request rate. */
  readonly gateWaitMsTotal: number;
  readonly rateWaitMsTotal: number;
  /** Milliseconds in which nothing was leased because the oldest result waited for its commit. */
  readonly heldBackMsTotal: number;
  readonly commitsTotal: number;
  readonly commitMsTotal: number;
  /** The longest that a host in memory needs for its queue at its present pace; a lower bound of what is left of the crawl. */
  readonly longestHostMs: number;
}

export const NO_LOAD: ShardLoad = {
  resolving: 0,
  inFrontQueues: 0,
  sleeping: 0,
  parked: 0,
  slotsInUse: 0,
  slotsTotal: 0,
  requestsTotal: 0,
  gateWaitMsTotal: 0,
  rateWaitMsTotal: 0,
  heldBackMsTotal: 0,
  commitsTotal: 0,
  commitMsTotal: 0,
  longestHostMs: 0,
};

/** What is read of a shard's status. */
export interface MeasuredShard {
  readonly shard: number;
  readonly totals: TotalsSnapshot;
  readonly inFlight: number;
  readonly active: number;
  readonly apartUrls: number;
  readonly paused: CrawlMeasures['paused'];
  readonly load: ShardLoad;
}

export interface Rates {
  /** Length of the window behind the rates; 0 before the second reading. */
  readonly windowMs: number;
  readonly pagesPerS: number;
  readonly bytesPerS: number;
  readonly requestsPerS: number;
  /** URLs admitted, and URLs that ended (fetched or dropped). */
  readonly admittedPerS: number;
  readonly endedPerS: number;
}

export const WINDOW_MS = 10_000;
/** The trend of the queue needs longer: pages with many new links come in bursts. */
export const TREND_MS = 15_000;
const SAMPLES_MAX = 512;

interface Sample {
  readonly atMs: EpochMs;
  readonly pages: number;
  readonly wireBytes: number;
  readonly admitted: number;
  readonly ended: number;
  readonly requests: number;
  readonly gateWaitMs: number;
  readonly rateWaitMs: number;
  readonly heldBackMs: readonly number[];
  readonly commits: number;
  readonly commitMs: number;
  readonly exchanging: number;
  readonly resolving: number;
  readonly onTurnOrWaiting: number;
  readonly sleeping: number;
  readonly parked: number;
  readonly inFrontQueues: number;
  readonly slotsInUse: number;
  readonly slotsTotal: number;
  readonly busy: number;
}

export interface Limits {
  /** 0 when it is not known. */
  readonly ceiling: number;
  readonly ratePerS: number;
}

export class Measurements {
  readonly #limits: Limits;
  #samples: Sample[] = [];
  #last: readonly MeasuredShard[] = [];

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** `busy`: share of its time in which each thread's event loop was at work since its last reading. */
  add(atMs: EpochMs, shards: readonly MeasuredShard[], busy: readonly number[]): void {
    const last = this.#samples.at(-1);
    if (last !== undefined && atMs < last.atMs) this.#samples = []; // the clock was set back
    this.#samples.push(sampleOf(atMs, shards, Math.max(0, ...busy)));
    this.#last = shards;
    const oldest = atMs - TREND_MS;
    // One sample older than the window stays: rates are differences.
    while (this.#samples.length > SAMPLES_MAX || (this.#samples.length > 2 && this.#samples[1]!.atMs <= oldest)) this.#samples.shift();
  }

  rates(spanMs = WINDOW_MS): Rates {
    const { first, last } = this.#span(spanMs);
    const windowMs = last === undefined || first === undefined ? 0 : last.atMs - first.atMs;
    if (windowMs <= 0) return { windowMs: 0, pagesPerS: 0, bytesPerS: 0, requestsPerS: 0, admittedPerS: 0, endedPerS: 0 };
    const per = (pick: (sample: Sample) => number): number => (Math.max(0, pick(last!) - pick(first!)) * 1_000) / windowMs;
    return {
      windowMs,
      pagesPerS: per((s) => s.pages),
      bytesPerS: per((s) => s.wireBytes),
      requestsPerS: per((s) => s.requests),
      admittedPerS: per((s) => s.admitted),
      endedPerS: per((s) => s.ended),
    };
  }

  longestHostMs(): number {
    return Math.max(0, ...this.#last.map(({ load }) => load.longestHostMs));
  }

  measures(): CrawlMeasures {
    const { first, last, inside } = this.#span(WINDOW_MS);
    const windowMs = first === undefined || last === undefined ? 0 : last.atMs - first.atMs;
    const average = (pick: (sample: Sample) => number): number => inside.reduce((a, s) => a + pick(s), 0) / Math.max(1, inside.length);
    const grown = (pick: (sample: Sample) => number): number => Math.max(0, pick(last!) - pick(first!));
    const atGate = windowMs > 0 ? grown((s) => s.gateWaitMs) / windowMs : 0;
    const atRate = windowMs > 0 ? grown((s) => s.rateWaitMs) / windowMs : 0;
    const commits = windowMs > 0 ? grown((s) => s.commits) : 0;
    const exchanging = average((s) => s.exchanging);
    const resolving = average((s) => s.resolving);
    const withSlot = average((s) => s.onTurnOrWaiting);
    return {
      windowMs,
      paused: this.#last.find(({ paused }) => paused !== '')?.paused ?? '',
      queued: this.#last.reduce((a, { totals, apartUrls }) => a + totals.queued.reduce((b, n) => b + n, 0) - apartUrls, 0),
      exchanging,
      resolving,
      pausing: Math.max(0, withSlot - exchanging - resolving - atGate - atRate) + average((s) => s.sleeping),
      atAddressGate: atGate + average((s) => s.parked),
      atRate,
      withoutSlot: average((s) => s.inFrontQueues),
      slotsInUse: average((s) => s.slotsInUse),
      slotsTotal: last?.slotsTotal ?? 0,
      ceiling: this.#limits.ceiling,
      ratePerS: this.#limits.ratePerS,
      requestsPerS: this.rates().requestsPerS,
      busy: average((s) => s.busy),
      heldBack: windowMs > 0 ? heldBackShare(first!, last!, windowMs) : 0,
      commitMs: commits > 0 ? grown((s) => s.commitMs) / commits : 0,
    };
  }

  /** The readings of the last `spanMs`, and the one before them from which differences count. */
  #span(spanMs: number): { readonly first: Sample | undefined; readonly last: Sample | undefined; readonly inside: readonly Sample[] } {
    const last = this.#samples.at(-1);
    if (last === undefined) return { first: undefined, last, inside: [] };
    let from = this.#samples.length - 1;
    while (from > 0 && this.#samples[from]!.atMs > last.atMs - spanMs) from--;
    const first = this.#samples[from];
    return { first, last, inside: this.#samples.length > 1 ? this.#samples.slice(from + 1) : this.#samples };
  }
}

/** Pages of all runs: fetched with a body, or unchanged. */
export function pagesOf(fetched: Readonly<Record<string, number>>): number {
  return (fetched['ok'] ?? 0) + (fetched['truncated'] ?? 0) + (fetched['not-modified'] ?? 0);
}

/** Outcomes that are neither a page nor a redirect, by code. */
export function errorsOf(fetched: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(fetched).filter(([code, n]) => n > 0 && code !== 'redirect' && OUTCOME_CODES[code as OutcomeCode] !== 'success'),
  );
}

function heldBackShare(first: Sample, last: Sample, windowMs: number): number {
  const grown = last.heldBackMs.map((ms, shard) => ms - (first.heldBackMs[shard] ?? 0));
  return Math.min(1, Math.max(0, ...grown) / windowMs);
}

function sampleOf(atMs: EpochMs, shards: readonly MeasuredShard[], busy: number): Sample {
  const total = (pick: (shard: MeasuredShard) => number): number => shards.reduce((a, shard) => a + pick(shard), 0);
  return {
    atMs,
    pages: total(({ totals }) => pagesOf(totals.fetched)),
    wireBytes: total(({ totals }) => totals.wireBytes),
    admitted: total(({ totals }) => totals.admitted),
    ended: total(({ totals }) => sum(totals.fetched) + sum(totals.dropped)),
    requests: total(({ load }) => load.requestsTotal),
    gateWaitMs: total(({ load }) => load.gateWaitMsTotal),
    rateWaitMs: total(({ load }) => load.rateWaitMsTotal),
    heldBackMs: shards.map(({ load }) => load.heldBackMsTotal),
    commits: total(({ load }) => load.commitsTotal),
    commitMs: total(({ load }) => load.commitMsTotal),
    exchanging: total(({ inFlight }) => inFlight),
    resolving: total(({ load }) => load.resolving),
    onTurnOrWaiting: total(({ active }) => active),
    sleeping: total(({ load }) => load.sleeping),
    parked: total(({ load }) => load.parked),
    inFrontQueues: total(({ load }) => load.inFrontQueues),
    slotsInUse: Math.max(0, ...shards.map(({ load }) => load.slotsInUse)),
    slotsTotal: Math.max(0, ...shards.map(({ load }) => load.slotsTotal)),
    busy,
  };
}
