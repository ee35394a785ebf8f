import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { bloomFalsePositiveRate } from '../../src/seen/bloom.ts';
import { type DeltaChunk, type RunManifest, readManifest, SeenDamaged } from '../../src/seen/manifest.ts';
import { SeenSet, type SeenSetOptions } from '../../src/seen/seen-set.ts';
import { TestDisk } from '../support/test-disk.ts';
import { KeyMill } from './keys.ts';

/** What a shard's store keeps for the set: the last durable manifest and delta rows. */
class Store {
  manifest: RunManifest | undefined;
  deltas: DeltaChunk[] = [];

  /** One batch, whole. Through JSON, as a store would. */
  commit(set: SeenSet): void {
    this.deltas.push(...set.takeNewKeys());
    const manifest = set.pendingManifest();
    if (manifest === undefined) return;
    this.manifest = readManifest(JSON.parse(JSON.stringify(manifest)));
    this.deltas = this.deltas.filter((chunk) => chunk.seq >= manifest.deltasFrom);
    set.manifestCommitted();
  }
}

/** 256 slots: a flush every 174 keys, a merge every 1,392. */
const SMALL_BYTES = 8_192;
const DIR = 'shard-0/seen';

function options(disk: TestDisk, store: Store, more: Partial<SeenSetOptions> = {}): SeenSetOptions {
  return { disk, dir: DIR, manifest: store.manifest, deltas: store.deltas, memoryBytes: SMALL_BYTES, yieldTurn: () => nextTurn(), ...more };
}

function withDisk(name: string, body: (disk: TestDisk) => Promise<void>): void {
  test(name, async () => {
    const { disk, remove } = TestDisk.temporary();
    try {
      await body(disk);
    } finally {
      remove();
    }
  });
}

/** Adds `count` keys of `mill`, keeping up with flushes and merges, and commits everything. */
async function fill(set: SeenSet, store: Store, mill: KeyMill, count: number): Promise<Uint32Array> {
  const pairs = mill.pairs(count);
  for (let i = 0; i < pairs.length; i += 2) {
    set.add(pairs[i]!, pairs[i + 1]!);
    if (i % 64 === 0) await set.maintain();
    if (i % 256 === 0) store.commit(set);
  }
  for (let job = set.maintain(); job !== undefined; job = set.maintain()) await job;
  store.commit(set);
  return pairs;
}

function missing(set: SeenSet, pairs: Uint32Array): number {
  let count = 0;
  for (let i = 0; i < pairs.length; i += 2) if (!set.has(pairs[i]!, pairs[i + 1]!)) count++;
  return count;
}

function wronglyKnown(set: SeenSet, mill: KeyMill, probes: number): number {
  let count = 0;
  for (let i = 0; i < probes; i++) {
    mill.next();
    if (set.has(mill.hi, mill.lo)) count++;
  }
  return count;
}

withDisk('R-G2 R-G3: keys in table, runs and merged runs are all known, and no other key is', async (disk) => {
  const store = new Store();
  const set = SeenSet.open(options(disk, store));
  const mill = new KeyMill(1);
  const pairs = await fill(set, store, mill, 5_000);
  const stats = set.stats();
  assert.ok(stats.merges >= 2 && stats.runs >= 3 && stats.tableKeys > 0, JSON.stringify(stats));
  assert.equal(stats.keys, 5_000);
  assert.equal(missing(set, pairs), 0);
  assert.equal(wronglyKnown(set, mill, 200_000), 0);
  assert.ok(set.stats().filterFalsePositives > 0, 'some maybe was found false by reading');
  assert.ok(set.stats().filterFill < 0.53, 'no filter is over its capacity (0.503, and some noise in 3,500 bits)');
  set.close();
});

withDisk('R-G4: a reopened set knows what was committed, and its directory holds the runs of the manifest alone', async (disk) => {
  const store = new Store();
  const set = SeenSet.open(options(disk, store));
  const pairs = await fill(set, store, new KeyMill(2), 3_000);
  set.close();
  disk.openAppend(`${DIR}/run-00009999.seen`).close();
  disk.openAppend(`${DIR}/not-ours.txt`).close();
  const again = SeenSet.open(options(disk, store));
  assert.equal(missing(again, pairs), 0);
  assert.equal(again.stats().keys, 3_000);
  assert.deepEqual(disk.list(DIR), ['not-ours.txt', ...store.manifest!.runs.map((run) => run.name)].sort());
  again.close();
});

withDisk('R-G6: a key found on disk twice is read once', async (disk) => {
  const store = new Store();
  const set = SeenSet.open(options(disk, store));
  const pairs = await fill(set, store, new KeyMill(3), 200);
  for (let round = 0; round < 2; round++) assert.equal(set.has(pairs[0]!, pairs[1]!), true);
  const { reads, hotHits } = set.stats();
  assert.deepEqual({ reads, hotHits }, { reads: 1, hotHits: 1 });
  set.close();
});

withDisk('R-G3: without confirmation no block is read and false "known" stays at the rate of the formula', async (disk) => {
  const store = new Store();
  const set = SeenSet.open(options(disk, store, { confirm: false, bitsPerKey: 10, hashes: 7, memoryBytes: 1 << 20 }));
  const mill = new KeyMill(4);
  const pairs = await fill(set, store, mill, 40_000);
  assert.equal(missing(set, pairs), 0);
  const probes = 400_000;
  const share = wronglyKnown(set, mill, probes) / probes / (set.stats().runs * bloomFalsePositiveRate(10, 7));
  assert.ok(share > 0.85 && share < 1.15, `${share} of the formula`);
  assert.equal(set.stats().reads, 0);
  set.close();
});

withDisk('the keys (0, 0), (0, n) and (n, 0) are keys like any other in table, run, cache and deltas', async (disk) => {
  const store = new Store();
  const edge = [0, 0, 0, 1, 1, 0, 0xffffffff, 0xffffffff, 0x80000000, 0, 0, 0x80000000];
  const set = SeenSet.open(options(disk, store));
  for (let i = 0; i < edge.length; i += 2) {
    assert.equal(set.has(edge[i]!, edge[i + 1]!), false);
    assert.equal(set.add(edge[i]!, edge[i + 1]!), true);
    assert.equal(set.add(edge[i]!, edge[i + 1]!), false);
  }
  store.commit(set);
  set.close();
  const again = SeenSet.open(options(disk, store));
  assert.equal(missing(again, Uint32Array.from(edge)), 0);
  await fill(again, store, new KeyMill(5), 2_500);
  for (let round = 0; round < 2; round++) assert.equal(missing(again, Uint32Array.from(edge)), 0);
  assert.ok(again.stats().merges > 0);
  again.close();
});

withDisk('keys that share their leading bits are sorted and found too', async (disk) => {
  const store = new Store();
  const set = SeenSet.open(options(disk, store));
  const keys = Uint32Array.from({ length: 4_000 }, (_, i) => (i % 2 === 0 ? 7 : i * 2_654_435_761));
  for (let i = 0; i < keys.length; i += 2) {
    set.add(keys[i]!, keys[i + 1]!);
    await set.maintain();
    store.commit(set);
  }
  assert.equal(missing(set, keys), 0);
  assert.equal(set.has(7, 5), false);
  assert.equal(set.has(8, keys[1]!), false);
  set.close();
});

type Damage = readonly [what: string, apply: (path: string, runs: RunManifest['runs']) => void];
const atOpen: readonly Damage[] = [
  ['a missing run', (path) => fs.rmSync(path)],
  ['a run cut short', (path) => fs.truncateSync(path, fs.statSync(path).size - 1)],
  ['a run with bytes appended', (path) => fs.appendFileSync(path, 'x')],
  ['a flipped bit in the footer', (path) => flip(path, fs.statSync(path).size - 20)],
  ['a flipped bit in the fences', (path) => flip(path, fs.statSync(path).size - 70)],
  ['a flipped bit in the filter', (path) => flip(path, 4_096 + 10)],
  ['another run in its place', (path, runs) => fs.copyFileSync(join(path, '..', runs[1]!.name), path)],
];
for (const [what, apply] of atOpen) {
  withDisk(`R-G4: ${what} is noticed at open, nothing is unlinked, and a rebuild restores every key`, async (disk) => {
    const store = new Store();
    const set = SeenSet.open(options(disk, store));
    const mill = new KeyMill(6);
    const pairs = await fill(set, store, mill, 800);
    set.close();
    assert.ok(store.manifest!.runs.length >= 2 && store.deltas.length > 0);
    apply(join(disk.root, DIR, store.manifest!.runs[0]!.name), store.manifest!.runs);
    const names = disk.list(DIR);
    assert.throws(
      () => SeenSet.open(options(disk, store)),
      (error) => error instanceof SeenDamaged && error.code === 'PORTOLAN_STATE_DAMAGED',
    );
    assert.deepEqual(disk.list(DIR), names);
    const inRuns = pairs.subarray(0, pairs.length - store.deltas.reduce((words, chunk) => words + chunk.keys.length, 0));
    const rebuilt = await SeenSet.rebuild(options(disk, store), [inRuns.subarray(0, 1_000), inRuns.subarray(600)]);
    assert.equal(missing(rebuilt, pairs), 0, 'rows and deltas together');
    assert.equal(wronglyKnown(rebuilt, mill, 5_000), 0);
    store.commit(rebuilt);
    assert.deepEqual(store.deltas, []);
    rebuilt.close();
    const again = SeenSet.open(options(disk, store));
    assert.equal(missing(again, pairs), 0);
    again.close();
  });
}

withDisk('R-G4: a rebuild that is cut off before its commit is asked for again', async (disk) => {
  const store = new Store();
  const set = SeenSet.open(options(disk, store));
  const pairs = await fill(set, store, new KeyMill(7), 2_000);
  set.close();
  fs.rmSync(join(disk.root, DIR, store.manifest!.runs[0]!.name));
  const unfinished = await SeenSet.rebuild(options(disk, store), [pairs]);
  unfinished.close();
  assert.throws(() => SeenSet.open(options(disk, store)), SeenDamaged);
  const rebuilt = await SeenSet.rebuild(options(disk, store), [pairs]);
  store.commit(rebuilt);
  assert.equal(missing(rebuilt, pairs), 0);
  rebuilt.close();
});

withDisk('R-G4: a damaged block is noticed when it is read, by a look-up and by a merge', async (disk) => {
  const store = new Store();
  const set = SeenSet.open(options(disk, store));
  const mill = new KeyMill(8);
  const pairs = await fill(set, store, mill, 1 + 7 * 192);
  assert.equal(store.manifest!.runs.length, 7);
  set.close();
  flip(join(disk.root, DIR, store.manifest!.runs[0]!.name), 100);
  const opened = SeenSet.open(options(disk, store));
  assert.throws(() => missing(opened, pairs), SeenDamaged);
  const more = mill.pairs(174);
  for (let i = 0; i < more.length; i += 2) opened.add(more[i]!, more[i + 1]!);
  await opened.maintain();
  await assert.rejects(async () => opened.maintain(), SeenDamaged);
  opened.close();
});

test('R-G4: a manifest that is none is damage, not a crash', () => {
  for (const value of [
    null,
    1,
    {},
    { version: 2, nextRun: 1, deltasFrom: 0, runs: [] },
    { version: 1, nextRun: 1, deltasFrom: 0, runs: [{}] },
  ]) {
    assert.throws(() => readManifest(value), SeenDamaged);
  }
});

withDisk('R-G2: tables stay within their budget, filters within theirs, and both say when they are reached', async (disk) => {
  const store = new Store();
  const memoryBytes = 1 << 18;
  const set = SeenSet.open(options(disk, store, { memoryBytes, filterBytesMax: 40_000 }));
  const mill = new KeyMill(9);
  let most = 0;
  const pairs = mill.pairs(60_000);
  for (let i = 0; i < pairs.length; i += 2) {
    set.add(pairs[i]!, pairs[i + 1]!);
    if (i % 1_024 === 0) {
      await set.maintain();
      store.commit(set);
      const stats = set.stats();
      assert.ok(stats.filterBytes <= 40_000);
      assert.equal(stats.overBudget, false);
      most = Math.max(most, stats.memoryBytes - stats.filterBytes);
    }
  }
  assert.ok(most <= memoryBytes * 1.25, `${most} bytes`);
  assert.ok(set.stats().runsWithoutFilter > 0);
  assert.equal(missing(set, pairs), 0);
  assert.equal(wronglyKnown(set, mill, 2_000), 0);
  set.close();
});

withDisk('a table that cannot be flushed in time grows, says so, and loses nothing', async (disk) => {
  const store = new Store();
  const set = SeenSet.open(options(disk, store));
  const pairs = new KeyMill(10).pairs(1_000);
  for (let i = 0; i < pairs.length; i += 2) set.add(pairs[i]!, pairs[i + 1]!);
  assert.equal(set.stats().overBudget, true);
  await set.maintain();
  assert.equal(set.stats().overBudget, false);
  assert.equal(missing(set, pairs), 0);
  set.close();
});

withDisk('a write that fails is tried again under a new name, and the keys stay known meanwhile', async (disk) => {
  const store = new Store();
  const set = SeenSet.open(options(disk, store));
  const pairs = new KeyMill(11).pairs(200);
  for (let i = 0; i < pairs.length; i += 2) set.add(pairs[i]!, pairs[i + 1]!);
  fs.mkdirSync(join(disk.root, DIR, 'run-00000001.seen'), { recursive: true }); // a directory stands where the file should be
  await assert.rejects(async () => set.maintain());
  assert.equal(missing(set, pairs), 0);
  assert.equal(set.pendingManifest(), undefined);
  await set.maintain();
  assert.equal(set.pendingManifest()!.runs.length, 1);
  assert.equal(missing(set, pairs), 0);
  set.close();
});

withDisk('closing a set in the middle of a flush leaves the committed state intact', async (disk) => {
  const store = new Store();
  const set = SeenSet.open(options(disk, store));
  const pairs = new KeyMill(12).pairs(200);
  for (let i = 0; i < pairs.length; i += 2) set.add(pairs[i]!, pairs[i + 1]!);
  store.commit(set);
  const job = set.maintain();
  set.close();
  await job;
  const again = SeenSet.open(options(disk, store));
  assert.equal(missing(again, pairs), 0);
  again.close();
});

type Step =
  | { readonly do: 'add'; readonly count: number }
  | { readonly do: 'again'; readonly count: number }
  | { readonly do: 'commit' | 'start' | 'settle' | 'turn' | 'crash' };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('add' as const), count: fc.integer({ min: 1, max: 250 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('again' as const), count: fc.integer({ min: 1, max: 50 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('commit' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('start' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('settle' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
);

/**
 * Drives a real set and a Set side by side. A crash drops everything that no commit recorded: uncommitted keys are forgotten by both,
 * half-written and un-manifested files are left lying for the next open.
 */
async function runModel(disk: TestDisk, steps: readonly Step[], seed: number): Promise<void> {
  const store = new Store();
  const mill = new KeyMill(seed);
  let committed: string[] = [];
  let known = new Set<string>();
  let set = SeenSet.open(options(disk, store));
  let jobs: Promise<void>[] = [];
  const add = (hi: number, lo: number): void => {
    const name = `${hi}:${lo}`;
    assert.equal(set.has(hi, lo), known.has(name));
    assert.equal(set.add(hi, lo), !known.has(name));
    known.add(name);
  };
  for (const { do: what, ...rest } of steps) {
    const count = 'count' in rest ? rest.count : 0;
    if (what === 'add') {
      for (let i = 0; i < count; i++) {
        mill.next();
        add(mill.hi, mill.lo);
      }
    } else if (what === 'again') {
      for (const name of [...known].slice(-count)) add(...(name.split(':').map(Number) as [number, number]));
    } else if (what === 'commit') {
      store.commit(set);
      committed = [...known];
    } else if (what === 'start') {
      const job = set.maintain();
      if (job !== undefined) jobs.push(job);
    } else if (what === 'turn') {
      await nextTurn();
    } else {
      if (what === 'crash') set.close();
      await Promise.all(jobs);
      jobs = [];
      if (what === 'crash') {
        set = SeenSet.open(options(disk, store));
        known = new Set(committed);
      }
    }
  }
  for (const name of known) assert.equal(set.has(...(name.split(':').map(Number) as [number, number])), true, `${name} is known`);
  assert.equal(wronglyKnown(set, mill, 500), 0);
  set.close();
  await Promise.all(jobs);
}

test('R-G2 R-G3 R-G4: under random adds, commits, flushes, merges and crashes the set answers as a plain Set does', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 90 }), fc.nat(), async (steps, seed) => {
      const { disk, remove } = TestDisk.temporary();
      try {
        await runModel(disk, steps, seed);
      } finally {
        remove();
      }
    }),
    { numRuns: 60 },
  );
});

withDisk('R-G2 R-G4: the same holds over a long life with several merges', async (disk) => {
  const once: Step[] = [
    { do: 'add', count: 200 },
    { do: 'commit' },
    { do: 'start' },
    { do: 'add', count: 90 },
    { do: 'turn' },
    { do: 'commit' },
    { do: 'settle' },
  ];
  const steps = Array.from({ length: 40 }, (_, i): Step[] => (i % 7 === 6 ? [...once, { do: 'commit' }, { do: 'crash' }] : once)).flat();
  await runModel(disk, steps, 77);
});

function flip(path: string, offset: number): void {
  const bytes = fs.readFileSync(path);
  bytes[offset] = bytes[offset]! ^ 1;
  fs.writeFileSync(path, bytes);
}
