/** Pauses of a shard: the operator's and those of the crawl's own stand beside each other, and each ends by itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfig } from '../../src/config/schema.ts';
import { Activity } from '../../src/engine/activity.ts';
import { LoadMeter } from '../../src/engine/load-meter.ts';
import { Loop } from '../../src/engine/loop.ts';
import type { ShardEnv } from '../../src/engine/shard-env.ts';
import type { ShardState } from '../../src/engine/shard-state.ts';
import { Unwritten } from '../../src/engine/unwritten.ts';
import type { Clock } from '../../src/ports/clock.ts';
import { ManualClock } from './shard-rig.ts';

/** A loop that counts how often it looks for a host that is due. */
function counted(clock: Clock = new ManualClock()) {
  const activity = new Activity();
  let looks = 0;
  const frontier = {
    nextTurn: () => {
      looks++;
      return undefined;
    },
    waitUntil: () => Number.POSITIVE_INFINITY,
    clockMoved: () => {},
  };
  const env = {
    id: 0,
    context: { clock, config: parseConfig({}, 'test'), shards: 1 },
    events: { notice: () => {} },
  } as unknown as ShardEnv;
  const state = {
    frontier,
    activity,
    unwritten: new Unwritten(clock, activity),
    meter: new LoadMeter(),
    delivery: { isFull: false },
  } as unknown as ShardState;
  const loop = new Loop(env, state, { turn: () => {}, scheduleCommit: () => {}, failed: (error) => assert.fail(String(error)) });
  return {
    loop,
    /** Does a pump look for work? */
    leases: (): boolean => {
      const before = looks;
      loop.pump();
      return looks > before;
    },
  };
}

test('within the operator’s pause nothing is leased; its end goes on at once', () => {
  const { loop, leases } = counted();
  assert.equal(leases(), true);
  loop.hold(true);
  assert.deepEqual([loop.paused, leases()], ['operator', false]);
  loop.hold(false);
  assert.deepEqual([loop.paused, leases()], ['', true]);
});

for (const why of ['disk', 'pages', 'stopping'] as const) {
  test(`the end of a pause for ${why} does not end the operator’s, nor his word that one`, () => {
    const { loop, leases } = counted();
    loop.pause(why);
    loop.hold(true);
    assert.deepEqual([loop.paused, leases()], [why, false]);
    loop.pause('');
    assert.deepEqual([loop.paused, leases()], ['operator', false]);
    loop.pause(why);
    loop.hold(false);
    assert.deepEqual([loop.paused, leases()], [why, false]);
    loop.pause('');
    assert.deepEqual([loop.paused, leases()], ['', true]);
  });
}

test('before the request rate lets something through no host is asked for; a clock that is set back does not prolong it', () => {
  let epochMs = 1_700_000_000_000;
  let monoMs = 1_000;
  const { loop, leases } = counted({ nowEpochMs: () => epochMs, nowMonoMs: () => monoMs, setTimer: () => () => {} });
  const goesOn = (ms: number): boolean => {
    epochMs += ms;
    monoMs += ms;
    return leases();
  };
  assert.equal(goesOn(0), true);
  loop.waitForRate(epochMs + 500);
  assert.deepEqual([goesOn(0), goesOn(499), goesOn(1)], [false, false, true]);
  loop.waitForRate(epochMs + 500);
  epochMs -= 86_400_000;
  assert.equal(goesOn(1), true);
});
