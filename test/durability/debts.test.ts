/**
 * What a server is owed survives a kill that comes before any commit: the ledger is the log of debts. Each crawl is killed at a moment that is waited
 * for, with another host's request in flight so that nothing has been committed, and started again at once.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Access, CLOCK_SLACK_MS } from '../support/access-log.ts';
import { portolan, type RunningProcess, start } from '../support/process.ts';
import { page, startWebServer, unavailable, type WebHost, type WebServer } from '../support/web-server.ts';

const WAIT_MS_MAX = 40_000;

interface Scene {
  readonly server: WebServer;
  /** The event lines of all its crawls. */
  readonly said: readonly string[];
  start(...moreSeeds: readonly string[]): RunningProcess;
}

async function scene(
  hosts: readonly WebHost[],
  flags: readonly string[],
  config: unknown,
  play: (scene: Scene) => Promise<void>,
): Promise<void> {
  const server = await startWebServer({ hosts });
  const dir = mkdtempSync(join(tmpdir(), 'portolan-debts-'));
  const file = join(dir, 'config.json');
  writeFileSync(file, JSON.stringify(config));
  const seeds = hosts.map((host) => `${server.origin(host.name ?? host.address)}/`);
  const fixed = [
    '--config',
    file,
    '--scope',
    'host',
    '--delay-factor',
    '0',
    '--allow-net',
    '127.0.0.0/8',
    '--out',
    join(dir, 'out'),
    '--json',
  ];
  const resolves = server.resolves().flatMap((pair) => ['--resolve', pair]);
  const running: RunningProcess[] = [];
  const said: string[] = [];
  try {
    await play({
      server,
      said,
      start: (...moreSeeds) => {
        const { command, args } = portolan('crawl', ...seeds, ...moreSeeds, ...fixed, ...resolves, ...flags);
        const crawl = start(command, args, { onLine: (line) => said.push(line) });
        running.push(crawl);
        return crawl;
      },
    });
  } finally {
    for (const crawl of running) crawl.killGroup();
    await Promise.all(running.map((crawl) => crawl.ended));
    await server.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function until<T>(what: string, look: () => T | undefined): Promise<T> {
  for (let waited = 0; waited < WAIT_MS_MAX; waited += 10) {
    const found = look();
    if (found !== undefined) return found;
    await sleep(10);
  }
  throw new Error(`waited too long for ${what}`);
}

async function kill(crawl: RunningProcess): Promise<void> {
  crawl.killGroup();
  await crawl.ended;
}

/** The nth request of a host (or address), counted from 0, as soon as it has ended. */
function nth(server: WebServer, by: 'host' | 'address', name: string, index: number): Promise<Access> {
  return until(`request ${index} of ${name}`, () => server.log.entries().filter((access) => access[by].startsWith(name))[index]);
}

/** A host that keeps a request in flight, so that its shard does not commit for want of anything else to do. */
function busy(net: number): WebHost {
  return { address: `127.${net}.0.9`, robots: { body: '', delayMs: 30_000 }, page: () => page('busy') };
}

const UNCOMMITTED = { run: { shards: 1, threads: 1, commitInterval: '1h' } };

describe('R-C8 R-L2 what is owed when the crawl is killed before a commit', { concurrency: 2 }, () => {
  test('Retry-After of a 503', async () => {
    const host: WebHost = {
      address: '127.181.0.1',
      robots: 'User-agent: *\n',
      page: ({ nth }) => (nth === 1 ? unavailable('8') : page('back')),
    };
    await scene([host, busy(181)], ['--delay', '100ms'], UNCOMMITTED, async ({ server, start }) => {
      const first = start();
      const refused = await nth(server, 'host', host.address, 1);
      assert.equal(refused.status, 503);
      await sleep(300);
      await kill(first);
      start();
      const next = await nth(server, 'host', host.address, 2);
      assert.ok(next.startMs - refused.endMs >= 8_000 - CLOCK_SLACK_MS, `${next.path} after ${next.startMs - refused.endMs} ms`);
    });
  });

  test('Crawl-delay of a robots.txt', async () => {
    const host: WebHost = { address: '127.182.0.1', robots: 'User-agent: *\nCrawl-delay: 8\n', page: () => page('front') };
    await scene([host, busy(182)], ['--delay', '100ms'], UNCOMMITTED, async ({ server, start }) => {
      const first = start();
      const robots = await nth(server, 'host', host.address, 0);
      await sleep(300);
      await kill(first);
      start();
      const next = await nth(server, 'host', host.address, 1);
      assert.ok(next.startMs - robots.endMs >= 8_000 - CLOCK_SLACK_MS, `${next.path} after ${next.startMs - robots.endMs} ms`);
    });
  });

  test('a request that was in flight before the last commit and at the kill: the whole gap from the end of its connection', async () => {
    const gapMs = 6_000;
    const asked: number[] = [];
    const slow: WebHost = {
      address: '127.183.0.1',
      robots: 'User-agent: *\n',
      page: () => {
        asked.push(performance.timeOrigin + performance.now());
        return { ...page('slow'), delayMs: 60_000 };
      },
    };
    const quick: WebHost = { address: '127.183.0.2', robots: 'User-agent: *\n', page: ({ path }) => page(path, [`${path}x`]) };
    const config = { run: { shards: 1, threads: 1, commitInterval: '100ms' } };
    await scene([slow, quick], ['--delay', `${gapMs}ms`], config, async ({ server, start }) => {
      const first = start();
      const inFlightMs = await until('the slow page', () => asked[0]);
      // It is in flight from then on; a page of the other host is committed meanwhile.
      await until('a later page of the other host', () => server.log.pages().find((access) => access.startMs > inFlightMs + 500));
      await sleep(500);
      await kill(first);
      const cut = await nth(server, 'host', slow.address, 1);
      assert.equal(cut.whole, false);
      start();
      const again = await until('the slow page again', () => asked[1]);
      assert.ok(again - cut.endMs >= gapMs - CLOCK_SLACK_MS, `again after ${again - cut.endMs} ms`);
    });
  });

  test('the pause after a failed connection, of a host that this failure retired', async () => {
    const pauseMs = 5_000;
    const asked: number[] = [];
    const noTls = createServer((socket) => {
      asked.push(performance.timeOrigin + performance.now());
      socket.on('error', () => {});
      socket.end('this is no TLS\r\n');
    });
    await new Promise<void>((listening) => noTls.listen(0, '127.185.0.1', listening));
    const { port } = noTls.address() as AddressInfo;
    const politeness = { faultPause: pauseMs, faultLimit: 1, setAside: '1h', setAsideLimit: 1 };
    try {
      await scene([busy(185)], ['--delay', '50ms'], { ...UNCOMMITTED, politeness }, async ({ said, start }) => {
        const first = start(`https://127.185.0.1:${port}/`);
        const failed = await until('the connection', () => asked[0]);
        await until('its retirement', () => (said.some((line) => line.includes('is retired')) ? true : undefined));
        await kill(first);
        start(`https://127.185.0.1:${port}/`);
        const again = await until('the next connection', () => asked[1]);
        assert.ok(again - failed >= pauseMs - CLOCK_SLACK_MS, `again after ${again - failed} ms`);
      });
    } finally {
      noTls.close();
    }
  });

  test('an address: the next host on it waits, after a kill and after an orderly stop', async () => {
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const gapMs = 8_000;
      const hosts = ['one.test', 'two.test'].map(
        (name): WebHost => ({ name, address: '127.184.0.1', robots: 'User-agent: *\n', page: () => page(name) }),
      );
      await scene(
        hosts,
        ['--delay', '50ms', '--address-delay', `${gapMs}ms`],
        { run: { shards: 1, threads: 1 } },
        async ({ server, start }) => {
          const first = start();
          const before = await nth(server, 'address', '127.184.0.1', 0);
          await sleep(1_500);
          first.signal(signal);
          await first.ended;
          start();
          const next = await nth(server, 'address', '127.184.0.1', 1);
          assert.ok(
            next.startMs - before.endMs >= gapMs - CLOCK_SLACK_MS,
            `${signal}: ${next.host}${next.path} after ${next.startMs - before.endMs} ms`,
          );
        },
      );
    }
  });
});
