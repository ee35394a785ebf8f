/** The closing report: report.json in the crawl's directory (docs/REPORT.md explains each field) and a few lines for people. */

import { type RowFigures, reportRows } from '../adapters/sqlite/report-rows.ts';
import type { CrawlReport } from '../compose.ts';
import { overall, sum } from '../engine/accounting.ts';
import { durationInWords } from '../engine/eta.ts';
import { hostExceptions } from '../engine/host-rules.ts';
import { errorsOf, pagesOf } from '../engine/measurements.ts';
import { shardFile } from '../thread-data.ts';
import { bytes, count, counted, kinds, pauseInWords, rate } from './numbers.ts';

const SEEDS_MAX = 100;

export function reportOf(report: CrawlReport) {
  const all = overall(report.statuses.map((status) => status.totals));
  const total = (
    name:
      | 'requests'
      | 'robotsRequests'
      | 'wireBytes'
      | 'bodyBytes'
      | 'exactDuplicates'
      | 'nearDuplicates'
      | 'storedPages'
      | 'interim'
      | 'reopened'
      | 'lostOutput',
  ): number => report.statuses.reduce((a, status) => a + status.totals[name], 0);
  return {
    format: 1,
    reason: report.reason,
    finished: report.reason === 'finished',
    startedAt: new Date(report.startedAtMs).toISOString(),
    endedAt: new Date(report.endedAtMs).toISOString(),
    seconds: (report.endedAtMs - report.startedAtMs) / 1_000,
    ranSeconds: (report.series.points.at(-1)?.[0] ?? 0) / 1_000,
    seeds: report.config.seeds.slice(0, SEEDS_MAX),
    seedCount: report.config.seeds.length,
    exceptions: hostExceptions(report.config),
    scope: report.config.scope.mode as string,
    found: all.found,
    known: all.known,
    rejected: all.rejected,
    admitted: all.admitted,
    inTransit: all.inTransit,
    queued: all.queued,
    fetched: all.fetched,
    dropped: all.dropped,
    unaccounted: all.unaccounted,
    pages: pagesOf(all.fetched),
    ...lastRun(report.series, pagesOf(all.fetched)),
    errors: errorsOf(all.fetched),
    requests: total('requests'),
    robotsRequests: total('robotsRequests'),
    wireBytes: total('wireBytes'),
    bodyBytes: total('bodyBytes'),
    exactDuplicates: total('exactDuplicates'),
    nearDuplicates: total('nearDuplicates'),
    storedPages: total('storedPages'),
    interim: total('interim'),
    reopened: total('reopened'),
    lostOutput: total('lostOutput'),
    dns: dnsOf(report.metrics),
    metrics: report.metrics,
    hosts: report.statuses.reduce((a, status) => a + status.hosts, 0),
    hostsApart: report.statuses.reduce((a, status) => a + status.apartHosts, 0),
    shards: report.shards,
    error: report.error === undefined ? undefined : { code: report.error.code, message: report.error.message },
    rows: rowsOf(report),
    series: report.series,
  };
}

/** Pages and running time of the last run alone: the pace. After a kill the series lacks the last moments of the run before, whose pages are there. */
function lastRun({ runs, points }: CrawlReport['series'], pages: number) {
  const run = runs.at(-1);
  const ranMs = (points.at(-1)?.[0] ?? 0) - (run?.ranMs ?? 0);
  return { pagesLastRun: pages - (run?.pages ?? 0), ranSecondsLastRun: Math.max(0, ranMs) / 1_000 };
}

/** Figures of single pages and hosts, from the rows of the shards. After a failure of storage nothing is read. */
function rowsOf(report: CrawlReport): RowFigures {
  const totals = report.statuses.map((status) => status.totals);
  const isReadable = report.error === undefined;
  return reportRows({
    files: isReadable ? Array.from({ length: report.shards }, (_, shard) => shardFile(report.dir, shard)) : [],
    pageRows: isReadable ? sum(overall(totals).fetched) : 0,
    hostRows: report.statuses.reduce((a, status) => a + status.hosts, 0),
    nowMs: () => performance.now(),
  });
}

/** For people too: one key a line, but arrays of numbers on one. */
export function reportJson(report: Report): string {
  // A line break within brackets is none of a string: those are escaped.
  const rows = /\[\n\s+(-?[\d.e+-]+(?:,\n\s+-?[\d.e+-]+)*)\n\s+\]/g;
  return `${JSON.stringify(report, undefined, 2).replace(rows, (_, numbers: string) => `[${numbers.replace(/\n\s+/g, ' ')}]`)}\n`;
}

/** Hit rate of the resolver cache, 0 … 1; literals and fixed answers count as hits. */
function dnsOf(metrics: Readonly<Record<string, number>>) {
  const hits = metrics['portolan_dns_hits_total'] ?? 0;
  const misses = metrics['portolan_dns_misses_total'] ?? 0;
  return { hits, misses, hitRate: hits + misses === 0 ? 0 : hits / (hits + misses) };
}

export type Report = ReturnType<typeof reportOf>;

export const ENDINGS: Readonly<Record<string, string>> = {
  finished: 'The crawl is finished',
  'page-limit': 'The page limit is reached; run again with a higher one to go on',
  'time-limit': 'The time limit is reached; run the same command again to go on',
  stopped: 'Stopped; run the same command again to go on',
  failed: 'The crawl has failed',
};

/** Of the last run. */
export function pagesPerS({ pagesLastRun, ranSecondsLastRun }: Report): number {
  return pagesLastRun / Math.max(0.001, ranSecondsLastRun);
}

export function describe(report: Report, dir: string): string {
  const line = (label: string, text: string): string => `  ${label.padEnd(10)} ${text}`;
  const rejected = sum(report.rejected);
  const fetched = sum(report.fetched);
  const dropped = sum(report.dropped);
  const { series, rows } = report;
  const speed = `${rate(pagesPerS(report))}/s`;
  const length = durationInWords(report.ranSeconds * 1_000);
  const pace =
    series.runs.length > 1
      ? `${length} over ${series.runs.length} runs (${counted(report.pagesLastRun, 'page')} in this one, ${speed})`
      : `${length} (${speed})`;
  const lines = [
    `${ENDINGS[report.reason] ?? report.reason}: ${counted(report.pages, 'page')} from ${counted(report.hosts, 'host')} in ${pace}.`,
    line(
      'links',
      `${count(report.found)} found = ${count(report.known)} known + ${count(rejected)} rejected + ${count(report.admitted)} admitted + ${count(report.inTransit)} in transit`,
    ),
    line(
      'URLs',
      `${count(report.admitted)} admitted = ${count(report.queued)} queued + ${count(fetched)} fetched + ${count(dropped)} dropped; unaccounted ${count(report.unaccounted)}`,
    ),
    line('fetched', kinds(report.fetched) || 'none'),
    line('dropped', kinds(report.dropped) || 'none'),
    line('rejected', kinds(report.rejected) || 'none'),
    line(
      'traffic',
      `${counted(report.requests, 'request')} (${count(report.robotsRequests)} for robots.txt), ${bytes(report.wireBytes)} over the wire, ${bytes(report.bodyBytes)} decoded`,
    ),
  ];
  for (const { hosts, what, reason } of report.exceptions) lines.push(line('excepted', `${what} for ${hosts}: ${reason}`));
  const copies = report.exactDuplicates + report.nearDuplicates;
  if (copies > 0) lines.push(line('copies', `${count(report.exactDuplicates)} exact, ${count(report.nearDuplicates)} near`));
  if (report.hostsApart > 0)
    lines.push(
      line('set apart', `${counted(report.hostsApart, 'host that asks', 'hosts that ask')} for a longer pause than the crawl waits for`),
    );
  if (rows.hosts !== undefined && rows.hosts.waiting.length > 0 && report.queued > 0) lines.push(line('waits for', slowest(rows)));
  return [...lines, line('results', `${dir}: report.html, report.json, pages/, warc/, ledger/, state/`)].join('\n');
}

/** The host that needs longest for its queue at its present pause. */
function slowest({ hosts }: RowFigures): string {
  const [first] = [...(hosts?.waiting ?? [])].sort((a, b) => b.queued * b.owedMs - a.queued * a.owedMs);
  if (first === undefined) return '';
  return `${first.key} with ${counted(first.queued, 'URL')}, ${pauseInWords(first)}`;
}
