/**
 * `portolan retry`: after an outage URLs that have ended wait again and the next run fetches them; both laws hold in between and afterwards, which the recount at the end
 * of each run derives anew.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { lockCrawl } from '../../src/adapters/sqlite/crawl-lock.ts';
import { retry } from '../../src/cli/retry.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import { capture, portolan } from '../support/process.ts';
import { page, startWebServer } from '../support/web-server.ts';
import { crawl, endings, recount, scratch, webFor } from './crawl.ts';

const QUICK: ConfigInput = {
  scope: { mode: 'domain' },
  politeness: { delay: 10, faultPause: 10, faultLimit: 1, setAsideLimit: 1 },
  fetch: { attempts: 1 },
  run: { shards: 2 },
};

async function retryProcess(
  ...args: readonly string[]
): Promise<{ readonly urls: number; readonly hosts: number; readonly byReason: Readonly<Record<string, number>> }> {
  const { command, args: all } = portolan('retry', ...args, '--json');
  const { code, stdout, stderr } = await capture(command, all);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

test('R-C5 drops and failures of an outage wait again, and are fetched by the next run', async (t) => {
  const out = join(scratch(t), 'out');
  let isDown = true;
  let forbids = true;
  const web = await webFor(t, {
    name: 'one.test',
    address: '127.0.0.1',
    robots: () => ({ body: `User-agent: *\nDisallow: ${forbids ? '/private/' : '/nothing/'}\n` }),
    page: ({ path, authority }) => {
      if (path === '/') {
        const dead = ['', 'x', 'y', 'z'].map((one) => `http://dead.one.test:${authority.split(':')[1]}/${one}`);
        return page('home', ['/500', '/gone', '/fine', '/private/x', ...dead]);
      }
      if (path === '/500' && isDown) return { status: 500, body: 'oh' };
      return path === '/gone' ? undefined : page(path, ['/']);
    },
  });
  const dns = { resolve: ['dead.one.test:127.0.0.9'] };
  const first = await crawl({ web, out, seeds: [`${web.origin('one.test')}/`], config: { ...QUICK, dns } });
  const dead = (path: string): string => `http://dead.one.test:${web.port}/${path}`;
  const one = (path: string): string => `${web.origin('one.test')}/${path}`;
  const before = {
    [one('')]: 'ok',
    [one('500')]: 'server-error',
    [one('gone')]: 'not-found',
    [one('fine')]: 'ok',
    [one('private/x')]: 'robots-disallowed',
  };
  const lost = Object.fromEntries(['', 'x', 'y', 'z'].map((path) => [dead(path), 'host-retired']));
  assert.deepEqual(endings(first.rows), Object.fromEntries(Object.entries({ ...before, ...lost }).sort()));

  assert.deepEqual(await retryProcess(out, '--reason', 'timeout'), { urls: 0, hosts: 0, byReason: {} });
  assert.deepEqual(await retryProcess(out, '--reason', 'host-retired', '--host', `nobody.test:${web.port}`), {
    urls: 0,
    hosts: 0,
    byReason: {},
  });
  assert.deepEqual(await retryProcess(out, '--reason', 'host-retired,server-error,robots-disallowed'), {
    urls: 6,
    hosts: 2,
    byReason: { 'host-retired': 4, 'server-error': 1, 'robots-disallowed': 1 },
  });
  const between = await recount(out);
  assert.deepEqual([between.queued, between.dropped['host-retired'], between.fetched['server-error']], [6, 0, 0]);
  const { command, args } = portolan('explain', out, dead('y'), '--json');
  assert.equal((JSON.parse((await capture(command, args)).stdout) as { state: string }).state, 'queued');

  isDown = false;
  forbids = false;
  const back = await startWebServer({
    port: web.port,
    hosts: [{ name: 'dead.one.test', address: '127.0.0.9', page: ({ path }) => page(path, []) }],
  });
  t.after(() => back.close());
  const second = await crawl({ web, out, config: { ...QUICK, dns } });
  const counts = await recount(out);
  assert.deepEqual([counts.queued, counts.fetched['ok'], counts.fetched['not-found']], [0, 8, 1]);
  assert.equal(
    Object.values(counts.dropped).reduce((a, b) => a + b, 0),
    0,
  );
  assert.equal(counts.admitted, between.admitted);
  const last = second.rows.slice(first.rows.length).map((row) => [row.url, row.outcome]);
  assert.deepEqual(last.sort(), [...Object.keys(lost), one('500'), one('private/x')].map((url) => [url, 'ok']).sort());
});

test('a crawl that another process has open, and a reason that is none, are refused', async (t) => {
  const out = join(scratch(t), 'out');
  const web = await webFor(t, { name: 'one.test', address: '127.0.0.1', page: () => page('home', []) });
  await crawl({ web, out, seeds: [`${web.origin('one.test')}/`], config: QUICK });
  const unlock = lockCrawl(join(out, 'state', 'lock.db'));
  await assert.rejects(retry(out, { reason: 'timeout' }), { code: 'PORTOLAN_STATE_LOCKED' });
  unlock();
  for (const reason of ['ok', 'redirect', 'out-of-scope', 'nonsense', '']) {
    await assert.rejects(retry(out, { reason }), { code: 'PORTOLAN_USAGE_INVALID' }, reason);
  }
});
