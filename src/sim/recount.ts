/**
 * What the rows of the stores say when the crawl has ended, against the totals, against each other, and against the simulated web: every admitted
 * URL stands in exactly one row, and every link of every page that was kept whole is admitted, or on its way when the crawl was stopped, unless the
 * scope refuses it.
 */
import { QUEUES, queuedTotal } from '../core/host.ts';
import { type PageRow, readFinds } from '../core/records.ts';
import { overall, type TotalsSnapshot } from '../engine/accounting.ts';
import type { ThreadContext } from '../engine/context.ts';
import type { OpenedShard, ShardStore } from '../ports/shard-store.ts';
import { keyHex, LinkResolver, splitUrl, urlKey } from '../url/index.ts';
import type { Findings } from './findings.ts';
import type { SimWeb } from './web/web.ts';

export interface Recount {
  /** Keys of all admitted URLs, sorted: two runs that admitted the same have the same. */
  readonly keys: readonly string[];
  /** URLs of the page rows, sorted. */
  readonly pages: readonly string[];
  readonly outcomes: Readonly<Record<string, number>>;
}

/** `opened`: as each of the stores was found. */
export function recount(
  stores: readonly ShardStore[],
  opened: readonly Pick<OpenedShard, 'outbox' | 'taken'>[],
  totals: readonly TotalsSnapshot[],
  context: ThreadContext,
  web: SimWeb,
  findings: Findings,
  nowMs: number,
): Recount {
  const keys = new Set<string>();
  const pages: PageRow[] = [];
  const outcomes: Record<string, number> = {};
  const admit = (hi: number, lo: number, where: string): void => {
    const key = keyHex(hi, lo);
    findings.expect(!keys.has(key), 'admitted-twice', nowMs, () => `key ${key} stands in two rows, one in ${where}`);
    keys.add(key);
  };
  stores.forEach((store, shard) => {
    const counts = countRows(store, admit, (page) => pages.push(page));
    for (const [name, count] of Object.entries(counts.fetched)) outcomes[name] = (outcomes[name] ?? 0) + count;
    compare(shard, counts, totals[shard]!, findings, nowMs);
  });
  const { unaccounted, inTransit } = overall(totals);
  findings.expect(unaccounted === 0, 'unaccounted', nowMs, () => `${unaccounted} over all shards`);
  const onTheirWay = findsOnTheirWay(opened);
  findings.expect(
    onTheirWay.length === inTransit,
    'recount',
    nowMs,
    () => `${onTheirWay.length} finds wait in outboxes, ${inTransit} are in transit by the totals`,
  );
  checkLinks(pages, new Set([...keys, ...onTheirWay]), totals, context, web, findings, nowMs);
  return { keys: [...keys].sort(), pages: pages.map((page) => page.url).sort(), outcomes };
}

/** Keys of the finds in durable messages that their receivers have not taken: the next run would send them again. */
function findsOnTheirWay(opened: readonly Pick<OpenedShard, 'outbox' | 'taken'>[]): string[] {
  return opened.flatMap(({ outbox }, from) =>
    outbox
      .filter(({ to, seq }) => seq > (opened[to]!.taken.find((row) => row.from === from)?.seq ?? 0))
      .flatMap(({ blob }) => readFinds(blob).map(({ keyHi, keyLo }) => keyHex(keyHi, keyLo))),
  );
}

interface RowCounts {
  readonly fetched: Record<string, number>;
  readonly dropped: Record<string, number>;
  readonly queued: number[];
  /** Of the host rows. */
  readonly hosts: { queued: number; fetched: number; dropped: number; admitted: number };
}

function countRows(store: ShardStore, admit: (hi: number, lo: number, where: string) => void, keep: (page: PageRow) => void): RowCounts {
  const counts: RowCounts = {
    fetched: {},
    dropped: {},
    queued: Array.from({ length: QUEUES }, () => 0),
    hosts: { queued: 0, fetched: 0, dropped: 0, admitted: 0 },
  };
  store.scanPages((page) => {
    counts.fetched[page.outcome] = (counts.fetched[page.outcome] ?? 0) + 1;
    admit(page.keyHi, page.keyLo, `pages, ${page.url}`);
    keep(page);
  });
  store.scanFates((fate) => {
    counts.dropped[fate.reason] = (counts.dropped[fate.reason] ?? 0) + 1;
    admit(fate.keyHi, fate.keyLo, `fates, ${fate.url}`);
  });
  store.scanEntries((_host, level, entry) => {
    counts.queued[level] = (counts.queued[level] ?? 0) + 1;
    admit(entry.keyHi, entry.keyLo, `queues, ${entry.pathQuery}`);
  });
  const ids: number[] = [];
  store.scanHosts((host) => ids.push(host.id));
  for (const id of ids) {
    const host = store.readHost(id)!;
    counts.hosts.queued += queuedTotal(host);
    counts.hosts.fetched += host.fetched;
    counts.hosts.dropped += host.dropped;
    counts.hosts.admitted += host.admitted;
  }
  return counts;
}

function compare(shard: number, counts: RowCounts, totals: TotalsSnapshot, findings: Findings, nowMs: number): void {
  const same = (what: string, rows: number, said: number): void =>
    findings.expect(rows === said, 'recount', nowMs, () => `shard ${shard}: ${rows} ${what} in rows, ${said} in totals`);
  for (const name of new Set([...Object.keys(counts.fetched), ...Object.keys(totals.fetched)]))
    same(`fetched as ${name}`, counts.fetched[name] ?? 0, totals.fetched[name] ?? 0);
  for (const name of new Set([...Object.keys(counts.dropped), ...Object.keys(totals.dropped)]))
    same(`dropped as ${name}`, counts.dropped[name] ?? 0, totals.dropped[name] ?? 0);
  const sum = (record: Readonly<Record<string, number>>): number => Object.values(record).reduce((a, b) => a + b, 0);
  const queued = totals.queued.reduce((a, b) => a + b, 0);
  same(
    'queued entries',
    counts.queued.reduce((a, b) => a + b, 0),
    queued,
  );
  same('queued of hosts', counts.hosts.queued, queued);
  same('fetched of hosts', counts.hosts.fetched, sum(totals.fetched));
  same('dropped of hosts', counts.hosts.dropped, sum(totals.dropped));
  same('admitted of hosts', counts.hosts.admitted, totals.admitted);
}

function checkLinks(
  pages: readonly PageRow[],
  keys: ReadonlySet<string>,
  totals: readonly TotalsSnapshot[],
  context: ThreadContext,
  web: SimWeb,
  findings: Findings,
  nowMs: number,
): void {
  // An owner that refuses (too many hosts of a domain, a full queue) says so in its totals; which URLs it refused is not in any row.
  if (totals.some((one) => Object.keys(one.ownerRejected).length > 0)) return;
  const key = new Uint32Array(2);
  for (const page of pages) {
    if (page.outcome !== 'ok' || (page.duplicateKind !== '' && page.duplicateKind !== 'exact' && context.rules.skipNearDuplicates))
      continue;
    const parts = splitUrl(page.url);
    const host = web.hosts.find(parts.hostKey);
    const place = host === undefined ? undefined : web.pages.find(host, parts.pathQuery);
    if (host === undefined || place?.at !== 'page') continue;
    const hrefs = web.pages.linksToFollow(host, place.page);
    // A copy has the links of its original.
    if (web.pages.links(host, web.pages.original(host, place.page)).length > context.config.fetch.maxLinks) continue;
    const resolver = new LinkResolver(page.url);
    for (const href of hrefs) {
      const url = resolver.resolve(href);
      if (url === '') continue;
      const target = splitUrl(url);
      const canonical = context.canonicalize(url);
      urlKey(canonical, key);
      const isThere =
        keys.has(keyHex(key[0]!, key[1]!)) ||
        context.scope.check(url, target, canonical, page.depth + 1, nowMs) !== undefined ||
        context.blocklist.current.matchesUrl(url, target) !== undefined ||
        context.hooks?.admits?.(url, { depth: page.depth + 1, via: page.url, kind: 'link' }) === false;
      findings.expect(isThere, 'missing', nowMs, () => `${url}, a link of ${page.url}`);
    }
  }
}
