/** How a crawl stands and how it ended, in numbers for the program that runs it. Counts are over all runs of the directory. */
import type { CrawlReport } from '../compose.ts';
import { PortolanError } from '../core/errors.ts';
import { overall } from '../engine/accounting.ts';
import type { EndReason } from '../engine/coordinator.ts';
import { pagesOf } from '../engine/measurements.ts';
import type { PlainError } from '../engine/messages.ts';
import type { CrawlView } from '../engine/watch.ts';

/**
 * Both laws can be checked on it: found = known + rejected + admitted + inTransit, and admitted = queued + fetched + dropped. What they are off by
 * is `unaccounted`.
 */
export interface CrawlCounts {
  /** Links, seeds and redirect targets met. */
  readonly found: number;
  readonly known: number;
  /** By reason (docs/REASONS.md). */
  readonly rejected: Readonly<Record<string, number>>;
  readonly admitted: number;
  readonly inTransit: number;
  readonly queued: number;
  /** By outcome. */
  readonly fetched: Readonly<Record<string, number>>;
  /** By reason. */
  readonly dropped: Readonly<Record<string, number>>;
  readonly unaccounted: number;
}

/** As of the last commits, about once a second; in flight and rates are of the moment. */
export interface CrawlProgress extends CrawlCounts {
  /** Fetched with a body. */
  readonly pages: number;
  readonly inFlight: number;
  readonly hosts: number;
  /** Over the last seconds. */
  readonly pagesPerS: number;
  readonly wireBytes: number;
  /** What sets the pace, in words. */
  readonly constraint: string;
  /** Time left, in words. */
  readonly eta: string;
}

export interface CrawlResult extends CrawlCounts {
  /** `finished`: nothing is left to fetch. After `page-limit`, `time-limit` and `stopped` the next run goes on. */
  readonly reason: EndReason;
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** Absolute path of the crawl's directory. */
  readonly dir: string;
  readonly pages: number;
  /** Those for robots.txt included. */
  readonly requests: number;
  readonly wireBytes: number;
  readonly hosts: number;
}

export function progressOf(view: CrawlView): CrawlProgress {
  const { all, pages, inFlight, hosts, wireBytes, rates, constraintWords, etaWords } = view;
  return { ...all, pages, inFlight, hosts, wireBytes, pagesPerS: rates.pagesPerS, constraint: constraintWords, eta: etaWords };
}

export function resultOf(report: CrawlReport): CrawlResult {
  const all = overall(report.statuses.map(({ totals }) => totals));
  const { reason, startedAtMs, endedAtMs, dir, statuses } = report;
  return {
    ...all,
    reason,
    startedAt: new Date(startedAtMs),
    endedAt: new Date(endedAtMs),
    dir,
    pages: pagesOf(all.fetched),
    requests: statuses.reduce((a, { totals }) => a + totals.requests, 0),
    wireBytes: statuses.reduce((a, { totals }) => a + totals.wireBytes, 0),
    hosts: statuses.reduce((a, { hosts }) => a + hosts, 0),
  };
}

/** An exception without a code is a defect, and so is a broken invariant. */
export function errorOf({ code, message, remedy, stack }: PlainError): PortolanError {
  const known = code === 'PORTOLAN_INTERNAL' ? 'PORTOLAN_ENGINE_INVARIANT' : code;
  return new PortolanError(known, message, { remedy, cause: stack === '' ? undefined : stack });
}
