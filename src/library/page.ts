/** What the program is handed: pages and dropped URLs, made from the items of the engine. Dates are Date, everything else as in pages.jsonl. */
import type { DropReason, FindKind, OutcomeClass, OutcomeCode, RejectReason } from '../core/reasons.ts';
import type { ParsedItem } from '../engine/delivery-items.ts';
import type { LinkKind } from '../parse/page.ts';

/** One URL whose fetch has ended, well or badly. What is undefined the server or the page did not say, or it was not asked for. */
export interface CrawledPage {
  /** URL as it was requested. */
  readonly url: string;
  /** Stands for the canonical URL: 16 hex digits. The same page handed over twice has the same key. */
  readonly key: string;
  readonly host: string;
  readonly outcome: OutcomeCode;
  /** `success` alone means that there is a body. */
  readonly class: OutcomeClass;
  /** Undefined when no response came. */
  readonly status: number | undefined;
  /** What went wrong, in words. */
  readonly detail: string | undefined;
  /** Page that it was first found on; undefined for a seed. */
  readonly via: string | undefined;
  readonly kind: FindKind;
  /** Links from a seed. */
  readonly depth: number;
  readonly foundAt: Date;
  /** Moment of the request. */
  readonly fetchedAt: Date;
  readonly durationMs: number;
  /** Requests made for it, the last included. */
  readonly attempts: number;
  readonly address: string | undefined;
  readonly contentType: string | undefined;
  readonly title: string | undefined;
  /** BCP 47, as the page says it. */
  readonly language: string | undefined;
  /** URL that the page names as its canonical one. */
  readonly canonical: string | undefined;
  readonly redirectTo: string | undefined;
  /** SHA-256 of the decoded body, hex. */
  readonly contentHash: string | undefined;
  /** URL of the page with the same body that was there first. */
  readonly duplicateOf: string | undefined;
  readonly nearDuplicateOf: string | undefined;
  /** Directives of meta robots and X-Robots-Tag that applied. */
  readonly robots: readonly string[];
  /** Links met, and why how many of them went no further. */
  readonly linkCounts: { readonly found: number; readonly rejected: Readonly<Partial<Record<RejectReason, number>>> } | undefined;
  /** Bytes of the decoded body. */
  readonly bodyBytes: number;
  /** Where the response stands in the WARC files of the crawl's directory. */
  readonly warc: WarcPlace | undefined;
  /** Part `headers`: of the response, names as they came. */
  readonly headers: readonly (readonly [name: string, value: string])[] | undefined;
  /** Part `links`: those that lead to http and https URLs, in page order. */
  readonly links: readonly CrawledLink[] | undefined;
  /** Part `text`: visible text, blocks on lines of their own. */
  readonly text: string | undefined;
  /** Part `body`: the decoded body. It is the program's own. */
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}

export interface CrawledLink {
  /** Absolute. */
  readonly url: string;
  readonly kind: LinkKind;
  readonly nofollow: boolean;
  /** Text of an a element. */
  readonly text: string | undefined;
}

export interface WarcPlace {
  /** Relative to the crawl's directory. */
  readonly file: string;
  readonly offset: number;
  readonly length: number;
}

/** An admitted URL that was let go without a fetch. */
export interface DroppedUrl {
  readonly url: string;
  readonly key: string;
  readonly host: string;
  readonly reason: DropReason;
  /** The rule or line that decided, where the reason does not say it all. */
  readonly detail: string | undefined;
  readonly via: string | undefined;
  readonly depth: number;
  readonly droppedAt: Date;
}

export type Delivered = { readonly kind: 'page'; readonly page: CrawledPage } | { readonly kind: 'drop'; readonly drop: DroppedUrl };

/** `json`: of a DeliveryItem; the engine wrote it. */
export function deliveredOf(json: string, body: Uint8Array<ArrayBuffer> | undefined): Delivered {
  const item = JSON.parse(json) as ParsedItem;
  return 'drop' in item ? { kind: 'drop', drop: dropOf(item.drop as unknown as DropLine) } : { kind: 'page', page: pageOf(item, body) };
}

type DropLine = Omit<DroppedUrl, 'droppedAt'> & { readonly droppedAt: string };

interface PageLine extends Omit<CrawledPage, 'foundAt' | 'fetchedAt' | 'links'> {
  readonly foundAt: string;
  readonly fetchedAt: string;
  readonly bytesBody?: number;
  readonly links?: CrawledPage['linkCounts'];
}

function dropOf(line: DropLine): DroppedUrl {
  const { url, key, host, reason, detail, via, depth, droppedAt } = line;
  return { url, key, host, reason, detail, via, depth, droppedAt: new Date(droppedAt) };
}

function pageOf(item: Extract<ParsedItem, { page: unknown }>, body: Uint8Array<ArrayBuffer> | undefined): CrawledPage {
  const line = item.page as unknown as PageLine;
  const { url, key, host, outcome, status, detail, via, kind, depth, durationMs, attempts, address, contentType, title, canonical } = line;
  const { redirectTo, contentHash, duplicateOf, nearDuplicateOf, robots = [], warc, links, bytesBody = 0 } = line;
  return {
    ...{ url, key, host, outcome, class: line.class, status, detail, via, kind, depth },
    ...{ foundAt: new Date(line.foundAt), fetchedAt: new Date(line.fetchedAt), durationMs, attempts, address },
    ...{ contentType, title, language: item.language, canonical, redirectTo, contentHash, duplicateOf, nearDuplicateOf, robots },
    linkCounts: links && { found: links.found, rejected: links.rejected },
    bodyBytes: bytesBody,
    warc,
    headers: item.headers && pairsOf(item.headers),
    links: item.links?.map((link) => ({ url: link.url, kind: link.kind as LinkKind, nofollow: link.nofollow, text: link.text })),
    text: item.text,
    body,
  };
}

function pairsOf(raw: readonly string[]): (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at]!, raw[at + 1]!]);
  return pairs;
}
