import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { NearIndex, type NearIndexOptions } from '../../src/dedup/near-index.ts';
import { nearLayout } from '../../src/dedup/near-tables.ts';
import { hammingDistance } from '../../src/dedup/simhash.ts';
import { TestDisk } from '../support/test-disk.ts';

const LAYOUTS = ['small', 'large'] as const;
/** 64-entry segments. */
const SMALLEST = 1_024;

function withIndex(more: Partial<NearIndexOptions>, body: (index: NearIndex, disk: TestDisk) => void): void {
  const { disk, remove } = TestDisk.temporary();
  const index = new NearIndex({ disk, dir: 'near', memoryBytes: 1 << 22, ...more });
  try {
    body(index, disk);
  } finally {
    index.close();
    remove();
  }
}

const largeFrom = (layout: 'small' | 'large'): number => (layout === 'large' ? 0 : Number.MAX_SAFE_INTEGER);

/** Fixed pseudo-random 32-bit words (xorshift). */
function words(seed: number): () => number {
  let x = seed | 1;
  return () => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    return x >>> 0;
  };
}

function flipBits(hi: number, lo: number, bits: readonly number[]): readonly [hi: number, lo: number] {
  let [a, b] = [hi, lo];
  for (const bit of bits) {
    if (bit < 32) b ^= 1 << bit;
    else a ^= 1 << (bit - 32);
  }
  return [a >>> 0, b >>> 0];
}

test('R-H3: 20 tables keep 3 of 6 blocks, 4 tables 1 of 4, and every table is another', () => {
  for (const [name, tables, least, most] of [
    ['small', 4, 16, 16],
    ['large', 20, 31, 33],
  ] as const) {
    const masks = nearLayout(name).tables;
    assert.equal(new Set(masks.map(({ hi, lo }) => `${hi}:${lo}`)).size, tables);
    for (const { hi, lo } of masks) {
      const bits = hammingDistance(hi, lo, 0, 0);
      assert.ok(bits >= least && bits <= most, `${name}: ${bits} bits`);
    }
  }
});

test('R-H3: whichever 3 bits differ, at least one table of either layout keeps none of them', () => {
  for (const name of LAYOUTS) {
    const masks = nearLayout(name).tables;
    for (let a = 0; a < 64; a++) {
      for (let b = a; b < 64; b++) {
        for (let c = b; c < 64; c++) {
          const [hi, lo] = flipBits(0, 0, [...new Set([a, b, c])]);
          assert.ok(
            masks.some((mask) => (hi & mask.hi) === 0 && (lo & mask.lo) === 0),
            `${name}: bits ${a}, ${b}, ${c}`,
          );
        }
      }
    }
  }
});

const word = fc.nat(0xffffffff);
const flips = fc.uniqueArray(fc.nat(63), { maxLength: 6 });
for (const layout of LAYOUTS) {
  test(`R-H3: the ${layout} index, spilled and merged, answers as comparing with every entry does`, () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(word, word), { minLength: 1, maxLength: 12 }),
        fc.array(fc.tuple(fc.nat(1_000), flips), { minLength: 200, maxLength: 900 }),
        fc.nat(3),
        (centres, offsets, distance) => {
          withIndex({ memoryBytes: SMALLEST, largeFrom: largeFrom(layout) }, (index) => {
            const entries: (readonly [number, number])[] = [];
            for (const [pick, bits] of offsets) {
              const [hi, lo] = flipBits(...centres[pick % centres.length]!, bits);
              const expected = bruteForce(entries, hi, lo, distance);
              assert.deepEqual(index.find(hi, lo, distance), expected);
              index.add(hi, lo, entries.length);
              entries.push([hi, lo]);
            }
          });
        },
      ),
      { numRuns: 25 },
    );
  });

  test(`R-H3: the ${layout} index finds each planted pair over several levels of merged runs, and its memory stays bounded`, (t) => {
    const memoryBytes = layout === 'small' ? 32_768 : 131_072;
    withIndex({ memoryBytes, largeFrom: largeFrom(layout) }, (index, disk) => {
      const next = words(7);
      const planted: (readonly [number, number])[] = [];
      const entries = 20_000;
      let most = 0;
      for (let id = 0; id < entries; id++) {
        planted.push([next(), next()]);
        index.add(...planted[id]!, id);
        if (id % 500 === 0) most = Math.max(most, index.stats().memoryBytes);
      }
      for (let id = 0; id < entries; id += 7) {
        const [hi, lo] = flipBits(
          ...planted[id]!,
          [next() % 64, next() % 64, next() % 64].filter((bit, i, all) => all.indexOf(bit) === i),
        );
        const found = index.find(hi, lo, 3);
        assert.ok(found !== undefined && found.distance <= 3, `entry ${id}`);
        assert.equal(found.id, id);
      }
      const stats = index.stats();
      t.diagnostic(JSON.stringify({ ...stats, most }));
      assert.ok(stats.runs > 0 && stats.runs <= 30, `${stats.runs} runs`);
      assert.equal(stats.diskBytes > entries * 16, true);
      assert.ok(most <= memoryBytes + 30 * 4_096, `${most} bytes`);
      assert.ok(stats.candidatesPerProbe < 100);
      assert.equal(stats.truncatedProbes, 0);
      assert.ok(disk.list('near').length >= stats.runs);
    });
  });
}

test('R-H3: entries stay findable when the index goes over from 4 tables to 20', () => {
  withIndex({ memoryBytes: SMALLEST, largeFrom: 300 }, (index) => {
    const next = words(11);
    const planted = Array.from({ length: 800 }, () => [next(), next()] as const);
    for (const [id, [hi, lo]] of planted.entries()) index.add(hi, lo, id);
    assert.equal(index.stats().layout, 'large');
    for (const [id, [hi, lo]] of planted.entries()) assert.deepEqual(index.find(hi ^ 1, lo ^ 0x80000000, 3), { id, distance: 2 });
  });
});

test('R-H3: the nearest wins, then the smallest id, and ids up to 2^53 survive a spill', () => {
  withIndex({ memoryBytes: SMALLEST }, (index) => {
    const big = Number.MAX_SAFE_INTEGER;
    index.add(5, 0, big);
    index.add(1, 0, 40);
    index.add(2, 0, 30);
    assert.deepEqual(index.find(0, 0, 3), { id: 30, distance: 1 });
    assert.deepEqual(index.find(5, 0, 0), { id: big, distance: 0 });
    const next = words(3);
    for (let id = 100; id < 700; id++) index.add(next(), next(), id);
    assert.deepEqual(index.find(0, 0, 3), { id: 30, distance: 1 });
    assert.deepEqual(index.find(5, 0, 0), { id: big, distance: 0 });
    assert.equal(index.find(0, 0, 0), undefined);
  });
});

test('R-H3: a distance that the tables do not guarantee is refused', () => {
  withIndex({}, (index) => assert.throws(() => index.find(0, 0, 4)));
});

test('a bucket that a cluster has filled is followed to its bound, and the statistics say so', () => {
  for (const memoryBytes of [1 << 24, 1 << 18]) {
    withIndex({ memoryBytes }, (index) => {
      for (let id = 0; id < 60_000; id++) index.add(7, 7, id);
      assert.equal(index.find(7, 7, 3)?.distance, 0);
      assert.equal(index.stats().truncatedProbes, 1);
    });
  }
});

test('an index leaves no file behind, and removes those of a killed predecessor', () => {
  withIndex({ memoryBytes: SMALLEST }, (index, disk) => {
    for (let id = 0; id < 200; id++) index.add(id, id, id);
    assert.ok(disk.list('near').length > 0);
    const successor = new NearIndex({ disk, dir: 'near', memoryBytes: SMALLEST });
    assert.deepEqual(disk.list('near'), []);
    for (let id = 0; id < 200; id++) successor.add(id, id, id);
    successor.close();
    assert.equal(existsSync(join(disk.root, 'near', 'near-000001.run')), false);
    assert.deepEqual(disk.list('near'), []);
  });
});

function bruteForce(
  entries: readonly (readonly [number, number])[],
  hi: number,
  lo: number,
  distanceMax: number,
): { id: number; distance: number } | undefined {
  let best: { id: number; distance: number } | undefined;
  for (const [id, [a, b]] of entries.entries()) {
    const distance = hammingDistance(a, b, hi, lo);
    if (distance <= distanceMax && (best === undefined || distance < best.distance)) best = { id, distance };
  }
  return best;
}
