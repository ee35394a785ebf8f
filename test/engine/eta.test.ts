/** When the crawl will be over, and why that cannot always be said. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { durationInWords, type EtaInputs, etaInWords, etaOf } from '../../src/engine/eta.ts';

/** A finite scope whose queue of 600 shrinks by ten a second. */
const SHRINKING: EtaInputs = {
  paused: false,
  queued: 590,
  inFlight: 10,
  isEndless: false,
  windowMs: 30_000,
  pagesPerS: 12,
  admittedPerS: 2,
  endedPerS: 12,
  longestHostMs: 0,
  nextFetchMs: 0,
  pages: 1_000,
  maxPages: 0,
  ranMs: 60_000,
  maxTimeMs: 0,
};

describe('time left', () => {
  test('a finite queue that shrinks ends at the pace at which it shrinks', () => {
    assert.deepEqual(etaOf(SHRINKING), { kind: 'in', ms: 60_000, end: 'queue' });
  });
  test('one host with a long queue of its own ends last, however fast the others are', () => {
    assert.deepEqual(etaOf({ ...SHRINKING, longestHostMs: 3_600_000 }), { kind: 'in', ms: 3_600_000, end: 'queue' });
  });
  test('a queue whose next fetch is far off does not end before it', () => {
    assert.deepEqual(etaOf({ ...SHRINKING, nextFetchMs: 240_000 }), { kind: 'in', ms: 240_000, end: 'queue' });
    assert.deepEqual(etaOf({ ...SHRINKING, nextFetchMs: Number.POSITIVE_INFINITY }), { kind: 'in', ms: 60_000, end: 'queue' });
  });
  test('the nearest end counts: a page limit', () => {
    assert.deepEqual(etaOf({ ...SHRINKING, maxPages: 1_120 }), { kind: 'in', ms: 10_000, end: 'page-limit' });
  });
  test('the nearest end counts: a time limit', () => {
    assert.deepEqual(etaOf({ ...SHRINKING, maxTimeMs: 65_000 }), { kind: 'in', ms: 5_000, end: 'time-limit' });
  });
  test('a limit is an end for the web too', () => {
    assert.deepEqual(etaOf({ ...SHRINKING, isEndless: true, maxPages: 1_240 }), { kind: 'in', ms: 20_000, end: 'page-limit' });
  });
  test('a passed limit is now, never in the past', () => {
    assert.deepEqual(etaOf({ ...SHRINKING, maxPages: 900, maxTimeMs: 1 }), { kind: 'in', ms: 0, end: 'time-limit' });
  });
  const none: readonly (readonly [string, Partial<EtaInputs>, string, RegExp])[] = [
    ['a paused crawl has no end', { paused: true }, 'paused', /while it is paused/],
    ['nothing is said before ten seconds were measured', { windowMs: 9_000 }, 'measuring', /not measured yet/],
    ['the web without a limit has no end', { isEndless: true }, 'endless', /no limit is set/],
    ['a queue that grows has no end', { admittedPerS: 20 }, 'growing', /more URLs are found than fetched/],
    ['a queue that stands has no end', { admittedPerS: 12 }, 'standing', /does not shrink/],
  ];
  for (const [promise, changes, why, words] of none) {
    test(`${promise}, and it is said why`, () => {
      const eta = etaOf({ ...SHRINKING, ...changes });
      assert.deepEqual(eta, { kind: 'none', why });
      assert.match(etaInWords(eta), words);
    });
  }
  test('times are two units at most', () => {
    const told = [0, 400, 12_000, 60_000, 270_000, 7_800_000, 273_600_000].map(durationInWords);
    assert.deepEqual(told, ['0 s', '0 s', '12 s', '1 min', '4 min 30 s', '2 h 10 min', '3 d 4 h']);
  });
});
