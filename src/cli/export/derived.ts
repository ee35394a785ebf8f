/**
 * Tables that the state does not have and that are derived from the WARC files: texts of pages, links with their anchor text, and links between hosts.
 *
 * The files are read in order, up to where the last commit of their shard says they end, and each page is decoded and parsed again by the parser of the crawl. A
 * revisit record (an exact copy) has no body: it is read from the original's record. Links are all that stand on a page, whether the crawl followed them or not:
 * resolved, without those that are no http or https URL. Pages without a stored response (--warc off, skipped near-duplicates) have none here.
 */
import Database from 'better-sqlite3';
import { decodeBody } from '../../fetch/content-coding.ts';
import { HeaderView } from '../../fetch/headers.ts';
import { type WarcRecord, type WarcResponse, warcResponse } from '../../output/warc-reader.ts';
import { createHandlers, type Handlers } from '../../parse/handlers.ts';
import { mediaTypeOf } from '../../parse/media-type.ts';
import type { ParsedPage } from '../../parse/page.ts';
import { LinkResolver, splitUrl } from '../../url/index.ts';
import type { CrawlDir } from '../crawl-dir.ts';
import { pageOf } from '../page-of.ts';
import type { Table } from './tables.ts';
import { recordAt, recordsOf, warcFiles } from './warc-files.ts';

/** Bodies were capped when they were fetched; an inflated one is cut here at the latest. */
const BODY_BYTES_MAX = 256 << 20;
const LINKS_MAX = 1_000_000;
/** Pairs of hosts counted in memory before they are added to the temporary database. */
const PAIRS_MAX = 100_000;

interface StoredPage {
  readonly url: string;
  readonly dateMs: number;
  readonly mediaType: string;
  readonly page: ParsedPage;
}

/** Successful responses that the parser knows, in the order of the files; undefined for every other record. */
function* storedPages(crawl: CrawlDir, sinceMs: number, anchorText: boolean): Iterable<StoredPage | undefined> {
  const handlers = createHandlers();
  const originals = new Originals(crawl);
  for (const file of warcFiles(crawl)) {
    for (const record of recordsOf(file)) yield storedPage(record, { handlers, originals, sinceMs, anchorText });
  }
}

interface PageReading {
  readonly handlers: Handlers;
  readonly originals: Originals;
  readonly sinceMs: number;
  readonly anchorText: boolean;
}

function storedPage(record: WarcRecord, { handlers, originals, sinceMs, anchorText }: PageReading): StoredPage | undefined {
  if (record.type !== 'response' && record.type !== 'revisit') return undefined;
  const dateMs = Date.parse(record.fields.get('warc-date') ?? '');
  const response = dateMs < sinceMs ? undefined : warcResponse(record);
  if (response === undefined || response.status < 200 || response.status > 299) return undefined;
  const whole = record.type === 'response' ? response : originals.of(record);
  const parsed = whole && parseResponse(handlers, whole, anchorText);
  return parsed && { url: record.fields.get('warc-target-uri') ?? '', dateMs, ...parsed };
}

function parseResponse(handlers: Handlers, response: WarcResponse, anchorText: boolean): Omit<StoredPage, 'url' | 'dateMs'> | undefined {
  const headers = new HeaderView(response.rawHeaders);
  const codings = headers.all('content-encoding');
  const { bytes } = decodeBody(response.body, codings, false, { maxBodyBytes: BODY_BYTES_MAX, maxWireBytes: BODY_BYTES_MAX });
  const contentTypeHeader = headers.first('content-type');
  const mediaType = mediaTypeOf(contentTypeHeader, bytes.subarray(0, 512)).type;
  const options = { maxLinks: LINKS_MAX, text: 'both', robotsNames: [], anchorText } as const;
  const page = handlers.find(mediaType)?.handle({ bytes, contentTypeHeader, mediaType, options });
  return page && { mediaType, page };
}

/** Responses to which revisit records refer, by way of the page rows of the state; the last one is kept, since copies come in runs. */
class Originals {
  readonly #crawl: CrawlDir;
  #url = '';
  #last: WarcResponse | undefined;

  constructor(crawl: CrawlDir) {
    this.#crawl = crawl;
  }

  of(revisit: WarcRecord): WarcResponse | undefined {
    const url = revisit.fields.get('warc-refers-to-target-uri') ?? '';
    if (url !== this.#url) {
      this.#url = url;
      this.#last = this.#read(url);
    }
    return this.#last;
  }

  #read(url: string): WarcResponse | undefined {
    const page = pageOf(this.#crawl, url);
    if (page === undefined || page.segment === '') return undefined;
    const record = recordAt(`${this.#crawl.dir}/${page.segment}`, page.offset, page.length);
    return record.type === 'response' ? warcResponse(record) : undefined;
  }
}

export const TEXTS: Table = {
  columns: [
    { name: 'url', type: 'text' },
    { name: 'fetchedAt', type: 'time' },
    { name: 'mediaType', type: 'text' },
    { name: 'title', type: 'text' },
    { name: 'language', type: 'text' },
    { name: 'text', type: 'text' },
  ],
  *rows(crawl, { sinceMs }) {
    for (const stored of storedPages(crawl, sinceMs, false)) {
      yield stored && [stored.url, stored.dateMs, stored.mediaType, stored.page.title || undefined, stored.page.language, stored.page.text];
    }
  },
};

/** One edge for each distinct target of a page, itself left out. */
export const LINKS: Table = {
  columns: [
    { name: 'from', type: 'text' },
    { name: 'to', type: 'text' },
    { name: 'text', type: 'text' },
    { name: 'kind', type: 'text' },
    { name: 'nofollow', type: 'bool' },
  ],
  *rows(crawl, { sinceMs }) {
    for (const stored of storedPages(crawl, sinceMs, true)) {
      yield undefined;
      if (stored === undefined) continue;
      const { url, page } = stored;
      for (const { to, text, kind, nofollow } of edgesOf(url, page)) yield [url, to, text || undefined, kind, nofollow];
    }
  },
};

interface Edge {
  readonly to: string;
  readonly text: string;
  readonly kind: string;
  readonly nofollow: boolean;
}

function edgesOf(url: string, page: ParsedPage): Iterable<Edge> {
  const resolver = new LinkResolver(url, page.baseHref);
  const edges = new Map<string, Edge>();
  for (const { href, text = '', kind, nofollow } of page.links) {
    const to = resolver.resolve(href);
    if (to === '' || to === url) continue;
    const known = edges.get(to);
    // Two spellings of one target: any followed one makes it followed, and the first text is its text.
    if (known === undefined) edges.set(to, { to, text, kind, nofollow });
    else edges.set(to, { ...known, text: known.text || text, nofollow: known.nofollow && nofollow });
  }
  return edges.values();
}

/** Pages of one host that link to pages of another: how many edges, and from how many pages. Sorted by hosts. */
export const HOST_LINKS: Table = {
  columns: [
    { name: 'fromHost', type: 'text' },
    { name: 'toHost', type: 'text' },
    { name: 'links', type: 'int' },
    { name: 'pages', type: 'int' },
  ],
  *rows(crawl, { sinceMs }) {
    const pairs = new PairCounts();
    try {
      for (const stored of storedPages(crawl, sinceMs, false)) {
        yield undefined;
        if (stored === undefined) continue;
        const { url, page } = stored;
        const from = splitUrl(url).hostKey;
        const targets = new Map<string, number>();
        for (const { to } of edgesOf(url, page)) {
          const host = splitUrl(to).hostKey;
          if (host !== from) targets.set(host, (targets.get(host) ?? 0) + 1);
        }
        for (const [to, links] of targets) pairs.add(from, to, links);
      }
      yield* pairs.rows();
    } finally {
      pairs.close();
    }
  },
};

/** Counts for pairs of hosts: up to a bound in memory, beyond in a temporary database that SQLite deletes when it is closed. */
class PairCounts {
  readonly #db = new Database('');
  #counts = new Map<string, [links: number, pages: number]>();

  constructor() {
    this.#db.exec('CREATE TABLE pair(a TEXT, b TEXT, links INTEGER, pages INTEGER, PRIMARY KEY(a, b)) WITHOUT ROWID');
  }

  add(from: string, to: string, links: number): void {
    const pair = `${from} ${to}`;
    const counts = this.#counts.get(pair);
    if (counts === undefined) this.#counts.set(pair, [links, 1]);
    else {
      counts[0] += links;
      counts[1]++;
    }
    if (this.#counts.size >= PAIRS_MAX) this.#spill();
  }

  #spill(): void {
    const put = this.#db.prepare(
      'INSERT INTO pair VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET links = links + excluded.links, pages = pages + excluded.pages',
    );
    this.#db.transaction(() => {
      for (const [pair, [links, pages]] of this.#counts) put.run(...pair.split(' '), links, pages);
    })();
    this.#counts = new Map();
  }

  *rows(): Iterable<readonly [string, string, number, number]> {
    this.#spill();
    const rows = this.#db.prepare('SELECT a, b, links, pages FROM pair ORDER BY a, b').raw().iterate();
    yield* rows as IterableIterator<[string, string, number, number]>;
  }

  close(): void {
    this.#db.close();
  }
}
