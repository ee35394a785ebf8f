/**
 * Puts URLs that have ended back into their hosts' queues, as after an outage: drops by their reason, and fetches by their outcome. Over the store of a shard
 * that no crawl has open.
 *
 * Each batch moves URLs from ended to queued and keeps both laws: of a URL, admitted = queued + fetched + dropped, per host and overall; finds are not touched. The
 * rows of pages and fates go, the entries wait as if just found, behind those that are new; lines of pages.jsonl stay and are counted (putBackPages, putBackDrops). A
 * host that was closed is open again with its faults forgotten, its debt is not; robots.txt that had failed or forbidden is asked for anew. What must not be fetched is
 * dropped again at its turn, by the same rules as ever.
 */
import { ByteWriter } from '../core/bytes.ts';
import { type HostRecord, RETRY_LEVEL } from '../core/host.ts';
import { DROP_REASONS, OUTCOME_CODES, OUTCOME_NAMES, type OutcomeCode } from '../core/reasons.ts';
import { type QueueEntry, writeQueueEntry } from '../core/records.ts';
import { CHUNK_BYTES } from '../frontier/frontier.ts';
import type { Batch, ChunkWrite, OpenedShard, RobotsRow, ShardStore } from '../ports/shard-store.ts';
import { splitUrl } from '../url/index.ts';
import type { TotalsSnapshot } from './accounting.ts';
import { entryOfPage } from './entries.ts';

/** URLs moved by one batch: what is held in memory. */
export const PUT_BACK_BATCH = 20_000;

/** Outcomes that may be put back: what was fetched with success is stored, and a redirect has become another URL. */
export const PUT_BACK_OUTCOMES: readonly OutcomeCode[] = OUTCOME_NAMES.filter(
  (code) => OUTCOME_CODES[code] !== 'success' && code !== 'redirect',
);
export const PUT_BACK_REASONS: readonly string[] = [...PUT_BACK_OUTCOMES, ...DROP_REASONS];

export interface PutBack {
  /** Of PUT_BACK_REASONS. */
  readonly reasons: ReadonlySet<string>;
  /** Only URLs of this host key. */
  readonly hostKey?: string | undefined;
}

export interface PutBackResult {
  readonly urls: number;
  readonly hosts: number;
  readonly byReason: Readonly<Record<string, number>>;
}

interface Ended {
  readonly hostId: number;
  readonly reason: string;
  readonly wasDropped: boolean;
  readonly entry: QueueEntry;
}

/** The store is opened here and the caller's to close. Each batch is durable before the next is begun. */
export async function putBack(store: ShardStore, shard: number, what: PutBack): Promise<PutBackResult> {
  const opened = store.open(shard);
  const byReason: Record<string, number> = {};
  const hosts = new Set<number>();
  let { commitSeq, totals } = opened;
  if (totals === '') return { urls: 0, hosts: 0, byReason };
  const onlyHost = what.hostKey === undefined ? undefined : (store.findHostId(what.hostKey) ?? -1);
  for (;;) {
    const ended = collect(store, what.reasons, onlyHost);
    if (ended.length === 0) break;
    const batch = batchOf(store, opened, ended, ++commitSeq, totals);
    await store.commit(batch);
    totals = batch.totals;
    for (const { hostId, reason } of ended) {
      hosts.add(hostId);
      byReason[reason] = (byReason[reason] ?? 0) + 1;
    }
    if (ended.length < PUT_BACK_BATCH) break;
  }
  return { urls: Object.values(byReason).reduce((a, b) => a + b, 0), hosts: hosts.size, byReason };
}

/** At most PUT_BACK_BATCH of them. */
function collect(store: ShardStore, reasons: ReadonlySet<string>, onlyHost: number | undefined): Ended[] {
  const ended: Ended[] = [];
  const isWanted = (hostId: number, reason: string): boolean =>
    ended.length < PUT_BACK_BATCH && reasons.has(reason) && (onlyHost === undefined || hostId === onlyHost);
  if (DROP_REASONS.some((reason) => reasons.has(reason))) {
    store.scanFates((fate) => {
      const { hostId, reason, url } = fate;
      if (!isWanted(hostId, reason)) return;
      const entry = entryOfPage({ ...fate, foundAtS: Math.floor(fate.atMs / 1_000) }, splitUrl(url));
      ended.push({ hostId, reason, wasDropped: true, entry });
    });
  }
  if (OUTCOME_NAMES.some((code) => reasons.has(code))) {
    store.scanPages((page) => {
      const { hostId, outcome, url } = page;
      if (isWanted(hostId, outcome)) ended.push({ hostId, reason: outcome, wasDropped: false, entry: entryOfPage(page, splitUrl(url)) });
    });
  }
  return ended;
}

function batchOf(store: ShardStore, opened: OpenedShard, ended: readonly Ended[], commitSeq: number, totalsText: string): Batch {
  const perHost = Map.groupBy(ended, ({ hostId }) => hostId);
  const hosts: HostRecord[] = [];
  const chunks: ChunkWrite[] = [];
  const robots: RobotsRow[] = [];
  for (const [id, own] of perHost) {
    const host = store.readHost(id)!;
    queue(
      host,
      own.map(({ entry }) => entry),
      chunks,
    );
    const dropped = own.filter(({ wasDropped }) => wasDropped).length;
    host.dropped -= dropped;
    host.fetched -= own.length - dropped;
    reopen(host);
    hosts.push(host);
    if (own.some(({ reason }) => reason.startsWith('robots-'))) robots.push(...askedAnew(store, host.key));
  }
  const keys = (wasDropped: boolean) =>
    ended.filter((one) => one.wasDropped === wasDropped).map(({ hostId, entry: { keyHi, keyLo } }) => ({ hostId, keyHi, keyLo }));
  return {
    ...{
      epoch: 1,
      commitSeq,
      clean: !opened.unclean,
      hosts,
      chunks,
      chunksDone: [],
      pages: [],
      pagesGone: keys(false),
      fates: [],
      fatesGone: keys(true),
    },
    ...{
      robots,
      content: [],
      seenDeltas: [],
      seenManifest: undefined,
      seenDeltasBelow: -1,
      outbox: [],
      outboxDone: [],
      taken: [],
      scopeHosts: [],
    },
    ...{ nextHostId: opened.nextHostId, nextContentId: opened.nextContentId, totals: movedTotals(totalsText, ended), marks: opened.marks },
  };
}

function queue(host: HostRecord, entries: readonly QueueEntry[], chunks: ChunkWrite[]): void {
  const retries = host.queues[RETRY_LEVEL]!;
  const out = new ByteWriter(2 * CHUNK_BYTES);
  for (let at = 0; at < entries.length; ) {
    const first = at;
    let via: string | undefined;
    out.reset();
    while (at < entries.length && out.length < CHUNK_BYTES) {
      const entry = entries[at++]!;
      writeQueueEntry(out, entry, via);
      via = entry.via;
    }
    retries.tailSeq++;
    retries.tailBytes = out.length;
    chunks.push({ hostId: host.id, level: RETRY_LEVEL, seq: retries.tailSeq, count: at - first, blob: out.take(), append: false });
  }
  retries.queued += entries.length;
}

/** What it owes it still owes: an outage is no reason for haste. */
function reopen(host: HostRecord): void {
  host.state = 'open';
  host.faults = 0;
  host.setAside = 0;
  host.waitUntilMs = 0;
}

/** robots.txt of both origins of a host, forgotten as far as it failed and due at once. */
function askedAnew(store: ShardStore, hostKey: string): RobotsRow[] {
  return ['http', 'https'].flatMap((scheme) => {
    const row = store.readRobots(`${scheme}://${hostKey}`);
    return row === undefined ? [] : [{ ...row, expiresAtMs: 0, failingSinceMs: 0, failures: 0 }];
  });
}

function movedTotals(text: string, ended: readonly Ended[]): string {
  const before = JSON.parse(text) as TotalsSnapshot;
  const fetched: Record<string, number> = { ...before.fetched };
  const dropped: Record<string, number> = { ...before.dropped };
  const queued = [...before.queued];
  let drops = 0;
  for (const { reason, wasDropped } of ended) {
    const counts = wasDropped ? dropped : fetched;
    counts[reason] = (counts[reason] ?? 0) - 1;
    if (wasDropped) drops++;
  }
  queued[RETRY_LEVEL] = (queued[RETRY_LEVEL] ?? 0) + ended.length;
  const putBackDrops = (before.putBackDrops ?? 0) + drops;
  const putBackPages = (before.putBackPages ?? 0) + ended.length - drops;
  return JSON.stringify({ ...before, fetched, dropped, queued, putBackDrops, putBackPages } satisfies TotalsSnapshot);
}
