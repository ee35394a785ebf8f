/**
 * The node's one coordinator: sends the seeds, watches the shards, decides when the crawl is over, and stops it in an orderly way.
 *
 * The crawl is finished when every shard is idle and every message sent between shards was taken, in two readings between which nothing
 * moved (PROTOCOL section 2). It runs on the main thread and knows shards only by their statuses.
 */
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import type { LinkChannel } from '../ports/link-channel.ts';
import { ADDED_SEED_SENDER, SEED_SENDER } from '../ports/link-channel.ts';
import type { FromThread, PlainError, Steer, ToThread } from './messages.ts';
import type { SavedSeries } from './series.ts';
import type { ShardStatus } from './shard.ts';
import { type CrawlView, Watch } from './watch.ts';

export type EndReason = 'finished' | 'page-limit' | 'time-limit' | 'stopped' | 'failed';

export interface CoordinatorEvents {
  committed(shard: number, commitSeq: number, pages: number): void;
  /** An output file is full and the next one has begun; it is durable with the shard's next commit. */
  rotated?(shard: number, file: string): void;
  notice(shard: number, text: string): void;
  /** About four times a second. The view is computed from the same statuses. */
  progress(statuses: readonly ShardStatus[], view: CrawlView): void;
}

export interface CoordinatorOptions {
  readonly shards: number;
  readonly maxPages: number;
  /** 0 = none. */
  readonly maxTimeMs: number;
  /** Seed finds per shard, already numbered in messages. */
  readonly seeds: readonly SeedMessage[];
  /**
   * The crawl is new: no shard has anything that another one would have to know of before it begins (hosts of the scope, pauses that addresses are owed), so
   * seeds are sent at once and each shard begins when it is open. Default false.
   */
  readonly isNew?: boolean;
  /** What the view of the crawl compares its measures with; 0 and false when not given. */
  readonly ceiling?: number;
  readonly ratePerS?: number;
  readonly isEndless?: boolean;
  /** Root of the crawl's directory, for the time series of the report; without it none is kept there. */
  readonly disk?: Disk;
}

export interface SeedMessage {
  /** SEED_SENDER or ADDED_SEED_SENDER; the former when not given. */
  readonly from?: number;
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
  readonly series: SavedSeries;
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
  readonly #busy = new Map<number, number>();
  readonly #watch: Watch;
  readonly #seeds: SeedMessage[];
  /** Of #seeds, those that were sent. */
  #sentSeeds = 0;
  /** Last number that a shard has taken durably, by sender and shard. */
  readonly #seedAcks = new Map<string, number>();
  /** Steering that waits for its threads, by number. */
  readonly #asks = new Map<number, { left: number; readonly answer: (applied: boolean) => void }>();
  /** Steering from before the start. */
  #early: Steer[] = [];
  #lastAsk = 0;
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
    this.#seeds = [...options.seeds];
    const { ceiling = 0, ratePerS = 0, maxPages, maxTimeMs, isEndless = false, disk } = options;
    this.#watch = new Watch({ ceiling, ratePerS, maxPages, maxTimeMs, isEndless, ...(disk === undefined ? {} : { disk }) }, (text) =>
      events.notice(-1, text),
    );
    for (const sender of [SEED_SENDER, ADDED_SEED_SENDER]) {
      channel.receive(sender, (message) => {
        if (message.kind !== 'ack') return;
        const lane = `${sender}:${message.from}`;
        this.#seedAcks.set(lane, Math.max(message.upTo, this.#seedAcks.get(lane) ?? 0));
      });
    }
    if (options.isNew === true) this.#sendSeeds();
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
        this.#busy.set(thread, message.busy);
        if (message.round === this.#round && ++this.#answered === this.#threads.length) this.#roundOver();
        break;
      case 'items':
        break;
      case 'applied':
        this.#applied(message.ask);
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
    this.#watch.begin(this.#clock.nowEpochMs(), this.statuses());
    for (const message of this.#early.splice(0)) this.#post(message);
    this.#post({ type: 'start', scopeHosts: [...this.#scopeHosts] });
    this.#sendSeeds();
    const { maxTimeMs } = this.#options;
    if (maxTimeMs > 0) this.#cancelTime = this.#clock.setTimer(maxTimeMs, () => this.stop('time-limit'));
    if (this.#reason !== undefined) this.#post({ type: 'stop' });
    this.#poll(FIRST_POLL_MS);
  }

  #post(message: ToThread): void {
    for (const thread of this.#threads) thread.post(message);
  }

  #sendSeeds(): void {
    for (const { from = SEED_SENDER, to, seq, count, blob, list } of this.#seeds.slice(this.#sentSeeds))
      this.#channel.send({ kind: 'finds', from, to, seq, count, blob, list });
    this.#sentSeeds = this.#seeds.length;
  }

  /** Carries out a change in every thread: true when it is in force in all of them, false when the run ended before. */
  steer(message: Steer): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    const ask = ++this.#lastAsk;
    return new Promise((answer) => {
      this.#asks.set(ask, { left: this.#threads.length, answer });
      if (this.#started) this.#post({ ...message, ask });
      else this.#early.push({ ...message, ask });
    });
  }

  #applied(ask: number): void {
    const waiting = this.#asks.get(ask);
    if (waiting === undefined || --waiting.left > 0) return;
    this.#asks.delete(ask);
    waiting.answer(true);
  }

  /** Sends further seeds; the crawl is not over before they are taken. False when the run is ending: they are the next one's. */
  addSeeds(messages: readonly SeedMessage[]): boolean {
    if (this.#reason !== undefined || this.#ended) return false;
    this.#seeds.push(...messages);
    if (this.#started) this.#sendSeeds();
    return true;
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
    this.#events.progress(statuses, this.#watch.look(this.#clock.nowEpochMs(), statuses, [...this.#busy.values()]));
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
    if (this.#seeds.some(({ from = SEED_SENDER, to, seq }) => (this.#seedAcks.get(`${from}:${to}`) ?? 0) < seq)) return undefined;
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
    for (const { answer } of this.#asks.values()) answer(false);
    this.#asks.clear();
    const metrics: Record<string, number> = {};
    for (const part of this.#metrics.values())
      for (const [name, value] of Object.entries(part)) metrics[name] = (metrics[name] ?? 0) + value;
    const now = this.#clock.nowEpochMs();
    this.#watch.end(now, this.statuses());
    const report = { reason, statuses: this.statuses(), metrics, series: this.#watch.series, error };
    // After a failure of storage nothing more is written.
    if (error !== undefined || this.#options.disk === undefined) this.#done(report);
    else void this.#watch.save(now).then(() => this.#done(report));
  }
}
