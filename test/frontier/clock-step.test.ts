/** R-C8: a step of the wall clock neither frees nor freezes a host or an address; what was left of a pause is left of it afterwards. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryStore, MemoryShardState } from '../../src/adapters/memory/shard-store.ts';
import { createGateMemory, createSharedGate } from '../../src/adapters/node/address-gate.ts';
import { createRandom } from '../../src/adapters/node/random.ts';
import { Frontier } from '../../src/frontier/frontier.ts';
import { TimeHeap } from '../../src/frontier/time-heap.ts';
import { batch } from '../contract/batches.ts';
import { gateOf, makeBench, optionsOf, owe, urlEntry } from './support.ts';

const DAY_MS = 86_400_000;
const NOW_MS = 1_700_000_000_000;

/** At NOW_MS active.test owes 1 s in its back queue and asleep.test 60 s out of it; each has another URL. */
function withTwoDebts(): Frontier {
  const { frontier } = makeBench(8);
  for (const host of ['active.test', 'asleep.test']) for (const n of [1, 2]) frontier.add(host, host, urlEntry(n), 1);
  for (let turns = 0; turns < 2; turns++) {
    const host = frontier.nextTurn(NOW_MS)!;
    frontier.peek(host, NOW_MS);
    frontier.consume(host);
    owe(frontier, host, NOW_MS, host.record.key === 'active.test' ? 1_000 : 60_000);
    frontier.endTurn(host, NOW_MS);
  }
  return frontier;
}

test('R-C8 a clock set back while the crawl runs: an active host and one that sleeps wait what they still owed', () => {
  const frontier = withTwoDebts();
  const back = NOW_MS - DAY_MS;
  frontier.clockMoved(-DAY_MS);
  assert.equal(frontier.nextTurn(back + 999), undefined);
  const active = frontier.nextTurn(back + 1_000);
  assert.equal(active?.record.key, 'active.test');
  assert.equal(frontier.nextTurn(back + 59_999), undefined);
  assert.equal(frontier.nextTurn(back + 60_000)?.record.key, 'asleep.test');
});

test('R-C8 a clock that stands before the last commit at open: hosts wait what was left then, with a pause or set aside', async () => {
  const state = new MemoryShardState();
  const first = createMemoryStore(state);
  first.open(0);
  const before = new Frontier(optionsOf(8), first, createRandom(1), gateOf(8));
  before.restore(1, NOW_MS);
  for (const [key, owedMs, waitMs] of [
    ['owes.test', 5_000, 0],
    ['aside.test', 0, 3_600_000],
    ['free.test', 0, 0],
  ] as const) {
    before.add(key, key, urlEntry(1), 1);
    const host = before.host(key)!;
    owe(before, host, NOW_MS, owedMs);
    host.record.waitUntilMs = waitMs === 0 ? 0 : NOW_MS + waitMs;
  }
  await first.commit(batch(1, before.freeze()));
  const back = NOW_MS - DAY_MS;
  const second = createMemoryStore(state);
  const { nextHostId } = second.open(0);
  const frontier = new Frontier(optionsOf(8), second, createRandom(1), gateOf(8));
  const waiting: string[] = [];
  frontier.restore(nextHostId, back, -DAY_MS, back, (host) => waiting.push(host.key));
  assert.deepEqual(waiting.sort(), ['aside.test', 'free.test', 'owes.test']);
  const turns = new Map<string, number>();
  for (const atMs of [0, 4_999, 5_000, 3_599_999, 3_600_000]) {
    for (let host = frontier.nextTurn(back + atMs); host !== undefined; host = frontier.nextTurn(back + atMs))
      turns.set(host.record.key, atMs);
  }
  assert.deepEqual(Object.fromEntries(turns), { 'free.test': 0, 'owes.test': 5_000, 'aside.test': 3_600_000 });
});

test('R-C8 a clock set forward while the crawl runs frees nobody', () => {
  const frontier = withTwoDebts();
  const later = NOW_MS + DAY_MS;
  frontier.clockMoved(DAY_MS);
  assert.equal(frontier.nextTurn(later + 999), undefined);
  assert.equal(frontier.nextTurn(later + 1_000)?.record.key, 'active.test');
  assert.equal(frontier.nextTurn(later + 59_999), undefined);
  assert.equal(frontier.nextTurn(later + 60_000)?.record.key, 'asleep.test');
});

test('R-C8 a clock set forward while the crawl was down frees nobody at open', async () => {
  const state = new MemoryShardState();
  const first = createMemoryStore(state);
  first.open(0);
  const before = new Frontier(optionsOf(8), first, createRandom(1), gateOf(8));
  before.restore(1, NOW_MS);
  before.add('owes.test', 'owes.test', urlEntry(1), 1);
  owe(before, before.host('owes.test')!, NOW_MS, 5_000);
  await first.commit(batch(1, before.freeze()));
  const later = NOW_MS + DAY_MS;
  const second = createMemoryStore(state);
  const { nextHostId } = second.open(0);
  const frontier = new Frontier(optionsOf(8), second, createRandom(1), gateOf(8));
  frontier.restore(nextHostId, later, DAY_MS, later);
  assert.equal(frontier.nextTurn(later + 4_999), undefined);
  assert.equal(frontier.nextTurn(later + 5_000)?.record.key, 'owes.test');
});

test('R-C8 an address is never waited for longer than it can be owed, and the rate goes on after a step', () => {
  const options = { slots: 1, ratePerS: 2, pagesLeft: -1, owedMsMax: 2_000 };
  const gate = createSharedGate(createGateMemory(options), options, 1);
  assert.equal(gate.tryAcquire('192.0.2.1', NOW_MS), 'held');
  gate.release('192.0.2.1', NOW_MS + 1_000);
  assert.equal(gate.tryTakeRate(NOW_MS), 'go');
  assert.equal(gate.tryAcquire('192.0.2.1', NOW_MS), NOW_MS + 1_000);
  const back = NOW_MS - DAY_MS;
  assert.equal(gate.tryAcquire('192.0.2.1', back), back + 2_000);
  assert.equal(gate.tryAcquire('192.0.2.1', back + 1_999), back + 2_000);
  assert.equal(gate.tryAcquire('192.0.2.1', back + 2_000), 'held');
  assert.equal(gate.tryTakeRate(back), back + 500);
  assert.equal(gate.tryTakeRate(back + 500), 'go');
});

test('a heap whose times are shifted keeps its order', () => {
  const heap = new TimeHeap();
  for (const time of [5, 1, 4, 2, 3]) heap.push(time * 1_000, time);
  heap.shiftTimes(-500);
  assert.equal(heap.firstTime, 500);
  assert.deepEqual([heap.pop(), heap.pop(), heap.pop(), heap.pop(), heap.pop()], [1, 2, 3, 4, 5]);
});
