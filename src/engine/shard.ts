/**
 * One shard: owns a slice of the hosts and everything about them, and moves their URLs through the rooms in order
 * (find → admit → queue → lease → target → exchange → page → outcome → batch). Here its parts are put together; it opens, starts, stops and closes.
 *
 * One thread runs it; nothing in it blocks but short file writes and the store's transaction. Every change is in memory first and becomes
 * true for others only when the batch that carries it is durable (PROTOCOL sections 1, 2). Any failure of storage ends the shard: `failed`
 * is called once and what is in memory is thrown away.
 *
 * A URL's way: arrivals.ts or find-router.ts → admission.ts → (frontier) → loop.ts → turns.ts → targets.ts → page-turns.ts over exchanges.ts →
 * page-recorder.ts → commits.ts; or drops.ts, when it ends without a request.
 */
import { PortolanError } from '../core/errors.ts';
import type { EpochMs } from '../core/time.ts';
import type { FrontierStats } from '../frontier/frontier.ts';
import { SeenDamaged } from '../seen/manifest.ts';
import { Admission } from './admission.ts';
import { Arrivals } from './arrivals.ts';
import { Commits } from './commits.ts';
import type { ShardPorts, ThreadContext } from './context.ts';
import { DiskReserve } from './disk-reserve.ts';
import { Drops } from './drops.ts';
import { Errands } from './errands.ts';
import { Exchanges } from './exchanges.ts';
import { FindRouter } from './find-router.ts';
import { HostFaults } from './host-faults.ts';
import { Loop } from './loop.ts';
import type { ShardLoad } from './measurements.ts';
import { PageRecorder } from './page-recorder.ts';
import { PageTurns } from './page-turns.ts';
import { restoreShard } from './restore.ts';
import { RobotsTurns } from './robots-turns.ts';
import { giveUpSeenRuns } from './seen-open.ts';
import type { ShardEnv, ShardEvents, ShardStatus } from './shard-env.ts';
import { openShardState, type ShardState } from './shard-state.ts';
import { Targets } from './targets.ts';
import { Turns } from './turns.ts';

export type { ShardEvents, ShardStatus } from './shard-env.ts';

/** While a shard stops it looks so often whether its exchanges have ended. */
const STOP_POLL_MS = 20;

export class Shard {
  readonly id: number;
  readonly #env: ShardEnv;
  readonly #state: ShardState;
  readonly #loop: Loop;
  readonly #errands: Errands;
  readonly #exchanges: Exchanges;
  readonly #turns: Turns;
  readonly #arrivals: Arrivals;
  readonly #commits: Commits;

  private constructor(env: ShardEnv, state: ShardState) {
    this.id = env.id;
    this.#env = env;
    this.#state = state;
    const loop = new Loop(env, state, {
      turn: (memory, now) => this.#turns.take(memory, now),
      scheduleCommit: (now) => this.#commits.schedule(now),
      failed: (error) => this.#failed(error),
    });
    const errands = new Errands(env, state.frontier);
    const drops = new Drops(env, state, errands);
    const faults = new HostFaults(env, state);
    const exchanges = new Exchanges(env, state, loop);
    const targets = new Targets(env, state, loop, drops, errands, faults);
    const admission = new Admission(env, state);
    const router = new FindRouter(
      env.context,
      env.id,
      state.totals,
      state.outbox,
      (find, parts) => admission.admit(find, parts),
      (hi, lo) => state.seen.has(hi, lo),
    );
    const robotsTurns = new RobotsTurns(env, state, errands, exchanges, faults);
    const pageTurns = new PageTurns(env, state, loop, exchanges, faults, router, new PageRecorder(env, state, router));
    this.#loop = loop;
    this.#errands = errands;
    this.#exchanges = exchanges;
    this.#turns = new Turns(env, state, errands, drops, targets, robotsTurns, pageTurns);
    this.#arrivals = new Arrivals(env, state, admission, router, errands, robotsTurns);
    this.#commits = new Commits(env, state, loop, this.#arrivals, exchanges, new DiskReserve(env, loop));
  }

  /** Opens the shard's state and brings outputs, debts and the seen set back to it. Throws PortolanError. */
  static async open(id: number, context: ThreadContext, ports: ShardPorts, events: ShardEvents): Promise<Shard> {
    const env: ShardEnv = { id, context, ports, events };
    const state = await openShardState(env);
    restoreShard(env, state);
    const shard = new Shard(env, state);
    shard.#listen();
    return shard;
  }

  #listen(): void {
    this.#env.context.channel.receive(this.id, (message) =>
      this.#loop.guard(() => {
        this.#arrivals.receive(message);
        this.#loop.pump();
      }),
    );
  }

  /** Hosts that joined the scope in earlier runs. */
  get scopeHosts(): readonly string[] {
    return this.#state.opened.scopeHosts;
  }

  /** Begins: what was not acknowledged is sent again, and the first turns are taken. */
  start(): void {
    for (const message of this.#state.outbox.pending()) this.#env.context.channel.send(message);
    this.#loop.guard(() => this.#state.delivery.start());
    this.#loop.pump();
  }

  /** The program is done with every page and drop up to item `seq`. */
  given(seq: number): void {
    this.#loop.guard(() => this.#state.delivery.given(seq));
    this.#loop.pump();
  }

  /** The program takes nothing more in this run. */
  abandonDelivery(): void {
    this.#state.delivery.abandon();
    this.#loop.pump();
  }

  status(): ShardStatus {
    const { frontier, outbox, activity, delivery } = this.#state;
    const now = this.#env.context.clock.nowEpochMs();
    const stats = frontier.stats();
    const { commitSeq, totals, sentSeq } = this.#commits.committed;
    const quiet = activity.busy === 0 && this.#commits.idle;
    return {
      shard: this.id,
      idle: quiet && delivery.isDrained && frontier.idle && outbox.unacked === 0 && outbox.openFinds === 0 && this.#errands.hosts === 0,
      version: activity.version,
      commitSeq,
      totals,
      sentSeq,
      takenSeq: this.#arrivals.committedSeq,
      inFlight: activity.inFlight,
      active: stats.active,
      hosts: stats.hosts,
      apartHosts: frontier.apartHosts,
      apartUrls: frontier.apartCount,
      waitMs: Math.max(0, this.#loop.waitUntil(now) - now),
      paused: this.#loop.paused,
      load: this.#load(stats, now),
    };
  }

  #load(stats: FrontierStats, now: EpochMs): ShardLoad {
    const { frontier, activity, meter, totals } = this.#state;
    const { gate } = this.#env.ports;
    return {
      resolving: activity.resolving,
      inFrontQueues: stats.inRings.reduce((a, n) => a + n, 0),
      sleeping: stats.snoozed,
      parked: stats.parked,
      slotsInUse: gate.slotsInUse(),
      slotsTotal: gate.slotsTotal(),
      requestsTotal: totals.requests,
      gateWaitMsTotal: meter.gateWaitMs,
      rateWaitMsTotal: meter.rateWaitMs,
      heldBackMsTotal: meter.heldBackMs(now),
      commitsTotal: meter.commits,
      commitMsTotal: meter.commitMs,
      longestHostMs: frontier.longestHostMs(),
    };
  }

  /** Nothing is leased from here on; exchanges in flight go on. A pause of another kind that is in force stays, and its end does not end this one. */
  pause(): void {
    this.#loop.hold(true);
  }

  resume(): void {
    this.#loop.hold(false);
  }

  /** Blocklist or delays of the context are others: what is asked from here on is judged by them. */
  rulesChanged(): void {
    this.#loop.guard(() => this.#state.output.ledgerRules());
  }

  /** Leases nothing more, lets exchanges in flight end, commits, and closes. */
  async stop(): Promise<void> {
    if (this.#loop.closed) return;
    this.#loop.pause('stopping');
    while (this.#state.activity.busy > 0 && !this.#loop.closed) await this.#sleep(STOP_POLL_MS);
    // What was fetched is handed over before the end, unless nobody takes it.
    while (!this.#state.delivery.isDrained && !this.#loop.closed) await this.#sleep(STOP_POLL_MS);
    await this.#commits.end();
    if (!this.#loop.closed) this.#state.delivery.finish();
    this.close();
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#env.context.clock.setTimer(ms, resolve));
  }

  #failed(error: unknown): void {
    this.close();
    if (error instanceof SeenDamaged) giveUpSeenRuns(this.#env);
    this.#env.events.failed(this.id, error instanceof Error ? error : new PortolanError('PORTOLAN_ENGINE_INVARIANT', String(error)));
  }

  /** Lets everything go without a commit. Idempotent. */
  close(): void {
    if (this.#loop.closed) return;
    this.#loop.close();
    this.#commits.close();
    this.#exchanges.close();
    const { seen, near, output, delivery } = this.#state;
    seen.close();
    near.close();
    output.close();
    delivery.close();
    this.#env.ports.store.close();
  }
}
