/** The closing report: report.json in the crawl's directory and a few lines for people. */

import type { CrawlReport } from '../compose.ts';
import { overall, sum } from '../engine/accounting.ts';

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
    found: all.found,
    known: all.known,
    rejected: all.rejected,
    admitted: all.admitted,
    inTransit: all.inTransit,
    queued: all.queued,
    fetched: all.fetched,
    dropped: all.dropped,
    unaccounted: all.unaccounted,
    pages: (all.fetched['ok'] ?? 0) + (all.fetched['truncated'] ?? 0) + (all.fetched['not-modified'] ?? 0),
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
  };
}

/** Hit rate of the resolver cache, 0 … 1; literals and fixed answers count as hits. */
function dnsOf(metrics: Readonly<Record<string, number>>) {
  const hits = metrics['portolan_dns_hits_total'] ?? 0;
  const misses = metrics['portolan_dns_misses_total'] ?? 0;
  return { hits, misses, hitRate: hits + misses === 0 ? 0 : hits / (hits + misses) };
}

export type Report = ReturnType<typeof reportOf>;

const ENDINGS: Readonly<Record<string, string>> = {
  finished: 'The crawl is finished',
  'page-limit': 'The page limit is reached; run again with a higher one to go on',
  'time-limit': 'The time limit is reached; run the same command again to go on',
  stopped: 'Stopped; run the same command again to go on',
  failed: 'The crawl has failed',
};

export function describe(report: Report, dir: string): string {
  const counts = (of: Readonly<Record<string, number>>): string =>
    Object.entries(of)
      .filter(([, n]) => n !== 0)
      .sort((a, b) => b[1] - a[1])
      .map(([name, n]) => `${name} ${n}`)
      .join(', ') || 'none';
  return [
    `${ENDINGS[report.reason] ?? report.reason} (${report.seconds.toFixed(1)} s).`,
    `found ${report.found} = known ${report.known} + rejected ${sum(report.rejected)} + admitted ${report.admitted} + in transit ${report.inTransit}`,
    `admitted ${report.admitted} = queued ${report.queued} + fetched ${sum(report.fetched)} + dropped ${sum(report.dropped)}; unaccounted ${report.unaccounted}`,
    `fetched: ${counts(report.fetched)}`,
    `dropped: ${counts(report.dropped)}`,
    `rejected: ${counts(report.rejected)}`,
    `${report.requests} requests (${report.robotsRequests} for robots.txt) to ${report.hosts} hosts, ${(report.wireBytes / 1e6).toFixed(1)} MB over the wire`,
    `results in ${dir}: warc/, pages/, ledger/, state/, report.json`,
  ].join('\n');
}
