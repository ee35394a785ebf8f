/** How a run went over time: samples at even steps of virtual time, thinned out by half when there are too many. */
import { overall, sum } from '../engine/accounting.ts';
import type { ShardStatus } from '../engine/shard.ts';

export interface Sample {
  readonly atMs: number;
  /** URLs that ended as a fetch, of any outcome. */
  readonly fetched: number;
  readonly ok: number;
  readonly requests: number;
  readonly robotsRequests: number;
  readonly admitted: number;
  readonly queued: number;
  readonly dropped: number;
  readonly budgetDrops: number;
  readonly rejected: number;
  readonly hosts: number;
  /** Hosts with a back queue. */
  readonly active: number;
  readonly inFlight: number;
  readonly apartHosts: number;
  readonly apartUrls: number;
  /** Time until anything is ready, milliseconds, the shortest over the shards. */
  readonly waitMs: number;
  readonly bodyBytes: number;
}

const SAMPLES_MAX = 400;
const FIRST_STEP_MS = 1_000;

export class Series {
  #samples: Sample[] = [];
  #stepMs = FIRST_STEP_MS;
  #nextMs = 0;

  get samples(): readonly Sample[] {
    return this.#samples;
  }

  isDue(nowMs: number): boolean {
    return nowMs >= this.#nextMs;
  }

  add(nowMs: number, statuses: readonly ShardStatus[]): void {
    this.#samples.push(sampleOf(nowMs, statuses));
    if (this.#samples.length > SAMPLES_MAX) {
      this.#stepMs *= 2;
      this.#samples = this.#samples.filter((_, at) => at % 2 === 0);
    }
    this.#nextMs = nowMs + this.#stepMs;
  }
}

export function sampleOf(atMs: number, statuses: readonly ShardStatus[]): Sample {
  const totals = statuses.map((status) => status.totals);
  const all = overall(totals);
  const add = (pick: (status: ShardStatus) => number): number => statuses.reduce((a, status) => a + pick(status), 0);
  return {
    atMs,
    fetched: sum(all.fetched),
    ok: all.fetched['ok'] ?? 0,
    requests: add((status) => status.totals.requests),
    robotsRequests: add((status) => status.totals.robotsRequests),
    admitted: all.admitted,
    queued: all.queued,
    dropped: sum(all.dropped),
    budgetDrops: all.dropped['page-budget'] ?? 0,
    rejected: sum(all.rejected),
    hosts: add((status) => status.hosts),
    active: add((status) => status.active),
    inFlight: add((status) => status.inFlight),
    apartHosts: add((status) => status.apartHosts),
    apartUrls: add((status) => status.apartUrls),
    waitMs: statuses.reduce((least, status) => Math.min(least, status.waitMs), Number.MAX_SAFE_INTEGER),
    bodyBytes: add((status) => status.totals.bodyBytes),
  };
}
