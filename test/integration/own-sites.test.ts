/**
 * Rules of single hosts against servers that keep what they were sent: headers and credentials that reach their host and no other, pauses and budgets, proxies,
 * certificates, and robots.txt that is set aside with a reason. Every crawl is recounted and verified (crawl.ts), and nothing it leaves names a secret.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startProxy } from '../support/proxy.ts';
import { page, redirect } from '../support/web-server.ts';
import { type Crawl, crawl, endings, readLedger, scratch, webFor } from './crawl.ts';
import { HAS_OPENSSL, makeCertificate, startSecureWeb } from './secure-web.ts';
import { readWarcs } from './warc-files.ts';

const SKIP_OPENSSL = HAS_OPENSSL ? false : 'openssl is needed to make certificates';

/** Everything below a directory as one text, gzip undone by reading WARC records apart. */
async function everythingLeft(out: string, run: Crawl): Promise<string> {
  const texts: string[] = [run.stderr, JSON.stringify(run.events)];
  const walk = (dir: string): void => {
    for (const name of readdirSync(dir)) {
      const path = join(dir, name);
      if (statSync(path).isDirectory()) walk(path);
      else texts.push(readFileSync(path, 'latin1'));
    }
  };
  walk(out);
  for (const record of await readWarcs(out)) texts.push(record.block.toString('latin1'));
  return texts.join('\n');
}

describe('headers and credentials', () => {
  test('they arrive at their host, not at another one and not behind a redirect, and nothing that is left names a secret', async (t) => {
    const web = await webFor(
      t,
      {
        name: 'own.test',
        address: '127.43.1.1',
        page: ({ path, authority }) => {
          const port = authority.split(':')[1];
          if (path === '/go') return redirect(`http://other.test:${port}/landed`);
          return page(path, path === '/' ? ['/go', '/a', `http://sub.own.test:${port}/`] : []);
        },
      },
      { name: 'sub.own.test', address: '127.43.1.2', page: ({ path }) => page(`sub ${path}`) },
      { name: 'other.test', address: '127.43.1.3', page: ({ path }) => page(`other ${path}`) },
    );
    const out = join(scratch(t), 'out');
    const run = await crawl({
      web,
      out,
      seeds: [`${web.origin('own.test')}/`, `${web.origin('other.test')}/`],
      flags: ['--header', 'X-Everywhere: yes', '--header', 'Accept-Language: de'],
      env: { OWN_PASSWORD: 'geheim/ß', OWN_TOKEN: 'token-from-env' },
      config: {
        scope: { mode: 'domain' },
        hosts: {
          'own.test': {
            auth: { user: 'robot', password: { env: 'OWN_PASSWORD' } },
            headers: { 'X-Token': { env: 'OWN_TOKEN' }, 'X-Literal': 'literal-secret' },
            cookies: { consent: 'cookie-secret' },
          },
          '*.own.test': { headers: { 'X-Domain': 'domain-secret' } },
        },
      },
    });
    assert.equal(endings(run.rows)[`${web.origin('other.test')}/landed`], 'ok');
    const basic = `Basic ${Buffer.from('robot:geheim/ß').toString('base64')}`;
    for (const { host, path, headers } of web.log.entries()) {
      const isOwn = host.startsWith('own.test:');
      assert.equal(headers['x-everywhere'], 'yes', `${host}${path}`);
      assert.equal(headers['accept-language'], 'de');
      assert.equal(headers['authorization'], isOwn ? basic : undefined, `Authorization at ${host}${path}`);
      assert.equal(headers['cookie'], isOwn ? 'consent=cookie-secret' : undefined, `Cookie at ${host}${path}`);
      assert.equal(headers['x-token'], isOwn ? 'token-from-env' : undefined);
      assert.equal(headers['x-literal'], isOwn ? 'literal-secret' : undefined);
      // A map of headers is one value: the host's own takes the place of its domain's.
      assert.equal(headers['x-domain'], host.startsWith('sub.own.test:') ? 'domain-secret' : undefined, `X-Domain at ${host}`);
    }
    assert.ok(web.log.entries().some(({ host, path }) => host.startsWith('own.test:') && path === '/robots.txt'));
    const left = await everythingLeft(out, run);
    for (const secret of ['geheim', basic.slice(6), 'token-from-env', 'literal-secret', 'cookie-secret', 'domain-secret'])
      assert.ok(!left.includes(secret), `${secret} was written down`);
    const request = (await readWarcs(out)).find(({ type, url }) => type === 'request' && url.endsWith(`own.test:${web.port}/a`))!;
    const head = request.block.toString('latin1');
    assert.match(head, /^Authorization: \*\*\*\r$/m);
    assert.match(head, /^Cookie: \*\*\*\r$/m);
    assert.match(head, /^X-Token: \*\*\*\r$/m);
    assert.match(head, /^X-Everywhere: yes\r$/m);
  });

  test('Authorization given for all requests goes to the hosts of the seeds alone', async (t) => {
    const web = await webFor(
      t,
      {
        name: 'seed.test',
        address: '127.43.2.1',
        page: ({ authority }) => page('seed', [`http://sub.seed.test:${authority.split(':')[1]}/`]),
      },
      { name: 'sub.seed.test', address: '127.43.2.2', page: () => page('sub') },
    );
    const out = join(scratch(t), 'out');
    const run = await crawl({
      ...{ web, out, seeds: [`${web.origin('seed.test')}/`], config: { scope: { mode: 'domain' } } },
      flags: ['--header', 'Authorization: Bearer for-the-seed'],
    });
    const got = web.log.entries().map(({ host, headers }) => [host.split(':')[0], headers['authorization']]);
    assert.deepEqual(
      new Set(got.map(([host, value]) => `${host} ${value}`)),
      new Set(['seed.test Bearer for-the-seed', 'sub.seed.test undefined']),
    );
    assert.ok(!(await everythingLeft(out, run)).includes('for-the-seed'));
  });

  test('with httpsOnly nothing of it goes over http', async (t) => {
    const web = await webFor(t, { name: 'own.test', address: '127.43.3.1', page: () => page('own') });
    await crawl({
      ...{ web, out: join(scratch(t), 'out'), seeds: [`${web.origin('own.test')}/`] },
      config: { hosts: { 'own.test': { httpsOnly: true, auth: { user: 'u', password: 'p' }, cookies: 'a=b', headers: { 'X-T': 't' } } } },
    });
    for (const { headers } of web.log.entries())
      assert.deepEqual([headers['authorization'], headers['cookie'], headers['x-t']], [undefined, undefined, undefined]);
  });

  test('a variable that the environment lacks is named before anything is fetched', async (t) => {
    const web = await webFor(t, { name: 'own.test', address: '127.43.4.1', page: () => page('own') });
    const run = await crawl({
      ...{ web, out: join(scratch(t), 'out'), seeds: [`${web.origin('own.test')}/`], code: 2, recount: false },
      config: { hosts: { 'own.test': { auth: { user: 'u', password: { env: 'PORTOLAN_TEST_UNSET' } } } } },
    });
    assert.match(
      run.stderr,
      /PORTOLAN_CONFIG_INVALID: .*hosts\.own\.test\.auth\.password: the environment has no variable PORTOLAN_TEST_UNSET/,
    );
    assert.equal(web.log.entries().length, 0);
  });
});

describe('pauses and budgets', () => {
  test('a host has its own delay and page budget, the most specific one', async (t) => {
    const links = Array.from({ length: 12 }, (_, n) => `/p${n}`);
    const host = (name: string, address: string) => ({
      name,
      address,
      page: ({ path }: { path: string }) => page(path, path === '/' ? links : []),
    });
    const web = await webFor(t, host('a.own.test', '127.43.5.1'), host('b.own.test', '127.43.5.2'), host('c.test', '127.43.5.3'));
    const out = join(scratch(t), 'out');
    const run = await crawl({
      ...{ web, out, seeds: ['a.own.test', 'b.own.test', 'c.test'].map((name) => `${web.origin(name)}/`) },
      config: {
        politeness: { delay: 60, addressDelay: '60ms' },
        hosts: { '*.own.test': { delay: '150ms', pageBudget: 5 }, 'a.own.test': { delay: '120ms' }, 'c.test': { pageBudget: 0 } },
      },
    });
    const gaps = (name: string): number => {
      const seen = web.log.entries().filter((one) => one.host.startsWith(name));
      return Math.min(...seen.slice(1).map((one, at) => one.startMs - seen[at]!.endMs));
    };
    assert.ok(gaps('a.own.test') >= 118, `a: ${gaps('a.own.test')}`);
    assert.ok(gaps('b.own.test') >= 148, `b: ${gaps('b.own.test')}`);
    assert.ok(gaps('c.test') >= 58 && gaps('c.test') < 118, `c: ${gaps('c.test')}`);
    const ok = (name: string): number => run.rows.filter((row) => row.host.startsWith(name) && row.outcome === 'ok').length;
    assert.deepEqual([ok('a.own.test'), ok('b.own.test'), ok('c.test')], [5, 5, 13]);
    assert.equal(run.report.dropped['page-budget'], 16);
  });
});

describe('robots.txt set aside', () => {
  test('it is neither asked for nor obeyed, and the reason stands in the report and in the WARC files', async (t) => {
    const web = await webFor(
      t,
      {
        name: 'own.test',
        address: '127.43.6.1',
        robots: 'User-agent: *\nDisallow: /\n',
        page: ({ path }) => page(path, path === '/' ? ['/a'] : []),
      },
      { name: 'other.test', address: '127.43.6.2', robots: 'User-agent: *\nDisallow: /\n', page: ({ path }) => page(path) },
    );
    const out = join(scratch(t), 'out');
    const run = await crawl({
      ...{ web, out, seeds: [`${web.origin('own.test')}/`, `${web.origin('other.test')}/`] },
      config: { hosts: { 'own.test': { robots: { ignore: true, reason: 'our own site, agreed with its webmaster' } } } },
    });
    assert.deepEqual(endings(run.rows), {
      [`${web.origin('other.test')}/`]: 'robots-disallowed',
      [`${web.origin('own.test')}/`]: 'ok',
      [`${web.origin('own.test')}/a`]: 'ok',
    });
    assert.deepEqual(
      web.log
        .entries()
        .filter(({ path }) => path === '/robots.txt')
        .map(({ host }) => host.split(':')[0]),
      ['other.test'],
    );
    const { exceptions } = run.report as unknown as { exceptions: unknown };
    const reason = 'our own site, agreed with its webmaster';
    assert.deepEqual(exceptions, [{ hosts: 'own.test', what: 'robots.txt is ignored', reason }]);
    const infos = (await readWarcs(out)).filter(({ type }) => type === 'warcinfo').map(({ block }) => block.toString());
    assert.ok(infos.length > 0);
    for (const info of infos) assert.match(info, new RegExp(`^robots: obey; ignored for own\\.test: ${reason}\\r$`, 'm'));
  });
});

describe('proxies', () => {
  test('an http host behind a proxy is asked through it, by a name that only the proxy knows', async (t) => {
    const web = await webFor(t, { name: 'inside.test', address: '127.43.7.1', page: ({ path }) => page(path, path === '/' ? ['/a'] : []) });
    const authorization = `Basic ${Buffer.from('me:pass word').toString('base64')}`;
    const proxy = await startProxy({ address: '127.43.7.2', upstream: '127.43.7.1', authorization });
    t.after(() => proxy.close());
    const out = join(scratch(t), 'out');
    const origin = `http://inside.test:${web.port}`;
    const run = await crawl({
      ...{ out, seeds: [`${origin}/`] },
      // The proxy's address needs no --allow-net: it is the operator's own statement.
      config: { net: { allow: [] }, hosts: { 'inside.test': { proxy: `http://me:pass%20word@127.43.7.2:${proxy.port}` } } },
    });
    assert.deepEqual(endings(run.rows), { [`${origin}/`]: 'ok', [`${origin}/a`]: 'ok' });
    assert.deepEqual(
      proxy.requests.map(({ line }) => line),
      [`GET ${origin}/robots.txt`, `GET ${origin}/`, `GET ${origin}/a`],
    );
    for (const { headers } of web.log.entries()) assert.equal(headers['proxy-authorization'], undefined);
    const starts = readLedger(out).flatMap((record) => (record.kind === 'start' ? [record.address] : []));
    assert.deepEqual(new Set(starts), new Set(['127.43.7.2']));
    for (const record of await readWarcs(out)) assert.equal(record.fields.get('WARC-IP-Address'), undefined);
    assert.ok(!(await everythingLeft(out, run)).includes('pass%20word'));
  });

  test('a proxy that wants other credentials is a failed connection, not an answer of the host', async (t) => {
    const web = await webFor(t, { name: 'inside.test', address: '127.43.8.1', page: () => page('inside') });
    const proxy = await startProxy({ address: '127.43.8.2', upstream: '127.43.8.1', authorization: 'Basic eDp5' });
    t.after(() => proxy.close());
    const origin = `http://inside.test:${web.port}`;
    const run = await crawl({
      ...{ out: join(scratch(t), 'out'), seeds: [`${origin}/`], flags: ['--max-time', '2s'] },
      config: { hosts: { 'inside.test': { proxy: `http://127.43.8.2:${proxy.port}` } } },
    });
    assert.equal(run.report.pages, 0);
    assert.equal(web.log.entries().length, 0);
  });

  for (const kind of ['http', 'https'] as const) {
    test(`an https host is asked through a tunnel of an ${kind} proxy, with both certificates checked`, {
      skip: SKIP_OPENSSL,
    }, async (t) => {
      const dir = scratch(t);
      const pair = makeCertificate(dir, 'inside.test');
      const ownPair = makeCertificate(dir, 'proxy.test');
      const web = await startSecureWeb('127.43.9.1', pair, (_, path) =>
        path === '/robots.txt' ? undefined : { body: '<a href="/a">a</a>' },
      );
      const proxy = await startProxy({ address: '127.43.9.2', upstream: '127.43.9.1', ...(kind === 'https' ? { pair: ownPair } : {}) });
      t.after(() => Promise.all([proxy.close(), web.close()]));
      const origin = `https://inside.test:${web.port}`;
      const run = await crawl({
        ...{ out: join(dir, 'out'), seeds: [`${origin}/`], env: { NODE_EXTRA_CA_CERTS: ownPair.file } },
        config: {
          dns: { resolve: ['proxy.test:127.43.9.2'] },
          hosts: { 'inside.test': { proxy: `${kind}://proxy.test:${proxy.port}`, ca: pair.file } },
        },
      });
      assert.deepEqual(endings(run.rows), { [`${origin}/`]: 'ok', [`${origin}/a`]: 'ok' });
      assert.deepEqual(new Set(proxy.requests.map(({ line }) => line)), new Set([`CONNECT inside.test:${web.port}`]));
    });
  }
});

describe('certificates', { skip: SKIP_OPENSSL }, () => {
  test('a host with an authority of its own is trusted, the same certificate on another host is not', async (t) => {
    const dir = scratch(t);
    const pair = makeCertificate(dir, 'own.test');
    const web = await startSecureWeb('127.43.10.1', pair, (_, path) => (path === '/robots.txt' ? undefined : { body: 'own' }));
    t.after(() => web.close());
    const origin = `https://own.test:${web.port}`;
    const config = { dns: { resolve: ['own.test:127.43.10.1'] } };
    const trusted = await crawl({
      ...{ out: join(dir, 'trusted'), seeds: [`${origin}/`] },
      config: { ...config, hosts: { 'own.test': { ca: pair.file } } },
    });
    assert.equal(trusted.row(`${origin}/`).outcome, 'ok');
    const other = await crawl({
      ...{ out: join(dir, 'other'), seeds: [`${origin}/`], flags: ['--max-time', '1s'] },
      config: { ...config, hosts: { 'else.test': { ca: pair.file } } },
    });
    assert.equal(other.report.pages, 0);
  });

  test('a certificate that proves nothing is accepted with a stated reason alone', async (t) => {
    const dir = scratch(t);
    const pair = makeCertificate(dir, 'someone-else.test');
    const web = await startSecureWeb('127.43.11.1', pair, (_, path) => (path === '/robots.txt' ? undefined : { body: 'own' }));
    t.after(() => web.close());
    const origin = `https://own.test:${web.port}`;
    const run = await crawl({
      ...{ out: join(dir, 'out'), seeds: [`${origin}/`] },
      config: {
        dns: { resolve: ['own.test:127.43.11.1'] },
        hosts: { 'own.test': { tls: { insecure: true, reason: 'staging server, certificate of another name' } } },
      },
    });
    assert.equal(run.row(`${origin}/`).outcome, 'ok');
    assert.match(JSON.stringify((run.report as unknown as { exceptions: unknown }).exceptions), /certificates are not checked/);
  });
});
