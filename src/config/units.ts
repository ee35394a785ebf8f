/**
 * Durations and sizes as people write them: `1s`, `250ms`, `10m`, `1.5h`, `2d`; `5MB`, `512MiB`, `64KB`. A bare number is milliseconds or bytes.
 * What is not understood is refused and never guessed; the refusal says how it would be written.
 */
const DURATION_UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const SIZE_UNITS: Readonly<Record<string, number>> = {
  b: 1,
  kb: 1_000,
  mb: 1_000_000,
  gb: 1_000_000_000,
  tb: 1_000_000_000_000,
  kib: 1_024,
  mib: 1_048_576,
  gib: 1_073_741_824,
  tib: 1_099_511_627_776,
};

/** Other spellings, and the one that is understood. */
const DURATION_WORDS: readonly (readonly [word: RegExp, unit: string])[] = [
  [/^(?:msecs?|millis|milliseconds?)$/, 'ms'],
  [/^(?:secs?|seconds?)$/, 's'],
  [/^(?:mins?|minutes?)$/, 'm'],
  [/^(?:hrs?|hours?)$/, 'h'],
  [/^days?$/, 'd'],
];
const SIZE_WORDS: readonly (readonly [word: RegExp, unit: string])[] = [
  [/^bytes?$/, 'B'],
  [/^k$/, 'KB'],
  [/^m$/, 'MB'],
  [/^g$/, 'GB'],
  [/^t$/, 'TB'],
];

const DURATION_STEPS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;
const SIZE_STEPS = [
  ['TiB', 1_099_511_627_776],
  ['GiB', 1_073_741_824],
  ['GB', 1_000_000_000],
  ['MiB', 1_048_576],
  ['MB', 1_000_000],
  ['KiB', 1_024],
  ['KB', 1_000],
] as const;

/** A kind of measure: how it is read, written, and what is said when it cannot be read. */
export interface Unit {
  parse(value: string | number): number | undefined;
  /** In the largest unit that divides it, as it would be written in the configuration. */
  write(value: number): string;
  refusal(value: unknown): string;
  /** The greatest value that can be meant. */
  readonly max: number;
}

export const DURATION: Unit = {
  parse: parseDuration,
  max: 3_650 * 86_400_000,
  write: (ms) => inSteps(ms, DURATION_STEPS, 'ms'),
  refusal: (value) =>
    `${subject(value)} not a duration${inOtherWords(value, DURATION_WORDS)}: a number with ms, s, m, h or d is, such as 500ms, 1.5s, 10m, 2h or 1d`,
};

export const SIZE: Unit = {
  parse: parseSize,
  max: 2 ** 50,
  write: (bytes) => inSteps(bytes, SIZE_STEPS, ''),
  refusal: (value) =>
    `${subject(value)} not a size${inOtherWords(value, SIZE_WORDS)}: a number with KB, MB, GB (1,000) or KiB, MiB, GiB (1,024) is, such as 64KB, 5MB or 1GiB`,
};

/** Milliseconds; undefined when the text is not a duration. */
export function parseDuration(value: string | number): number | undefined {
  return parseWithUnit(value, DURATION_UNITS);
}

/** Bytes; undefined when the text is not a size. */
export function parseSize(value: string | number): number | undefined {
  const bytes = parseWithUnit(value, SIZE_UNITS);
  return bytes === undefined ? undefined : Math.round(bytes);
}

function subject(value: unknown): string {
  return value === undefined || value === null || value === '' ? 'there is no value, which is' : `${shown(value)} is`;
}

/** A value as a message quotes it, at most 60 characters of it. */
export function shown(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a group of keys';
  const text = String(value);
  return `"${text.length > 60 ? `${text.slice(0, 60)}…` : text}"`;
}

function parseWithUnit(value: string | number, units: Readonly<Record<string, number>>): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(value);
  if (match === null) return undefined;
  const unit = match[2]!.toLowerCase();
  const factor = unit === '' ? 1 : units[unit];
  return factor === undefined ? undefined : Number(match[1]) * factor;
}

/** ` (write 5m)` for "5 minutes", ` (write 1.5s)` for "1,5s"; '' when nothing near is meant. */
function inOtherWords(value: unknown, words: readonly (readonly [word: RegExp, unit: string])[]): string {
  const match = /^\s*(\d+)(?:[.,](\d+))?\s*([a-z]*)\s*$/i.exec(String(value));
  if (match === null) return '';
  const [, whole = '', fraction, word = ''] = match;
  const unit =
    words.find(([pattern]) => pattern.test(word.toLowerCase()))?.[1] ??
    (fraction !== undefined && String(value).includes(',') ? word : undefined);
  return unit === undefined ? '' : ` (write ${whole}${fraction === undefined ? '' : `.${fraction}`}${unit})`;
}

function inSteps(value: number, steps: readonly (readonly [string, number])[], smallest: string): string {
  if (value === 0) return '0';
  for (const [unit, factor] of steps) if (value % factor === 0) return `${value / factor}${unit}`;
  return `${value}${smallest}`;
}
