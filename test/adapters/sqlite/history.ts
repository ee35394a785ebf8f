/**
 * A history of batches that shows whether a state is a prefix of it: batch N writes page N, fate N, outbox row N, a chunk of its own, and
 * overwrites what every batch overwrites (host 1, totals, marks) with N.
 */
import assert from 'node:assert/strict';
import Database from 'better-sqlite3';
import { createSqliteStore } from '../../../src/adapters/sqlite/shard-store.ts';
import type { Batch } from '../../../src/ports/shard-store.ts';
import { batch, chunk, entry, fate, host, page } from '../../contract/batches.ts';

/** Pages of one batch: enough that a commit takes milliseconds and many writes. */
const PAGES = 60;

export function historyBatch(seq: number): Batch {
  const record = host(1, [], { fetched: seq, admitted: seq });
  record.queues[2]!.tailSeq = seq;
  record.queues[2]!.queued = seq;
  return batch(seq, {
    hosts: [record],
    chunks: [chunk(1, 2, seq, [entry(seq)])],
    pages: Array.from({ length: PAGES }, (_, i) => page(1, seq * PAGES + i)),
    fates: [fate(1, seq)],
    outbox: [{ to: 1, seq, count: 1, blob: Buffer.from(`finds ${seq}`) }],
    seenDeltas: [{ seq, keys: Uint32Array.of(seq, seq) }],
    nextHostId: seq + 1,
  });
}

/** Asserts that the state in the file is exactly the first so many batches, and returns how many. */
export function assertPrefix(file: string): number {
  const store = createSqliteStore({ file, cacheBytes: 1_048_576 });
  try {
    const opened = store.open(0);
    const seq = opened.commitSeq;
    if (seq > 0) {
      assert.equal(opened.totals, `totals ${seq}`);
      assert.equal(opened.marks, `marks ${seq}`);
      assert.equal(opened.nextHostId, seq + 1);
      assert.equal(store.readHost(1)?.fetched, seq);
    }
    assert.deepEqual(
      opened.outbox.map((row) => row.seq),
      numbers(seq),
    );
    assert.deepEqual(
      opened.seenDeltas.map((delta) => delta.seq),
      numbers(seq),
    );
    const queued: number[] = [];
    store.scanEntries((_hostId, _level, one) => queued.push(one.keyLo));
    assert.deepEqual(queued, numbers(seq));
    let keys = 0;
    store.scanKeys(() => keys++);
    assert.equal(keys, seq * (PAGES + 1));
    for (const number of [PAGES, seq * PAGES + PAGES - 1])
      assert.equal(store.readPage(1, page(1, number).keyHi, page(1, number).keyLo) !== undefined, seq > 0);
    return seq;
  } finally {
    store.close();
    const db = new Database(file, { readonly: true });
    assert.deepEqual(db.pragma('integrity_check'), [{ integrity_check: 'ok' }]);
    db.close();
  }
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}
