/**
 * Finds broken links of a site: every URL that did not answer well, with the pages that lead to it.
 *
 *   node examples/link-checker.ts http://localhost:8080/ crawl-dir
 */
import { type CrawledPage, createCrawl } from 'portolan';

const [site = '', dir = 'portolan-out'] = process.argv.slice(2);

const crawl = createCrawl(
  {
    seeds: [site],
    fetch: { accept: ['*/*'], maxBody: 1_000_000 },
    output: { dir, warc: false },
    net: { allow: ['127.0.0.0/8'] },
  },
  { parts: ['links'] },
);

const broken: CrawledPage[] = [];
/** The pages that link to a URL, by its text without fragment. A large site wants a database here. */
const linkedFrom = new Map<string, Set<string>>();

for await (const page of crawl) {
  if (page.class !== 'success' && page.outcome !== 'redirect') broken.push(page);
  for (const link of page.links ?? []) {
    const pages = linkedFrom.get(link.url) ?? new Set();
    linkedFrom.set(link.url, pages.add(page.url));
  }
}

for (const { url, outcome, status, detail } of broken) {
  console.log(`${url} ${outcome} ${status ?? ''} ${detail ?? ''}`.trimEnd());
  for (const from of linkedFrom.get(url) ?? []) console.log(`  linked from ${from}`);
}
process.exitCode = broken.length > 0 ? 1 : 0;
