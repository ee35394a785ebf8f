/**
 * When the crawl will be over, where that can be told: a limit is in sight, or a finite scope whose queue shrinks. Otherwise why it cannot.
 *
 * The queue's end is the later of two: queue over the pace at which it shrinks, and the host that needs longest for its own queue, since a host's
 * pauses are not shortened by speed elsewhere. It is an estimate: links that were not met yet are not in it.
 */

export interface EtaInputs {
  readonly paused: boolean;
  /** URLs that wait, those of hosts set apart left out. */
  readonly queued: number;
  readonly inFlight: number;
  /** No bound on what may be found (scope web). */
  readonly isEndless: boolean;
  /** Length of the measurement behind the paces. */
  readonly windowMs: number;
  readonly pagesPerS: number;
  readonly admittedPerS: number;
  readonly endedPerS: number;
  readonly longestHostMs: number;
  /** Until something may be fetched; 0 while something is. */
  readonly nextFetchMs: number;
  readonly pages: number;
  /** 0 = none. */
  readonly maxPages: number;
  readonly ranMs: number;
  /** 0 = none. */
  readonly maxTimeMs: number;
}

export type Eta =
  | { readonly kind: 'in'; readonly ms: number; readonly end: 'queue' | 'page-limit' | 'time-limit' }
  | { readonly kind: 'none'; readonly why: 'paused' | 'measuring' | 'endless' | 'growing' | 'standing' };

/** A pace is not believed before it was measured for so long. */
const MEASURED_MIN_MS = 10_000;

export function etaOf(inputs: EtaInputs): Eta {
  const ends: { ms: number; end: 'queue' | 'page-limit' | 'time-limit' }[] = [];
  if (inputs.maxTimeMs > 0) ends.push({ ms: Math.max(0, inputs.maxTimeMs - inputs.ranMs), end: 'time-limit' });
  if (inputs.paused) return { kind: 'none', why: 'paused' };
  const isMeasured = inputs.windowMs >= MEASURED_MIN_MS;
  if (isMeasured && inputs.maxPages > 0 && inputs.pagesPerS > 0)
    ends.push({ ms: (Math.max(0, inputs.maxPages - inputs.pages) * 1_000) / inputs.pagesPerS, end: 'page-limit' });
  const shrinksPerS = inputs.endedPerS - inputs.admittedPerS;
  if (isMeasured && !inputs.isEndless && shrinksPerS > 0) ends.push({ ms: queueMs(inputs, shrinksPerS), end: 'queue' });
  const [first, ...more] = ends;
  if (first !== undefined) return { kind: 'in', ...more.reduce((a, b) => (b.ms < a.ms ? b : a), first) };
  if (!isMeasured) return { kind: 'none', why: 'measuring' };
  if (inputs.isEndless) return { kind: 'none', why: 'endless' };
  return { kind: 'none', why: shrinksPerS < 0 ? 'growing' : 'standing' };
}

function queueMs({ queued, inFlight, longestHostMs, nextFetchMs }: EtaInputs, shrinksPerS: number): number {
  const next = Number.isFinite(nextFetchMs) ? nextFetchMs : 0;
  return Math.max(((queued + inFlight) * 1_000) / shrinksPerS, longestHostMs, next);
}

const WHY: Readonly<Record<(Eta & { kind: 'none' })['why'], string>> = {
  paused: 'no end in sight while it is paused',
  measuring: 'time left: not measured yet',
  endless: 'no end in sight: the scope is the web and no limit is set',
  growing: 'no end in sight: more URLs are found than fetched',
  standing: 'no end in sight: the queue does not shrink',
};

const END: Readonly<Record<(Eta & { kind: 'in' })['end'], string>> = {
  queue: 'until the queue is empty',
  'page-limit': 'until the page limit',
  'time-limit': 'until the time limit',
};

export function etaInWords(eta: Eta): string {
  return eta.kind === 'in' ? `about ${durationInWords(eta.ms)} ${END[eta.end]}` : WHY[eta.why];
}

/** `3 d 4 h`, `2 h 10 min`, `4 min 30 s`, `12 s`: two units at most. */
export function durationInWords(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  const units: readonly (readonly [string, number])[] = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ];
  const at = units.findIndex(([, size]) => seconds >= size);
  if (at < 0) return '0 s';
  const [unit, size] = units[at]!;
  const rest = units[at + 1];
  const whole = Math.floor(seconds / size);
  const more = rest === undefined ? 0 : Math.floor((seconds - whole * size) / rest[1]);
  return more === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${more} ${rest![0]}`;
}
