/** What may be crawled (rows A2, A3, C7, F1, F2, F3), seen from the server and from the reasons that the crawl gives. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { page, type WebHost } from '../support/web-server.ts';
import { crawl, scratch, webFor } from './crawl.ts';

const tree = (name: string, address: string, links: (request: { path: string; authority: string }) => readonly string[]): WebHost => ({
  name,
  address,
  page: (request) => page(`${name}${request.path}`, links(request)),
});
const QUICK = { politeness: { delay: 10 } };

describe('scope', () => {
  test('R-A3: host is the seed’s host, with and without www and in both schemes', async (t) => {
    const web = await webFor(
      t,
      tree('one.test', '127.44.1.1', ({ path, authority }) => {
        const port = authority.split(':')[1];
        return path === '/'
          ? ['/in', `http://www.one.test:${port}/w`, `http://sub.one.test:${port}/s`, `http://two.test:${port}/o`, `http://one.test:1/p`]
          : [];
      }),
      tree('www.one.test', '127.44.1.1', () => []),
    );
    const done = await crawl({ web, out: join(scratch(t), 'out'), seeds: [`${web.origin('one.test')}/`], config: QUICK });
    assert.deepEqual(done.rows.map((row) => row.url).sort(), [
      `${web.origin('one.test')}/`,
      `${web.origin('one.test')}/in`,
      `${web.origin('www.one.test')}/w`,
    ]);
    assert.deepEqual(done.report.rejected, { 'out-of-scope': 3 });
  });

  test('R-A3: domain takes sub-domains in, prefix stays below the seed’s last slash', async (t) => {
    const web = await webFor(
      t,
      tree('dom.example', '127.44.2.1', ({ path, authority }) =>
        path === '/' ? [`http://sub.dom.example:${authority.split(':')[1]}/s`, '/up'] : [],
      ),
      tree('sub.dom.example', '127.44.2.2', ({ authority }) => [`http://else.example:${authority.split(':')[1]}/`]),
      tree('pre.test', '127.44.2.3', ({ path }) =>
        path === '/docs/v1/index.html' ? ['page', '/docs/v1/a/b', '/docs/v2/', '/', '../v1'] : [],
      ),
    );
    const byDomain = await crawl({
      web,
      out: join(scratch(t), 'domain'),
      seeds: [`${web.origin('dom.example')}/`],
      config: QUICK,
      flags: ['--scope', 'domain'],
    });
    assert.deepEqual(byDomain.rows.map((row) => row.url).sort(), [
      `${web.origin('dom.example')}/`,
      `${web.origin('dom.example')}/up`,
      `${web.origin('sub.dom.example')}/s`,
    ]);
    const seed = `${web.origin('pre.test')}/docs/v1/index.html`;
    const byPrefix = await crawl({ web, out: join(scratch(t), 'prefix'), seeds: [seed], config: QUICK, flags: ['--scope', 'prefix'] });
    assert.deepEqual(
      byPrefix.rows.map((row) => row.url).sort(),
      [`${web.origin('pre.test')}/docs/v1/a/b`, seed, `${web.origin('pre.test')}/docs/v1/page`].sort(),
    );
    assert.deepEqual(byPrefix.report.rejected, { 'out-of-scope': 3 });
  });

  test('R-A3 R-F2: depth, include and exclude let through what they say, and count the rest', async (t) => {
    const web = await webFor(
      t,
      tree('deep.test', '127.44.3.1', ({ path }) =>
        path === '/' ? ['/d/1', '/keep/x', '/drop/y', '/keep/skip'] : /^\/d\/\d$/.test(path) ? [`/d/${Number(path.slice(3)) + 1}`] : [],
      ),
    );
    const origin = web.origin('deep.test');
    const deep = await crawl({ web, out: join(scratch(t), 'depth'), seeds: [`${origin}/`], config: QUICK, flags: ['--max-depth', '3'] });
    assert.deepEqual(
      deep.rows.filter((row) => row.url.includes('/d/')).map((row) => [row.url, row.depth]),
      [1, 2, 3].map((n) => [`${origin}/d/${n}`, n]),
    );
    assert.deepEqual(deep.report.rejected, { 'too-deep': 1 });
    const picked = await crawl({
      web,
      out: join(scratch(t), 'picked'),
      seeds: [`${origin}/`],
      config: QUICK,
      flags: ['--include', '/keep/', '--include', '/d/1$', '--exclude', 'skip$'],
    });
    // The seed matches no pattern and is fetched all the same.
    assert.deepEqual(picked.rows.map((row) => row.url).sort(), [`${origin}/`, `${origin}/d/1`, `${origin}/keep/x`]);
    assert.deepEqual(picked.report.rejected, { 'not-included': 2, excluded: 1 });
  });

  test('R-F1: spellings of one URL are fetched once', async (t) => {
    const web = await webFor(
      t,
      tree('same.test', '127.44.4.1', ({ path, authority }) =>
        path === '/'
          ? [
              '/a%7Eb',
              '/a~b',
              '/x/../a~b',
              '/a~b#part',
              '/a~b?utm_source=x',
              `http://SAME.test:${authority.split(':')[1]}/a~b`,
              `http://same.test.:${authority.split(':')[1]}/a~b`,
              '/q?b=2&a=1',
              '/q?a=1&b=2',
              '/q;jsessionid=0123456789ABCDEF0123456789ABCDEF?a=1&b=2',
            ]
          : [],
      ),
    );
    const done = await crawl({ web, out: join(scratch(t), 'out'), seeds: [`${web.origin('same.test')}/`], config: QUICK });
    assert.equal(done.report.pages, 3, done.rows.map((row) => row.url).join(' '));
    assert.equal(web.log.pages().length, 3);
  });

  test('R-C7: a line added to the blocklist takes effect before the next fetch', async (t) => {
    const dir = scratch(t);
    const file = join(dir, 'blocked.txt');
    writeFileSync(file, '# nothing yet\n');
    let blockedAt = 0;
    const web = await webFor(
      t,
      tree('listed.test', '127.44.5.1', ({ path }) => (path === '/' ? Array.from({ length: 200 }, (_, at) => `/${at}`) : [])),
      tree('free.test', '127.44.5.2', ({ path }) => (path === '/' ? Array.from({ length: 30 }, (_, at) => `/${at}`) : [])),
    );
    const done = await crawl({
      web,
      out: join(dir, 'out'),
      seeds: [`${web.origin('listed.test')}/`, `${web.origin('free.test')}/`],
      config: { politeness: { delay: 100 } },
      flags: ['--blocklist', file],
      onEvent: (event) => {
        if (blockedAt === 0 && web.log.count(`listed.test:${web.port}`, '/2') > 0) {
          blockedAt = Date.now();
          writeFileSync(file, 'listed.test\n/free\\.test:\\d+\\/2\\d$/\n');
        }
        if (event.event === 'notice' && String(event['text']).includes('in force')) blockedAt = Date.now();
      },
    });
    assert.ok(blockedAt > 0);
    const late = web.log.entries(`listed.test:${web.port}`).filter((entry) => entry.startMs > blockedAt + 250);
    assert.equal(late.length, 0, 'requests after the list was in force');
    const blocked = done.rows.filter((row) => row.reason === 'blocklisted');
    assert.ok(blocked.length > 100);
    assert.equal(blocked[0]?.detail, 'listed.test');
    assert.equal(web.log.count(`free.test:${web.port}`, '/29'), 0);
    assert.equal(web.log.count(`free.test:${web.port}`, '/19'), 1);
    assert.ok(done.notices.some((text) => text.includes('the blocklist has changed')));
  });

  test('R-C7: a list that cannot be read leaves the old one in force and says so', async (t) => {
    const dir = scratch(t);
    const file = join(dir, 'blocked.txt');
    writeFileSync(file, 'evil.test\n127.44.6.3\n');
    let spoiled = false;
    const web = await webFor(
      t,
      tree('mild.test', '127.44.6.1', ({ path, authority }) => {
        const at = Number(path.slice(1));
        return at < 25 ? [`/${at + 1}`, `http://evil.test:${authority.split(':')[1]}/${at}`] : [];
      }),
      tree('evil.test', '127.44.6.2', () => []),
      tree('housed.test', '127.44.6.3', () => []),
    );
    const done = await crawl({
      web,
      out: join(dir, 'out'),
      seeds: [`${web.origin('mild.test')}/0`, `${web.origin('housed.test')}/`],
      config: { scope: { mode: 'web' }, politeness: { delay: 150 } },
      flags: ['--blocklist', file],
      onEvent: () => {
        if (spoiled || web.log.pages().length < 2) return;
        spoiled = true;
        writeFileSync(file, '/(unclosed/\n');
      },
    });
    assert.ok(
      done.notices.some((text) => /blocked\.txt, line 1: .*the old blocklist stays in force/.test(text)),
      done.notices.join('; '),
    );
    assert.deepEqual(web.log.hosts(), [`mild.test:${web.port}`]);
    assert.equal(done.report.rejected['blocklisted'], 16, 'one for each page but the deepest, whose links are too deep');
    assert.equal(done.report.dropped['forbidden-address'] ?? done.report.dropped['blocklisted'], 1, 'the host on a blocked address');
  });

  test('R-F2: a page budget ends a host when it is spent, and the rest of its URLs say so', async (t) => {
    const web = await webFor(
      t,
      tree('big.test', '127.44.7.1', ({ path }) => (path === '/' ? Array.from({ length: 12 }, (_, at) => `/${at}`) : [])),
    );
    const done = await crawl({
      web,
      out: join(scratch(t), 'out'),
      seeds: [`${web.origin('big.test')}/`],
      config: { ...QUICK, frontier: { pageBudget: 5 } },
    });
    assert.equal(done.report.pages, 5);
    assert.deepEqual(done.report.dropped, { 'page-budget': 8 });
    assert.equal(web.log.pages().length, 5);
  });
});
