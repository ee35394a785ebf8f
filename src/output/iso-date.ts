/**
 * EpochMs → ISO 8601 text by arithmetic: `2026-01-02T03:04:05.678Z`, always UTC, always milliseconds (W3C-DTF as WARC 1.1 section 5.4 takes it).
 * Days to civil date after Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms" (days_from_civil and its inverse, March-based years).
 */
import { assert } from '../core/errors.ts';
import { DAY_MS, type EpochMs, HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';

/** 9999-12-31T23:59:59.999Z: later dates have no four-digit year. */
const EPOCH_MS_MAX = 253_402_300_799_999;
const DAYS_TO_1970_FROM_0000_03_01 = 719_468;
const DAYS_PER_ERA = 146_097;
const YEARS_PER_ERA = 400;

/** Fractions of a millisecond are cut off. Throws PORTOLAN_ENGINE_INVARIANT outside the years 1970 … 9999. */
export function isoDate(epochMs: EpochMs): string {
  assert(epochMs >= 0 && epochMs <= EPOCH_MS_MAX, `a stored date lies in 1970 … 9999, not at ${epochMs} ms`);
  const ms = Math.floor(epochMs);
  const days = Math.floor(ms / DAY_MS);
  const inDay = ms - days * DAY_MS;
  const hour = Math.floor(inDay / HOUR_MS);
  const minute = Math.floor(inDay / MINUTE_MS) % 60;
  const second = Math.floor(inDay / SECOND_MS) % 60;
  return `${civilDate(days)}T${two(hour)}:${two(minute)}:${two(second)}.${three(inDay % SECOND_MS)}Z`;
}

function civilDate(daysSince1970: number): string {
  const days = daysSince1970 + DAYS_TO_1970_FROM_0000_03_01;
  const era = Math.floor(days / DAYS_PER_ERA);
  const dayOfEra = days - era * DAYS_PER_ERA;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)); // from 1 March
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = era * YEARS_PER_ERA + yearOfEra + (month <= 2 ? 1 : 0);
  return `${year}-${two(month)}-${two(day)}`;
}

function two(value: number): string {
  return value < 10 ? `0${value}` : `${value}`;
}

function three(value: number): string {
  return value < 10 ? `00${value}` : value < 100 ? `0${value}` : `${value}`;
}
