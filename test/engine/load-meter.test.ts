/** The sums of waiting time of a shard. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoadMeter } from '../../src/engine/load-meter.ts';

test('time held back counts from the first moment to the last, the present one included', () => {
  const meter = new LoadMeter();
  assert.equal(meter.heldBackMs(1_000), 0);
  meter.setHeldBack(true, 1_000);
  assert.equal(meter.heldBackMs(1_400), 400);
  meter.setHeldBack(true, 1_500);
  meter.setHeldBack(true, 1_500);
  assert.equal(meter.heldBackMs(1_500), 500);
  meter.setHeldBack(false, 1_700);
  meter.setHeldBack(false, 9_000);
  assert.equal(meter.heldBackMs(10_000), 700);
});

test('no sum ever shrinks, whatever the clock does', () => {
  const meter = new LoadMeter();
  meter.setHeldBack(true, 5_000);
  assert.equal(meter.heldBackMs(1_000), 0);
  meter.setHeldBack(false, 1_000);
  meter.waitsForGate(-5);
  meter.waitsForRate(-5);
  meter.committed(-5);
  assert.deepEqual([meter.heldBackMs(0), meter.gateWaitMs, meter.rateWaitMs, meter.commitMs, meter.commits], [0, 0, 0, 0, 1]);
  meter.waitsForGate(20);
  meter.waitsForGate(30);
  meter.waitsForRate(7);
  meter.committed(12);
  assert.deepEqual([meter.gateWaitMs, meter.rateWaitMs, meter.commitMs, meter.commits], [50, 7, 12, 2]);
});
