/**
 * `portolan status DIR --hosts [N]`: the hosts that hold a crawl up. One pass over the host rows of each shard, N rows kept of each order; robots.txt is looked
 * up for those alone.
 */
import type { HostOrder, HostRow, ShardReader } from '../adapters/sqlite/reader.ts';
import { PortolanError } from '../core/errors.ts';
import type { CrawlDir } from './crawl-dir.ts';
import { type HostFacts, hostFacts } from './explain-state.ts';
import { duration, hostJson } from './explain-text.ts';
import { count, isPace, printable } from './numbers.ts';

const HOSTS_DEFAULT = 20;
const HOSTS_MAX = 10_000;

export interface HostLine extends HostFacts {
  /** Until its queue would be empty, milliseconds. */
  readonly leftMs: number;
  /** State of robots.txt of its https and http origins, '' when it has not been asked for. */
  readonly robots: string;
}

export interface HostLists {
  readonly slowest: readonly HostLine[];
  readonly longest: readonly HostLine[];
}

/** `value` as commander gives it: true without a number. Throws PORTOLAN_USAGE_INVALID. */
export function hostCount(value: string | true): number {
  if (value === true) return HOSTS_DEFAULT;
  const n = Number(value);
  if (Number.isInteger(n) && n > 0 && n <= HOSTS_MAX) return n;
  throw new PortolanError('PORTOLAN_USAGE_INVALID', `--hosts takes a number from 1 to ${HOSTS_MAX}, not "${value}"`, {
    remedy: 'give the directory before it: portolan status DIR --hosts 20; export --what hosts gives all of them',
  });
}

export function hostLists(crawl: CrawlDir, n: number, nowMs: number): HostLists {
  const slowest: HostLine[] = [];
  const longest: HostLine[] = [];
  for (const reader of crawl.readers()) {
    const top = (order: HostOrder): HostLine[] => reader.topHosts(order, n, nowMs).map((row) => hostLine(row, reader, nowMs));
    slowest.push(...top('left'));
    longest.push(...top('queued'));
  }
  slowest.sort((a, b) => b.leftMs - a.leftMs);
  longest.sort((a, b) => b.queued - a.queued);
  return { slowest: slowest.slice(0, n), longest: longest.slice(0, n) };
}

function hostLine({ record, queued, dueMs }: HostRow, reader: ShardReader, nowMs: number): HostLine {
  const leftMs = Math.max(dueMs - nowMs, 0) + queued * (record.owedMs + record.lastDurationMs);
  const states = ['https', 'http'].flatMap((scheme) => reader.robots(`${scheme}://${record.key}`)?.state ?? []);
  return { ...hostFacts(record), leftMs, robots: [...new Set(states)].join(', ') };
}

const COLUMNS: readonly (readonly [head: string, right: boolean, cell: (host: HostLine, nowMs: number) => string])[] = [
  ['host', false, (host) => host.key],
  ['queued', true, (host) => count(host.queued)],
  ['time left', true, (host) => duration(host.leftMs)],
  ['next fetch', true, (host, nowMs) => (host.nextFetchMs <= nowMs ? 'now' : `in ${duration(host.nextFetchMs - nowMs)}`)],
  ['gap', true, (host) => (isPace(host.gapRule) && host.gapMs > 0 ? duration(host.gapMs) : 'none')],
  ['rule', false, (host) => host.gapRule],
  ['robots.txt', false, (host) => host.robots || 'not asked'],
  ['fetched', true, (host) => count(host.fetched)],
  ['dropped', true, (host) => count(host.dropped)],
  ['faults', true, (host) => String(host.faults)],
];

export function hostListsText(lists: HostLists, nowMs: number): string {
  if (lists.longest.length === 0) return 'no host has a waiting URL\n';
  return `slowest hosts (by the time their queues take)\n${table(lists.slowest, nowMs)}\nlongest hosts (by waiting URLs)\n${table(lists.longest, nowMs)}`;
}

export function hostListsJson(lists: HostLists): Record<string, unknown> {
  const json = (host: HostLine): Record<string, unknown> => hostJson(host);
  return { slowest: lists.slowest.map(json), longest: lists.longest.map(json) };
}

function table(hosts: readonly HostLine[], nowMs: number): string {
  const rows = [COLUMNS.map(([head]) => head), ...hosts.map((host) => COLUMNS.map(([, , cell]) => printable(cell(host, nowMs))))];
  const widths = COLUMNS.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => (COLUMNS[at]![1] ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
      .join('  ')
      .trimEnd();
  return `${rows.map(line).join('\n')}\n`;
}
