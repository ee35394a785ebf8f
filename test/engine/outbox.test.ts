/**
 * Finds between two shards over a wire that loses and repeats, with crashes and restarts at both ends: exactly-once in effect (PROTOCOL section 2).
 * Each end is an Outbox, a store in memory, and the receiver's rule: admit exactly taken + 1, drop lower numbers, stop at a gap, acknowledge what
 * is durable.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createMemoryStore, MemoryShardState } from '../../src/adapters/memory/shard-store.ts';
import { type Find, readFinds } from '../../src/core/records.ts';
import { Outbox } from '../../src/engine/outbox.ts';
import type { LinkMessage } from '../../src/ports/link-channel.ts';
import type { Batch, ShardStore } from '../../src/ports/shard-store.ts';
import { batch } from '../contract/batches.ts';

const KEYS = 24;

function find(key: number, number: number): Find {
  return {
    url: `http://h.example/${key}`,
    keyHi: 5,
    keyLo: key,
    kind: 'link',
    depth: 1,
    via: `http://v/${number % 3}`,
    foundAtS: 1,
    chain: undefined,
  };
}

/** Refused for as long as the wire is faulty, as by a full host queue. */
const isRefused = (key: number): boolean => key % 5 === 0;

interface Saved {
  readonly lanes: Record<string, number>;
  readonly sent: number;
  readonly taken: number;
  readonly admitted: readonly number[];
}

/** One shard: what it keeps in memory is gone with a crash. */
class End {
  readonly id: number;
  readonly #other: number;
  readonly #wire: LinkMessage[];
  readonly #state = new MemoryShardState();
  #store!: ShardStore;
  outbox!: Outbox;
  sent = 0;
  taken = 0;
  admitted = new Set<number>();
  #takenSeq = 0;
  #durableTakenSeq = 0;
  #refused: number[] = [];
  #commitSeq = 0;
  #frozen: { readonly value: Batch; readonly takenSeq: number; readonly refused: readonly number[] } | undefined;

  /** `wire`: messages from this end to the other, oldest first. */
  constructor(id: number, wire: LinkMessage[]) {
    this.id = id;
    this.#other = 1 - id;
    this.#wire = wire;
    this.#open();
  }

  #open(): void {
    this.#store = createMemoryStore(this.#state);
    const opened = this.#store.open(this.id);
    const saved: Saved = opened.totals === '' ? { lanes: {}, sent: 0, taken: 0, admitted: [] } : (JSON.parse(opened.totals) as Saved);
    this.outbox = new Outbox(this.id, 64);
    this.outbox.restore(opened.outbox, new Map(Object.entries(saved.lanes).map(([to, seq]) => [Number(to), seq])));
    this.#commitSeq = opened.commitSeq;
    this.#takenSeq = this.#durableTakenSeq = opened.taken[0]?.seq ?? 0;
    this.sent = saved.sent;
    this.taken = saved.taken;
    this.admitted = new Set(saved.admitted);
    this.#refused = [];
    this.#frozen = undefined;
    this.resend();
  }

  resend(): void {
    this.#wire.push(...this.outbox.pending());
  }

  crash(): void {
    this.#state.crash('lost');
    this.#open();
  }

  /** A link to a URL of the other shard. */
  found(key: number, number: number): void {
    if (this.outbox.knows(this.#other, 5, key)) return;
    this.sent++;
    this.outbox.add(this.#other, find(key, number));
    assert.equal(this.outbox.knows(this.#other, 5, key), true, 'a find on its way is known');
  }

  freeze(): void {
    if (this.#frozen !== undefined) return;
    const outbox = this.outbox.freeze();
    const saved: Saved = { lanes: this.outbox.lastSeqs(), sent: this.sent, taken: this.taken, admitted: [...this.admitted] };
    this.#frozen = {
      value: batch(this.#commitSeq + 1, {
        outbox,
        outboxDone: this.outbox.takeDone(),
        taken: [{ from: this.#other, seq: this.#takenSeq, finds: this.taken, list: '' }],
        totals: JSON.stringify(saved),
      }),
      takenSeq: this.#takenSeq,
      refused: this.#refused,
    };
    this.#refused = [];
  }

  async commit(): Promise<void> {
    if (this.#frozen === undefined) return;
    const { value, takenSeq, refused } = this.#frozen;
    this.#frozen = undefined;
    await this.#store.commit(value);
    this.#commitSeq++;
    this.#wire.push(...this.outbox.committed());
    if (takenSeq > this.#durableTakenSeq) this.#acknowledge(takenSeq, refused);
    this.#durableTakenSeq = takenSeq;
  }

  #acknowledge(upTo: number, refused: readonly number[]): void {
    this.#wire.push({ kind: 'ack', from: this.id, to: this.#other, upTo, refused: Uint32Array.from(refused) });
  }

  receive(message: LinkMessage, healed: boolean): void {
    if (message.kind === 'ack') this.outbox.acknowledged(message.from, message.upTo, message.refused);
    if (message.kind !== 'finds') return;
    if (message.seq <= this.#takenSeq) {
      if (message.seq <= this.#durableTakenSeq) this.#acknowledge(this.#durableTakenSeq, []);
      return;
    }
    if (message.seq !== this.#takenSeq + 1) return;
    const finds = readFinds(message.blob);
    assert.equal(finds.length, message.count);
    this.#takenSeq = message.seq;
    this.taken += finds.length;
    for (const { keyHi, keyLo } of finds) {
      if (!healed && isRefused(keyLo)) this.#refused.push(keyHi, keyLo);
      else this.admitted.add(keyLo);
    }
  }

  get isQuiet(): boolean {
    return (
      this.outbox.unacked === 0 && this.outbox.openFinds === 0 && this.#durableTakenSeq === this.#takenSeq && this.#frozen === undefined
    );
  }
}

type Step = {
  readonly kind: 'find' | 'freeze' | 'commit' | 'crash' | 'deliver' | 'lose' | 'repeat' | 'resend';
  readonly end: number;
  readonly key: number;
};
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    'find',
    'find',
    'find',
    'find',
    'freeze',
    'freeze',
    'commit',
    'commit',
    'deliver',
    'deliver',
    'deliver',
    'lose',
    'repeat',
    'resend',
    'crash',
  ),
  end: fc.nat(1),
  key: fc.integer({ min: 1, max: KEYS }),
});

describe('outbox', () => {
  test('R-M2 R-L1 finds arrive exactly once in effect whatever is lost, repeated or restarted', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 160, size: 'max' }), async (steps) => {
        const wires: LinkMessage[][] = [[], []];
        // Acknowledgements of this end that named refused keys may be lost: with the wire, or with the end.
        const mayMissRefusals = [false, false];
        const ends = [new End(0, wires[0]!), new End(1, wires[1]!)] as const;
        const deliver = (from: number, keep: boolean, healed: boolean): void => {
          const message = keep ? wires[from]![0] : wires[from]!.shift();
          if (message !== undefined) ends[message.to as 0 | 1].receive(message, healed);
        };
        for (const [number, { kind, end, key }] of steps.entries()) {
          const one = ends[end as 0 | 1];
          if (kind === 'find') one.found(key, number);
          else if (kind === 'freeze') one.freeze();
          else if (kind === 'commit') await one.commit();
          else if (kind === 'crash') {
            one.crash();
            mayMissRefusals[end] = true;
          } else if (kind === 'deliver') deliver(end, false, false);
          else if (kind === 'repeat') deliver(end, true, false);
          else if (kind === 'lose') {
            if (wires[end]!.shift()?.kind === 'ack') mayMissRefusals[end] = true;
          } else one.resend();
        }
        // The wire heals: what is not acknowledged is sent again, and everything comes to rest.
        for (let round = 0; !ends.every((end) => end.isQuiet) || wires.some((wire) => wire.length > 0); round++) {
          assert.ok(round < 20, 'it comes to rest');
          for (const end of ends) {
            end.freeze();
            await end.commit();
            end.resend();
          }
          for (const from of [0, 1]) while (wires[from]!.length > 0) deliver(from, false, true);
        }
        for (const [one, other] of [ends, [ends[1], ends[0]] as const]) {
          assert.equal(other.taken, one.sent, 'as many finds were taken as were sent');
          for (let key = 1; key <= KEYS && !mayMissRefusals[other.id]; key++) {
            if (one.outbox.knows(other.id, 5, key)) assert.ok(other.admitted.has(key), `${key} counts as known, so the receiver has it`);
          }
        }
      }),
      { numRuns: 400 },
    );
  });

  test('R-M2 finds leave only after the batch that carries them, in numbered messages per receiver', () => {
    const outbox = new Outbox(3, 64);
    outbox.add(1, find(1, 0));
    outbox.add(2, find(2, 0));
    outbox.add(1, find(3, 0));
    assert.equal(outbox.openFinds, 3);
    const rows = outbox.freeze();
    assert.deepEqual(
      rows.map(({ to, seq, count }) => ({ to, seq, count })),
      [
        { to: 1, seq: 1, count: 2 },
        { to: 2, seq: 1, count: 1 },
      ],
    );
    assert.deepEqual(outbox.pending(), [], 'not durable yet, so not even on a restart of sending');
    outbox.add(1, find(4, 0));
    const sent = outbox.committed();
    assert.deepEqual(
      sent.map((message) => message.kind === 'finds' && [message.from, message.to, message.seq]),
      [
        [3, 1, 1],
        [3, 2, 1],
      ],
    );
    assert.deepEqual(outbox.committed(), [], 'once');
    assert.deepEqual(
      outbox.freeze().map(({ to, seq }) => ({ to, seq })),
      [{ to: 1, seq: 2 }],
    );
    assert.deepEqual(outbox.lastSeqs(), { 1: 2, 2: 1 });
  });

  test('R-M2 an acknowledgement covers all up to its number, is counted once, and deletes their rows with the next batch', () => {
    const outbox = new Outbox(0, 64);
    for (let key = 1; key <= 3; key++) {
      outbox.add(1, find(key, 0));
      outbox.freeze();
      outbox.committed();
    }
    assert.equal(outbox.acknowledged(1, 2, new Uint32Array(0)), true);
    assert.equal(outbox.acknowledged(1, 2, new Uint32Array(0)), false);
    assert.equal(outbox.acknowledged(1, 1, new Uint32Array(0)), false);
    assert.equal(outbox.unacked, 1);
    assert.deepEqual(outbox.takeDone(), [{ to: 1, upTo: 2 }]);
    assert.deepEqual(outbox.takeDone(), []);
  });

  test('R-G6 a key that the receiver refused is not remembered as known', () => {
    const outbox = new Outbox(0, 64);
    for (const key of [1, 2]) outbox.add(1, find(key, 0));
    outbox.freeze();
    outbox.committed();
    outbox.acknowledged(1, 1, Uint32Array.of(5, 2));
    assert.equal(outbox.knows(1, 5, 1), true);
    assert.equal(outbox.knows(1, 5, 2), false);
  });

  test('R-G6 after a restart it is not known which keys of a message were refused, so none is remembered', () => {
    const first = new Outbox(0, 64);
    for (const key of [1, 2]) first.add(1, find(key, 0));
    const rows = first.freeze();
    const second = new Outbox(0, 64);
    second.restore(rows, new Map([[1, 1]]));
    assert.equal(second.knows(1, 5, 1), true, 'it is on its way');
    assert.equal(second.pending().length, 1);
    second.acknowledged(1, 1, new Uint32Array(0));
    assert.equal(second.knows(1, 5, 1), false);
    second.add(1, find(3, 0));
    assert.equal(second.freeze()[0]?.seq, 2, 'numbers go on');
  });

  test('R-M2 numbers go on after a restart even when every message was acknowledged', () => {
    const outbox = new Outbox(0, 64);
    outbox.restore([], new Map([[4, 17]]));
    outbox.add(4, find(1, 0));
    assert.equal(outbox.freeze()[0]?.seq, 18);
  });
});
