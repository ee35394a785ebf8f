/** What a server sees of politeness (rows B5, B6, C1–C5, C8, D4). Pauses are held against lower bounds only: a busy machine is merely politer. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDnsServer } from '../support/dns-server.ts';
import { page, unavailable, type WebHost, type WebServer } from '../support/web-server.ts';
import { type Crawl, crawl, endings, readLedger, scratch, startsOf, webFor } from './crawl.ts';
import { HAS_OPENSSL, makeCertificate, startSecureWeb } from './secure-web.ts';

const numbered = (count: number, from = 1): readonly string[] => Array.from({ length: count }, (_, at) => `/${at + from}`);

/** Ten unlike hosts in one crawl: each shows one rule, and none may disturb another. */
describe('gaps of a host', () => {
  const cleanups: (() => unknown)[] = [];
  const t = { after: (fn: () => unknown) => void cleanups.push(fn) };
  let web: WebServer;
  let done: Crawl;
  let out: string;
  const host = (name: string): string => `${name}.test:${web.port}`;
  const url = (name: string, path: string): string => `http://${host(name)}${path}`;

  const home = (name: string, rest: Partial<WebHost> = {}): WebHost => ({
    name: `${name}.test`,
    address: `127.40.1.${HOSTS.indexOf(name) + 1}`,
    page: (request) => (request.path === '/' ? page(name, numbered(4)) : page(`${name} ${request.path}`)),
    ...rest,
  });
  const HOSTS = ['plain', 'told', 'slow', 'busy', 'seconds', 'dated', 'patient', 'flaky', 'stuck', 'gone'];

  before(async () => {
    out = join(scratch(t), 'out');
    web = await webFor(
      t,
      home('plain'),
      home('told', { robots: 'User-agent: *\nCrawl-delay: 0.4\n' }),
      home('slow', { delayMs: 60 }),
      home('busy', {
        page: (request) => (request.path === '/' ? (request.nth === 1 ? unavailable() : page('busy', numbered(3))) : page(request.path)),
      }),
      home('seconds', {
        page: (request) =>
          request.path === '/'
            ? page('seconds', numbered(3))
            : request.path === '/1' && request.nth === 1
              ? unavailable('2', 429)
              : page(request.path),
      }),
      home('dated', {
        page: (request) =>
          request.path === '/'
            ? request.nth === 1
              ? unavailable(new Date(Date.now() + 3_000).toUTCString())
              : page('dated', numbered(2))
            : page(request.path),
      }),
      home('patient', { page: (request) => (request.nth < 3 ? { status: 500, body: 'try again' } : page(request.path)) }),
      home('flaky', {
        page: (request) => {
          if (request.path === '/') return page('flaky', ['/reset', '/500', '/404', '/403', '/410']);
          if (request.path === '/reset') return { fault: { kind: 'reset' } };
          return { status: Number(request.path.slice(1)), body: 'no' };
        },
      }),
      home('stuck', {
        page: (request) =>
          request.path === '/'
            ? page('stuck', ['/stall', '/after'])
            : request.path === '/stall'
              ? { fault: { kind: 'stall' } }
              : page('after'),
      }),
      home('gone', { page: () => ({ status: 410 }) }),
    );
    done = await crawl({
      web,
      out,
      seeds: HOSTS.map((name) => url(name, '/')),
      config: { politeness: { delay: 150, delayFactor: 5, delayFactorMax: 400 }, fetch: { firstByteTimeout: 700, retryDelay: 200 } },
    });
  });
  after(async () => {
    for (const clean of cleanups.reverse()) await clean();
  });

  test('R-C1 R-B6: the default delay lies between the end of one fetch and the start of the next, robots.txt included', () => {
    assert.equal(web.log.entries(host('plain')).length, 6);
    web.log.assertGap(host('plain'), 150);
    for (const name of HOSTS) web.log.assertNoOverlap(host(name));
  });

  test('R-C1 R-D3: Crawl-delay is kept, fractions of a second too, from robots.txt itself on', () => {
    assert.equal(web.log.entries(host('told')).length, 6);
    web.log.assertGap(host('told'), 400);
  });

  test('R-C1: a fetch of 60 ms is followed by five times as much', () => {
    assert.equal(web.log.entries(host('slow')).length, 6);
    web.log.assertGap(host('slow'), 300);
  });

  test('R-D1 R-D4: robots.txt is asked for once per origin, before anything else', () => {
    web.log.assertRobotsFirst();
    for (const name of HOSTS) assert.equal(web.log.count(host(name), '/robots.txt'), 1, name);
  });

  test('R-C3: 503 without Retry-After doubles the gap, and a success takes the doubling back', () => {
    const pauses = web.log.pauses('host', host('busy'));
    const afterBusy = pauses.find((pause) => pause.before.status === 503);
    assert.ok(afterBusy !== undefined && afterBusy.ms >= 1_900, `${afterBusy?.ms} ms after the 503`);
    const rules = startsOf(out, host('busy')).map((start) => start.gapRule);
    assert.deepEqual(
      rules.map((rule) => rule === 'backoff'),
      [false, false, true, false, false, false],
    );
    assert.equal(done.row(url('busy', '/')).outcome, 'ok');
  });

  test('R-C3: Retry-After in seconds holds for the whole host, whatever its other URLs are', () => {
    const pause = web.log.pauses('host', host('seconds')).find(({ before }) => before.status === 429);
    assert.ok(pause !== undefined && pause.ms >= 1_998, `${pause?.ms} ms after the 429`);
    assert.equal(web.log.count(host('seconds'), '/1'), 2);
    for (const path of ['/1', '/2', '/3']) assert.equal(done.row(url('seconds', path)).outcome, 'ok', path);
  });

  test('R-C3: Retry-After as a date is honoured', () => {
    const pause = web.log.pauses('host', host('dated')).find(({ before }) => before.status === 503);
    // The date has whole seconds: up to one of the three is cut off.
    assert.ok(pause !== undefined && pause.ms >= 1_950, `${pause?.ms} ms after the 503`);
    assert.equal(done.row(url('dated', '/1')).outcome, 'ok');
  });

  test('R-C4: a 500 is tried three times at most, and the third answer counts', () => {
    assert.deepEqual(
      web.log
        .pages(host('patient'))
        .filter((entry) => entry.path === '/')
        .map((entry) => entry.status),
      [500, 500, 200],
    );
    const row = done.row(url('patient', '/'));
    assert.deepEqual([row.outcome, row.attempts], ['ok', 3]);
  });

  test('R-C4: resets, timeouts and 5xx get three attempts, 4xx one', () => {
    for (const [path, times] of [
      ['/500', 3],
      ['/404', 1],
      ['/403', 1],
      ['/410', 1],
    ] as const) {
      assert.equal(web.log.count(host('flaky'), path), times, path);
    }
    assert.equal(web.log.count(host('stuck'), '/stall'), 3);
    assert.equal(web.log.count(host('flaky'), '/reset'), 3);
    assert.equal(done.row(url('flaky', '/reset')).attempts, 3);
    const endings = ['/reset', '/500', '/404', '/403', '/410'].map((path) => done.row(url('flaky', path)).outcome);
    assert.deepEqual(endings, ['reset', 'server-error', 'not-found', 'client-error', 'not-found']);
    assert.equal(done.row(url('stuck', '/stall')).outcome, 'timeout');
    assert.equal(done.row(url('stuck', '/after')).outcome, 'ok');
  });

  test('R-C5: a host that answers nothing for seconds delays no other', () => {
    const stalls = web.log.entries(host('stuck')).filter((entry) => entry.path === '/stall');
    const meanwhile = web.log
      .entries()
      .filter((one) => one.host !== host('stuck') && stalls.some((stall) => one.startMs > stall.startMs && one.endMs < stall.endMs));
    assert.ok(meanwhile.length >= 3, `${meanwhile.length} requests to other hosts during the stall`);
  });
});

test('R-C1 R-D1: http and https of one host share a queue and its gap, and have a robots.txt each', {
  skip: !HAS_OPENSSL && 'no openssl on this machine',
}, async (t) => {
  const dir = scratch(t);
  const certificate = makeCertificate(dir, 'both.test');
  const web = await startSecureWeb('127.40.2.1', certificate, (scheme, path) =>
    path === '/robots.txt' ? { body: `User-agent: *\nDisallow: /not-over-${scheme}$` } : { body: `<title>${scheme}</title>` },
  );
  t.after(() => web.close());
  const host = `both.test:${web.port}`;
  const paths = ['/a', '/b', '/c', '/not-over-http', '/not-over-https'];
  const done = await crawl({
    out: join(dir, 'out'),
    seeds: paths.flatMap((path) => [`http://${host}${path}`, `https://${host}${path}`]),
    config: { politeness: { delay: 150 }, dns: { resolve: ['both.test:127.40.2.1'] } },
    env: { NODE_EXTRA_CA_CERTS: certificate.file },
  });
  assert.equal(web.log.entries(host).length, 2 + 8);
  web.log.assertGap(host, 150);
  for (const scheme of ['http', 'https']) {
    assert.equal(
      web.log.entries(host).filter((entry) => entry.path === '/robots.txt' && entry.method === `${scheme} GET`).length,
      1,
      scheme,
    );
    assert.equal(done.row(`${scheme}://${host}/not-over-${scheme}`).reason, 'robots-disallowed');
    assert.equal(done.row(`${scheme}://${host}/a`).title, scheme);
  }
});

test('R-C2: many names on one address are one server: never two in flight, its own gap between them, over shards and threads', async (t) => {
  const names = Array.from({ length: 12 }, (_, at) => `vanity${at}.test`);
  const address = '127.40.3.1';
  const web = await webFor(t, ...names.map((name) => ({ name, address, delayMs: 10, page: () => page(name) })));
  const done = await crawl({
    web,
    out: join(scratch(t), 'out'),
    seeds: names.flatMap((name) => [`${web.origin(name)}/p1`, `${web.origin(name)}/p2`]),
    config: { politeness: { delay: 300, addressDelay: 80 }, run: { threads: 2 } },
  });
  assert.equal(web.log.entries().length, 3 * names.length);
  web.log.assertNoAddressOverlap(`${address}:${web.port}`);
  web.log.assertAddressGap(`${address}:${web.port}`, 80);
  for (const name of names) web.log.assertGap(`${name}:${web.port}`, 300);
  assert.deepEqual(done.report.fetched, { ok: 24 });
  web.log.assertRobotsFirst();
});

test('R-C5: a host that cannot be reached is set aside, retired after that, and each of its URLs says so', async (t) => {
  const web = await webFor(t, {
    name: 'well.test',
    address: '127.40.4.1',
    page: (request) => page('well', request.path === '/' ? numbered(3) : []),
  });
  const dead = `http://dead.test:${web.port}`;
  const out = join(scratch(t), 'out');
  const done = await crawl({
    web,
    out,
    seeds: [`${web.origin('well.test')}/`, ...numbered(4).map((path) => dead + path)],
    config: {
      politeness: { faultLimit: 2, faultPause: 40, setAside: 200, setAsideLimit: 2 },
      robots: { retryMin: 50, retryMax: 50 },
      dns: { resolve: ['dead.test:127.40.4.9'] },
    },
  });
  for (const path of numbered(4)) assert.equal(done.row(dead + path).reason, 'host-retired', path);
  assert.deepEqual(done.report.dropped, { 'host-retired': 4 });
  assert.equal(done.report.fetched['ok'], 4);
  const ends = readLedger(out).flatMap((record) => (record.kind === 'end' && record.status === 0 ? [record.outcome] : []));
  assert.deepEqual(ends, ['connect-failed', 'connect-failed', 'connect-failed', 'connect-failed'], 'two failures, set aside, two more');
  assert.ok(startsOf(out, `dead.test:${web.port}`).some((start) => start.gapRule === 'set-aside'));
  assert.ok(
    done.notices.some((text) => /dead\.test:\d+ is retired .*connect-failed/.test(text)),
    done.notices.join('; '),
  );
});

test('R-C4 R-C5: URLs that are unavailable for good do not take their host with them', async (t) => {
  const broken = ['/broken', '/limited'];
  const web = await webFor(t, {
    name: 'mostly.test',
    address: '127.40.5.1',
    page: (request) => {
      if (request.path === '/') return page('mostly', ['/broken', '/1', '/limited', ...numbered(7, 2)]);
      return broken.includes(request.path) ? unavailable('0', request.path === '/broken' ? 503 : 429) : page(request.path);
    },
  });
  const done = await crawl({
    web,
    out: join(scratch(t), 'out'),
    seeds: [`${web.origin('mostly.test')}/`],
    config: { politeness: { delay: 20, faultLimit: 3, setAside: 60_000 }, fetch: { attempts: 2 } },
  });
  const origin = web.origin('mostly.test');
  for (const path of numbered(8)) assert.equal(done.row(origin + path).outcome, 'ok', path);
  assert.deepEqual(
    broken.map((path) => done.row(origin + path).outcome),
    ['unavailable', 'rate-limited'],
  );
  // A failure right after another one may be the host's and is then not counted.
  for (const path of broken) assert.ok([2, 3].includes(web.log.count(`mostly.test:${web.port}`, path)), path);
});

test('R-C5 R-E1: a name server that answers nothing about one name holds no other host back', async (t) => {
  const web = await webFor(t, {
    name: 'quick.test',
    address: '127.40.6.1',
    page: (request) => page('quick', request.path === '/' ? numbered(6) : []),
  });
  const dns = await startDnsServer((name) =>
    name === 'quick.test' ? { kind: 'answer', addresses: ['127.40.6.1'] } : name === 'mute.test' ? { kind: 'silence' } : undefined,
  );
  t.after(() => dns.close());
  const silent = Date.now();
  let silentUntil = 0;
  const done = await crawl({
    out: join(scratch(t), 'out'),
    seeds: [`http://mute.test:${web.port}/a`, `${web.origin('quick.test')}/`, `http://nowhere.test:${web.port}/b`],
    config: { dns: { servers: [dns.server], timeout: 1_500, negativeTtl: 100 }, politeness: { faultLimit: 1, setAsideLimit: 1 } },
    onEvent: (event) => {
      if (event.event === 'notice' && String(event['text']).startsWith('mute.test')) silentUntil = Date.now();
    },
  });
  assert.equal(done.row(`http://mute.test:${web.port}/a`).reason, 'host-retired');
  assert.equal(done.row(`http://nowhere.test:${web.port}/b`).reason, 'host-retired');
  assert.equal(done.report.fetched['ok'], 7);
  assert.ok(silentUntil > silent, 'the silence was noticed');
  assert.ok(
    web.log.entries().every((entry) => entry.startMs < silentUntil),
    'every page of the other host came during the silence',
  );
  assert.ok(
    done.notices.some((text) => /nowhere\.test:\d+ is retired .*dns-failed/.test(text)),
    done.notices.join('; '),
  );
});

for (const how of ['SIGKILL', 'SIGINT'] as const) {
  test(`R-C8 R-B5: after ${how} and a restart a host is owed its whole gap`, async (t) => {
    const name = `owed-${how.toLowerCase()}.test`;
    const web = await webFor(t, {
      name,
      address: how === 'SIGKILL' ? '127.40.7.1' : '127.40.7.2',
      page: (request) => page(name, request.path === '/' ? ['/next'] : []),
    });
    const host = `${name}:${web.port}`;
    const out = join(scratch(t), 'out');
    const options = { web, out, seeds: [`${web.origin(name)}/`], config: { politeness: { delay: 2_500 } } };
    let stopping = false;
    await crawl({
      ...options,
      ...(how === 'SIGINT' ? { code: 130 } : {}),
      onEvent: async (_event, running) => {
        if (stopping || web.log.count(host, '/') === 0) return;
        stopping = true;
        await sleep(100);
        if (how === 'SIGKILL') running.killGroup();
        else running.signal('SIGINT');
      },
    });
    const done = await crawl(options);
    web.log.assertGap(host, 2_500);
    assert.equal(done.row(`${web.origin(name)}/next`).outcome, 'ok');
    assert.equal(web.log.count(host, '/robots.txt'), 1);
  });
}

test('R-C1: --rate bounds the requests of all hosts together', async (t) => {
  const names = numbered(6).map((path) => `rate${path.slice(1)}.test`);
  const web = await webFor(t, ...names.map((name, at) => ({ name, address: `127.40.8.${at + 1}`, page: () => page(name, ['/a', '/b']) })));
  await crawl({
    web,
    out: join(scratch(t), 'out'),
    seeds: names.map((name) => `${web.origin(name)}/`),
    flags: ['--rate', '12/s', '--delay', '0'],
  });
  const starts = web.log.entries().map((entry) => entry.startMs);
  assert.equal(starts.length, 24);
  assert.ok(starts.at(-1)! - starts[0]! >= (23 / 12) * 1_000 - 200, `24 requests within ${starts.at(-1)! - starts[0]!} ms`);
});

test('R-C3: a Retry-After over the bound is taken as the bound, and nonsense as none', async (t) => {
  const answers = ['99999999', 'soon', '-5'];
  const web = await webFor(
    t,
    ...answers.map((value, at) => ({
      name: `after${at}.test`,
      address: `127.40.9.${at + 1}`,
      page: (request: { path: string; nth: number }) =>
        request.path === '/' && request.nth === 1 ? unavailable(value) : page(request.path),
    })),
  );
  const done = await crawl({
    web,
    out: join(scratch(t), 'out'),
    seeds: answers.map((_, at) => `${web.origin(`after${at}.test`)}/`),
    config: { politeness: { retryAfterMax: 2_500 } },
  });
  assert.deepEqual(endings(done.rows), Object.fromEntries(answers.map((_, at) => [`${web.origin(`after${at}.test`)}/`, 'ok'])));
  const pause = web.log.pauses('host', `after0.test:${web.port}`).find(({ before }) => before.status === 503);
  assert.ok(pause !== undefined && pause.ms >= 2_498, `${pause?.ms} ms`);
});
