/**
 * A thread with one shard of its own, for the channel's tests: it answers every find with two of its own to the sender, and at the end tells the
 * coordinator what it received, pair by pair.
 */
import { createThreadChannel } from '../../src/adapters/node/link-channel.ts';
import { closeThread, onCoordinatorMessage, postToCoordinator, threadStart } from '../../src/adapters/node/threads.ts';
import { finds } from './link-channel.ts';

const { thread, data, ports } = await threadStart<{ readonly shards: number; readonly count: number }>();
const channel = createThreadChannel(thread, (shard) => shard);
const received = new Map<number, number[]>();
channel.receive(thread, (message) => {
  if (message.kind !== 'finds') return;
  received.set(message.from, [...(received.get(message.from) ?? []), message.seq]);
});
for (const { thread: other, port } of ports) channel.connect(other, port);

onCoordinatorMessage((message) => {
  if (message === 'send') {
    for (let seq = 1; seq <= data.count; seq++) {
      for (let to = 0; to < data.shards; to++) channel.send(finds(thread, to, seq, 8 + ((seq * 31) % 2_000)));
    }
    return;
  }
  if (message === 'report') {
    postToCoordinator({ thread, received: [...received] });
    return;
  }
  for (const { port } of ports) port.close();
  closeThread();
});
postToCoordinator('ready');
