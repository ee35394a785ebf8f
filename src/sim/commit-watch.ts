/**
 * Looks at every batch on its way into a store: both accounting laws, the law of each host that it carries, the order of commits. What a batch says
 * becomes the shard's last totals once it is durable; the recount holds the rows against them.
 */
import { queuedTotal } from '../core/host.ts';
import { lawGaps, type TotalsSnapshot } from '../engine/accounting.ts';
import type { Batch, ShardStore } from '../ports/shard-store.ts';
import type { EventLog } from './event-log.ts';
import type { Findings } from './findings.ts';
import type { VirtualTime } from './virtual-time.ts';

export class CommitWatch {
  readonly #time: VirtualTime;
  readonly #findings: Findings;
  readonly #log: EventLog;
  readonly #lastSeq = new Map<number, number>();
  readonly #totals = new Map<number, string>();
  #commits = 0;
  #pages = 0;

  constructor(time: VirtualTime, findings: Findings, log: EventLog) {
    this.#time = time;
    this.#findings = findings;
    this.#log = log;
  }

  get commits(): number {
    return this.#commits;
  }

  /** Page rows in all batches; a page that was fetched again after a crash counts again. */
  get pages(): number {
    return this.#pages;
  }

  /** Totals of the last batch of a shard that became durable. */
  totals(shard: number): TotalsSnapshot | undefined {
    const text = this.#totals.get(shard);
    return text === undefined ? undefined : (JSON.parse(text) as TotalsSnapshot);
  }

  /** Puts the watch between a shard and its store. The same store is returned. */
  over(store: ShardStore, shard: number): ShardStore {
    const commit = store.commit.bind(store);
    store.commit = async (batch) => {
      this.#check(shard, batch);
      await commit(batch);
      this.#lastSeq.set(shard, batch.commitSeq);
      this.#totals.set(shard, batch.totals);
    };
    return store;
  }

  /** After a crash the store may stand one batch before or after what was seen to become durable. */
  reopened(shard: number, commitSeq: number, totals: string): void {
    this.#lastSeq.set(shard, commitSeq);
    this.#totals.set(shard, totals);
  }

  #check(shard: number, batch: Batch): void {
    const { nowMs } = this.#time;
    const findings = this.#findings;
    const gaps = lawGaps(JSON.parse(batch.totals) as TotalsSnapshot);
    findings.expect(gaps.finder === 0, 'law-finder', nowMs, () => `shard ${shard}, commit ${batch.commitSeq}: off by ${gaps.finder}`);
    findings.expect(gaps.owner === 0, 'law-owner', nowMs, () => `shard ${shard}, commit ${batch.commitSeq}: off by ${gaps.owner}`);
    findings.expect(gaps.urls === 0, 'law-urls', nowMs, () => `shard ${shard}, commit ${batch.commitSeq}: off by ${gaps.urls}`);
    const last = this.#lastSeq.get(shard) ?? 0;
    findings.expect(batch.commitSeq === last + 1, 'commit-order', nowMs, () => `shard ${shard}: commit ${batch.commitSeq} after ${last}`);
    for (const host of batch.hosts) {
      const gap = host.admitted - queuedTotal(host) - host.fetched - host.dropped;
      if (gap === 0) findings.passed();
      else findings.report('law-host', nowMs, `${host.key} in commit ${batch.commitSeq} of shard ${shard}: off by ${gap}`);
    }
    this.#commits++;
    this.#pages += batch.pages.length;
    this.#log.add('commit', nowMs, shard, batch.commitSeq, batch.pages.length, batch.hosts.length);
  }
}
