/**
 * The node's one coordinator: sends the seeds, watches the shards, decides when the crawl is over, and stops it in an orderly way.
 *
 * The crawl is finished when every shard is idle and every message sent between shards was taken, in two readings between which nothing
 * moved (PROTOCOL section 2). It runs on the main thread and knows shards only by their statuses.
 */
import type { Clock } from '../ports/clock.ts';
import type { LinkChannel } from '../ports/link-channel.ts';
import { SEED_SENDER } from '../ports/link-channel.ts';
import type { FromThread, PlainError, ToThread } from './messages.ts';
import type { ShardStatus } from './shard.ts';

export type EndReason = 'finished' | 'page-limit' | 'time-limit' | 'stopped' | 'failed';

export interface CoordinatorEvents {
  committed(shard: number, commitSeq: number, pages: number): void;
  /** An output file is full and the next one has begun; it is durable with the shard's next commit. */
  rotated?(shard: number, file: string): void;
  notice(shard: number, text: string): void;
  /** About four times a second. */
  progress(statuses: readonly ShardStatus[]): void;
}

export interface CoordinatorOptions {
  readonly shards: number;
  readonly maxPages: number;
  /** 0 = none. */
  readonly maxTimeMs: number;
  /** Seed finds per shard, already numbered in messages. */
  readonly seeds: readonly SeedMessage[];
}

export interface SeedMessage {
  readonly to: number;
  readonly seq: number;
  readonly count: number;
  readonly blob: Uint8Array;
  readonly list: string;
}

export interface EndReport {
  readonly reason: EndReason;
  readonly statuses: readonly ShardStatus[];
  readonly metrics: Readonly<Record<string, number>>;
  readonly error: PlainError | undefined;
}

export interface ThreadLink {
  post(message: ToThread): void;
}

const POLL_MS = 250;
const FIRST_POLL_MS = 30;

export class Coordinator {
  readonly #options: CoordinatorOptions;
  readonly #clock: Clock;
  readonly #channel: LinkChannel;
  readonly #threads: readonly ThreadLink[];
  readonly #events: CoordinatorEvents;
  readonly #done: (report: EndReport) => void;
  readonly #statuses = new Map<number, ShardStatus>();
  readonly #scopeHosts = new Set<string>();
  readonly #metrics = new Map<number, Readonly<Record<string, number>>>();
  readonly #seedAcks = new Map<number, number>();
  #opened = 0;
  readonly #stopped = new Set<number>();
  #answered = 0;
  #round = 0;
  #lastVersion = '';
  #quietRounds = 0;
  #reason: EndReason | undefined;
  #ended = false;
  #started = false;
  #cancelPoll: (() => void) | undefined;
  #cancelTime: (() => void) | undefined;

  constructor(
    options: CoordinatorOptions,
    clock: Clock,
    channel: LinkChannel,
    threads: readonly ThreadLink[],
    events: CoordinatorEvents,
    done: (report: EndReport) => void,
  ) {
    this.#options = options;
    this.#clock = clock;
    this.#channel = channel;
    this.#threads = threads;
    this.#events = events;
    this.#done = done;
    channel.receive(SEED_SENDER, (message) => {
      if (message.kind === 'ack') this.#seedAcks.set(message.from, Math.max(message.upTo, this.#seedAcks.get(message.from) ?? 0));
    });
  }

  receive(thread: number, message: FromThread): void {
    if (this.#ended) return;
    switch (message.type) {
      case 'opened':
        this.#keep(message.statuses);
        for (const host of message.scopeHosts) this.#scopeHosts.add(host);
        if (++this.#opened === this.#threads.length) this.#start();
        break;
      case 'status':
        this.#keep(message.statuses);
        this.#metrics.set(thread, message.metrics);
        if (message.round === this.#round && ++this.#answered === this.#threads.length) this.#roundOver();
        break;
      case 'committed':
        this.#events.committed(message.shard, message.commitSeq, message.pages);
        break;
      case 'rotated':
        this.#events.rotated?.(message.shard, message.file);
        break;
      case 'notice':
        this.#events.notice(message.shard, message.text);
        break;
      case 'failed':
        this.#end('failed', message.error);
        break;
      case 'stopped':
        this.#keep(message.statuses);
        this.#stopped.add(thread);
        if (this.#stopped.size === this.#threads.length) this.#end(this.#reason ?? 'stopped', undefined);
        break;
    }
  }

  /** A thread ended by itself: its shards' memory is gone. */
  threadDied(thread: number, error: Error | undefined): void {
    if (this.#ended || this.#stopped.has(thread)) return;
    this.#end('failed', {
      code: 'PORTOLAN_ENGINE_WORKER_DIED',
      message: `a thread of the crawl ended: ${error?.message ?? 'without a word'}`,
      remedy: 'run the same command again: it goes on from the last commit',
      stack: error?.stack ?? '',
    });
  }

  #keep(statuses: readonly ShardStatus[]): void {
    for (const status of statuses) this.#statuses.set(status.shard, status);
  }

  #start(): void {
    this.#started = true;
    this.#post({ type: 'start', scopeHosts: [...this.#scopeHosts] });
    for (const seed of this.#options.seeds) {
      this.#channel.send({
        kind: 'finds',
        from: SEED_SENDER,
        to: seed.to,
        seq: seed.seq,
        count: seed.count,
        blob: seed.blob,
        list: seed.list,
      });
    }
    const { maxTimeMs } = this.#options;
    if (maxTimeMs > 0) this.#cancelTime = this.#clock.setTimer(maxTimeMs, () => this.stop('time-limit'));
    if (this.#reason !== undefined) this.#post({ type: 'stop' });
    this.#poll(FIRST_POLL_MS);
  }

  #post(message: ToThread): void {
    for (const thread of this.#threads) thread.post(message);
  }

  send(message: ToThread): void {
    if (!this.#ended) this.#post(message);
  }

  #poll(delayMs: number): void {
    this.#cancelPoll?.();
    this.#cancelPoll = this.#clock.setTimer(delayMs, () => {
      this.#answered = 0;
      this.#round++;
      this.#post({ type: 'status', round: this.#round });
    });
  }

  #roundOver(): void {
    const statuses = this.statuses();
    this.#events.progress(statuses);
    if (this.#reason !== undefined) return;
    const reason = this.#isOver(statuses);
    const version = statuses.map((status) => `${status.version}:${status.commitSeq}`).join(' ');
    this.#quietRounds = reason !== undefined && version === this.#lastVersion ? this.#quietRounds + 1 : 0;
    this.#lastVersion = version;
    if (reason !== undefined && this.#quietRounds > 0) {
      this.stop(reason);
      return;
    }
    this.#poll(reason !== undefined ? FIRST_POLL_MS : POLL_MS);
  }

  #isOver(statuses: readonly ShardStatus[]): EndReason | undefined {
    if (this.#options.seeds.some((seed) => (this.#seedAcks.get(seed.to) ?? 0) < seed.seq)) return undefined;
    if (this.#options.maxPages > 0 && statuses.some((s) => s.paused === 'pages') && statuses.every((s) => s.inFlight === 0))
      return 'page-limit';
    if (!statuses.every((status) => status.idle)) return undefined;
    for (const from of statuses) {
      for (const to of statuses) if ((from.sentSeq[to.shard] ?? 0) !== (to.takenSeq[from.shard] ?? 0)) return undefined;
    }
    return 'finished';
  }

  statuses(): ShardStatus[] {
    return [...this.#statuses.values()].sort((a, b) => a.shard - b.shard);
  }

  /** Ends the crawl in an orderly way: exchanges in flight end, everything is committed. Idempotent. */
  stop(reason: EndReason): void {
    if (this.#reason !== undefined || this.#ended) return;
    this.#reason = reason;
    if (this.#started) this.#post({ type: 'stop' });
  }

  #end(reason: EndReason, error: PlainError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelPoll?.();
    this.#cancelTime?.();
    const metrics: Record<string, number> = {};
    for (const part of this.#metrics.values())
      for (const [name, value] of Object.entries(part)) metrics[name] = (metrics[name] ?? 0) + value;
    this.#done({ reason, statuses: this.statuses(), metrics, error });
  }
}
