/** Redirects (row A6): an outcome whose target is a find like any other, judged by scope, robots.txt and address before it is asked for. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { registrableDomain, shardOf } from '../../src/url/index.ts';
import { page, redirect, redirectUntilCookie, type WebServer } from '../support/web-server.ts';
import { type Crawl, crawl, scratch, webFor } from './crawl.ts';

const SHARDS = 4;
const shard = (name: string): number => shardOf(registrableDomain(name), SHARDS);
function nameIn(wanted: number): string {
  for (let at = 0; ; at++) if (shard(`target-${at}.test`) === wanted) return `target-${at}.test`;
}

describe('redirects', () => {
  const cleanups: (() => unknown)[] = [];
  const t = { after: (fn: () => unknown) => void cleanups.push(fn) };
  let web: WebServer;
  let done: Crawl;
  const ELSEWHERE = nameIn((shard('r.test') + 1) % SHARDS);
  const url = (path: string, name = 'r.test'): string => `http://${name}:${web.port}${path}`;
  const count = (path: string, name = 'r.test'): number => web.log.count(`${name}:${web.port}`, path);
  const STATUSES = [301, 302, 303, 307, 308];

  before(async () => {
    const pages: Readonly<Record<string, (request: { path: string; authority: string }) => ReturnType<typeof redirect>>> = {
      '/docs/ref/old': () => redirect('./new'),
      '/docs/ref/new': () => page('new', ['leaf']),
      '/docs/ref/leaf': () => page('leaf'),
      '/docs/ref/q': () => redirect('?v=2'),
      '/docs/ref/q?v=2': () => page('q'),
      '/a': () => redirect('/b'),
      '/b': () => redirect('/a'),
      '/self': () => redirect('/self'),
      '/utf8': () => redirect(Buffer.from('/n/خبر', 'utf8').toString('latin1'), 301),
      '/n/%D8%AE%D8%A8%D8%B1': () => page('news'),
      '/odd': () => ({ status: 302, body: '<a href="/linked">here</a>' }),
      '/nowhere': () => redirect('http://[broken'),
      '/mail': () => redirect('mailto:someone@example.org'),
      '/out': () => redirect('http://elsewhere.example/page'),
      '/metadata': () => redirect('http://169.254.169.254/latest/meta-data/'),
      '/mapped': () => redirect('http://[::ffff:169.254.169.254]/'),
      '/tracked': () => redirect('/landing?utm_source=x'),
      '/landing': () => page('landing'),
      '/landing?utm_source=x': () => page('landing'),
      '/forbidden': () => redirect('/private/page'),
      '/cross': ({ authority }) => redirect(`http://${ELSEWHERE}:${authority.split(':')[1]}/arrived`),
      '/cross-forbidden': ({ authority }) => redirect(`http://${ELSEWHERE}:${authority.split(':')[1]}/private/x`),
      '/s?b=2&a=1': () => redirect('/s?a=1&b=2'),
      '/s?a=1&b=2': () => page('sorted'),
      '/set': () => ({ status: 302, headers: { location: '/gate', 'set-cookie': 'pass=1; Path=/; HttpOnly' } }),
      '/twice': () => redirect('/once'),
      '/once': () => redirect('/docs/ref/leaf'),
    };
    const unlinked = /^\/(docs|n\/|b$|set|landing|s\?a)/;
    const linked = ['/docs/ref/old', '/docs/ref/q', '/linked-from-home', '/cookie', '/gate', '/chain/0', '/login'];
    linked.push(...STATUSES.map((status) => `/${status}`), ...Object.keys(pages).filter((path) => !unlinked.test(path)));
    web = await webFor(
      t,
      {
        name: 'r.test',
        address: '127.42.1.1',
        robots: 'User-agent: *\nDisallow: /private/\n',
        page: (request) => {
          if (request.path === '/') return page('home', linked);
          if (request.path === '/gate')
            return request.headers.cookie?.includes('pass=1') === true ? page('behind the gate') : redirect('/set');
          if (request.path === '/linked-from-home') return page('linked');
          if (request.path === '/cookie') return redirectUntilCookie(request, page('inside'));
          const hop = /^\/chain\/(\d+)$/.exec(request.path)?.[1];
          if (hop !== undefined) return Number(hop) < 40 ? redirect(`/chain/${Number(hop) + 1}`) : page('never');
          if (request.path.startsWith('/login')) return redirect(`/login?redirect=${encodeURIComponent(request.path)}`);
          const status = /^\/(30[12378])$/.exec(request.path)?.[1];
          if (status !== undefined) return redirect(`/t${status}`, Number(status));
          if (/^\/t30\d$/.test(request.path)) return page(request.path);
          return pages[request.path]?.(request);
        },
      },
      { name: ELSEWHERE, address: '127.42.1.2', robots: 'User-agent: *\nDisallow: /private/\n', page: (request) => page(request.path) },
      {
        name: 'apex.test',
        address: '127.42.1.3',
        page: (request) => redirect(`http://www.apex.test:${request.authority.split(':')[1]}${request.path}`, 301),
      },
      {
        name: 'www.apex.test',
        address: '127.42.1.3',
        robots: 'User-agent: *\nDisallow: /no\n',
        page: (request) =>
          page(
            'www',
            request.path === '/'
              ? [
                  '/a',
                  `http://apex.test:${request.authority.split(':')[1]}/b`,
                  '/no',
                  `http://blog.apex.test:${request.authority.split(':')[1]}/`,
                ]
              : [],
          ),
      },
      {
        name: 'old.test',
        address: '127.42.1.4',
        page: (request) => redirect(`http://moved.test:${request.authority.split(':')[1]}/new-home`, 308),
      },
      { name: 'moved.test', address: '127.42.1.5', page: (request) => page('moved', request.path === '/new-home' ? ['/inner'] : []) },
      { name: 'blog.apex.test', address: '127.42.1.6', page: () => page('blog') },
    );
    done = await crawl({
      web,
      out: join(scratch(t), 'out'),
      seeds: [url('/'), url('/', 'apex.test'), url('/', 'old.test'), url('/seeded', ELSEWHERE)],
      config: { run: { shards: SHARDS }, politeness: { delay: 15 } },
    });
  });
  after(async () => {
    for (const clean of cleanups.reverse()) await clean();
  });

  test('R-A6: a relative Location is resolved against the URL that was asked, and so are the links behind it', () => {
    assert.equal(done.row(url('/docs/ref/old')).redirectTo, url('/docs/ref/new'));
    for (const path of ['/docs/ref/new', '/docs/ref/leaf', '/docs/ref/q?v=2']) assert.equal(done.row(url(path)).outcome, 'ok', path);
    assert.deepEqual([count('/new'), count('/leaf')], [0, 0]);
  });

  test('R-A6: 301, 302, 303, 307 and 308 are followed, each as an outcome and a find of its own', () => {
    for (const status of STATUSES) {
      const from = done.row(url(`/${status}`));
      assert.deepEqual([from.outcome, from.status, from.redirectTo], ['redirect', status, url(`/t${status}`)]);
      const to = done.row(url(`/t${status}`));
      assert.deepEqual([to.outcome, to.kind, to.via, to.depth], ['ok', 'redirect', url(`/${status}`), from.depth]);
    }
  });

  test('R-A6: bytes of a Location that are not ASCII are escaped as they came', () => {
    assert.equal(done.row(url('/n/%D8%AE%D8%A8%D8%B1')).outcome, 'ok');
  });

  test('R-A6: a redirect that leads nowhere is an outcome, and its host goes on', () => {
    for (const path of ['/odd', '/nowhere', '/mail']) assert.equal(done.row(url(path)).outcome, 'bad-redirect', path);
    assert.equal(count('/linked-from-home'), 1);
  });

  test('R-A6 R-F2: a chain ends at ten hops', () => {
    assert.deepEqual([count('/chain/10'), count('/chain/11')], [1, 0]);
    assert.equal(done.row(url('/chain/9')).outcome, 'redirect');
    assert.equal(done.row(url('/chain/10')).outcome, 'too-many-redirects');
    assert.equal(web.log.entries().filter((entry) => entry.path.startsWith('/login')).length, 11);
  });

  test('R-A6: a chain that comes back to itself is a loop', () => {
    assert.equal(done.row(url('/self')).outcome, 'redirect-loop');
    assert.equal(count('/self'), 1);
    assert.deepEqual([count('/a'), count('/b')], [1, 1]);
    assert.deepEqual([done.row(url('/a')).outcome, done.row(url('/b')).outcome], ['redirect', 'redirect-loop']);
  });

  test('R-A6: the seen filter does not end a chain that sets a cookie or puts its query in order', () => {
    assert.equal(done.row(url('/cookie')).title, 'inside');
    assert.equal(count('/cookie'), 2);
    assert.deepEqual([count('/gate'), count('/set')], [2, 1]);
    assert.deepEqual(
      done.rows.filter((row) => row.url === url('/gate')).map((row) => row.title ?? row.outcome),
      ['redirect', 'behind the gate'],
    );
    assert.equal(done.rows.filter((row) => row.title === 'sorted').length, 1);
    assert.deepEqual([count('/s?b=2&a=1'), count('/s?a=1&b=2')], [1, 1]);
  });

  test('R-A6: targets that are known already are not fetched again', () => {
    assert.deepEqual([count('/docs/ref/leaf'), count('/once')], [1, 1]);
    assert.equal(done.row(url('/twice')).outcome, 'redirect');
  });

  test('R-A6 R-M1: a redirect crosses to the shard of its host', () => {
    assert.notEqual(shard('r.test'), shard(ELSEWHERE));
    assert.deepEqual([done.row(url('/arrived', ELSEWHERE)).outcome, done.row(url('/arrived', ELSEWHERE)).via], ['ok', url('/cross')]);
  });

  test('R-A3 R-A6: a seed’s redirect to www or to another host joins the scope; that of a link does not', () => {
    for (const path of ['/', '/a']) assert.equal(done.row(url(path, 'www.apex.test')).outcome, 'ok', path);
    assert.equal(done.row(url('/b', 'www.apex.test')).via, url('/b', 'apex.test'));
    assert.equal(done.row(url('/no', 'www.apex.test')).reason, 'robots-disallowed');
    assert.equal(web.log.entries(`blog.apex.test:${web.port}`).length, 0);
    for (const path of ['/new-home', '/inner']) assert.equal(done.row(url(path, 'moved.test')).outcome, 'ok', path);
    assert.equal(done.row(url('/out')).links?.rejected['out-of-scope'], 1);
  });

  test('R-E3 R-A6: a redirect to an address that is forbidden is not contacted', () => {
    for (const path of ['/metadata', '/mapped']) assert.equal(done.row(url(path)).outcome, 'redirect', path);
    assert.ok(!done.rows.some((row) => row.url.includes('169.254') || row.url.includes('ffff')));
  });

  test('R-D1 R-A6: robots.txt holds for the target of a redirect, on its own host and on another', () => {
    assert.equal(done.row(url('/private/page')).reason, 'robots-disallowed');
    assert.equal(done.row(url('/private/x', ELSEWHERE)).reason, 'robots-disallowed');
    assert.equal(count('/private/page') + count('/private/x', ELSEWHERE), 0);
  });

  test('R-C1: hops wait their turn in the queue of their host', () => {
    for (const name of ['r.test', ELSEWHERE, 'www.apex.test', 'apex.test', 'moved.test']) web.log.assertGap(`${name}:${web.port}`, 15);
    web.log.assertRobotsFirst();
  });
});

test('R-E3: a seed that redirects to the address of cloud metadata says why it ends', async (t) => {
  const web = await webFor(t, {
    name: 'lure.test',
    address: '127.42.2.1',
    page: () => redirect('http://169.254.169.254/latest/meta-data/'),
  });
  const done = await crawl({ web, out: join(scratch(t), 'out'), seeds: [`${web.origin('lure.test')}/`] });
  assert.equal(done.row(`${web.origin('lure.test')}/`).links?.rejected['forbidden-address'], 1);
  assert.deepEqual(done.report.rejected, { 'forbidden-address': 1 });
  assert.equal(done.report.requests, 2);
});
