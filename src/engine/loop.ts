/**
 * The heartbeat of a shard: takes turns while something is ready and may be leased, then sets one timer for when something will be.
 *
 * Whatever may have made something ready calls `pump`: an exchange or a look-up that ended, a message, a commit, the end of a pause. Work that
 * comes from outside runs within `guard`: any exception ends the shard, and after the end nothing runs any more.
 */
import type { EpochMs, MonoMs } from '../core/time.ts';
import type { Frontier, HostMemory } from '../frontier/frontier.ts';
import type { Activity } from './activity.ts';
import type { Delivery } from './delivery.ts';
import type { LoadMeter } from './load-meter.ts';
import { CLOCK_STEP_MS, type Pause, type ShardEnv } from './shard-env.ts';
import type { ShardState } from './shard-state.ts';
import type { Unwritten } from './unwritten.ts';

/** Turns begun in one go, drops without a request included; the rest waits for the timer. */
const TURNS_PER_PUMP = 256;
/** The oldest result may wait so long for its commit before nothing new is leased. */
const UNCOMMITTED_MAX_MS = 2_000;
const TIMER_MAX_MS = 3_600_000;

/** Begun and ended by the shard itself; the others are the operator's, and the state of the delivery. */
type OwnPause = Exclude<Pause, 'operator' | 'program'>;

/** What the loop drives. */
export interface LoopSteps {
  /** One turn of a host that is due. */
  readonly turn: (memory: HostMemory, nowMs: EpochMs) => void;
  /** After each round of turns: sets the time of the next commit. */
  readonly scheduleCommit: (nowMs: EpochMs) => void;
  /** Called once at most, and never after `close`. */
  readonly failed: (error: unknown) => void;
}

export class Loop {
  readonly #env: ShardEnv;
  readonly #steps: LoopSteps;
  readonly #frontier: Frontier;
  readonly #unwritten: Unwritten;
  readonly #activity: Activity;
  readonly #meter: LoadMeter;
  readonly #delivery: Delivery;
  readonly #maxInFlight: number;
  readonly #uncommittedMaxMs: number;
  #pumping = false;
  #paused: OwnPause = '';
  #held = false;
  #closed = false;
  #lastNowMs: EpochMs = 0;
  #lastMonoMs: MonoMs = 0;
  #cancelPump: (() => void) | undefined;
  /** When the timer of #cancelPump is due. */
  #pumpAtMs: EpochMs = 0;
  /** The request rate lets nothing through before. */
  #rateDueMs: EpochMs = 0;

  constructor(env: ShardEnv, state: Pick<ShardState, 'frontier' | 'unwritten' | 'activity' | 'meter' | 'delivery'>, steps: LoopSteps) {
    this.#env = env;
    this.#steps = steps;
    this.#frontier = state.frontier;
    this.#unwritten = state.unwritten;
    this.#activity = state.activity;
    this.#meter = state.meter;
    this.#delivery = state.delivery;
    const { config, shards } = env.context;
    this.#maxInFlight = Math.max(1, Math.ceil(config.fetch.connections / shards));
    this.#uncommittedMaxMs = Math.max(UNCOMMITTED_MAX_MS, 2 * config.run.commitInterval);
  }

  get closed(): boolean {
    return this.#closed;
  }

  get paused(): Pause {
    if (this.#paused !== '') return this.#paused;
    if (this.#held) return 'operator';
    // What waits for a commit will be given soon: then it is not the program that is waited for.
    return this.#delivery.isFull && !this.#delivery.wantsCommit ? 'program' : '';
  }

  /** Replaces whatever pause there was, but for the operator's; '' goes on. */
  pause(why: OwnPause): void {
    this.#paused = why;
    this.#activity.moved();
    if (why === '') this.pump();
  }

  /** The operator's pause, beside any other: it ends by his word alone. */
  hold(on: boolean): void {
    this.#held = on;
    this.#activity.moved();
    if (!on) this.pump();
  }

  /** No turn is taken before: each would be sent back. */
  waitForRate(untilMs: EpochMs): void {
    this.#rateDueMs = untilMs;
  }

  /** EpochMs before which no host gets a turn; Infinity when only something new can change that. */
  waitUntil(now: EpochMs): EpochMs {
    return Math.max(this.#rateDueMs, this.#frontier.waitUntil(now));
  }

  guard(work: () => void): void {
    if (this.#closed) return;
    try {
      work();
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error: unknown): void {
    if (!this.#closed) this.#steps.failed(error);
  }

  pump(): void {
    if (this.#pumping || this.#closed) return;
    this.#pumping = true;
    this.guard(() => this.#takeTurns());
    this.#pumping = false;
    if (!this.#closed) this.#schedule();
  }

  #takeTurns(): void {
    const { clock } = this.#env.context;
    this.#watchClock(clock.nowEpochMs(), clock.nowMonoMs());
    for (let turns = 0; turns < TURNS_PER_PUMP; turns++) {
      const now = clock.nowEpochMs();
      if (now < this.#rateDueMs || !this.#mayLease(now)) return;
      const memory = this.#frontier.nextTurn(now);
      if (memory === undefined) return;
      this.#activity.moved();
      this.#steps.turn(memory, now);
    }
  }

  /** A wall clock that is moved neither frees nor freezes a host: what it still owes moves with the clock. */
  #watchClock(now: EpochMs, monoMs: MonoMs): void {
    const stepMs = this.#lastNowMs === 0 ? 0 : now - this.#lastNowMs - (monoMs - this.#lastMonoMs);
    this.#lastNowMs = now;
    this.#lastMonoMs = monoMs;
    if (Math.abs(stepMs) <= CLOCK_STEP_MS) return;
    const { id, events } = this.#env;
    const where = stepMs < 0 ? 'back' : 'forward';
    events.notice(id, `the clock was set ${where} by ${Math.round(Math.abs(stepMs) / 1_000)} s: pauses go on with what was left of them`);
    this.#frontier.clockMoved(stepMs);
    this.#rateDueMs = 0;
  }

  #mayLease(now: EpochMs): boolean {
    const isFree = this.paused === '' && this.#activity.busy < this.#maxInFlight && !this.#delivery.isFull;
    const isHeldBack = isFree && now - this.#unwritten.oldestMs > this.#uncommittedMaxMs;
    this.#meter.setHeldBack(isHeldBack, now);
    return isFree && !isHeldBack;
  }

  #schedule(): void {
    const { clock } = this.#env.context;
    const now = clock.nowEpochMs();
    this.#steps.scheduleCommit(now);
    // Ending exchanges and commits pump again by themselves.
    const until = this.#mayLease(now) ? this.waitUntil(now) : Number.POSITIVE_INFINITY;
    if (this.#cancelPump !== undefined && this.#pumpAtMs === until) return;
    this.#cancelPump?.();
    this.#cancelPump = undefined;
    if (until === Number.POSITIVE_INFINITY) return;
    this.#pumpAtMs = until;
    this.#cancelPump = clock.setTimer(Math.min(Math.max(0, until - now), TIMER_MAX_MS), () => {
      this.#cancelPump = undefined;
      this.pump();
    });
  }

  /** Nothing guarded runs from here on. Idempotent. */
  close(): void {
    this.#closed = true;
    this.#cancelPump?.();
  }
}
