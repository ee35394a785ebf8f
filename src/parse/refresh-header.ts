/**
 * The Refresh response header, which browsers obey like a meta refresh. It is read before any base element, so its URL is relative to the
 * page's own address. Not here: its delay, which is not judged either.
 */
import { LinkResolver } from '../url/index.ts';
import type { ParsedPage } from './page.ts';
import { refreshUrl } from './refresh.ts';

/** The page with the header's target as one more link; the same page when there is none. `url` is the page's address. */
export function withRefreshHeader(
  page: ParsedPage | undefined,
  url: string,
  header: string | undefined,
  maxLinks: number,
): ParsedPage | undefined {
  if (header === undefined || page === undefined) return page;
  const href = new LinkResolver(url).resolve(refreshUrl(header) ?? '');
  if (href === '' || href === url) return page;
  const linksFound = page.linksFound + 1;
  if (page.links.some((link) => link.href === href && !link.nofollow)) return { ...page, linksFound };
  if (page.links.length >= maxLinks) return { ...page, linksFound, linksOverBound: page.linksOverBound + 1 };
  return { ...page, linksFound, links: [...page.links, { href, kind: 'refresh', nofollow: false }] };
}
