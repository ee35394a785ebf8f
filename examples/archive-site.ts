/**
 * Archives a site: WARC files with everything that it answered, for pywb and other replay tools. Nobody takes the pages one by one, so `run()` is enough.
 * Run again it goes on where it ended, however it ended.
 *
 *   node examples/archive-site.ts http://localhost:8080/ crawl-dir
 */
import { createCrawl, PortolanError } from 'portolan';

const [site = '', dir = 'portolan-out'] = process.argv.slice(2);

const crawl = createCrawl({
  seeds: [site],
  agent: { contact: 'mailto:archive@example.org' },
  fetch: { accept: ['*/*'] },
  output: { dir, warcPrefix: 'my-site', pages: false },
  net: { allow: ['127.0.0.0/8'] },
});
crawl.on('progress', ({ pages, queued, constraint }) => console.error(`${pages} pages, ${queued} wait; ${constraint}`));

// Ctrl-C is the program's own business: the crawl ends in an orderly way and can go on later.
process.once('SIGINT', () => crawl.stop());

try {
  const { reason, pages, wireBytes, unaccounted } = await crawl.run();
  console.log(`${reason}: ${pages} pages, ${wireBytes} bytes, ${unaccounted} URLs unaccounted for; WARC files in ${dir}/warc`);
} catch (error) {
  if (!(error instanceof PortolanError)) throw error;
  console.error(`${error.code}: ${error.message}\n${error.remedy}`);
  process.exitCode = 1;
}
