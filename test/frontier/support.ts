/** A frontier over a store in memory with a clock made by hand, and small helpers for its tests. */

import { createMemoryStore, MemoryShardState } from '../../src/adapters/memory/shard-store.ts';
import { createGateMemory, createSharedGate, type SharedGateMemory } from '../../src/adapters/node/address-gate.ts';
import { createRandom } from '../../src/adapters/node/random.ts';
import type { QueueEntry } from '../../src/core/records.ts';
import { Frontier, type FrontierOptions, type HostMemory } from '../../src/frontier/frontier.ts';
import type { AddressGate } from '../../src/ports/address-gate.ts';
import type { Batch, ShardStore } from '../../src/ports/shard-store.ts';
import { batch } from '../contract/batches.ts';

export const WEIGHTS = [5, 3.344, 2.236, 1.495, 1];

/** The shared memory of a gate is 8 MB: one for all tests of a file, its counters set back for each. */
let memory: SharedGateMemory | undefined;

export function gateOf(slots: number): AddressGate {
  memory ??= createGateMemory({ slots, ratePerS: 0, pagesLeft: -1 });
  new Int32Array(memory.counters).fill(0);
  return createSharedGate(memory, { slots, ratePerS: 0, pagesLeft: -1 }, 1);
}

export function optionsOf(slots: number, parts: Partial<FrontierOptions> = {}): FrontierOptions {
  return {
    weights: WEIGHTS,
    quantum: 64,
    maxQueuedPerHost: 1_000_000,
    maxSubdomains: Number.MAX_SAFE_INTEGER,
    fairSlots: slots,
    demoted: () => false,
    ...parts,
  };
}

export interface Bench {
  readonly frontier: Frontier;
  readonly gate: AddressGate;
  readonly store: ShardStore;
  /** Freezes, commits and thaws. */
  commit(): Promise<void>;
}

export function makeBench(
  slots: number,
  parts: Partial<FrontierOptions> = {},
  wrap: (store: ShardStore) => ShardStore = (store) => store,
  seed = 1,
): Bench {
  const store = wrap(createMemoryStore(new MemoryShardState()));
  const { nextHostId } = store.open(0);
  const gate = gateOf(slots);
  const frontier = new Frontier(optionsOf(slots, parts), store, createRandom(seed), gate);
  frontier.restore(nextHostId, 0);
  let seq = 0;
  return {
    frontier,
    gate,
    store,
    commit: async () => {
      const value: Batch = batch(++seq, frontier.freeze());
      const durable = store.commit(value);
      frontier.thawed();
      await durable;
    },
  };
}

export function urlEntry(number: number, parts: Partial<QueueEntry> = {}): QueueEntry {
  return {
    https: false,
    pathQuery: `/${number}`,
    keyHi: 7,
    keyLo: number,
    kind: 'link',
    depth: 1,
    via: 'http://seed/',
    foundAtS: 1,
    attempts: 0,
    notBeforeMs: 0,
    chain: undefined,
    ...parts,
  };
}

/** Ends an exchange that took until `endMs`: the host owes `owedMs` from then on. */
export function owe(frontier: Frontier, host: HostMemory, endMs: number, owedMs: number): void {
  host.record.lastEndMs = endMs;
  host.record.owedMs = owedMs;
  host.record.gapRule = 'default';
  frontier.touch(host);
}
