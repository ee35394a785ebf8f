/** When the coordinator sends the seeds: a crawl that goes on waits for all of its shards, a new one does not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Coordinator } from '../../src/engine/coordinator.ts';
import type { LinkMessage } from '../../src/ports/link-channel.ts';

const SEEDS = [0, 1].map((to) => ({ to, seq: 1, count: 1, blob: new Uint8Array(1), list: 'one' }));

/** A coordinator of two threads, and what it has sent. */
function coordinator(isNew: boolean) {
  const sent: string[] = [];
  const channel = {
    send: (message: LinkMessage) => void (message.kind === 'finds' && sent.push(`${message.from} to ${message.to}: ${message.seq}`)),
    receive: () => {},
  };
  const clock = { nowEpochMs: () => 1_800_000_000_000, nowMonoMs: () => 0, setTimer: () => () => {} };
  const events = { committed: () => {}, notice: () => {}, progress: () => {} };
  const links = [0, 1].map(() => ({ post: (message: { readonly type: string }) => void sent.push(message.type) }));
  const options = { shards: 2, maxPages: 0, maxTimeMs: 0, seeds: SEEDS, isNew };
  const made = new Coordinator(options, clock, channel, links, events, () => {});
  const opened = (thread: number): void => made.receive(thread, { type: 'opened', statuses: [], scopeHosts: [] });
  return { made, sent, opened };
}

test('the seeds of a new crawl are sent at once, and not again when all threads are open', () => {
  const { made, sent, opened } = coordinator(true);
  assert.deepEqual(sent, ['-1 to 0: 1', '-1 to 1: 1']);
  opened(0);
  opened(1);
  assert.deepEqual(sent.slice(2), ['start', 'start']);
  made.addSeeds([{ ...SEEDS[0]!, seq: 2 }]);
  assert.deepEqual(sent.slice(4), ['-1 to 0: 2']);
});

test('a crawl that goes on is sent its seeds when every thread is open: what one shard knows may bind another', () => {
  const { made, sent, opened } = coordinator(false);
  opened(0);
  made.addSeeds([{ ...SEEDS[0]!, seq: 2 }]);
  assert.deepEqual(sent, []);
  opened(1);
  assert.deepEqual(sent, ['start', 'start', '-1 to 0: 1', '-1 to 1: 1', '-1 to 0: 2']);
});
