/** A program that takes pages and writes down the key of each before it asks for the next one. Arguments: configuration as JSON, file of keys. */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { type CrawlConfig, createCrawl } from '../../src/index.ts';

const [config = '{}', file = ''] = process.argv.slice(2);
const keys = openSync(file, 'a');
const crawl = createCrawl(JSON.parse(config) as CrawlConfig, { parts: ['body'], window: 50 });
for await (const page of crawl) {
  writeSync(keys, `${page.key} ${page.url} ${page.body?.length ?? 0}\n`);
  fsyncSync(keys);
}
closeSync(keys);
process.stdout.write(`${JSON.stringify(await crawl.run())}\n`);
