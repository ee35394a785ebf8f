import type { EpochMs, MonoMs } from '../core/time.ts';

/**
 * Time, handed in. Contract: `nowMonoMs` never goes back within a process and has a resolution of 1 ms or better; `nowEpochMs` may jump.
 * Timers fire once, not before their time, in order of their due time; a cancelled timer never fires.
 */
export interface Clock {
  nowEpochMs(): EpochMs;
  nowMonoMs(): MonoMs;
  /** Calls `fn` after at least `delayMs` (0 = as soon as the current work is done). Returns a function that cancels it (idempotent). */
  setTimer(delayMs: number, fn: () => void): () => void;
}
