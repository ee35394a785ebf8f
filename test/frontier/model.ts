/**
 * The frontier beside a model of plain arrays. A `Rig` runs random commands on both and compares after each: what comes out must be the head of
 * one of the model's queues, when the model says it may, and what the frontier counts must be what the arrays hold. A restart and a crash
 * throw the frontier away and go on from the store, the model from its copy of what was committed.
 */
import assert from 'node:assert/strict';
import { createMemoryStore, MemoryShardState } from '../../src/adapters/memory/shard-store.ts';
import { createRandom } from '../../src/adapters/node/random.ts';
import { hostDueMs, LEVELS, QUEUES, RETRY_LEVEL } from '../../src/core/host.ts';
import type { QueueEntry } from '../../src/core/records.ts';
import { Frontier, type HostMemory, type Lease } from '../../src/frontier/frontier.ts';
import type { AddressGate } from '../../src/ports/address-gate.ts';
import type { Batch, ShardStore } from '../../src/ports/shard-store.ts';
import { batch } from '../contract/batches.ts';
import { gateOf, optionsOf, owe, urlEntry } from './support.ts';

export const SLOTS = 3;
export const HOSTS = 6;
/** Hosts of one address that may hold slots. */
export const PER_ADDRESS = 1;
const LEASE_MS = 45_000;

export type Command =
  | { readonly do: 'add'; readonly host: number; readonly level: number; readonly count: number; readonly bytes: number }
  | { readonly do: 'turn'; readonly how: TurnHow; readonly ms: number; readonly count: number }
  | { readonly do: 'finish'; readonly which: number; readonly how: 'done' | 'retry' | 'fault' | 'expire'; readonly ms: number }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'wake' | 'errand'; readonly host: number }
  | { readonly do: 'freeze' | 'commit' | 'restart' | 'crash' };
export type TurnHow = 'fetch' | 'drop' | 'wait' | 'sleep' | 'apart' | 'address';

interface Waiting {
  readonly id: number;
  readonly notBeforeMs: number;
}

interface ModelHost {
  readonly key: string;
  /** One array per level, the last one for retries. */
  readonly queues: Waiting[][];
  dueMs: number;
  admitted: number;
}

interface Held {
  readonly host: HostMemory;
  readonly lease: Lease;
  readonly entry: QueueEntry;
}

export class Rig {
  readonly #newStore: () => ShardStore;
  readonly #crashStore: () => void;
  #store!: ShardStore;
  #frontier!: Frontier;
  #gate!: AddressGate;
  #now = 1_000_000;
  #nextId = 1;
  #seed = 1;
  #commitSeq = 0;
  #hosts = new Map<string, ModelHost>();
  #frozen: { readonly value: Batch; readonly hosts: Map<string, ModelHost> } | undefined;
  #durable = new Map<string, ModelHost>();
  #held: Held[] = [];
  /** Until when a host need not take a turn. It may, at most once for each time that it was put to sleep or woken: sleeping is no promise of politeness. */
  #asleep = new Map<string, number>();
  /** The same for a host that keeps its slot meanwhile, and is not woken. */
  #waiting = new Map<string, number>();
  #steps = 0;
  #early = 0;
  #parked = new Map<string, string>();
  #apart = new Set<string>();
  #errands = new Map<string, number>();

  constructor(newStore?: () => ShardStore, crashStore: () => void = () => {}) {
    const state = new MemoryShardState();
    this.#newStore = newStore ?? (() => createMemoryStore(state));
    this.#crashStore = newStore === undefined ? () => state.crash('lost') : crashStore;
    this.#open();
  }

  #open(): void {
    this.#store = this.#newStore();
    const opened = this.#store.open(0);
    this.#gate = gateOf(SLOTS);
    this.#frontier = new Frontier(optionsOf(SLOTS, { quantum: 4 }), this.#store, createRandom(this.#seed++), this.#gate);
    this.#frontier.restore(opened.nextHostId, this.#now);
    this.#frontier.setQueuedCounts(opened.totals === '' ? [] : (JSON.parse(opened.totals) as number[]));
    this.#hosts = copyModel(this.#durable);
    this.#frozen = undefined;
    this.#held = [];
    this.#asleep.clear();
    this.#waiting.clear();
    this.#parked.clear();
    this.#apart.clear();
    this.#errands.clear();
    this.#compareRows();
  }

  close(): void {
    this.#store.close();
  }

  async run(command: Command): Promise<void> {
    this.#steps++;
    switch (command.do) {
      case 'add':
        this.#add(command.host, command.level, command.count, command.bytes);
        break;
      case 'turn':
        this.#turn(command.how, command.ms, command.count);
        break;
      case 'finish':
        this.#finish(command.which, command.how, command.ms);
        break;
      case 'advance':
        this.#now += command.ms;
        break;
      case 'wake':
        this.#wake(command.host);
        break;
      case 'errand':
        this.#errand(command.host);
        break;
      case 'freeze':
        this.#freeze();
        break;
      case 'commit':
        await this.#commit();
        break;
      case 'restart':
        await this.#commit();
        this.#freeze();
        await this.#commit();
        this.#store.close();
        this.#open();
        break;
      case 'crash':
        this.#crashStore();
        this.#open();
        break;
    }
    this.#compareCounts();
  }

  #add(number: number, level: number, count: number, bytes: number): void {
    const key = `h${number}.example`;
    let host = this.#hosts.get(key);
    if (host === undefined) {
      host = { key, queues: Array.from({ length: QUEUES }, () => []), dueMs: 0, admitted: 0 };
      this.#hosts.set(key, host);
    }
    for (let i = 0; i < count; i++) {
      const id = this.#nextId++;
      const result = this.#frontier.add(
        key,
        'example',
        urlEntry(id, { pathQuery: `/${'x'.repeat(bytes)}`, via: `http://v/${id % 3}` }),
        level,
      );
      assert.equal(result, 'added');
      host.queues[level]!.push({ id, notBeforeMs: 0 });
      host.admitted++;
    }
  }

  #wake(number: number): void {
    const memory = this.#frontier.host(`h${number}.example`);
    if (memory === undefined) return;
    this.#frontier.wake(memory, this.#now);
    this.#asleep.delete(memory.record.key);
  }

  #errand(number: number): void {
    const memory = this.#frontier.host(`h${number}.example`);
    if (memory === undefined || this.#apart.has(memory.record.key)) return;
    this.#frontier.addErrand(memory, this.#now);
    this.#errands.set(memory.record.key, memory.errands);
    this.#asleep.delete(memory.record.key);
  }

  #turn(how: TurnHow, ms: number, count: number): void {
    const memory = this.#frontier.nextTurn(this.#now);
    if (memory === undefined) {
      this.#assertNothingToDo();
      return;
    }
    const host = this.#assertMayTurn(memory);
    if (memory.errands > 0) {
      this.#runErrand(memory, host, ms);
      return;
    }
    const entry = this.#peek(memory, host);
    if (entry === undefined) {
      this.#frontier.endTurn(memory, this.#now);
      return;
    }
    this.#act(how, memory, host, entry, ms, count);
  }

  #runErrand(memory: HostMemory, host: ModelHost, ms: number): void {
    memory.errands--;
    this.#errands.set(host.key, memory.errands);
    this.#frontier.countFetch(memory);
    this.#owe(memory, host, ms);
    this.#frontier.endTurn(memory, this.#now);
  }

  #act(how: TurnHow, memory: HostMemory, host: ModelHost, entry: QueueEntry, ms: number, count: number): void {
    switch (how) {
      case 'fetch':
        this.#hold(memory, entry);
        break;
      case 'address':
        this.#claimOrPark(memory, host, entry, `address ${count % 2}`);
        break;
      case 'drop':
        this.#dropSome(memory, host, count);
        break;
      case 'wait':
        this.#frontier.endTurn(memory, this.#now, this.#now + ms);
        if (ms > 0) this.#waiting.set(host.key, this.#now + ms);
        break;
      case 'sleep':
        this.#frontier.sleep(memory, this.#now + 1 + ms);
        this.#asleep.set(host.key, this.#now + 1 + ms);
        break;
      case 'apart':
        this.#frontier.setApart(memory);
        this.#apart.add(host.key);
        break;
    }
  }

  #hold(memory: HostMemory, entry: QueueEntry): void {
    const lease = this.#frontier.lease(memory, entry, this.#now + LEASE_MS);
    this.#frontier.countFetch(memory);
    this.#held.push({ host: memory, lease, entry });
  }

  #claimOrPark(memory: HostMemory, host: ModelHost, entry: QueueEntry, address: string): void {
    if (memory.addressKey !== address && this.#frontier.hostsOnAddress(address) >= PER_ADDRESS) {
      this.#frontier.park(memory, address);
      this.#parked.set(host.key, address);
      return;
    }
    this.#frontier.claimAddress(memory, address);
    assert.ok(this.#frontier.hostsOnAddress(address) <= PER_ADDRESS, `${PER_ADDRESS} hosts hold ${address} at most`);
    this.#hold(memory, entry);
  }

  #dropSome(memory: HostMemory, host: ModelHost, count: number): void {
    for (let dropped = 0; dropped < count && this.#peek(memory, host) !== undefined; dropped++) this.#consume(memory, host);
    this.#frontier.endTurn(memory, this.#now);
  }

  #peek(memory: HostMemory, host: ModelHost): QueueEntry | undefined {
    const entry = this.#frontier.peek(memory, this.#now);
    assert.equal(this.#frontier.peek(memory, this.#now), entry, 'a turn is about one entry');
    const retry = host.queues[RETRY_LEVEL]![0];
    const heads = host.queues.slice(0, LEVELS).flatMap((queue) => (queue[0] === undefined ? [] : [queue[0].id]));
    const triesAnother = memory.record.faults > 0 && heads.length > 0;
    if (retry !== undefined && retry.notBeforeMs <= this.#now && !triesAnother) {
      assert.equal(entry?.keyLo, retry.id, 'a due retry goes first, but from a host that failed last');
      return entry;
    }
    if (heads.length === 0) assert.equal(entry, undefined, 'nothing is due');
    else assert.ok(entry !== undefined && heads.includes(entry.keyLo), `${entry?.keyLo} is the head of one of the queues (${heads})`);
    return entry;
  }

  /** Takes the entry on turn out of both. */
  #consume(memory: HostMemory, host: ModelHost): number {
    const entry = this.#frontier.peek(memory, this.#now);
    const queue = host.queues.find((one) => one[0] !== undefined && one[0].id === entry?.keyLo);
    assert.ok(queue !== undefined, 'what is consumed is the head of one queue');
    this.#frontier.consume(memory);
    return queue.shift()!.id;
  }

  #finish(which: number, how: 'done' | 'retry' | 'fault' | 'expire', ms: number): void {
    if (this.#held.length === 0) return;
    const [held] = this.#held.splice(which % this.#held.length, 1);
    const { host: memory, lease, entry } = held!;
    const host = this.#hosts.get(memory.record.key)!;
    if (how === 'expire') {
      this.#now = Math.max(this.#now, lease.deadlineMs);
      assert.ok(this.#frontier.expiredLeases(this.#now).includes(lease), 'a lease past its deadline is found');
    }
    assert.equal(this.#frontier.endLease(lease), true);
    assert.equal(this.#frontier.endLease(lease), false, 'a lease ends once');
    assert.equal(this.#frontier.peek(memory, this.#now), entry, 'the entry on lease stays the head, commit or not');
    this.#owe(memory, host, ms);
    if (how === 'done' || how === 'retry') this.#consume(memory, host);
    memory.record.faults = how === 'done' ? 0 : memory.record.faults + 1;
    if (how === 'retry') {
      const retry = { ...entry, attempts: entry.attempts + 1, notBeforeMs: this.#now + ms * 3 };
      this.#frontier.requeue(memory, retry);
      host.queues[RETRY_LEVEL]!.push({ id: entry.keyLo, notBeforeMs: retry.notBeforeMs });
    }
    if (how === 'fault') {
      memory.record.waitUntilMs = this.#now + ms * 2;
      host.dueMs = Math.max(host.dueMs, memory.record.waitUntilMs);
      this.#frontier.touch(memory);
    }
    this.#frontier.endTurn(memory, this.#now);
  }

  #owe(memory: HostMemory, host: ModelHost, ms: number): void {
    owe(this.#frontier, memory, this.#now, ms);
    host.dueMs = Math.max(this.#now + ms, memory.record.waitUntilMs);
  }

  #freeze(): void {
    if (this.#frozen !== undefined) return;
    const parts = this.#frontier.freeze();
    this.#frozen = {
      value: batch(this.#commitSeq + 1, { ...parts, totals: JSON.stringify(this.#frontier.queuedCounts) }),
      hosts: copyModel(this.#hosts),
    };
  }

  async #commit(): Promise<void> {
    if (this.#frozen === undefined) return;
    const { value, hosts } = this.#frozen;
    const durable = this.#store.commit(value);
    this.#frontier.thawed();
    await durable;
    this.#commitSeq++;
    this.#durable = hosts;
    this.#frozen = undefined;
  }

  #assertMayTurn(memory: HostMemory): ModelHost {
    const { key } = memory.record;
    const host = this.#hosts.get(key);
    assert.ok(host !== undefined, `${key} is known`);
    assert.ok(!this.#held.some((held) => held.host.record.key === key), `${key} is on turn once`);
    assert.ok(host.dueMs <= this.#now, `${key} owes ${host.dueMs - this.#now} ms`);
    assert.ok(!this.#apart.has(key), `${key} is set apart`);
    this.#steps++;
    if (this.#restUntil(key) > this.#now) this.#early++;
    assert.ok(this.#early <= this.#steps / 2 + HOSTS, 'sleeping hosts are not asked again and again');
    this.#asleep.delete(key);
    this.#waiting.delete(key);
    this.#parked.delete(key);
    return host;
  }

  #restUntil(key: string): number {
    return Math.max(this.#asleep.get(key) ?? 0, this.#waiting.get(key) ?? 0);
  }

  /** With a slot free, no host that may be fetched from stands idle; and there is a time to ask again, in the future. */
  #assertNothingToDo(): void {
    assert.ok(this.#frontier.waitUntil(this.#now) > this.#now, 'the answer is a time to wait, not to spin');
    if (this.#gate.slotsInUse() >= SLOTS) return;
    for (const host of this.#hosts.values()) assert.ok(!this.#isEligible(host), `${host.key} could be fetched from`);
  }

  #isEligible(host: ModelHost): boolean {
    const { key } = host;
    if (host.dueMs > this.#now || this.#apart.has(key) || this.#held.some((held) => held.host.record.key === key)) return false;
    if (this.#parked.has(key)) return this.#frontier.hostsOnAddress(this.#parked.get(key)!) === 0;
    if (this.#restUntil(key) > this.#now) return false;
    const retry = host.queues[RETRY_LEVEL]![0];
    return (
      (this.#errands.get(key) ?? 0) > 0 ||
      host.queues.slice(0, LEVELS).some((queue) => queue.length > 0) ||
      (retry !== undefined && retry.notBeforeMs <= this.#now)
    );
  }

  #compareCounts(): void {
    const stats = this.#frontier.stats();
    assert.ok(this.#gate.slotsInUse() <= SLOTS, 'never more slots than the pool has');
    assert.equal(stats.active, this.#gate.slotsInUse(), 'who holds a slot is counted');
    assert.equal(stats.onTurn, this.#held.length);
    assert.equal(stats.hosts, this.#hosts.size);
    assert.deepEqual(stats.queued, totals(this.#hosts), 'queued counts are those of the arrays');
    assert.equal(this.#frontier.apartHosts, this.#apart.size);
  }

  /** After an opening: every row says what the model holds, in order. */
  #compareRows(): void {
    const found = new Map<string, number[][]>();
    const keys = new Map<number, string>();
    this.#store.scanHosts((scan) => keys.set(scan.id, scan.key));
    this.#store.scanEntries((hostId, level, entry) => {
      const key = keys.get(hostId)!;
      const queues = found.get(key) ?? Array.from({ length: QUEUES }, () => []);
      queues[level]!.push(entry.keyLo);
      found.set(key, queues);
    });
    assert.equal(keys.size, this.#hosts.size);
    for (const host of this.#hosts.values()) {
      const record = this.#frontier.host(host.key)!.record;
      assert.equal(record.admitted, host.admitted);
      assert.equal(hostDueMs(record), host.dueMs, `${host.key} still owes what it owed`);
      assert.deepEqual(
        record.queues.map((queue) => queue.queued),
        host.queues.map((queue) => queue.length),
      );
      assert.deepEqual(
        found.get(host.key) ?? host.queues.map(() => []),
        host.queues.map((queue) => queue.map((one) => one.id)),
      );
    }
  }

  /** Lets everything end: time runs, every turn consumes. At the end nothing may be left but what is set apart. */
  async drain(): Promise<void> {
    while (this.#held.length > 0) this.#finish(0, 'done', 10);
    for (let steps = 0; steps < 100_000; steps++) {
      if (steps % 16 === 0) {
        this.#freeze();
        await this.#commit();
      }
      const memory = this.#frontier.nextTurn(this.#now);
      if (memory === undefined) {
        this.#assertNothingToDo();
        const until = this.#frontier.waitUntil(this.#now);
        if (until === Number.POSITIVE_INFINITY) break;
        this.#now = until;
        continue;
      }
      const host = this.#assertMayTurn(memory);
      if (memory.errands > 0) this.#runErrand(memory, host, 0);
      else this.#dropSome(memory, host, 5);
    }
    this.#compareCounts();
    for (const host of this.#hosts.values()) {
      if (!this.#apart.has(host.key)) assert.deepEqual(host.queues.flat(), [], `everything of ${host.key} came out`);
    }
    assert.equal(this.#frontier.idle, true);
    assert.equal(this.#gate.slotsInUse(), 0, 'every slot was given back');
  }
}

function copyModel(hosts: Map<string, ModelHost>): Map<string, ModelHost> {
  return new Map([...hosts].map(([key, host]) => [key, { ...host, queues: host.queues.map((queue) => [...queue]) }]));
}

function totals(hosts: Map<string, ModelHost>): number[] {
  const counts = new Array<number>(QUEUES).fill(0);
  for (const host of hosts.values()) {
    host.queues.forEach((queue, level) => {
      counts[level]! += queue.length;
    });
  }
  return counts;
}
