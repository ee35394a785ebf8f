/**
 * Politeness as the servers see it: every request that reaches the simulated network is held against what its host was owed, worked out here again
 * from the answers that were given and from the configuration, with nothing taken over from the scheduler. It outlives processes, so a restart
 * is no excuse; what a power cut took from the crawler's own record of the last moments is.
 *
 * Rules: one exchange at a time for each host key and each address; the gap after an exchange (default, Crawl-delay, k × duration, doubled by
 * 429 and 503, Retry-After); robots.txt before pages, and its rules; no private address.
 */
import type { Config } from '../config/schema.ts';
import type { Findings } from './findings.ts';
import type { HostFacts } from './web/hosts.ts';
import type { RobotsKind } from './web/options.ts';

export interface WatchedExchange {
  readonly hostKey: string;
  readonly address: string;
  readonly path: string;
  readonly startMs: number;
  readonly host: WatchedHost;
  readonly gate: AddressState;
  ended: boolean;
}

/** What the crawler was given. */
export interface SeenAnswer {
  readonly status: number;
  readonly retryAfterMs: number;
  /** −1 without one. */
  readonly crawlDelayMs: number;
  readonly isAborted: boolean;
}

/** A host as the watch knows it; who holds one asks for it anew with each exchange. */
export interface WatchedHost {
  busy: boolean;
  endMs: number;
  owedMs: number;
  /** Without Crawl-delay: before robots.txt itself is asked for. An errand may have shown us one that the host's own turn does not know. */
  owedToRobotsMs: number;
  backoff: number;
  /** Before its last answer. */
  backoffBefore: number;
  crawlDelayMs: number;
  robots: 'unknown' | 'served';
}

interface AddressState {
  readonly isPrivate: boolean;
  busy: boolean;
  endMs: number;
}

/** Hosts remembered before those that owe nothing are forgotten. */
const HOSTS_MAX = 200_000;
const BACKOFF_MAX = 12;
/** The crawler may lose its record of this much before a power cut: two commits and a slow disk. */
const POWER_CUT_LOSS_MS = 15_000;
/** Rounding of whole milliseconds. */
const TOLERANCE_MS = 1;
/** Kinds of robots.txt that say what is forbidden. */
const WITH_RULES: readonly RobotsKind[] = ['rules', 'crawl-delay', 'large'];
const PRIVATE = /^(?:10\.|127\.|192\.168\.|169\.254\.|\[?::1)/;

export class PolitenessWatch {
  readonly #config: Config;
  readonly #findings: Findings;
  readonly #hosts = new Map<string, WatchedHost>();
  readonly #addresses = new Map<string, AddressState>();
  readonly #open = new Set<WatchedExchange>();
  #hasForgotten = false;

  constructor(config: Config, findings: Findings) {
    this.#config = config;
    this.#findings = findings;
  }

  get openExchanges(): number {
    return this.#open.size;
  }

  /** The host for the exchange that is about to begin. */
  hostOf(key: string, nowMs: number): WatchedHost {
    if (this.#hosts.size > HOSTS_MAX) this.#forget(nowMs);
    let state = this.#hosts.get(key);
    if (state === undefined) {
      state = { busy: false, endMs: -1, owedMs: 0, owedToRobotsMs: 0, backoff: 0, backoffBefore: 0, crawlDelayMs: -1, robots: 'unknown' };
      this.#hosts.set(key, state);
    }
    return state;
  }

  begin(host: WatchedHost, hostKey: string, facts: HostFacts | undefined, address: string, path: string, nowMs: number): WatchedExchange {
    const gate = this.#addressOf(address);
    const findings = this.#findings;
    if (host.busy) findings.report('two-on-host', nowMs, `${hostKey}${path} while another exchange runs`);
    if (gate.busy) findings.report('two-on-address', nowMs, `${hostKey}${path} at ${address} while another exchange runs`);
    if (gate.isPrivate) findings.report('address-forbidden', nowMs, `${hostKey} at ${address}`);
    findings.passed((host.busy ? 0 : 1) + (gate.busy ? 0 : 1) + (gate.isPrivate ? 0 : 1));
    if (!host.busy && host.endMs >= 0) {
      const gapMs = nowMs - host.endMs;
      const owedMs = path === '/robots.txt' ? host.owedToRobotsMs : host.owedMs;
      if (gapMs + TOLERANCE_MS >= owedMs) findings.passed();
      else findings.report('gap', nowMs, `${hostKey}${path} after ${gapMs} ms, owed ${owedMs} ms`);
    }
    if (!gate.busy && gate.endMs >= 0) {
      const owedMs = this.#config.politeness.addressDelay ?? this.#config.politeness.delay;
      const gapMs = nowMs - gate.endMs;
      if (gapMs + TOLERANCE_MS >= owedMs) findings.passed();
      else findings.report('address-gap', nowMs, `${hostKey} at ${address} after ${gapMs} ms, owed ${owedMs} ms`);
    }
    if (path !== '/robots.txt' && facts !== undefined) this.#checkRobots(host, facts, hostKey, path, nowMs);
    host.busy = true;
    gate.busy = true;
    const exchange = { hostKey, address, path, startMs: nowMs, host, gate, ended: false };
    this.#open.add(exchange);
    return exchange;
  }

  #checkRobots(host: WatchedHost, facts: HostFacts, hostKey: string, path: string, nowMs: number): void {
    if (this.#hasForgotten) return;
    if (host.robots === 'served') this.#findings.passed();
    else this.#findings.report('robots', nowMs, `${hostKey}${path} before its robots.txt was asked for`);
    const isForbidden =
      facts.robots === 'deny-all' ||
      facts.robots === 'failing' ||
      (path.startsWith('/private/') && WITH_RULES.includes(facts.robots) && !path.startsWith('/private/p/16.html'));
    // Servers that are down answer robots.txt differently at times; then there is more than one truth.
    if (isForbidden && facts.kind !== 'down-at-times' && facts.kind !== 'rate-limiting')
      this.#findings.report('robots', nowMs, `${hostKey}${path} is disallowed (${facts.robots})`);
  }

  /** `status` 0: no answer. `isAborted`: by the crawler, as a process does that ends; how long it took is then nothing that it could keep. */
  end(exchange: WatchedExchange, facts: HostFacts | undefined, answer: SeenAnswer, nowMs: number): void {
    const { status, retryAfterMs, crawlDelayMs, isAborted } = answer;
    if (exchange.ended) this.#findings.report('exchange-end', nowMs, `${exchange.hostKey}${exchange.path} ended twice`);
    else this.#findings.passed();
    exchange.ended = true;
    this.#open.delete(exchange);
    const { host, gate } = exchange;
    host.busy = false;
    host.endMs = nowMs;
    gate.busy = false;
    gate.endMs = nowMs;
    if (exchange.path === '/robots.txt') {
      host.robots = 'served';
      if (facts !== undefined && crawlDelayMs >= 0) host.crawlDelayMs = crawlDelayMs;
    }
    host.backoffBefore = host.backoff;
    const slowDown = status === 429 || status === 503;
    if (slowDown) host.backoff = Math.min(BACKOFF_MAX, host.backoff + 1);
    else if (status > 0 && host.backoff > 0) host.backoff--;
    this.#setOwed(host, isAborted ? 0 : nowMs - exchange.startMs, slowDown ? retryAfterMs : 0);
  }

  #setOwed(host: WatchedHost, durationMs: number, retryAfterMs: number): void {
    host.owedMs = this.#owed(host.crawlDelayMs, host.backoff, durationMs, retryAfterMs);
    host.owedToRobotsMs = this.#owed(-1, host.backoff, durationMs, retryAfterMs);
  }

  #owed(crawlDelayMs: number, backoff: number, durationMs: number, retryAfterMs: number): number {
    const { delay, delayFactor, delayFactorMax, retryAfterMax, crawlDelayMax } = this.#config.politeness;
    const crawlDelay = crawlDelayMs <= crawlDelayMax ? crawlDelayMs : 0;
    const base = Math.max(delay, crawlDelay, Math.min(delayFactor * durationMs, delayFactorMax));
    const doubled = backoff > 0 ? Math.max(base, 1_000) * 2 ** backoff : base;
    return Math.max(doubled, Math.min(retryAfterMs, retryAfterMax));
  }

  /**
   * The process is gone, and its connections with it. When its own storage failed, the end of an exchange in the same moment may be what it could not
   * write down: how long that took, and what the server asked for, is then not known to anybody who could wait for it.
   */
  killed(nowMs: number, how: 'killed' | 'power-cut' | 'storage-failed'): void {
    for (const exchange of [...this.#open]) {
      exchange.ended = true;
      exchange.host.busy = false;
      exchange.host.endMs = nowMs;
      this.#setOwed(exchange.host, 0, 0);
      exchange.gate.busy = false;
      exchange.gate.endMs = nowMs;
    }
    this.#open.clear();
    if (how === 'power-cut') this.#forgive(nowMs - POWER_CUT_LOSS_MS);
    if (how !== 'storage-failed') return;
    for (const host of this.#hosts.values()) {
      if (host.endMs !== nowMs) continue;
      host.backoff = Math.min(host.backoff, host.backoffBefore);
      this.#setOwed(host, 0, 0);
    }
  }

  /** The wall clock jumped ahead while nobody looked: how long a pause has lasted cannot be known, and the crawler is not blamed for it. */
  clockJumped(): void {
    this.#forgive(0);
    for (const gate of this.#addresses.values()) gate.endMs = -1;
  }

  #forgive(sinceMs: number): void {
    for (const host of this.#hosts.values()) {
      if (host.endMs < sinceMs) continue;
      host.owedMs = 0;
      host.owedToRobotsMs = 0;
      host.backoff = 0;
    }
  }

  #addressOf(address: string): AddressState {
    let state = this.#addresses.get(address);
    if (state === undefined) {
      state = { isPrivate: PRIVATE.test(address), busy: false, endMs: -1 };
      this.#addresses.set(address, state);
    }
    return state;
  }

  #forget(nowMs: number): void {
    this.#hasForgotten = true;
    const latestMs = nowMs - 60_000;
    for (const [key, state] of this.#hosts) if (!state.busy && state.endMs + state.owedMs < latestMs) this.#hosts.delete(key);
    for (const [key, state] of this.#addresses) if (!state.busy && state.endMs < latestMs) this.#addresses.delete(key);
  }
}
