/**
 * What goes wrong in a run beside what the web itself does, and how often it did. Phase one lasts until `untilMs`; afterwards nothing is injected
 * any more and the crawl must finish.
 *
 * All draws come from one seeded generator of its own, in the order in which the simulated ports ask, which is the same in every run of a seed.
 */
import type { Random } from '../ports/random.ts';
import type { VirtualTime } from './virtual-time.ts';

export const FAULT_NAMES = [
  'kill', // the process dies, what it wrote stays
  'power-cut', // the machine dies: what was not synced may be lost or torn
  'lost-unsynced', // a file lost bytes in a power cut
  'torn-write', // a file kept a part of its unsynced bytes, or zeros in their place
  'lost-name', // a file whose name was not synced is gone
  'lost-batch', // a shard's last batch was not yet durable when the power went
  'append-failed', // a write fails after a part of its bytes
  'sync-failed',
  'sync-slow',
  'commit-failed',
  'disk-full', // a write meets a full disk
  'disk-low', // free space falls under the reserve for a while
  'operation-failed', // the N-th operation of storage, see failOperation
  'message-failed', // the N-th message, see failMessage
  'link-slow',
  'link-lost', // a message between shards is lost; ends with the process
  'net-reset',
  'net-unreachable',
  'net-stall',
  'dns-failed',
  'dns-slow',
  'clock-back', // the wall clock is set back
  'clock-forward', // it jumps ahead while the process is down
] as const;
export type FaultName = (typeof FAULT_NAMES)[number];

/** What a process does to its disk; `commit` is the sync of a log. */
export const OPERATIONS = ['write', 'sync', 'rename', 'cut', 'remove', 'commit'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** What it sends and receives: between shards, and to and from servers and name servers. */
export const MESSAGES = ['send', 'receive', 'request', 'answer', 'look-up'] as const;
export type Message = (typeof MESSAGES)[number];

/** Shares are chances for each operation, 0 … 1; spans are milliseconds of virtual time; 0 switches a fault off. */
export interface FaultOptions {
  /** Length of phase one. */
  readonly untilMs: number;
  /** Mean time between two kills. */
  readonly killEveryMs: number;
  /** Share of the kills that are power cuts. */
  readonly powerCuts: number;
  /** Chance at each operation of storage that the power goes while it is under way. */
  readonly powerCutAtOperation: number;
  /** Longest time a killed process stays down. */
  readonly downMsMax: number;
  readonly appendFailed: number;
  readonly syncFailed: number;
  readonly syncSlow: number;
  readonly commitFailed: number;
  readonly diskFull: number;
  readonly diskLow: number;
  readonly linkSlow: number;
  readonly linkLost: number;
  readonly netReset: number;
  readonly netUnreachable: number;
  readonly netStall: number;
  readonly dnsFailed: number;
  readonly dnsSlow: number;
  /** Chance at each restart that the clock has been set back, and that it has jumped ahead, by up to a day. */
  readonly clockBack: number;
  readonly clockForward: number;
  /** Number of the one operation of storage that fails, from 1; the only one to fail. */
  readonly failOperation: number;
  /** What happens at failOperation: it fails, or the process is killed or the power goes while it is under way. */
  readonly failBy: 'error' | 'kill' | 'power-cut';
  /** Number of the one message that fails, from 1. One between shards is lost by the death of the process, which is the only way to lose it. */
  readonly failMessage: number;
}

export const NO_FAULTS: FaultOptions = {
  untilMs: 0,
  killEveryMs: 0,
  powerCuts: 0,
  powerCutAtOperation: 0,
  downMsMax: 0,
  appendFailed: 0,
  syncFailed: 0,
  syncSlow: 0,
  commitFailed: 0,
  diskFull: 0,
  diskLow: 0,
  linkSlow: 0,
  linkLost: 0,
  netReset: 0,
  netUnreachable: 0,
  netStall: 0,
  dnsFailed: 0,
  dnsSlow: 0,
  clockBack: 0,
  clockForward: 0,
  failOperation: 0,
  failBy: 'error',
  failMessage: 0,
};

const SYNC_SLOW_MS_MAX = 5_000;
const SYNC_JITTER_MS = 100;
const NAMES_WEIGHT = 50;

export class Faults {
  readonly options: FaultOptions;
  readonly random: Random;
  readonly #time: VirtualTime;
  readonly #counts = new Map<FaultName, number>();
  #operations = 0;
  #healed = false;
  #messages = 0;
  #failed: Operation | Message | undefined;
  #powerGoes = false;
  #processDies = false;

  constructor(options: FaultOptions, random: Random, time: VirtualTime) {
    this.options = options;
    this.random = random;
    this.#time = time;
  }

  /** Phase one: faults are injected. */
  get active(): boolean {
    return !this.#healed && this.#time.nowMs < this.options.untilMs;
  }

  /** Phase two begins now, whatever the options say. */
  heal(): void {
    this.#healed = true;
  }

  /** True when a fault of this chance strikes now; it is counted. */
  strikes(name: FaultName, chance: number): boolean {
    if (chance <= 0 || !this.active || this.random.next() >= chance) return false;
    this.fired(name);
    return true;
  }

  /** How much longer than usual a sync takes, in milliseconds; mostly 0. */
  slowSyncMs(): number {
    if (this.strikes('sync-slow', this.options.syncSlow)) return this.random.int(SYNC_SLOW_MS_MAX);
    // Where kills are to strike, there must be something under way to be struck.
    return this.active && this.options.killEveryMs > 0 ? this.random.int(SYNC_JITTER_MS) : 0;
  }

  fired(name: FaultName): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  /** Counts an operation of storage; true when it is the one that has to fail. */
  operation(kind: Operation): boolean {
    this.#operations++;
    this.#mayCutPower(this.options.powerCutAtOperation);
    if (this.#operations !== this.options.failOperation) return false;
    this.fired('operation-failed');
    this.#failed = kind;
    if (this.options.failBy === 'power-cut') this.#powerGoes = true;
    else if (this.options.failBy === 'kill') this.#processDies = true;
    return this.options.failBy === 'error';
  }

  /** Counts a message; true when it is the one that has to fail. */
  message(kind: Message): boolean {
    if (++this.#messages !== this.options.failMessage) return false;
    this.fired('message-failed');
    this.#failed = kind;
    if (kind === 'send' || kind === 'receive') this.#processDies = true;
    return true;
  }

  /** A file was created or renamed, which is rare beside the other operations and has to be struck as often. */
  nameGiven(): void {
    this.#mayCutPower(this.options.powerCutAtOperation * NAMES_WEIGHT);
  }

  #mayCutPower(chance: number): void {
    if (chance > 0 && this.active && this.random.next() < chance) this.#powerGoes = true;
  }

  /** What failOperation or failMessage struck. */
  get failed(): Operation | Message | undefined {
    return this.#failed;
  }

  /** The power is to go now. */
  get powerGoes(): boolean {
    return this.#powerGoes;
  }

  /** The process is to die now. */
  get processDies(): boolean {
    return this.#processDies;
  }

  powerGone(): void {
    this.#powerGoes = false;
    this.#processDies = false;
  }

  /** Messages so far. */
  get messages(): number {
    return this.#messages;
  }

  /** Operations of storage so far. */
  get operations(): number {
    return this.#operations;
  }

  counts(): Partial<Record<FaultName, number>> {
    const counts: Partial<Record<FaultName, number>> = {};
    for (const name of FAULT_NAMES) {
      const count = this.#counts.get(name);
      if (count !== undefined) counts[name] = count;
    }
    return counts;
  }
}
