/**
 * Group commits: what changed since the last one is frozen into one batch, the output files are synced, the batch is made durable, and only then
 * follows what others may know of it: messages, acknowledgements, content hashes (PROTOCOL sections 1, 2).
 *
 * One commit is under way at a time; changes meanwhile go to the next. A commit that fails ends the shard: what is in memory is no longer true.
 */
import type { EpochMs } from '../core/time.ts';
import type { Batch } from '../ports/shard-store.ts';
import type { TotalsSnapshot } from './accounting.ts';
import type { Arrivals, FrozenArrivals } from './arrivals.ts';
import type { DiskReserve } from './disk-reserve.ts';
import type { Exchanges } from './exchanges.ts';
import type { Loop } from './loop.ts';
import type { SavedMarks } from './saved-marks.ts';
import type { ShardEnv } from './shard-env.ts';
import type { OutputMarks } from './shard-output.ts';
import type { Committed, ShardState } from './shard-state.ts';

/** Results and bytes that make a commit due at once. */
const BATCH_PAGES = 4_000;
const BATCH_BYTES = 64 * 1_048_576;
/** A shard with nothing else to do commits after this. */
const IDLE_COMMIT_MS = 20;

/** A batch without its marks, which are known when the files are synced, and what follows when it is durable. */
interface Frozen {
  readonly batch: Omit<Batch, 'marks'>;
  readonly marks: Omit<SavedMarks, keyof OutputMarks>;
  readonly totals: TotalsSnapshot;
  readonly arrivals: FrozenArrivals;
  readonly hasManifest: boolean;
}

export class Commits {
  readonly #env: ShardEnv;
  readonly #state: ShardState;
  readonly #loop: Loop;
  readonly #arrivals: Arrivals;
  readonly #exchanges: Exchanges;
  readonly #reserve: DiskReserve;
  #committed: Committed;
  #running: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #dueMs: EpochMs = 0;
  /** The next batch is the last one of an orderly end. */
  #clean = false;

  /** All of the state goes into a batch, so all of it is handed in here. */
  constructor(env: ShardEnv, state: ShardState, loop: Loop, arrivals: Arrivals, exchanges: Exchanges, reserve: DiskReserve) {
    this.#env = env;
    this.#state = state;
    this.#loop = loop;
    this.#arrivals = arrivals;
    this.#exchanges = exchanges;
    this.#reserve = reserve;
    this.#committed = state.committed;
  }

  /** As of the last durable commit. */
  get committed(): Committed {
    return this.#committed;
  }

  /** Nothing waits for a commit and none is under way. */
  get idle(): boolean {
    return !this.#state.unwritten.isDirty && this.#running === undefined;
  }

  schedule(now: EpochMs): void {
    const { unwritten, output, activity, frontier, delivery } = this.#state;
    if (!unwritten.isDirty || this.#running !== undefined || this.#loop.closed) return;
    const { clock, config } = this.#env.context;
    const { commitInterval } = config.run;
    const full = unwritten.pageCount >= BATCH_PAGES || output.bytesSinceSync >= BATCH_BYTES || delivery.wantsCommit;
    const quiet = activity.busy === 0 && frontier.waitUntil(now) > now;
    const due = full ? now : unwritten.dirtySinceMs + (quiet ? Math.min(IDLE_COMMIT_MS, commitInterval) : commitInterval);
    if (this.#cancelTimer !== undefined && this.#dueMs <= due) return;
    this.#cancelTimer?.();
    this.#dueMs = due;
    this.#cancelTimer = clock.setTimer(Math.min(Math.max(0, due - now), commitInterval), () => {
      this.#cancelTimer = undefined;
      this.#loop.guard(() => void this.#run());
    });
  }

  /** Commits until nothing is left, and then once more with the mark of an orderly end. Nothing may be in flight. */
  async end(): Promise<void> {
    for (;;) {
      await this.#running;
      if (this.#loop.closed) return;
      if (!this.#state.unwritten.isDirty) break;
      await this.#run();
    }
    this.#clean = true;
    this.#state.unwritten.mark();
    await this.#run();
  }

  #run(): Promise<void> {
    this.#running ??= this.#commit().then(
      () => {
        this.#running = undefined;
        this.#loop.pump();
      },
      (error: unknown) => {
        this.#running = undefined;
        this.#loop.fail(error);
      },
    );
    return this.#running;
  }

  /** Files, then the batch, then everything that may only follow it. */
  async #commit(): Promise<void> {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const { clock } = this.#env.context;
    const begunMs = clock.nowMonoMs();
    this.#exchanges.endExpired();
    this.#maintainSeen();
    const frozen = this.#freeze();
    const [marks, delivery] = await Promise.all([this.#state.output.sync(frozen.batch.commitSeq), this.#state.delivery.sync()]);
    const batch: Batch = { ...frozen.batch, marks: JSON.stringify({ ...marks, ...frozen.marks, delivery } satisfies SavedMarks) };
    const durable = this.#env.ports.store.commit(batch);
    // From here on the store's reads answer for the batch; it is true for others only when it is durable.
    this.#state.frontier.thawed();
    await durable;
    this.#state.meter.committed(clock.nowMonoMs() - begunMs);
    if (this.#loop.closed && !this.#clean) return;
    this.#follow(frozen);
    this.#state.delivery.committed(delivery);
  }

  /** Merging runs takes its time beside the crawl; its result goes into a later batch. */
  #maintainSeen(): void {
    void this.#state.seen.maintain()?.then(
      () => this.#state.unwritten.mark(),
      (error: unknown) => this.#loop.fail(error),
    );
  }

  #freeze(): Frozen {
    const { unwritten, seen, frontier, outbox, robots, content, leftAddresses } = this.#state;
    const rows = unwritten.freeze();
    const manifest = seen.pendingManifest();
    const queues = frontier.freeze();
    const totals = this.#state.totals.snapshot(frontier.queuedCounts);
    const arrivals = this.#arrivals.freeze();
    const batch: Omit<Batch, 'marks'> = {
      epoch: 1,
      commitSeq: this.#committed.commitSeq + 1,
      clean: this.#clean,
      ...queues,
      ...rows,
      robots: robots.freeze(),
      content: content.freeze(),
      seenDeltas: seen.takeNewKeys(),
      seenManifest: manifest === undefined ? undefined : JSON.stringify(manifest),
      seenDeltasBelow: manifest?.deltasFrom ?? -1,
      outbox: outbox.freeze(),
      outboxDone: outbox.takeDone(),
      taken: arrivals.rows,
      nextContentId: content.nextId,
      totals: JSON.stringify(totals),
    };
    const { clock, bootId, hostRules } = this.#env.context;
    const atMs = clock.nowEpochMs();
    const marks = {
      lanes: outbox.lastSeqs(),
      atMs,
      monoMs: clock.nowMonoMs(),
      bootId,
      inFlight: this.#exchanges.openRequests(),
      leftAddresses: leftAddresses.owed(atMs, (hostKey) => hostRules.of(hostKey).addressDelayMs),
    };
    return { batch, marks, totals, arrivals, hasManifest: manifest !== undefined };
  }

  /** The batch is durable. */
  #follow(frozen: Frozen): void {
    const { batch, marks, totals } = frozen;
    const { unwritten, seen, robots, outbox } = this.#state;
    const { id, context, events } = this.#env;
    this.#committed = { commitSeq: batch.commitSeq, totals, sentSeq: marks.lanes };
    unwritten.committed();
    robots.thawed();
    if (frozen.hasManifest) seen.manifestCommitted();
    for (const message of outbox.committed()) context.channel.send(message);
    this.#arrivals.committed(frozen.arrivals);
    this.#publishContent();
    this.#reserve.check();
    events.committed(id, batch.commitSeq, batch.pages.length);
  }

  /** Bodies of this shard count as seen in the others too. */
  #publishContent(): void {
    const { id, context } = this.#env;
    const entries = this.#state.content.thawed();
    if (entries.length === 0) return;
    for (let to = 0; to < context.shards; to++) {
      if (to !== id) context.channel.send({ kind: 'content', from: id, to, entries });
    }
  }

  /** A commit under way goes on alone; nothing follows it unless it is the last of an orderly end. */
  close(): void {
    this.#cancelTimer?.();
  }
}
