/**
 * Crawls a JSON API: a handler of one's own finds the links and the text, and a filter keeps the crawl out of one part. Both are in a module of their
 * own, examples/json-hooks.ts, since the crawl runs in threads and functions cannot be handed to them.
 *
 *   node examples/json-handler.ts http://localhost:8080/api crawl-dir
 */
import { createCrawl } from 'portolan';

const [api = '', dir = 'portolan-out'] = process.argv.slice(2);

const crawl = createCrawl(
  {
    seeds: [api],
    fetch: { accept: ['application/json'] },
    output: { dir },
    net: { allow: ['127.0.0.0/8'] },
  },
  { parts: ['body'], hooks: new URL('./json-hooks.ts', import.meta.url) },
);
crawl.on('notice', (text) => console.error(text));

for await (const page of crawl) {
  if (page.body === undefined) continue;
  const value = JSON.parse(new TextDecoder().decode(page.body)) as object;
  console.log(page.url, page.title, Object.keys(value).join(','));
}
const { rejected } = await crawl.run();
console.log('filtered:', rejected['filtered'] ?? 0);
