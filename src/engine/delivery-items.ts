/** The JSON of a delivered item: the line of pages.jsonl as it is, and beside it what the program asked for. Pure. */
import { encodePageLine, type PageLineRecord } from '../output/pages-jsonl.ts';
import type { ParsedPage } from '../parse/page.ts';
import { LinkResolver } from '../url/index.ts';
import type { DeliveryPlan } from './delivery.ts';

/** What became of `JSON.parse`; `page` and `drop` have the keys of their lines (docs/PAGES-JSONL.md). */
export type ParsedItem =
  | {
      readonly page: Readonly<Record<string, unknown>>;
      readonly text?: string;
      readonly links?: readonly ItemLink[];
      /** Names and values alternating, as they came. */
      readonly headers?: readonly string[];
      readonly language?: string;
    }
  | { readonly drop: Readonly<Record<string, unknown>> };

/** A link of a page that leads to an http or https URL. */
export interface ItemLink {
  /** Absolute, as found. */
  readonly url: string;
  readonly kind: string;
  readonly nofollow: boolean;
  /** Of an a element, white space folded. */
  readonly text?: string | undefined;
}

export function pageItem(plan: DeliveryPlan, line: PageLineRecord, page: ParsedPage | undefined, rawHeaders: readonly string[]): string {
  const beside = JSON.stringify({
    text: plan.text ? page?.text : undefined,
    links: plan.links ? linksOf(line.url, page) : undefined,
    headers: plan.headers ? rawHeaders : undefined,
    language: page?.language,
  } satisfies Record<Exclude<keyof Extract<ParsedItem, { page: unknown }>, 'page'>, unknown>);
  const own = encodePageLine({ ...line, text: undefined }).trimEnd();
  return beside === '{}' ? `{"page":${own}}` : `{"page":${own},${beside.slice(1)}`;
}

export function dropItem(line: string): string {
  return `{"drop":${line.trimEnd()}}`;
}

/** Resolved as the engine does; what leads nowhere is left out. */
function linksOf(url: string, page: ParsedPage | undefined): readonly ItemLink[] {
  if (page === undefined) return [];
  const resolver = new LinkResolver(url, page.baseHref);
  return page.links.flatMap(({ href, kind, nofollow, text }) => {
    const target = resolver.resolve(href);
    return target === '' ? [] : [{ url: target, kind, nofollow, text }];
  });
}
