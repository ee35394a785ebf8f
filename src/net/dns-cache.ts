/**
 * The DNS cache: what a name means for this crawl, vetted (R-E1, R-E2, R-E3).
 *
 * Invariant: every entry has passed the address guard, and one name has at most one question under way. A hit is answered at once,
 * without a promise; a miss asks the resolver. Entries are kept past their TTL on purpose (`ttlMinMs`): a crawl that visits a host every
 * few seconds would otherwise ask the same question again and again, and an address that has moved shows as a failed connection.
 *
 * It does not choose among addresses, does not retry, and does not bound the questions in flight (the resolver's adapter does).
 */
import { Recency, type Used } from '../core/recency.ts';
import type { MonoMs } from '../core/time.ts';
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../core/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { ResolveAnswer, Resolver } from '../ports/resolver.ts';
import type { AddressGuard } from './address-guard.ts';
import { isIpLiteral } from './address-guard.ts';

/** Allowed addresses kept of one answer; a name with more keeps the first (IPv4 stands first). */
export const ADDRESSES_MAX = 16;

export interface RefusedAddress {
  readonly address: string;
  /** The guard's word for it. */
  readonly range: string;
}

export interface DnsEntry {
  /** `addresses` also when the guard refused all of them: `allowed` is empty then. */
  readonly kind: ResolveAnswer['kind'];
  /** In the order of the answer, at most ADDRESSES_MAX. */
  readonly allowed: readonly string[];
  readonly refused: readonly RefusedAddress[];
  /** What went wrong, for `failed`; otherwise empty. */
  readonly detail: string;
  /** Asked again from then on; Infinity for IP literals and overrides. */
  readonly expiresAt: MonoMs;
}

export interface DnsCacheOptions {
  readonly resolver: Resolver;
  readonly clock: Clock;
  readonly guard: AddressGuard;
  /** Names kept; the least recently used leaves first. Default 100,000 (about 300 B each). */
  readonly entriesMax?: number;
  /** Shortest life of an answer with addresses, whatever its TTL says. Default 10 minutes; 0 keeps to the TTL. */
  readonly ttlMinMs?: number;
  /** Longest life of an answer with addresses. Default 1 day. */
  readonly ttlMaxMs?: number;
  /** Life of `not-found`. Default 5 minutes (RFC 2308 allows up to hours). */
  readonly notFoundMs?: number;
  /** Life of `failed` and `timeout`. Default 30 seconds. */
  readonly failedMs?: number;
  /** Name → addresses given by the operator (`--resolve HOST:ADDR`): never asked, never expiring, but vetted like any answer. */
  readonly overrides?: ReadonlyMap<string, readonly string[]>;
}

export interface DnsCacheStats {
  /** Look-ups answered from the cache (literals and overrides included). */
  readonly hits: number;
  /** Look-ups that asked the resolver. */
  readonly misses: number;
  /** Look-ups that joined a question already under way. */
  readonly joined: number;
  /** Answers without addresses: not-found, failed, timeout. */
  readonly failed: number;
  /** Addresses that the guard refused. */
  readonly refused: number;
  /** Entries that left because the cache was full. */
  readonly evicted: number;
  readonly entries: number;
  readonly inFlight: number;
}

/** A name that was asked. */
interface Known extends Used<Known> {
  readonly host: string;
  readonly entry: DnsEntry;
}

const NEVER: MonoMs = Number.POSITIVE_INFINITY;

export class DnsCache {
  readonly #resolver: Resolver;
  readonly #clock: Clock;
  readonly #guard: AddressGuard;
  readonly #entriesMax: number;
  readonly #ttlMinMs: number;
  readonly #ttlMaxMs: number;
  readonly #notFoundMs: number;
  readonly #failedMs: number;
  readonly #overrides = new Map<string, DnsEntry>();
  readonly #entries = new Map<string, Known>();
  readonly #used = new Recency<Known>();
  readonly #inFlight = new Map<string, Promise<DnsEntry>>();
  #hits = 0;
  #misses = 0;
  #joined = 0;
  #failed = 0;
  #refused = 0;
  #evicted = 0;

  constructor(options: DnsCacheOptions) {
    this.#resolver = options.resolver;
    this.#clock = options.clock;
    this.#guard = options.guard;
    this.#entriesMax = Math.max(1, options.entriesMax ?? 100_000);
    this.#ttlMinMs = options.ttlMinMs ?? 10 * MINUTE_MS;
    this.#ttlMaxMs = Math.max(this.#ttlMinMs, options.ttlMaxMs ?? DAY_MS);
    this.#notFoundMs = options.notFoundMs ?? 5 * MINUTE_MS;
    this.#failedMs = options.failedMs ?? 30 * SECOND_MS;
    for (const [host, addresses] of options.overrides ?? []) {
      this.#overrides.set(host, this.#vet({ kind: 'addresses', addresses, ttlS: 0 }, NEVER));
    }
  }

  /** `host` as in a WHATWG URL: lower case, IPv6 literals in brackets. Never rejects. */
  lookup(host: string): DnsEntry | Promise<DnsEntry> {
    const known = this.#entries.get(host);
    if (known !== undefined && known.entry.expiresAt > this.#clock.nowMonoMs()) {
      this.#hits += 1;
      this.#used.use(known);
      return known.entry;
    }
    return this.#fixedEntry(host) ?? this.#join(host) ?? this.#ask(host);
  }

  stats(): DnsCacheStats {
    return {
      hits: this.#hits,
      misses: this.#misses,
      joined: this.#joined,
      failed: this.#failed,
      refused: this.#refused,
      evicted: this.#evicted,
      entries: this.#entries.size,
      inFlight: this.#inFlight.size,
    };
  }

  /** An override or an IP literal: no question, no place in the cache. */
  #fixedEntry(host: string): DnsEntry | undefined {
    const literal = isIpLiteral(host);
    const entry =
      this.#overrides.get(host) ??
      (literal === undefined ? undefined : this.#vet({ kind: 'addresses', addresses: [literal], ttlS: 0 }, NEVER));
    if (entry !== undefined) this.#hits += 1;
    return entry;
  }

  #join(host: string): Promise<DnsEntry> | undefined {
    const asked = this.#inFlight.get(host);
    if (asked !== undefined) this.#joined += 1;
    return asked;
  }

  #ask(host: string): Promise<DnsEntry> {
    this.#misses += 1;
    const asked = this.#resolve(host).then((answer) => {
      this.#inFlight.delete(host);
      const entry = this.#vet(answer, this.#clock.nowMonoMs() + this.#lifeMs(answer));
      if (answer.kind !== 'addresses') this.#failed += 1;
      this.#keep(host, entry);
      return entry;
    });
    this.#inFlight.set(host, asked);
    return asked;
  }

  async #resolve(host: string): Promise<ResolveAnswer> {
    try {
      return await this.#resolver.resolve(host);
    } catch (error) {
      return { kind: 'failed', detail: error instanceof Error ? error.message : String(error) };
    }
  }

  #lifeMs(answer: ResolveAnswer): number {
    if (answer.kind === 'addresses') return Math.min(Math.max(answer.ttlS * SECOND_MS, this.#ttlMinMs), this.#ttlMaxMs);
    return answer.kind === 'not-found' ? this.#notFoundMs : this.#failedMs;
  }

  #vet(answer: ResolveAnswer, expiresAt: MonoMs): DnsEntry {
    const allowed: string[] = [];
    const refused: RefusedAddress[] = [];
    for (const address of answer.kind === 'addresses' ? answer.addresses : []) {
      const verdict = this.#guard.verdict(address);
      if (!verdict.allowed) refused.push({ address, range: verdict.range });
      else if (allowed.length < ADDRESSES_MAX) allowed.push(address);
    }
    this.#refused += refused.length;
    return { kind: answer.kind, allowed, refused, detail: answer.kind === 'failed' ? answer.detail : '', expiresAt };
  }

  #keep(host: string, entry: DnsEntry): void {
    const before = this.#entries.get(host);
    if (before !== undefined) this.#used.remove(before);
    const known: Known = { host, entry, usedBefore: undefined, usedAfter: undefined };
    this.#entries.set(host, known);
    this.#used.add(known);
    const { oldest } = this.#used;
    if (this.#entries.size <= this.#entriesMax || oldest === undefined) return;
    this.#entries.delete(oldest.host);
    this.#used.remove(oldest);
    this.#evicted += 1;
  }
}
