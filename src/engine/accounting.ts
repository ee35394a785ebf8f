/**
 * The two accounting laws (DESIGN, promise 1), each term counted on its own where it happens.
 *
 * Finder:  extracted = finderKnown + Σ finderRejected + local + Σ sent
 * Owner:   local + seeds + Σ taken = known + Σ ownerRejected + admitted
 * URLs:    admitted = Σ queued + Σ fetched + Σ dropped
 * In transit between two shards = sent[to] of the one − taken[from] of the other; overall
 * found (Σ extracted + Σ seeds) = known + rejected + admitted + in transit.
 */
import { DROP_REASONS, type DropReason, OUTCOME_NAMES, type OutcomeCode, REJECT_REASONS, type RejectReason } from '../core/reasons.ts';

export interface TotalsSnapshot {
  readonly extracted: number;
  readonly finderKnown: number;
  readonly finderRejected: Readonly<Record<string, number>>;
  readonly local: number;
  readonly sent: Readonly<Record<string, number>>;
  readonly seeds: number;
  readonly taken: Readonly<Record<string, number>>;
  readonly known: number;
  readonly ownerRejected: Readonly<Record<string, number>>;
  readonly admitted: number;
  readonly queued: readonly number[];
  readonly fetched: Readonly<Record<string, number>>;
  readonly dropped: Readonly<Record<string, number>>;
  /** Redirects within one URL (cookie, other spelling) after which it went back to its queue. */
  readonly interim: number;
  /** URLs that had ended as a redirect and were opened again by their own chain. */
  readonly reopened: number;
  /** Ends that `retry` took back: rows of pages and of fates that are queue entries again. */
  readonly putBackPages: number;
  readonly putBackDrops: number;
  readonly requests: number;
  readonly robotsRequests: number;
  readonly wireBytes: number;
  readonly bodyBytes: number;
  readonly exactDuplicates: number;
  readonly nearDuplicates: number;
  readonly storedPages: number;
  readonly lostOutput: number;
}

export class Totals {
  extracted = 0;
  finderKnown = 0;
  local = 0;
  seeds = 0;
  known = 0;
  admitted = 0;
  interim = 0;
  reopened = 0;
  putBackPages = 0;
  putBackDrops = 0;
  requests = 0;
  robotsRequests = 0;
  wireBytes = 0;
  bodyBytes = 0;
  exactDuplicates = 0;
  nearDuplicates = 0;
  storedPages = 0;
  lostOutput = 0;
  readonly finderRejected = new Map<RejectReason, number>();
  readonly ownerRejected = new Map<RejectReason, number>();
  readonly fetched = new Map<OutcomeCode, number>();
  readonly dropped = new Map<DropReason, number>();
  readonly sent = new Map<number, number>();
  readonly taken = new Map<number, number>();

  static restore(text: string): { totals: Totals; queued: readonly number[] } {
    const totals = new Totals();
    if (text === '') return { totals, queued: [] };
    const saved = JSON.parse(text) as TotalsSnapshot;
    for (const name of NUMBERS) totals[name] = saved[name] ?? 0;
    for (const reason of REJECT_REASONS) {
      if (saved.finderRejected[reason] !== undefined) totals.finderRejected.set(reason, saved.finderRejected[reason]);
      if (saved.ownerRejected[reason] !== undefined) totals.ownerRejected.set(reason, saved.ownerRejected[reason]);
    }
    for (const code of OUTCOME_NAMES) if (saved.fetched[code] !== undefined) totals.fetched.set(code, saved.fetched[code]);
    for (const reason of DROP_REASONS) if (saved.dropped[reason] !== undefined) totals.dropped.set(reason, saved.dropped[reason]);
    for (const [shard, finds] of Object.entries(saved.sent)) totals.sent.set(Number(shard), finds);
    for (const [shard, finds] of Object.entries(saved.taken)) totals.taken.set(Number(shard), finds);
    return { totals, queued: saved.queued };
  }

  snapshot(queued: readonly number[]): TotalsSnapshot {
    return {
      extracted: this.extracted,
      finderKnown: this.finderKnown,
      local: this.local,
      seeds: this.seeds,
      known: this.known,
      admitted: this.admitted,
      interim: this.interim,
      reopened: this.reopened,
      putBackPages: this.putBackPages,
      putBackDrops: this.putBackDrops,
      requests: this.requests,
      robotsRequests: this.robotsRequests,
      wireBytes: this.wireBytes,
      bodyBytes: this.bodyBytes,
      exactDuplicates: this.exactDuplicates,
      nearDuplicates: this.nearDuplicates,
      storedPages: this.storedPages,
      lostOutput: this.lostOutput,
      queued: [...queued],
      finderRejected: Object.fromEntries(this.finderRejected),
      ownerRejected: Object.fromEntries(this.ownerRejected),
      fetched: Object.fromEntries(this.fetched),
      dropped: Object.fromEntries(this.dropped),
      sent: Object.fromEntries(this.sent),
      taken: Object.fromEntries(this.taken),
    };
  }
}

const NUMBERS = [
  'extracted',
  'finderKnown',
  'local',
  'seeds',
  'known',
  'admitted',
  'interim',
  'reopened',
  'putBackPages',
  'putBackDrops',
  'requests',
  'robotsRequests',
  'wireBytes',
  'bodyBytes',
  'exactDuplicates',
  'nearDuplicates',
  'storedPages',
  'lostOutput',
] as const;

/** Of a shard that has not committed anything. */
export function emptyTotals(): TotalsSnapshot {
  return new Totals().snapshot([0, 0, 0, 0, 0, 0]);
}

export function bump<K>(counts: Map<K, number>, key: K, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}

export interface LawGaps {
  readonly finder: number;
  readonly owner: number;
  readonly urls: number;
}

/** What each law is off by in one shard; all 0 when nothing is lost. */
export function lawGaps(totals: TotalsSnapshot): LawGaps {
  return {
    finder: totals.extracted - totals.finderKnown - sum(totals.finderRejected) - totals.local - sum(totals.sent),
    owner: totals.local + totals.seeds + sum(totals.taken) - totals.known - sum(totals.ownerRejected) - totals.admitted,
    urls: totals.admitted - totals.queued.reduce((a, b) => a + b, 0) - sum(totals.fetched) - sum(totals.dropped),
  };
}

export interface Overall {
  readonly found: number;
  readonly known: number;
  readonly rejected: Readonly<Record<string, number>>;
  readonly admitted: number;
  readonly inTransit: number;
  readonly queued: number;
  readonly fetched: Readonly<Record<string, number>>;
  readonly dropped: Readonly<Record<string, number>>;
  /** Σ |gap| over shards, laws and pairs of shards: 0 when both laws hold. */
  readonly unaccounted: number;
}

/** Both laws over all shards. The snapshots must belong to durable commits; a receiver's is read before its senders'. */
export function overall(shards: readonly TotalsSnapshot[]): Overall {
  let unaccounted = 0;
  let inTransit = 0;
  for (const totals of shards) {
    const gaps = lawGaps(totals);
    unaccounted += Math.abs(gaps.finder) + Math.abs(gaps.owner) + Math.abs(gaps.urls);
  }
  for (let from = 0; from < shards.length; from++) {
    for (let to = 0; to < shards.length; to++) {
      const pair = (shards[from]!.sent[to] ?? 0) - (shards[to]!.taken[from] ?? 0);
      if (pair < 0) unaccounted += -pair;
      else inTransit += pair;
    }
  }
  const total = (pick: (totals: TotalsSnapshot) => number): number => shards.reduce((a, s) => a + pick(s), 0);
  const result = {
    found: total((s) => s.extracted + s.seeds),
    known: total((s) => s.known + s.finderKnown),
    rejected: merge(shards.flatMap((s) => [s.finderRejected, s.ownerRejected])),
    admitted: total((s) => s.admitted),
    inTransit,
    queued: total((s) => s.queued.reduce((a, b) => a + b, 0)),
    fetched: merge(shards.map((s) => s.fetched)),
    dropped: merge(shards.map((s) => s.dropped)),
  };
  unaccounted += Math.abs(result.found - result.known - sum(result.rejected) - result.admitted - result.inTransit);
  return { ...result, unaccounted };
}

export function sum(counts: Readonly<Record<string, number>>): number {
  let total = 0;
  for (const count of Object.values(counts)) total += count;
  return total;
}

export function merge(parts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const merged: Record<string, number> = {};
  for (const part of parts) for (const [name, count] of Object.entries(part)) merged[name] = (merged[name] ?? 0) + count;
  return merged;
}
