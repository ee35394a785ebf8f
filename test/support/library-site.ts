/** A small site on loopback, and the configuration with which a test crawls it through the library: quick, and allowed to contact loopback. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ConfigInput } from '../../src/config/schema.ts';
import type { Crawl } from '../../src/library/crawl.ts';
import type { CrawledPage } from '../../src/library/page.ts';
import type { CrawlCounts } from '../../src/library/result.ts';
import { page, startWebServer, type WebReply, type WebServer } from './web-server.ts';

export interface Site {
  readonly web: WebServer;
  readonly origin: string;
  readonly dir: string;
  config(more?: ConfigInput): ConfigInput;
}

/** `/` leads to /1 … /n, and `more` answers before that. The server and the directory go with the test. */
export async function site(
  t: Pick<TestContext, 'after'>,
  n: number,
  more: (path: string) => WebReply | undefined = () => undefined,
): Promise<Site> {
  const links = Array.from({ length: n }, (_, at) => `/${at + 1}`);
  const web = await startWebServer({
    hosts: [
      {
        address: '127.0.0.1',
        robots: 'User-agent: *\nDisallow: /forbidden',
        page: ({ path }) =>
          more(path) ??
          (path === '/' ? page('home', [...links, '/forbidden']) : links.includes(path) ? page(`page ${path}`, ['/']) : undefined),
      },
    ],
  });
  const dir = mkdtempSync(join(tmpdir(), 'portolan-library-'));
  t.after(async () => {
    await web.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  });
  const origin = web.origin('127.0.0.1');
  return {
    web,
    origin,
    dir,
    config: (input = {}) => ({
      ...input,
      seeds: input.seeds ?? [`${origin}/`],
      politeness: { delay: 1, delayFactor: 0, addressDelay: 0, ...input.politeness },
      net: { allow: ['127.0.0.0/8'] },
      output: { dir: join(dir, 'crawl'), warc: false, pages: false, ...input.output },
      run: { threads: 2, shards: 2, memory: '32MiB', commitInterval: 50, ...input.run },
    }),
  };
}

/** Everything that a crawl hands over. */
export async function pagesOf(crawl: Crawl): Promise<CrawledPage[]> {
  const pages: CrawledPage[] = [];
  for await (const one of crawl) pages.push(one);
  return pages;
}

/** By how much the two laws are off; both 0. */
export function gapsOf(counts: CrawlCounts): readonly [finds: number, urls: number] {
  const sum = (by: Readonly<Record<string, number>>): number => Object.values(by).reduce((a, b) => a + b, 0);
  const { found, known, rejected, admitted, inTransit, queued, fetched, dropped } = counts;
  return [found - known - sum(rejected) - admitted - inTransit, admitted - queued - sum(fetched) - sum(dropped)];
}

export function repeats(pages: readonly { readonly key: string }[]): number {
  return pages.length - new Set(pages.map(({ key }) => key)).size;
}
