/**
 * What a crawl did to one host, as a webmaster who asks may be told: who asked, when, how often, with which pauses, what robots.txt said and how
 * it was kept. It listens to the judge and holds figures, the robots.txt history and the last requests, all bounded.
 */

import { isoDate } from '../output/iso-date.ts';
import type { LedgerEnd, LedgerRobots, LedgerStart } from '../output/politeness-ledger.ts';
import type { Finding } from './findings.ts';
import type { JudgeListener } from './judge.ts';

/** Requests that are listed one by one, the latest; robots.txt versions likewise. */
export const LISTED_MAX = 200;

export interface ListedRequest {
  readonly at: string;
  readonly path: string;
  readonly address: string;
  /** 0 when no answer came; −1 when a stop of the crawler cut the request off. */
  readonly status: number;
  readonly durationMs: number;
  /** Since the end of the request before. */
  readonly pauseMs: number | undefined;
  readonly owedMs: number;
  readonly rule: string;
}

export interface HostReport {
  readonly host: string;
  readonly hostKeys: readonly string[];
  readonly firstAt: string;
  readonly lastAt: string;
  readonly requests: number;
  readonly pageRequests: number;
  readonly robotsRequests: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly bytes: number;
  readonly busiestDay: { readonly day: string; readonly requests: number };
  readonly pauses: { readonly count: number; readonly minMs: number; readonly meanMs: number };
  /** How many pauses each rule has set. */
  readonly rules: Readonly<Record<string, number>>;
  readonly slowDowns: number;
  readonly robots: readonly { readonly at: string; readonly origin: string; readonly state: string; readonly hash: string }[];
  readonly violations: readonly Finding[];
  readonly latest: readonly ListedRequest[];
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

export class HostReporter implements JudgeListener {
  readonly #host: string;
  readonly #keys = new Set<string>();
  readonly #statuses = new Map<string, number>();
  readonly #rules = new Map<string, number>();
  readonly #open = new Map<string, Writable<ListedRequest>>();
  #latest: Writable<ListedRequest>[] = [];
  #robots: { at: string; origin: string; state: string; hash: string }[] = [];
  #firstMs = Number.POSITIVE_INFINITY;
  #lastMs = 0;
  #requests = 0;
  #robotsRequests = 0;
  #bytes = 0;
  #slowDowns = 0;
  #pauses = 0;
  #pauseSumMs = 0;
  #pauseMinMs = Number.POSITIVE_INFINITY;
  #day = { day: '', requests: 0 };
  #busiest = { day: '', requests: 0 };

  /** `host`: a host key, or a host name for all its ports. */
  constructor(host: string) {
    this.#host = host.toLowerCase();
  }

  started(start: LedgerStart, pauseMs: number | undefined, owedMs: number, rule: string): void {
    if (!this.#isOf(start.hostKey)) return;
    this.#keys.add(start.hostKey);
    this.#requests++;
    if (start.what === 'robots') this.#robotsRequests++;
    this.#firstMs = Math.min(this.#firstMs, start.epochMs);
    this.#lastMs = Math.max(this.#lastMs, start.epochMs);
    const at = isoDate(start.epochMs);
    this.#countDay(at.slice(0, 10));
    if (pauseMs !== undefined) {
      this.#pauses++;
      this.#pauseSumMs += pauseMs;
      this.#pauseMinMs = Math.min(this.#pauseMinMs, pauseMs);
      bump(this.#rules, rule);
    }
    const { path, address } = start;
    const listed = {
      at,
      path: `${start.scheme === 'https' ? 'https ' : ''}${path}`,
      address,
      status: -1,
      durationMs: 0,
      pauseMs,
      owedMs,
      rule,
    };
    this.#open.set(start.hostKey, listed);
    this.#latest.push(listed);
    if (this.#latest.length > 2 * LISTED_MAX) this.#latest = this.#latest.slice(-LISTED_MAX);
  }

  ended(start: LedgerStart, end: LedgerEnd): void {
    if (!this.#isOf(start.hostKey)) return;
    this.#bytes += end.bodyBytes;
    bump(this.#statuses, end.status === 0 ? end.outcome : String(end.status));
    if (end.status === 429 || end.status === 503) this.#slowDowns++;
    const listed = this.#open.get(start.hostKey);
    if (listed === undefined) return;
    listed.status = end.status;
    listed.durationMs = Math.round(end.durationMs);
  }

  robots(record: LedgerRobots): void {
    if (!this.#isOf(record.origin.slice(record.origin.indexOf('//') + 2))) return;
    this.#robots.push({ at: isoDate(record.epochMs), origin: record.origin, state: record.state, hash: record.hash ?? '' });
    if (this.#robots.length > LISTED_MAX) this.#robots.shift();
  }

  /** Undefined when the crawl never asked that host for anything. */
  report(findings: readonly Finding[]): HostReport | undefined {
    if (this.#requests === 0) return undefined;
    return {
      host: this.#host,
      hostKeys: [...this.#keys].sort(),
      firstAt: isoDate(this.#firstMs),
      lastAt: isoDate(this.#lastMs),
      requests: this.#requests,
      pageRequests: this.#requests - this.#robotsRequests,
      robotsRequests: this.#robotsRequests,
      statuses: Object.fromEntries([...this.#statuses].sort()),
      bytes: this.#bytes,
      busiestDay: this.#busiest,
      pauses: {
        count: this.#pauses,
        minMs: this.#pauses === 0 ? 0 : Math.round(this.#pauseMinMs),
        meanMs: this.#pauses === 0 ? 0 : Math.round(this.#pauseSumMs / this.#pauses),
      },
      rules: Object.fromEntries([...this.#rules].sort()),
      slowDowns: this.#slowDowns,
      robots: this.#robots,
      violations: findings.filter((finding) => this.#isOf(finding.hostKey)),
      latest: this.#latest.slice(-LISTED_MAX),
    };
  }

  #isOf(hostKey: string): boolean {
    return hostKey === this.#host || (hostKey.startsWith(`${this.#host}:`) && /^\d+$/.test(hostKey.slice(this.#host.length + 1)));
  }

  #countDay(day: string): void {
    if (day !== this.#day.day) this.#day = { day, requests: 0 };
    this.#day.requests++;
    if (this.#day.requests > this.#busiest.requests) this.#busiest = { ...this.#day };
  }
}

function bump(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
