/** A program that takes pages is killed again and again: it gets every page at least once, and no page is fetched for it that was committed already. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { CrawlResult } from '../../src/index.ts';
import { gapsOf, site } from '../support/library-site.ts';

const PAGES = 400;
const KILLS = 6;
const PROGRAM = fileURLToPath(new URL('library-program.ts', import.meta.url));

interface End {
  readonly signal: NodeJS.Signals | null;
  readonly code: number | null;
  readonly output: string;
}

test('R-L3: a program that is killed while it takes pages gets each of them at least once', { timeout: 240_000 }, async (t) => {
  const { config, dir, origin, web } = await site(t, PAGES);
  const keys = join(dir, 'keys');
  const lines = (): string[] => (existsSync(keys) ? readFileSync(keys, 'utf8').split('\n').filter(Boolean) : []);

  /** `killAt`: lines of the file at which the program is killed; undefined: it runs to its end. */
  const run = (killAt: number | undefined): Promise<End> =>
    new Promise((resolve) => {
      const child = spawn(process.execPath, [PROGRAM, JSON.stringify(config({ run: { commitInterval: 100 } })), keys], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let output = '';
      child.stdout.on('data', (data: Buffer) => (output += data.toString()));
      const watch = setInterval(() => {
        if (killAt !== undefined && lines().length >= killAt) child.kill('SIGKILL');
      }, 2);
      child.on('close', (code, signal) => {
        clearInterval(watch);
        resolve({ code, signal, output });
      });
    });

  let kills = 0;
  for (let at = 0; at < KILLS; at++) if ((await run(lines().length + 20)).signal === 'SIGKILL') kills++;
  assert.ok(kills >= 3, `${kills} of ${KILLS} runs were killed before their end`);
  const end = await run(undefined);
  assert.equal(end.code, 0);
  const result = JSON.parse(end.output) as CrawlResult;
  assert.deepEqual([result.reason, result.fetched, gapsOf(result), result.unaccounted], ['finished', { ok: PAGES + 1 }, [0, 0], 0]);
  const taken = lines().map((line) => line.split(' '));
  const urls = new Set(taken.map(([, url]) => url));
  assert.deepEqual(
    ['/', ...Array.from({ length: PAGES }, (_, at) => `/${at + 1}`)].filter((path) => !urls.has(origin + path)),
    [],
    'pages that the program never got',
  );
  for (const [, url, bytes] of taken) assert.ok(Number(bytes) > 0, `${url} came without its body`);
  // Twice comes what was taken in the last moments before a kill, whether its taking was not remembered or its page not committed.
  const again = taken.length - urls.size;
  const fetchedAgain = [...web.log.repeats().values()].length;
  t.diagnostic(`${kills} kills: ${again} pages came again, ${fetchedAgain} were fetched again`);
  assert.ok(again <= kills * (50 + 4), `${again} pages came again after ${kills} kills`);
});
