/** From statuses to the view of a crawl: rates, measures, the constraint, time left, and a time series that survives what a disk can do. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openDisk } from '../../src/adapters/file/disk.ts';
import { emptyTotals, type TotalsSnapshot } from '../../src/engine/accounting.ts';
import { errorsOf, NO_LOAD, type ShardLoad } from '../../src/engine/measurements.ts';
import { Series } from '../../src/engine/series.ts';
import type { ShardStatus } from '../../src/engine/shard.ts';
import { SERIES_FILE, SERIES_SAVE_MS, Watch, type WatchOptions } from '../../src/engine/watch.ts';
import type { Disk } from '../../src/ports/disk.ts';
import { TestDisk } from '../support/test-disk.ts';

const BEGAN = 1_700_000_000_000;
const OPTIONS: WatchOptions = { ceiling: 256, ratePerS: 0, maxPages: 0, maxTimeMs: 0, isEndless: false };

function status(
  shard: number,
  more: Partial<Omit<ShardStatus, 'totals' | 'load'>> & { totals?: Partial<TotalsSnapshot>; load?: Partial<ShardLoad> } = {},
): ShardStatus {
  const { totals, load, ...rest } = more;
  return {
    shard,
    idle: false,
    version: 0,
    commitSeq: 0,
    sentSeq: {},
    takenSeq: {},
    inFlight: 0,
    active: 0,
    hosts: 0,
    apartHosts: 0,
    apartUrls: 0,
    waitMs: 0,
    paused: '',
    ...rest,
    totals: { ...emptyTotals(), ...totals },
    load: { ...NO_LOAD, ...load },
  };
}

/** A crawl of one shard that fetches ten pages a second for `seconds`, and what it shows then. */
function watched(seconds: number, of: (second: number) => ShardStatus, options: Partial<WatchOptions> = {}, notices: string[] = []) {
  const watch = new Watch({ ...OPTIONS, ...options }, (text) => notices.push(text));
  watch.begin(BEGAN, []);
  let view = watch.look(BEGAN, [of(0)], [0.1]);
  for (let quarter = 1; quarter <= seconds * 4; quarter++) view = watch.look(BEGAN + quarter * 250, [of(quarter / 4)], [0.1, 0.3]);
  return { watch, view };
}

const pages = (second: number, queued: number): Partial<TotalsSnapshot> => ({
  admitted: Math.round(second * 10) + queued,
  fetched: { ok: Math.round(second * 10) },
  queued: [queued, 0, 0, 0, 0, 0],
  wireBytes: Math.round(second * 10) * 1_000,
});

describe('the view of a crawl', () => {
  test('rates are of the last seconds, not of all time', () => {
    const { view } = watched(60, (second) => status(0, { totals: pages(Math.max(0, second - 30), 100), inFlight: 2 }));
    assert.ok(Math.abs(view.rates.pagesPerS - 10) < 0.5, String(view.rates.pagesPerS));
    assert.ok(Math.abs(view.rates.bytesPerS - 10_000) < 500);
    assert.deepEqual([view.pages, view.all.queued, view.inFlight, view.ranMs], [300, 100, 2, 60_000]);
  });

  test('a crawl that is resumed has the rate of this run, not one page of all time in its first moment', () => {
    const { view } = watched(0, () => status(0, { totals: { fetched: { ok: 1_000_000 } } }));
    assert.deepEqual([view.rates.pagesPerS, view.pages], [0, 1_000_000]);
  });

  test('time that hosts spend at the gate is counted in hosts', () => {
    const load = (second: number): Partial<ShardLoad> => ({ gateWaitMsTotal: second * 7_000, parked: 20, requestsTotal: second * 3 });
    const { view } = watched(30, (second) => status(0, { totals: pages(second, 500), active: 9, inFlight: 1, load: load(second) }));
    assert.ok(Math.abs(view.measures.atAddressGate - 27) < 0.1, String(view.measures.atAddressGate));
    assert.ok(Math.abs(view.measures.pausing - 1) < 0.1, String(view.measures.pausing));
    assert.ok(Math.abs(view.measures.requestsPerS - 3) < 0.1);
    assert.equal(view.constraint, 'address-gate');
  });

  test('a shard that is held back by its commits means the disk, although another is not', () => {
    const watch = new Watch(OPTIONS, () => {});
    watch.begin(BEGAN, []);
    let constraint = '';
    for (let second = 0; second <= 12; second++) {
      const slow = { heldBackMsTotal: second * 400, commitsTotal: second, commitMsTotal: second * 900 };
      const view = watch.look(BEGAN + second * 1_000, [status(0, { totals: pages(second, 9), load: slow }), status(1)], [0.2]);
      constraint = view.constraintWords;
    }
    assert.match(constraint, /the disk: 40 % .*900 ms/);
  });

  test('the busiest thread counts', () => {
    const { view } = watched(5, (second) => status(0, { totals: pages(second, 9), active: 3 }));
    assert.ok(Math.abs(view.measures.busy - 0.3) < 0.02, String(view.measures.busy));
  });

  test('hosts that are set apart are not waited for', () => {
    const { view } = watched(15, () => status(0, { totals: pages(1, 40), apartHosts: 1, apartUrls: 40 }));
    assert.deepEqual([view.constraint, view.measures.queued, view.hostsApart], ['no-urls', 0, 1]);
  });

  test('the slowest host sets the end', () => {
    const { view } = watched(40, (second) =>
      status(0, { totals: { ...pages(second, 1_000 - second * 10), admitted: 1_000 }, load: { longestHostMs: 5_000_000 } }),
    );
    assert.deepEqual(view.eta, { kind: 'in', ms: 5_000_000, end: 'queue' });
  });

  test('errors are outcomes that are neither a page nor a redirect', () => {
    const fetched = { ok: 1, truncated: 2, 'not-modified': 3, redirect: 4, 'not-found': 5, timeout: 6, reset: 0 };
    assert.deepEqual(errorsOf(fetched), { 'not-found': 5, timeout: 6 });
  });

  test('a clock that is set back gives no negative rate', () => {
    const watch = new Watch(OPTIONS, () => {});
    watch.begin(BEGAN, []);
    watch.look(BEGAN, [status(0, { totals: pages(0, 1) })], []);
    watch.look(BEGAN + 5_000, [status(0, { totals: pages(5, 1) })], []);
    const view = watch.look(BEGAN - 60_000, [status(0, { totals: pages(6, 1) })], []);
    assert.deepEqual([view.rates.pagesPerS, view.ranMs], [0, 0]);
  });
});

describe('the time series in the directory of the crawl', () => {
  function withDisk(work: (disk: Disk) => Promise<void>): Promise<void> {
    const temporary = TestDisk.temporary();
    return work(openDisk(temporary.disk.root)).finally(() => temporary.remove());
  }
  const read = (disk: Disk): Series => Series.parse(Buffer.from(disk.readWhole(SERIES_FILE)).toString('utf8'));
  /** A disk of which each write can be waited for. */
  function waitable(disk: Disk): { readonly disk: Disk; readonly writes: Promise<void>[] } {
    const writes: Promise<void>[] = [];
    const writeWhole = (path: string, content: Uint8Array): Promise<void> => {
      const write = disk.writeWhole(path, content);
      writes.push(write);
      return write;
    };
    return { writes, disk: Object.assign(Object.create(disk) as Disk, { exists: (path: string) => disk.exists(path), writeWhole }) };
  }

  test('it is written while the crawl runs, so that a killed one keeps all but its last half minute', () =>
    withDisk(async (disk) => {
      const { disk: waited, writes } = waitable(disk);
      const seconds = (2 * SERIES_SAVE_MS) / 1_000 + 5;
      watched(seconds, (second) => status(0, { totals: pages(second, 1) }), { disk: waited });
      // When it begins, and after each half minute.
      while (writes.length < 3) await new Promise((resolve) => void setImmediate(resolve));
      await Promise.all(writes);
      assert.ok((read(disk).points.at(-1)?.ranMs ?? 0) >= seconds * 1_000 - SERIES_SAVE_MS);
    }));

  test('the next run goes on with it', () =>
    withDisk(async (disk) => {
      const first = watched(10, (second) => status(0, { totals: pages(second, 1) }), { disk });
      first.watch.end(BEGAN + 10_100, [status(0, { totals: pages(10, 0) })]);
      await first.watch.save(BEGAN + 10_100);
      const second = watched(5, (at) => status(0, { totals: pages(10 + at, 0) }), { disk });
      second.watch.end(BEGAN + 5_000, [status(0, { totals: pages(15, 0) })]);
      const { points, runs } = second.watch.series;
      assert.deepEqual(
        runs.map(({ ranMs }) => ranMs),
        [0, 10_100],
      );
      assert.deepEqual(points.at(-1)?.slice(0, 3), [15_100, BEGAN + 5_000, 150]);
    }));

  test('a run that is killed in its first seconds is one of the runs, and its pages are none of the next one', () =>
    withDisk(async (disk) => {
      const { disk: waited, writes } = waitable(disk);
      const first = new Watch({ ...OPTIONS, disk: waited }, () => {});
      first.begin(BEGAN, [status(0)]);
      while (writes.length === 0) await new Promise((resolve) => void setImmediate(resolve));
      await Promise.all(writes);
      for (let second = 1; second <= 20; second++) first.look(BEGAN + second * 1_000, [status(0, { totals: pages(second, 1) })], []);
      const next = new Watch({ ...OPTIONS, disk }, () => {});
      next.begin(BEGAN + 60_000, [status(0, { totals: pages(12, 1) }), status(1, { totals: pages(8, 1) })]);
      assert.deepEqual(next.series.runs, [
        { startedAtMs: BEGAN, ranMs: 0, pages: 0 },
        { startedAtMs: BEGAN + 60_000, ranMs: 0, pages: 200 },
      ]);
    }));

  test('a damaged one is said and begun anew', () =>
    withDisk(async (disk) => {
      await disk.writeWhole(SERIES_FILE, Buffer.from('{"format":1,"poin'));
      const notices: string[] = [];
      const { watch } = watched(3, (second) => status(0, { totals: pages(second, 1) }), { disk }, notices);
      assert.match(notices.join(), /state\/series\.json cannot be used .*begins anew/);
      assert.equal(watch.series.points.length, 4);
    }));

  test('a disk that refuses it is said once, and the crawl goes on', () =>
    withDisk(async (disk) => {
      const refusing: Disk = Object.assign(Object.create(disk) as Disk, {
        exists: () => false,
        writeWhole: () => Promise.reject(new Error('no space left')),
      });
      const notices: string[] = [];
      const { watch, view } = watched(100, (second) => status(0, { totals: pages(second, 1) }), { disk: refusing }, notices);
      await watch.save(BEGAN + 101_000);
      assert.deepEqual(notices, ['the time series of the report is not kept: no space left; the crawl itself is safe']);
      assert.equal(view.pages, 1_000);
    }));
});
