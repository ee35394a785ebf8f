/**
 * What the state of a crawl says of one URL: seen or not, waiting or ended and how, its host's next fetch and the rule that set it, robots.txt in force, and
 * the chain of pages that led to it. A handful of look-ups by key, and for a waiting URL a search in its own host's queues.
 */
import type { ShardReader } from '../adapters/sqlite/reader.ts';
import { type GapRule, type HostRecord, hostDueMs, queuedTotal } from '../core/host.ts';
import type { FateRow, PageRow, RedirectChain } from '../core/records.ts';
import type { RobotsRow } from '../ports/shard-store.ts';
import { rulesOfRecord } from '../robots/policy.ts';
import { splitUrl } from '../url/index.ts';
import type { CrawlDir } from './crawl-dir.ts';
import { type NamedUrl, nameUrl } from './explain-verdict.ts';

/** Pages named of the way from a seed; a longer way is cut in its middle no further than here. */
export const CHAIN_MAX = 32;

export type UrlState = 'fetched' | 'dropped' | 'queued' | 'in transit' | 'not known';

export interface UrlFacts {
  readonly state: UrlState;
  readonly page: PageRow | undefined;
  readonly fate: FateRow | undefined;
  readonly queue: QueueFacts | undefined;
  readonly host: HostFacts | undefined;
  readonly robots: RobotsFacts | undefined;
  /** The page it was found on first, and so on up to a seed. */
  readonly via: readonly ViaStep[];
  /** Links from a seed; undefined when the URL is not known. */
  readonly depth: number | undefined;
  /** Number of the commit that was read. */
  readonly commitSeq: number;
}

export interface QueueFacts {
  /** 0 (best) … 4; 5: waits for another attempt. */
  readonly level: number;
  /** Entries before it on its level. */
  readonly ahead: number;
  readonly hostQueued: number;
  readonly attempts: number;
  /** Another attempt not before; 0 for at once. */
  readonly notBeforeMs: number;
  readonly kind: string;
  readonly foundAtS: number;
  readonly chain: RedirectChain | undefined;
  /** Its turn at the earliest, if its level alone is served: due time, and a gap and an exchange for each entry before it. */
  readonly earliestMs: number;
}

export interface HostFacts {
  readonly key: string;
  readonly domain: string;
  readonly state: string;
  readonly address: string;
  readonly admitted: number;
  readonly queued: number;
  readonly fetched: number;
  readonly dropped: number;
  readonly nextFetchMs: number;
  readonly gapRule: GapRule;
  readonly gapMs: number;
  readonly lastEndMs: number;
  readonly waitUntilMs: number;
  readonly crawlDelayMs: number;
  readonly backoff: number;
  readonly faults: number;
  readonly setAside: number;
}

export interface RobotsFacts {
  readonly origin: string;
  readonly source: 'stored' | 'live';
  readonly state: string;
  readonly status: number;
  readonly fetchedAtMs: number;
  readonly expiresAtMs: number;
  readonly failingSinceMs: number;
  readonly allowed: boolean;
  /** Line of robots.txt that decided, from 1; 0 when none did. */
  readonly line: number;
  /** That line as it stands in the file. */
  readonly text: string;
  /** The pattern in its normal form; '' without a line. */
  readonly rule: string;
  readonly crawlDelayMs: number | undefined;
}

export interface ViaStep {
  readonly url: string;
  /** How that page ended; '' when it is no longer known. */
  readonly outcome: string;
}

export function urlFacts(crawl: CrawlDir, named: NamedUrl, productToken: string, nowMs: number): UrlFacts {
  const owner = crawl.shardOfHost(named.parts.host);
  const reader = crawl.reader(owner);
  const host = reader?.host(named.parts.hostKey);
  const page = host && reader?.page(host.id, named.keyHi, named.keyLo);
  const fate = page === undefined ? host && reader?.fate(host.id, named.keyHi, named.keyLo) : undefined;
  const place = page === undefined && fate === undefined ? host && reader?.findEntry(host, named.keyHi, named.keyLo) : undefined;
  const transit = (page ?? fate ?? place) === undefined ? findInTransit(crawl, owner, named) : undefined;
  const known = page ?? fate ?? place?.entry ?? transit;
  const robotsRow = reader?.robots(named.parts.origin);
  return {
    state: page ? 'fetched' : fate ? 'dropped' : place ? 'queued' : transit ? 'in transit' : 'not known',
    page,
    fate,
    queue: place && host ? queueFacts(place, host, nowMs) : undefined,
    host: host && hostFacts(host),
    robots: robotsRow && robotsFacts(robotsRow, named.parts.pathQuery, productToken),
    via: known === undefined ? [] : viaChain(crawl, known.via),
    depth: known?.depth,
    commitSeq: reader?.commitSeq ?? 0,
  };
}

function findInTransit(crawl: CrawlDir, owner: number, named: NamedUrl) {
  for (let shard = 0; shard < crawl.meta.shards; shard++) {
    const find = crawl.reader(shard)?.findInTransit(owner, named.keyHi, named.keyLo);
    if (find !== undefined) return find;
  }
  return undefined;
}

function queueFacts(place: NonNullable<ReturnType<ShardReader['findEntry']>>, host: HostRecord, nowMs: number): QueueFacts {
  const { entry, level, ahead } = place;
  const { attempts, notBeforeMs, kind, foundAtS, chain } = entry;
  const earliestMs = Math.max(notBeforeMs, Math.max(nowMs, hostDueMs(host)) + ahead * (host.owedMs + host.lastDurationMs));
  return { level, ahead, hostQueued: queuedTotal(host), attempts, notBeforeMs, kind, foundAtS, chain, earliestMs };
}

export function hostFacts(host: HostRecord): HostFacts {
  const { key, domain, state, address, admitted, fetched, dropped, gapRule, lastEndMs, waitUntilMs, crawlDelayMs } = host;
  return {
    ...{ key, domain, state, address, admitted, queued: queuedTotal(host), fetched, dropped },
    ...{ nextFetchMs: hostDueMs(host), gapRule, gapMs: host.owedMs, lastEndMs, waitUntilMs, crawlDelayMs },
    ...{ backoff: host.backoff, faults: host.faults, setAside: host.setAside },
  };
}

export function robotsFacts(
  row: RobotsRow,
  pathQuery: string,
  productToken: string,
  source: RobotsFacts['source'] = 'stored',
): RobotsFacts {
  const record = { ...row, state: row.state as 'rules', failingSinceMs: row.failingSinceMs === 0 ? undefined : row.failingSinceMs };
  const rules = rulesOfRecord(record, productToken);
  const { allowed, line, rule } = rules.explain(pathQuery);
  const { origin, state, status, fetchedAtMs, expiresAtMs, failingSinceMs } = row;
  const text = line === 0 ? '' : lineOf(row.body, line);
  return {
    ...{ origin, source, state, status, fetchedAtMs, expiresAtMs, failingSinceMs },
    ...{ allowed, line, text, rule, crawlDelayMs: rules.crawlDelayMs },
  };
}

function lineOf(body: Uint8Array | undefined, line: number): string {
  return (
    Buffer.from(body ?? [])
      .toString('utf8')
      .split(/\r\n|\n|\r/)
      [line - 1]?.trim()
      .slice(0, 200) ?? ''
  );
}

/** From the page nearest to the URL up to a seed. */
function viaChain(crawl: CrawlDir, first: string): ViaStep[] {
  const steps: ViaStep[] = [];
  const met = new Set<string>();
  for (let via = first; via !== '' && steps.length < CHAIN_MAX && !met.has(via); ) {
    met.add(via);
    const { outcome, via: next } = endingOf(crawl, via);
    steps.push({ url: via, outcome });
    via = next;
  }
  return steps;
}

function endingOf(crawl: CrawlDir, url: string): { readonly outcome: string; readonly via: string } {
  const named = nameUrl(url);
  if ('reason' in named) return { outcome: '', via: '' };
  const reader = crawl.reader(crawl.shardOfHost(splitUrl(named.url).host));
  const host = reader?.host(named.parts.hostKey);
  const page = host && reader?.page(host.id, named.keyHi, named.keyLo);
  return { outcome: page?.outcome ?? '', via: page?.via ?? '' };
}
