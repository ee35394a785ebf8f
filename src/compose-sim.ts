/** Puts a simulation together: the simulator itself knows no adapter; stores in memory, generators of chance and the loop are handed in here. */
import tldts from 'tldts/package.json' with { type: 'json' };
import { createFileBlobStore } from './adapters/file/blob-store.ts';
import { createMemoryMetrics } from './adapters/memory/metrics.ts';
import { createMemoryStore, MemoryShardState } from './adapters/memory/shard-store.ts';
import { createRandom } from './adapters/node/random.ts';
import { bestLevel, hostDueMs, queuedTotal } from './core/host.ts';
import type { LedgerPrior } from './output/politeness-ledger.ts';
import type { BlobStore } from './ports/blob-store.ts';
import type { ShardStore } from './ports/shard-store.ts';
import { PackedHosts } from './sim/packed-hosts.ts';
import { PackedRows } from './sim/packed-rows.ts';
import type { SimParts, SimStores, Verdict } from './sim/parts.ts';
import { runSimulation, type SimulationOptions, type SimulationResult } from './sim/run.ts';
import type { JudgeListener } from './verify/judge.ts';
import { verifyLedger } from './verify/verify.ts';
import { VERSION } from './version.ts';

export function simulate(options: SimulationOptions): Promise<SimulationResult> {
  return runSimulation(options, simParts());
}

export function simParts(): SimParts {
  return {
    hop: createHop(),
    createRandom,
    createStores: createMemoryStores,
    createBlobs: (disk) => createFileBlobStore(disk, ''),
    createMetrics: createMemoryMetrics,
    version: VERSION,
    suffixList: tldts.version,
    verify,
  };
}

/** Every so many hops the real loop has its turn: signals and whoever else shares the process. */
const HOPS_PER_TURN = 1_024;

/** A tick runs when the queue of promises is empty, which is all that a simulation waits for; a turn of the loop itself costs five times as much. */
function createHop(): SimParts['hop'] {
  let hops = 0;
  return () => new Promise((done) => (++hops % HOPS_PER_TURN === 0 ? setImmediate(done) : process.nextTick(done)));
}

function verify(blobs: BlobStore, marks: readonly string[]): Verdict {
  const committed = new Map<number, LedgerPrior>();
  marks.forEach((text, shard) => {
    const mark = text === '' ? undefined : (JSON.parse(text) as { readonly ledger?: LedgerPrior }).ledger;
    if (mark !== undefined) committed.set(shard, { segment: mark.segment, length: mark.length, chain: mark.chain });
  });
  const outcomes: Record<string, number> = {};
  const listener: JudgeListener = {
    started: () => {},
    ended: (_, { outcome }) => {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    },
    robots: () => {},
  };
  const report = verifyLedger(blobs, { committed, listener });
  return { requests: report.requests, objections: report.findings.map(({ kind, text }) => `${kind}: ${text}`), outcomes };
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
  const packed = new Map<number, PackedTables>();
  const tablesOf = (shard: number): PackedTables => {
    const tables = packed.get(shard) ?? { hosts: new PackedHosts(), chunks: new PackedRows() };
    packed.set(shard, tables);
    return tables;
  };
  return {
    open(shard, sync) {
      const store = createMemoryStore(stateOf(shard), { sync });
      return keepRows ? store : withoutRows(store, tablesOf(shard));
    },
    crash(shard, unsynced) {
      const state = stateOf(shard);
      const had = state.unsyncedSteps > 0;
      state.crash(unsynced);
      return had;
    },
  };
}

/** What grows with the web that was found, packed. */
interface PackedTables {
  readonly hosts: PackedHosts;
  readonly chunks: PackedRows;
}

/** Chunks of one queue are numbered below this, as in the other stores. */
const SEQ_LIMIT = 2 ** 22;

function withoutRows(store: ShardStore, { hosts, chunks }: PackedTables): ShardStore {
  const commit = store.commit.bind(store);
  store.commit = (batch) => {
    for (const chunk of batch.chunks) {
      if (chunk.append) chunks.append(chunkKey(chunk.hostId, chunk.level, chunk.seq), chunk.blob);
      else chunks.set(chunkKey(chunk.hostId, chunk.level, chunk.seq), chunk.blob);
    }
    for (const done of batch.chunksDone)
      for (let seq = done.fromSeq; seq < done.belowSeq; seq++) chunks.delete(chunkKey(done.hostId, done.level, seq));
    for (const host of batch.hosts) hosts.put(host);
    return commit({
      ...batch,
      hosts: NONE,
      chunks: NONE,
      chunksDone: NONE,
      pages: NONE,
      pagesGone: NONE,
      fates: NONE,
      content: NONE,
    });
  };
  store.readChunk = (hostId, level, seq) => chunks.get(chunkKey(hostId, level, seq));
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

function chunkKey(hostId: number, level: number, seq: number): number {
  return (hostId * 8 + level) * SEQ_LIMIT + seq;
}

const NONE: readonly never[] = [];
