/** The page row of a URL as it is now, found by its key; undefined when it is not fetched (yet). Holds no snapshot of a running crawl. */
import type { PageRow } from '../core/records.ts';
import type { CrawlDir } from './crawl-dir.ts';
import { nameUrl } from './explain-verdict.ts';

export function pageOf(crawl: CrawlDir, url: string): PageRow | undefined {
  const named = nameUrl(url);
  if ('reason' in named) return undefined;
  const reader = crawl.reader(crawl.shardOfHost(named.parts.host));
  reader?.release();
  const host = reader?.host(named.parts.hostKey);
  return host && reader?.page(host.id, named.keyHi, named.keyLo);
}
