/**
 * Points in time and what can be said of the time between two of them.
 *
 * Monotonic times of one boot compare, and decide. They stand still while a machine sleeps, so when wall time says that enough has passed and
 * the two disagree, nothing is decided: the clock was set, or the machine slept. Across boots only wall time is left: it accuses when it was not
 * visibly set back, and acquits never; but what has waited long enough since the new boot's shard was opened has waited long enough.
 */
import type { EpochMs, MonoMs } from '../core/time.ts';

export interface Moment {
  /** Monotonic times compare under the same boot id only. */
  readonly boot: string;
  readonly monoMs: MonoMs;
  readonly epochMs: EpochMs;
}

/** The crawler's wall clock counts whole milliseconds at both ends of a pause. */
export const SLACK_MS = 2;
/** Wall and monotonic time may differ by so much over a pause before one of them was changed. */
const STEP_MS = 50;

export type PauseVerdict = 'kept' | 'short' | 'clock-step' | 'another-boot';

/** Was there a pause of `owedMs` between the two? `openedAt`: when the shard of the later one was opened, in the boot of `to`. */
export function judgePause(from: Moment, to: Moment, owedMs: number, openedAt: Moment | undefined): PauseVerdict {
  const least = owedMs - SLACK_MS;
  const wallMs = to.epochMs - from.epochMs;
  if (from.boot === to.boot) {
    const ms = to.monoMs - from.monoMs;
    if (ms >= least) return 'kept';
    return wallMs >= least && Math.abs(wallMs - ms) > STEP_MS ? 'clock-step' : 'short';
  }
  if (openedAt !== undefined && openedAt.boot === to.boot && to.monoMs - openedAt.monoMs >= least) return 'kept';
  const setBack = openedAt === undefined || openedAt.epochMs < from.epochMs;
  return wallMs < least && !setBack ? 'short' : 'another-boot';
}

/** Milliseconds between the two, by the clock that compares. */
export function pauseMs(from: Moment, to: Moment): number {
  return from.boot === to.boot ? to.monoMs - from.monoMs : to.epochMs - from.epochMs;
}

export function later(moment: Moment, ms: number): Moment {
  return { boot: moment.boot, monoMs: moment.monoMs + ms, epochMs: moment.epochMs + ms };
}
