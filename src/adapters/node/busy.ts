/** How busy the event loop of the calling thread is. */
import { performance } from 'node:perf_hooks';

/** A meter: each call answers with the share of the time since the call before (at first: since its making), 0 … 1. */
export function createBusyMeter(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return Number.isFinite(utilization) ? Math.min(1, Math.max(0, utilization)) : 0;
  };
}
