/**
 * Crawls a small site into an array. The loop is all there is: it begins the crawl, waits for it where it is slower, and closes it at its end.
 *
 *   node examples/pages-to-array.ts http://localhost:8080/ crawl-dir
 */
import { type CrawledPage, createCrawl } from 'portolan';

const [site = '', dir = 'portolan-out'] = process.argv.slice(2);

const crawl = createCrawl(
  {
    seeds: [site],
    limits: { maxPages: 500 },
    // Nothing is kept on disk but the state of the crawl.
    output: { dir, warc: false, pages: false },
    // A site of this machine; crawls of others need no such line.
    net: { allow: ['127.0.0.0/8'] },
  },
  { parts: ['text'] },
);

const pages: CrawledPage[] = [];
for await (const page of crawl) pages.push(page);

for (const { status, url, title, text } of pages) console.log(status ?? '-', url, title ?? '', `${text?.length ?? 0} characters`);
