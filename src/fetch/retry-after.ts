/** Retry-After in its two forms, seconds and date (RFC 9110 section 10.2.3; R-C3). */
import type { EpochMs } from '../core/time.ts';
import { DAY_MS, SECOND_MS } from '../core/time.ts';
import { parseHttpDate } from './http-date.ts';

/** The most that is believed; a longer wish counts as this. The frontier's own ceiling for a host's gap may lie lower. */
export const RETRY_AFTER_MS_MAX = DAY_MS;

/**
 * Milliseconds to wait from now, 1 … RETRY_AFTER_MS_MAX. Undefined when the value gives no wait: zero, negative, past, fractional or
 * unreadable. The caller then takes its own back-off, so no value can switch the waiting off.
 */
export function parseRetryAfter(value: string, nowEpochMs: EpochMs): number | undefined {
  const text = value.trim();
  if (text.length > 64) return undefined;
  const waitMs = /^\d+$/.test(text) ? Number(text) * SECOND_MS : untilDate(text, nowEpochMs);
  if (waitMs === undefined || waitMs <= 0) return undefined;
  return Math.min(waitMs, RETRY_AFTER_MS_MAX);
}

function untilDate(text: string, nowEpochMs: EpochMs): number | undefined {
  const at = parseHttpDate(text, nowEpochMs);
  return at === undefined ? undefined : at - nowEpochMs;
}
