/**
 * The gap owed after an exchange (rows C1, C3): the greatest of the default delay, Crawl-delay and k × the exchange's duration, doubled for
 * each 429/503 in force; Retry-After only ever adds to it. A pure function: the caller stores the result as the host's debt.
 */
import type { GapRule } from '../core/host.ts';

export interface GapOptions {
  readonly delayMs: number;
  readonly delayFactor: number;
  /** Bound of the k term only. */
  readonly delayFactorMaxMs: number;
  readonly retryAfterMaxMs: number;
}

export interface GapInput {
  readonly durationMs: number;
  /** −1 when robots.txt names none. */
  readonly crawlDelayMs: number;
  /** Doublings in force after this exchange. */
  readonly backoff: number;
  readonly retryAfterMs: number | undefined;
}

/** Doublings stop here: 2^12 s is over an hour. */
export const BACKOFF_MAX = 12;
/** What a doubling starts from when the delay is smaller. */
const BACKOFF_BASE_MS = 1_000;

export function gapAfter(input: GapInput, options: GapOptions): { readonly owedMs: number; readonly rule: GapRule } {
  let owedMs = options.delayMs;
  let rule: GapRule = 'default';
  if (input.crawlDelayMs > owedMs) {
    owedMs = input.crawlDelayMs;
    rule = 'crawl-delay';
  }
  const byDuration = Math.min(options.delayFactor * input.durationMs, options.delayFactorMaxMs);
  if (byDuration > owedMs) {
    owedMs = byDuration;
    rule = 'duration';
  }
  if (input.backoff > 0) {
    owedMs = Math.max(owedMs, BACKOFF_BASE_MS) * 2 ** Math.min(input.backoff, BACKOFF_MAX);
    rule = 'backoff';
  }
  const retryAfterMs = Math.min(input.retryAfterMs ?? 0, options.retryAfterMaxMs);
  if (retryAfterMs > owedMs) {
    owedMs = retryAfterMs;
    rule = 'retry-after';
  }
  return { owedMs: Math.ceil(owedMs), rule };
}

export interface FaultOptions {
  readonly faultLimit: number;
  /** First pause after a host-wide fault, milliseconds; doubles with each one in a row. */
  readonly faultPauseMs: number;
  readonly setAsideMs: number;
  readonly setAsideLimit: number;
}

const FAULT_PAUSE_MAX_MS = 600_000;

/**
 * What a host-wide fault or a timeout does to its host (row C5). `faults` and `setAside` are the counts before it; `jitter` is 0 … 1.
 * `retire` ends the host.
 */
export function afterFault(
  faults: number,
  setAside: number,
  jitter: number,
  options: FaultOptions,
): { readonly faults: number; readonly setAside: number; readonly pauseMs: number; readonly rule: GapRule; readonly retire: boolean } {
  if (faults + 1 < options.faultLimit) {
    const pauseMs = Math.min(options.faultPauseMs * 2 ** faults, FAULT_PAUSE_MAX_MS) * (1 + 0.25 * jitter);
    return { faults: faults + 1, setAside, pauseMs, rule: 'fault', retire: false };
  }
  const times = setAside + 1;
  return {
    faults: 0,
    setAside: times,
    pauseMs: options.setAsideMs * (1 + 0.1 * jitter),
    rule: 'set-aside',
    retire: times >= options.setAsideLimit,
  };
}
