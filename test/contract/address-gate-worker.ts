/**
 * One of several threads that fight over a gate. Who holds an address writes its number where all can see it; whoever finds another's number
 * there has found a breach. Time is a shared counter that the main thread moves, so that no judgement depends on the machine's speed.
 */
import { createSharedGate, type SharedGateMemory, type SharedGateOptions } from '../../src/adapters/node/address-gate.ts';
import { closeThread, onCoordinatorMessage, postToCoordinator, threadStart } from '../../src/adapters/node/threads.ts';

export interface StressData {
  readonly gate: SharedGateMemory;
  readonly options: SharedGateOptions;
  readonly rounds: number;
  /** [0]: time in milliseconds after `startMs`; [1]: slots held by all. */
  readonly shared: SharedArrayBuffer;
  /** Who holds each address: 0, or the thread's number + 1. */
  readonly owners: SharedArrayBuffer;
  /** Since when each address may be taken, after `startMs`. */
  readonly free: SharedArrayBuffer;
  readonly startMs: number;
}

export interface StressReport {
  readonly thread: number;
  readonly breaches: readonly string[];
  readonly acquired: number;
  readonly slots: number;
  readonly pages: number;
  /** Times after startMs of the requests that the rate let go. */
  readonly gone: readonly number[];
}

const { thread, data } = await threadStart<StressData>();
const gate = createSharedGate(data.gate, data.options, thread + 1);
const shared = new Int32Array(data.shared);
const owners = new Int32Array(data.owners);
const free = new Int32Array(data.free);

function fight(): StressReport {
  const breaches: string[] = [];
  const gone: number[] = [];
  let [acquired, slots, pages] = [0, 0, 0];
  let state = thread * 7919 + 1;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
  for (let round = 0; round < data.rounds; round++) {
    const key = random(owners.length);
    const now = Atomics.load(shared, 0);
    if (gate.tryAcquire(`192.0.2.${key}`, data.startMs + now) === 'held') {
      acquired++;
      if (Atomics.compareExchange(owners, key, 0, thread + 1) !== 0) breaches.push(`${key} has two holders`);
      if (Atomics.load(free, key) > now) breaches.push(`${key} was taken ${Atomics.load(free, key) - now} ms too early`);
      for (let spin = random(50); spin > 0; spin--) Atomics.load(owners, key);
      const next = Atomics.load(shared, 0) + 1 + random(4);
      Atomics.store(free, key, next);
      if (Atomics.compareExchange(owners, key, thread + 1, 0) !== thread + 1) breaches.push(`${key} was taken from its holder`);
      gate.release(`192.0.2.${key}`, data.startMs + next);
    }
    if (gate.tryTakeSlot()) {
      slots++;
      if (Atomics.add(shared, 1, 1) >= data.options.slots) breaches.push('more slots than the pool has');
      for (let spin = random(50); spin > 0; spin--) Atomics.load(shared, 1);
      Atomics.sub(shared, 1, 1);
      gate.giveSlot();
    }
    if (gate.tryTakePage()) {
      pages++;
      if (random(3) === 0) {
        gate.givePage();
        pages--;
      }
    }
    const at = Atomics.load(shared, 0);
    if (gate.tryTakeRate(data.startMs + at) === 'go') gone.push(at);
    // About as fast as real time: a thread that is not run for a moment must not find itself a second behind, which would be a clock set back.
    if (round % 64 === 0) Atomics.add(shared, 0, 1);
  }
  return { thread, breaches: breaches.slice(0, 5), acquired, slots, pages, gone };
}

onCoordinatorMessage((message) => {
  if (message === 'fight') postToCoordinator(fight());
  else closeThread();
});
postToCoordinator('ready');
