import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { createThreadChannel } from '../../src/adapters/node/link-channel.ts';
import { spawnThreads, warmThread } from '../../src/adapters/node/threads.ts';
import type { LinkMessage } from '../../src/ports/link-channel.ts';
import { collect, finds, linkChannelContract } from './link-channel.ts';

linkChannelContract('both shards on one thread', () => {
  const channel = createThreadChannel(0, () => 0);
  return { of: () => channel, close: async () => {} };
});

linkChannelContract('a message port between the two', () => {
  const { port1, port2 } = new MessageChannel();
  const channels = [
    createThreadChannel(0, (shard) => (shard === 0 ? 0 : 1)),
    createThreadChannel(1, (shard) => (shard === 0 ? 0 : 1)),
  ] as const;
  channels[0].connect(1, port1);
  channels[1].connect(0, port2);
  return {
    of: (shard) => channels[shard as 0 | 1],
    close: async () => {
      port1.close();
      port2.close();
    },
  };
});

test('R-M2 between three worker threads and the coordinator every pair keeps its order and loses nothing', async () => {
  const threads = 3;
  const count = 400;
  const group = spawnThreads(
    new URL('./link-channel-worker.ts', import.meta.url),
    Array.from({ length: threads }, () => ({ shards: threads, count })),
  );
  const channel = createThreadChannel(-1, (shard) => shard);
  const ready: unknown[] = [];
  const reports: { thread: number; received: [number, number[]][] }[] = [];
  const ended: unknown[] = [];
  group.ports.forEach((port, thread) => {
    channel.connect(thread, port);
  });
  for (const thread of group.threads) {
    thread.onMessage((message) => (message === 'ready' ? ready.push(message) : reports.push(message as (typeof reports)[number])));
    thread.onExit((error) => ended.push(error ?? 'ended'));
  }
  const order = Array.from({ length: count }, (_, i) => i + 1);
  try {
    await collect(ready, threads);
    for (const thread of group.threads) thread.post('send');
    for (const seq of order) for (let to = 0; to < threads; to++) channel.send(finds(-1, to, seq));
    for (let asked = 0; asked < 2_000; asked++) {
      reports.length = 0;
      for (const thread of group.threads) thread.post('report');
      await collect(reports, threads);
      if (reports.every(({ received }) => received.length === threads + 1 && received.every(([, seqs]) => seqs.length >= count))) break;
    }
    assert.deepEqual(reports.map(({ thread }) => thread).sort(), [0, 1, 2]);
    for (const { thread, received } of reports) {
      assert.deepEqual(
        received.map(([from]) => from).sort((a, b) => a - b),
        [-1, 0, 1, 2],
      );
      for (const [from, seqs] of received) assert.deepEqual(seqs, order, `${from} → ${thread}`);
    }
  } finally {
    for (const port of group.ports) port.close();
    for (const thread of group.threads) thread.post('end');
    await collect(ended, threads);
  }
  assert.deepEqual(ended, ['ended', 'ended', 'ended']);
});

test('a handler registered again takes over from the one before', async () => {
  const channel = createThreadChannel(0, () => 0);
  const [first, second]: [LinkMessage[], LinkMessage[]] = [[], []];
  channel.receive(0, (message) => first.push(message));
  channel.send(finds(0, 0, 1));
  await collect(first, 1);
  channel.receive(0, (message) => second.push(message));
  channel.send(finds(0, 0, 2));
  await collect(second, 1);
  assert.equal(first.length, 1);
});

test('what comes for a shard of this thread before it is open waits for it, in order; what is for another thread does not', async () => {
  const { port1, port2 } = new MessageChannel();
  const channel = createThreadChannel(0, (shard) => shard % 2);
  channel.connect(1, port2);
  try {
    const open: LinkMessage[] = [];
    channel.receive(2, (message) => open.push(message));
    for (const seq of [1, 2, 3]) port1.postMessage(finds(1, 0, seq));
    port1.postMessage(finds(1, 3, 1));
    port1.postMessage(finds(1, 2, 1));
    await collect(open, 1);
    const early: LinkMessage[] = [];
    const foreign: LinkMessage[] = [];
    channel.receive(0, (message) => early.push(message));
    channel.receive(3, (message) => foreign.push(message));
    assert.deepEqual(
      early.map((message) => message.kind === 'finds' && message.seq),
      [1, 2, 3],
    );
    channel.receive(0, (message) => foreign.push(message));
    assert.deepEqual(foreign, []);
  } finally {
    port1.close();
    port2.close();
  }
});

test('a thread that was started ahead is taken once, by whoever wants just that entry and memory, and has the number it is given', async () => {
  const entry = new URL('./link-channel-worker.ts', import.meta.url);
  const warm = warmThread(entry, 1_048_576);
  assert.equal(warm.take(entry, 2_097_152), undefined, 'other memory');
  assert.equal(warm.take(new URL('./another.ts', entry), 1_048_576), undefined, 'another entry');
  const data = Array.from({ length: 2 }, () => ({ shards: 2, count: 0 }));
  const group = spawnThreads(entry, data, { memoryBytes: 1_048_576, warm, first: 1 });
  assert.equal(warm.take(entry, 1_048_576), undefined, 'taken');
  warm.discard();
  const [ready, ended]: [unknown[], unknown[]] = [[], []];
  const reports: { thread: number }[] = [];
  for (const [number, thread] of group.threads.entries()) {
    thread.onMessage((message) => (message === 'ready' ? ready.push(message) : reports.push(message as { thread: number })));
    thread.onExit((error) => ended.push(error ?? `${number} ended`));
  }
  await collect(ready, 2);
  for (const [number, thread] of group.threads.entries()) {
    thread.post('report');
    await collect(reports, number + 1);
    assert.equal(reports[number]!.thread, number);
  }
  for (const thread of group.threads) thread.post('end');
  await collect(ended, 2);
  assert.deepEqual(ended.sort(), ['0 ended', '1 ended']);
});
