/** Durations and sizes as people write them: `1s`, `250ms`, `10m`, `1.5h`, `2d`; `5MB`, `512MiB`, `64KB`. A bare number is milliseconds or bytes. */
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

/** Milliseconds; undefined when the text is not a duration. */
export function parseDuration(value: string | number): number | undefined {
  return parseWithUnit(value, DURATION_UNITS);
}

/** Bytes; undefined when the text is not a size. */
export function parseSize(value: string | number): number | undefined {
  const bytes = parseWithUnit(value, SIZE_UNITS);
  return bytes === undefined ? undefined : Math.round(bytes);
}

function parseWithUnit(value: string | number, units: Readonly<Record<string, number>>): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  const match = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(value);
  if (match === null) return undefined;
  const unit = match[2]!.toLowerCase();
  const factor = unit === '' ? 1 : units[unit];
  return factor === undefined ? undefined : Number(match[1]) * factor;
}
