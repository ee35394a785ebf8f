/** Names and addresses (rows E1–E3): what the resolver answers is vetted, and the connection goes to what was vetted. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { startDnsServer } from '../support/dns-server.ts';
import { page } from '../support/web-server.ts';
import { crawl, endings, scratch, webFor } from './crawl.ts';

test('R-E3: a name that answers with a public address first and a private one later is not followed to the private one', async (t) => {
  // 127.43.1.1 plays the public address, 127.99.1.1 the private one: only the first is allowed.
  const web = await webFor(
    t,
    { name: 'rebind.test', address: '127.43.1.1', page: (request) => page('public', request.path === '/' ? ['/1', '/2', '/3', '/4'] : []) },
    { address: '127.99.1.1', page: () => page('private') },
  );
  const dns = await startDnsServer((name, type, nth) =>
    name === 'rebind.test' && type === 'A'
      ? { kind: 'answer', addresses: [nth === 0 ? '127.43.1.1' : '127.99.1.1'], ttlS: 0 }
      : name === 'rebind.test'
        ? { kind: 'answer', addresses: [] }
        : undefined,
  );
  t.after(() => dns.close());
  const origin = web.origin('rebind.test');
  // Answers are forgotten at once, so that every fetch asks again.
  const done = await crawl({
    out: join(scratch(t), 'out'),
    seeds: [`${origin}/`],
    config: { dns: { servers: [dns.server], ttlMin: 0, ttlMax: 0 }, net: { allow: ['127.43.0.0/16'] } },
  });
  assert.ok(dns.questions.filter((question) => question === 'A rebind.test').length > 1, 'it was asked again');
  assert.ok(
    web.log.entries().every((entry) => entry.address === `127.43.1.1:${web.port}`),
    'only the vetted address was contacted',
  );
  assert.ok(done.rows.some((row) => row.reason === 'forbidden-address'));
});

test('R-E3: private, loopback, link-local and metadata addresses are refused, as answers and as literals', async (t) => {
  const refused = {
    loop: '127.43.2.2',
    ten: '10.1.2.3',
    local: '192.168.1.1',
    link: '169.254.169.254',
    carrier: '100.64.0.1',
    six: '::1',
    unique: 'fd00::1',
    mapped: '::ffff:10.0.0.1',
  };
  const web = await webFor(t, {
    name: 'links.test',
    address: '127.43.2.1',
    page: (request) =>
      request.path === '/'
        ? page('links', [
            'http://169.254.169.254/',
            'http://127.0.0.1/',
            'http://[::1]/',
            'http://0x7f.1/',
            'http://2130706433/',
            'http://[::ffff:10.0.0.1]/',
            '/fine',
          ])
        : page('fine'),
  });
  const dns = await startDnsServer((name, type) => {
    const address = refused[name.replace('.test', '') as keyof typeof refused] ?? (name === 'links.test' ? '127.43.2.1' : undefined);
    return address === undefined ? undefined : { kind: 'answer', addresses: address.includes(':') === (type === 'AAAA') ? [address] : [] };
  });
  t.after(() => dns.close());
  const seeds = Object.keys(refused).map((name) => `http://${name}.test:${web.port}/`);
  const done = await crawl({
    out: join(scratch(t), 'out'),
    seeds: [`${web.origin('links.test')}/`, ...seeds, `http://127.43.2.9:${web.port}/`],
    config: { scope: { mode: 'web' }, dns: { servers: [dns.server] }, net: { allow: ['127.43.2.1/32'] } },
  });
  for (const seed of [...seeds, `http://127.43.2.9:${web.port}/`]) assert.equal(done.row(seed).reason, 'forbidden-address', seed);
  assert.equal(done.row(`${web.origin('links.test')}/`).links?.rejected['forbidden-address'], 6);
  assert.equal(done.report.requests, 3, 'robots.txt and two pages of the one host that is allowed');
  assert.equal(done.row(`${web.origin('links.test')}/fine`).address, '127.43.2.1');
});

test('R-E3: --allow-net opens exactly the range that it names', async (t) => {
  const web = await webFor(
    t,
    { address: '127.43.3.1', page: () => page('inside') },
    { address: '127.43.4.1', page: () => page('outside') },
  );
  const seeds = ['127.43.3.1', '127.43.4.1'].map((address) => `http://${address}:${web.port}/`);
  const done = await crawl({
    out: join(scratch(t), 'out'),
    seeds,
    config: { net: { allow: [] } },
    flags: ['--allow-net', '127.43.3.0/24'],
  });
  assert.deepEqual(endings(done.rows), { [seeds[0]!]: 'ok', [seeds[1]!]: 'forbidden-address' });
  assert.ok(web.log.entries().every((entry) => entry.address.startsWith('127.43.3.1')));
});

test('R-E1 R-C5: a name that does not exist ends its URLs; one that failed for a moment is asked again', async (t) => {
  const web = await webFor(t, { name: 'late.test', address: '127.43.5.1', page: () => page('late') });
  const dns = await startDnsServer((name, _type, nth) =>
    name === 'late.test' ? (nth === 0 ? { kind: 'servfail' } : { kind: 'answer', addresses: ['127.43.5.1'] }) : undefined,
  );
  t.after(() => dns.close());
  const gone = `http://gone.test:${web.port}`;
  const done = await crawl({
    out: join(scratch(t), 'out'),
    seeds: [`${gone}/a`, `${gone}/b`, `${web.origin('late.test')}/`],
    config: { dns: { servers: [dns.server], negativeTtl: 200 } },
  });
  assert.deepEqual(endings(done.rows), {
    [`${gone}/a`]: 'host-retired',
    [`${gone}/b`]: 'host-retired',
    [`${web.origin('late.test')}/`]: 'ok',
  });
  assert.deepEqual(done.report.dropped, { 'host-retired': 2 });
});

test('R-E1: one name is asked for once however many of its URLs wait', async (t) => {
  const web = await webFor(t, { name: 'often.test', address: '127.43.6.1', page: () => page('often') });
  const dns = await startDnsServer((name) =>
    name === 'often.test' ? { kind: 'answer', addresses: ['127.43.6.1'], delayMs: 100 } : undefined,
  );
  t.after(() => dns.close());
  const done = await crawl({
    out: join(scratch(t), 'out'),
    seeds: Array.from({ length: 10 }, (_, at) => `${web.origin('often.test')}/${at}`),
    config: { dns: { servers: [dns.server] }, politeness: { delay: 10 } },
  });
  assert.deepEqual(done.report.fetched, { ok: 10 });
  assert.deepEqual([...dns.questions].sort(), ['A often.test', 'AAAA often.test']);
});
