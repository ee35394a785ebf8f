/** Files of a crawl that are lost, cut or overwritten behind its back: repaired where the rest of the state knows enough, otherwise told in a sentence. */
import assert from 'node:assert/strict';
import { closeSync, cpSync, openSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { capture, portolan } from '../support/process.ts';
import { verified } from '../support/verified.ts';
import { assertWhole, crawlToEnd, notices, recount, type SmallWeb, startCrawl, withSmallWeb } from './small-crawl.ts';
import { pageRows, WarcCheck } from './warc-check.ts';

const STATE_EXIT_CODE = 3;
const HOSTS = 3;
const PAGES = 12;

/** A finished crawl, copied for each test. */
let web: SmallWeb;
let scratch: string;
let finished: string;
let release: () => void = () => {};

before(async () => {
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await new Promise<void>((ready, failed) => {
    withSmallWeb({ hosts: HOSTS, pages: PAGES, net: 170, wide: 20 }, async (small, dir) => {
      web = small;
      scratch = dir;
      finished = join(dir, 'finished');
      const run = await crawlToEnd(web, finished);
      assert.equal(run.code, 0, run.stderr);
      ready();
      await held;
    }).catch(failed);
  });
});
after(() => release());

function copy(name: string): string {
  const out = join(scratch, name);
  cpSync(finished, out, { recursive: true });
  return out;
}

/** The largest file of the kind: its shard has pages. */
function largest(out: string, dir: string): string {
  const files = readdirSync(join(out, dir)).map((name) => join(out, dir, name));
  return files.sort((a, b) => statSync(b).size - statSync(a).size)[0] ?? '';
}

function overwrite(file: string, at: number, bytes: Uint8Array): void {
  const fd = openSync(file, 'r+');
  writeSync(fd, bytes, 0, bytes.length, at);
  closeSync(fd);
}

/** Stops a crawl in an orderly way when so many pages were served. */
async function crawlHalf(small: SmallWeb, out: string, pages: number, flags: readonly string[] = []): Promise<void> {
  const running = startCrawl(small, out, flags);
  while (small.log.pages().length < pages) await sleep(10);
  running.signal('SIGINT');
  assert.equal((await running.ended).code, 130, running.complaints());
  assert.ok(small.log.missing(small.expected).length > 0, 'the crawl had not ended');
}

async function statusSays(out: string): Promise<string> {
  const { command, args } = portolan('status', out, '--recount', '--json');
  const { code, stderr } = await capture(command, args);
  assert.equal(code, STATE_EXIT_CODE, stderr);
  return stderr;
}

describe('R-L1 R-L3 damage to the output', () => {
  test('a WARC file that is shorter than the last commit: its pages are fetched again, counted and told, the others are not', async () => {
    const out = copy('short-warc');
    const file = largest(out, 'warc');
    const whole = statSync(file).size;
    truncateSync(file, Math.floor(whole / 2));
    const requestsBefore = web.log.pages().length;
    const run = await crawlToEnd(web, out);
    assert.equal(run.code, 0, run.stderr);
    assert.match(notices(run), /has lost [\d,]+ bytes? that were committed; [\d,]+ pages? (?:are|is) fetched again/);
    const again = web.log.pages().length - requestsBefore;
    const lost = Number(JSON.parse(run.stdout.split('\n').at(-1) ?? '{}').lostOutput);
    assert.ok(again > 0 && again < HOSTS * PAGES, `${again} pages are fetched again`);
    assert.equal(lost, again);
    assert.equal((await recount(out)).unaccounted, 0);
    const check = new WarcCheck(out);
    const stale = await check.atEnd();
    // The first rows of the pages that were fetched again point at what is gone.
    assert.equal(stale.length, again, stale.join('\n'));
    assert.equal((await crawlToEnd(web, out)).code, 0);
    assert.equal(web.log.pages().length - requestsBefore, again, 'a third run fetches nothing');
  });

  test('a WARC file with bytes changed in its middle: what is no longer whole is fetched again, and the file is readable', async () => {
    const out = copy('changed-warc');
    const file = largest(out, 'warc');
    overwrite(file, Math.floor(statSync(file).size / 2), Buffer.alloc(16, 0xa5));
    const run = await crawlToEnd(web, out);
    assert.equal(run.code, 0, run.stderr);
    assert.match(notices(run), /is not what was committed; [\d,]+ pages? (?:are|is) fetched again/);
    assert.equal((await recount(out)).unaccounted, 0);
    assert.deepEqual(
      (await new WarcCheck(out).atEnd()).filter((finding) => !finding.includes('has no record of it')),
      [],
    );
  });

  test('pages.jsonl that is shorter than the last commit: each outcome stands there once again', async () => {
    const out = copy('short-pages');
    const file = largest(out, 'pages');
    truncateSync(file, Math.floor(statSync(file).size / 2));
    const requestsBefore = web.log.pages().length;
    const run = await crawlToEnd(web, out);
    assert.equal(run.code, 0, run.stderr);
    assert.match(
      notices(run),
      /pages\.jsonl has lost [\d,]+ bytes? that were committed; [\d,]+ pages? (?:are|is) fetched again, [\d,]+ lines? of (?:dropped URLs are|a dropped URL is) written again/,
    );
    const again = web.log.pages().length - requestsBefore;
    assert.ok(again > 0 && again < HOSTS * PAGES, `${again} pages are fetched again`);
    await assertWhole(web, out);
    const drops = pageRows(out).filter((row) => row.outcome === 'dropped');
    assert.equal(drops.length, HOSTS * PAGES * 20);
    assert.equal(new Set(drops.map((row) => row.url)).size, drops.length);
  });

  test('a ledger that is shorter than the last commit is told: evidence is missing', async () => {
    const out = copy('short-ledger');
    const file = largest(out, 'ledger');
    truncateSync(file, Math.floor(statSync(file).size / 2));
    const run = await crawlToEnd(web, out);
    assert.equal(run.code, 0, run.stderr);
    assert.match(notices(run), /politeness ledger has lost [\d,]+ bytes?/);
    await assertWhole(web, out);
    assert.ok(((await verified(out)).violations['evidence-missing'] ?? 0) > 0, 'verify says so, too');
  });
});

describe('R-L1 R-G6 damage to the seen set', { concurrency: 3 }, () => {
  const flags = ['--memory', '256KiB'];

  for (const [what, net, harm] of [
    ['is deleted', 173, (file: string) => rmSync(file)],
    ['is cut', 174, (file: string) => truncateSync(file, 100)],
    [
      'has its blocks changed',
      175,
      (file: string) => {
        for (const block of [0, 1, 2]) overwrite(file, block * 4_096 + 64, Buffer.alloc(64, 0x5a));
      },
    ],
  ] as const) {
    test(`a run that ${what}: the set is rebuilt from the rows, and nothing is fetched twice`, async () => {
      await withSmallWeb({ hosts: 2, pages: 60, net, wide: 40 }, async (small, dir) => {
        const out = join(dir, 'out');
        const config = join(dir, 'config.json');
        writeFileSync(config, JSON.stringify({ run: { shards: 1, commitInterval: '200ms' } }));
        const all = [...flags, '--config', config];
        await crawlHalf(small, out, 70, all);
        const runs = join(out, 'state', 'shard-0', 'seen');
        const [run = ''] = readdirSync(runs).sort();
        assert.notEqual(run, '', 'a run was written');
        harm(join(runs, run));
        let end = await crawlToEnd(small, out, all);
        if (what === 'has its blocks changed') {
          // Met only when a block is read: the crawl ends with the code, and the next start rebuilds.
          assert.equal(end.code, STATE_EXIT_CODE, end.stderr);
          assert.match(end.stderr, /PORTOLAN_STATE_DAMAGED: seen set: /);
          end = await crawlToEnd(small, out, all);
        }
        assert.equal(end.code, 0, end.stderr);
        assert.match(notices(end), /seen set: .*; it is rebuilt from the page, queue and fate rows/);
        await assertWhole(small, out);
        // What was in flight or not committed when the damage was met is asked for again.
        const repeated = [...small.log.repeats()].filter(([url]) => !url.endsWith('/robots.txt')).length;
        assert.ok(repeated <= (what === 'has its blocks changed' ? 10 : 0), `${repeated} pages are fetched twice`);
      });
    });
  }
});

describe('R-L3 damage to the state', { concurrency: 3 }, () => {
  const refused = async (out: string, says: RegExp): Promise<void> => {
    const before = web.log.entries().length;
    const run = await crawlToEnd(web, out);
    assert.equal(run.code, STATE_EXIT_CODE, run.stderr);
    assert.match(run.stderr, says);
    assert.match(run.stderr, /what to do: /);
    assert.doesNotMatch(run.stderr, /\n\s+at /, 'a sentence, not a stack');
    assert.equal(web.log.entries().length, before, 'nothing was asked for');
  };

  test('crawl.json that is no JSON, lacks a field, or is gone', async () => {
    const out = copy('meta');
    const file = join(out, 'crawl.json');
    const good = readFileSync(file, 'utf8');
    for (const bad of ['', '{"format":1', '{"format":1,"shards":4}', good.replace(/"shards": \d+/, '"shards": -1')]) {
      writeFileSync(file, bad);
      await refused(out, /PORTOLAN_STATE_DAMAGED: crawl\.json cannot be read/);
      assert.match(await statusSays(out), /PORTOLAN_STATE_DAMAGED/);
    }
    rmSync(file);
    await refused(out, /PORTOLAN_STATE_DAMAGED: crawl\.json is gone/);
    writeFileSync(file, good.replace(/"format": \d+/, '"format": 99'));
    await refused(out, /PORTOLAN_STATE_NEWER/);
  });

  test('a database that is none, is damaged inside, or is gone', async () => {
    const head = copy('database-head');
    overwrite(join(head, 'state', 'shard-1', 'state.db'), 0, Buffer.from('this is no database at all'));
    await refused(head, /PORTOLAN_STATE_DAMAGED: the state of shard 1 .*cannot be opened/);
    assert.match(await statusSays(head), /PORTOLAN_STATE_DAMAGED/);
    const inside = copy('database-inside');
    const file = join(inside, 'state', 'shard-1', 'state.db');
    overwrite(file, 4_096, Buffer.alloc(statSync(file).size - 4_096, 0x5a));
    await refused(inside, /PORTOLAN_STATE_DAMAGED/);
    assert.match(await statusSays(inside), /PORTOLAN_STATE_DAMAGED/);
    for (const name of ['gone', 'empty']) {
      const out = copy(`database-${name}`);
      const database = join(out, 'state', 'shard-2', 'state.db');
      rmSync(database);
      if (name === 'empty') writeFileSync(database, '');
      await refused(out, /PORTOLAN_STATE_DAMAGED: the database of shard 2 is gone, but not its output/);
    }
  });

  test('a database of another shard', async () => {
    const out = copy('database-swapped');
    cpSync(join(out, 'state', 'shard-1', 'state.db'), join(out, 'state', 'shard-3', 'state.db'));
    await refused(out, /PORTOLAN_STATE_DAMAGED: the database of shard 3 says that it is shard 1/);
  });
});

describe('R-C8 a clock that was set back while the crawl was down', () => {
  test('hosts and addresses wait what was left of their pauses, not the step of the clock', async () => {
    await withSmallWeb({ hosts: 3, pages: 20, net: 172, delayMs: 10 }, async (small, dir) => {
      const out = join(dir, 'out');
      await crawlHalf(small, out, 15);
      // As if the last run had been a day later than now.
      const dayMs = 86_400_000;
      for (const shard of readdirSync(join(out, 'state')).filter((name) => name.startsWith('shard-'))) {
        const db = new Database(join(out, 'state', shard, 'state.db'));
        db.exec(`UPDATE host SET last_end_ms = last_end_ms + ${dayMs}, due_ms = due_ms + ${dayMs},
          wait_until_ms = CASE WHEN wait_until_ms > 0 THEN wait_until_ms + ${dayMs} ELSE 0 END`);
        const { value } = db.prepare("SELECT value FROM meta WHERE key = 'marks'").get() as { value: string };
        const marks = value.replace(/"atMs":(\d+)/, (_, ms: string) => `"atMs":${Number(ms) + dayMs}`);
        db.prepare("UPDATE meta SET value = ? WHERE key = 'marks'").run(marks);
        db.close();
      }
      const again = await crawlToEnd(small, out);
      assert.equal(again.code, 0, `${again.signal} ${again.stderr}`);
      assert.match(notices(again), /the clock was set back by \d+ s since the last commit/);
      await assertWhole(small, out);
      assert.deepEqual([...small.log.repeats()], []);
      for (const host of small.log.hosts()) small.log.assertGap(host, 40);
    });
  });
});
