/**
 * Watches a crawl for its operator: from the statuses of the shards to one view (counts, rates, binding constraint, time left), and to the time series
 * of the report, which it keeps in the crawl's directory.
 *
 * It only reads. Losing the series loses a picture and nothing else, so a disk that refuses it is said once and the crawl goes on.
 */
import type { EpochMs } from '../core/time.ts';
import type { Disk } from '../ports/disk.ts';
import { type Overall, overall, sum } from './accounting.ts';
import { bindingConstraint, type Constraint, type CrawlMeasures, constraintInWords } from './binding-constraint.ts';
import { type Eta, etaInWords, etaOf } from './eta.ts';
import { errorsOf, Measurements, pagesOf, type Rates, TREND_MS } from './measurements.ts';
import { type SavedSeries, Series } from './series.ts';
import type { ShardStatus } from './shard.ts';

export const SERIES_FILE = 'state/series.json';
/** A crash costs at most so much of the series. */
export const SERIES_SAVE_MS = 30_000;

export interface WatchOptions {
  /** Most exchanges at once, over all shards; 0 when it is not known. */
  readonly ceiling: number;
  /** Requests per second allowed over all hosts; 0 = no bound. */
  readonly ratePerS: number;
  /** 0 = none. */
  readonly maxPages: number;
  /** 0 = none. */
  readonly maxTimeMs: number;
  /** The scope has no end (scope web). */
  readonly isEndless: boolean;
  /** Root of the crawl's directory; without it the series is not kept. */
  readonly disk?: Disk;
}

/** The crawl at one moment. Counts are as of the last commits of the shards, over all runs; in flight and hosts are of the moment. */
export interface CrawlView {
  readonly atMs: EpochMs;
  /** Length of this run so far. */
  readonly ranMs: number;
  readonly all: Overall;
  readonly pages: number;
  readonly wireBytes: number;
  readonly inFlight: number;
  readonly ceiling: number;
  readonly hosts: number;
  /** Hosts that hold a back-queue slot. */
  readonly active: number;
  readonly hostsApart: number;
  /** Outcomes that are neither a page nor a redirect, by code. */
  readonly errors: Readonly<Record<string, number>>;
  readonly rates: Rates;
  readonly measures: CrawlMeasures;
  readonly constraint: Constraint;
  readonly constraintWords: string;
  readonly eta: Eta;
  readonly etaWords: string;
  /** Milliseconds until something may be fetched; 0 while something is in flight or may be fetched now, Infinity when nothing waits. */
  readonly nextFetchMs: number;
}

export class Watch {
  readonly #options: WatchOptions;
  readonly #measurements: Measurements;
  readonly #notice: (text: string) => void;
  #series = new Series();
  #startedAtMs: EpochMs | undefined;
  #savedAtMs: EpochMs = 0;
  #saving: Promise<void> = Promise.resolve();
  #isBroken = false;

  constructor(options: WatchOptions, notice: (text: string) => void) {
    this.#options = options;
    this.#measurements = new Measurements({ ceiling: options.ceiling, ratePerS: options.ratePerS });
    this.#notice = notice;
  }

  /** A run begins: takes up the series that earlier runs have left, and is in it from now on, even when it is killed. `statuses`: as opened. */
  begin(atMs: EpochMs, statuses: readonly ShardStatus[]): void {
    this.#startedAtMs = atMs;
    this.#series = this.#load();
    this.#series.begin(atMs, pagesOf(overall(statuses.map((status) => status.totals)).fetched));
    void this.save(atMs);
  }

  /** A reading. `busy`: share of its time in which each thread's event loop was at work. */
  look(atMs: EpochMs, statuses: readonly ShardStatus[], busy: readonly number[]): CrawlView {
    this.#measurements.add(atMs, statuses, busy);
    const view = this.#view(atMs, statuses);
    this.#series.add({
      atMs,
      pages: view.pages,
      wireBytes: view.wireBytes,
      queued: view.all.queued,
      inFlight: view.inFlight,
      errors: sum(view.errors),
    });
    if (atMs - this.#savedAtMs >= SERIES_SAVE_MS) void this.save(atMs);
    return view;
  }

  /** The run is over: its last reading becomes a point. */
  end(atMs: EpochMs, statuses: readonly ShardStatus[]): void {
    if (this.#startedAtMs === undefined) return;
    this.look(atMs, statuses, []);
    this.#series.end();
  }

  get series(): SavedSeries {
    return this.#series.snapshot();
  }

  /** Never rejects. One write at a time: a save asked for meanwhile follows it. */
  save(atMs: EpochMs): Promise<void> {
    const { disk } = this.#options;
    if (disk === undefined) return this.#saving;
    this.#savedAtMs = atMs;
    this.#saving = this.#saving.then(() => this.#write(disk));
    return this.#saving;
  }

  async #write(disk: Disk): Promise<void> {
    try {
      await disk.writeWhole(SERIES_FILE, Buffer.from(`${JSON.stringify(this.#series.snapshot())}\n`));
    } catch (error) {
      if (!this.#isBroken) this.#notice(`the time series of the report is not kept: ${messageOf(error)}; the crawl itself is safe`);
      this.#isBroken = true;
    }
  }

  #load(): Series {
    const { disk } = this.#options;
    if (disk === undefined) return new Series();
    try {
      return disk.exists(SERIES_FILE) ? Series.parse(Buffer.from(disk.readWhole(SERIES_FILE)).toString('utf8')) : new Series();
    } catch (error) {
      this.#notice(`${SERIES_FILE} cannot be used (${messageOf(error)}): the time series of the report begins anew`);
      return new Series();
    }
  }

  #view(atMs: EpochMs, statuses: readonly ShardStatus[]): CrawlView {
    const { ceiling, maxPages, maxTimeMs, isEndless } = this.#options;
    const all = overall(statuses.map((status) => status.totals));
    const total = (pick: (status: ShardStatus) => number): number => statuses.reduce((a, status) => a + pick(status), 0);
    const measures = this.#measurements.measures();
    const rates = this.#measurements.rates();
    const trend = this.#measurements.rates(TREND_MS);
    const pages = pagesOf(all.fetched);
    const inFlight = total((s) => s.inFlight);
    const nextFetchMs = Math.min(...statuses.map((status) => (status.inFlight > 0 ? 0 : status.waitMs)));
    const ranMs = Math.max(0, atMs - (this.#startedAtMs ?? atMs));
    const constraint = bindingConstraint(measures);
    const eta = etaOf({
      paused: measures.paused === 'operator' || measures.paused === 'disk',
      queued: measures.queued,
      inFlight,
      isEndless,
      windowMs: trend.windowMs,
      pagesPerS: rates.pagesPerS,
      admittedPerS: trend.admittedPerS,
      endedPerS: trend.endedPerS,
      longestHostMs: this.#measurements.longestHostMs(),
      nextFetchMs,
      pages,
      maxPages,
      ranMs,
      maxTimeMs,
    });
    return {
      atMs,
      ranMs,
      all,
      pages,
      wireBytes: total((s) => s.totals.wireBytes),
      inFlight,
      ceiling,
      hosts: total((s) => s.hosts),
      active: total((s) => s.active),
      hostsApart: total((s) => s.apartHosts),
      errors: errorsOf(all.fetched),
      rates,
      measures,
      constraint,
      constraintWords: constraintInWords(constraint, measures),
      eta,
      etaWords: etaInWords(eta),
      nextFetchMs,
    };
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
