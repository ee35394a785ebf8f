import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutcomeCode } from '../../src/core/reasons.ts';
import type { PageRow } from '../../src/core/records.ts';
import { Activity } from '../../src/engine/activity.ts';
import { Unwritten } from '../../src/engine/unwritten.ts';
import { ManualClock } from './shard-rig.ts';

function page(keyHi: number, outcome: OutcomeCode): PageRow {
  return {
    hostId: 1,
    keyHi,
    keyLo: 0,
    url: `http://a.example/${keyHi}`,
    status: 200,
    outcome,
    fetchedAtMs: 0,
    etag: '',
    lastModified: '',
    contentHash: undefined,
    simhashHi: 0,
    simhashLo: 0,
    words: 0,
    duplicateOf: '',
    duplicateKind: '',
    changeRate: 0,
    nextFetchMs: 0,
    segment: '',
    offset: 0,
    length: 0,
    via: '',
    depth: 0,
    foundAtS: 0,
    attempts: 1,
    bodyBytes: 0,
    durationMs: 0,
  };
}

test('the oldest change counts until its batch is durable, then the oldest one after it', async () => {
  const clock = new ManualClock();
  const unwritten = new Unwritten(clock, new Activity());
  assert.equal(unwritten.oldestMs, Number.POSITIVE_INFINITY);
  const first = clock.nowEpochMs();
  unwritten.mark();
  await clock.advance(10);
  unwritten.mark();
  assert.equal(unwritten.oldestMs, first);
  unwritten.freeze();
  assert.equal(unwritten.isDirty, false);
  await clock.advance(10);
  const second = clock.nowEpochMs();
  unwritten.mark();
  assert.equal(unwritten.oldestMs, first);
  unwritten.committed();
  assert.equal(unwritten.oldestMs, second);
});

test('a redirect is taken back where it stands: out of the rows, and off the store that has them', () => {
  const unwritten = new Unwritten(new ManualClock(), new Activity());
  const key = (keyHi: number) => ({ hostId: 1, keyHi, keyLo: 0 });
  unwritten.addPage(page(1, 'redirect'));
  unwritten.addPage(page(2, 'ok'));
  assert.equal(unwritten.hasRedirect(1, 0), true);
  assert.equal(unwritten.hasRedirect(2, 0), false);
  unwritten.removeRedirect(key(1));
  assert.equal(unwritten.hasRedirect(1, 0), false);
  const batch = unwritten.freeze();
  assert.deepEqual(
    batch.pages.map((row) => row.keyHi),
    [2],
  );
  assert.deepEqual(batch.pagesGone, [key(1)]);
});

test('a redirect in the batch on its way is known until that batch is durable', () => {
  const unwritten = new Unwritten(new ManualClock(), new Activity());
  unwritten.addPage(page(1, 'redirect'));
  unwritten.freeze();
  assert.equal(unwritten.hasRedirect(1, 0), true);
  unwritten.committed();
  assert.equal(unwritten.hasRedirect(1, 0), false);
});
