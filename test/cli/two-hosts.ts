/** A web of two hosts and a real crawl of it that stops on the way: what the tests of the asking verbs ask about. */
import assert from 'node:assert/strict';
import { capture, portolan } from '../support/process.ts';
import { page, startWebServer, type WebHost, type WebServer } from '../support/web-server.ts';

/** Text that is long enough to be compared. */
export const LONG = Array.from({ length: 120 }, (_, n) => `word${String.fromCharCode(97 + (n % 26), 97 + ((n * 7) % 26))}`).join(' ');

export interface TwoHosts {
  readonly web: WebServer;
  /** Flags of the crawl, for another one. */
  readonly flags: readonly string[];
}

/** `one.test` is as given; each page of `two.test` links to the same `linksOfTwo` pages. The crawl ends after 40 pages. */
export async function crawlTwoHosts(out: string, one: Pick<WebHost, 'robots' | 'page'>, linksOfTwo: number): Promise<TwoHosts> {
  const links = Array.from({ length: linksOfTwo }, (_, n) => `/p${n}`);
  const web = await startWebServer({
    hosts: [
      { name: 'one.test', address: '127.0.0.1', ...one },
      { name: 'two.test', address: '127.0.0.2', page: ({ path }) => page(path, links) },
    ],
  });
  const flags = [
    ...'--quiet --delay 10ms --delay-factor 0 --allow-net 127.0.0.0/8 --scope domain --threads 1 --max-pages 40'.split(' '),
    ...web.resolves().flatMap((pair) => ['--resolve', pair]),
  ];
  const { command, args } = portolan('crawl', `${web.origin('one.test')}/`, `${web.origin('two.test')}/`, '--out', out, ...flags);
  const end = await capture(command, args);
  assert.equal(end.code, 0, end.stderr);
  return { web, flags };
}
