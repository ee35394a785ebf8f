/**
 * Power cuts under the real program: a layer between it and the kernel writes down what no sync has covered, and what is thrown away after each kill is
 * what a disk may have lost. First the layer itself is tried: on files whose end is known, and under a crawl whose syncs it makes lies.
 *
 * The seed is PORTOLAN_SEED (default: the clock). A campaign of any length: node test/durability/power-cut.ts
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { seeded } from '../support/seeded.ts';
import {
  buildLayer,
  CUT_SHAPES,
  type CutCrawlOptions,
  type CutCrawlResult,
  cutCrawl,
  cutPower,
  noCuts,
  withoutLayer,
} from './power-cut.ts';

const SEED = Number(process.env['PORTOLAN_SEED'] ?? Date.now() % 1_000_000);
const CUTS_MIN = 20;
/** So many files show every state in which one of some bytes can be left. */
const FILES = 80;
const GONE = '(no file)';
const skip = withoutLayer();

async function inScratch<T>(run: (dir: string) => T | Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-cut-'));
  try {
    return await run(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** What a program does before the steps of a test, in so many directories: a file `f` with "aaaa" in it, durable with its name. */
function programOf(steps: string): string {
  return `
    const fs = require('node:fs'), root = process.env.POWER_CUT_DIR;
    const sync = (path) => { const d = fs.openSync(path, 'r'); fs.fsyncSync(d); fs.closeSync(d); };
    const open = (out) => {
      const file = out + '/f', f = fs.openSync(file, 'a+'), syncDir = () => sync(out);
      fs.writeSync(f, 'aaaa'); fs.fdatasyncSync(f); syncDir();
      return { file, f, syncDir };
    };
    const outs = Array.from({ length: ${FILES} }, (_, n) => root + '/' + n);
    for (const out of outs) fs.mkdirSync(out);
    sync(root);
    for (const { file, f, syncDir } of outs.map(open)) { ${steps} }`;
}

const built = mkdtempSync(join(tmpdir(), 'portolan-layer-'));
const library = skip === false ? buildLayer(built) : '';
after(() => rmSync(built, { recursive: true, force: true }));

/** What a power cut leaves of `f` after these steps, in each of the directories. */
function leftBy(steps: string, { lie = '', last = '' } = {}): Promise<readonly string[]> {
  return inScratch((dir) => {
    const [root, log] = [join(dir, 'root'), join(dir, 'log')];
    for (const path of [root, log]) mkdirSync(path);
    const env = { ...process.env, LD_PRELOAD: library, POWER_CUT_DIR: root, POWER_CUT_LOG: log, POWER_CUT_LIE: lie };
    const { status, signal, stderr } = spawnSync(process.execPath, ['-e', programOf(steps) + last], { env, encoding: 'utf8' });
    assert.ok(status === 0 || signal === 'SIGKILL', stderr);
    cutPower(root, log, seeded(FILES), noCuts());
    const files = Array.from({ length: FILES }, (_, n) => join(root, String(n), 'f'));
    return [...new Set(files.map((file) => (existsSync(file) ? readFileSync(file, 'latin1') : GONE)))].sort();
  });
}

test('CI has a compiler for the layer', () => {
  if (skip !== false) process.stderr.write(`SKIPPED: power cuts were ${skip}; scripts/install-debian.sh brings gcc\n`);
  assert.ok(skip === false || process.env['CI'] === undefined, 'CI has a compiler: scripts/install-debian.sh');
});

describe('the layer that discards what was not synced', { skip }, () => {
  test('keeps what a sync covered, and of the rest all, some or nothing', async () => {
    assert.deepEqual(await leftBy(`fs.writeSync(f, 'bbbb');`), ['aaaa', 'aaaab', 'aaaabb', 'aaaabbb', 'aaaabbbb']);
    assert.deepEqual(await leftBy(`fs.writeSync(f, 'bbbb'); fs.fdatasyncSync(f);`), ['aaaabbbb']);
  });

  test('lets a later write arrive without an earlier one, with zeros between', async () => {
    const left = await leftBy(`fs.writeSync(f, 'bb'); fs.writeSync(f, 'cc');`);
    for (const state of ['aaaa', 'aaaabb', 'aaaa\0\0cc', 'aaaabbcc']) assert.ok(left.includes(state), JSON.stringify(left));
  });

  test('gives back what was written over, and what was cut off', async () => {
    const other = `const g = fs.openSync(file, 'r+');`;
    assert.deepEqual(await leftBy(`${other} fs.writeSync(g, 'XX', 1);`), ['aXXa', 'aXaa', 'aaaa']);
    assert.deepEqual(await leftBy(`${other} fs.ftruncateSync(g, 1);`), ['a', 'aaaa']);
    assert.deepEqual(await leftBy(`fs.openSync(file, 'w');`), ['', 'aaaa']);
  });

  test('undoes names whose directory was not synced: created, removed, renamed', async () => {
    assert.deepEqual(await leftBy(`fs.unlinkSync(file);`), [GONE, 'aaaa']);
    assert.deepEqual(await leftBy(`fs.unlinkSync(file); syncDir();`), [GONE]);
    const draft = `const g = fs.openSync(file + '.new', 'w'); fs.writeSync(g, 'new'); fs.fsyncSync(g); fs.renameSync(file + '.new', file);`;
    assert.deepEqual(await leftBy(draft), ['aaaa', 'new']);
    assert.deepEqual(await leftBy(`${draft} syncDir();`), ['new']);
    assert.deepEqual(await leftBy(`${draft} fs.unlinkSync(file); syncDir(); fs.writeFileSync(file, '');`), ['', GONE]);
  });

  test('does not count a sync that has not ended', async () => {
    const kill = `process.kill(process.pid, 'SIGKILL');`;
    assert.ok((await leftBy(`fs.writeSync(f, 'b'); fs.fsync(f, () => {});`, { last: kill })).includes('aaaa'));
    assert.deepEqual(await leftBy(`fs.writeSync(f, 'b'); fs.fsyncSync(f);`, { last: kill }), ['aaaab']);
  });

  test('makes syncs lies when it is told to', async () => {
    assert.ok((await leftBy('', { lie: '*' })).includes(GONE));
    assert.ok((await leftBy('', { lie: '/f' })).includes(''));
  });
});

/** A crawl so damaged that nothing can be read any more is found out as well. */
function foundOut(options: Omit<CutCrawlOptions, 'dir'>): Promise<string> {
  return inScratch((dir) => cutCrawl({ ...options, dir })).then(
    (result) => result.broken.join('\n'),
    (error: Error) => error.message,
  );
}

const results: CutCrawlResult[] = [];

describe('a crawl that loses its power', { skip, concurrency: 3 }, () => {
  CUT_SHAPES.forEach((shape, index) => {
    test(`R-L1 R-L2 ${shape.name}: nothing that was committed is lost, nothing is doubled, output is whole (seed ${SEED + index})`, async (t) => {
      const result = await inScratch((dir) => cutCrawl({ shape, seed: SEED + index, net: 96 + index, dir }));
      results.push(result);
      t.diagnostic(JSON.stringify(result));
      assert.deepEqual(result.broken, [], `seed ${SEED + index}`);
    });
  });

  test('on a disk that lies about syncs is found out: the layer takes away what a crawl needs', async () => {
    const [shape] = CUT_SHAPES;
    assert.ok(shape !== undefined);
    assert.notEqual(await foundOut({ shape, seed: 3, net: 98, lie: '*', cuts: 6 }), '');
  });
});

describe('all power cuts together', { skip }, () => {
  test(`there were at least ${CUTS_MIN}, and they took writes, parts of writes and names away`, (t) => {
    const total = (of: (result: CutCrawlResult) => number): number => results.reduce((sum, result) => sum + of(result), 0);
    t.diagnostic(`${total(({ lost }) => lost.discarded)} writes discarded, ${total(({ lost }) => lost.torn)} torn`);
    assert.ok(total(({ lost }) => lost.cuts) >= CUTS_MIN);
    assert.ok(total(({ lost }) => lost.discarded) > 0 && total(({ lost }) => lost.torn) > 0);
    assert.ok(total(({ lost }) => lost.durable) > 0);
  });
});
