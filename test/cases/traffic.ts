/** What the listeners of a case's web saw: which URLs, how often, with what headers, at what distance. */
import { type Fields, type Findings, fieldsOf, isFields, listOf, numberOf, show, textsOf } from './format.ts';
import type { CaseWeb, Request } from './web.ts';

/** Words that judgeTraffic reads. */
export const TRAFFIC_WORDS = [
  ...[
    'must_request',
    'must_not_request',
    'may_request',
    'request_header_absent',
    'request_header_present',
    'max_requests*',
    'max_fetches*',
  ],
  ...['min_start_gap_ms', 'robots_fetches', 'robots_fetches_total', 'includes_robots_fetches', 'first_request'],
];

/** Gaps are measured where requests arrive; the way there may be this much shorter for the later one. */
const ARRIVAL_JITTER_MS = 3;

export function judgeTraffic(web: CaseWeb, dns: Fields, expected: Fields, findings: Findings): void {
  const { log } = web;
  const urls = new Set(log.map((request) => request.url));
  for (const url of textsOf(expected, 'must_request')) if (!urls.has(url)) findings.fail(`${url} was not requested`);
  for (const url of textsOf(expected, 'must_not_request')) if (urls.has(url)) findings.fail(`${url} was requested`);
  for (const name of textsOf(expected, 'request_header_absent'))
    for (const request of log) if (request.headers.has(name.toLowerCase())) findings.fail(`${name} was sent with ${request.url}`);
  for (const name of textsOf(expected, 'request_header_present'))
    for (const request of log) if (!request.headers.has(name.toLowerCase())) findings.fail(`${name} was not sent with ${request.url}`);
  judgeCounts(log, expected, findings);
  judgeRobotsFetches(log, expected, findings);
  judgeGaps(log, dns, fieldsOf(expected, 'min_start_gap_ms'), findings);
  for (const [host, path] of Object.entries(fieldsOf(expected, 'first_request')))
    findings.equal(`first request to ${host}`, log.find((request) => request.host === host)?.path, path);
}

function judgeCounts(log: readonly Request[], expected: Fields, findings: Findings): void {
  for (const [word, bound] of Object.entries(expected)) {
    if (!/^max_(?:requests|fetches)/.test(word)) continue;
    if (typeof bound === 'number' && /^max_(?:requests|fetches)(?:_total)?$/.test(word)) atMost(word, log.length, bound, findings);
    else if (typeof bound === 'number' && /_per_(?:url|page)$/.test(word))
      for (const [url, n] of countBy(log, (one) => one.url)) atMost(`requests of ${url}`, n, bound, findings);
    else if (typeof bound === 'number' && word.endsWith('_per_host'))
      for (const [host, n] of countBy(log, (one) => one.host)) atMost(`requests of ${host}`, n, bound, findings);
    else if (isFields(bound))
      for (const [what, most] of Object.entries(bound)) {
        const n = log.filter((one) => one.url === what || one.host === what || one.path === what).length;
        atMost(`requests of ${what}`, n, Number(most), findings);
      }
    else findings.notUnderstood(`expected.${word} ${show(bound)}`);
  }
}

function atMost(what: string, n: number, bound: number, findings: Findings): void {
  if (n > bound) findings.fail(`${what}: ${n}, at most ${bound}`);
}

function countBy(log: readonly Request[], by: (request: Request) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const request of log) counts.set(by(request), (counts.get(by(request)) ?? 0) + 1);
  return counts;
}

function judgeRobotsFetches(log: readonly Request[], expected: Fields, findings: Findings): void {
  const robots = log.filter((request) => request.path === '/robots.txt');
  for (const [url, times] of Object.entries(fieldsOf(expected, 'robots_fetches')))
    findings.equal(`fetches of ${url}`, robots.filter((request) => request.url === url).length, times);
  const total = listOf(expected, 'robots_fetches_total').map(Number);
  if (total.length > 0 && (robots.length < Math.min(...total) || robots.length > Math.max(...total)))
    findings.fail(`${robots.length} fetches of robots.txt, expected ${total.join(' to ')}`);
  if (expected['includes_robots_fetches'] === true && robots.length === 0) findings.fail('robots.txt was not fetched');
}

function judgeGaps(log: readonly Request[], dns: Fields, gaps: Fields, findings: Findings): void {
  for (const [who, least] of Object.entries(gaps)) {
    if (typeof least !== 'number') findings.notUnderstood(`gap of ${who}: ${show(least)}`);
    else if (who.startsWith('host:'))
      judgeGap(
        who,
        log.filter((one) => one.host === who.slice(5)),
        least,
        findings,
      );
    else if (who.startsWith('ip:')) {
      const names = Object.keys(dns).filter((name) => listOf(dns, name).includes(who.slice(3)));
      const hosts = names.map((name) => name.replace(/\.$/, ''));
      judgeGap(
        who,
        log.filter((one) => hosts.includes(one.host)),
        least,
        findings,
      );
    } else if (who === 'each_host')
      for (const host of countBy(log, (one) => one.host).keys())
        judgeGap(
          host,
          log.filter((one) => one.host === host),
          least,
          findings,
        );
    else if (who === 'each_ip')
      for (const ip of countBy(log, (one) => one.address).keys())
        judgeGap(
          ip,
          log.filter((one) => one.address === ip),
          least,
          findings,
        );
    else findings.notUnderstood(`gap of ${who}`);
  }
}

function judgeGap(who: string, log: readonly Request[], least: number, findings: Findings): void {
  if (log.length < 2) findings.fail(`${who}: ${log.length} requests show no gap`);
  for (let i = 1; i < log.length; i++) {
    const gap = log[i]!.startMs - log[i - 1]!.startMs;
    if (gap + ARRIVAL_JITTER_MS < least) {
      findings.fail(`${who}: ${log[i]!.url} came ${Math.round(gap)} ms after ${log[i - 1]!.url}, at least ${least}`);
      return;
    }
  }
}

export function secondsBound(expected: Fields): number | undefined {
  return numberOf(expected, 'max_seconds');
}
