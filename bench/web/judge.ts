/**
 * Judges a crawl of the benchmark web from the server's access log alone; nothing that the crawler says about itself counts.
 *
 *   node bench/web/judge.ts --web DIR --log FILE [--gap-ms N]     prints one JSON object, exits 1 when a rule is broken
 *
 * What it cannot see: two requests to one host that overlap by less than nginx's clock resolution (a few ms).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CLOCK_SLACK_MS, type LoggedRequest, measurePauses, readNginxLog } from '../../test/support/nginx-log.ts';
import { readSummary } from './generate.ts';

export interface Judgement {
  readonly expected: number;
  readonly fetchedDistinct: number;
  readonly missing: number;
  /** Page requests, robots.txt apart. */
  readonly fetches: number;
  /** The same spelling again. */
  readonly exactDup: number;
  /** Another spelling of a page that was fetched too. */
  readonly aliasDup: number;
  readonly forbiddenHits: number;
  /** Requests for what no page links to (404s, links inside comments and scripts, a base that was ignored). */
  readonly unexpected: number;
  readonly robotsFetches: number;
  /** Most robots.txt fetches of one host. */
  readonly robotsPerHostMax: number;
  /** Pages that a host was asked for before its robots.txt had been answered. */
  readonly beforeRobots: number;
  /** Requests that began while another one to the same host was running. */
  readonly overlaps: number;
  /** Requests that began sooner than the gap after the end of the one before, same host. */
  readonly shortGaps: number;
  /** Smallest gap seen in ms, or null with fewer than two requests to every host. */
  readonly gapMsMin: number | null;
  readonly connections: number;
  readonly gzipShare: number;
  readonly bodyMB: number;
  /** First request's start to last request's end. */
  readonly wallS: number;
  readonly pagesPerS: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly samples: { readonly missing: readonly string[]; readonly unexpected: readonly string[]; readonly forbidden: readonly string[] };
  /** Names of the rules that were broken; empty is a pass. */
  readonly broken: readonly string[];
}

export interface JudgeOptions {
  readonly expected: Iterable<string>;
  readonly forbidden: Iterable<string>;
  readonly requests: readonly LoggedRequest[];
  /** Least pause between the end of one request and the start of the next to one host; 0 looks for overlaps only. */
  readonly gapMs: number;
}

const SAMPLES_MAX = 5;
const TRACKERS = /^(?:utm_[a-z]+|gclid|fbclid)=/;

export function judgeWeb(dir: string, log: string, gapMs = 0): Judgement {
  const lines = (name: string): string[] => readFileSync(join(dir, name), 'utf8').split('\n').filter(Boolean);
  const { port } = readSummary(dir);
  const requests = readNginxLog(log).filter((request) => request.address.endsWith(`:${port}`));
  return judge({ expected: lines('expected.txt'), forbidden: lines('forbidden.txt'), requests, gapMs });
}

export function judge(options: JudgeOptions): Judgement {
  const expected = new Set([...options.expected].map(pageOfUrl));
  const forbidden = new Set([...options.forbidden].map(pageOfUrl));
  const pages = options.requests.filter((request) => request.target !== '/robots.txt');
  const fetched = countFetches(pages, expected, forbidden);
  const missing = [...expected].filter((page) => !fetched.byPage.has(page));
  const robots = countRobots(options.requests);
  const pauses = measurePauses(options.requests, options.gapMs);
  const aliasDup = sum(fetched.byPage.values()) - fetched.byPage.size - fetched.exactDup;
  const wallS = span(options.requests) / 1_000;
  const counts = {
    missing: missing.length,
    exactDup: fetched.exactDup,
    aliasDup,
    forbiddenHits: fetched.forbidden.length,
    unexpected: fetched.unexpected.length,
    beforeRobots: robots.beforeRobots,
    overlaps: pauses.overlaps,
    shortGaps: pauses.shortGaps,
  };
  const broken = Object.entries(counts).flatMap(([rule, count]) => (count > 0 ? [rule] : []));
  if (robots.perHostMax > 1) broken.push('robotsPerHostMax');
  return {
    expected: expected.size,
    fetchedDistinct: fetched.byPage.size,
    fetches: pages.length,
    ...counts,
    robotsFetches: robots.fetches,
    robotsPerHostMax: robots.perHostMax,
    gapMsMin: pauses.gapMsMin,
    connections: new Set(options.requests.map((request) => request.connection)).size,
    gzipShare: share(pages.filter((request) => request.coding === 'gzip').length, pages.length),
    bodyMB: Math.round(sum(pages.map((request) => request.bodyBytes)) / 1e5) / 10,
    wallS,
    pagesPerS: wallS > 0 ? Math.round(fetched.byPage.size / wallS) : 0,
    statuses: tally(options.requests.map((request) => String(request.status))),
    samples: {
      missing: missing.slice(0, SAMPLES_MAX),
      unexpected: [...new Set(fetched.unexpected)].slice(0, SAMPLES_MAX),
      forbidden: [...new Set(fetched.forbidden)].slice(0, SAMPLES_MAX),
    },
    broken,
  };
}

/** One name for all spellings of a page: percent-encoding undone, tracking parameters and fragment dropped. */
function pageOfUrl(url: string): string {
  const m = /^http:\/\/([^/]+)(\/.*)$/.exec(url);
  if (m === null) throw new Error(`not a URL of this web: ${url}`);
  return pageName(m[1] ?? '', m[2] ?? '');
}

function pageName(address: string, target: string): string {
  const [path = '', query = ''] = target.replace(/#.*$/s, '').split(/\?(.*)/s);
  const kept = query
    .replaceAll('&amp;', '&')
    .split('&')
    .filter((part) => part !== '' && !TRACKERS.test(part));
  return address + decoded(path) + (kept.length === 0 ? '' : `?${kept.join('&')}`);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function countFetches(pages: readonly LoggedRequest[], expected: ReadonlySet<string>, forbidden: ReadonlySet<string>) {
  const byPage = new Map<string, number>();
  const bySpelling = new Map<string, number>();
  const forbiddenHits: string[] = [];
  const unexpected: string[] = [];
  for (const request of pages) {
    const page = pageName(request.address, request.target);
    if (forbidden.has(page)) forbiddenHits.push(page);
    else if (!expected.has(page) || request.status !== 200) unexpected.push(page);
    else {
      byPage.set(page, (byPage.get(page) ?? 0) + 1);
      const spelling = request.address + request.target;
      bySpelling.set(spelling, (bySpelling.get(spelling) ?? 0) + 1);
    }
  }
  return { byPage, exactDup: sum(bySpelling.values()) - bySpelling.size, forbidden: forbiddenHits, unexpected };
}

function countRobots(requests: readonly LoggedRequest[]): { fetches: number; perHostMax: number; beforeRobots: number } {
  const answeredMs = new Map<string, number>();
  const perHost = new Map<string, number>();
  for (const request of requests) {
    if (request.target !== '/robots.txt') continue;
    perHost.set(request.address, (perHost.get(request.address) ?? 0) + 1);
    answeredMs.set(request.address, Math.min(request.endMs, answeredMs.get(request.address) ?? Number.POSITIVE_INFINITY));
  }
  const early = requests.filter(
    (request) =>
      request.target !== '/robots.txt' && request.startMs + CLOCK_SLACK_MS < (answeredMs.get(request.address) ?? Number.POSITIVE_INFINITY),
  );
  return { fetches: sum(perHost.values()), perHostMax: Math.max(0, ...perHost.values()), beforeRobots: early.length };
}

function span(requests: readonly LoggedRequest[]): number {
  let first = Number.POSITIVE_INFINITY;
  let last = 0;
  for (const request of requests) {
    first = Math.min(first, request.startMs);
    last = Math.max(last, request.endMs);
  }
  return requests.length === 0 ? 0 : last - first;
}

function tally(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

function sum(numbers: Iterable<number>): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 1_000) / 1_000;
}

function main(): void {
  const { values } = parseArgs({
    options: { web: { type: 'string' }, log: { type: 'string' }, 'gap-ms': { type: 'string', default: '0' } },
  });
  if (values.web === undefined || values.log === undefined) throw new Error('--web DIR and --log FILE are needed');
  const result = judgeWeb(values.web, values.log, Number(values['gap-ms']));
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  if (result.broken.length > 0) process.exitCode = 1;
}

if (import.meta.main) main();
