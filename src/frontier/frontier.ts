/**
 * Everything of one shard that waits to be fetched.
 *
 * Front queues hold hosts (not URLs), one ring per priority level; a free back-queue slot draws a level by weight and takes the ring's head.
 * A host with a slot is *active*: it stands in the ready heap with its due time, or is *on turn* (at most one exchange). Each host's URLs lie
 * in chunks on disk, one FIFO per level and one for retries; memory holds the heads of active hosts and what no commit has written yet.
 *
 * Invariants: a host is on turn at most once; a slot is recycled, the debt (lastEnd + owed in the host's record) is not; an entry leaves the
 * queue only by `consume`, which the caller pairs with exactly one outcome, drop or requeue; a lease ends exactly once.
 * What it does not do: robots, addresses, budgets, fetching; nor does it write: `freeze` hands its changes over as part of a batch.
 */
import { ByteWriter } from '../core/bytes.ts';
import { assert } from '../core/errors.ts';
import {
  bestLevel,
  copyHost,
  type GapRule,
  type HostRecord,
  hostDueMs,
  LEVELS,
  newHostRecord,
  QUEUES,
  queuedTotal,
  RETRY_LEVEL,
} from '../core/host.ts';
import { type QueueEntry, readQueueEntries, writeQueueEntry } from '../core/records.ts';
import { detached } from '../core/text.ts';
import type { AddressGate } from '../ports/address-gate.ts';
import type { Random } from '../ports/random.ts';
import type { Batch, ChunkWrite, ShardStore } from '../ports/shard-store.ts';
import type { SplitUrl } from '../url/index.ts';
import {
  HOST_ACTIVE,
  HOST_APART,
  HOST_IDLE,
  HOST_IN_RING,
  HOST_PARKED,
  HOST_SNOOZED,
  HostIndex,
  hashText,
  NO_LEVEL,
} from './host-index.ts';
import { IdRing } from './id-ring.ts';
import { TextCounts } from './text-counts.ts';
import { TimeHeap } from './time-heap.ts';

/** Entries of one queue kept in memory for an active host. */
export const HEADS_MAX = 64;
/** A host that owes longer than this gives its slot back. */
export const SLOT_WAIT_MAX_MS = 30_000;
/** A chunk is not appended to beyond this size. */
export const CHUNK_APPEND_BYTES = 3_072;
/** And a new one is not made larger than about this. */
export const CHUNK_BYTES = 16_384;
/** Chunks of one queue are numbered anew when it runs empty beyond this. */
export const CHUNK_SEQ_RESTART = 2 ** 21;
/** When the process has no free slot, asking again before this is useless. */
const SLOT_POLL_MS = 50;
/** Rules whose pause comes again after each fetch. */
const STEADY_RULES: ReadonlySet<GapRule> = new Set(['default', 'crawl-delay', 'duration']);
/** Stands for each queue that has nothing in memory, and never gets anything. */
const NO_ENTRIES: QueueEntry[] = [];
const NO_CHUNKS: readonly ChunkWrite[] = [];
const NOT_READY = -1;
/** The second of an address's line asks so long after the first, unless it hears of the address before. */
const LINE_NEXT_MS = 1_000;
/** Records of hosts without a slot kept in memory. */
const IDLE_RECORDS_MAX = 4_096;

export interface FrontierOptions {
  readonly weights: readonly number[];
  readonly quantum: number;
  readonly maxQueuedPerHost: number;
  readonly maxSubdomains: number;
  /** This shard's even share of the slots; it goes over it only while the pool is not full. */
  readonly fairSlots: number;
  /** A host whose record says so stands in the ring of the last level (F4). */
  readonly demoted: (host: HostRecord) => boolean;
  /** The host has given its slot back: connections to it may be closed (I3). */
  readonly released?: (hostKey: string) => void;
}

export type AddResult = 'added' | 'host-queue-full' | 'too-many-subdomains';

/** A host in memory. `onTurn`: between nextTurn and endTurn. */
export interface HostMemory {
  readonly record: HostRecord;
  readonly heads: QueueEntry[][];
  readonly pending: QueueEntry[][];
  /** Level chosen for this turn; −1 before `peek`. */
  turnLevel: number;
  onTurn: boolean;
  fetchesInSlot: number;
  dirty: boolean;
  /** Its chunks in the batch on its way to the store, which does not answer for them yet; undefined when the batch does not carry the host. */
  frozen: readonly ChunkWrite[] | undefined;
  lease: Lease | undefined;
  /** Gated address this host counts against: while it is active, and from when a place there was passed on to it; '' when none. */
  addressKey: string;
  /** Fetches asked for on behalf of another host (robots.txt behind a redirect). */
  errands: number;
  /** Time of its entry in the ready heap that counts; NOT_READY when none does. */
  readyMs: number;
  /** That time, of the turn under way or the last one. */
  turnDueMs: number;
  /** Parts of its first page under the scheme of the URL that was looked at last; those of the origin serve the next URL. */
  parts: SplitUrl | undefined;
  /** Address whose line it stands in; '' when in none. On turn: the line that it came from as its first. */
  line: string;
}

export interface Lease {
  readonly id: number;
  readonly host: HostMemory;
  readonly entry: QueueEntry;
  readonly deadlineMs: number;
  ended: boolean;
}

export interface FrontierStats {
  readonly hosts: number;
  readonly active: number;
  readonly onTurn: number;
  readonly inRings: readonly number[];
  readonly snoozed: number;
  readonly parked: number;
  readonly queued: readonly number[];
  /** Hosts of which there is an object: active ones, changed ones, and a bounded number of others. */
  readonly inMemory: number;
}

export class Frontier {
  readonly #options: FrontierOptions;
  readonly #store: ShardStore;
  readonly #random: Random;
  readonly #gate: AddressGate;
  readonly #index = new HostIndex();
  readonly #memory = new Map<number, HostMemory>();
  readonly #idle = new Map<number, HostMemory>();
  /** Each once. */
  #dirty: HostMemory[] = [];
  /** Carried by the batch on its way to the store. */
  #frozen: HostMemory[] = [];
  readonly #rings = Array.from({ length: LEVELS }, () => new IdRing());
  readonly #ready = new TimeHeap();
  readonly #wake = new TimeHeap();
  readonly #domains = new TextCounts();
  readonly #queued: number[] = new Array<number>(QUEUES).fill(0);
  readonly #parked = new Map<string, IdRing>();
  readonly #addressHosts = new Map<string, number>();
  /** By address: hosts with slots that found its gate shut, in their order. Only the first of a line stands in the ready heap. */
  readonly #lines = new Map<string, HostMemory[]>();
  readonly #leases = new Map<number, Lease>();
  readonly #apart = new Map<number, HostRecord>();
  readonly #hash = new Uint32Array(2);
  readonly #hashSeed: number;
  readonly #writer = new ByteWriter(64 * 1024);
  #chunksDone: { hostId: number; level: number; fromSeq: number; belowSeq: number }[] = [];
  #nextHostId = 1;
  #nextLeaseId = 1;
  #active = 0;
  #onTurn = 0;
  #parkedCount = 0;
  #slotsWanted = false;

  constructor(options: FrontierOptions, store: ShardStore, random: Random, gate: AddressGate) {
    this.#options = options;
    this.#store = store;
    this.#random = random;
    this.#gate = gate;
    this.#hashSeed = random.int(2 ** 31);
  }

  /**
   * Builds the index from the host rows: one pass at open, no object per host. `clockStepMs`: how far the clock was moved since the
   * last commit, negative for back; waiting hosts go on with what was left then. `waiting` is told of each host whose due time lies after `sinceMs`.
   */
  restore(nextHostId: number, nowMs: number, clockStepMs = 0, sinceMs = nowMs, waiting?: (host: HostRecord) => void): void {
    this.#nextHostId = nextHostId;
    const late: number[] = [];
    this.#store.scanHosts((host) => {
      this.#insertIndex(host.key, host.id);
      if (this.#options.maxSubdomains < Number.MAX_SAFE_INTEGER) this.#countDomain(host.domain);
      if (host.dueMs + Math.max(0, clockStepMs) > sinceMs) late.push(host.id);
      if (host.queued === 0) return;
      this.#index.setLevel(host.id, Math.min(host.level, LEVELS - 1));
      const dueMs = host.dueMs + clockStepMs;
      if (dueMs > nowMs) this.#snooze(host.id, dueMs);
      else this.#enlistId(host.id);
    });
    for (const id of late) {
      const record = clockStepMs !== 0 ? this.#move(this.#load(id), clockStepMs) : this.#store.readHost(id);
      if (record !== undefined) waiting?.(record);
    }
  }

  /** Moves a host's times with the clock, so that it waits what it still owed, no more and no less. */
  #move(memory: HostMemory, stepMs: number): HostRecord {
    const { record } = memory;
    record.lastEndMs = Math.max(0, record.lastEndMs + stepMs);
    if (record.waitUntilMs > 0) record.waitUntilMs = Math.max(1, record.waitUntilMs + stepMs);
    this.touch(memory);
    return record;
  }

  /** The clock was moved while the crawl runs, back when `stepMs` is negative: every host in memory and every waiting time moves with it. */
  clockMoved(stepMs: number): void {
    for (const memory of this.#memory.values()) {
      this.#move(memory, stepMs);
      if (memory.readyMs !== NOT_READY) memory.readyMs += stepMs;
    }
    this.#ready.shiftTimes(stepMs);
    this.#wake.shiftTimes(stepMs);
  }

  /** Counts per queue come from the totals of the last commit; the rows agree with them (recount checks it). */
  setQueuedCounts(queued: readonly number[]): void {
    for (let level = 0; level < QUEUES; level++) this.#queued[level] = queued[level] ?? 0;
  }

  get nextHostId(): number {
    return this.#nextHostId;
  }

  /** The host in memory, loaded from its row when it is known; undefined when it is not. */
  host(hostKey: string): HostMemory | undefined {
    hashText(hostKey, this.#hashSeed, this.#hash);
    const hi = this.#hash[0]!;
    const lo = this.#hash[1]!;
    for (let nth = 0; ; nth++) {
      const id = this.#index.find(hi, lo, nth);
      if (id === 0) return undefined;
      const memory = this.#load(id);
      if (memory.record.key === hostKey) return memory;
    }
  }

  /** The host, created when it is new; undefined when its registrable domain has too many. */
  hostOrCreate(hostKey: string, domain: string): HostMemory | undefined {
    const known = this.host(hostKey);
    if (known !== undefined) return known;
    if (this.#options.maxSubdomains < Number.MAX_SAFE_INTEGER) {
      if (this.#countOfDomain(domain) >= this.#options.maxSubdomains) return undefined;
      this.#countDomain(domain);
    }
    const id = this.#nextHostId++;
    this.#insertIndex(hostKey, id);
    const memory = newMemory(newHostRecord(id, detached(hostKey), detached(domain)));
    this.#memory.set(id, memory);
    this.#idle.set(id, memory);
    this.touch(memory);
    return memory;
  }

  /** Appends an entry to its host's queue. A retry goes to the retry queue whatever its level. */
  add(hostKey: string, domain: string, entry: QueueEntry, level: number): AddResult {
    const memory = this.hostOrCreate(hostKey, domain);
    if (memory === undefined) return 'too-many-subdomains';
    if (queuedTotal(memory.record) >= this.#options.maxQueuedPerHost) return 'host-queue-full';
    memory.record.admitted++;
    this.#append(memory, entry, level);
    return 'added';
  }

  /** Puts an entry that was consumed back for another attempt. */
  requeue(memory: HostMemory, entry: QueueEntry): void {
    this.#append(memory, entry, RETRY_LEVEL);
  }

  #append(memory: HostMemory, entry: QueueEntry, level: number): void {
    const { record } = memory;
    const wakes = level !== RETRY_LEVEL && this.#index.state(record.id) === HOST_SNOOZED && bestLevel(record) === RETRY_LEVEL;
    if (memory.pending[level] === NO_ENTRIES) memory.pending[level] = [entry];
    else memory.pending[level]!.push(entry);
    record.queues[level]!.queued++;
    this.#queued[level]!++;
    this.touch(memory);
    // A host that slept until its first retry now has something to do before.
    if (wakes) this.#wake.push(hostDueMs(record), record.id);
    this.#enlist(memory);
  }

  /** Puts a host with work into the ring of its best level, unless it stands somewhere better already. */
  #enlist(memory: HostMemory): void {
    this.#index.setLevel(memory.record.id, this.#ringLevelOf(memory));
    this.#enlistId(memory.record.id);
  }

  #enlistId(id: number): void {
    const state = this.#index.state(id);
    if (state !== HOST_IDLE && state !== HOST_IN_RING) return;
    const level = this.#index.level(id);
    if (level === NO_LEVEL || (state === HOST_IN_RING && this.#index.ringLevel(id) <= level)) return;
    this.#index.setState(id, HOST_IN_RING);
    this.#index.setRingLevel(id, level);
    this.#rings[level]!.push(id);
  }

  #ringLevelOf(memory: HostMemory): number {
    if (memory.errands > 0) return 0;
    const { record } = memory;
    const best = bestLevel(record);
    if (best < 0) return NO_LEVEL;
    return this.#options.demoted(record) ? LEVELS - 1 : Math.min(best, LEVELS - 1);
  }

  /** Marks a host's record as changed, so that the next batch carries it. */
  touch(memory: HostMemory): void {
    if (memory.dirty) return;
    memory.dirty = true;
    this.#dirty.push(memory);
  }

  /**
   * The next host that may be fetched from now: it is on turn until `endTurn`. Undefined when there is none; `waitUntil` then says when to ask again.
   */
  nextTurn(nowMs: number): HostMemory | undefined {
    this.#wakeUp(nowMs);
    this.#fillSlots(nowMs);
    if (this.#firstReadyMs() > nowMs) return undefined;
    const memory = this.#memory.get(this.#ready.pop())!;
    assert(!memory.onTurn, `host ${memory.record.key} has one turn at a time`);
    memory.onTurn = true;
    memory.turnDueMs = memory.readyMs;
    memory.readyMs = NOT_READY;
    if (memory.line !== '') this.#leaveLine(memory, nowMs);
    memory.turnLevel = -1;
    this.#onTurn++;
    return memory;
  }

  /** EpochMs before which nextTurn has nothing; Infinity when only a new find or an ending turn can change that. */
  waitUntil(nowMs: number): number {
    const slotPoll = this.#slotsWanted ? nowMs + SLOT_POLL_MS : Number.POSITIVE_INFINITY;
    return Math.min(this.#firstReadyMs(), this.#wake.firstTime, slotPoll);
  }

  /** Infinity when nobody is ready or will be. Entries that a later one replaced are let go on the way. */
  #firstReadyMs(): number {
    for (;;) {
      const first = this.#ready.firstTime;
      if (first === Number.POSITIVE_INFINITY || this.#memory.get(this.#ready.firstId)?.readyMs === first) return first;
      this.#ready.pop();
    }
  }

  #wakeUp(nowMs: number): void {
    while (this.#wake.firstTime <= nowMs) {
      const id = this.#wake.pop();
      if (this.#index.state(id) !== HOST_SNOOZED) continue;
      this.#index.setState(id, HOST_IDLE);
      this.#enlistId(id);
    }
  }

  #fillSlots(nowMs: number): void {
    this.#slotsWanted = false;
    for (;;) {
      const level = this.#drawRing();
      if (level < 0) return;
      const overShare = this.#active >= this.#options.fairSlots && this.#gate.slotsInUse() >= this.#gate.slotsTotal() - 1;
      if (overShare || !this.#gate.tryTakeSlot()) {
        this.#slotsWanted = true;
        return;
      }
      const id = this.#shiftRing(level);
      if (id === 0 || !this.#activate(id, nowMs)) this.#gate.giveSlot();
    }
  }

  #activate(id: number, nowMs: number): boolean {
    const memory = this.#load(id);
    // A debt is at most what is owed, counted from now: a clock that was set back does not freeze a host.
    if (memory.record.lastEndMs > nowMs) memory.record.lastEndMs = nowMs;
    const due = hostDueMs(memory.record);
    if (due - nowMs > SLOT_WAIT_MAX_MS) {
      this.#snooze(id, due);
      this.#unclaimAddress(memory);
      return false;
    }
    this.#idle.delete(id);
    this.#index.setState(id, HOST_ACTIVE);
    memory.fetchesInSlot = 0;
    this.#active++;
    this.#makeReady(memory, due, nowMs);
    return true;
  }

  #snooze(id: number, untilMs: number): void {
    this.#index.setState(id, HOST_SNOOZED);
    this.#wake.push(untilMs, id);
  }

  /** Draws a non-empty ring by weight; −1 when all are empty. */
  #drawRing(): number {
    let total = 0;
    for (let level = 0; level < LEVELS; level++) if (this.#rings[level]!.size > 0) total += this.#options.weights[level]!;
    if (total === 0) return -1;
    let point = this.#random.next() * total;
    let last = -1;
    for (let level = 0; level < LEVELS; level++) {
      if (this.#rings[level]!.size === 0) continue;
      last = level;
      point -= this.#options.weights[level]!;
      if (point < 0) return level;
    }
    return last;
  }

  /** Head of a ring, skipping entries that a promotion or another state made stale; 0 when only such were left. */
  #shiftRing(level: number): number {
    const ring = this.#rings[level]!;
    while (ring.size > 0) {
      const id = ring.shift();
      if (this.#index.state(id) !== HOST_IN_RING || this.#index.ringLevel(id) !== level) continue;
      this.#index.setRingLevel(id, NO_LEVEL);
      return id;
    }
    return 0;
  }

  /**
   * The entry this turn is about: the level is drawn by weight among the host's non-empty ones; a due retry goes first, unless the host failed
   * last: then another URL shows whether it is the host or the URL that fails. Stays the same until it is consumed. Undefined when nothing is due (then `retryDueMs` says when).
   */
  peek(memory: HostMemory, nowMs: number): QueueEntry | undefined {
    if (memory.turnLevel >= 0) return this.#head(memory, memory.turnLevel);
    const retry = memory.record.queues[RETRY_LEVEL]!.queued > 0 ? this.#head(memory, RETRY_LEVEL) : undefined;
    const inTrouble = memory.record.faults + memory.record.setAside > 0;
    if (retry !== undefined && retry.notBeforeMs <= nowMs && !(inTrouble && hasFresh(memory.record))) {
      memory.turnLevel = RETRY_LEVEL;
      return retry;
    }
    const level = this.#drawLevel(memory.record);
    if (level < 0) return undefined;
    memory.turnLevel = level;
    return this.#head(memory, level);
  }

  /** When only retries wait: the time of the first; otherwise 0. */
  retryDueMs(memory: HostMemory): number {
    for (let level = 0; level < LEVELS; level++) if (memory.record.queues[level]!.queued > 0) return 0;
    if (memory.record.queues[RETRY_LEVEL]!.queued === 0) return 0;
    return this.#head(memory, RETRY_LEVEL)?.notBeforeMs ?? 0;
  }

  #drawLevel(record: HostRecord): number {
    let total = 0;
    let only = -1;
    for (let level = 0; level < LEVELS; level++) {
      if (record.queues[level]!.queued === 0) continue;
      only = total === 0 ? level : -2;
      total += this.#options.weights[level]!;
    }
    if (only !== -2) return only;
    let point = this.#random.next() * total;
    let last = -1;
    for (let level = 0; level < LEVELS; level++) {
      if (record.queues[level]!.queued === 0) continue;
      last = level;
      point -= this.#options.weights[level]!;
      if (point < 0) return level;
    }
    return last;
  }

  #head(memory: HostMemory, level: number): QueueEntry | undefined {
    const onDisk = memory.record.queues[level]!.queued - memory.pending[level]!.length;
    if (memory.heads[level]!.length === 0 && onDisk > 0) this.#refill(memory, level);
    return memory.heads[level]!.at(-1) ?? memory.pending[level]![0];
  }

  /** Reads the next entries of a queue from its chunks. Heads are kept in reverse, so that taking one is a pop. */
  #refill(memory: HostMemory, level: number): void {
    const { record } = memory;
    const queue = record.queues[level]!;
    for (;;) {
      assert(queue.headSeq <= queue.tailSeq, `queue ${level} of ${record.key} has entries but no chunk`);
      const blob = this.#chunk(memory, level, queue.headSeq);
      const entries = blob === undefined ? [] : readQueueEntries(blob, queue.headOffset, HEADS_MAX);
      if (entries.length > 0) {
        memory.heads[level] = entries.reverse();
        return;
      }
      this.#chunksDone.push({ hostId: record.id, level, fromSeq: queue.headSeq, belowSeq: queue.headSeq + 1 });
      queue.headSeq++;
      queue.headOffset = 0;
      this.touch(memory);
    }
  }

  #chunk(memory: HostMemory, level: number, seq: number): Uint8Array | undefined {
    const hostId = memory.record.id;
    const frozen = memory.frozen?.find((chunk) => chunk.level === level && chunk.seq === seq);
    if (frozen === undefined) return this.#store.readChunk(hostId, level, seq);
    if (!frozen.append) return frozen.blob;
    const stored = this.#store.readChunk(hostId, level, seq);
    return stored === undefined ? frozen.blob : Buffer.concat([stored, frozen.blob]);
  }

  /** Hands the turn's entry out until `deadlineMs`. */
  lease(memory: HostMemory, entry: QueueEntry, deadlineMs: number): Lease {
    assert(memory.onTurn && memory.lease === undefined, `host ${memory.record.key} has one lease at a time`);
    const lease: Lease = { id: this.#nextLeaseId++, host: memory, entry, deadlineMs, ended: false };
    memory.lease = lease;
    this.#leases.set(lease.id, lease);
    return lease;
  }

  /** Ends a lease; false when it had ended before (its result must then be ignored). The entry stays in the queue until it is consumed. */
  endLease(lease: Lease): boolean {
    if (lease.ended) return false;
    lease.ended = true;
    lease.host.lease = undefined;
    this.#leases.delete(lease.id);
    return true;
  }

  /** Leases past their deadline, still open: the caller breaks the exchange off and ends them. */
  expiredLeases(nowMs: number): Lease[] {
    return [...this.#leases.values()].filter((lease) => lease.deadlineMs <= nowMs);
  }

  /** Takes the turn's entry out of the queue: it has an outcome, a fate, or is requeued. */
  consume(memory: HostMemory): void {
    const level = memory.turnLevel;
    assert(memory.onTurn && level >= 0, 'only the entry on turn is consumed');
    const queue = memory.record.queues[level]!;
    if (memory.heads[level]!.length > 0) {
      memory.heads[level]!.pop();
      queue.headOffset++;
    } else {
      memory.pending[level]!.shift();
    }
    queue.queued--;
    this.#queued[level]!--;
    this.#dropReadChunks(memory.record, level, memory.pending[level]!.length);
    memory.turnLevel = -1;
    this.touch(memory);
  }

  /** When nothing of a queue is left on disk its chunks go, and the next write starts a new one. */
  #dropReadChunks(record: HostRecord, level: number, pending: number): void {
    const queue = record.queues[level]!;
    if (queue.queued - pending > 0 || queue.headSeq > queue.tailSeq) return;
    this.#chunksDone.push({ hostId: record.id, level, fromSeq: queue.headSeq, belowSeq: queue.tailSeq + 1 });
    // A store has room for so many numbers; a queue that was empty may begin again from the first.
    if (queue.tailSeq >= CHUNK_SEQ_RESTART) queue.tailSeq = 0;
    queue.headSeq = queue.tailSeq + 1;
    queue.headOffset = 0;
    queue.tailBytes = 0;
  }

  /** Counts a fetch against the slot's quantum. */
  countFetch(memory: HostMemory): void {
    memory.fetchesInSlot++;
  }

  /** Ends a turn. The host keeps its slot until its queue is empty, it must wait long or for a retry, or its quantum is over while others wait. */
  endTurn(memory: HostMemory, nowMs: number, dueMs = hostDueMs(memory.record)): void {
    this.#leaveTurn(memory);
    const { id } = memory.record;
    const retryDue = this.retryDueMs(memory);
    const due = memory.errands > 0 ? dueMs : Math.max(dueMs, retryDue);
    if (queuedTotal(memory.record) === 0 && memory.errands === 0) {
      this.#releaseSlot(memory, HOST_IDLE);
    } else if (due - nowMs > SLOT_WAIT_MAX_MS || (due > dueMs && due > nowMs)) {
      // A wait for nothing but a retry is slept through as well: a URL found meanwhile ends it.
      this.#releaseSlot(memory, HOST_IDLE);
      this.#snooze(id, due);
    } else if (memory.fetchesInSlot >= this.#options.quantum && this.#othersWait()) {
      this.#releaseSlot(memory, HOST_IDLE);
      this.#enlist(memory);
    } else {
      this.#makeReady(memory, due, nowMs);
    }
  }

  /** A host that has long been due queues up behind those that wait already: otherwise hosts never fetched from would always go first. */
  #makeReady(memory: HostMemory, dueMs: number, nowMs: number): void {
    memory.readyMs = Math.max(dueMs, nowMs);
    this.#ready.push(memory.readyMs, memory.record.id);
  }

  /** Ends a turn that came to nothing through no matter of the host's own: it stands where it stood, before those that are due later. */
  takeTurnBack(memory: HostMemory, nowMs: number): void {
    this.#leaveTurn(memory);
    memory.readyMs = Math.min(memory.turnDueMs, nowMs);
    this.#ready.push(memory.readyMs, memory.record.id);
  }

  /**
   * Ends a turn that found the gate of the host's address shut until `againMs` at least. The host keeps its slot and stands in the address's line, of which
   * only the first takes turns: hosts of one address do not all ask again and again. Who came from the front goes back there. Returns its place, 0 the first.
   */
  waitInLine(memory: HostMemory, addressKey: string, againMs: number, nowMs: number): number {
    const wasFirst = memory.line === addressKey;
    this.#leaveTurn(memory);
    memory.line = addressKey;
    const line = this.#lines.get(addressKey) ?? [];
    if (line.length === 0) this.#lines.set(addressKey, line);
    else if (wasFirst) line[0]!.readyMs = NOT_READY;
    if (wasFirst) line.unshift(memory);
    else line.push(memory);
    if (line[0] !== memory) return line.length - 1;
    this.#makeReady(memory, againMs, nowMs);
    return 0;
  }

  /** The gate of an address that this shard held opens at `nextMs`. The first of the line asks a little later: other shards have their turn before. */
  addressFree(addressKey: string, nextMs: number): void {
    const first = this.#lines.get(addressKey)?.[0];
    if (first !== undefined) this.#makeReady(first, nextMs + 1, nextMs);
  }

  /** The first of a line takes its turn. Whatever becomes of it, the next one asks after a while. */
  #leaveLine(memory: HostMemory, nowMs: number): void {
    const line = this.#lines.get(memory.line)!;
    assert(line.shift() === memory, `${memory.record.key} is the first of its line`);
    if (line.length === 0) this.#lines.delete(memory.line);
    else this.#makeReady(line[0]!, nowMs + LINE_NEXT_MS, nowMs);
  }

  /** Ends a turn without keeping the slot: the host sleeps until `untilMs`, or until `wake`. */
  sleep(memory: HostMemory, untilMs: number): void {
    this.#leaveTurn(memory);
    this.#releaseSlot(memory, HOST_IDLE);
    this.#snooze(memory.record.id, untilMs);
  }

  /** Lets a sleeping host take part again at once; its debt still holds. */
  wake(memory: HostMemory, nowMs: number): void {
    if (this.#index.state(memory.record.id) === HOST_SNOOZED) this.#wake.push(nowMs, memory.record.id);
  }

  /** A fetch for another host is to be made here. */
  addErrand(memory: HostMemory, nowMs: number): void {
    memory.errands++;
    this.wake(memory, nowMs);
    this.#enlist(memory);
  }

  /** Sets a host apart that the crawl does not wait for (Crawl-delay over the bound): its URLs stay queued. */
  setApart(memory: HostMemory): void {
    this.#leaveTurn(memory);
    this.#releaseSlot(memory, HOST_APART);
    this.#apart.set(memory.record.id, memory.record);
  }

  /** It takes no turn any more, not even for an errand. */
  isApart(memory: HostMemory): boolean {
    return this.#apart.has(memory.record.id);
  }

  #leaveTurn(memory: HostMemory): void {
    assert(memory.onTurn && memory.lease === undefined, `the turn of ${memory.record.key} ends once, without a lease`);
    memory.onTurn = false;
    memory.turnLevel = -1;
    memory.line = '';
    this.#onTurn--;
  }

  #othersWait(): boolean {
    return this.#rings.some((ring) => ring.size > 0) || this.#gate.slotsInUse() >= this.#gate.slotsTotal();
  }

  /** Called with a host that holds a slot when its address is shared by too many: it waits in the address's queue, without a slot. */
  park(memory: HostMemory, addressKey: string): void {
    this.#leaveTurn(memory);
    this.#releaseSlot(memory, HOST_PARKED);
    const ring = this.#parked.get(addressKey) ?? new IdRing();
    this.#parked.set(addressKey, ring);
    ring.push(memory.record.id);
    this.#parkedCount++;
  }

  /** Hosts that hold a place on a gated address. */
  hostsOnAddress(addressKey: string): number {
    return this.#addressHosts.get(addressKey) ?? 0;
  }

  /** The host counts against this address while it is active. */
  claimAddress(memory: HostMemory, addressKey: string): void {
    if (memory.addressKey === addressKey) return;
    this.#unclaimAddress(memory);
    memory.addressKey = addressKey;
    this.#addressHosts.set(addressKey, this.hostsOnAddress(addressKey) + 1);
  }

  /** Gives up the host's place on its address: to the next host that waits for it, if any. */
  #unclaimAddress(memory: HostMemory): void {
    const key = memory.addressKey;
    if (key === '') return;
    memory.addressKey = '';
    if (this.#passOn(key)) return;
    const left = this.hostsOnAddress(key) - 1;
    if (left > 0) this.#addressHosts.set(key, left);
    else this.#addressHosts.delete(key);
  }

  /**
   * The first host parked at an address takes over a place there, before it has a slot: so the chain does not break when it turns out to have
   * nothing to fetch, or another address; it then passes the place on. False when none waits.
   */
  #passOn(addressKey: string): boolean {
    for (let ring = this.#parked.get(addressKey); ring !== undefined; ring = this.#parked.get(addressKey)) {
      const id = ring.shift();
      this.#parkedCount--;
      if (ring.size === 0) this.#parked.delete(addressKey);
      this.#index.setState(id, HOST_IDLE);
      this.#enlistId(id);
      if (this.#index.state(id) === HOST_IDLE) continue; // nothing left to do there
      this.#load(id).addressKey = addressKey;
      return true;
    }
    return false;
  }

  #releaseSlot(memory: HostMemory, state: number): void {
    const { id } = memory.record;
    this.#index.setState(id, state);
    this.#index.setLevel(id, this.#ringLevelOf(memory));
    this.#active--;
    this.#gate.giveSlot();
    for (let level = 0; level < QUEUES; level++) memory.heads[level] = NO_ENTRIES;
    this.#idle.set(id, memory);
    this.#unclaimAddress(memory);
    this.#options.released?.(memory.record.key);
  }

  /** Lets old records go, a few at a time. */
  #evict(): void {
    let looks = 4;
    for (const [id, memory] of this.#idle) {
      if (this.#idle.size <= IDLE_RECORDS_MAX || looks-- === 0) return;
      this.#idle.delete(id);
      if (this.#mustStay(memory)) this.#idle.set(id, memory);
      else this.#memory.delete(id);
    }
  }

  /** A record that a batch still has to carry, or that something waits for. */
  #mustStay(memory: HostMemory): boolean {
    const { id } = memory.record;
    return (
      memory.dirty || memory.errands > 0 || memory.addressKey !== '' || memory.frozen !== undefined || this.#index.state(id) === HOST_APART
    );
  }

  #load(id: number): HostMemory {
    const known = this.#memory.get(id);
    if (known !== undefined) return known;
    const record = this.#store.readHost(id);
    assert(record !== undefined, `host ${id} has a row`);
    const memory = newMemory(record);
    this.#memory.set(id, memory);
    this.#idle.set(id, memory);
    this.#evict();
    return memory;
  }

  #insertIndex(hostKey: string, id: number): void {
    hashText(hostKey, this.#hashSeed, this.#hash);
    this.#index.insert(this.#hash[0]!, this.#hash[1]!, id);
  }

  #countDomain(domain: string): void {
    hashText(domain, this.#hashSeed, this.#hash);
    this.#domains.add(this.#hash[0]!, this.#hash[1]!);
  }

  #countOfDomain(domain: string): number {
    hashText(domain, this.#hashSeed, this.#hash);
    return this.#domains.get(this.#hash[0]!, this.#hash[1]!);
  }

  /**
   * Hands over every change since the last freeze. What was pending is encoded into chunks; until `thawed` is called the chunks are also read from
   * here, since the store does not have them yet.
   */
  freeze(): Pick<Batch, 'hosts' | 'chunks' | 'chunksDone' | 'nextHostId'> {
    const chunks: ChunkWrite[] = [];
    const hosts: HostRecord[] = [];
    const frozen = this.#dirty;
    for (const memory of frozen) {
      const first = chunks.length;
      for (let level = 0; level < QUEUES; level++) if (memory.pending[level]!.length > 0) this.#writePending(memory, level, chunks);
      memory.dirty = false;
      memory.frozen = chunks.length === first ? NO_CHUNKS : chunks.slice(first);
      hosts.push(copyHost(memory.record));
    }
    this.#dirty = [];
    this.#frozen = frozen;
    const chunksDone = this.#chunksDone;
    this.#chunksDone = [];
    return { hosts, chunks, chunksDone, nextHostId: this.#nextHostId };
  }

  /** The store answers reads of the frozen chunks from now on. Hosts that came in crowds, and wait, need no object any more. */
  thawed(): void {
    const carried = this.#frozen;
    this.#frozen = [];
    for (const memory of carried) memory.frozen = undefined;
    for (const memory of carried) {
      if (this.#idle.size <= IDLE_RECORDS_MAX) return;
      const { id } = memory.record;
      if (this.#idle.get(id) !== memory || this.#mustStay(memory)) continue;
      this.#idle.delete(id);
      this.#memory.delete(id);
    }
  }

  #writePending(memory: HostMemory, level: number, chunks: ChunkWrite[]): void {
    const { record } = memory;
    const queue = record.queues[level]!;
    const pending = memory.pending[level]!;
    const wasOnDisk = queue.queued - pending.length;
    const active = this.#index.state(record.id) === HOST_ACTIVE;
    let at = 0;
    let inFirstChunk = 0;
    while (at < pending.length) {
      this.#writer.reset();
      const first = at;
      let via: string | undefined;
      while (at < pending.length && this.#writer.length < CHUNK_BYTES) {
        const entry = pending[at++]!;
        writeQueueEntry(this.#writer, entry, via);
        via = entry.via;
      }
      const blob = this.#writer.take();
      const append = queue.tailSeq >= queue.headSeq && queue.tailBytes + blob.length <= CHUNK_APPEND_BYTES && first === 0;
      if (!append) queue.tailSeq++;
      queue.tailBytes = append ? queue.tailBytes + blob.length : blob.length;
      chunks.push({ hostId: record.id, level, seq: queue.tailSeq, count: at - first, blob, append });
      if (first === 0) inFirstChunk = at;
    }
    // With nothing on disk before them, the first of them are the heads now; heads are always of the one chunk that headOffset counts in.
    if (active && wasOnDisk === 0 && memory.heads[level]!.length === 0)
      memory.heads[level] = pending.slice(0, Math.min(HEADS_MAX, inFirstChunk)).reverse();
    memory.pending[level] = NO_ENTRIES;
  }

  stats(): FrontierStats {
    return {
      hosts: this.#index.hosts,
      active: this.#active,
      onTurn: this.#onTurn,
      inRings: this.#rings.map((ring) => ring.size),
      snoozed: this.#wake.size,
      parked: this.#parkedCount,
      queued: [...this.#queued],
      inMemory: this.#memory.size,
    };
  }

  /**
   * The longest that a host in memory needs for its queue at its present pause, in milliseconds. Hosts set apart are not waited for, and a pause that was
   * set by a fault or by the server's word for once says nothing of the next ones.
   */
  longestHostMs(): number {
    let longest = 0;
    for (const { record } of this.#memory.values()) {
      if (!STEADY_RULES.has(record.gapRule) || this.#apart.has(record.id)) continue;
      longest = Math.max(longest, queuedTotal(record) * (record.owedMs + record.lastDurationMs));
    }
    return longest;
  }

  /** Nothing is on turn and nothing waits, but for hosts that are set apart. */
  get idle(): boolean {
    return this.#onTurn === 0 && this.queuedCount === this.apartCount;
  }

  get queuedCount(): number {
    let total = 0;
    for (const count of this.#queued) total += count;
    return total;
  }

  /** URLs of hosts that are set apart. */
  get apartCount(): number {
    let total = 0;
    for (const record of this.#apart.values()) total += queuedTotal(record);
    return total;
  }

  get apartHosts(): number {
    return this.#apart.size;
  }

  get queuedCounts(): readonly number[] {
    return this.#queued;
  }
}

/** Something waits that is no retry. */
function hasFresh(record: HostRecord): boolean {
  for (let level = 0; level < LEVELS; level++) if (record.queues[level]!.queued > 0) return true;
  return false;
}

function newMemory(record: HostRecord): HostMemory {
  return {
    record,
    heads: [NO_ENTRIES, NO_ENTRIES, NO_ENTRIES, NO_ENTRIES, NO_ENTRIES, NO_ENTRIES],
    pending: [NO_ENTRIES, NO_ENTRIES, NO_ENTRIES, NO_ENTRIES, NO_ENTRIES, NO_ENTRIES],
    turnLevel: -1,
    onTurn: false,
    fetchesInSlot: 0,
    dirty: false,
    frozen: undefined,
    lease: undefined,
    addressKey: '',
    errands: 0,
    readyMs: NOT_READY,
    turnDueMs: 0,
    parts: undefined,
    line: '',
  };
}
