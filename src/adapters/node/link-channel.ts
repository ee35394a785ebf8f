/**
 * LinkChannel between the shards of one process: message ports between threads, a queue drained by setImmediate within one.
 * Order per pair holds because each pair of threads has one port. Nothing is lost while both threads live: what comes for a shard before it is open waits
 * for its `receive`.
 */
import type { MessagePort } from 'node:worker_threads';
import type { LinkChannel, LinkMessage } from '../../ports/link-channel.ts';

export interface ThreadChannel extends LinkChannel {
  /** Hands in a message that came over a port. */
  deliver(message: LinkMessage): void;
  /** The port to another thread. */
  connect(thread: number, port: MessagePort): void;
}

/** `thread`: this one's number; `threadOf`: which thread runs a shard (−1: the coordinator). */
export function createThreadChannel(thread: number, threadOf: (shard: number) => number): ThreadChannel {
  const handlers = new Map<number, (message: LinkMessage) => void>();
  /** For shards of this thread that are not open yet. The outbox of each sender bounds what it may have sent. */
  const early = new Map<number, LinkMessage[]>();
  const ports = new Map<number, MessagePort>();
  let local: LinkMessage[] = [];
  let scheduled = false;

  const deliver = (message: LinkMessage): void => {
    const handler = handlers.get(message.to);
    if (handler !== undefined) handler(message);
    else if (thread >= 0 && threadOf(message.to) === thread) {
      const waiting = early.get(message.to);
      if (waiting === undefined) early.set(message.to, [message]);
      else waiting.push(message);
    }
  };
  const drain = (): void => {
    scheduled = false;
    const messages = local;
    local = [];
    for (const message of messages) deliver(message);
  };

  return {
    send(message) {
      const target = threadOf(message.to);
      if (target !== thread) {
        ports.get(target)?.postMessage(message);
        return;
      }
      local.push(message);
      if (scheduled) return;
      scheduled = true;
      setImmediate(drain);
    },
    receive(shard, handler) {
      handlers.set(shard, handler);
      for (const message of early.get(shard) ?? []) handler(message);
      early.delete(shard);
    },
    deliver,
    connect(other, port) {
      ports.set(other, port);
      port.on('message', deliver);
    },
  };
}
