/**
 * The harness is tried on a toy that keeps its promises and on toys that each break one; then the product is killed. The number of kills is
 * PORTOLAN_KILLS (default 100); the seed PORTOLAN_SEED (default: the clock), printed by every run.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portolan } from '../support/process.ts';
import { KILL_WEB, type KillCrawlResult, killCrawl } from './kill.ts';
import { COMMIT_MS, FLAWS } from './toy-crawler.ts';

const TOY = fileURLToPath(new URL('./toy-crawler.ts', import.meta.url));
const KILLS = Number(process.env['PORTOLAN_KILLS'] ?? 100);
const KILLS_PER_CRAWL = 25;
const SEED = Number(process.env['PORTOLAN_SEED'] ?? Date.now() % 1_000_000);

async function inScratch<T>(run: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-kill-'));
  try {
    return await run(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function killToy(flaw: string | undefined): Promise<KillCrawlResult> {
  return inScratch((dir) =>
    killCrawl({
      web: { hosts: 6, pages: 30, slowHosts: 2, slowPages: 2, crawlDelayS: 3, seed: 7, net: 62 },
      kills: 4,
      gapMs: 60,
      commitIntervalMs: COMMIT_MS,
      dir,
      program: (...args) => ({ command: process.execPath, args: [TOY, ...args] }),
      extraFlags: flaw === undefined ? [] : ['--flaw', flaw],
    }),
  );
}

describe('the kill harness', { concurrency: 2 }, () => {
  test('passes a crawler that loses nothing, repeats little and waits after a kill', async () => {
    const result = await killToy(undefined);
    assert.deepEqual(result.broken, []);
    assert.equal(result.kills, 4);
    assert.ok(result.pausesAcrossKills > 0, 'no pause had a kill in it');
  });

  const expectations: Record<(typeof FLAWS)[number], RegExp> = {
    lose: /missing at the server|no row/,
    'forget-debts': /pause too short.*across a kill/,
    'keep-torn-rows': /more than one row/,
    amnesia: /repeated without a kill to excuse it/,
    miscount: /unaccounted after a kill/,
  };
  for (const flaw of FLAWS) {
    test(`catches a crawler with the flaw "${flaw}"`, async () => {
      const told = await killToy(flaw).then(
        (result) => result.broken.join('\n'),
        (error: Error) => error.message,
      );
      assert.match(told, expectations[flaw]);
    });
  }
});

const missing = existsSync(portolan().args[0] ?? '') ? false : 'bin/portolan.js is not there';

describe('a crawl that is killed', { skip: missing }, () => {
  test(`R-L1 R-L2 R-C8 R-B5 R-A7: ${KILLS} kills lose nothing, repeat at most two commit intervals and shorten no pause (seed ${SEED})`, async (t) => {
    let killed = 0;
    let triggered = 0;
    for (let crawl = 0; killed < KILLS; crawl++) {
      const result = await inScratch((dir) =>
        killCrawl({
          web: { ...KILL_WEB, seed: SEED + crawl },
          kills: Math.min(KILLS_PER_CRAWL, KILLS - killed),
          gapMs: 250,
          dir,
        }),
      );
      t.diagnostic(JSON.stringify(result));
      assert.deepEqual(result.broken, [], `seed ${SEED + crawl}`);
      assert.ok(result.kills > 0, 'the crawl ended before it could be killed');
      killed += result.kills;
      triggered += result.triggered;
    }
    assert.ok(triggered * 3 >= killed, `only ${triggered} of ${killed} kills followed a commit`);
  });
});
