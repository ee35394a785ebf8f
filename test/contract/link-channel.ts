/**
 * What every LinkChannel promises (src/ports/link-channel.ts). `join` gives the channel of a place (a thread, a process) that runs some shards; all
 * places of one net reach one another.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LinkChannel, LinkMessage } from '../../src/ports/link-channel.ts';

export interface ChannelNet {
  /** The channel through which `shard` sends and receives. */
  of(shard: number): LinkChannel;
  close(): Promise<void>;
}

export function finds(from: number, to: number, seq: number, size = 8): LinkMessage {
  const blob = Buffer.alloc(size, seq % 256);
  blob.writeUInt32BE(seq, 0);
  return { kind: 'finds', from, to, seq, count: 1, blob };
}

/** Waits until `count` messages were received, in order, and then a little for one too many. */
export async function collect(received: readonly unknown[], count: number): Promise<void> {
  for (let turns = 0; received.length < count; turns++) {
    assert.ok(turns < 30_000, `${received.length} of ${count} messages came`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Two shards, 0 and 1, in the places that `makeNet` gives them. */
export function linkChannelContract(name: string, makeNet: () => ChannelNet): void {
  describe(`LinkChannel contract: ${name}`, () => {
    const promise = (title: string, body: (net: ChannelNet) => Promise<void>): void => {
      test(title, async () => {
        const net = makeNet();
        try {
          await body(net);
        } finally {
          await net.close();
        }
      });
    };

    promise('R-M2 messages of a pair arrive once each and in the order sent', async (net) => {
      const received: LinkMessage[] = [];
      net.of(1).receive(1, (message) => received.push(message));
      for (let seq = 1; seq <= 500; seq++) net.of(0).send(finds(0, 1, seq, 8 + (seq % 7) * 500));
      await collect(received, 500);
      assert.deepEqual(
        received.map((message) => message.kind === 'finds' && message.seq),
        Array.from({ length: 500 }, (_, i) => i + 1),
      );
      assert.ok(received.every((message) => message.kind === 'finds' && Buffer.from(message.blob).readUInt32BE(0) === message.seq));
    });

    promise('R-M2 a message is never delivered within send', async (net) => {
      const received: LinkMessage[] = [];
      net.of(1).receive(1, (message) => received.push(message));
      net.of(0).send(finds(0, 1, 1));
      assert.equal(received.length, 0);
      await collect(received, 1);
      assert.equal(received.length, 1);
    });

    promise('R-M2 messages are delivered one at a time: what a handler sends, to itself too, comes after it has returned', async (net) => {
      let inside = false;
      const received: number[] = [];
      net.of(0).receive(0, (message) => {
        assert.equal(inside, false);
        inside = true;
        if (message.kind === 'finds') {
          received.push(message.seq);
          if (message.seq < 20) net.of(0).send(finds(0, 0, message.seq + 1));
        }
        inside = false;
      });
      net.of(0).send(finds(0, 0, 1));
      await collect(received, 20);
      assert.deepEqual(
        received,
        Array.from({ length: 20 }, (_, i) => i + 1),
      );
    });

    promise('R-M2 both directions at once keep their orders', async (net) => {
      const received: [LinkMessage[], LinkMessage[]] = [[], []];
      for (const shard of [0, 1] as const) net.of(shard).receive(shard, (message) => received[shard].push(message));
      for (let seq = 1; seq <= 200; seq++) {
        net.of(0).send(finds(0, 1, seq));
        net.of(1).send(finds(1, 0, seq));
      }
      for (const shard of [0, 1] as const) {
        await collect(received[shard], 200);
        assert.deepEqual(
          received[shard].map((message) => message.kind === 'finds' && message.seq),
          Array.from({ length: 200 }, (_, i) => i + 1),
        );
      }
    });

    promise('every kind of message arrives as it was sent', async (net) => {
      const received: LinkMessage[] = [];
      net.of(1).receive(1, (message) => received.push(message));
      const bytes = Uint8Array.of(0, 255, 128);
      const sent: LinkMessage[] = [
        { kind: 'finds', from: -1, to: 1, seq: 4, count: 2, blob: bytes, list: 'abc' },
        { kind: 'ack', from: 0, to: 1, upTo: 2 ** 40, refused: Uint32Array.of(1, 0xffffffff) },
        { kind: 'content', from: 0, to: 1, entries: [{ hash: bytes, url: 'http://a/', fetchedAtMs: 1_700_000_000_000, payloadSha1: 'X' }] },
        { kind: 'errand', from: 0, to: 1, id: 9, url: 'http://b/robots.txt', hops: 3 },
        { kind: 'errand-reply', from: 0, to: 1, id: 9, answer: { kind: 'response', status: 200, body: bytes, cacheControl: 'max-age=1' } },
        { kind: 'errand-reply', from: 0, to: 1, id: 10, answer: { kind: 'redirect', url: 'http://c/' } },
        { kind: 'errand-reply', from: 0, to: 1, id: 11, answer: { kind: 'failed', code: 'timeout' } },
        { kind: 'scope', from: 0, to: 1, hostKey: 'www.example' },
      ];
      for (const message of sent) net.of(0).send(message);
      await collect(received, sent.length);
      assert.deepEqual(received, sent);
    });

    promise('a message for a shard that nobody receives for disturbs nothing', async (net) => {
      const received: LinkMessage[] = [];
      net.of(1).receive(1, (message) => received.push(message));
      net.of(0).send(finds(0, 7, 1));
      net.of(0).send(finds(0, 1, 1));
      await collect(received, 1);
      assert.equal(received.length, 1);
    });
  });
}
