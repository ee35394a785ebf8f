/** Both adapters of ShardStore run its contract, and the same random batches leave them in the same state. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createMemoryStore, MemoryShardState } from '../../src/adapters/memory/shard-store.ts';
import { createSqliteStore } from '../../src/adapters/sqlite/shard-store.ts';
import type { Batch, ChunkWrite, ShardStore } from '../../src/ports/shard-store.ts';
import { batch, chunk, content, dump, entry, fate, host, page, plain, robots } from './batches.ts';
import { type StorePlace, shardStoreContract } from './shard-store.ts';

function sqlitePlace(root = tmpdir()): StorePlace {
  const dir = mkdtempSync(join(root, 'portolan-store-'));
  const open: ShardStore[] = [];
  return {
    store: () => {
      const store = createSqliteStore({ file: join(dir, 'state', 'state.db'), cacheBytes: 1_048_576 });
      open.push(store);
      return store;
    },
    remove: () => {
      for (const store of open) store.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

function memoryPlace(): StorePlace {
  const state = new MemoryShardState();
  return { store: () => createMemoryStore(state), remove: () => {} };
}

shardStoreContract('SQLite file', () => sqlitePlace());
shardStoreContract('memory', memoryPlace);

/** Where syncs cost nothing: what a batch means does not depend on the disk. */
const MEMORY_DIR = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const HOSTS = 4;
const SEQS = 6;
const ORIGINS = ['http://a', 'http://b'];

/** A step of a random history; `number` makes rows of different steps differ. */
type Step = { readonly kind: string; readonly host: number; readonly level: number; readonly number: number; readonly flag: boolean };
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    'host',
    'chunk',
    'append',
    'done',
    'page',
    'gone',
    'fate',
    'robots',
    'content',
    'delta',
    'cover',
    'outbox',
    'ack',
    'taken',
    'scope',
  ),
  host: fc.integer({ min: 1, max: HOSTS }),
  level: fc.integer({ min: 0, max: 5 }),
  number: fc.integer({ min: 1, max: SEQS }),
  flag: fc.boolean(),
});

/** One batch of these steps; appends go only where a chunk is, as the frontier does it. */
function batchOf(commitSeq: number, steps: readonly Step[], stored: Set<string>): Batch {
  const chunks: ChunkWrite[] = [];
  const written = new Set<string>();
  const of = (kind: string): Step[] => steps.filter((one) => one.kind === kind);
  for (const one of [...of('chunk'), ...of('append')]) {
    const key = `${one.host}/${one.level}/${one.number}`;
    const append = one.kind === 'append';
    if (written.has(key) || (append && !stored.has(key))) continue;
    written.add(key);
    stored.add(key);
    chunks.push(chunk(one.host, one.level, one.number, [entry(commitSeq * 10 + one.number), entry(one.level)], append));
  }
  const chunksDone = of('done').map((one) => ({ hostId: one.host, level: one.level, fromSeq: 1, belowSeq: one.number }));
  for (const done of chunksDone) for (let seq = 1; seq < done.belowSeq; seq++) stored.delete(`${done.hostId}/${done.level}/${seq}`);
  return batch(commitSeq, {
    chunks,
    chunksDone,
    hosts: of('host').map((one) => {
      const record = host(one.host, [], { fetched: commitSeq, owedMs: one.number });
      record.queues[one.level]!.tailSeq = SEQS;
      record.queues[one.level]!.headOffset = one.number % 2;
      return record;
    }),
    pages: of('page').map((one) => page(one.host, one.number, { status: 200 + commitSeq })),
    pagesGone: of('gone').map((one) => page(one.host, one.number)),
    fates: of('fate').map((one) => fate(one.host, one.number)),
    robots: of('robots').map((one) => robots(ORIGINS[one.host % 2]!, one.flag ? `# ${one.number}` : undefined, { failures: commitSeq })),
    content: of('content').map((one) =>
      content(one.number + (one.flag ? 100 : 0), `text ${one.level}`, { hash: content(one.number, '').hash }),
    ),
    seenDeltas: of('delta').map((one) => ({ seq: one.number, keys: Uint32Array.of(commitSeq, one.number) })),
    seenDeltasBelow: of('cover')[0]?.number ?? -1,
    seenManifest: of('cover')[0] === undefined ? undefined : `manifest ${commitSeq}`,
    outbox: of('outbox').map((one) => ({ to: one.host, seq: one.number, count: one.level, blob: Buffer.from(`${commitSeq}`) })),
    outboxDone: of('ack').map((one) => ({ to: one.host, upTo: one.number })),
    taken: of('taken').map((one) => ({ from: one.host, seq: one.number, finds: commitSeq, list: one.flag ? 'l' : '' })),
    scopeHosts: of('scope').map((one) => `s${one.host}`),
    clean: steps.length % 2 === 0,
    nextHostId: commitSeq,
  });
}

describe('ShardStore adapters agree', () => {
  test('R-L1 any history of batches and reopens leaves SQLite and memory in the same state', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 12 }), { maxLength: 8 }),
        fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
        async (batches, reopens) => {
          const places = [sqlitePlace(MEMORY_DIR), memoryPlace()] as const;
          try {
            let [sqlite, memory] = [places[0].store(), places[1].store()];
            const open = (): void => {
              const [one, other] = [sqlite.open(0), memory.open(0)].map((state) =>
                plain({ ...state, taken: [...state.taken].sort((a, b) => a.from - b.from), scopeHosts: [...state.scopeHosts].sort() }),
              );
              assert.deepEqual(one, other);
            };
            open();
            const stored = new Set<string>();
            for (const [index, steps] of batches.entries()) {
              const value = batchOf(index + 1, steps, stored);
              await Promise.all([sqlite.commit(value), memory.commit(value)]);
              assert.deepEqual(dump(sqlite, ORIGINS, HOSTS, SEQS), dump(memory, ORIGINS, HOSTS, SEQS));
              if (!reopens[index]) continue;
              sqlite.close();
              memory.close();
              [sqlite, memory] = [places[0].store(), places[1].store()];
              open();
            }
          } finally {
            for (const place of places) place.remove();
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('the memory store as a disk', () => {
  const opened = (state: MemoryShardState, sync?: () => Promise<void>): ShardStore => {
    const store = createMemoryStore(state, sync === undefined ? {} : { sync });
    store.open(0);
    return store;
  };

  test('R-L1 a crash that loses what was not synced gives exactly the last synced state', async () => {
    const state = new MemoryShardState();
    const first = opened(state);
    await first.commit(
      batch(1, {
        hosts: [host(1, [1])],
        chunks: [chunk(1, 0, 1, [entry(1)])],
        outbox: [{ to: 1, seq: 1, count: 1, blob: Buffer.from('a') }],
        content: [content(1, 't')],
        scopeHosts: ['a'],
      }),
    );
    const before = dump(first, ORIGINS, HOSTS, SEQS);
    const second = opened(state, () => new Promise(() => {}));
    void second.commit(
      batch(2, {
        hosts: [host(1, [2]), host(2)],
        chunks: [chunk(1, 0, 1, [entry(2)], true)],
        outboxDone: [{ to: 1, upTo: 1 }],
        content: [content(2, 't')],
        pages: [page(1, 1)],
        scopeHosts: ['b'],
      }),
    );
    assert.notDeepEqual(dump(second, ORIGINS, HOSTS, SEQS), before);
    state.crash('lost');
    const third = createMemoryStore(state);
    const found = third.open(0);
    assert.equal(found.commitSeq, 1);
    assert.equal(found.outbox.length, 1);
    assert.deepEqual(found.scopeHosts, ['a']);
    assert.deepEqual(dump(third, ORIGINS, HOSTS, SEQS), before);
  });

  test('R-L1 a crash of the process alone keeps what was applied', async () => {
    const state = new MemoryShardState();
    void opened(state, () => new Promise(() => {})).commit(batch(1, { hosts: [host(1)] }));
    state.crash('kept');
    assert.equal(createMemoryStore(state).open(0).commitSeq, 1);
  });

  test('R-L1 what a store shows when it is opened stays, also when the process that died had not synced it', () => {
    const state = new MemoryShardState();
    void opened(state, () => new Promise(() => {})).commit(batch(1, { hosts: [host(1)] }));
    state.crash('kept');
    assert.equal(createMemoryStore(state).open(0).commitSeq, 1);
    state.crash('lost');
    assert.equal(createMemoryStore(state).open(0).commitSeq, 1);
  });

  test('R-A7 a commit of a dead process never settles, and the process cannot read on', async () => {
    const state = new MemoryShardState();
    const sync = Promise.withResolvers<void>();
    const store = opened(state, () => sync.promise);
    let settled = false;
    void store.commit(batch(1, { hosts: [host(1)] })).then(
      () => (settled = true),
      () => (settled = true),
    );
    state.crash('lost');
    sync.resolve();
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(settled, false);
    assert.throws(() => store.readHost(1), { code: 'PORTOLAN_STORE_COMMIT_FAILED' });
  });

  test('R-L1 a failed sync rejects the commit and ends the store', async () => {
    const state = new MemoryShardState();
    const store = opened(state, () => Promise.reject(new Error('EIO')));
    await assert.rejects(store.commit(batch(1)), { code: 'PORTOLAN_STORE_COMMIT_FAILED' });
    await assert.rejects(store.commit(batch(2)), { code: 'PORTOLAN_STORE_COMMIT_FAILED' });
    state.crash('lost');
    assert.equal(createMemoryStore(state).open(0).commitSeq, 0);
  });
});
