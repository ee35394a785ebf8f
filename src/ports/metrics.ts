/** Counters and gauges by name (`portolan_…_total`, units last). Contract: cheap enough for once per page; never throws. */
export interface Metrics {
  count(name: string, by?: number, label?: string): void;
  gauge(name: string, value: number, label?: string): void;
}
