/** One page read as the crawl path reads it: media type, charset, links resolved, and the page's own rules applied to them. */
import { createHandlers } from '../../src/parse/handlers.ts';
import { mediaTypeOf } from '../../src/parse/media-type.ts';
import type { ParsedPage } from '../../src/parse/page.ts';
import { withRefreshHeader } from '../../src/parse/refresh-header.ts';
import { parseRobotsTags } from '../../src/robots/page-rules.ts';
import { LinkResolver } from '../../src/url/index.ts';

export type Headers = readonly (readonly [string, string])[];

export interface ReadPage {
  readonly mediaType: string;
  /** undefined when the media type has no reader. */
  readonly page: ParsedPage | undefined;
  /** Every link that resolves, followed or not, once each. */
  readonly found: readonly string[];
  /** Those the crawl would follow. */
  readonly followed: readonly string[];
}

export const PRODUCT_TOKEN = 'ExampleBot';
const LINKS_MAX = 6_000;
const handlers = createHandlers();

export function headerOf(headers: Headers, name: string): string | undefined {
  return headers.find(([one]) => one.toLowerCase() === name)?.[1];
}

export function readPage(url: string, headers: Headers, bytes: Uint8Array, token = PRODUCT_TOKEN): ReadPage {
  const contentType = headerOf(headers, 'content-type');
  const mediaType = mediaTypeOf(contentType, bytes.subarray(0, 512)).type;
  const parsed = handlers.find(mediaType)?.handle({
    bytes,
    contentTypeHeader: contentType,
    mediaType,
    options: { maxLinks: LINKS_MAX, text: 'both', robotsNames: ['robots', token.toLowerCase()] },
  });
  const page = withRefreshHeader(parsed, url, headerOf(headers, 'refresh'), LINKS_MAX);
  const tagHeaders = headers.filter(([name]) => name.toLowerCase() === 'x-robots-tag').map(([, value]) => value);
  const tags = parseRobotsTags([...tagHeaders, ...(page?.metaRobots ?? []).map((meta) => meta.content)], token);
  const resolver = new LinkResolver(url, page?.baseHref);
  const links = (page?.links ?? []).map(({ href, nofollow }) => ({ url: resolver.resolve(href), nofollow }));
  const good = links.filter((link) => link.url !== '');
  const followed = tags.nofollow ? [] : good.filter((link) => !link.nofollow);
  return { mediaType, page, found: distinct(good), followed: distinct(followed) };
}

function distinct(links: readonly { readonly url: string }[]): readonly string[] {
  return [...new Set(links.map((link) => link.url))];
}
