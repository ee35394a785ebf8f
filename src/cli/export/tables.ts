/**
 * The tables that can be exported: their columns, and where each row comes from. A row is a list of values in the order of the columns; values that are absent
 * are undefined. What the state has is read from the databases shard by shard, each as of one commit; links and texts are derived (derived.ts).
 */
import type { ShardReader } from '../../adapters/sqlite/reader.ts';
import { OUTCOME_CODES, type OutcomeCode } from '../../core/reasons.ts';
import type { PageRow } from '../../core/records.ts';
import { keyHex } from '../../url/index.ts';
import type { CrawlDir } from '../crawl-dir.ts';

export type Value = string | number | boolean | undefined;
/** `time`: epoch milliseconds; 0 and less are absent. */
export type ColumnType = 'text' | 'int' | 'float' | 'time' | 'bool';

export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  /** Only when --with names it (or its group). */
  readonly extra?: string;
}

export interface ExportFilter {
  /** Epoch milliseconds; 0 for all. */
  readonly sinceMs: number;
  readonly outcomes: readonly string[] | undefined;
}

export interface Table {
  readonly columns: readonly Column[];
  /** Reads in bounded memory. `undefined`: no row yet; what is read without becoming a row at once says so, for signals are heard between two of either. */
  rows(crawl: CrawlDir, filter: ExportFilter): Iterable<readonly Value[] | undefined>;
}

const VIA: readonly Column[] = [
  { name: 'via', type: 'text', extra: 'via' },
  { name: 'depth', type: 'int', extra: 'via' },
];

const PAGE_COLUMNS: readonly (Column & { readonly of: (page: PageRow & { readonly host: string }) => Value })[] = [
  { name: 'url', type: 'text', of: (page) => page.url },
  { name: 'key', type: 'text', of: (page) => keyHex(page.keyHi, page.keyLo) },
  { name: 'host', type: 'text', of: (page) => page.host },
  { name: 'outcome', type: 'text', of: (page) => page.outcome },
  { name: 'class', type: 'text', of: (page) => OUTCOME_CODES[page.outcome] },
  { name: 'status', type: 'int', of: (page) => page.status || undefined },
  { name: 'fetchedAt', type: 'time', of: (page) => page.fetchedAtMs },
  { name: 'durationMs', type: 'int', of: (page) => page.durationMs },
  { name: 'attempts', type: 'int', of: (page) => page.attempts },
  { name: 'bytesBody', type: 'int', of: (page) => page.bodyBytes },
  { name: 'contentHash', type: 'text', of: (page) => page.contentHash && Buffer.from(page.contentHash).toString('hex') },
  { name: 'simhash', type: 'text', of: (page) => (page.words > 0 ? keyHex(page.simhashHi, page.simhashLo) : undefined) },
  { name: 'words', type: 'int', of: (page) => page.words || undefined },
  { name: 'duplicateOf', type: 'text', of: (page) => page.duplicateOf || undefined },
  { name: 'duplicateKind', type: 'text', of: (page) => page.duplicateKind || undefined },
  { name: 'etag', type: 'text', of: (page) => page.etag || undefined },
  { name: 'lastModified', type: 'text', of: (page) => page.lastModified || undefined },
  { name: 'via', type: 'text', of: (page) => page.via || undefined },
  { name: 'depth', type: 'int', of: (page) => page.depth },
  { name: 'foundAt', type: 'time', of: (page) => page.foundAtS * 1_000 },
  { name: 'warcFile', type: 'text', of: (page) => page.segment || undefined },
  { name: 'warcOffset', type: 'int', of: (page) => (page.segment === '' ? undefined : page.offset) },
  { name: 'warcLength', type: 'int', of: (page) => (page.segment === '' ? undefined : page.length) },
];

const SUCCESS = (Object.keys(OUTCOME_CODES) as OutcomeCode[]).filter((code) => OUTCOME_CODES[code] === 'success');

/** What was fetched with success; with --outcome whatever ended so. */
export const PAGES: Table = {
  columns: PAGE_COLUMNS,
  *rows(crawl, { sinceMs, outcomes = SUCCESS }) {
    for (const reader of crawl.readers()) {
      for (const page of reader.pages({ sinceMs, outcomes })) yield PAGE_COLUMNS.map(({ of }) => of(page));
    }
  },
};

const URL_COLUMNS: readonly Column[] = [
  { name: 'url', type: 'text' },
  { name: 'key', type: 'text' },
  { name: 'host', type: 'text' },
  { name: 'state', type: 'text' },
  { name: 'outcome', type: 'text' },
  { name: 'status', type: 'int' },
  { name: 'at', type: 'time' },
  { name: 'attempts', type: 'int' },
  ...VIA,
];

/** Every admitted URL: fetched, dropped (its reason is the outcome) or queued. `at`: fetched, dropped, or found. */
export const URLS: Table = {
  columns: URL_COLUMNS,
  *rows(crawl, filter) {
    for (const reader of crawl.readers()) {
      for (const page of reader.pages(filter)) {
        const key = keyHex(page.keyHi, page.keyLo);
        const { url, host, outcome, status, fetchedAtMs, attempts, via, depth } = page;
        yield [url, key, host, 'fetched', outcome, status || undefined, fetchedAtMs, attempts, via || undefined, depth];
      }
      for (const fate of reader.fates(filter)) {
        const { url, host, reason, atMs, via, depth } = fate;
        yield [url, keyHex(fate.keyHi, fate.keyLo), host, 'dropped', reason, undefined, atMs, undefined, via || undefined, depth];
      }
      if (filter.outcomes === undefined || filter.outcomes.includes('queued')) yield* queuedRows(reader, filter.sinceMs);
    }
  },
};

function* queuedRows(reader: ShardReader, sinceMs: number): Iterable<readonly Value[] | undefined> {
  for (const { host, entry } of reader.entries()) {
    const foundAtMs = entry.foundAtS * 1_000;
    if (foundAtMs < sinceMs) {
      yield undefined;
      continue;
    }
    const url = `${entry.https ? 'https' : 'http'}://${host}${entry.pathQuery}`;
    const key = keyHex(entry.keyHi, entry.keyLo);
    yield [url, key, host, 'queued', undefined, undefined, foundAtMs, entry.attempts || undefined, entry.via || undefined, entry.depth];
  }
}

export const DROPS: Table = {
  columns: [
    { name: 'url', type: 'text' },
    { name: 'key', type: 'text' },
    { name: 'host', type: 'text' },
    { name: 'reason', type: 'text' },
    { name: 'droppedAt', type: 'time' },
    { name: 'via', type: 'text' },
    { name: 'depth', type: 'int' },
  ],
  *rows(crawl, filter) {
    for (const reader of crawl.readers()) {
      for (const { url, keyHi, keyLo, host, reason, atMs, via, depth } of reader.fates(filter)) {
        yield [url, keyHex(keyHi, keyLo), host, reason, atMs, via || undefined, depth];
      }
    }
  },
};

export const HOSTS: Table = {
  columns: [
    { name: 'host', type: 'text' },
    { name: 'domain', type: 'text' },
    { name: 'shard', type: 'int' },
    { name: 'state', type: 'text' },
    { name: 'address', type: 'text' },
    { name: 'admitted', type: 'int' },
    { name: 'queued', type: 'int' },
    { name: 'fetched', type: 'int' },
    { name: 'dropped', type: 'int' },
    { name: 'nextFetchAt', type: 'time' },
    { name: 'gapMs', type: 'int' },
    { name: 'gapRule', type: 'text' },
    { name: 'lastFetchAt', type: 'time' },
    { name: 'lastDurationMs', type: 'int' },
    { name: 'crawlDelayMs', type: 'int' },
    { name: 'backoff', type: 'int' },
    { name: 'faults', type: 'int' },
    { name: 'setAside', type: 'int' },
    { name: 'judged', type: 'int' },
    { name: 'nearDuplicates', type: 'int' },
  ],
  *rows(crawl, { sinceMs }) {
    for (const reader of crawl.readers()) {
      for (const { record: host, queued, dueMs } of reader.hosts()) {
        if (host.lastEndMs < sinceMs) {
          yield undefined;
          continue;
        }
        yield [
          ...[
            host.key,
            host.domain,
            reader.shard,
            host.state,
            host.address || undefined,
            host.admitted,
            queued,
            host.fetched,
            host.dropped,
          ],
          ...[queued > 0 ? dueMs : undefined, host.owedMs, host.gapRule, host.lastEndMs, host.lastDurationMs],
          ...[
            host.crawlDelayMs < 0 ? undefined : host.crawlDelayMs,
            host.backoff,
            host.faults,
            host.setAside,
            host.judged,
            host.nearDuplicates,
          ],
        ];
      }
    }
  },
};
