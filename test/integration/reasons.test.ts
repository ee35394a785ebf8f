/**
 * Every reason and every outcome of the closed lists (src/core/reasons.ts) is reached by a crawl of real sockets. Two crawls meet everything;
 * the test names what was never seen, and what was seen although it is listed as out of reach.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DROP_REASONS, OUTCOME_NAMES, REJECT_REASONS } from '../../src/core/reasons.ts';
import { createCrawl } from '../../src/index.ts';
import { prose } from '../dedup/texts.ts';
import { page, redirect, startWebServer, unavailable, type WebReply } from '../support/web-server.ts';
import { configOf, crawl, readLedger, scratch, webFor } from './crawl.ts';

/** No name is resolved but those given: the name server is an address at which nobody answers. */
const NO_DNS = ['127.50.1.9:53'];

/** Outcomes that no crawl of this version can have, with the reason why. */
const OUT_OF_REACH: Readonly<Record<string, string>> = {
  'not-modified': 'no request is conditional, since nothing is fetched again',
};
const GATHERED = { rejected: new Set<string>(), dropped: new Set<string>(), outcomes: new Set<string>() };

const article = (visits: number): WebReply => page('article', ['/linked-from-a-copy'], `${prose(11, 300)} Visited ${visits} times.`);
const ODD: Readonly<Record<string, WebReply>> = {
  '/copy-1': article(1),
  '/copy-2': article(2),
  '/many': page(
    'many',
    Array.from({ length: 120 }, (_, at) => `tel:${at}`),
  ),
  '/nofollow': { body: '<a rel="nofollow" href="/never">x</a>' },
  '/moved': redirect('/landed'),
  '/moved-nowhere': { status: 302 },
  '/loop': redirect('/loop'),
  '/gone': { status: 410 },
  '/teapot': { status: 418 },
  '/broken': { status: 500 },
  '/film': { headers: { 'content-type': 'video/mp4' }, body: 'x' },
  '/damaged': {
    headers: { 'content-encoding': 'gzip' },
    body: Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
  },
  '/gopher': { fault: { kind: 'raw', bytes: 'GOPHER\r\n\r\n' } },
  '/silent': { fault: { kind: 'stall' } },
  '/reset': { fault: { kind: 'reset' } },
  '/cut': { fault: { kind: 'endless', piece: 'x'.repeat(10_000) } },
  '/busy': unavailable('0'),
};
const REFUSED = [
  'http://[broken/',
  'mailto:someone@example.org',
  `/${'long/'.repeat(3)}${'x'.repeat(1_000)}`,
  '/q?a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9',
  'http://elsewhere.example/',
  '/unwanted/page',
  '/excluded/page',
  '/blocked/page',
  '/deeper',
  '/again/again/again/again/again',
  '/calendar/2099/12',
  '/shop?color=red&size=xl&brand=acme&material=wool',
];

async function gather(t: { after: (fn: () => unknown) => void }, options: Omit<Parameters<typeof crawl>[0], 'out'>): Promise<void> {
  const out = join(scratch(t), 'out');
  const done = await crawl({ ...options, out });
  for (const reason of Object.keys(done.report.rejected)) GATHERED.rejected.add(reason);
  for (const row of done.rows) if (row.outcome === 'dropped') GATHERED.dropped.add(row.reason ?? '');
  for (const row of done.rows) if (row.outcome !== 'dropped') GATHERED.outcomes.add(row.outcome);
  for (const record of readLedger(out)) if (record.kind === 'end') GATHERED.outcomes.add(record.outcome);
  // A look-up is no exchange: what became of it is told when its host is given up.
  for (const text of done.notices) GATHERED.outcomes.add(/at last with ([a-z-]+)/.exec(text)?.[1] ?? '');
}

/** The command line has no filters: this one is of a program. */
async function filtered(dir: string): Promise<void> {
  writeFileSync(join(dir, 'hooks.mjs'), 'export const linkFilter = () => false;');
  const web = await startWebServer({ hosts: [{ address: '127.50.1.6', page: () => page('home', ['/never']) }] });
  const config = { ...configOf({}), seeds: [`${web.origin('127.50.1.6')}/`], output: { dir: join(dir, 'filtered') } };
  const { rejected } = await createCrawl(config, { hooks: join(dir, 'hooks.mjs') }).run();
  await web.close();
  for (const reason of Object.keys(rejected)) GATHERED.rejected.add(reason);
}

describe('reasons', () => {
  const cleanups: (() => unknown)[] = [];
  const t = { after: (fn: () => unknown) => void cleanups.push(fn) };

  before(async () => {
    const dir = scratch(t);
    writeFileSync(join(dir, 'blocked.txt'), '/\\/blocked\\//\nblocked.test\n');
    const web = await webFor(
      t,
      {
        name: 'narrow.test',
        address: '127.50.1.1',
        robots: 'User-agent: *\nDisallow: /closed\n',
        page: ({ path }) => {
          if (path === '/') return page('home', [...Object.keys(ODD), '/closed', '/chain/0', '/one', ...REFUSED]);
          if (path.startsWith('/chain/')) return redirect(`/chain/${Number(path.slice(7)) + 1}`);
          if (path === '/one') return page('one', ['/two']);
          return path === '/two' ? page('two', ['/too-deep']) : (ODD[path] ?? page(path));
        },
      },
      {
        name: 'full.test',
        address: '127.50.1.2',
        page: ({ path }) => page(path, path === '/' ? Array.from({ length: 30 }, (_, at) => `/${at}`) : []),
      },
      {
        name: 'wide.test',
        address: '127.50.1.3',
        page: ({ path, authority }) =>
          page(
            'wide',
            path === '/' ? [...[1, 2, 3].map((at) => `http://s${at}.farm.com:${authority.split(':')[1]}/`), 'http://10.0.0.1/'] : [],
          ),
      },
      { name: 'limited.test', address: '127.50.1.5', page: () => unavailable('0', 429) },
      { name: 'silent.test', address: '127.50.1.4', robots: { status: 500 }, page: () => page('silent') },
    );
    const port = web.port;
    const narrow = gather(t, {
      web,
      seeds: [`${web.origin('narrow.test')}/`, `${web.origin('limited.test')}/`],
      config: {
        scope: { include: ['^(?!.*/unwanted/)'], exclude: ['/excluded/'], maxDepth: 2 },
        politeness: { delay: 10, blocklist: join(dir, 'blocked.txt'), faultLimit: 40 },
        fetch: { maxBody: 50_000, maxLinks: 100, maxRedirects: 3, attempts: 2, retryDelay: 10, firstByteTimeout: 400 },
        dedup: { nearDuplicates: 'skip' },
        dns: { servers: NO_DNS },
      },
    });
    const wide = gather(t, {
      web,
      seeds: [
        ...[`${web.origin('full.test')}/`, `${web.origin('wide.test')}/`, `${web.origin('silent.test')}/`, `http://blocked.test:${port}/`],
        ...['http://10.0.0.1/', `http://dead.test:${port}/`, `https://plain.test:${port}/`, `http://nowhere.invalid:${port}/`],
      ],
      config: {
        scope: { mode: 'web', maxSubdomains: 2 },
        politeness: { delay: 10, blocklist: join(dir, 'blocked.txt'), faultLimit: 1, faultPause: 20, setAside: 50, setAsideLimit: 1 },
        frontier: { maxQueuedPerHost: 20, pageBudget: 8 },
        robots: { giveUp: 300, retryMin: 100, retryMax: 100 },
        dns: { resolve: ['dead.test:127.50.1.9', 'plain.test:127.50.1.1'], servers: NO_DNS, timeout: 300, negativeTtl: 50 },
      },
    });
    await Promise.all([narrow, wide, filtered(dir)]);
  });
  after(async () => {
    for (const clean of cleanups.reverse()) await clean();
  });

  test('every reason to reject a find is reached', () => {
    assert.deepEqual(
      REJECT_REASONS.filter((reason) => !GATHERED.rejected.has(reason)),
      [],
    );
    assert.deepEqual(
      [...GATHERED.rejected].filter((reason) => !(REJECT_REASONS as readonly string[]).includes(reason)),
      [],
    );
  });

  test('every reason to drop a URL is reached', () => {
    assert.deepEqual(
      DROP_REASONS.filter((reason) => !GATHERED.dropped.has(reason)),
      [],
    );
    assert.deepEqual(
      [...GATHERED.dropped].filter((reason) => !(DROP_REASONS as readonly string[]).includes(reason)),
      [],
    );
  });

  test('every outcome is reached, but for those that cannot be and say why', () => {
    assert.deepEqual(
      OUTCOME_NAMES.filter((outcome) => !GATHERED.outcomes.has(outcome)),
      Object.keys(OUT_OF_REACH),
    );
  });
});
