/** Signals at any moment: an orderly stop leaves a clean state and repeats nothing; the same command goes on. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CLOCK_SLACK_MS } from '../support/access-log.ts';
import { assertWhole, crawlToEnd, GAP_MS, recount, type SmallWeb, startCrawl, withSmallWeb } from './small-crawl.ts';

const INTERRUPTED = 130;

/** Resolves when the web has been asked for so many pages. */
async function pagesServed(web: SmallWeb, count: number): Promise<void> {
  for (let tries = 0; web.log.pages().length < count; tries++) {
    assert.ok(tries < 3_000, 'the crawl makes progress');
    await sleep(10);
  }
}

/** The crawl was stopped in an orderly way at some moment before; it is run to its end, and no page was asked for twice. */
async function assertGoesOn(web: SmallWeb, out: string): Promise<void> {
  const again = await crawlToEnd(web, out);
  assert.equal(again.code, 0, again.stderr);
  await assertWhole(web, out);
  assert.deepEqual([...web.log.repeats()], []);
}

describe('R-L2 R-C8 a crawl that gets a signal', { concurrency: 3 }, () => {
  for (const [index, signal] of (['SIGINT', 'SIGTERM'] as const).entries()) {
    test(`${signal} in the middle ends the exchanges in flight, leaves a clean state and repeats nothing`, async () => {
      await withSmallWeb({ hosts: 4, pages: 40, net: 160 + index, delayMs: 20 }, async (web, dir) => {
        const out = join(dir, 'out');
        const running = startCrawl(web, out);
        await pagesServed(web, 30);
        running.signal(signal);
        const end = await running.ended;
        assert.equal(end.code, INTERRUPTED, running.complaints());
        const { unaccounted } = await recount(out);
        assert.equal(unaccounted, 0);
        assert.ok(
          web.log.entries().every((access) => access.whole),
          'no exchange was broken off',
        );
        assert.ok(web.log.missing(web.expected).length > 0, 'the crawl had not ended');
        await assertGoesOn(web, out);
        for (const host of web.log.hosts()) web.log.assertGap(host, GAP_MS);
      });
    });
  }

  test('a signal while the crawl opens, at one moment after the other, ends it and harms nothing', async (t) => {
    await withSmallWeb({ hosts: 2, pages: 8, net: 163, delayMs: 20 }, async (web, dir) => {
      const ends: string[] = [];
      // While the shards open, each time in a new directory: the handler stands by then.
      for (const file of ['crawl.json', 'state/shard-0/state.db', 'state/shard-3/state.db', 'ledger']) {
        const fresh = join(dir, `fresh-${ends.length}`);
        const running = startCrawl(web, fresh);
        while (!existsSync(join(fresh, file))) await sleep(1);
        running.signal('SIGINT');
        const { code, signal } = await running.ended;
        ends.push(`${file}: ${code ?? signal}`);
        assert.ok(code === INTERRUPTED || signal === 'SIGINT', `${code} ${signal} ${running.complaints()}`);
        const whole = existsSync(join(fresh, 'crawl.json')) ? await recount(fresh) : { unaccounted: 0 };
        assert.equal(whole.unaccounted, 0);
      }
      web.log.clear();
      const out = join(dir, 'out');
      for (const afterMs of [30, 150, 300, 450, 600, 800, 1_000]) {
        const running = startCrawl(web, out);
        await sleep(afterMs);
        running.signal('SIGINT');
        const { code, signal } = await running.ended;
        ends.push(`${afterMs}: ${code ?? signal}`);
        assert.ok(code === INTERRUPTED || code === 0 || signal === 'SIGINT', `${code} ${signal} ${running.complaints()}`);
      }
      t.diagnostic(ends.join(', '));
      await assertGoesOn(web, out);
    });
  });

  test('twice stops at once; what was committed stays', async () => {
    await withSmallWeb({ hosts: 2, pages: 30, net: 164, delayMs: 1_500 }, async (web, dir) => {
      const out = join(dir, 'out');
      const running = startCrawl(web, out);
      await pagesServed(web, 2);
      running.signal('SIGINT');
      await sleep(100);
      const before = Date.now();
      running.signal('SIGINT');
      const end = await running.ended;
      assert.equal(end.code, INTERRUPTED, running.complaints());
      assert.ok(end.atMs - before < 1_400, 'it did not wait for the exchange in flight');
      const { unaccounted } = await recount(out);
      assert.equal(unaccounted, 0);
    });
  });

  test('stopped for five seconds and let go on it loses nothing, repeats nothing and keeps its pauses', async () => {
    await withSmallWeb({ hosts: 4, pages: 40, net: 165, delayMs: 20 }, async (web, dir) => {
      const out = join(dir, 'out');
      const running = startCrawl(web, out);
      await pagesServed(web, 30);
      running.signal('SIGSTOP');
      await sleep(5_000);
      running.signal('SIGCONT');
      const end = await running.ended;
      assert.equal(end.code, 0, running.complaints());
      await assertWhole(web, out);
      assert.deepEqual([...web.log.repeats()], []);
      const pauses = web.log.hosts().flatMap((host) => web.log.pauses('host', host));
      assert.deepEqual(
        pauses.filter(({ ms }) => ms < GAP_MS - CLOCK_SLACK_MS),
        [],
      );
    });
  });
});
