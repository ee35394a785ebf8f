/**
 * Replays the events of a ledger in their order and holds every request against what was owed: to its host, to its address, to robots.txt, to
 * the blocklist, to budgets. It trusts records of what happened (times, statuses, bodies) and nothing that the crawler says about its own duties.
 *
 * Life of a request: start (everything that had to be true before it is judged) → end (what is owed from here on is worked out) → the next start
 * of its host and of its address. An opening of a shard ends what was in flight in it, at a time nobody knows: the whole pause counts from there.
 */
import { readLedgerConfig } from '../output/ledger-config.ts';
import {
  type LedgerBody,
  type LedgerEnd,
  type LedgerHeader,
  type LedgerRobots,
  type LedgerStart,
  ledgerHash,
  PEER_IS_ADDRESS,
} from '../output/politeness-ledger.ts';
import { mayContact, type Net, readAddress, readNet, serverOf } from './addresses.ts';
import { BlockedList } from './blocked.ts';
import type { Finding, Findings, RecordPlace, Violation } from './findings.ts';
import { type Rules, RulesInForce } from './host-config.ts';
import { judgePause, later, type Moment, pauseMs } from './moments.ts';
import { SLOW_DOWNS_MAX } from './owed.ts';
import { mayFetch } from './robots-file.ts';
import { RobotsShelf } from './robots-shelf.ts';
import type { LedgerEvent, LedgerSource } from './shard-reader.ts';
import { AddressState, HostState, type NamedAddress, type OpenExchange, ShardView } from './states.ts';

/** A robots.txt may expire while the name of its host is being looked up. */
const EXPIRED_SLACK_MS = 60_000;
/** A budget cycle begins with its first request, which is written down a moment after that was decided. */
const CYCLE_SLACK_SHARE = 0.1;
const CYCLE_SLACK_MS_MAX = 1_000;
/** A thread that waits for a processor writes its start record late; the rate limit is judged with so much patience. */
const RATE_SLACK_MS = 250;
const RATE_CREDIT_MS = 10;
/** Texts of addresses that are remembered as read. */
const NAMED_MAX = 50_000;
/** Leases of one incarnation: its commit number × 2^22 + n. */
const LEASES_PER_OPENING = 2 ** 22;

/** Told of each request and each answer, for reports about one host. */
export interface JudgeListener {
  /** `pauseMs`: since the end of the exchange before; `owedMs` with the name of the rule. */
  started(start: LedgerStart, pauseMs: number | undefined, owedMs: number, rule: string): void;
  ended(start: LedgerStart, end: LedgerEnd): void;
  robots(record: LedgerRobots): void;
}

export interface JudgeCounts {
  requests: number;
  pages: number;
  robotsRequests: number;
  /** Requests whose end a stop cut off. */
  cutOff: number;
  openings: number;
  commits: number;
  robotsFiles: number;
  /** Pauses between two requests of one host that were measured and kept. */
  pausesKept: number;
  /** Pages of hosts whose robots.txt the configuration sets aside. */
  robotsIgnored: number;
}

export class Judge {
  readonly findings: Findings;
  readonly counts: JudgeCounts = {
    requests: 0,
    pages: 0,
    robotsRequests: 0,
    cutOff: 0,
    openings: 0,
    commits: 0,
    robotsFiles: 0,
    pausesKept: 0,
    robotsIgnored: 0,
  };
  readonly #source: LedgerSource;
  readonly #shelf: RobotsShelf;
  readonly #listener: JudgeListener | undefined;
  readonly #shards = new Map<number, ShardView>();
  readonly #hosts = new Map<string, HostState>();
  readonly #addresses = new Map<string, AddressState>();
  /** The addresses read last, by their text. */
  readonly #named = new Map<string, NamedAddress>();
  readonly #robots = new Map<string, LedgerRobots>();
  readonly #rules = new Map<string, RulesInForce>();
  readonly #blocked = new Map<string, BlockedList>();
  #bodyParts: Uint8Array[] = [];
  #rateDueMs = Number.NEGATIVE_INFINITY;

  constructor(source: LedgerSource, findings: Findings, listener?: JudgeListener) {
    this.#source = source;
    this.findings = findings;
    this.#shelf = new RobotsShelf(this.#source);
    this.#listener = listener;
  }

  get hosts(): number {
    return this.#hosts.size;
  }

  get addresses(): number {
    return this.#addresses.size;
  }

  take(event: LedgerEvent): void {
    const { record, file, from, to } = event;
    const view = this.#viewOf(file.shard);
    const place = { file: file.name, offset: from };
    switch (record.kind) {
      case 'header':
        this.#header(view, record, place);
        break;
      case 'start':
        this.#start(view, record, place);
        break;
      case 'end':
        this.#end(view, record, place);
        break;
      case 'body':
        this.#body(view, record, file.name, to);
        break;
      case 'robots':
        this.#robotsInForce(view, record, place);
        break;
      case 'mark':
        this.counts.commits++;
        view.marked(record.commitSeq);
        break;
    }
  }

  #viewOf(shard: number): ShardView {
    const known = this.#shards.get(shard);
    if (known !== undefined) return known;
    const view = new ShardView(shard);
    this.#shards.set(shard, view);
    return view;
  }

  #hostOf(key: string): HostState {
    const known = this.#hosts.get(key);
    if (known !== undefined) return known;
    const host = new HostState(key);
    this.#hosts.set(key, host);
    return host;
  }

  #addressOf(text: string): NamedAddress {
    const known = this.#named.get(text);
    if (known !== undefined) return known;
    const address = readAddress(text);
    const server = address === undefined ? text : serverOf(address);
    const state = this.#addresses.get(server) ?? new AddressState(server);
    this.#addresses.set(server, state);
    if (this.#named.size >= NAMED_MAX) this.#named.clear();
    const named: NamedAddress = { address, state, allowedBy: undefined };
    this.#named.set(text, named);
    return named;
  }

  // ── what is in force ────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #body(view: ShardView, body: LedgerBody, file: string, to: number): void {
    if (body.what === 'robots') {
      this.#shelf.put(body, file, to);
      return;
    }
    if (body.part === 0) this.#bodyParts = [];
    this.#bodyParts.push(Uint8Array.from(body.bytes));
    if (body.part + 1 < body.parts) return;
    const whole = Buffer.concat(this.#bodyParts);
    this.#bodyParts = [];
    const isWhole = ledgerHash(whole) === body.hash;
    if (body.what === 'config') {
      if (isWhole) view.rules = this.#rulesOf(body.hash, whole);
    } else view.blocked = isWhole ? this.#blockedOf(body.hash, whole) : undefined;
  }

  #rulesOf(hash: string, text: Uint8Array): RulesInForce {
    const known = this.#rules.get(hash);
    if (known !== undefined) return known;
    const config = readLedgerConfig(text);
    const allowed = config.netAllow.map(readNet).filter((net): net is Net => net !== undefined);
    const rules = new RulesInForce(config, allowed);
    this.#rules.set(hash, rules);
    return rules;
  }

  #blockedOf(hash: string, text: Buffer): BlockedList {
    const known = this.#blocked.get(hash);
    if (known !== undefined) return known;
    const list = new BlockedList(text.toString('utf8'));
    this.#blocked.set(hash, list);
    return list;
  }

  // ── openings ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #header(view: ShardView, header: LedgerHeader, place: RecordPlace): void {
    view.header = header;
    if (!header.opens) return;
    this.counts.openings++;
    const at: Moment = { boot: header.bootId, monoMs: header.monoMs, epochMs: header.epochMs };
    view.openedAt = at;
    view.openedPlace = place;
    view.lastLease = 0;
    view.pending = undefined;
    this.#rateDueMs = Number.NEGATIVE_INFINITY;
    for (const exchange of view.open.values()) this.#cutOff(exchange, view);
    // What a commit did not cover is done again, and owed from here on.
    for (const [owing, commitSeq] of view.recent) {
      if (commitSeq < header.commitSeq) continue;
      owing.restartedAt = at;
      owing.restartPlace = place;
      if (owing instanceof HostState) owing.slowDowns = Math.min(owing.slowDowns, SLOW_DOWNS_MAX);
    }
    for (const exchange of view.open.values()) {
      for (const owing of [exchange.host, exchange.address]) {
        owing.restartedAt = at;
        owing.restartPlace = place;
      }
    }
    for (const before of view.recentPages.reverse()) {
      if (before.commitSeq < header.commitSeq) continue;
      before.host.pages = before.pages;
      before.host.cycleFromMs = before.cycleFromMs;
      if (before.isPage) this.counts.pages--;
    }
    view.open.clear();
    view.recent.clear();
    for (const { origin, before, commitSeq } of view.recentRobots.reverse()) {
      if (commitSeq < header.commitSeq) continue;
      if (before === undefined) this.#robots.delete(origin);
      else this.#robots.set(origin, before);
    }
    view.recentPages = [];
    view.recentRobots = [];
    view.commitSeq = Math.max(0, header.commitSeq);
  }

  /** The ledger is over. */
  finish(): void {
    for (const { open } of this.#shards.values()) for (const exchange of open.values()) this.#endLost(exchange);
  }

  #endLost({ overtakers = [] }: OpenExchange): void {
    for (let n = 0; n < overtakers.length; n++) this.findings.undecided('lost-end');
  }

  #cutOff(exchange: OpenExchange, view: ShardView): void {
    const { host, address } = exchange;
    this.#endLost(exchange);
    this.counts.cutOff++;
    for (const owing of [host, address]) {
      owing.open = undefined;
      owing.endedAt = undefined;
    }
    // A robots.txt that went with a stop before this one is asked for anew: its Crawl-delay is not known by now.
    const crawlDelayMs = this.#crawlDelayOf(exchange.start, view);
    host.facts = { ...host.facts, crawlDelayMs, durationMs: 0, retryAfterMs: 0, failed: false };
  }

  /** Of the robots.txt in force for the request's origin; −1 without one. */
  #crawlDelayOf(start: LedgerStart, view: ShardView): number {
    const inForce = this.#robots.get(originOf(start));
    if (inForce?.hash === undefined || inForce.state === 'deny-all') return -1;
    return this.#shelf.rules(inForce.hash, view.rules?.config.token ?? '')?.crawlDelayMs ?? -1;
  }

  // ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #start(view: ShardView, start: LedgerStart, place: RecordPlace): void {
    this.counts.requests++;
    if (start.what === 'robots') this.counts.robotsRequests++;
    const host = this.#hostOf(start.hostKey);
    const named = this.#addressOf(start.address);
    const rules = view.rules?.of(start.hostKey);
    const address = rules?.host.isProxied === true ? behindProxy(host) : named.state;
    const at: Moment = { boot: view.header?.bootId ?? '', monoMs: start.monoMs, epochMs: start.epochMs };
    const exchange: OpenExchange = { start, at, place, host, address, named, shard: view.shard, overtakers: undefined };
    this.#judgeLease(view, exchange);
    this.#judgeOverlap(view, exchange);
    if (rules === undefined) this.findings.undecided('old-format');
    else {
      this.#judgePauses(view, exchange, rules);
      if (rules.host.isProxied !== true) this.#judgeAddress(view, exchange, start.address, named, rules);
      this.#judgeRate(view, exchange, rules);
      if (start.what === 'page') this.#judgePage(view, exchange, rules);
    }
    this.#judgeBlocklist(view, exchange);
    view.open.set(start.lease, exchange);
    host.open = exchange;
    address.open = exchange;
    host.restartedAt = undefined;
    address.restartedAt = undefined;
    view.touch(host, address);
  }

  #judgeLease(view: ShardView, exchange: OpenExchange): void {
    const { lease } = exchange.start;
    const { header } = view;
    if (header === undefined || view.openedAt === undefined) this.#violation(view, exchange, 'no-lease', 'the shard was never opened', []);
    else if (lease <= view.lastLease) this.#violation(view, exchange, 'no-lease', `lease ${lease} was given out before`, []);
    else if (header.commitSeq >= 0 && Math.floor(lease / LEASES_PER_OPENING) !== header.commitSeq)
      this.#violation(
        view,
        exchange,
        'no-lease',
        `lease ${lease} is none of this opening`,
        view.openedPlace === undefined ? [] : [view.openedPlace],
      );
    view.lastLease = Math.max(view.lastLease, lease);
  }

  #judgeOverlap(view: ShardView, exchange: OpenExchange): void {
    const { host, address } = exchange;
    if (host.open !== undefined)
      this.#violation(view, exchange, 'host-overlap', `${urlOf(host.open.start)} was still in flight`, [host.open.place]);
    const { open } = address;
    if (open === undefined || open === host.open) return;
    if (open.shard === view.shard) this.#addressOverlap(view, exchange, open);
    else {
      open.overtakers ??= [];
      open.overtakers.push({ view, exchange });
    }
  }

  #addressOverlap(view: ShardView, exchange: OpenExchange, open: OpenExchange): void {
    this.#violation(view, exchange, 'address-overlap', `${urlOf(open.start)} was still in flight`, [open.place]);
  }

  #judgePauses(view: ShardView, exchange: OpenExchange, { config }: Rules): void {
    const { host, address, at, start } = exchange;
    const owed = host.owed(config);
    this.#judgePause(view, exchange, host, owed.ms, 'host-gap', owed.rule);
    const addressMs = address.owedMs(config);
    if (addressMs > 0) this.#judgePause(view, exchange, address, addressMs, 'address-gap', 'address delay');
    this.#listener?.started(start, host.endedAt === undefined ? undefined : pauseMs(host.endedAt, at), owed.ms, owed.rule);
  }

  #judgePause(
    view: ShardView,
    exchange: OpenExchange,
    owing: HostState | AddressState,
    owedMs: number,
    kind: 'host-gap' | 'address-gap',
    rule: string,
  ): void {
    const { at } = exchange;
    const since = (from: Moment, place: RecordPlace | undefined, what: Violation, of: string): void => {
      const verdict = judgePause(from, at, owedMs, view.openedAt);
      if (verdict === 'kept') this.counts.pausesKept++;
      else if (verdict === 'short')
        this.#violation(
          view,
          exchange,
          what,
          `${pauseMs(from, at).toFixed(1)} ms after ${of}, owed ${owedMs} ms (${rule})`,
          place === undefined ? [] : [place],
        );
      else this.findings.undecided(verdict);
    };
    if (owing.endedAt !== undefined) since(owing.endedAt, owing.endedPlace, kind, 'the end of the one before');
    if (owing.restartedAt !== undefined) since(owing.restartedAt, owing.restartPlace, 'restart-gap', 'the shard was opened again');
  }

  #judgeAddress(view: ShardView, exchange: OpenExchange, text: string, named: NamedAddress, rules: Rules): void {
    const { address } = named;
    if (named.allowedBy === rules) return;
    if (address === undefined) this.#violation(view, exchange, 'forbidden-address', `"${text}" is no address`, []);
    else if (!mayContact(address, rules.allowed)) this.#violation(view, exchange, 'forbidden-address', `${text} is no public address`, []);
    else named.allowedBy = rules;
  }

  #judgeBlocklist(view: ShardView, exchange: OpenExchange): void {
    const { blocked, rules } = view;
    if (blocked === undefined) {
      if (rules !== undefined) this.findings.undecided('blocklist-text');
      return;
    }
    if (blocked.isEmpty) return;
    const { start, named } = exchange;
    const { address } = named;
    const what = blocked.blocksHost(start.hostKey)
      ? start.hostKey
      : address !== undefined && exchange.address === named.state && blocked.blocksAddress(address)
        ? start.address
        : start.what === 'page' && blocked.blocksUrl(urlOf(start))
          ? urlOf(start)
          : '';
    if (what !== '') this.#violation(view, exchange, 'blocklisted', `the blocklist names ${what}`, []);
  }

  /** As a bucket that fills at the configured rate; late records look like requests too close to the next. */
  #judgeRate(view: ShardView, exchange: OpenExchange, { config }: Rules): void {
    if (config.ratePerS <= 0) return;
    const intervalMs = 1_000 / config.ratePerS;
    const { monoMs } = exchange.at;
    if (monoMs < this.#rateDueMs - RATE_SLACK_MS)
      this.#violation(
        view,
        exchange,
        'rate',
        `${(this.#rateDueMs - monoMs).toFixed(0)} ms ahead of ${config.ratePerS} requests per second`,
        [],
      );
    this.#rateDueMs = Math.max(this.#rateDueMs, monoMs - RATE_CREDIT_MS) + intervalMs;
  }

  // ── pages ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #judgePage(view: ShardView, exchange: OpenExchange, rules: Rules): void {
    this.#judgeBudget(view, exchange, rules);
    if (rules.host.robotsIgnored !== undefined) {
      this.counts.robotsIgnored++;
      return;
    }
    const { start } = exchange;
    const inForce = this.#robots.get(originOf(start));
    if (inForce === undefined) {
      this.#violation(view, exchange, 'robots-missing', `nothing is known of ${originOf(start)}/robots.txt`, []);
      return;
    }
    if (inForce.state === 'deny-all') {
      this.#violation(view, exchange, 'robots-denied', 'robots.txt cannot be reached, so nothing is allowed', []);
      return;
    }
    if (start.robotsHash !== inForce.hash) {
      const said = start.robotsHash ?? 'none';
      this.#violation(view, exchange, 'robots-version', `it was judged by ${said}, in force is ${inForce.hash ?? 'none'}`, []);
    }
    if (start.epochMs > inForce.epochMs + inForce.validMs + EXPIRED_SLACK_MS)
      this.#violation(view, exchange, 'robots-stale', `robots.txt was good for ${Math.round(inForce.validMs / 1_000)} s`, []);
    if (inForce.hash !== undefined) this.#judgePath(view, exchange, inForce.hash, rules);
  }

  #judgePath(view: ShardView, exchange: OpenExchange, hash: string, { config }: Rules): void {
    const { start } = exchange;
    const file = this.#shelf.rules(hash, config.token);
    if (file === undefined) this.findings.undecided('robots-body');
    else if (file.crawlDelayMs > config.crawlDelayMaxMs)
      this.#violation(view, exchange, 'crawl-delay-bound', `${file.crawlDelayMs} ms, the bound is ${config.crawlDelayMaxMs} ms`, []);
    else if (start.pathCut === true) this.findings.undecided('path-cut');
    else if (!mayFetch(file, start.path)) this.#violation(view, exchange, 'robots-denied', `robots.txt ${hash} forbids ${start.path}`, []);
  }

  #judgeBudget(view: ShardView, exchange: OpenExchange, { config }: Rules): void {
    if (config.pageBudget <= 0) return;
    const { host, at } = exchange;
    const cycleEndMs = host.cycleFromMs + config.budgetCycleMs;
    const slackMs = Math.min(config.budgetCycleMs * CYCLE_SLACK_SHARE, CYCLE_SLACK_MS_MAX);
    const isOver = host.pages >= config.pageBudget;
    if (at.epochMs >= cycleEndMs || (isOver && at.epochMs >= cycleEndMs - slackMs)) {
      if (at.epochMs < cycleEndMs) this.findings.undecided('budget-window');
      view.recentPages.push({ host, commitSeq: view.commitSeq, pages: host.pages, cycleFromMs: host.cycleFromMs, isPage: false });
      host.cycleFromMs = at.epochMs;
      host.pages = 0;
    } else if (isOver) {
      this.#violation(
        view,
        exchange,
        'page-budget',
        `${host.pages} pages of ${host.key} in this cycle, its budget is ${config.pageBudget}`,
        [],
      );
    }
  }

  // ── ends ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #end(view: ShardView, end: LedgerEnd, place: RecordPlace): void {
    const exchange = view.open.get(end.lease);
    if (exchange === undefined) {
      this.#violationAt(view, 'no-lease', `an end of lease ${end.lease}, which has no request in flight`, '', '', 0, [place]);
      return;
    }
    view.open.delete(end.lease);
    const { host, address, start } = exchange;
    for (const later of exchange.overtakers ?? []) this.#addressOverlap(later.view, later.exchange, exchange);
    this.#judgeRobotsSource(view, exchange, end);
    this.#judgePeer(view, exchange, end);
    const endedAt = later(exchange.at, end.durationMs);
    for (const owing of [host, address]) {
      if (owing.open === exchange) owing.open = undefined;
      owing.endedAt = endedAt;
      owing.endedPlace = place;
      owing.config = view.rules?.of(start.hostKey).config;
    }
    this.#work(host, start, end, view);
    if (
      start.what === 'page' &&
      end.isFinal === true &&
      (end.outcome === 'ok' || end.outcome === 'truncated' || end.outcome === 'not-modified')
    )
      this.#countPage(view, exchange);
    view.touch(host, address);
    this.#listener?.ended(start, end);
  }

  /** What the end means for the next request of the host. */
  #work(host: HostState, start: LedgerStart, end: LedgerEnd, view: ShardView): void {
    const slow = (end.status === 429 || end.status === 503) && end.outcome !== 'aborted';
    if (slow) host.slowDowns++;
    else if (end.status > 0 && host.slowDowns > 0) host.slowDowns--;
    host.facts = {
      durationMs: end.durationMs,
      crawlDelayMs: this.#crawlDelayOf(start, view),
      slowDowns: host.slowDowns,
      retryAfterMs: slow ? (end.retryAfterMs ?? 0) : 0,
      failed: end.outcome === 'connect-failed' || end.outcome === 'tls-failed',
    };
  }

  #countPage(view: ShardView, exchange: OpenExchange): void {
    const { host } = exchange;
    view.recentPages.push({ host, commitSeq: view.commitSeq, pages: host.pages, cycleFromMs: host.cycleFromMs, isPage: true });
    host.pages++;
    this.counts.pages++;
    const maxPages = view.rules?.config.maxPages ?? 0;
    if (maxPages > 0 && this.counts.pages > maxPages)
      this.#violation(view, exchange, 'max-pages', `page ${this.counts.pages}, the limit is ${maxPages}`, []);
  }

  #judgePeer(view: ShardView, exchange: OpenExchange, end: LedgerEnd): void {
    const { peer } = end;
    if (peer === undefined) {
      if (end.status > 0) this.findings.undecided('no-peer');
      return;
    }
    if (peer === PEER_IS_ADDRESS) return;
    const real = this.#addressOf(peer);
    if (real.address !== undefined && real.state === exchange.named.state) return;
    this.#violation(view, exchange, 'other-address', `the answer came from ${peer}`, []);
    if (view.rules !== undefined) this.#judgeAddress(view, exchange, peer, real, view.rules.of(exchange.start.hostKey));
  }

  // ── robots.txt ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #robotsInForce(view: ShardView, record: LedgerRobots, place: RecordPlace): void {
    this.counts.robotsFiles++;
    const before = this.#robots.get(record.origin);
    this.#robots.set(record.origin, record);
    view.recentRobots.push({ origin: record.origin, before, commitSeq: view.commitSeq });
    this.#listener?.robots(record);
    if (!stateFits(record, before)) {
      const text = `${record.origin}: status ${record.status} gives no ${record.state}`;
      this.#violationAt(view, 'robots-state', text, hostKeyOf(record.origin), '', record.epochMs, [place]);
    }
    const config = view.rules?.config;
    if (config !== undefined && record.validMs > Math.max(config.robotsTtlMs, config.robotsTtlMaxMs)) {
      const text = `${record.origin}: robots.txt is kept for ${record.validMs} ms`;
      this.#violationAt(view, 'robots-stale', text, hostKeyOf(record.origin), '', record.epochMs, [place]);
    }
    if (record.hops === 0) view.pending = { record, place, before };
  }

  /** Without a redirect, the exchange that ends next must be the one that sent the robots.txt just put into force. */
  #judgeRobotsSource(view: ShardView, exchange: OpenExchange, end: LedgerEnd): void {
    const { pending } = view;
    view.pending = undefined;
    if (pending === undefined) return;
    const { record, place } = pending;
    const { start } = exchange;
    if (start.what !== 'robots' || start.path !== '/robots.txt' || originOf(start) !== record.origin) {
      this.#violation(view, exchange, 'robots-origin', `${urlOf(start)} put a robots.txt into force for ${record.origin}`, [place]);
      return;
    }
    const failed = end.outcome === 'decode-error' || end.outcome === 'timeout' || end.outcome === 'reset' || end.outcome === 'aborted';
    const status = failed ? 0 : end.status;
    if (!stateFits({ ...record, status }, pending.before))
      this.#violation(view, exchange, 'robots-state', `status ${end.status} (${end.outcome}) gives no ${record.state}`, [place]);
  }

  // ── findings ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #violation(view: ShardView, exchange: OpenExchange, kind: Violation, text: string, before: readonly RecordPlace[]): void {
    const { start, place } = exchange;
    this.#violationAt(view, kind, `${urlOf(start)}: ${text}`, start.hostKey, start.address, start.epochMs, [...before, place]);
  }

  #violationAt(
    view: ShardView,
    kind: Violation,
    text: string,
    hostKey: string,
    address: string,
    epochMs: number,
    records: readonly RecordPlace[],
  ): void {
    const finding: Finding = { kind, shard: view.shard, hostKey, address, epochMs, text, records };
    this.findings.add(finding);
  }
}

function behindProxy(host: HostState): AddressState {
  host.behindProxy ??= new AddressState(`a proxy for ${host.key}`);
  return host.behindProxy;
}

/** RFC 9309 section 2.3.1: whether an answer of this status can have put this state into force. A stricter state than it gives is no offence. */
function stateFits(record: LedgerRobots, before: LedgerRobots | undefined): boolean {
  const { status } = record;
  switch (record.state) {
    case 'deny-all':
      return true;
    case 'rules':
      return record.hash !== undefined && ((status >= 200 && status < 300) || (status === 304 && before?.hash === record.hash));
    case 'allow-all':
      return status >= 300 && status < 500 && status !== 429 && status !== 304;
    case 'last-good':
      return record.hash !== undefined && before?.hash === record.hash;
  }
}

function originOf(start: LedgerStart): string {
  return `${start.scheme}://${start.hostKey}`;
}

function urlOf(start: LedgerStart): string {
  return originOf(start) + start.path;
}

function hostKeyOf(origin: string): string {
  return origin.slice(origin.indexOf('//') + 2);
}
