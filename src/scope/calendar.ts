/**
 * Trap: calendars, which link to the next and the previous month for ever (one crawl reached the year 7749).
 *
 * A date in a URL is believed inside a window around now; a calendar is walked step by step, so the window's edge stops it. How wide the window is
 * depends on what the URL looks like (before now / after now):
 *
 * | the URL | window |
 * | --- | --- |
 * | month or day, and a calendar word (calendar, events, agenda, …) | 10 years / 2 years: at most 145 months |
 * | month or day, no such word, or an archive word with it | 60 years / 2 years |
 * | month or day, and an archive word (archive, newspaper, history, …) alone | no limit / 2 years |
 * | a date in the path and a name after it (/1998/04/12/flood-in-town): an article | no limit / 2 years |
 * | a year parameter alone | from the year 1100 / 50 years |
 *
 * Dates seen: in the path /2026/05, /2026/05/12, /2026/may, /2026-05, /2026-05-12, with a calendar word also /2026/5 and /202605; in the query year=
 * with month=, and date-like parameters with 2026-05, 2026-05-12, 2026/05/12, 202605 or 20260512; with a calendar word a dashed date in any parameter, and
 * epoch seconds in a date-like one.
 * Numbers in paths are ids far more often than dates (/thread/2100/12), so without a calendar word a date in the path is refused only within 25 years
 * beyond the window's edge, which a walk cannot jump over. It is a pure function of the URL and now.
 */
import type { EpochMs } from '../core/time.ts';
import { DAY_MS } from '../core/time.ts';
import { type QueryParameter, readParameters } from './query.ts';
import { segmentsOf } from './repeating-path.ts';

const SLASH = 0x2f;
const EQUALS = 0x3d;
const FUTURE_MONTHS = 2 * 12;
const CALENDAR_PAST_MONTHS = 10 * 12;
const PLAIN_PAST_MONTHS = 60 * 12;
/** Beyond it a number in a path is an id again. */
const EDGE_MONTHS = 25 * 12;
const YEAR_FUTURE = 50;
const YEAR_FIRST = 1100;
/** Years before and after the present one whose months lie in every window. */
const SAFE_YEARS_PAST = 9;
const SAFE_YEARS_FUTURE = 1;

const CALENDAR_WORDS = new Set([
  'calendar',
  'calendars',
  'cal',
  'kalender',
  'calendrier',
  'calendario',
  'calendari',
  'kalendar',
  'agenda',
  'event',
  'events',
  'evenement',
  'evenements',
  'evento',
  'eventos',
  'eventi',
  'veranstaltung',
  'veranstaltungen',
  'veranstaltungskalender',
  'termin',
  'termine',
  'schedule',
  'schedules',
  'booking',
  'bookings',
  'reservation',
  'reservations',
  'timetable',
  'ical',
  'tribe',
]);
const ARCHIVE_WORDS = new Set([
  'archive',
  'archives',
  'archiv',
  'archivo',
  'archivio',
  'newspaper',
  'newspapers',
  'zeitung',
  'history',
  'historical',
  'issue',
  'issues',
  'sitemap',
  'sitemaps',
  'gazette',
  'journal',
  'proceedings',
]);
/** Words that name a view of a calendar and not an article. */
const VIEW_WORDS = new Set([
  'year',
  'month',
  'week',
  'day',
  'list',
  'grid',
  'view',
  'index',
  'default',
  'page',
  'print',
  'html',
  'htm',
  'php',
  'asp',
  'aspx',
  'jsp',
  'ics',
  'today',
  'next',
  'prev',
  'previous',
  'all',
  'monat',
  'woche',
  'tag',
  'mois',
  'semaine',
  'jour',
  'w',
  'm',
  'd',
]);
const YEAR_NAMES = new Set(['y', 'yr', 'year', 'years', 'jahr', 'annee', 'anno', 'ano', 'calyear', 'yyyy']);
const MONTH_NAMES = new Set(['m', 'mo', 'mon', 'month', 'months', 'monat', 'mois', 'mese', 'mes', 'calmonth', 'mm']);
const DATE_NAMES = new Set(['date', 'day', 'm', 'ym', 'month', 'datum', 'fecha']);
/** Offsets and ids as often as dates: believed in dashed form, and with a calendar word. */
const LOOSE_DATE_NAMES = new Set([...DATE_NAMES, 'd', 'start', 'end', 'from', 'to', 'time', 'timestamp', 'ts', 'when']);
const MONTH_PREFIXES = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'] as const;
const MONTH_WORD =
  /^(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)$/i;
const DASHED = /^(\d{4})-(\d{2})(?:-(\d{2}))?$/;
const SEPARATED = /^(\d{4})(?:[-./]|%2F)(\d{1,2})(?:(?:[-./]|%2F)(\d{1,2}))?(?:$|T)/;
const COMPACT = /^(\d{4})(\d{2})(\d{2})?$/;

/** A date found in a URL. */
interface FoundDate {
  readonly text: string;
  readonly year: number;
  /** 1 … 12; 0 when only a year is given. */
  readonly month: number;
  readonly place: 'query' | 'path' | 'article';
}

interface Words {
  readonly calendar: boolean;
  readonly archive: boolean;
}

/** The date that lies outside its window, as written, or undefined. `path` begins with `/`; `query` is canonical, without its `?`. */
export function calendarTrap(path: string, query: string, nowEpochMs: EpochMs): string | undefined {
  const yearNow = Math.floor(monthOf(nowEpochMs) / 12);
  const maybeInPath = hasDoubtfulYear(path, SLASH, yearNow);
  const maybeInQuery = hasDoubtfulYear(query, EQUALS, yearNow);
  if (!maybeInPath && !maybeInQuery) return undefined;
  const parameters = readParameters(query);
  const words = wordsOf(path, parameters);
  const inPath = maybeInPath ? dateInPath(path, words) : undefined;
  if (inPath !== undefined && isOutside(inPath, words, nowEpochMs)) return inPath.text;
  const inQuery = maybeInQuery ? dateInQuery(parameters, words) : undefined;
  return inQuery !== undefined && isOutside(inQuery, words, nowEpochMs) ? inQuery.text : undefined;
}

/** Cheap: do four digits that follow `before` make a year that is not safely near? Every date that this file knows begins so. */
function hasDoubtfulYear(text: string, before: number, yearNow: number): boolean {
  for (let index = 0; index + 4 < text.length; index++) {
    if (text.charCodeAt(index) !== before) continue;
    const year = fourDigits(text, index + 1);
    if (year >= 0 && (year < yearNow - SAFE_YEARS_PAST || year > yearNow + SAFE_YEARS_FUTURE)) return true;
  }
  return false;
}

/** −1 when one of the four characters is no digit. */
function fourDigits(text: string, from: number): number {
  let number = 0;
  for (let index = from; index < from + 4; index++) {
    const digit = text.charCodeAt(index) - 0x30;
    if (!(digit >= 0 && digit <= 9)) return -1;
    number = number * 10 + digit;
  }
  return number;
}

function isOutside(date: FoundDate, words: Words, nowEpochMs: EpochMs): boolean {
  const now = monthOf(nowEpochMs);
  if (date.month === 0) return date.year < YEAR_FIRST || date.year > Math.floor(now / 12) + YEAR_FUTURE;
  const month = date.year * 12 + date.month - 1;
  const beyond = Math.max(month - (now + FUTURE_MONTHS), now - pastMonths(date, words) - month);
  if (beyond <= 0) return false;
  return date.place === 'query' || words.calendar || beyond <= EDGE_MONTHS;
}

function pastMonths(date: FoundDate, words: Words): number {
  if (date.place === 'article' || (words.archive && !words.calendar)) return Number.POSITIVE_INFINITY;
  return words.calendar && !words.archive ? CALENDAR_PAST_MONTHS : PLAIN_PAST_MONTHS;
}

/** Months since year 0, by the proleptic Gregorian calendar in UTC (Hinnant, "chrono-compatible low-level date algorithms"). */
export function monthOf(epochMs: EpochMs): number {
  const days = Math.floor(epochMs / DAY_MS) + 719_468;
  const era = Math.floor(days / 146_097);
  const dayOfEra = days - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1_460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  // Years of this algorithm begin in March: month 10 is January of the next one.
  return (yearOfEra + era * 400) * 12 + marchMonth + 2;
}

function wordsOf(path: string, parameters: readonly QueryParameter[]): Words {
  const text = [path, ...parameters.flatMap(({ name, value }) => (value.length <= 20 ? [name, value] : [name]))].join('/').toLowerCase();
  let calendar = false;
  let archive = false;
  for (const word of text.split(/[^a-z]+/)) {
    calendar ||= CALENDAR_WORDS.has(word);
    archive ||= ARCHIVE_WORDS.has(word);
  }
  return { calendar, archive };
}

function dateInPath(path: string, words: Words): FoundDate | undefined {
  const segments = segmentsOf(path);
  for (let index = 0; index < segments.length; index++) {
    const segment = segments[index]!;
    const whole = DASHED.exec(segment) ?? (words.calendar ? COMPACT.exec(segment) : null);
    const date = whole !== null ? dateOf(segment, whole[1]!, whole[2]!, whole[3], 'path') : splitDate(segments, index, words);
    if (date === undefined) continue;
    const after = index + (whole !== null ? 1 : 2);
    return segments.slice(after).some(isName) ? { ...date, place: 'article' } : date;
  }
  return undefined;
}

/** /2026/05 and /2026/may, from the year's segment on; /2026/5 with a calendar word. */
function splitDate(segments: readonly string[], index: number, words: Words): FoundDate | undefined {
  const year = segments[index]!;
  const month = segments[index + 1];
  if (month === undefined || !/^\d{4}$/.test(year)) return undefined;
  const text = `${year}/${month}`;
  if (MONTH_WORD.test(month)) {
    const number = MONTH_PREFIXES.findIndex((prefix) => month.toLowerCase().startsWith(prefix)) + 1;
    return { text, year: Number(year), month: number, place: 'path' };
  }
  return /^\d{2}$/.test(month) || (words.calendar && /^\d$/.test(month)) ? dateOf(text, year, month, undefined, 'path') : undefined;
}

/** Does a segment hold a word that is neither a view of a calendar nor a part of a date? */
function isName(segment: string): boolean {
  return segment
    .toLowerCase()
    .split(/[^a-z]+|%[0-9a-f]{2}/)
    .some((word) => word.length > 0 && !VIEW_WORDS.has(word) && !CALENDAR_WORDS.has(word) && !MONTH_WORD.test(word));
}

function dateInQuery(parameters: readonly QueryParameter[], words: Words): FoundDate | undefined {
  let year: string | undefined;
  let month: string | undefined;
  let alone = false;
  for (const { name, value } of parameters) {
    const date = dateInValue(name, value, words);
    if (date !== undefined) return date;
    if (/^\d{4}$/.test(value) && hasWord(name, YEAR_NAMES)) {
      year = value;
      alone = name !== 'y';
    } else if (/^(?:0?[1-9]|1[0-2])$/.test(value) && hasWord(name, MONTH_NAMES)) month = value;
  }
  if (year !== undefined && month !== undefined) {
    return { text: `year ${year}, month ${month}`, year: Number(year), month: Number(month), place: 'query' };
  }
  return year !== undefined && alone ? { text: `year ${year}`, year: Number(year), month: 0, place: 'query' } : undefined;
}

function dateInValue(name: string, value: string, words: Words): FoundDate | undefined {
  const named = hasWord(name, LOOSE_DATE_NAMES);
  const separated = named || words.calendar ? SEPARATED.exec(value) : null;
  if (separated !== null) return dateOf(value, separated[1]!, separated[2]!, separated[3], 'query');
  if (!hasWord(name, words.calendar ? LOOSE_DATE_NAMES : DATE_NAMES)) return undefined;
  const compact = COMPACT.exec(value);
  if (compact !== null) return dateOf(value, compact[1]!, compact[2]!, compact[3], 'query');
  if (!words.calendar || !/^\d{9,11}$/.test(value)) return undefined;
  const months = monthOf(Number(value) * 1_000);
  return { text: `${value} seconds`, year: Math.floor(months / 12), month: (months % 12) + 1, place: 'query' };
}

function hasWord(name: string, words: ReadonlySet<string>): boolean {
  return words.has(name) || name.split(/[^a-z]+/).some((word) => word.length > 1 && words.has(word));
}

/** undefined when the numbers make no date. */
function dateOf(text: string, year: string, month: string, day: string | undefined, place: 'query' | 'path'): FoundDate | undefined {
  const numbers = { month: Number(month), day: day === undefined ? 1 : Number(day) };
  if (numbers.month < 1 || numbers.month > 12 || numbers.day < 1 || numbers.day > 31) return undefined;
  return { text, year: Number(year), month: numbers.month, place };
}
