/**
 * robots.txt of the origins of one shard: what is in force, what must be asked, and what an answer changes.
 *
 * A fetch of robots.txt takes a turn of its host like any other (D4), so one origin is asked once however many URLs wait for it. A redirect
 * to another host is an errand for that host's shard, under that host's lease; meanwhile this host sleeps with a deadline. Five hops at most
 * (RFC 9309 section 2.3.1.2). Records live in the store; the cache may forget them at any time, except those no batch has written yet.
 */

import type { ErrandAnswer } from '../ports/link-channel.ts';
import type { Random } from '../ports/random.ts';
import type { RobotsRow, ShardStore } from '../ports/shard-store.ts';
import { type CachedRobots, RobotsCache } from '../robots/cache.ts';
import {
  nextRobotsRecord,
  parseMaxAge,
  type RobotsAnswer,
  type RobotsOptions,
  type RobotsRecord,
  robotsGivenUp,
} from '../robots/policy.ts';

export const ROBOTS_HOPS_MAX = 5;
/** An errand unanswered for so long counts as a time-out. */
export const ERRAND_DEADLINE_MS = 120_000;

export type RobotsVerdict =
  | { readonly kind: 'rules'; readonly robots: CachedRobots }
  | { readonly kind: 'ask'; readonly url: string; readonly hops: number }
  | { readonly kind: 'wait'; readonly untilMs: number }
  | { readonly kind: 'given-up' };

/** Told of each record that comes into force, with the redirects before its answer and the hash of the body that was in force until now. */
export type RobotsLearned = (record: RobotsRecord, hops: number, bodyBefore: string) => void;

/** Origins remembered as asked and not served. */
const UNSERVED_MAX = 100_000;

interface Hop {
  readonly url: string;
  readonly hops: number;
  /** > 0 while another host's shard is asked. */
  readonly errand: number;
  readonly deadlineMs: number;
}

export class RobotsDesk {
  readonly #store: ShardStore;
  readonly #random: Random;
  readonly #options: RobotsOptions;
  readonly #cache: RobotsCache;
  /** Records newer than the store's. */
  readonly #unwritten = new Map<string, RobotsRecord>();
  readonly #hops = new Map<string, Hop>();
  readonly #errands = new Map<number, { readonly origin: string; readonly hostKey: string }>();
  #frozen: ReadonlyMap<string, RobotsRecord> = new Map();
  readonly #learned: RobotsLearned;
  /** Origins whose last answer has let no page through yet: however short it lives, it serves one, or a host whose pause is longer would fetch nothing else. */
  readonly #unserved = new Set<string>();
  #nextErrand = 1;

  constructor(
    store: ShardStore,
    random: Random,
    options: RobotsOptions,
    productToken: string,
    cacheBytes: number,
    learned: RobotsLearned = () => {},
  ) {
    this.#learned = learned;
    this.#store = store;
    this.#random = random;
    this.#options = options;
    this.#cache = new RobotsCache(productToken, cacheBytes);
  }

  verdict(origin: string, nowMs: number): RobotsVerdict {
    const cached = this.#find(origin);
    if (cached !== undefined && (nowMs < cached.record.expiresAtMs || (cached.record.state !== 'deny-all' && this.#unserved.has(origin)))) {
      if (cached.record.state !== 'deny-all') return { kind: 'rules', robots: cached };
      if (robotsGivenUp(cached.record, nowMs, this.#options)) return { kind: 'given-up' };
      return { kind: 'wait', untilMs: cached.record.expiresAtMs };
    }
    const hop = this.#hops.get(origin);
    if (hop === undefined) return { kind: 'ask', url: `${origin}/robots.txt`, hops: 0 };
    if (hop.errand === 0) return { kind: 'ask', url: hop.url, hops: hop.hops };
    if (nowMs < hop.deadlineMs) return { kind: 'wait', untilMs: hop.deadlineMs };
    this.#errands.delete(hop.errand);
    this.answer(origin, { kind: 'failed', code: 'timeout' }, nowMs);
    return this.verdict(origin, nowMs);
  }

  /** A page of the origin is being fetched. */
  served(origin: string): void {
    this.#unserved.delete(origin);
  }

  #find(origin: string): CachedRobots | undefined {
    const cached = this.#cache.get(origin);
    if (cached !== undefined) return cached;
    const newer = this.#unwritten.get(origin) ?? this.#frozen.get(origin);
    if (newer !== undefined) return this.#cache.put(newer);
    const row = this.#store.readRobots(origin);
    return row === undefined ? undefined : this.#cache.put(recordFromRow(row));
  }

  /** The last answer of a chain. */
  answer(origin: string, answer: RobotsAnswer, nowMs: number): RobotsRecord {
    const hops = this.#hops.get(origin)?.hops ?? 0;
    this.#hops.delete(origin);
    const before = this.#find(origin)?.record;
    const record = nextRobotsRecord(origin, before, answer, nowMs, this.#random, this.#options);
    this.#learned(record, hops, before?.bodySha256 ?? '');
    this.#cache.put(record);
    this.#unwritten.set(origin, record);
    if (this.#unserved.size >= UNSERVED_MAX) this.#unserved.clear();
    this.#unserved.add(origin);
    return record;
  }

  /** The next hop is on the same host: it is asked in one of the host's next turns. */
  hopHere(origin: string, url: string, hops: number): void {
    this.#hops.set(origin, { url, hops, errand: 0, deadlineMs: 0 });
  }

  /** The next hop is on another host. Returns the errand's number. */
  hopElsewhere(origin: string, hostKey: string, url: string, hops: number, nowMs: number): number {
    const errand = this.#nextErrand++;
    this.#hops.set(origin, { url, hops, errand, deadlineMs: nowMs + ERRAND_DEADLINE_MS });
    this.#errands.set(errand, { origin, hostKey });
    return errand;
  }

  /** Whose errand this was; undefined when it is no longer waited for. */
  endErrand(errand: number): { readonly origin: string; readonly hostKey: string; readonly hops: number } | undefined {
    const waiting = this.#errands.get(errand);
    this.#errands.delete(errand);
    const hop = waiting === undefined ? undefined : this.#hops.get(waiting.origin);
    if (waiting === undefined || hop?.errand !== errand) return undefined;
    return { ...waiting, hops: hop.hops };
  }

  /** Records that the batch must write. */
  freeze(): RobotsRow[] {
    const rows = [...this.#unwritten.values()].map(rowFromRecord);
    this.#frozen = new Map(this.#unwritten);
    this.#unwritten.clear();
    return rows;
  }

  thawed(): void {
    this.#frozen = new Map();
  }

  get errandsOut(): number {
    return this.#errands.size;
  }
}

/** What an errand's answer means to the state machine; undefined for a redirect, which is another hop. */
export function robotsAnswerOf(answer: ErrandAnswer): RobotsAnswer | undefined {
  if (answer.kind === 'redirect') return undefined;
  if (answer.kind === 'failed') return { kind: 'failed', code: answer.code };
  const maxAgeMs = parseMaxAge(answer.cacheControl);
  return { kind: 'response', status: answer.status, body: answer.body, ...(maxAgeMs === undefined ? {} : { maxAgeMs }) };
}

function recordFromRow(row: RobotsRow): RobotsRecord {
  return {
    origin: row.origin,
    state: row.state as RobotsRecord['state'],
    body: row.body,
    bodySha256: row.bodySha256,
    fetchedAtMs: row.fetchedAtMs,
    expiresAtMs: row.expiresAtMs,
    failingSinceMs: row.failingSinceMs === 0 ? undefined : row.failingSinceMs,
    failures: row.failures,
    status: row.status,
  };
}

function rowFromRecord(record: RobotsRecord): RobotsRow {
  return { ...record, failingSinceMs: record.failingSinceMs ?? 0 };
}
