/**
 * One life of a simulated process: from its start to its kill or end. Everything that a process owns hangs on it; when it is killed, its timers,
 * messages and answers never arrive anywhere, as those of a killed process never do.
 */
import type { EpochMs } from '../core/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The wall clock of the simulated machine: virtual time and an offset that a fault may step. */
export interface WallClock {
  /** Milliseconds since 1970 at virtual time 0, steps included. */
  offsetMs: EpochMs;
}

export class Incarnation {
  readonly number: number;
  readonly time: VirtualTime;
  readonly wall: WallClock;
  /** Of the machine: changes when the power was cut. */
  readonly boot: number;
  #alive = true;

  constructor(number: number, time: VirtualTime, wall: WallClock, boot = 1) {
    this.number = number;
    this.time = time;
    this.wall = wall;
    this.boot = boot;
  }

  get alive(): boolean {
    return this.#alive;
  }

  kill(): void {
    this.#alive = false;
  }

  /** Runs `fn` later, if the process still lives then. */
  after(delayMs: number, fn: () => void, plain = false): void {
    this.time.after(
      delayMs,
      () => {
        if (this.#alive) fn();
      },
      plain,
    );
  }

  /** As VirtualTime.wait; never settles when the process is killed before. */
  wait(delayMs: number, failure?: () => unknown): Promise<void> {
    this.time.touch();
    return new Promise((resolve, reject) => {
      this.after(delayMs, () => {
        const error = failure?.();
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  }

  /** `delayMsMin`: timers fire no earlier than this after they are set; for parts that would otherwise only ask all the time. */
  clock(delayMsMin = 0): Clock {
    const { time, wall } = this;
    return {
      nowEpochMs: () => wall.offsetMs + time.nowMs,
      nowMonoMs: () => time.nowMs,
      setTimer: (delayMs, fn) => {
        const event = time.after(Math.max(delayMs, delayMsMin), () => {
          if (this.#alive) fn();
        });
        return () => time.cancel(event);
      },
    };
  }
}
