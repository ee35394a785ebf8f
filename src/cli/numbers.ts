/** Numbers as people read them: short, with their unit, the same in the live view, the closing lines and report.html. */

import { count, numbered } from '../core/counted.ts';
import type { GapRule } from '../core/host.ts';

export { count, counted, numbered } from '../core/counted.ts';

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** `48.2`, `312`: one decimal below 100. */
export function rate(value: number): string {
  return value < 99.95 ? value.toFixed(1) : count(value);
}

/** `312.4 MB`, powers of 1,000. */
export function bytes(value: number): string {
  let size = value;
  let unit = 0;
  while (size >= 999.5 && unit < BYTE_UNITS.length - 1) {
    size /= 1_000;
    unit++;
  }
  return unit === 0 ? `${Math.round(size)} B` : `${rate(size)} ${BYTE_UNITS[unit]}`;
}

/** `700 ms`, `1.5 s`, `90 s`: the length of one fetch or pause. */
export function pause(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${rate(ms / 1_000).replace(/\.0$/, '')} s`;
}

/** What a host waits for when its rule is not a pause between any two fetches: until then its pause means nothing. */
const WAITS: Readonly<Record<string, string>> = {
  none: 'not asked yet',
  fault: 'waits after a failure',
  'set-aside': 'set aside for a while',
  parked: 'set apart for its Crawl-delay',
} satisfies Partial<Record<GapRule, string>>;

/** `one every 1.5 s (default)`; of a host that waits for something else what that is, `waits after a failure (fault)`. */
export function pauseInWords({ gapRule, owedMs }: { readonly gapRule: string; readonly owedMs: number }): string {
  return `${WAITS[gapRule] ?? (owedMs > 0 ? `one every ${pause(owedMs)}` : 'without a pause')} (${gapRule})`;
}

/** Whether the rule sets a pause between any two fetches of a host. */
export function isPace(gapRule: string): boolean {
  return WAITS[gapRule] === undefined;
}

/** Counts by name, greatest first: `not-found 30, timeout 8`; at most `max` of them, then `and n more kinds`. */
export function kinds(counts: Readonly<Record<string, number>>, max = Number.POSITIVE_INFINITY): string {
  const all = Object.entries(counts)
    .filter(([, n]) => n !== 0)
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const shown = all.slice(0, max).map(([name, n]) => `${name} ${count(n)}`);
  if (all.length > max) shown.push(`and ${all.length - max} more ${numbered(all.length - max, 'kind')}`);
  return shown.join(', ');
}

/** Without control characters, so that nothing from the web moves a terminal's cursor. */
export function printable(text: string): string {
  return text.replace(/[\x00-\x1f\x7f-\x9f]/g, ' ');
}
