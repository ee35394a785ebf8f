/**
 * What is known of one origin's robots.txt, and how an answer to a fetch of it changes that (RFC 9309 section 2.3.1, and 2.4 for caching).
 * A pure state machine: it asks for nothing and reads no clock. The caller fetches when there is no record or `expiresAtMs` has passed,
 * follows up to five redirects, and hands in the last answer.
 *
 * - 2xx: state `rules`, for 24 h, or for the server's max-age when that is longer, 7 days at most; 304 to a conditional request: the same,
 *   with the body from before;
 * - 4xx but 429, and a 3xx left over after five redirects: state `allow-all`, for 24 h;
 * - 5xx, 429, any other status, no answer at all: state `last-good` with a body from before, else `deny-all`; asked again after a minute, doubled
 *   with each failure up to 1 h, less up to a quarter at random.
 *
 * A shorter max-age does not shorten the 24 h: robots.txt is asked for once a day, not once an hour, for the host's sake. An earlier 4xx is no
 * copy: while robots.txt fails after it, nothing is allowed.
 *
 * Invariant: a record with a body is in state rules or last-good; `failingSinceMs` is set exactly when the last answer was a failure.
 */
import { hash } from 'node:crypto';
import { assert } from '../core/errors.ts';
import { DAY_MS, type EpochMs, HOUR_MS, MINUTE_MS } from '../core/time.ts';
import type { Random } from '../ports/random.ts';
import { parseRobots } from './parse.ts';
import { allowAllRules, denyAllRules, type RobotsRules } from './rules.ts';

export interface RobotsRecord {
  /** scheme://host[:port] that was asked first: rules found behind a redirect belong to it, and not to where they were found. */
  readonly origin: string;
  readonly state: 'rules' | 'allow-all' | 'deny-all' | 'last-good';
  readonly body: Uint8Array | undefined;
  /** SHA-256 of the body in hex; '' without one. */
  readonly bodySha256: string;
  /** When the last answer came, good or bad. */
  readonly fetchedAtMs: EpochMs;
  /** From when on robots.txt is to be asked for again. The record stays in force until the next answer. */
  readonly expiresAtMs: EpochMs;
  /** When the first of the failures in a row came; undefined when the last answer was none. */
  readonly failingSinceMs: EpochMs | undefined;
  /** Failures in a row. */
  readonly failures: number;
  /** HTTP status of the last answer; 0 when there was none. */
  readonly status: number;
}

export type RobotsAnswer =
  | { readonly kind: 'response'; readonly status: number; readonly body: Uint8Array; readonly maxAgeMs?: number }
  | { readonly kind: 'failed'; readonly code: string };

export interface RobotsOptions {
  /** Least time between two fetches of a robots.txt that answers. */
  readonly ttlMs: number;
  /** Longest time, whatever the server says. */
  readonly ttlMsMax: number;
  /** Pause after the first failure, and the longest one. */
  readonly retryMsMin: number;
  readonly retryMsMax: number;
  /** Failing for so long, the origin's URLs are given up. */
  readonly giveUpMs: number;
  /** Bytes of a body that are kept; what lies beyond is cut off. More than is parsed, so that the cut is seen. */
  readonly bodyBytesMax: number;
}

export const ROBOTS_DEFAULTS: RobotsOptions = Object.freeze({
  ttlMs: DAY_MS,
  ttlMsMax: 7 * DAY_MS,
  retryMsMin: MINUTE_MS,
  retryMsMax: HOUR_MS,
  giveUpMs: 30 * DAY_MS,
  bodyBytesMax: 1_048_576,
});

/** Share of a retry pause that is left to chance, so that hosts that failed together do not come back together. */
const RETRY_JITTER = 0.25;
/** RFC 9111 section 1.2.2: larger numbers of seconds are taken as this one. */
const DELTA_SECONDS_MAX = 2_147_483_648;

/** The record after an answer. `previous` is the origin's record until now. */
export function nextRobotsRecord(
  origin: string,
  previous: RobotsRecord | undefined,
  answer: RobotsAnswer,
  nowEpochMs: EpochMs,
  random: Random,
  options: RobotsOptions,
): RobotsRecord {
  assert(previous === undefined || previous.origin === origin, `robots record of ${previous?.origin} handed in for ${origin}`);
  if (answer.kind === 'failed') return failing(origin, previous, 0, nowEpochMs, random, options);
  const { status } = answer;
  if (status >= 200 && status < 300) return good(origin, answer.body, answer, nowEpochMs, options);
  if (status === 304 && previous?.body !== undefined) return good(origin, previous.body, answer, nowEpochMs, options);
  if (status >= 300 && status < 500 && status !== 429 && status !== 304) {
    return { ...answered(origin, status, nowEpochMs, options.ttlMs), state: 'allow-all', body: undefined, bodySha256: '' };
  }
  return failing(origin, previous, status, nowEpochMs, random, options);
}

/**
 * Whether the origin has been failing for so long that its URLs are dropped (robots-unreachable). A failure long ago proves nothing, as a
 * crawl may have been stopped since: the last failure must lie within the time an answer is good for.
 */
export function robotsGivenUp(record: RobotsRecord, nowEpochMs: EpochMs, options: RobotsOptions): boolean {
  if (record.failingSinceMs === undefined || record.failures < 2) return false;
  return nowEpochMs - record.failingSinceMs >= options.giveUpMs && nowEpochMs - record.fetchedAtMs <= options.ttlMs;
}

/** The rules that a record puts in force. Parses the body: keep what it returns. */
export function rulesOfRecord(record: RobotsRecord, productToken: string): RobotsRules {
  if (record.body !== undefined) return parseRobots(record.body, productToken);
  return record.state === 'allow-all' ? allowAllRules() : denyAllRules();
}

/**
 * max-age of a Cache-Control value in milliseconds (RFC 9111 section 5.2.2.1); 0 when no-store or no-cache stands beside it, undefined when
 * there is no valid one. Of several the smallest counts.
 */
export function parseMaxAge(cacheControl: string): number | undefined {
  let maxAgeS: number | undefined;
  for (const directive of cacheControl.split(',')) {
    const [name = '', value = ''] = directive.split('=', 2).map((part) => part.trim());
    const lower = name.toLowerCase();
    if (lower === 'no-store' || lower === 'no-cache') maxAgeS = 0;
    if (lower !== 'max-age') continue;
    const seconds = deltaSeconds(value);
    if (seconds !== undefined) maxAgeS = Math.min(seconds, maxAgeS ?? seconds);
  }
  return maxAgeS === undefined ? undefined : maxAgeS * 1_000;
}

function deltaSeconds(text: string): number | undefined {
  const digits = text.length > 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  if (!/^[0-9]+$/.test(digits)) return undefined;
  return Math.min(Number(digits), DELTA_SECONDS_MAX);
}

function good(
  origin: string,
  wholeBody: Uint8Array,
  answer: { readonly status: number; readonly maxAgeMs?: number },
  nowEpochMs: EpochMs,
  options: RobotsOptions,
): RobotsRecord {
  // A copy: the answer may be a view of a larger buffer, which the record would keep alive.
  const body = new Uint8Array(wholeBody.subarray(0, options.bodyBytesMax));
  const ttlMs = Math.max(options.ttlMs, Math.min(answer.maxAgeMs ?? 0, options.ttlMsMax));
  return { ...answered(origin, answer.status, nowEpochMs, ttlMs), state: 'rules', body, bodySha256: hash('sha256', body, 'hex') };
}

function answered(origin: string, status: number, nowEpochMs: EpochMs, ttlMs: number) {
  return { origin, fetchedAtMs: nowEpochMs, expiresAtMs: nowEpochMs + ttlMs, failingSinceMs: undefined, failures: 0, status };
}

function failing(
  origin: string,
  previous: RobotsRecord | undefined,
  status: number,
  nowEpochMs: EpochMs,
  random: Random,
  options: RobotsOptions,
): RobotsRecord {
  const failures = (previous?.failures ?? 0) + 1;
  return {
    origin,
    state: previous?.body === undefined ? 'deny-all' : 'last-good',
    body: previous?.body,
    bodySha256: previous?.bodySha256 ?? '',
    fetchedAtMs: nowEpochMs,
    expiresAtMs: nowEpochMs + retryPauseMs(failures, random, options),
    failingSinceMs: previous?.failingSinceMs ?? nowEpochMs,
    failures,
    status,
  };
}

function retryPauseMs(failures: number, random: Random, options: RobotsOptions): number {
  const pauseMs = Math.min(options.retryMsMax, options.retryMsMin * 2 ** (failures - 1));
  return Math.round(pauseMs * (1 - RETRY_JITTER * random.next()));
}
