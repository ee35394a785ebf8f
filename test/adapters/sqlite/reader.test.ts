/** The read-only view of a shard: what it finds, that it sees one commit until it is told otherwise, and that it reads by keys. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Database from 'better-sqlite3';
import { openShardReader, type ShardReader } from '../../../src/adapters/sqlite/reader.ts';
import { createSqliteStore } from '../../../src/adapters/sqlite/shard-store.ts';
import { ByteWriter } from '../../../src/core/bytes.ts';
import { RETRY_LEVEL } from '../../../src/core/host.ts';
import { type Find, writeFind } from '../../../src/core/records.ts';
import { batch, chunk, entry, fate, host, page, robots } from '../../contract/batches.ts';

function setUp(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-reader-'));
  const file = join(dir, 'state.db');
  const store = createSqliteStore({ file, cacheBytes: 1_048_576 });
  store.open(3);
  const readers: ShardReader[] = [];
  t.after(() => {
    for (const reader of readers) reader.close();
    store.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const read = (): ShardReader => {
    const reader = openShardReader(file, 3);
    assert.ok(reader !== undefined);
    readers.push(reader);
    return reader;
  };
  return { dir, file, store, read };
}

test('R-J2 pages, fates, hosts and robots.txt are found by key, and only by the right one', async (t) => {
  const { store, read } = setUp(t);
  await store.commit(
    batch(1, {
      hosts: [host(1), host(2)],
      pages: [page(1, 7)],
      fates: [fate(2, 9)],
      robots: [robots('http://h1.example', 'Disallow: /x')],
      scopeHosts: ['other.example'],
      taken: [{ from: 2, seq: 5, finds: 40, list: '' }],
    }),
  );
  const reader = read();
  assert.deepEqual([reader.shard, reader.commitSeq, reader.totals, reader.marks], [3, 1, 'totals 1', 'marks 1']);
  assert.equal(reader.host('h1.example')?.id, 1);
  assert.equal(reader.host('h3.example'), undefined);
  assert.equal(reader.hostById(2)?.key, 'h2.example');
  const { keyHi, keyLo, url } = page(1, 7);
  assert.equal(reader.page(1, keyHi, keyLo)?.url, url);
  assert.equal(reader.page(2, keyHi, keyLo), undefined);
  assert.equal(reader.page(1, keyHi, keyLo - 1), undefined);
  assert.equal(reader.fate(2, 9, 0xfffffff0)?.reason, 'robots-disallowed');
  assert.equal(reader.fate(1, 9, 0xfffffff0), undefined);
  assert.equal(Buffer.from(reader.robots('http://h1.example')?.body ?? []).toString(), 'Disallow: /x');
  assert.equal(reader.robots('https://h1.example'), undefined);
  assert.deepEqual(reader.scopeHosts(), ['other.example']);
  assert.deepEqual(reader.taken(), [{ sender: 2, seq: 5, finds: 40 }]);
});

test('the place of a waiting URL counts what stands before it, without what is consumed', async (t) => {
  const { store, read } = setUp(t);
  const numbers = Array.from({ length: 30 }, (_, n) => n + 1);
  const part = (from: number, to: number) => numbers.slice(from, to).map((n) => entry(n));
  const record = host(1, [0, 0, 0, 27, 0, 1]);
  record.queues[3]!.headSeq = 1;
  record.queues[3]!.headOffset = 3;
  record.queues[3]!.tailSeq = 3;
  await store.commit(
    batch(1, {
      hosts: [record],
      chunks: [
        chunk(1, 3, 1, part(0, 10)),
        chunk(1, 3, 2, part(10, 20)),
        chunk(1, 3, 3, part(20, 30)),
        chunk(1, RETRY_LEVEL, 1, [entry(99, { attempts: 2 })]),
        // Another host's queue lies beside it.
        chunk(2, 0, 1, [entry(77)]),
      ],
    }),
  );
  const reader = read();
  const stored = reader.host('h1.example')!;
  const find = (n: number) => reader.findEntry(stored, entry(n).keyHi, entry(n).keyLo);
  for (const n of [1, 2, 3]) assert.equal(find(n), undefined, `${n} is consumed`);
  for (const n of numbers.slice(3)) {
    const place = find(n);
    assert.deepEqual([place?.level, place?.ahead, place?.entry.pathQuery], [3, n - 4, `/p${n}`]);
  }
  assert.deepEqual([find(99)?.level, find(99)?.ahead, find(99)?.entry.attempts], [RETRY_LEVEL, 0, 2]);
  assert.equal(find(77), undefined);
  assert.equal(find(1_000), undefined);
  assert.deepEqual(
    [...reader.entries()].map(({ host, level, entry: one }) => `${host} ${level} ${one.pathQuery}`),
    [...numbers.slice(3).map((n) => `h1.example 3 /p${n}`), 'h1.example 5 /p99'],
  );
});

test('a find on its way is found in the outbox of its sender, for its receiver alone', async (t) => {
  const { store, read } = setUp(t);
  const find: Find = {
    url: 'http://a.example/x',
    keyHi: 11,
    keyLo: 12,
    kind: 'link',
    depth: 4,
    via: 'http://b/',
    foundAtS: 5,
    chain: undefined,
  };
  const out = new ByteWriter();
  writeFind(out, { ...find, keyHi: 1, url: 'http://a.example/y' }, undefined);
  writeFind(out, find, find.via);
  await store.commit(batch(1, { outbox: [{ to: 2, seq: 1, count: 2, blob: out.take() }] }));
  const reader = read();
  assert.deepEqual(reader.findInTransit(2, 11, 12), find);
  assert.equal(reader.findInTransit(1, 11, 12), undefined);
  assert.equal(reader.findInTransit(2, 12, 11), undefined);
});

test('a reader sees one commit until it asks for the next, and never makes the writer wait', async (t) => {
  const { store, read } = setUp(t);
  await store.commit(batch(1, { hosts: [host(1)], pages: [page(1, 1)] }));
  const reader = read();
  const rows = reader.pages()[Symbol.iterator]();
  assert.equal(rows.next().value.url, page(1, 1).url);
  for (let seq = 2; seq <= 50; seq++) await store.commit(batch(seq, { pages: [page(1, seq)] }));
  assert.equal(rows.next().done, true, 'the iteration goes on in its commit');
  assert.equal(reader.commitSeq, 1);
  assert.equal(reader.page(1, page(1, 50).keyHi, page(1, 50).keyLo), undefined);
  reader.snapshot();
  assert.equal(reader.commitSeq, 50);
  assert.equal([...reader.pages()].length, 50);
});

test('pages and fates are filtered by outcome and time', async (t) => {
  const { store, read } = setUp(t);
  const at = (n: number) => 1_700_000_000_000 + n;
  await store.commit(
    batch(1, {
      hosts: [host(1)],
      pages: [page(1, 1), page(1, 2, { outcome: 'not-found', status: 404 }), page(1, 3, { outcome: 'timeout', status: 0 })],
      fates: [fate(1, 1), { ...fate(1, 2), reason: 'page-budget', atMs: at(9) }],
    }),
  );
  const reader = read();
  const urls = (rows: Iterable<{ readonly url: string }>) => [...rows].map(({ url }) => url.slice('http://h1.example/'.length));
  assert.deepEqual(urls(reader.pages({ outcomes: ['not-found', 'timeout'] })), ['p2', 'p3']);
  assert.deepEqual(urls(reader.pages({ sinceMs: at(2) })), ['p2', 'p3']);
  assert.deepEqual(urls(reader.pages({ sinceMs: at(3), outcomes: ['not-found'] })), []);
  assert.deepEqual(urls(reader.fates({ outcomes: ['page-budget'] })), ['f2']);
  assert.deepEqual(urls(reader.fates({ sinceMs: at(5) })), ['f2']);
  assert.deepEqual([...reader.pages({ outcomes: ['not-found'] })][0]?.host, 'h1.example');
});

test('hosts come by length of queue, by gap, and by the time that is left', async (t) => {
  const { store, read } = setUp(t);
  const parts = (owedMs: number, lastEndMs = 0) => ({ owedMs, lastEndMs, lastDurationMs: 0 });
  await store.commit(
    batch(1, {
      hosts: [host(1, [100], parts(10)), host(2, [5], parts(9_000)), host(3, [1], parts(1_000, 100_000)), host(4, [], parts(90_000))],
    }),
  );
  const reader = read();
  const order = (by: 'queued' | 'gap' | 'left', limit = 9) => reader.topHosts(by, limit, 1_000).map(({ record }) => record.id);
  assert.deepEqual(order('queued'), [1, 2, 3]);
  assert.deepEqual(order('gap'), [2, 3, 1]);
  assert.deepEqual(order('left'), [3, 2, 1]);
  assert.deepEqual(order('queued', 1), [1]);
  assert.deepEqual(
    [...reader.hosts()].map(({ record, queued }) => [record.id, queued]),
    [
      [1, 100],
      [2, 5],
      [3, 1],
      [4, 0],
    ],
  );
});

test('no shard is no reader, and a shard that was opened but never committed is empty', async (t) => {
  const { dir, read } = setUp(t);
  assert.equal(openShardReader(join(dir, 'nothing.db'), 3), undefined);
  assert.deepEqual([...read().pages()], []);
  assert.equal(read().commitSeq, 0);
});

test('no look-up by key scans a table', async (t) => {
  const { store, file } = setUp(t);
  await store.commit(batch(1, { hosts: [host(1)] }));
  const db = new Database(file, { readonly: true });
  t.after(() => db.close());
  const lookups = [
    'SELECT * FROM host WHERE key = ?',
    'SELECT * FROM page WHERE host_id = ? AND key = ?',
    'SELECT * FROM fate WHERE host_id = ? AND key = ?',
    'SELECT id, n, blob FROM chunk WHERE id >= ? AND id < ? ORDER BY id',
    'SELECT r.*, b.body FROM robots r LEFT JOIN robots_body b ON b.sha256 = r.body_sha256 WHERE r.origin = ?',
    'SELECT blob FROM outbox WHERE receiver = ? AND instr(blob, ?) > 0 ORDER BY seq',
  ];
  for (const sql of lookups) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...Array.from(sql.matchAll(/\?/g), () => 1)) as { detail: string }[];
    for (const { detail } of plan) assert.match(detail, /^SEARCH/, sql);
  }
});
