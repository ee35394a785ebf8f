/**
 * What of the configuration a judge of the ledger needs: the rules that pauses, robots.txt, addresses and budgets follow. It is written into
 * the ledger as JSON, so that a judgement needs no file beside it; times in milliseconds, every default filled in.
 */
import type { Config } from '../config/schema.ts';
import { PortolanError } from '../core/errors.ts';

export interface LedgerConfig {
  readonly token: string;
  readonly contact: string;
  readonly delayMs: number;
  /** Delays that were set while a crawl ran and stand in for any other, by host pattern (url/host-pattern.ts). Absent: none. */
  readonly hostDelaysMs?: Readonly<Record<string, number>>;
  readonly delayFactor: number;
  readonly delayFactorMaxMs: number;
  readonly addressDelayMs: number;
  readonly crawlDelayMaxMs: number;
  readonly retryAfterMaxMs: number;
  readonly faultPauseMs: number;
  readonly setAsideMs: number;
  /** Requests per second over all hosts; 0 = no limit. */
  readonly ratePerS: number;
  /** Pages per host and cycle, and over all runs; 0 = no limit. */
  readonly pageBudget: number;
  readonly budgetCycleMs: number;
  readonly maxPages: number;
  readonly robotsTtlMs: number;
  readonly robotsTtlMaxMs: number;
  /** Special ranges that may be contacted. */
  readonly netAllow: readonly string[];
  /** What is another for single hosts, by pattern (`host`, `host:port`, `*.domain`); key by key the most specific one counts. Absent: nothing. */
  readonly hosts?: Readonly<Record<string, LedgerHost>>;
}

export interface LedgerHost {
  readonly delayMs?: number;
  readonly addressDelayMs?: number;
  readonly delayFactor?: number;
  readonly pageBudget?: number;
  /** Why robots.txt is not obeyed. */
  readonly robotsIgnored?: string;
  /** Asked through a proxy: the address of an exchange is the proxy's, and the host alone is the unit. */
  readonly isProxied?: boolean;
}

/** `filled`: what depends on more than one key of the configuration, or on none. */
export function ledgerConfigOf(
  config: Config,
  filled: Pick<LedgerConfig, 'addressDelayMs' | 'pageBudget' | 'robotsTtlMaxMs' | 'hostDelaysMs' | 'hosts'>,
): LedgerConfig {
  const { agent, politeness, frontier, limits, robots, net } = config;
  return {
    token: agent.token,
    contact: agent.contact,
    delayMs: politeness.delay,
    ...(Object.keys(filled.hostDelaysMs ?? {}).length === 0 ? {} : { hostDelaysMs: filled.hostDelaysMs! }),
    delayFactor: politeness.delayFactor,
    delayFactorMaxMs: politeness.delayFactorMax,
    addressDelayMs: filled.addressDelayMs,
    crawlDelayMaxMs: politeness.crawlDelayMax,
    retryAfterMaxMs: politeness.retryAfterMax,
    faultPauseMs: politeness.faultPause,
    setAsideMs: politeness.setAside,
    ratePerS: politeness.rate,
    pageBudget: filled.pageBudget,
    budgetCycleMs: frontier.budgetCycle,
    maxPages: limits.maxPages,
    robotsTtlMs: robots.ttl,
    robotsTtlMaxMs: filled.robotsTtlMaxMs,
    netAllow: net.allow,
    ...(Object.keys(filled.hosts ?? {}).length === 0 ? {} : { hosts: filled.hosts! }),
  };
}

const NUMBERS = [
  'delayMs',
  'delayFactor',
  'delayFactorMaxMs',
  'addressDelayMs',
  'crawlDelayMaxMs',
  'retryAfterMaxMs',
  'faultPauseMs',
  'setAsideMs',
  'ratePerS',
  'pageBudget',
  'budgetCycleMs',
  'maxPages',
  'robotsTtlMs',
  'robotsTtlMaxMs',
] as const;

/** Throws PORTOLAN_STATE_DAMAGED when the text is not what ledgerConfigOf makes. */
export function readLedgerConfig(bytes: Uint8Array): LedgerConfig {
  let value: Partial<LedgerConfig> | null = null;
  try {
    value = JSON.parse(Buffer.from(bytes).toString('utf8')) as Partial<LedgerConfig> | null;
  } catch {
    // told below
  }
  const whole =
    typeof value === 'object' &&
    value !== null &&
    NUMBERS.every((name) => typeof value[name] === 'number') &&
    typeof value.token === 'string' &&
    Array.isArray(value.netAllow) &&
    Object.values(value.hostDelaysMs ?? {}).every((ms) => typeof ms === 'number') &&
    Object.values(value.hosts ?? {}).every((host) => typeof host === 'object' && host !== null);
  if (!whole) {
    throw new PortolanError('PORTOLAN_STATE_DAMAGED', 'the configuration in the politeness ledger cannot be read', {
      remedy: 'The ledger was written by something else, or changed: restore it from a copy.',
    });
  }
  return value as LedgerConfig;
}
