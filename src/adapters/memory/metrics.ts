/** Counters and gauges in a map, for the report and for tests. */
import type { Metrics } from '../../ports/metrics.ts';

export interface MemoryMetrics extends Metrics {
  snapshot(): Readonly<Record<string, number>>;
}

export function createMemoryMetrics(): MemoryMetrics {
  const values = new Map<string, number>();
  const nameOf = (name: string, label: string | undefined): string => (label === undefined ? name : `${name}{${label}}`);
  return {
    count(name, by = 1, label) {
      const key = nameOf(name, label);
      values.set(key, (values.get(key) ?? 0) + by);
    },
    gauge(name, value, label) {
      values.set(nameOf(name, label), value);
    },
    snapshot: () => Object.fromEntries(values),
  };
}
