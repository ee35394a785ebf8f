import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGateMemory, createSharedGate, releaseHolder } from '../../src/adapters/node/address-gate.ts';
import { spawnThreads } from '../../src/adapters/node/threads.ts';
import { addressGateContract } from './address-gate.ts';
import type { StressData, StressReport } from './address-gate-worker.ts';
import { collect } from './link-channel.ts';

addressGateContract('shared memory', (options, holders) => {
  const memory = createGateMemory(options);
  return Array.from({ length: holders }, (_, holder) => createSharedGate(memory, options, holder + 1));
});

const NOW = 1_700_000_000_000;

test('R-C2 R-B2 four threads at one gate: no address with two holders or before its time, no slot over the pool, no page over the budget, the rate exact', async () => {
  const threads = 4;
  const addresses = 6;
  const options = { slots: 2, ratePerS: 250, pagesLeft: 5_000 };
  const data: StressData = {
    gate: createGateMemory(options),
    options,
    rounds: 40_000,
    shared: new SharedArrayBuffer(8),
    owners: new SharedArrayBuffer(addresses * 4),
    free: new SharedArrayBuffer(addresses * 4),
    startMs: NOW,
  };
  const group = spawnThreads(
    new URL('./address-gate-worker.ts', import.meta.url),
    Array.from({ length: threads }, () => data),
  );
  const ready: unknown[] = [];
  const reports: StressReport[] = [];
  const ended: unknown[] = [];
  for (const thread of group.threads) {
    thread.onMessage((message) => (message === 'ready' ? ready.push(message) : reports.push(message as StressReport)));
    thread.onExit((error) => ended.push(error ?? 'ended'));
  }
  try {
    await collect(ready, threads);
    for (const thread of group.threads) thread.post('fight');
    await collect(reports, threads);
  } finally {
    for (const thread of group.threads) thread.post('end');
    for (const port of group.ports) port.close();
    await collect(ended, threads);
  }
  assert.deepEqual(
    reports.flatMap((report) => report.breaches),
    [],
  );
  for (const { thread, acquired, slots } of reports)
    assert.ok(acquired > 0 && slots > 0, `thread ${thread} took part: ${acquired} addresses, ${slots} slots`);
  const pages = reports.reduce((total, report) => total + report.pages, 0);
  assert.equal(pages, options.pagesLeft, 'what was given back was taken again, and nothing beyond');
  assert.equal(createSharedGate(data.gate, options, 9).slotsInUse(), 0);
  assertRateOfAll(
    reports.flatMap((report) => report.gone),
    options.ratePerS,
  );
});

/** The order of grants of different threads within a millisecond is not known, nor needed: sorted by time, each span holds at most its share. */
function assertRateOfAll(gone: number[], ratePerS: number): void {
  gone.sort((a, b) => a - b);
  assert.ok(gone.length > 100, `${gone.length} requests`);
  const intervalMs = 1_000 / ratePerS;
  for (let first = 0; first < gone.length; first++) {
    for (const count of [2, 3, 5, 10, 50, 200]) {
      const last = gone[first + count - 1];
      if (last === undefined) continue;
      assert.ok(last - gone[first]! + intervalMs / 2 >= (count - 1) * intervalMs, `${count} requests in ${last - gone[first]!} ms`);
    }
  }
}

test('R-C8 the words of a holder that died are freed with a gap, those of others stay', () => {
  const options = { slots: 1, ratePerS: 0, pagesLeft: -1 };
  const memory = createGateMemory(options);
  const [dead, alive] = [createSharedGate(memory, options, 1), createSharedGate(memory, options, 2)];
  dead.tryAcquire('192.0.2.1', NOW);
  dead.tryAcquire('192.0.2.2', NOW);
  alive.tryAcquire('192.0.2.3', NOW);
  alive.owe('192.0.2.4', NOW + 77);
  releaseHolder(memory, 1, NOW + 30_000);
  for (const address of ['192.0.2.1', '192.0.2.2']) {
    assert.equal(alive.tryAcquire(address, NOW), NOW + 30_000);
    assert.equal(alive.tryAcquire(address, NOW + 30_000), 'held');
  }
  assert.notEqual(dead.tryAcquire('192.0.2.3', NOW + 60_000), 'held');
  assert.equal(alive.tryAcquire('192.0.2.4', NOW), NOW + 77);
});

test('R-C8 a clock that is set back keeps an address waiting no longer than it can be owed, and the rate no longer than its interval', () => {
  const options = { slots: 1, ratePerS: 1, pagesLeft: -1, owedMsMax: 10_000 };
  const gate = createSharedGate(createGateMemory(options), options, 1);
  const day = 86_400_000;
  gate.owe('192.0.2.1', NOW + 5_000);
  assert.equal(gate.tryTakeRate(NOW), 'go');
  const back = NOW - day;
  assert.equal(gate.tryAcquire('192.0.2.1', back), back + 10_000);
  assert.equal(gate.tryAcquire('192.0.2.1', back + 10_000), 'held');
  assert.equal(gate.tryTakeRate(back), back + 1_000);
  assert.equal(gate.tryTakeRate(back + 1_000), 'go');
});
