/**
 * Two clocks, never mixed.
 *
 * EpochMs is wall time in milliseconds since 1970-01-01 UTC: it may jump, and is for stored dates.
 * MonoMs is monotonic time in milliseconds from an arbitrary zero of this process: it is for delays, deadlines and durations.
 * A plain number may be given for either (the result of arithmetic); one may not be given for the other.
 */
export type EpochMs = number & { readonly __clock?: 'epoch' };
export type MonoMs = number & { readonly __clock?: 'mono' };

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
