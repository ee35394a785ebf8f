/**
 * The harness is tried on a toy that keeps its promises and on toys that each break one; then the product is killed, over 100 times in crawls of
 * several shapes. The seed is PORTOLAN_SEED (default: the clock), printed by every run. A campaign of any length: test/durability/kill.ts.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portolan } from '../support/process.ts';
import { type KillCrawlResult, killCrawl, killShape } from './kill.ts';
import { SHAPES } from './shapes.ts';
import { COMMIT_MS, FLAWS } from './toy-crawler.ts';

const TOY = fileURLToPath(new URL('./toy-crawler.ts', import.meta.url));
const KILLS_MIN = 100;
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
      web: { hosts: 6, pages: 30, slowHosts: 2, slowPages: 2, crawlDelayS: 3, troubledHosts: 0, wide: 0, shared: 0, seed: 7, net: 62 },
      warc: false,
      shards: 1,
      eventsMin: 3,
      kills: 4,
      gapMs: 60,
      commitIntervalMs: COMMIT_MS,
      dir,
      program: (...args) => ({ command: process.execPath, args: [TOY, ...args] }),
      extraFlags: flaw === undefined ? [] : ['--flaw', flaw],
    }),
  );
}

describe('the kill harness', { concurrency: 3 }, () => {
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

const results: KillCrawlResult[] = [];

describe('a crawl that is killed', { skip: missing, concurrency: 3 }, () => {
  SHAPES.forEach((shape, index) => {
    test(`R-L1 R-L2 R-C8 R-B5 R-A7 ${shape.name}: nothing is lost, at most two commit intervals are repeated, no pause is shortened (seed ${SEED + index})`, async (t) => {
      const result = await inScratch((dir) => killShape(shape, SEED + index, 70 + index, shape.kills, dir));
      results.push(result);
      t.diagnostic(JSON.stringify(result));
      assert.deepEqual(result.broken, [], `seed ${SEED + index}`);
      assert.ok(result.kills > 0, 'the crawl ended before it could be killed');
    });
  });
});

describe('all kills together', { skip: missing }, () => {
  test('R-L1 there were over a hundred kills, at least a third of them within 50 ms of a commit or a rotation', () => {
    const kills = results.reduce((sum, result) => sum + result.kills, 0);
    const triggered = results.reduce((sum, result) => sum + result.triggered, 0);
    assert.ok(kills >= KILLS_MIN, `only ${kills} kills`);
    assert.ok(triggered * 3 >= kills, `only ${triggered} of ${kills} kills followed a commit or a rotation`);
  });
});
