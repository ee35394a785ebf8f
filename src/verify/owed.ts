/**
 * The pause that a host is owed after an exchange, worked out anew from what the ledger says of it and from the configuration of the time
 * (rows C1, C3). The greatest of these holds: the delay; the Crawl-delay of robots.txt; the exchange's duration times a factor, up to a bound;
 * twice the greatest of these for each 429 or 503 in force; the server's Retry-After, up to a bound; after a failed connection the fault pause.
 *
 * What the judge cannot see asks for nothing: failed look-ups of names leave no request, so the doubling of the fault pause is not required.
 */
import type { LedgerConfig } from '../output/ledger-config.ts';

export interface ExchangeFacts {
  /** 0 when the end is not known. */
  readonly durationMs: number;
  /** Of the origin's robots.txt, −1 for none; one over the bound counts as none, its host must not be asked at all. */
  readonly crawlDelayMs: number;
  /** 429 and 503 in force after the exchange: each adds one, each other answer takes one away. */
  readonly slowDowns: number;
  /** With a 429 or 503; 0 otherwise. */
  readonly retryAfterMs: number;
  /** No connection, or no TLS. */
  readonly failed: boolean;
}

export const SLOW_DOWNS_MAX = 12;
/** A delay below this is doubled from here. */
const DOUBLED_FROM_MS = 1_000;

export interface Owed {
  readonly ms: number;
  readonly rule: 'delay' | 'crawl-delay' | 'duration' | 'slow-down' | 'retry-after' | 'fault';
}

export function owedAfter(facts: ExchangeFacts, config: LedgerConfig, hostKey = ''): Owed {
  const byDuration = Math.min(facts.durationMs * config.delayFactor, config.delayFactorMaxMs);
  let owed: Owed = { ms: delayOf(hostKey, config), rule: 'delay' };
  const atLeast = (ms: number, rule: Owed['rule']): void => {
    if (ms > owed.ms) owed = { ms, rule };
  };
  if (facts.crawlDelayMs <= config.crawlDelayMaxMs) atLeast(facts.crawlDelayMs, 'crawl-delay');
  atLeast(byDuration, 'duration');
  if (facts.slowDowns > 0) atLeast(Math.max(owed.ms, DOUBLED_FROM_MS) * 2 ** Math.min(facts.slowDowns, SLOW_DOWNS_MAX), 'slow-down');
  atLeast(Math.min(facts.retryAfterMs, config.retryAfterMaxMs), 'retry-after');
  if (facts.failed) atLeast(Math.min(config.faultPauseMs, config.setAsideMs), 'fault');
  return owed;
}

/** What the operator has set for the host or, of its domains, the longest; otherwise the delay of all. */
function delayOf(hostKey: string, { delayMs, hostDelaysMs }: LedgerConfig): number {
  if (hostDelaysMs === undefined) return delayMs;
  const host = hostKey.replace(/:\d+$/, '');
  const isAddress = host.startsWith('[') || /\.\d+$/.test(host);
  const labels = isAddress ? [] : host.split('.');
  const patterns = [hostKey, host, ...labels.map((_, from) => `*.${labels.slice(from).join('.')}`)];
  const set = patterns.find((pattern) => Object.hasOwn(hostDelaysMs, pattern));
  return set === undefined ? delayMs : hostDelaysMs[set]!;
}
