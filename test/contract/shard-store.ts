/**
 * What every ShardStore promises (src/ports/shard-store.ts), as a suite that each adapter runs. `place` is what outlives a store: a directory,
 * an object, a keyspace.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { copyHost } from '../../src/core/host.ts';
import type { QueueEntry } from '../../src/core/records.ts';
import type { OpenedShard, ShardStore } from '../../src/ports/shard-store.ts';
import { batch, chunk, content, entry, fate, host, page, plain, robots, sha } from './batches.ts';

export interface StorePlace {
  /** A new store on this place; the one before was closed, or its process is taken to be dead. */
  store(): ShardStore;
  remove(): void;
}

export function shardStoreContract(name: string, makePlace: () => StorePlace): void {
  describe(`ShardStore contract: ${name}`, () => {
    const promise = (title: string, body: (place: StorePlace) => Promise<void>): void => {
      test(title, async () => {
        const place = makePlace();
        try {
          await body(place);
        } finally {
          place.remove();
        }
      });
    };
    const opened = (place: StorePlace): { store: ShardStore; state: OpenedShard } => {
      const store = place.store();
      return { store, state: store.open(3) };
    };
    const entriesOf = (store: ShardStore): [number, number, QueueEntry][] => {
      const found: [number, number, QueueEntry][] = [];
      store.scanEntries((hostId, level, one) => found.push([hostId, level, one]));
      return found;
    };

    promise('R-L1 a new shard opens empty, clean and at commit 0', async (place) => {
      const { store, state } = opened(place);
      assert.deepEqual(plain(state), {
        commitSeq: 0,
        totals: '',
        marks: '',
        seenManifest: '',
        seenDeltas: [],
        nextHostId: 1,
        nextContentId: 1,
        outbox: [],
        taken: [],
        scopeHosts: [],
        unclean: false,
        isNew: true,
      });
      assert.equal(store.readHost(1), undefined);
      assert.equal(store.findHostId('h1.example'), undefined);
      assert.equal(store.readChunk(1, 0, 1), undefined);
      assert.equal(store.readRobots('http://h1.example'), undefined);
      assert.equal(store.readPage(1, 1, 1), undefined);
      assert.equal(store.findContent(sha('x')), undefined);
      store.close();
    });

    promise('R-L1 R-L3 everything of a batch is found again after a reopen', async (place) => {
      const first = opened(place).store;
      const retry = entry(4, {
        attempts: 2,
        notBeforeMs: 1_700_000_123_456,
        chain: { hops: 2, fromSeed: true, cookies: 'é=1', urls: ['http://a/', 'http://b/'] },
      });
      const parts = {
        hosts: [
          host(1, [2], {
            address: '192.0.2.1',
            lastEndMs: 1_700_000_000_500,
            owedMs: 1_000,
            gapRule: 'duration',
            crawlDelayMs: 2_500,
            waitUntilMs: 1_700_000_009_000,
            backoff: 2,
            faults: 1,
            setAside: 3,
          }),
          host(2, [0, 0, 0, 0, 0, 1], {
            state: 'retired',
            judged: 9,
            nearDuplicates: 4,
            cyclePages: 7,
            cycleStartMs: 1_690_000_000_000,
            admitted: 5,
            fetched: 3,
            dropped: 1,
            lastDurationMs: 20,
          }),
        ],
        chunks: [chunk(1, 0, 1, [entry(1), entry(2)]), chunk(2, 5, 1, [retry])],
        pages: [
          page(1, 1),
          page(2, 2, {
            contentHash: undefined,
            segment: '',
            offset: 0,
            length: 0,
            words: 0,
            simhashHi: 0,
            simhashLo: 0,
            etag: '',
            lastModified: '',
            duplicateOf: 'http://o/',
            duplicateKind: 'near',
          }),
        ],
        fates: [fate(1, 8)],
        robots: [
          robots('https://h1.example', 'User-agent: *\nDisallow: /x\n'),
          robots('http://h2.example', undefined, { state: 'deny-all', status: 503, failures: 3, failingSinceMs: 77 }),
        ],
        content: [content(1, 'a'), content(2, 'b', { words: 0, textHash: undefined, sketch: undefined, simhashHi: 0, simhashLo: 0 })],
        seenDeltas: [{ seq: 1, keys: Uint32Array.of(1, 2, 0xffffffff, 0x80000000) }],
        seenManifest: '{"runs":[]}',
        outbox: [{ to: 2, seq: 1, count: 4, blob: Buffer.from('finds') }],
        taken: [
          { from: 0, seq: 9, finds: 90, list: '' },
          { from: -1, seq: 1, finds: 3, list: 'abc' },
        ],
        scopeHosts: ['www.h1.example'],
        nextHostId: 3,
        nextContentId: 3,
      } as const;
      await first.commit(batch(1, parts));
      first.close();
      const { store, state } = opened(place);
      assert.deepEqual(
        plain(state),
        plain({
          commitSeq: 1,
          totals: 'totals 1',
          marks: 'marks 1',
          seenManifest: '{"runs":[]}',
          seenDeltas: parts.seenDeltas,
          nextHostId: 3,
          nextContentId: 3,
          outbox: parts.outbox,
          taken: state.taken,
          scopeHosts: parts.scopeHosts,
          unclean: true,
          isNew: false,
        }),
      );
      assert.deepEqual(plain([...state.taken].sort((a, b) => b.from - a.from)), plain(parts.taken));
      for (const record of parts.hosts) {
        assert.deepEqual(store.readHost(record.id), record);
        assert.equal(store.findHostId(record.key), record.id);
      }
      for (const row of parts.pages) assert.deepEqual(plain(store.readPage(row.hostId, row.keyHi, row.keyLo)), plain(row));
      for (const row of parts.content) {
        assert.deepEqual(plain(store.readContent(row.id)), plain(row));
        assert.deepEqual(plain(store.findContent(row.hash)), plain(row));
      }
      for (const row of parts.robots) assert.deepEqual(plain(store.readRobots(row.origin)), plain(row));
      assert.deepEqual(entriesOf(store), [
        [1, 0, entry(1)],
        [1, 0, entry(2)],
        [2, 5, retry],
      ]);
      const keys: string[] = [];
      store.scanKeys((hi, lo) => keys.push(`${hi}/${lo}`));
      assert.deepEqual(keys.sort(), [...parts.pages, ...parts.fates].map((row) => `${row.keyHi}/${row.keyLo}`).sort());
      const hashes: number[][] = [];
      store.scanContent(({ simhashHi, simhashLo, id }) => hashes.push([simhashHi, simhashLo, id]));
      assert.deepEqual(hashes, [
        [1, 0xfedcba98, 1],
        [0, 0, 2],
      ]);
      store.close();
    });

    promise('R-L1 reads see a batch as soon as commit was called, before it is durable', async (place) => {
      const { store } = opened(place);
      const pending = store.commit(
        batch(1, {
          hosts: [host(1, [1])],
          chunks: [chunk(1, 0, 1, [entry(1)])],
          pages: [page(1, 2)],
          content: [content(1, 'a')],
          robots: [robots('http://h1.example', 'x')],
        }),
      );
      assert.equal(store.readHost(1)?.queues[0]?.queued, 1);
      assert.equal(store.findHostId('h1.example'), 1);
      assert.deepEqual(plain(store.readChunk(1, 0, 1)), plain(chunk(1, 0, 1, [entry(1)]).blob));
      assert.equal(store.readPage(1, page(1, 2).keyHi, page(1, 2).keyLo)?.url, page(1, 2).url);
      assert.equal(store.findContent(content(1, 'a').hash)?.id, 1);
      assert.equal(store.readRobots('http://h1.example')?.status, 200);
      await pending;
      store.close();
    });

    promise('R-L1 the same batch twice changes nothing, in one life and after a reopen', async (place) => {
      const { store } = opened(place);
      await store.commit(batch(1, { hosts: [host(1, [1])], chunks: [chunk(1, 0, 1, [entry(1)])] }));
      const more = batch(2, {
        hosts: [host(1, [2])],
        chunks: [chunk(1, 0, 1, [entry(2)], true)],
        outbox: [{ to: 1, seq: 1, count: 1, blob: Buffer.from('a') }],
        totals: 'as first given',
      });
      await store.commit(more);
      await store.commit({ ...more, totals: 'another' });
      const second = opened(place);
      assert.equal(second.state.totals, 'as first given');
      await second.store.commit(more);
      assert.deepEqual(entriesOf(second.store), [
        [1, 0, entry(1)],
        [1, 0, entry(2)],
      ]);
      assert.equal(second.state.outbox.length, 1);
      second.store.close();
    });

    for (const [what, seq] of [
      ['skips a number', 3],
      ['goes back', 0],
    ] as const) {
      promise(`R-L1 a batch that ${what} is refused, changes nothing and ends the store`, async (place) => {
        const { store } = opened(place);
        await store.commit(batch(1, { hosts: [host(1)] }));
        await assert.rejects(store.commit(batch(seq, { hosts: [host(2)] })), { code: 'PORTOLAN_ENGINE_INVARIANT' });
        await assert.rejects(store.commit(batch(2)), { code: 'PORTOLAN_STORE_COMMIT_FAILED' });
        store.close();
        const again = opened(place);
        assert.equal(again.state.commitSeq, 1);
        assert.equal(again.store.readHost(2), undefined);
        again.store.close();
      });
    }

    promise('R-L1 a batch that cannot be applied whole leaves nothing of itself, and the store is closed', async (place) => {
      const { store } = opened(place);
      await store.commit(batch(1, { hosts: [host(1, [1])], chunks: [chunk(1, 0, 1, [entry(1)])] }));
      const broken = batch(2, {
        hosts: [host(1, [7]), host(2)],
        chunks: [chunk(1, 0, 1, [entry(2)], true), chunk(2, 0, 9, [entry(3)]), chunk(2, 0, 8, [entry(4)], true)],
        pages: [page(1, 1)],
        nextHostId: 50,
      });
      await assert.rejects(store.commit(broken), { code: 'PORTOLAN_STATE_DAMAGED' });
      await assert.rejects(store.commit(batch(2)), { code: 'PORTOLAN_STORE_COMMIT_FAILED' });
      store.close();
      const again = opened(place);
      assert.equal(again.state.commitSeq, 1);
      assert.equal(again.state.nextHostId, 1);
      assert.equal(again.store.readHost(1)?.queues[0]?.queued, 1);
      assert.equal(again.store.readHost(2), undefined);
      assert.equal(again.store.readChunk(2, 0, 9), undefined);
      assert.deepEqual(entriesOf(again.store), [[1, 0, entry(1)]]);
      again.store.close();
    });

    promise('R-B8 a chunk grows by appends, is replaced by a write, and goes with what is done', async (place) => {
      const { store } = opened(place);
      const three = {
        ...host(1, [9]),
        queues: host(1).queues.map((queue, level) => (level === 0 ? { ...queue, headSeq: 1, tailSeq: 3, queued: 4 } : queue)),
      };
      await store.commit(batch(1, { hosts: [three], chunks: [chunk(1, 0, 1, [entry(1)]), chunk(1, 0, 2, [entry(2)])] }));
      await store.commit(batch(2, { chunks: [chunk(1, 0, 2, [entry(3)], true), chunk(1, 0, 3, [entry(4)])] }));
      assert.deepEqual(
        entriesOf(store).map(([, level, one]) => [level, one.keyLo]),
        [
          [0, 1],
          [0, 2],
          [0, 3],
          [0, 4],
        ],
      );
      await store.commit(
        batch(3, { chunks: [chunk(1, 1, 2, [entry(8)])], chunksDone: [{ hostId: 1, level: 0, fromSeq: 1, belowSeq: 3 }] }),
      );
      assert.equal(store.readChunk(1, 0, 1), undefined);
      assert.equal(store.readChunk(1, 0, 2), undefined);
      assert.notEqual(store.readChunk(1, 0, 3), undefined);
      assert.notEqual(store.readChunk(1, 1, 2), undefined, 'another level has numbers of its own');
      await store.commit(batch(4, { chunks: [chunk(1, 0, 3, [entry(9)])] }));
      assert.deepEqual(plain(store.readChunk(1, 0, 3)), plain(chunk(1, 0, 3, [entry(9)]).blob));
      store.close();
    });

    promise('R-B8 a chunk number beyond the range is refused, not mixed up with another queue', async (place) => {
      const { store } = opened(place);
      await store.commit(batch(1, { chunks: [chunk(1, 1, 0, [entry(1)])] }));
      await assert.rejects(store.commit(batch(2, { chunks: [chunk(1, 0, 2 ** 22, [entry(2)])] })), { code: 'PORTOLAN_ENGINE_INVARIANT' });
      store.close();
      const again = opened(place);
      assert.deepEqual(plain(again.store.readChunk(1, 1, 0)), plain(chunk(1, 1, 0, [entry(1)]).blob));
      again.store.close();
    });

    promise('R-B7 consumed entries of the head chunk are left out of a scan', async (place) => {
      const { store } = opened(place);
      const record = host(1, [1]);
      record.queues[0]!.headOffset = 2;
      await store.commit(batch(1, { hosts: [record], chunks: [chunk(1, 0, 1, [entry(1), entry(2), entry(3)])] }));
      assert.deepEqual(entriesOf(store), [[1, 0, entry(3)]]);
      store.close();
    });

    promise('R-B5 a host read from the store is the reader’s own copy, and one handed in stays as it was', async (place) => {
      const { store } = opened(place);
      const given = host(1, [1], { owedMs: 1_000 });
      const pending = store.commit(batch(1, { hosts: [given] }));
      const kept = copyHost(given);
      given.owedMs = 0;
      given.queues[0]!.queued = 99;
      await pending;
      const read = store.readHost(1)!;
      assert.deepEqual(read, kept);
      read.owedMs = 5;
      read.queues[0]!.queued = 50;
      assert.deepEqual(store.readHost(1), kept);
      store.close();
    });

    promise('hosts are scanned in the order of their ids, whatever order they came in', async (place) => {
      const { store } = opened(place);
      await store.commit(
        batch(1, { hosts: [host(5, [0, 0, 3], { lastEndMs: 10, owedMs: 5 }), host(2), host(9, [0, 0, 0, 0, 0, 1])], chunks: [] }),
      );
      await store.commit(batch(2, { hosts: [host(2, [1]), host(7)] }));
      const scans: unknown[] = [];
      store.scanHosts((scan) => scans.push(scan));
      assert.deepEqual(scans, [
        { id: 2, key: 'h2.example', domain: 'example', level: 0, dueMs: 0, queued: 1 },
        { id: 5, key: 'h5.example', domain: 'example', level: 2, dueMs: 15, queued: 3 },
        { id: 7, key: 'h7.example', domain: 'example', level: -1, dueMs: 0, queued: 0 },
        { id: 9, key: 'h9.example', domain: 'example', level: 5, dueMs: 0, queued: 1 },
      ]);
      store.close();
    });

    promise('R-I4 the later page or fate of a key replaces the earlier one, and a page gone is gone', async (place) => {
      const { store } = opened(place);
      await store.commit(batch(1, { pages: [page(1, 1), page(1, 2)], fates: [fate(1, 3)] }));
      await store.commit(
        batch(2, { pages: [page(1, 1, { status: 404, outcome: 'not-found' })], pagesGone: [page(1, 2)], fates: [fate(1, 3)] }),
      );
      assert.equal(store.readPage(1, page(1, 1).keyHi, page(1, 1).keyLo)?.status, 404);
      assert.equal(store.readPage(1, page(1, 2).keyHi, page(1, 2).keyLo), undefined);
      let keys = 0;
      store.scanKeys(() => keys++);
      assert.equal(keys, 2);
      store.close();
    });

    promise('R-I4 a fate that goes is gone, and one that comes in its stead stays', async (place) => {
      const { store } = opened(place);
      await store.commit(batch(1, { fates: [fate(1, 3), fate(1, 4), fate(2, 3)] }));
      await store.commit(batch(2, { fatesGone: [fate(1, 3), fate(1, 4)], fates: [{ ...fate(1, 4), reason: 'page-budget' }] }));
      const left: string[] = [];
      store.scanFates((one) => left.push(`${one.hostId} ${one.keyHi} ${one.reason}`));
      assert.deepEqual(left.sort(), ['1 4 page-budget', '2 3 robots-disallowed']);
      store.close();
    });

    promise('R-A6 a page that is opened again and ends within one batch keeps its new row', async (place) => {
      const { store } = opened(place);
      await store.commit(batch(1, { pages: [page(1, 1, { outcome: 'redirect', status: 302 })] }));
      await store.commit(batch(2, { pagesGone: [page(1, 1)], pages: [page(1, 1)] }));
      assert.equal(store.readPage(1, page(1, 1).keyHi, page(1, 1).keyLo)?.outcome, 'ok');
      store.close();
    });

    promise('R-L1 pages beyond a length are those that end after it or lie in a later segment', async (place) => {
      const { store } = opened(place);
      const at = (number: number, segment: string, offset: number) => page(1, number, { segment, offset, length: 100 });
      await store.commit(batch(1, { pages: [at(1, 'w-1', 0), at(2, 'w-1', 100), at(3, 'w-1', 200), at(4, 'w-2', 0), at(5, '', 0)] }));
      const beyond = (segment: string, bytes: number): number[] =>
        store
          .pagesBeyond(segment, bytes)
          .map((row) => row.keyHi - 0xf0000000)
          .sort();
      assert.deepEqual(beyond('w-1', 100), [2, 3, 4]);
      assert.deepEqual(beyond('w-1', 150), [2, 3, 4]);
      assert.deepEqual(beyond('w-1', 300), [4]);
      assert.deepEqual(beyond('w-2', 100), []);
      store.close();
    });

    promise('R-D1 robots bodies are shared by hash, and a row without a body of its own finds the stored one', async (place) => {
      const { store } = opened(place);
      const first = robots('http://a.example', 'User-agent: *\n');
      await store.commit(batch(1, { robots: [first, robots('http://b.example', 'User-agent: *\n')] }));
      await store.commit(batch(2, { robots: [{ ...first, body: undefined, failures: 2, failingSinceMs: 5 }] }));
      assert.equal(Buffer.from(store.readRobots('http://a.example')!.body!).toString(), 'User-agent: *\n');
      assert.equal(store.readRobots('http://a.example')!.failures, 2);
      assert.equal(Buffer.from(store.readRobots('http://b.example')!.body!).toString(), 'User-agent: *\n');
      await store.commit(batch(3, { robots: [robots('http://a.example', undefined, { state: 'allow-all', status: 404 })] }));
      assert.equal(store.readRobots('http://a.example')!.body, undefined);
      store.close();
    });

    promise('R-H1 the first page with a hash, and the first with a text, stay the ones that are found', async (place) => {
      const { store } = opened(place);
      await store.commit(batch(1, { content: [content(1, 'same'), content(2, 'same')] }));
      await store.commit(batch(2, { content: [content(3, 'x', { hash: content(1, '').hash }), content(4, 'same')] }));
      assert.equal(store.findContent(content(1, '').hash)?.id, 1);
      assert.equal(store.readContent(3), undefined);
      assert.equal(store.findText(sha('same').subarray(0, 8))?.id, 1);
      assert.equal(store.findText(sha('none').subarray(0, 8)), undefined);
      store.close();
    });

    promise('R-G4 seen deltas stay until the manifest that covers them, in the same batch', async (place) => {
      const { store } = opened(place);
      await store.commit(
        batch(1, {
          seenDeltas: [
            { seq: 1, keys: Uint32Array.of(1, 1) },
            { seq: 2, keys: Uint32Array.of(2, 2) },
          ],
        }),
      );
      await store.commit(batch(2, { seenDeltas: [{ seq: 3, keys: Uint32Array.of(3, 3) }], seenManifest: 'm1', seenDeltasBelow: 3 }));
      await store.commit(batch(3));
      store.close();
      const { state } = opened(place);
      assert.equal(state.seenManifest, 'm1', 'a batch without a manifest keeps the stored one');
      assert.deepEqual(plain(state.seenDeltas), plain([{ seq: 3, keys: Uint32Array.of(3, 3) }]));
    });

    promise('the outbox gives back what is not acknowledged, by receiver and number; taken keeps the last word', async (place) => {
      const { store } = opened(place);
      const row = (to: number, seq: number) => ({ to, seq, count: 1, blob: Buffer.from(`${to}/${seq}`) });
      await store.commit(batch(1, { outbox: [row(2, 1), row(1, 1), row(1, 2)], taken: [{ from: 1, seq: 1, finds: 5, list: '' }] }));
      await store.commit(
        batch(2, {
          outbox: [row(1, 10)],
          outboxDone: [
            { to: 1, upTo: 1 },
            { to: 7, upTo: 9 },
          ],
          taken: [{ from: 1, seq: 2, finds: 8, list: '' }],
        }),
      );
      store.close();
      const { state } = opened(place);
      assert.deepEqual(plain(state.outbox), plain([row(1, 2), row(1, 10), row(2, 1)]));
      assert.deepEqual(plain(state.taken), [{ from: 1, seq: 2, finds: 8, list: '' }]);
    });

    promise('R-A6 scope hosts are kept once each', async (place) => {
      const { store } = opened(place);
      await store.commit(batch(1, { scopeHosts: ['b.example', 'a.example'] }));
      await store.commit(batch(2, { scopeHosts: ['a.example'] }));
      store.close();
      assert.deepEqual([...opened(place).state.scopeHosts].sort(), ['a.example', 'b.example']);
    });

    promise('R-C8 only a stop whose last batch says so is clean', async (place) => {
      const { store } = opened(place);
      await store.commit(batch(1, { clean: true }));
      store.close();
      const second = opened(place);
      assert.equal(second.state.unclean, false);
      await second.store.commit(batch(2));
      second.store.close();
      assert.equal(opened(place).state.unclean, true);
    });

    promise('a state that belongs to another shard is not opened', async (place) => {
      const { store } = opened(place);
      await store.commit(batch(1));
      store.close();
      assert.throws(() => place.store().open(4), { code: 'PORTOLAN_STATE_DAMAGED' });
    });

    promise('closing twice is one closing', async (place) => {
      const { store } = opened(place);
      store.close();
      store.close();
    });
  });
}
