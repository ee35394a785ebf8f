/**
 * The N-th sync or write fails, for one N after the other, in a real crawl under strace: the process must say so with a code, end with the documented
 * exit code and never hang; the same command then finishes, and nothing is missing, doubled or miscounted.
 *
 * A handful of places in CI; with PORTOLAN_FAULTS=all every N until a run is clean. strace counts per thread: the first thread to get there fails.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { assertWhole, crawlToEnd, type SmallWebOptions, withoutStrace, withSmallWeb } from './small-crawl.ts';

const WEB: Omit<SmallWebOptions, 'net'> = { hosts: 3, pages: 7 };
const SHARDS = [0, 1, 2, 3];
const DISK_EXIT_CODE = 4;
const ALL_MAX = 400;

interface FaultSeries {
  readonly name: string;
  readonly inject: string;
  /** Only calls on these files, relative to the directory of the crawl; every file when empty. */
  readonly files: readonly string[];
  readonly says: RegExp;
  /** Which N in CI. */
  readonly places: readonly number[];
}

const databases = SHARDS.flatMap((shard) => ['', '-wal', '-shm', '-journal'].map((end) => `state/shard-${shard}/state.db${end}`));
const outputs = SHARDS.flatMap((shard) => [
  `warc/portolan-s${shard}-00000.warc.gz`,
  `pages/pages-s${shard}-00000.jsonl`,
  `ledger/ledger-s${shard}-00000.ledger`,
]);

const SERIES: readonly FaultSeries[] = [
  {
    name: 'a sync fails with EIO',
    inject: 'fdatasync,fsync:error=EIO',
    files: [],
    says: /PORTOLAN_(DISK_FAILED|STORE_COMMIT_FAILED)/,
    places: [1, 7, 13],
  },
  {
    name: 'the sync behind a commit fails with EIO',
    inject: 'fdatasync:error=EIO',
    files: SHARDS.map((shard) => `state/shard-${shard}/state.db-wal`),
    says: /PORTOLAN_STORE_COMMIT_FAILED/,
    places: [2],
  },
  {
    name: 'a write of output finds the disk full',
    inject: 'write:error=ENOSPC',
    files: outputs,
    says: /PORTOLAN_DISK_FULL/,
    places: [1, 9],
  },
  {
    name: 'a write of the state finds the disk full',
    inject: 'pwrite64:error=ENOSPC',
    files: [...databases, 'state/lock.db', 'state/lock.db-journal'],
    says: /PORTOLAN_(DISK_FULL|STORE_COMMIT_FAILED)/,
    places: [1, 80, 120],
  },
  {
    name: 'a write of the state fails with EIO',
    inject: 'pwrite64:error=EIO',
    files: databases,
    says: /PORTOLAN_(STORE_COMMIT_FAILED|DISK_FAILED)/,
    places: [90],
  },
  {
    name: 'the metadata cannot be written',
    inject: 'write:error=ENOSPC',
    files: ['crawl.json.tmp'],
    says: /PORTOLAN_DISK_FULL/,
    places: [1],
  },
  {
    name: 'the report cannot be written',
    inject: 'write:error=ENOSPC',
    files: ['report.json.draft'],
    says: /PORTOLAN_DISK_FULL/,
    places: [1],
  },
];

/** False when the run was over before the N-th call: there was nothing to fail. */
async function oneFault(series: FaultSeries, n: number, net: number): Promise<boolean> {
  return withSmallWeb({ ...WEB, net }, async (web, dir) => {
    const out = join(dir, 'out');
    const trace = join(dir, 'trace');
    const strace = ['strace', '-f', '-o', trace, '-e', 'trace=write,pwrite64,fsync,fdatasync', '-e', `inject=${series.inject}:when=${n}`];
    const run = await crawlToEnd(web, out, [], [...strace, ...series.files.flatMap((file) => ['-P', join(out, file)])]);
    assert.equal(run.signal, null, `the run hung: ${run.stderr}`);
    if (!readFileSync(trace, 'latin1').includes('(INJECTED)')) {
      assert.equal(run.code, 0, run.stderr);
      return false;
    }
    assert.match(run.stderr, series.says);
    assert.match(run.stderr, /what to do: /);
    assert.equal(run.code, DISK_EXIT_CODE, run.stderr);
    const again = await crawlToEnd(web, out);
    assert.equal(again.code, 0, again.stderr);
    await assertWhole(web, out);
    return true;
  });
}

const skip = await withoutStrace();
const all = process.env['PORTOLAN_FAULTS'] === 'all';

describe('R-L1 R-L3 a crawl whose disk fails', { skip, concurrency: 3 }, () => {
  SERIES.forEach((series, index) => {
    test(`${series.name}: it says so, ends, and the same command finishes`, async (t) => {
      if (!all) {
        let failed = 0;
        for (const n of series.places) if (await oneFault(series, n, 140 + index)) failed++;
        assert.ok(failed > 0, 'no call was made to fail');
        return;
      }
      let n = 1;
      while (n < ALL_MAX && (await oneFault(series, n, 140 + index))) n++;
      t.diagnostic(`${n - 1} places`);
    });
  });
});
