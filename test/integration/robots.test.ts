/** robots.txt as servers meet it (rows D1–D5): when it is asked for, what each answer means, and how a refusal is told. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { registrableDomain, shardOf } from '../../src/url/index.ts';
import { page, redirect, unavailable, type WebHost, type WebReply, type WebServer } from '../support/web-server.ts';
import { type Crawl, crawl, endings, scratch, webFor } from './crawl.ts';

const SHARDS = 4;
const shard = (name: string): number => shardOf(registrableDomain(name), SHARDS);
/** A name that lies in the same shard as another, or in a different one. */
function nameBeside(other: string, where: 'same' | 'different'): string {
  for (let at = 0; ; at++)
    if ((shard(`robots-${where}-${at}.test`) === shard(other)) === (where === 'same')) return `robots-${where}-${at}.test`;
}
const rules = (body: string): WebReply => ({ headers: { 'content-type': 'text/plain' }, body });

describe('robots.txt', () => {
  const cleanups: (() => unknown)[] = [];
  const t = { after: (fn: () => unknown) => void cleanups.push(fn) };
  let web: WebServer;
  let done: Crawl;
  const SAME = nameBeside('borrows.test', 'same');
  const OTHER = nameBeside('lends.test', 'different');
  const NAMES: string[] = [];
  const host = (name: string): string => `${name}:${web.port}`;
  const url = (name: string, path: string): string => `http://${host(name)}${path}`;
  const outcome = (name: string, path: string): string => endings([done.row(url(name, path))])[url(name, path)] ?? '';

  /** Every host has /yes and /no and, where nothing else is said, answers both. */
  const site = (name: string, robots: WebHost['robots'], onPage: WebHost['page'] = () => page(name)): WebHost => {
    NAMES.push(name);
    return { name, address: `127.41.1.${NAMES.length}`, page: onPage, ...(robots === undefined ? {} : { robots }) };
  };
  const NO = 'User-agent: *\n\nDisallow: /no\n';

  before(async () => {
    web = await webFor(
      t,
      site('missing.test', undefined),
      site('forbids.test', { status: 403 }),
      site('empty.test', ''),
      site('nocontent.test', { status: 204 }),
      site('rules.test', NO),
      site('html.test', { body: '<!DOCTYPE html><title>not a robots.txt</title>' }),
      site('heals.test', (request) => (request.nth === 1 ? { status: 500, body: 'User-agent: *\nAllow: /' } : rules(NO))),
      site('limits.test', (request) => (request.nth === 1 ? unavailable(undefined, 429) : rules(NO))),
      site('resets.test', (request) => (request.nth === 1 ? { fault: { kind: 'reset' } } : rules(NO))),
      site('moves.test', redirect('/the-rules.txt', 301), (request) => (request.path === '/the-rules.txt' ? rules(NO) : page('moves'))),
      site('borrows.test', (request) => redirect(`http://${SAME}:${request.authority.split(':')[1]}/shared.txt`)),
      site(SAME, 'User-agent: *\nDisallow: /\n', (request) => (request.path === '/shared.txt' ? rules(NO) : page(SAME))),
      site('lends.test', (request) => redirect(`http://${OTHER}:${request.authority.split(':')[1]}/shared.txt`, 307)),
      site(OTHER, 'User-agent: *\nDisallow: /\n', (request) => (request.path === '/shared.txt' ? rules(NO) : page(OTHER))),
      site('five.test', redirect('/1'), (request) =>
        /^\/[1-4]$/.test(request.path) ? redirect(`/${Number(request.path[1]) + 1}`) : request.path === '/5' ? rules(NO) : page('five'),
      ),
      site('six.test', redirect('/1'), (request) =>
        /^\/[1-5]$/.test(request.path) ? redirect(`/${Number(request.path[1]) + 1}`) : request.path === '/6' ? rules(NO) : page('six'),
      ),
      site('loop.test', redirect('/robots.txt')),
      site('ping.test', (request) => redirect(`http://pong.test:${request.authority.split(':')[1]}/robots.txt`)),
      site('pong.test', (request) => redirect(`http://ping.test:${request.authority.split(':')[1]}/robots.txt`)),
      site('metadata.test', redirect('http://169.254.169.254/latest/meta-data/')),
      site('crowd.test', { ...rules(NO), delayMs: 150 }),
      site('named.test', 'User-agent: *\nDisallow: /\n\nUser-agent: portolantest\nDisallow: /no\n'),
      site('sleepy.test', 'User-agent: *\nCrawl-delay: 301\n'),
    );
    done = await crawl({
      web,
      out: join(scratch(t), 'out'),
      seeds: [
        ...NAMES.flatMap((name) => [url(name, '/yes'), url(name, '/no')]),
        ...Array.from({ length: 30 }, (_, at) => url('crowd.test', `/yes/${at}`)),
      ],
      config: { run: { shards: SHARDS }, politeness: { delay: 30 }, robots: { giveUp: '2s' } },
    });
  });
  after(async () => {
    for (const clean of cleanups.reverse()) await clean();
  });

  test('R-D1 R-D4: is asked for before anything else, once however many URLs wait, in a slot like any other fetch', () => {
    assert.equal(web.log.count(host('crowd.test'), '/robots.txt'), 1);
    assert.equal(done.rows.filter((row) => row.host === host('crowd.test') && row.outcome === 'ok').length, 31);
    for (const name of NAMES) {
      web.log.assertNoOverlap(host(name));
      const first = web.log.entries(host(name))[0]?.path;
      // A host may lend its rules to another before it is visited itself.
      assert.ok(first === '/robots.txt' || first === '/shared.txt', `first request to ${name}: ${first}`);
    }
    for (const name of ['missing.test', 'forbids.test', 'empty.test', 'rules.test', 'moves.test', 'five.test'])
      assert.equal(web.log.count(host(name), '/robots.txt'), 1, name);
  });

  test('R-D2: 4xx, an empty file and a page without rules allow everything', () => {
    for (const name of ['missing.test', 'forbids.test', 'empty.test', 'nocontent.test', 'html.test']) {
      assert.deepEqual([outcome(name, '/yes'), outcome(name, '/no')], ['ok', 'ok'], name);
    }
  });

  test('R-D2: 5xx, 429 and a broken connection allow nothing until it answers', () => {
    for (const name of ['heals.test', 'limits.test', 'resets.test']) {
      assert.deepEqual([outcome(name, '/yes'), outcome(name, '/no')], ['ok', 'robots-disallowed'], name);
      assert.deepEqual(
        web.log.entries(host(name)).map((entry) => entry.path),
        ['/robots.txt', '/robots.txt', '/yes'],
        name,
      );
    }
  });

  test('R-D1: a refusal is a fate that names line and rule, and the path is never requested', () => {
    const row = done.row(url('rules.test', '/no'));
    assert.deepEqual([row.outcome, row.reason, row.detail], ['dropped', 'robots-disallowed', 'line 3: Disallow: /no']);
    assert.equal(web.log.count(host('rules.test'), '/no'), 0);
    assert.equal(outcome('named.test', '/yes'), 'ok', 'the group of the product token stands in for *');
    assert.equal(outcome('named.test', '/no'), 'robots-disallowed');
  });

  test('R-A6 R-D1: rules behind a redirect belong to the host first asked, in the same shard and in another', () => {
    assert.equal(shard('borrows.test'), shard(SAME));
    assert.notEqual(shard('lends.test'), shard(OTHER));
    for (const [borrower, lender] of [
      ['moves.test', undefined],
      ['borrows.test', SAME],
      ['lends.test', OTHER],
    ] as const) {
      assert.deepEqual([outcome(borrower, '/yes'), outcome(borrower, '/no')], ['ok', 'robots-disallowed'], borrower);
      if (lender === undefined) continue;
      assert.equal(web.log.count(host(lender), '/shared.txt'), 1);
      assert.deepEqual([outcome(lender, '/yes'), outcome(lender, '/no')], ['robots-disallowed', 'robots-disallowed'], lender);
      web.log.assertGap(host(lender), 30);
    }
  });

  test('R-A6 R-D2: five redirects are followed, a sixth is not, and endless ones allow everything', () => {
    assert.deepEqual([outcome('five.test', '/yes'), outcome('five.test', '/no')], ['ok', 'robots-disallowed']);
    assert.deepEqual([outcome('six.test', '/yes'), outcome('six.test', '/no')], ['ok', 'ok']);
    assert.deepEqual([web.log.count(host('six.test'), '/5'), web.log.count(host('six.test'), '/6')], [1, 0]);
    assert.equal(web.log.count(host('loop.test'), '/robots.txt'), 6);
    for (const name of ['loop.test', 'ping.test', 'pong.test'])
      assert.deepEqual([outcome(name, '/yes'), outcome(name, '/no')], ['ok', 'ok'], name);
  });

  test('R-E3: robots.txt does not lead to an address that is forbidden', () => {
    assert.equal(outcome('metadata.test', '/yes'), 'robots-unreachable');
    assert.ok(done.rows.every((row) => row.address !== '169.254.169.254'));
  });

  test('R-C1: a Crawl-delay over five minutes sets the host apart: the crawl ends and its URLs stay queued', () => {
    assert.equal(done.report.reason, 'finished');
    assert.equal(done.report.hostsApart, 1);
    assert.equal(done.report.queued, 2);
    assert.deepEqual(
      web.log.entries(host('sleepy.test')).map((entry) => entry.path),
      ['/robots.txt'],
    );
    assert.ok(done.notices.some((text) => text.includes('sleepy.test') && text.includes('Crawl-delay of 301 s')));
  });
});

test('R-D2: a robots.txt that fails for too long ends its host, and each URL says so', async (t) => {
  const web = await webFor(t, { name: 'down.test', address: '127.41.2.1', robots: { status: 500 }, page: () => page('down') });
  const origin = web.origin('down.test');
  const done = await crawl({
    web,
    out: join(scratch(t), 'out'),
    seeds: [`${origin}/a`, `${origin}/b`],
    config: { robots: { giveUp: 900, retryMin: 200, retryMax: 300 } },
  });
  assert.deepEqual(endings(done.rows), { [`${origin}/a`]: 'robots-unreachable', [`${origin}/b`]: 'robots-unreachable' });
  assert.deepEqual(done.report.dropped, { 'robots-unreachable': 2 });
  assert.equal(web.log.pages().length, 0);
  assert.ok(web.log.entries().length >= 3, 'it was asked again with pauses');
  web.log.assertGap(`down.test:${web.port}`, 150);
});

test('R-D2: the last good copy stays in force while robots.txt fails', async (t) => {
  const web = await webFor(t, {
    name: 'lapse.test',
    address: '127.41.3.1',
    robots: (request) => (request.nth === 1 ? rules('User-agent: *\nDisallow: /no\n') : { status: 500, body: 'Disallow:' }),
    page: (request) => page(request.path, request.path === '/' ? ['/1', '/2', '/no/1', '/3', '/4', '/no/2'] : []),
  });
  const origin = web.origin('lapse.test');
  const done = await crawl({
    web,
    out: join(scratch(t), 'out'),
    seeds: [`${origin}/`],
    config: { robots: { ttl: 1_000, retryMin: 300, retryMax: 300 }, politeness: { delay: 400 } },
  });
  assert.ok(web.log.count(`lapse.test:${web.port}`, '/robots.txt') > 1, 'the copy ran out and was asked for again');
  for (const path of ['/', '/1', '/2', '/3', '/4']) assert.equal(done.row(origin + path).outcome, 'ok', path);
  for (const path of ['/no/1', '/no/2']) assert.equal(done.row(origin + path).reason, 'robots-disallowed', path);
  assert.equal(web.log.pages().filter((entry) => entry.path.startsWith('/no')).length, 0);
});

test('R-D2: a host whose pause is longer than its robots.txt is good for gets its pages all the same', async (t) => {
  const web = await webFor(t, {
    name: 'brief.test',
    address: '127.41.3.2',
    robots: (request) => (request.nth === 1 ? rules('User-agent: *\nDisallow: /no\n') : { status: 500, body: '' }),
    page: (request) => page(request.path, request.path === '/' ? ['/1', '/2', '/no/1'] : []),
  });
  const origin = web.origin('brief.test');
  const done = await crawl({
    web,
    out: join(scratch(t), 'out'),
    seeds: [`${origin}/`],
    config: { robots: { ttl: 1_000, retryMin: 100, retryMax: 100 }, politeness: { delay: 1_200 } },
  });
  for (const path of ['/', '/1', '/2']) assert.equal(done.row(origin + path).outcome, 'ok', path);
  assert.equal(done.row(`${origin}/no/1`).reason, 'robots-disallowed');
});

test('R-D5: nofollow of a link, of a page and of a header keep links from being followed, and count as such', async (t) => {
  const link = '<a href="/secret">x</a>';
  const replies: Readonly<Record<string, WebReply>> = {
    '/': page('home', ['/meta', '/token', '/other', '/header', '/header-token', '/header-other', '/rel', '/none']),
    '/meta': { body: `<meta name="robots" content="noindex, nofollow">${link}` },
    '/token': { body: `<meta name="PortolanTest" content="nofollow">${link}` },
    '/other': { body: '<meta name="otherbot" content="nofollow"><a href="/followed-1">x</a>' },
    '/header': { headers: { 'x-robots-tag': 'nofollow' }, body: link },
    '/header-token': { headers: { 'x-robots-tag': 'portolantest: nofollow' }, body: link },
    '/header-other': { headers: { 'x-robots-tag': 'otherbot: nofollow' }, body: '<a href="/followed-2">x</a>' },
    '/rel': { body: '<a rel="ugc nofollow" href="/secret">x</a><a rel="ugc" href="/followed-3">y</a>' },
    '/none': { body: `<meta name="robots" content="none">${link}` },
  };
  const web = await webFor(t, {
    name: 'tags.test',
    address: '127.41.4.1',
    page: (request) => replies[request.path] ?? (request.path.startsWith('/followed') ? page('followed') : undefined),
  });
  const origin = web.origin('tags.test');
  const done = await crawl({ web, out: join(scratch(t), 'out'), seeds: [`${origin}/`], config: { politeness: { delay: 20 } } });
  assert.equal(web.log.count(`tags.test:${web.port}`, '/secret'), 0);
  for (const path of ['/meta', '/token', '/header', '/header-token', '/rel', '/none']) {
    assert.equal(done.row(origin + path).links?.rejected['nofollow'], 1, path);
  }
  for (const at of [1, 2, 3]) assert.equal(done.row(`${origin}/followed-${at}`).outcome, 'ok');
  assert.deepEqual(done.row(`${origin}/meta`).robots, ['noindex', 'nofollow']);
  assert.deepEqual(done.report.rejected, { nofollow: 6 });
});
