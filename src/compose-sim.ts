/** Puts a simulation together: the simulator itself knows no adapter; stores in memory, generators of chance and the loop are handed in here. */
import { createRequire } from 'node:module';
import { createFileBlobStore } from './adapters/file/blob-store.ts';
import { createMemoryMetrics } from './adapters/memory/metrics.ts';
import { createMemoryStore, MemoryShardState } from './adapters/memory/shard-store.ts';
import { createRandom } from './adapters/node/random.ts';
import { bestLevel, hostDueMs, queuedTotal } from './core/host.ts';
import type { LedgerPrior } from './output/politeness-ledger.ts';
import type { BlobStore } from './ports/blob-store.ts';
import type { ShardStore } from './ports/shard-store.ts';
import { PackedHosts } from './sim/packed-hosts.ts';
import type { SimParts, SimStores } from './sim/parts.ts';
import { runSimulation, type SimulationOptions, type SimulationResult } from './sim/run.ts';
import { verifyLedger } from './verify/verify.ts';
import { VERSION } from './version.ts';

export function simulate(options: SimulationOptions): Promise<SimulationResult> {
  return runSimulation(options, simParts());
}

export function simParts(): SimParts {
  return {
    hop: () => new Promise((done) => setImmediate(done)),
    createRandom,
    createStores: createMemoryStores,
    createBlobs: (disk) => createFileBlobStore(disk, ''),
    createMetrics: createMemoryMetrics,
    version: VERSION,
    suffixList: (createRequire(import.meta.url)('tldts/package.json') as { version: string }).version,
    verify,
  };
}

function verify(blobs: BlobStore, marks: readonly string[]): { requests: number; objections: string[] } {
  const committed = new Map<number, LedgerPrior>();
  marks.forEach((text, shard) => {
    const mark = text === '' ? undefined : (JSON.parse(text) as { readonly ledger?: LedgerPrior }).ledger;
    if (mark !== undefined) committed.set(shard, { segment: mark.segment, length: mark.length, chain: mark.chain });
  });
  const report = verifyLedger(blobs, { committed });
  return { requests: report.requests, objections: report.findings.map(({ kind, text }) => `${kind}: ${text}`) };
}

/**
 * Tables in memory. Without `keepRows` what only an ended URL leaves behind (page, fate and content rows) is let go: a month of crawling fits into memory,
 * and neither a recount nor an exact verdict on a body is to be had.
 */
function createMemoryStores(keepRows: boolean): SimStores {
  const states = new Map<number, MemoryShardState>();
  const stateOf = (shard: number): MemoryShardState => {
    const state = states.get(shard) ?? new MemoryShardState();
    states.set(shard, state);
    return state;
  };
  const packed = new Map<number, PackedHosts>();
  const hostsOf = (shard: number): PackedHosts => {
    const hosts = packed.get(shard) ?? new PackedHosts();
    packed.set(shard, hosts);
    return hosts;
  };
  return {
    open(shard, sync) {
      const store = createMemoryStore(stateOf(shard), { sync });
      return keepRows ? store : withoutRows(store, hostsOf(shard));
    },
    crash(shard, unsynced) {
      const state = stateOf(shard);
      const had = state.unsyncedSteps > 0;
      state.crash(unsynced);
      return had;
    },
  };
}

function withoutRows(store: ShardStore, hosts: PackedHosts): ShardStore {
  const commit = store.commit.bind(store);
  store.commit = (batch) => {
    for (const host of batch.hosts) hosts.put(host);
    return commit({ ...batch, hosts: NONE, pages: NONE, pagesGone: NONE, fates: NONE, content: NONE });
  };
  store.readHost = (id) => hosts.get(id);
  store.findHostId = (key) => hosts.idOf(key);
  store.scanHosts = (each) => {
    for (const host of hosts.all()) {
      const { id, key, domain } = host;
      each({ id, key, domain, level: bestLevel(host), dueMs: hostDueMs(host), queued: queuedTotal(host) });
    }
  };
  return store;
}

const NONE: readonly never[] = [];
