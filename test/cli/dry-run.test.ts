/** `crawl --dry-run`: what it says, and that it asks for nothing it does not say. Real processes, real sockets. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { configKeys } from '../../src/config/schema.ts';
import { capture, portolan } from '../support/process.ts';
import { page, redirect, startWebServer, type WebServer } from '../support/web-server.ts';

interface Seed {
  readonly seed: string;
  readonly origin: string;
  readonly url: string;
  readonly canonical: string;
  readonly sameAs?: string;
  readonly scope: { readonly verdict: string; readonly reason?: string; readonly rule: string };
  readonly address: {
    readonly verdict: string;
    readonly proxy?: string;
    readonly allowed: readonly string[];
    readonly refused: readonly string[];
  };
  readonly robots: { readonly verdict: string; readonly line?: number; readonly rule?: string; readonly note?: string };
}

interface Report {
  readonly event: string;
  readonly directory: { readonly path: string; readonly holds: string };
  readonly userAgent: string;
  readonly notices: readonly string[];
  readonly configuration: readonly { readonly key: string; readonly value: string; readonly origin: string }[];
  readonly seeds: readonly Seed[];
  readonly seedsLeftOut: number;
}

describe('crawl --dry-run', { concurrency: false }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-dry-'));
  const out = join(dir, 'out');
  let web: WebServer;
  let base: readonly string[];

  before(async () => {
    web = await startWebServer({
      hosts: [
        {
          name: 'ruled.test',
          address: '127.61.0.1',
          robots: 'User-agent: *\nDisallow: /private/\n',
          page: ({ path }) => page(path),
        },
        {
          name: 'moved.test',
          address: '127.61.0.2',
          robots: redirect('/rules.txt'),
          page: ({ path }) =>
            path === '/rules.txt' ? { headers: { 'content-type': 'text/plain' }, body: 'User-agent: *\nDisallow: /\n' } : page(path),
        },
        { name: 'none.test', address: '127.61.0.3', page: ({ path }) => page(path) },
      ],
    });
    const names = [...web.resolves(), 'inside.test:10.1.2.3', 'both.test:10.1.2.4', 'both.test:127.61.0.1'];
    base = [
      ...names.flatMap((pair) => ['--resolve', pair]),
      '--allow-net',
      '127.0.0.0/8',
      '--dns',
      '127.61.0.9:53',
      '--out',
      out,
      '--delay',
      '20ms',
    ];
  });
  after(async () => {
    await web.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const run = (...args: readonly string[]) => {
    const { command, args: all } = portolan('crawl', '--dry-run', ...args);
    return capture(command, all, { cwd: dir });
  };
  async function report(...args: readonly string[]): Promise<Report> {
    const end = await run('--json', ...base, ...args);
    assert.deepEqual([end.code, end.stderr], [0, '']);
    return JSON.parse(end.stdout) as Report;
  }
  const asked = (): string[] => web.log.entries().map(({ host, path }) => `${host.replace(/:\d+$/, '')}${path}`);

  test('R-A3 it names every key with its value and where that was written, and fetches and writes nothing', async () => {
    const file = join(dir, 'portolan.yaml');
    writeFileSync(file, 'politeness:\n  rate: 2\nrun:\n  shards: 8\n');
    const { configuration, directory, userAgent, event } = await report(
      web.origin('ruled.test'),
      '--config',
      file,
      '--contact',
      'a@b.example',
    );
    assert.equal(event, 'dry-run');
    assert.deepEqual(
      configuration.map(({ key }) => key),
      configKeys().filter((key) => key !== 'seeds'),
    );
    const of = (key: string): readonly string[] => {
      const { value, origin } = configuration.find((one) => one.key === key)!;
      return [value, origin.replace(file, 'FILE')];
    };
    assert.deepEqual(of('politeness.delay'), ['20ms', '--delay']);
    assert.deepEqual(of('politeness.rate'), ['2', 'FILE:2']);
    assert.deepEqual(of('run.shards'), ['8', 'FILE:4']);
    assert.deepEqual(of('politeness.addressDelay'), ['20ms', 'default'], 'what follows from another key is said');
    assert.deepEqual(of('fetch.maxBody'), ['5MB', 'default']);
    assert.match(userAgent, /^Portolan\/[\d.]+ \(\+a@b\.example\)$/);
    assert.deepEqual(directory, { path: out, holds: 'nothing' });
    assert.deepEqual(asked(), []);
    assert.ok(!existsSync(out));
  });

  test('R-A3 a host behind a proxy is said to be so: the name of the proxy is looked up, and no other', async () => {
    const file = join(dir, 'proxied.yaml');
    writeFileSync(
      file,
      'hosts:\n  intranet.test:\n    proxy: http://user:secret@proxy.test:3128\n  10.9.9.9:\n    proxy: http://proxy.test:3128\n',
    );
    const args = ['http://intranet.test/', 'http://10.9.9.9/', '--config', file, '--resolve', 'proxy.test:10.9.9.1'];
    const { seeds, notices } = await report(...args);
    const behind = { verdict: 'allowed', proxy: 'proxy.test:3128', allowed: ['10.9.9.1'], refused: [] };
    assert.deepEqual(
      seeds.map(({ address }) => address),
      [behind, behind],
      'no name server answers, so the name of a host that is looked up would not be found',
    );
    assert.deepEqual(
      notices.filter((notice) => notice.includes('refused')),
      [],
    );
    const { stdout } = await run(...base, ...args);
    assert.match(
      stdout,
      /^ {4}address {5}the proxy proxy\.test:3128 \(the name of the host is not looked up here\): allowed: 10\.9\.9\.1$/m,
    );
    assert.ok(!stdout.includes('secret'));
  });

  test('R-A3 R-E3 each seed has its canonical form, the verdict of the scope, and its addresses with those of the guard', async () => {
    const origin = web.origin('ruled.test');
    const port = web.port;
    const blocked = join(dir, 'blocked.txt');
    writeFileSync(blocked, 'none.test\n');
    const { seeds } = await report(
      ...[`${origin}/a?utm_source=mail`, `${origin}/a`, `http://inside.test:${port}/`, `http://both.test:${port}/`, 'http://192.168.1.1/'],
      ...[`${web.origin('none.test')}/`, `http://unknown.test:${port}/`, '--exclude', '/a', '--blocklist', blocked],
    );
    const [tracked, plain, inside, both, literal, block, unknown] = seeds as readonly [Seed, Seed, Seed, Seed, Seed, Seed, Seed];
    assert.equal(tracked.canonical, `${origin}/a`);
    assert.equal(tracked.scope.verdict, 'admitted');
    assert.match(tracked.scope.rule, /a link to it would be rejected as excluded/);
    assert.deepEqual([plain.sameAs, plain.origin], [`${origin}/a?utm_source=mail`, 'argument 2']);
    assert.deepEqual(tracked.address, { verdict: 'allowed', allowed: ['127.61.0.1'], refused: [] });
    assert.deepEqual(inside.address, { verdict: 'forbidden-address', allowed: [], refused: ['10.1.2.3 (private)'] });
    assert.deepEqual(both.address, { verdict: 'allowed', allowed: ['127.61.0.1'], refused: ['10.1.2.4 (private)'] });
    assert.deepEqual([literal.scope.verdict, literal.scope.reason], ['dropped', 'forbidden-address']);
    assert.deepEqual([block.scope.verdict, block.scope.reason], ['dropped', 'blocklisted']);
    assert.match(unknown.address.verdict, /^(?:timeout|failed)/, 'the name server does not answer');
    for (const { robots } of seeds) assert.equal(robots.verdict, 'not asked');
    assert.deepEqual(asked(), []);
  });

  test('R-D4 --live-robots asks each origin once, follows its redirect, and asks for no page', async () => {
    const { seeds } = await report(
      '--live-robots',
      ...[`${web.origin('ruled.test')}/private/x`, `${web.origin('ruled.test')}/open`, web.origin('moved.test'), web.origin('none.test')],
      `http://inside.test:${web.port}/`,
    );
    const [secret, open, moved, none, inside] = seeds.map(({ robots }) => robots);
    assert.deepEqual(secret, { verdict: 'disallowed', line: 2, rule: 'Disallow: /private/' });
    assert.deepEqual(open, { verdict: 'allowed' });
    assert.equal(moved?.verdict, 'disallowed');
    assert.match(none?.note ?? '', /there is none \(status 404\)/);
    assert.deepEqual(inside, { verdict: 'not asked', note: 'there is no address to ask' });
    await web.idle();
    assert.deepEqual(asked().sort(), ['moved.test/robots.txt', 'moved.test/rules.txt', 'none.test/robots.txt', 'ruled.test/robots.txt']);
    assert.ok(!existsSync(out));
  });

  test('people read the same: seeds first, then each key with its origin', async () => {
    const { code, stdout } = await run(...base, `${web.origin('ruled.test')}/x`);
    assert.equal(code, 0);
    assert.match(stdout, /^Dry run: nothing is fetched and nothing is written\.\n/);
    assert.match(stdout, /\n {4}address {5}allowed: 127\.61\.0\.1\n/);
    assert.match(stdout, /\n {2}politeness\.delay +20ms {2}\(--delay\)\n/);
    assert.match(stdout, /\n {2}robots\.ttl +1d {2}\(default\)\n/);
  });

  test('more seeds than are looked at are counted', async () => {
    const file = join(dir, 'many.txt');
    writeFileSync(file, Array.from({ length: 130 }, (_, n) => `${web.origin('none.test')}/${n}`).join('\n'));
    const { seeds, seedsLeftOut } = await report('--seeds', file);
    assert.deepEqual([seeds.length, seedsLeftOut], [100, 30]);
    assert.equal(seeds[99]?.origin, `${file}:100`);
  });

  test('what a crawl would refuse it refuses too: no seed, and a directory with other rules', async () => {
    const none = await run('--out', out);
    assert.equal(none.code, 2);
    assert.match(none.stderr, /PORTOLAN_SEED_NONE/);
    const { command, args } = portolan('crawl', web.origin('none.test'), ...base, '--quiet', '--threads', '1', '--delay-factor', '0');
    assert.equal((await capture(command, args)).code, 0);
    assert.equal((await report(web.origin('none.test'))).directory.holds, 'a crawl');
    const other = await run(...base, web.origin('none.test'), '--scope', 'domain');
    assert.equal(other.code, 3);
    assert.match(other.stderr, /PORTOLAN_STATE_MISMATCH: .*scope was host, is domain/);
    assert.equal((await run(...base, web.origin('none.test'), '--scope', 'domain', '--force')).code, 0);
  });
});
