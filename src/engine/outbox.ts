/**
 * Finds on their way to other shards (PROTOCOL section 2): one lane per receiver.
 *
 * A find joins the lane's open message; a freeze numbers the message and puts it into the batch; when the batch is durable it is sent; the
 * receiver's acknowledgement removes it. `knows` answers "the receiver has it or will have it from us": the keys of every message not yet
 * acknowledged, exactly, and behind them a bounded cache of keys that receivers have made durable.
 */
import { ByteWriter } from '../core/bytes.ts';
import { assert } from '../core/errors.ts';
import { type Find, readFinds, writeFind } from '../core/records.ts';
import type { LinkMessage } from '../ports/link-channel.ts';
import type { OutboxRow } from '../ports/shard-store.ts';
import { HotCache } from '../seen/hot-cache.ts';
import { KeyTable } from '../seen/key-table.ts';

interface Sent {
  readonly row: OutboxRow;
  readonly keys: KeyTable;
  durable: boolean;
  /** Sent more than once, perhaps by an earlier process: the acknowledgement that named its refused keys may have been lost. */
  isResent: boolean;
}

interface Lane {
  lastSeq: number;
  readonly open: ByteWriter;
  openCount: number;
  openVia: string | undefined;
  openKeys: KeyTable;
  /** Numbered and not acknowledged, oldest first. */
  unacked: Sent[];
}

const KEYS_SLOTS = 256;

export class Outbox {
  readonly #shard: number;
  readonly #lanes = new Map<number, Lane>();
  readonly #known: HotCache;
  #done: { to: number; upTo: number }[] = [];

  /** `knownKeys`: keys remembered as durable elsewhere, a power of two. */
  constructor(shard: number, knownKeys: number) {
    this.#shard = shard;
    this.#known = new HotCache(knownKeys);
  }

  /** What the last commit still had to deliver; `lastSeq` of each lane comes from the messages or from the totals. */
  restore(rows: readonly OutboxRow[], lastSeqs: ReadonlyMap<number, number>): void {
    for (const [to, seq] of lastSeqs) this.#lane(to).lastSeq = seq;
    for (const row of rows) {
      const lane = this.#lane(row.to);
      const keys = new KeyTable(KEYS_SLOTS);
      for (const find of readFinds(row.blob)) addKey(keys, find.keyHi, find.keyLo);
      lane.unacked.push({ row, keys, durable: true, isResent: true });
      lane.lastSeq = Math.max(lane.lastSeq, row.seq);
    }
  }

  knows(to: number, hi: number, lo: number): boolean {
    if (this.#known.has(hi, lo)) return true;
    const lane = this.#lanes.get(to);
    if (lane === undefined) return false;
    return lane.openKeys.has(hi, lo) || lane.unacked.some((message) => message.keys.has(hi, lo));
  }

  add(to: number, find: Find): void {
    const lane = this.#lane(to);
    writeFind(lane.open, find, lane.openVia);
    lane.openVia = find.via;
    lane.openCount++;
    addKey(lane.openKeys, find.keyHi, find.keyLo);
  }

  /** Closes the open messages and numbers them, for the batch. */
  freeze(): OutboxRow[] {
    const rows: OutboxRow[] = [];
    for (const [to, lane] of this.#lanes) {
      if (lane.openCount === 0) continue;
      const row: OutboxRow = { to, seq: ++lane.lastSeq, count: lane.openCount, blob: lane.open.take() };
      lane.unacked.push({ row, keys: lane.openKeys, durable: false, isResent: false });
      lane.open.reset();
      lane.openCount = 0;
      lane.openVia = undefined;
      lane.openKeys = new KeyTable(KEYS_SLOTS);
      rows.push(row);
    }
    return rows;
  }

  /** Acknowledged messages whose rows the batch deletes. */
  takeDone(): { to: number; upTo: number }[] {
    const done = this.#done;
    this.#done = [];
    return done;
  }

  /** The batch that carried them is durable: the messages to send now. */
  committed(): LinkMessage[] {
    const messages: LinkMessage[] = [];
    for (const lane of this.#lanes.values()) {
      for (const message of lane.unacked) {
        if (message.durable) continue;
        message.durable = true;
        messages.push(this.#message(message.row));
      }
    }
    return messages;
  }

  /** Everything not acknowledged, to be sent again after a start. */
  pending(): LinkMessage[] {
    const sent = [...this.#lanes.values()].flatMap((lane) => lane.unacked.filter((message) => message.durable));
    for (const message of sent) message.isResent = true;
    return sent.map((message) => this.#message(message.row));
  }

  /** The receiver has made every message up to `upTo` durable; `refused` keys were not admitted there. */
  acknowledged(to: number, upTo: number, refused: Uint32Array): boolean {
    const lane = this.#lane(to);
    const acked = lane.unacked.filter((message) => message.row.seq <= upTo);
    if (acked.length === 0) return false;
    lane.unacked = lane.unacked.slice(acked.length);
    const refusedKeys = refused.length === 0 ? undefined : new KeyTable(KEYS_SLOTS);
    if (refusedKeys !== undefined) for (let i = 0; i < refused.length; i += 2) addKey(refusedKeys, refused[i]!, refused[i + 1]!);
    for (const message of acked) {
      assert(message.durable, 'only durable messages are acknowledged');
      if (!message.isResent) this.#remember(message.keys, refusedKeys);
    }
    this.#done.push({ to, upTo });
    return true;
  }

  #remember(keys: KeyTable, refused: KeyTable | undefined): void {
    const { words } = keys;
    for (let i = 0; i < words.length; i += 2) {
      const hi = words[i]!;
      const lo = words[i + 1]!;
      if ((hi | lo) !== 0 && refused?.has(hi, lo) !== true) this.#known.add(hi, lo);
    }
  }

  #message(row: OutboxRow): LinkMessage {
    return { kind: 'finds', from: this.#shard, to: row.to, seq: row.seq, count: row.count, blob: row.blob };
  }

  #lane(to: number): Lane {
    let lane = this.#lanes.get(to);
    if (lane === undefined) {
      lane = { lastSeq: 0, open: new ByteWriter(4_096), openCount: 0, openVia: undefined, openKeys: new KeyTable(KEYS_SLOTS), unacked: [] };
      this.#lanes.set(to, lane);
    }
    return lane;
  }

  /** Finds waiting in open messages. */
  get openFinds(): number {
    let count = 0;
    for (const lane of this.#lanes.values()) count += lane.openCount;
    return count;
  }

  /** Messages not acknowledged. */
  get unacked(): number {
    let count = 0;
    for (const lane of this.#lanes.values()) count += lane.unacked.length;
    return count;
  }

  lastSeqs(): Record<string, number> {
    return Object.fromEntries([...this.#lanes].map(([to, lane]) => [to, lane.lastSeq]));
  }
}

function addKey(table: KeyTable, hi: number, lo: number): void {
  if ((table.count + 1) * 4 > table.slots * 3) table.grow(table.slots * 2);
  table.add(hi, lo);
}
