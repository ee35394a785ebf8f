/** Ends of a run and what the next one makes of them (rows A2, L1–L3): limits, Ctrl-C, resuming, a finished crawl, other seeds, other rules. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { page, redirect, type WebHost, type WebRequest, type WebServer } from '../support/web-server.ts';
import { type CrawlOptions, crawl, recount, scratch, webFor } from './crawl.ts';

const PAGES = 10;
/** A chain of pages per host, each leading to the next two, so that the end of the crawl is never in sight at its start. */
function ring(name: string, address: string, more: Partial<WebHost> = {}): WebHost {
  return {
    name,
    address,
    page: ({ path }: WebRequest) => {
      const at = path === '/' ? 0 : Number(path.slice(1));
      return at < PAGES
        ? page(
            `${name} ${at}`,
            [at + 1, at + 2].filter((next) => next < PAGES).map((next) => `/${next}`),
          )
        : undefined;
    },
    ...more,
  };
}

const expected = (web: WebServer, names: readonly string[]): readonly string[] =>
  names.flatMap((name) => Array.from({ length: PAGES }, (_, at) => `${web.origin(name)}/${at === 0 ? '' : at}`));

function assertEachOnce(web: WebServer, names: readonly string[]): void {
  assert.deepEqual(web.log.missing(expected(web, names)), []);
  assert.deepEqual(web.log.extra(expected(web, names)), []);
  assert.deepEqual([...web.log.repeats().keys()], []);
}

const NAMES = ['limit1.test', 'limit2.test', 'limit3.test'];

test('R-L2: --max-pages is exact over several runs, whatever ends beside pages', async (t) => {
  const gone = ring('gone.test', '127.45.1.9', { page: () => undefined });
  const web = await webFor(t, ...NAMES.map((name, at) => ring(name, `127.45.1.${at + 1}`)), gone);
  const seeds = [...NAMES, 'gone.test'].map((name) => `${web.origin(name)}/`);
  const options = { web, out: join(scratch(t), 'out'), seeds, config: { politeness: { delay: 10 } } };
  for (const limit of [1, 8, 19]) {
    const done = await crawl({ ...options, flags: ['--max-pages', String(limit)] });
    assert.deepEqual([done.report.reason, done.report.pages], ['page-limit', limit]);
    assert.equal(done.rows.filter((row) => row.outcome === 'ok').length, limit);
    assert.equal(web.log.pages().filter((entry) => entry.status === 200).length, limit, 'pages that the server has sent');
  }
  const last = await crawl(options);
  assert.deepEqual([last.report.reason, last.report.pages, last.report.fetched], ['finished', 30, { ok: 30, 'not-found': 1 }]);
  assert.deepEqual(web.log.missing(expected(web, NAMES)), []);
  assert.deepEqual([...web.log.repeats().keys()], []);
});

test('R-L2: --max-time ends a run in order, and the same command goes on', async (t) => {
  const names = ['time1.test', 'time2.test'];
  const web = await webFor(t, ...names.map((name, at) => ring(name, `127.45.2.${at + 1}`)));
  const options = {
    web,
    out: join(scratch(t), 'out'),
    seeds: names.map((name) => `${web.origin(name)}/`),
    config: { politeness: { delay: 250 } },
  };
  const cut = await crawl({ ...options, flags: ['--max-time', '1s'] });
  assert.equal(cut.report.reason, 'time-limit');
  assert.ok(cut.report.queued > 0);
  const done = await crawl(options);
  assert.deepEqual([done.report.reason, done.report.queued], ['finished', 0]);
  assertEachOnce(web, names);
});

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`R-L2: ${signal} lets exchanges in flight end, and nothing is fetched twice`, async (t) => {
    const names = ['stop1.test', 'stop2.test', 'stop3.test'];
    const net = signal === 'SIGINT' ? 3 : 4;
    const web = await webFor(t, ...names.map((name, at) => ring(name, `127.45.${net}.${at + 1}`, { delayMs: 200 })));
    const options = {
      web,
      out: join(scratch(t), 'out'),
      seeds: names.map((name) => `${web.origin(name)}/`),
      config: { politeness: { delay: 10 } },
    };
    let signalled = false;
    const cut = await crawl({
      ...options,
      code: 130,
      onEvent: (_event, running) => {
        if (signalled || web.log.pages().length < 4) return;
        signalled = true;
        running.signal(signal);
      },
    });
    assert.equal(cut.report.reason, 'stopped');
    assert.equal(cut.events.at(-1)?.event, 'end');
    await web.idle();
    assert.ok(
      web.log.entries().every((entry) => entry.whole),
      'an exchange was broken off',
    );
    assert.equal(cut.rows.length, web.log.pages().length);
    const done = await crawl(options);
    assert.deepEqual(done.report.fetched, { ok: 30 });
    assertEachOnce(web, names);
  });
}

test('R-L1: Ctrl-C twice stops at once, and the crawl can still be finished', async (t) => {
  let stalls = true;
  const web = await webFor(t, ring('twice.test', '127.45.5.1'), {
    name: 'stalls.test',
    address: '127.45.5.2',
    page: () => (stalls ? { fault: { kind: 'stall' } } : page('moves again')),
  });
  const options = {
    web,
    out: join(scratch(t), 'out'),
    seeds: [`${web.origin('twice.test')}/`, `${web.origin('stalls.test')}/`],
    config: { fetch: { firstByteTimeout: 60_000, totalTimeout: 60_000 } },
  };
  let signals = 0;
  const cut = await crawl({
    ...options,
    code: 130,
    onEvent: (event, running) => {
      if (event.event !== 'progress' || web.log.pages(`twice.test:${web.port}`).length < 3 || signals > 0) return;
      signals++;
      running.signal('SIGINT');
      setTimeout(() => running.signal('SIGINT'), 500);
    },
  });
  assert.equal(cut.signal, null);
  stalls = false;
  const done = await crawl(options);
  assert.deepEqual([done.report.reason, done.report.fetched], ['finished', { ok: 11 }]);
  assert.equal(done.row(`${web.origin('stalls.test')}/`).title, 'moves again');
});

test('R-A2 R-L2: a finished crawl run again does nothing; new seeds are fetched and old ones are not', async (t) => {
  const web = await webFor(t, ring('first.test', '127.45.6.1'), ring('second.test', '127.45.6.2'));
  const options: CrawlOptions = {
    web,
    out: join(scratch(t), 'out'),
    seeds: [`${web.origin('first.test')}/`],
    config: { politeness: { delay: 10 } },
  };
  const once = await crawl(options);
  assert.equal(once.report.pages, PAGES);
  const requests = web.log.entries().length;
  const again = await crawl(options);
  assert.equal(again.report.reason, 'finished');
  assert.equal(web.log.entries().length, requests, 'requests of the second run');
  assert.deepEqual([again.report.found, again.report.admitted], [once.report.found, once.report.admitted], 'seeds are found once');

  const grown = await crawl({ ...options, seeds: [`${web.origin('first.test')}/`, `${web.origin('second.test')}/`] });
  assert.equal(grown.report.pages, 2 * PAGES);
  assertEachOnce(web, ['first.test', 'second.test']);
  assert.equal(grown.report.known, once.report.known + 8 + 1, 'the old seed counts as known');
});

test('R-L2: other rules than the stored ones are refused by name, and --force goes on with them', async (t) => {
  const web = await webFor(t, ring('rules.test', '127.45.7.1'));
  const options: CrawlOptions = {
    web,
    out: join(scratch(t), 'out'),
    seeds: [`${web.origin('rules.test')}/`],
    config: { politeness: { delay: 10 } },
  };
  await crawl({ ...options, flags: ['--max-pages', '2'] });
  const requests = web.log.entries().length;
  const refused = await crawl({ ...options, flags: ['--scope', 'domain', '--exclude', '/5$'], code: 3 });
  assert.match(refused.stderr, /PORTOLAN_STATE_MISMATCH.*scope was host, is domain.*exclude was "", is "\/5\$"/);
  assert.match(refused.stderr, /--force/);
  assert.equal(web.log.entries().length, requests);
  // Threads, memory and delays may change.
  const forced = await crawl({
    ...options,
    flags: ['--scope', 'domain', '--exclude', '/5$', '--force', '--threads', '1', '--delay', '20ms'],
  });
  assert.equal(forced.report.reason, 'finished');
  assert.equal(web.log.count(`rules.test:${web.port}`, '/5'), 0);
  assert.equal(forced.report.pages, PAGES - 1);
});

test('R-A3 R-L2: a host that joined the scope by a seed’s redirect is still in it after a restart', async (t) => {
  const web = await webFor(
    t,
    { name: 'alias.test', address: '127.45.9.1', page: ({ authority }) => redirect(`http://real.test:${authority.split(':')[1]}/`, 301) },
    ring('real.test', '127.45.9.2'),
  );
  const options: CrawlOptions = {
    web,
    out: join(scratch(t), 'out'),
    seeds: [`${web.origin('alias.test')}/`],
    config: { politeness: { delay: 10 } },
  };
  const cut = await crawl({ ...options, flags: ['--max-pages', '1'] });
  assert.equal(cut.row(`${web.origin('real.test')}/`).outcome, 'ok');
  const done = await crawl(options);
  assert.deepEqual([done.report.reason, done.report.fetched], ['finished', { ok: PAGES, redirect: 1 }]);
  assert.equal(done.report.rejected['out-of-scope'], undefined);
});

test('R-L3: counts, queues and debts of a stopped crawl can be read without running it', async (t) => {
  const web = await webFor(t, ring('read.test', '127.45.8.1'));
  const out = join(scratch(t), 'out');
  const cut = await crawl({ web, out, seeds: [`${web.origin('read.test')}/`], flags: ['--max-pages', '3'] });
  const counts = await recount(out);
  assert.deepEqual([counts.admitted, counts.queued, counts.fetched], [cut.report.admitted, cut.report.queued, { ok: 3 }]);
});
