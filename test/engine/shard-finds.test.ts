/** The receiving side of finds, and errands, as a shard does them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createMemoryStore } from '../../src/adapters/memory/shard-store.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import { emptyTotals, lawGaps } from '../../src/engine/accounting.ts';
import { batch, chunk, entry, host, robots } from '../contract/batches.ts';
import { ShardRig, settle } from './shard-rig.ts';

async function withRig(body: (rig: ShardRig) => Promise<void>, input: ConfigInput = {}): Promise<void> {
  const rig = await ShardRig.open(input);
  try {
    await body(rig);
    assert.deepEqual(rig.failures, []);
  } finally {
    rig.close();
  }
}

describe('finds from another shard', () => {
  test('R-M2 R-L1 they are acknowledged when the batch that admits them is durable, not before', () =>
    withRig(async (rig) => {
      const sync = Promise.withResolvers<void>();
      rig.holdSyncs(sync.promise);
      rig.finds(1, ['http://a.example/1', 'http://a.example/2']);
      await rig.clock.advance(1_000);
      assert.deepEqual(rig.acks(), []);
      sync.resolve();
      await settle();
      assert.deepEqual(rig.acks(), [1]);
      const { totals } = rig.shard.status();
      assert.deepEqual([totals.taken[1], totals.admitted, totals.queued.reduce((a, b) => a + b, 0)], [2, 2, 2]);
      assert.deepEqual(lawGaps(totals), { finder: 0, owner: 0, urls: 0 });
    }));

  test('R-M2 a message that comes again counts nothing, and is acknowledged up to what is durable and no further', () =>
    withRig(async (rig) => {
      rig.finds(1, ['http://a.example/1']);
      await rig.clock.advance(1_000);
      const sync = Promise.withResolvers<void>();
      rig.holdSyncs(sync.promise);
      rig.finds(2, ['http://a.example/2']);
      rig.finds(3, ['http://a.example/3']);
      rig.finds(1, ['http://a.example/1']);
      await rig.clock.advance(1_000);
      assert.deepEqual(rig.acks(), [1, 1], '2 and 3 are in memory only');
      rig.finds(2, ['http://a.example/2']);
      assert.deepEqual(rig.acks(), [1, 1]);
      sync.resolve();
      await settle();
      assert.deepEqual(rig.acks(), [1, 1, 3]);
      assert.equal(rig.shard.status().totals.admitted, 3);
    }));

  test('R-M2 after a gap nothing is taken until the missing number came', () =>
    withRig(async (rig) => {
      rig.finds(2, ['http://a.example/2']);
      await rig.clock.advance(1_000);
      assert.deepEqual(rig.acks(), []);
      rig.finds(1, ['http://a.example/1']);
      rig.finds(2, ['http://a.example/2']);
      await rig.clock.advance(1_000);
      assert.deepEqual(rig.acks(), [2]);
    }));

  test('R-M2 R-L1 what was taken and not durable is taken again after a crash, and then only once', () =>
    withRig(async (rig) => {
      rig.finds(1, ['http://a.example/1']);
      await rig.clock.advance(1_000);
      rig.holdSyncs(new Promise(() => {}));
      rig.finds(2, ['http://a.example/1', 'http://b.example/1']);
      await rig.clock.advance(1_000);
      rig.state.crash('lost');
      rig.holdSyncs(undefined);
      await rig.reopen();
      rig.sent.length = 0;
      rig.finds(1, ['http://a.example/1']);
      assert.deepEqual(rig.acks(), [1]);
      rig.finds(2, ['http://a.example/1', 'http://b.example/1']);
      await rig.clock.advance(1_000);
      const { totals } = rig.shard.status();
      assert.deepEqual([totals.taken[1], totals.known, totals.admitted], [3, 1, 2]);
      assert.deepEqual(lawGaps(totals), { finder: 0, owner: 0, urls: 0 });
    }));

  test('R-B10 what a full host refuses is counted with its reason and named in the acknowledgement', () =>
    withRig(
      async (rig) => {
        rig.finds(1, ['http://a.example/1', 'http://a.example/2', 'http://a.example/3', 'http://b.example/1']);
        await rig.clock.advance(1_000);
        const { totals } = rig.shard.status();
        assert.deepEqual(totals.ownerRejected, { 'host-queue-full': 1 });
        assert.equal(totals.admitted, 3);
        const ack = rig.sent.find((message) => message.kind === 'ack');
        assert.equal(ack?.kind === 'ack' && ack.refused.length, 2);
      },
      { frontier: { maxQueuedPerHost: 2 } },
    ));
});

test('R-D4 R-C1 an errand to a host that is set apart for its Crawl-delay is refused, and the shard comes to rest', async () => {
  const rig = await ShardRig.open();
  try {
    rig.shard.close();
    const store = createMemoryStore(rig.state);
    store.open(0);
    const slow = { ...host(1, [1]), key: 'slow.example', domain: 'slow.example', admitted: 1 };
    const totals = JSON.stringify({ ...emptyTotals(), seeds: 1, admitted: 1, queued: [1, 0, 0, 0, 0, 0] });
    const record = robots('http://slow.example', 'User-agent: *\nCrawl-delay: 4000\n', {
      expiresAtMs: rig.clock.nowEpochMs() + 86_400_000,
    });
    await store.commit(
      batch(1, { hosts: [slow], chunks: [chunk(1, 0, 1, [entry(2)])], robots: [record], nextHostId: 2, totals, marks: '' }),
    );
    await rig.reopen();
    await rig.clock.advance(2_000);
    assert.deepEqual(rig.failures, []);
    assert.equal(rig.shard.status().apartHosts, 1);
    rig.receive({ kind: 'errand', from: 1, to: 0, id: 7, url: 'http://slow.example/robots.txt', hops: 1 });
    await rig.clock.advance(5_000);
    assert.deepEqual(
      rig.sent
        .filter((message) => message.kind === 'errand-reply')
        .map((message) => message.kind === 'errand-reply' && message.answer.kind),
      ['failed'],
    );
    assert.equal(rig.shard.status().idle, true);
    assert.deepEqual(rig.failures, []);
  } finally {
    rig.close();
  }
});
