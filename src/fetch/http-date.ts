/**
 * Dates of HTTP, read by hand (RFC 9110 section 5.6.7): IMF-fixdate, RFC 850 and asctime. `Date.parse` reads far more than these, some of
 * it in the zone of the machine, and differs between engines.
 */
import type { EpochMs } from '../core/time.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'] as const;
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** Sun, 06 Nov 1994 08:49:37 GMT */
const IMF_FIXDATE = /^[a-z]{3},? (\d{1,2}) ([a-z]{3}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) (?:gmt|utc)$/i;
/** Sunday, 06-Nov-94 08:49:37 GMT; four digits of year and short day names are met as well. */
const RFC_850 = /^[a-z]{3,9},? (\d{1,2})-([a-z]{3})-(\d{2}|\d{4}) (\d{2}):(\d{2}):(\d{2}) (?:gmt|utc)$/i;
/** Sun Nov  6 08:49:37 1994 */
const ASCTIME = /^[a-z]{3} ([a-z]{3}) {1,2}(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/i;

/** Undefined when the text is none of the three forms or names no day. `nowEpochMs` gives a two-digit year its century. */
export function parseHttpDate(text: string, nowEpochMs: EpochMs): EpochMs | undefined {
  const trimmed = text.trim();
  const imf = IMF_FIXDATE.exec(trimmed);
  if (imf !== null) return epoch(Number(imf[3]), imf[2], imf[1], imf.slice(4, 7));
  const rfc850 = RFC_850.exec(trimmed);
  if (rfc850 !== null) return epoch(fullYear(rfc850[3] ?? '', nowEpochMs), rfc850[2], rfc850[1], rfc850.slice(4, 7));
  const asctime = ASCTIME.exec(trimmed);
  if (asctime !== null) return epoch(Number(asctime[6]), asctime[1], asctime[2], asctime.slice(3, 6));
  return undefined;
}

/** A two-digit year that would lie more than 50 years ahead is one of the past century (RFC 9110 section 5.6.7). */
function fullYear(digits: string, nowEpochMs: EpochMs): number {
  const year = Number(digits);
  if (digits.length === 4) return year;
  const thisYear = 1970 + Math.floor(nowEpochMs / (365.2425 * DAY_MS));
  const sameCentury = thisYear - (thisYear % 100) + year;
  return sameCentury > thisYear + 50 ? sameCentury - 100 : sameCentury;
}

function epoch(year: number, monthText: string | undefined, dayText: string | undefined, clock: readonly string[]): EpochMs | undefined {
  const month = MONTHS.indexOf((monthText ?? '').toLowerCase() as (typeof MONTHS)[number]);
  const day = Number(dayText);
  const [hour = 0, minute = 0, second = 0] = clock.map(Number);
  if (month === -1 || day < 1 || day > (MONTH_DAYS[month] ?? 0)) return undefined;
  if (month === 1 && day === 29 && !isLeap(year)) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined; // 60: a leap second
  return daysSince1970(year, month + 1, day) * DAY_MS + hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS;
}

function isLeap(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

/** Days of the proleptic Gregorian calendar; the year is counted from March, so that the leap day is its last. */
function daysSince1970(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const yearDay = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  return shifted * 365 + Math.floor(shifted / 4) - Math.floor(shifted / 100) + Math.floor(shifted / 400) + yearDay - 719_468;
}
