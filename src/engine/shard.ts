/**
 * One shard: owns a slice of the hosts and everything about them, and moves their URLs through the rooms in order
 * (find → admit → queue → lease → target → exchange → page → outcome → batch).
 *
 * One thread runs it; nothing here blocks but short file writes and the store's transaction. Every change is in memory first and becomes
 * true for others only when the batch that carries it is durable (PROTOCOL sections 1, 2). Any failure of storage ends the shard: `failed`
 * is called once and what is in memory is thrown away.
 */
import { assert, PortolanError } from '../core/errors.ts';
import { type HostState, hostDueMs, queuedTotal } from '../core/host.ts';
import { type DropReason, OUTCOME_CODES, type OutcomeCode, type RejectReason } from '../core/reasons.ts';
import { type FateRow, type Find, type PageRow, type QueueEntry, readFinds } from '../core/records.ts';
import { detached } from '../core/text.ts';
import type { EpochMs } from '../core/time.ts';
import { contentHash } from '../dedup/exact.ts';
import { NearIndex } from '../dedup/near-index.ts';
import { type ExchangeResult, runExchange } from '../fetch/exchange.ts';
import { type HeaderList, requestHeaders } from '../fetch/headers.ts';
import { Frontier, type HostMemory, type Lease } from '../frontier/frontier.ts';
import { afterFault, BACKOFF_MAX, gapAfter } from '../frontier/gap.ts';
import { levelOf, priorityScore } from '../frontier/priority.ts';
import { addressKey } from '../net/address-guard.ts';
import type { DnsEntry } from '../net/dns-cache.ts';
import { encodeDropLine } from '../output/drop-line.ts';
import type { SegmentOpenReport } from '../output/segment-writer.ts';
import { mediaTypeOf } from '../parse/media-type.ts';
import type { ParsedPage } from '../parse/page.ts';
import type { ErrandAnswer, LinkMessage } from '../ports/link-channel.ts';
import { SEED_SENDER } from '../ports/link-channel.ts';
import type { Batch, OpenedShard, TakenRow } from '../ports/shard-store.ts';
import type { CachedRobots } from '../robots/cache.ts';
import { parseRobotsTags } from '../robots/page-rules.ts';
import { ROBOTS_DEFAULTS } from '../robots/policy.ts';
import { isRunName, type RunManifest, readManifest, SeenDamaged } from '../seen/manifest.ts';
import { SeenSet, type SeenSetOptions } from '../seen/seen-set.ts';
import { keyHex, LinkResolver, type SplitUrl, splitUrl } from '../url/index.ts';
import { bump, Totals, type TotalsSnapshot } from './accounting.ts';
import { ContentDesk, type ContentVerdict } from './content-desk.ts';
import { type ShardPorts, shardOfHost, type ThreadContext } from './context.ts';
import { FindRouter, type LinkTally } from './find-router.ts';
import { Outbox } from './outbox.ts';
import { redirectStep } from './redirects.ts';
import { ROBOTS_HOPS_MAX, RobotsDesk, robotsAnswerOf } from './robots-desk.ts';
import { type OutputMarks, ShardOutput } from './shard-output.ts';

/** Turns begun in one go, drops without a request included; the rest waits for the loop. */
const TURNS_PER_PUMP = 256;
/** Entries let go without a request in one turn. */
const DROPS_PER_TURN = 64;
/** The oldest result may wait so long for its commit before nothing new is leased. */
const UNCOMMITTED_MAX_MS = 2_000;
/** Results and bytes that make a commit due at once. */
const BATCH_PAGES = 4_000;
const BATCH_BYTES = 64 * 1_048_576;
/** A shard with nothing else to do commits after this. */
const IDLE_COMMIT_MS = 20;
const LEASE_MARGIN_MS = 15_000;
const KNOWN_KEYS = 1 << 17;
/** NXDOMAIN so often in a row retires a host: the name does not exist. */
const NOT_FOUND_LIMIT = 2;
/** A host of which so many pages were judged may be demoted for its near-duplicates. */
const JUDGED_MIN = 20;
/** Every so many pages a host is looked at; with this share of near-duplicates it is set aside. */
const COPIES_WINDOW = 100;
const COPIES_SHARE = 0.9;
const SEEN_BYTES_MIN = 65_536;
const STILL_FULL_POLL_MS = 250;
const RESTART_JITTER = 0.5;
/** A clock that goes back by more than this was set back. */
const CLOCK_STEP_MS = 1_000;
/** A closed host's reason for every entry it still has. */
const CLOSED_REASONS: Readonly<Record<Exclude<HostState, 'open'>, DropReason>> = {
  retired: 'host-retired',
  'robots-given-up': 'robots-unreachable',
  'over-budget': 'page-budget',
  forbidden: 'forbidden-address',
};

export interface ShardStatus {
  readonly shard: number;
  /** Nothing to do, nothing in flight, nothing uncommitted, nothing unacknowledged. */
  readonly idle: boolean;
  /** Changes whenever the shard did anything: two equal readings mean that it stood still. */
  readonly version: number;
  readonly commitSeq: number;
  /** As of the last durable commit. */
  readonly totals: TotalsSnapshot;
  readonly sentSeq: Readonly<Record<string, number>>;
  readonly takenSeq: Readonly<Record<string, number>>;
  readonly inFlight: number;
  readonly active: number;
  readonly hosts: number;
  readonly apartHosts: number;
  readonly apartUrls: number;
  readonly waitMs: number;
  readonly paused: '' | 'operator' | 'disk' | 'pages' | 'stopping';
}

export interface ShardEvents {
  /** After each durable commit. */
  committed(shard: number, commitSeq: number, pages: number): void;
  /** A WARC file is full. */
  rotated(shard: number, file: string): void;
  /** A host joined the scope. */
  scopeAdded(hostKey: string): void;
  /** Storage failed or an invariant broke: the shard has stopped. */
  failed(shard: number, error: unknown): void;
  notice(shard: number, text: string): void;
}

interface ErrandJob {
  readonly from: number;
  readonly id: number;
  readonly url: string;
}

interface SavedMarks extends OutputMarks {
  readonly lanes: Readonly<Record<string, number>>;
  /** Wall time of the freeze: at open a clock that stands before it was set back. */
  readonly atMs: EpochMs;
  /** Requests whose start record lies before the ledger's mark and whose end does not: lease, host key, address. */
  readonly inFlight: readonly (readonly [number, string, string])[];
}

/** What one host owes after a stop, from the ledger. */
interface LedgerDebt {
  readonly addresses: Set<string>;
  /** Greatest pause that an end record names. */
  owedMs: number;
  /** Answers 429 and 503. */
  slowDowns: number;
}

export class Shard {
  readonly id: number;
  readonly #context: ThreadContext;
  readonly #ports: ShardPorts;
  readonly #events: ShardEvents;
  readonly #opened: OpenedShard;
  readonly #totals: Totals;
  readonly #frontier: Frontier;
  readonly #outbox: Outbox;
  readonly #router: FindRouter;
  readonly #robots: RobotsDesk;
  readonly #content: ContentDesk;
  readonly #output: ShardOutput;
  readonly #near: NearIndex;
  readonly #maxInFlight: number;
  readonly #key = new Uint32Array(2);
  readonly #taken = new Map<number, { seq: number; finds: number; list: string }>();
  readonly #acksDue = new Map<number, number[]>();
  readonly #takenChanged = new Set<number>();
  readonly #errands = new Map<number, ErrandJob[]>();
  readonly #aborts = new Map<number, () => void>();
  #seen!: SeenSet;
  #pages: PageRow[] = [];
  #pagesGone: PageRow[] = [];
  #fates: FateRow[] = [];
  #scopeHosts: string[] = [];
  #uncommittedRedirects = new Set<string>();
  #frozenRedirects = new Set<string>();
  #commitSeq: number;
  #committedTotals: TotalsSnapshot;
  #committedSentSeq: Record<string, number> = {};
  #committedTakenSeq: Record<string, number> = {};
  #dirty = false;
  #dirtySinceMs = 0;
  /** Since when the oldest change of the batch on its way waits; Infinity when none is. */
  #frozenSinceMs = Number.POSITIVE_INFINITY;
  readonly #requests = new Map<number, readonly [number, string, string]>();
  #lastNowMs = 0;
  #committing: Promise<void> | undefined;
  #inFlight = 0;
  #resolving = 0;
  #pumping = false;
  #paused: ShardStatus['paused'] = '';
  #closed = false;
  #version = 0;
  #cancelPump: (() => void) | undefined;
  #cancelCommit: (() => void) | undefined;
  #commitDueMs = 0;
  #lastDiskCheckMs = 0;
  #clean = false;

  private constructor(id: number, context: ThreadContext, ports: ShardPorts, events: ShardEvents) {
    this.id = id;
    this.#context = context;
    this.#ports = ports;
    this.#events = events;
    const { config, rules } = context;
    this.#opened = ports.store.open(id);
    if (this.#opened.isNew === true && ports.blobs.list(`ledger/ledger-s${id}-`).length > 0) {
      throw new PortolanError('PORTOLAN_STATE_DAMAGED', `the database of shard ${id} is gone, but not its output`, {
        remedy: 'restore the state directory from a backup, or start a new crawl in another directory',
      });
    }
    const restored = Totals.restore(this.#opened.totals);
    this.#totals = restored.totals;
    this.#commitSeq = this.#opened.commitSeq;
    this.#frontier = new Frontier(
      {
        weights: config.frontier.weights,
        quantum: config.frontier.quantum,
        maxQueuedPerHost: config.frontier.maxQueuedPerHost,
        maxSubdomains: rules.maxSubdomains,
        fairSlots: Math.max(1, Math.floor(config.frontier.backQueues / context.shards)),
        demoted: (host) =>
          rules.skipNearDuplicates && host.judged >= JUDGED_MIN && host.nearDuplicates >= config.dedup.demoteShare * host.judged,
        released: (hostKey) => {
          context.transport.release(`http://${hostKey}`);
          context.transport.release(`https://${hostKey}`);
        },
      },
      ports.store,
      context.random,
      ports.gate,
    );
    this.#frontier.setQueuedCounts(restored.queued);
    this.#outbox = new Outbox(id, KNOWN_KEYS);
    this.#robots = new RobotsDesk(
      ports.store,
      context.random,
      {
        ...ROBOTS_DEFAULTS,
        ttlMs: config.robots.ttl,
        retryMsMin: config.robots.retryMin,
        retryMsMax: config.robots.retryMax,
        giveUpMs: config.robots.giveUp,
      },
      config.agent.token,
      Math.max(1_048_576, config.run.memory / 16 / context.shards),
    );
    this.#near = new NearIndex({
      disk: ports.disk,
      dir: 'near',
      memoryBytes: Math.max(2_097_152, Math.floor(config.run.memory / 8 / context.shards)),
    });
    this.#content = new ContentDesk(ports.store, this.#near, context.simhasher, config.dedup.distance, this.#opened.nextContentId);
    const marks = parseMarks(this.#opened.marks);
    this.#output = new ShardOutput(context, id, ports.blobs, marks, (file) => events.rotated(id, file));
    this.#router = new FindRouter(
      context,
      id,
      this.#totals,
      this.#outbox,
      (find, parts) => this.#admit(find, parts),
      (hi, lo) => this.#seen.has(hi, lo),
    );
    this.#maxInFlight = Math.max(1, Math.ceil(config.fetch.connections / context.shards));
    for (const row of this.#opened.taken) this.#taken.set(row.from, { seq: row.seq, finds: row.finds, list: row.list });
    this.#outbox.restore(this.#opened.outbox, new Map(Object.entries(marks.lanes).map(([to, seq]) => [Number(to), seq])));
    this.#committedTotals = this.#totals.snapshot(this.#frontier.queuedCounts);
    this.#committedSentSeq = this.#outbox.lastSeqs();
    this.#committedTakenSeq = this.#takenSeqs();
  }

  /** Opens the shard's state and brings outputs, debts and the seen set back to it. Throws PortolanError. */
  static async open(id: number, context: ThreadContext, ports: ShardPorts, events: ShardEvents): Promise<Shard> {
    const shard = new Shard(id, context, ports, events);
    await shard.#restore();
    return shard;
  }

  get scopeHosts(): readonly string[] {
    return this.#opened.scopeHosts;
  }

  async #restore(): Promise<void> {
    const { store } = this.#ports;
    const now = this.#context.clock.nowEpochMs();
    await this.#openSeen();
    store.scanSimhashes((hi, lo, contentId) => this.#near.add(hi, lo, contentId));
    this.#restoreHosts(now);
    this.#queueLostPages();
    const { ledger } = this.#output.reports;
    if (ledger.short || ledger.damaged)
      this.#events.notice(this.id, `the politeness ledger ${lossOf(ledger)}: what it proved cannot be verified any more`);
    this.#replayDebts(now);
    this.#output.beginLedger();
    this.#context.channel.receive(this.id, (message) => this.#guard(() => this.#receive(message)));
  }

  async #openSeen(): Promise<void> {
    const options = this.#seenOptions();
    try {
      this.#seen = SeenSet.open(options);
    } catch (error) {
      if (!(error instanceof SeenDamaged)) throw error;
      this.#events.notice(this.id, `${error.message}; it is rebuilt from the page, queue and fate rows`);
      this.#seen = await SeenSet.rebuild(options, this.#allKeys());
      this.#markDirty();
    }
  }

  #seenOptions(): SeenSetOptions {
    const { config, shards, yieldTurn } = this.#context;
    let manifest: RunManifest | undefined;
    if (this.#opened.seenManifest !== '') manifest = readManifest(JSON.parse(this.#opened.seenManifest));
    return {
      disk: this.#ports.disk,
      dir: 'seen',
      manifest,
      deltas: this.#opened.seenDeltas,
      memoryBytes: Math.max(SEEN_BYTES_MIN, Math.floor((config.run.memory * 3) / 8 / shards)),
      yieldTurn,
    };
  }

  /** Every key of an admitted URL, from the rows. */
  *#allKeys(): Iterable<Uint32Array> {
    const pieces: Uint32Array[] = [];
    let piece = new Uint32Array(8_192);
    let at = 0;
    const put = (hi: number, lo: number): void => {
      if (at === piece.length) {
        pieces.push(piece);
        piece = new Uint32Array(8_192);
        at = 0;
      }
      piece[at++] = hi;
      piece[at++] = lo;
    };
    this.#ports.store.scanKeys(put);
    this.#ports.store.scanEntries((_hostId, _level, entry) => put(entry.keyHi, entry.keyLo));
    yield* pieces;
    yield piece.subarray(0, at);
  }

  /** Pages whose body the WARC has lost, or whose line pages.jsonl has lost, are fetched again; lost lines of drops are written again. */
  #queueLostPages(): void {
    const lost = new Map<string, PageRow>();
    for (const page of [...this.#pagesLostByWarc(), ...this.#pagesWithoutLine()])
      lost.set(`${page.hostId}/${keyHex(page.keyHi, page.keyLo)}`, page);
    for (const page of lost.values()) {
      const parts = splitUrl(page.url);
      const memory = this.#frontier.host(parts.hostKey);
      if (memory === undefined) continue;
      memory.record.fetched--;
      bump(this.#totals.fetched, page.outcome, -1);
      this.#totals.lostOutput++;
      this.#pagesGone.push(page);
      this.#frontier.requeue(memory, entryOfPage(page, parts));
      this.#markDirty();
    }
  }

  #pagesLostByWarc(): PageRow[] {
    const { warc } = this.#output.reports;
    const mark = parseMarks(this.#opened.marks).warc;
    if (mark === undefined || warc === undefined || (!warc.short && !warc.damaged)) return [];
    const lost = this.#ports.store.pagesBeyond(mark.name, warc.believedBytes);
    this.#events.notice(this.id, `${mark.name} ${lossOf(warc)}; ${lost.length} pages are fetched again`);
    return lost;
  }

  #pagesWithoutLine(): PageRow[] {
    const { pages } = this.#output.reports;
    if (pages === undefined || (!pages.short && !pages.damaged)) return [];
    const keys = this.#output.lineKeys();
    const lost: PageRow[] = [];
    this.#ports.store.scanPages((page) => {
      if (!keys.has(page.keyHi, page.keyLo)) lost.push(page);
    });
    const drops: FateRow[] = [];
    this.#ports.store.scanFates((fate) => {
      if (!keys.has(fate.keyHi, fate.keyLo)) drops.push(fate);
    });
    for (const fate of drops) {
      const { url, reason, via, depth, atMs } = fate;
      this.#output.appendDrop(
        encodeDropLine({ url, key: keyHex(fate.keyHi, fate.keyLo), host: splitUrl(url).hostKey, reason, detail: '', via, depth, atMs }),
      );
      this.#totals.lostOutput++;
    }
    if (drops.length > 0) this.#markDirty();
    this.#events.notice(
      this.id,
      `pages.jsonl ${lossOf(pages)}; ${lost.length} pages are fetched again, ${drops.length} lines of dropped URLs are written again`,
    );
    return lost;
  }

  /** Rows into the frontier's index, and the pauses that addresses are still owed. */
  #restoreHosts(now: number): void {
    const { addressDelayMs } = this.#context.rules;
    const clockBackMs = Math.max(0, parseMarks(this.#opened.marks).atMs - now);
    if (clockBackMs > CLOCK_STEP_MS)
      this.#events.notice(
        this.id,
        `the clock stands ${Math.round(clockBackMs / 1_000)} s before the last commit: pauses go on with what was left of them`,
      );
    const sinceMs = now - Math.max(0, addressDelayMs - this.#context.config.politeness.delay);
    this.#frontier.restore(this.#opened.nextHostId, now, clockBackMs, sinceMs, (host) => {
      if (host.address === '') return;
      const untilMs = Math.min(host.lastEndMs, now) + addressDelayMs;
      if (untilMs > now) this.#ports.gate.owe(addressKey(host.address), untilMs);
    });
  }

  /** Turns what the ledger says beyond the last commit, and what was in flight at it, into debts of hosts and addresses (PROTOCOL section 4). */
  #replayDebts(now: number): void {
    const debts = new Map<string, LedgerDebt>();
    const owe = (hostKey: string, address: string): LedgerDebt => {
      const debt = debts.get(hostKey) ?? { addresses: new Set(), owedMs: 0, slowDowns: 0 };
      debts.set(hostKey, debt);
      debt.addresses.add(address);
      return debt;
    };
    const open = new Map<number, LedgerDebt>();
    for (const [lease, hostKey, address] of parseMarks(this.#opened.marks).inFlight) open.set(lease, owe(hostKey, address));
    for (const record of this.#output.ledgerBeyondMark()) {
      if (record.kind === 'start') {
        const debt = owe(record.hostKey, record.address);
        if (record.gapRule === 'crawl-delay') debt.owedMs = Math.max(debt.owedMs, record.gapOwedMs);
        open.set(record.lease, debt);
      } else if (record.kind === 'end') {
        const debt = open.get(record.lease);
        if (debt === undefined) continue;
        debt.owedMs = Math.max(debt.owedMs, record.owedMs ?? 0);
        if (record.status === 429 || record.status === 503) debt.slowDowns++;
      } else open.clear(); // the next incarnation numbers its leases anew
    }
    for (const [hostKey, debt] of debts) this.#restoreDebt(hostKey, debt, now);
  }

  /** The whole pause counts from now: when the exchange ended, if it did, is not known for sure. */
  #restoreDebt(hostKey: string, debt: LedgerDebt, now: number): void {
    const { config, rules, random } = this.#context;
    const jitter = random.next() * RESTART_JITTER;
    for (const address of debt.addresses) this.#ports.gate.owe(addressKey(address), now + rules.addressDelayMs * (1 + jitter));
    const memory = this.#frontier.hostOrCreate(hostKey, this.#context.domains.registrableDomain(hostOfKey(hostKey)));
    if (memory === undefined) return;
    const { record } = memory;
    record.backoff = Math.min(record.backoff + debt.slowDowns, BACKOFF_MAX);
    const gap = gapAfter(
      { durationMs: record.lastDurationMs, crawlDelayMs: record.crawlDelayMs, backoff: record.backoff, retryAfterMs: undefined },
      gapOptions(config),
    );
    const wholeMs = Math.max(gap.owedMs, debt.owedMs);
    // What a commit already knows may reach further, as a Retry-After does; it counted from the end that it knows of.
    const knownMs = Math.min(record.lastEndMs, now) + record.owedMs - now;
    record.lastEndMs = now;
    record.owedMs = Math.ceil(Math.max(wholeMs + jitter * gap.owedMs, knownMs));
    record.gapRule = 'restart';
    this.#frontier.touch(memory);
    this.#markDirty();
  }

  /** Begins: what was not acknowledged is sent again, and the first turns are taken. */
  start(): void {
    for (const message of this.#outbox.pending()) this.#context.channel.send(message);
    this.#pump();
  }

  // ── messages ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #receive(message: LinkMessage): void {
    if (this.#closed) return;
    this.#version++;
    switch (message.kind) {
      case 'finds':
        this.#receiveFinds(message);
        break;
      case 'ack':
        if (message.refused.length > 0) this.#router.forget();
        if (this.#outbox.acknowledged(message.from, message.upTo, message.refused)) this.#markDirty();
        break;
      case 'content':
        this.#content.learn(message.entries);
        if (this.#content.isDirty) this.#markDirty();
        break;
      case 'errand':
        this.#receiveErrand(message);
        break;
      case 'errand-reply':
        this.#receiveErrandReply(message.id, message.answer);
        break;
      case 'scope':
        this.#context.scope.addHost(message.hostKey);
        break;
    }
    this.#pump();
  }

  #receiveFinds(message: LinkMessage & { kind: 'finds' }): void {
    const list = message.list ?? '';
    let taken = this.#taken.get(message.from);
    if (taken === undefined || taken.list !== list) {
      taken = { seq: 0, finds: taken?.finds ?? 0, list };
      this.#taken.set(message.from, taken);
    }
    if (message.seq <= taken.seq) {
      // Sent again after a restart: acknowledge what is durable at once; the pending commit acknowledges the rest.
      const durable = message.from === SEED_SENDER ? taken.seq : (this.#committedTakenSeq[message.from] ?? 0);
      if (message.seq <= durable) this.#acknowledge(message.from, durable, []);
      return;
    }
    if (message.seq !== taken.seq + 1) return;
    const refused = this.#acksDue.get(message.from) ?? [];
    this.#acksDue.set(message.from, refused);
    const finds = readFinds(message.blob);
    if (message.from === SEED_SENDER) this.#totals.seeds += finds.length;
    else bump(this.#totals.taken, message.from, finds.length);
    for (const find of finds) if (!this.#admit(find, splitUrl(find.url))) refused.push(find.keyHi, find.keyLo);
    taken.seq = message.seq;
    taken.finds += finds.length;
    this.#takenChanged.add(message.from);
    this.#markDirty();
  }

  #acknowledge(from: number, upTo: number, refused: readonly number[]): void {
    this.#context.channel.send({ kind: 'ack', from: this.id, to: from, upTo, refused: Uint32Array.from(refused) });
  }

  #receiveErrand(message: LinkMessage & { kind: 'errand' }): void {
    const parts = splitUrl(message.url);
    const memory = this.#frontier.hostOrCreate(parts.hostKey, this.#context.domains.registrableDomain(parts.host));
    if (memory === undefined || memory.record.state !== 'open' || this.#frontier.isApart(memory)) {
      this.#context.channel.send({
        kind: 'errand-reply',
        from: this.id,
        to: message.from,
        id: message.id,
        answer: { kind: 'failed', code: 'host-closed' },
      });
      return;
    }
    const jobs = this.#errands.get(memory.record.id) ?? [];
    jobs.push({ from: message.from, id: message.id, url: message.url });
    this.#errands.set(memory.record.id, jobs);
    this.#frontier.addErrand(memory, this.#context.clock.nowEpochMs());
  }

  #receiveErrandReply(id: number, answer: ErrandAnswer): void {
    const errand = this.#robots.endErrand(id);
    if (errand === undefined) return;
    const now = this.#context.clock.nowEpochMs();
    const memory = this.#frontier.host(errand.hostKey);
    const final = robotsAnswerOf(answer);
    if (final !== undefined) this.#robots.answer(errand.origin, final, now);
    else if (answer.kind === 'redirect') this.#robotsHop(errand.origin, errand.hostKey, answer.url, errand.hops + 1, 302, now);
    if (memory !== undefined) this.#frontier.wake(memory, now);
    this.#markDirty();
  }

  // ── admission ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Owner's side of a find. False when it was refused (and is not remembered). */
  #admit(find: Find, parts: SplitUrl): boolean {
    const { keyHi, keyLo, chain } = find;
    if (this.#seen.has(keyHi, keyLo)) {
      this.#totals.known++;
      if (chain !== undefined) this.#reopen(find, parts);
      return true;
    }
    const domain = this.#context.domains.registrableDomain(parts.host);
    const memory = this.#frontier.hostOrCreate(parts.hostKey, domain);
    if (memory === undefined) return this.#refuse('too-many-subdomains');
    if (queuedTotal(memory.record) >= this.#context.config.frontier.maxQueuedPerHost) return this.#refuse('host-queue-full');
    this.#seen.add(keyHi, keyLo);
    this.#totals.admitted++;
    const entry = entryOfFind(find, parts);
    this.#frontier.add(parts.hostKey, domain, entry, this.#levelOf(find));
    this.#markDirty();
    return true;
  }

  #refuse(reason: RejectReason): false {
    bump(this.#totals.ownerRejected, reason);
    this.#markDirty();
    return false;
  }

  #levelOf(find: Find): number {
    return levelOf(priorityScore({ domainRank: 0, inboundLinks: 1, depth: find.depth }), this.#context.config.frontier.thresholds);
  }

  /** The target of a chain that leads back to a URL of its own, changed (cookie, spelling): the seen filter does not apply inside a chain (A6). */
  #reopen(find: Find, parts: SplitUrl): void {
    const chain = find.chain!;
    const canonical = this.#context.canonicalize(find.url);
    if (!chain.urls.some((url) => this.#context.canonicalize(url) === canonical)) return;
    const memory = this.#frontier.host(parts.hostKey);
    if (memory === undefined) return;
    const key = keyHex(find.keyHi, find.keyLo);
    const pending = this.#uncommittedRedirects.has(key) || this.#frozenRedirects.has(key);
    if (!pending && this.#ports.store.readPage(memory.record.id, find.keyHi, find.keyLo)?.outcome !== 'redirect') return;
    this.#uncommittedRedirects.delete(key);
    this.#frozenRedirects.delete(key);
    const at = this.#pages.findIndex((page) => page.keyHi === find.keyHi && page.keyLo === find.keyLo && page.hostId === memory.record.id);
    if (at >= 0) this.#pages.splice(at, 1);
    this.#pagesGone.push({ ...EMPTY_PAGE, hostId: memory.record.id, keyHi: find.keyHi, keyLo: find.keyLo });
    memory.record.fetched--;
    bump(this.#totals.fetched, 'redirect', -1);
    this.#totals.reopened++;
    this.#frontier.requeue(memory, entryOfFind(find, parts));
    this.#markDirty();
  }

  // ── turns ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #guard(work: () => void): void {
    if (this.#closed) return;
    try {
      work();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Takes turns until nothing is ready, then sets one timer for when something will be. */
  #pump(): void {
    if (this.#pumping || this.#closed) return;
    this.#pumping = true;
    this.#guard(() => this.#takeTurns());
    this.#pumping = false;
    if (!this.#closed) this.#schedulePump();
  }

  #takeTurns(): void {
    const { clock } = this.#context;
    this.#watchClock(clock.nowEpochMs());
    for (let turns = 0; turns < TURNS_PER_PUMP; turns++) {
      const now = clock.nowEpochMs();
      if (!this.#mayLease(now)) return;
      const memory = this.#frontier.nextTurn(now);
      if (memory === undefined) return;
      this.#version++;
      this.#turn(memory, now);
    }
  }

  /** A clock that is set back freezes no host: what it still owes moves with the clock. */
  #watchClock(now: number): void {
    const backMs = this.#lastNowMs - now;
    this.#lastNowMs = now;
    if (backMs <= CLOCK_STEP_MS) return;
    this.#events.notice(this.id, `the clock was set back by ${Math.round(backMs / 1_000)} s: pauses go on with what was left of them`);
    this.#frontier.clockSetBack(backMs);
  }

  #mayLease(now: number): boolean {
    if (this.#paused !== '' || this.#inFlight + this.#resolving >= this.#maxInFlight) return false;
    const oldest = Math.min(this.#frozenSinceMs, this.#dirty ? this.#dirtySinceMs : Number.POSITIVE_INFINITY);
    return now - oldest <= Math.max(UNCOMMITTED_MAX_MS, 2 * this.#context.config.run.commitInterval);
  }

  #schedulePump(): void {
    this.#cancelPump?.();
    this.#cancelPump = undefined;
    const { clock } = this.#context;
    const now = clock.nowEpochMs();
    this.#scheduleCommit(now);
    // Ending exchanges and commits pump again by themselves.
    if (!this.#mayLease(now)) return;
    const until = this.#frontier.waitUntil(now);
    if (until === Number.POSITIVE_INFINITY) return;
    const delay = Math.min(Math.max(0, until - now), 3_600_000);
    this.#cancelPump = clock.setTimer(delay, () => this.#pump());
  }

  #turn(memory: HostMemory, now: number): void {
    const { record } = memory;
    if (record.state !== 'open') {
      this.#dropClosed(memory, now);
      return;
    }
    const job = this.#errands.get(record.id)?.[0];
    if (job !== undefined) {
      const parts = splitUrl(job.url);
      this.#target(memory, parts, now, (address) => this.#startRobots(memory, parts, address, '', 0, job));
      return;
    }
    for (let drops = 0; drops < DROPS_PER_TURN; drops++) {
      const entry = this.#frontier.peek(memory, now);
      if (entry === undefined) break;
      const parts = partsOf(entry, record.key);
      const blocked =
        this.#context.blocklist.current.size === 0 ? undefined : this.#context.blocklist.current.matchesUrl(urlOf(parts), parts);
      if (blocked !== undefined) {
        this.#drop(memory, entry, parts, 'blocklisted', blocked, now);
        continue;
      }
      if (this.#isOverBudget(memory, now)) {
        this.#closeHost(memory, 'over-budget', now);
        return;
      }
      const verdict = this.#robots.verdict(parts.origin, now);
      if (verdict.kind === 'given-up') {
        this.#closeHost(memory, 'robots-given-up', now);
        return;
      }
      if (verdict.kind === 'wait') {
        this.#frontier.sleep(memory, Math.max(verdict.untilMs, now + 1));
        return;
      }
      if (verdict.kind === 'rules') {
        if (this.#obeyDelay(memory, verdict.robots, now)) return;
        if (!verdict.robots.rules().isAllowed(parts.pathQuery)) {
          const { line, rule } = verdict.robots.rules().explain(parts.pathQuery);
          this.#drop(memory, entry, parts, 'robots-disallowed', `line ${line}: ${rule}`, now);
          continue;
        }
        this.#target(memory, parts, now, (address) => this.#startPage(memory, entry, parts, address, verdict.robots));
        return;
      }
      const robots = splitUrl(verdict.url);
      this.#target(memory, robots, now, (address) => this.#startRobots(memory, robots, address, parts.origin, verdict.hops, undefined));
      return;
    }
    this.#frontier.endTurn(memory, now);
  }

  /** Takes over the origin's Crawl-delay; true when it is so long that the host is set apart. */
  #obeyDelay(memory: HostMemory, robots: CachedRobots, _now: number): boolean {
    const { record } = memory;
    const delay = robots.rules().crawlDelayMs ?? -1;
    if (delay !== record.crawlDelayMs) {
      record.crawlDelayMs = delay;
      this.#frontier.touch(memory);
    }
    const max = this.#context.config.politeness.crawlDelayMax;
    if (delay <= max) return false;
    this.#events.notice(
      this.id,
      `${record.key} asks for a Crawl-delay of ${delay / 1_000} s, over the bound of ${max / 1_000} s: it is set apart with ${queuedTotal(record)} URLs`,
    );
    this.#context.metrics.count('portolan_hosts_apart_total');
    record.gapRule = 'parked';
    this.#frontier.setApart(memory);
    return true;
  }

  #isOverBudget(memory: HostMemory, now: number): boolean {
    const { pageBudget } = this.#context.rules;
    if (pageBudget === 0) return false;
    const { record } = memory;
    if (now - record.cycleStartMs >= this.#context.config.frontier.budgetCycle) {
      record.cycleStartMs = now;
      record.cyclePages = 0;
      this.#frontier.touch(memory);
    }
    return record.cyclePages >= pageBudget;
  }

  /** Every URL that waits for this host, or comes later, ends with the reason of its state. */
  #closeHost(memory: HostMemory, state: Exclude<HostState, 'open'>, now: number): void {
    memory.record.state = state;
    this.#frontier.touch(memory);
    this.#events.notice(
      this.id,
      `${memory.record.key} is closed: ${CLOSED_REASONS[state]}; ${queuedTotal(memory.record)} URLs are dropped`,
    );
    this.#dropClosed(memory, now);
  }

  #dropClosed(memory: HostMemory, now: number): void {
    this.#failErrands(memory);
    const { record } = memory;
    // A new cycle gives an exhausted host its budget back.
    if (record.state === 'over-budget' && now - record.cycleStartMs >= this.#context.config.frontier.budgetCycle) {
      record.state = 'open';
      this.#frontier.endTurn(memory, now);
      return;
    }
    const reason = CLOSED_REASONS[record.state as Exclude<HostState, 'open'>];
    for (let drops = 0; drops < DROPS_PER_TURN; drops++) {
      const entry = this.#frontier.peek(memory, Number.POSITIVE_INFINITY);
      if (entry === undefined) break;
      this.#drop(memory, entry, partsOf(entry, record.key), reason, '', now);
    }
    this.#frontier.endTurn(memory, now, now);
  }

  #failErrands(memory: HostMemory): void {
    for (const job of this.#errands.get(memory.record.id) ?? []) {
      this.#context.channel.send({
        kind: 'errand-reply',
        from: this.id,
        to: job.from,
        id: job.id,
        answer: { kind: 'failed', code: 'host-closed' },
      });
    }
    this.#errands.delete(memory.record.id);
    memory.errands = 0;
  }

  #drop(memory: HostMemory, entry: QueueEntry, parts: SplitUrl, reason: DropReason, detail: string, now: number): void {
    this.#frontier.consume(memory);
    memory.record.dropped++;
    bump(this.#totals.dropped, reason);
    const url = urlOf(parts);
    const { keyHi, keyLo, via, depth } = entry;
    this.#fates.push({ hostId: memory.record.id, keyHi, keyLo, reason, atMs: now, url, via, depth });
    this.#output.appendDrop(
      encodeDropLine({ url, key: keyHex(keyHi, keyLo), host: memory.record.key, reason, detail, via, depth, atMs: now }),
    );
    this.#markDirty();
  }

  // ── target: addresses, gate, rate ───────────────────────────────────────────────────────────────────────────────────────────────

  #target(memory: HostMemory, parts: SplitUrl, now: number, go: (address: string) => void): void {
    const found = this.#context.dns.lookup(parts.host);
    if (!(found instanceof Promise)) {
      this.#chooseAddress(memory, found, now, go);
      return;
    }
    this.#resolving++;
    void found.then((entry) => {
      this.#resolving--;
      this.#guard(() => {
        if (memory.record.state === 'open') this.#chooseAddress(memory, entry, this.#context.clock.nowEpochMs(), go);
        else this.#frontier.endTurn(memory, this.#context.clock.nowEpochMs());
      });
      this.#pump();
    });
  }

  #chooseAddress(memory: HostMemory, entry: DnsEntry, now: number, go: (address: string) => void): void {
    if (entry.kind !== 'addresses') {
      const errand = this.#errands.get(memory.record.id)?.[0];
      if (errand !== undefined) this.#endErrand(memory, errand, { kind: 'failed', code: 'dns-failed' });
      this.#hostFault(memory, now, 'dns-failed', entry);
      this.#frontier.endTurn(memory, now);
      return;
    }
    const { blocklist } = this.#context;
    const allowed =
      blocklist.current.size === 0
        ? entry.allowed
        : entry.allowed.filter((address) => blocklist.current.matchesAddress(address) === undefined);
    if (allowed.length === 0) {
      this.#closeHost(memory, 'forbidden', now);
      return;
    }
    this.#takeGate(memory, allowed, now, go);
  }

  #takeGate(memory: HostMemory, addresses: readonly string[], now: number, go: (address: string) => void): void {
    const { gate } = this.#ports;
    const { hostsPerAddress } = this.#context.config.frontier;
    let again = Number.POSITIVE_INFINITY;
    let full = '';
    for (const address of addresses) {
      const key = addressKey(address);
      if (memory.addressKey !== key && this.#frontier.hostsOnAddress(key) >= hostsPerAddress) {
        full = key;
        continue;
      }
      const taken = gate.tryAcquire(key, now);
      if (taken === 'held') {
        const rate = gate.tryTakeRate(now);
        if (rate !== 'go') {
          gate.release(key, now);
          this.#frontier.endTurn(memory, now, rate);
          return;
        }
        this.#frontier.claimAddress(memory, key);
        if (memory.record.address !== address) memory.record.address = address;
        go(address);
        return;
      }
      again = Math.min(again, taken);
      if (memory.addressKey === '') this.#frontier.claimAddress(memory, key);
    }
    if (again === Number.POSITIVE_INFINITY) this.#frontier.park(memory, full);
    else this.#frontier.endTurn(memory, now, again);
  }

  // ── exchanges ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #startPage(memory: HostMemory, entry: QueueEntry, parts: SplitUrl, address: string, robots: CachedRobots): void {
    const { gate } = this.#ports;
    const now = this.#context.clock.nowEpochMs();
    if (!gate.tryTakePage()) {
      gate.release(addressKey(address), now);
      this.#frontier.endTurn(memory, now, now + STILL_FULL_POLL_MS);
      this.#setPaused('pages');
      return;
    }
    // Another attempt gets a connection of its own: one that was kept may be closed by the server while the request travels.
    if (entry.attempts > 0) this.#context.transport.release(parts.origin);
    const lease = this.#lease(memory, entry);
    const cookies = entry.chain?.cookies ?? '';
    const headers = requestHeaders(this.#agent(), {}, cookies === '' ? [] : [['Cookie', cookies]]);
    this.#exchange(memory, lease, parts, address, headers, 'page', robots.record.bodySha256, (result) =>
      this.#endPage(memory, lease, entry, parts, headers, result),
    );
  }

  #startRobots(memory: HostMemory, parts: SplitUrl, address: string, origin: string, hops: number, job: ErrandJob | undefined): void {
    const lease = this.#lease(memory, ROBOTS_ENTRY);
    const headers = requestHeaders({ ...this.#agent(), accept: 'text/plain,*/*;q=0.5' });
    this.#exchange(memory, lease, parts, address, headers, 'robots', '', (result) =>
      this.#endRobots(memory, parts, origin, hops, job, result),
    );
  }

  #agent(): { readonly userAgent: string; readonly from?: string } {
    const { contact } = this.#context.config.agent;
    const { userAgent } = this.#context.rules;
    return contact.includes('@') && !contact.includes('://') ? { userAgent, from: contact } : { userAgent };
  }

  #lease(memory: HostMemory, entry: QueueEntry): Lease {
    const { clock, config } = this.#context;
    return this.#frontier.lease(memory, entry, clock.nowEpochMs() + config.fetch.totalTimeout + LEASE_MARGIN_MS);
  }

  #exchange(
    memory: HostMemory,
    lease: Lease,
    parts: SplitUrl,
    address: string,
    headers: HeaderList,
    what: 'page' | 'robots',
    robotsSha: string,
    done: (result: ExchangeResult) => void,
  ): void {
    const { clock, config, transport } = this.#context;
    const { record } = memory;
    const leaseId = this.#ledgerLease(lease);
    this.#totals.requests++;
    if (what === 'robots') this.#totals.robotsRequests++;
    this.#frontier.countFetch(memory);
    this.#inFlight++;
    this.#output.ledgerStart({
      kind: 'start',
      lease: leaseId,
      what,
      scheme: parts.scheme,
      hostKey: record.key,
      path: parts.pathQuery,
      address,
      gapOwedMs: record.owedMs,
      gapRule: record.gapRule,
      robotsHash: robotsSha === '' ? undefined : robotsSha.slice(0, 16),
      monoMs: clock.nowMonoMs(),
      epochMs: clock.nowEpochMs(),
    });
    this.#requests.set(leaseId, [leaseId, record.key, address]);
    const maxBodyBytes = what === 'robots' ? ROBOTS_DEFAULTS.bodyBytesMax : config.fetch.maxBody;
    const abort = runExchange(
      transport,
      clock,
      {
        origin: parts.origin,
        pathQuery: parts.pathQuery,
        address,
        headers,
        isConditional: false,
        limits: {
          maxBodyBytes,
          maxWireBytes: maxBodyBytes,
          connectTimeoutMs: config.fetch.connectTimeout,
          firstByteTimeoutMs: config.fetch.firstByteTimeout,
          stallTimeoutMs: config.fetch.stallTimeout,
          totalTimeoutMs: config.fetch.totalTimeout,
        },
        accept: what === 'robots' ? () => true : (type) => this.#accepts(type),
      },
      (result) => {
        this.#guard(() => this.#endExchange(memory, lease, leaseId, address, result, done));
        this.#pump();
      },
    );
    if (!lease.ended) this.#aborts.set(lease.id, abort);
  }

  #ledgerLease(lease: Lease): number {
    return this.#opened.commitSeq * 2 ** 22 + lease.id;
  }

  #accepts(mediaType: string): boolean {
    // A missing or generic type is judged by its first bytes, later.
    if (mediaType === '' || mediaType === 'application/octet-stream') return true;
    return this.#context.config.fetch.accept.some(
      (want) => want === '*/*' || want === mediaType || (want.endsWith('/*') && mediaType.startsWith(want.slice(0, -1))),
    );
  }

  /** Common to pages and robots.txt: slot, address, debt and ledger end with the exchange, before anything is done with the result. */
  #endExchange(
    memory: HostMemory,
    lease: Lease,
    leaseId: number,
    address: string,
    result: ExchangeResult,
    done: (result: ExchangeResult) => void,
  ): void {
    this.#aborts.delete(lease.id);
    if (!this.#frontier.endLease(lease)) return;
    const { clock, config, rules } = this.#context;
    const { record } = memory;
    const now = clock.nowEpochMs();
    this.#inFlight--;
    this.#version++;
    this.#ports.gate.release(addressKey(address), now + rules.addressDelayMs);
    record.lastEndMs = now;
    record.lastDurationMs = result.durationMs;
    this.#totals.wireBytes += result.wireBody.length;
    const slowDown = result.outcome === 'rate-limited' || result.outcome === 'unavailable';
    if (slowDown) record.backoff++;
    else if (result.status > 0 && record.backoff > 0) record.backoff--;
    if (result.status > 0 && !slowDown) {
      record.faults = 0;
      record.setAside = 0;
    }
    const gap = gapAfter(
      {
        durationMs: result.durationMs,
        crawlDelayMs: record.crawlDelayMs,
        backoff: record.backoff,
        retryAfterMs: slowDown ? result.retryAfterMs : undefined,
      },
      gapOptions(config),
    );
    record.owedMs = gap.owedMs;
    record.gapRule = gap.rule;
    this.#frontier.touch(memory);
    this.#markDirty();
    done(result);
    // Only now is known what a robots.txt or a fault adds to the pause.
    const owedMs = Math.ceil(hostDueMs(record) - now);
    this.#requests.delete(leaseId);
    this.#output.ledgerEnd({
      kind: 'end',
      lease: leaseId,
      durationMs: result.durationMs,
      status: result.status,
      retryAfterMs: result.retryAfterMs,
      owedMs: owedMs > config.politeness.delay ? owedMs : undefined,
      outcome: result.isAborted ? 'aborted' : result.outcome,
      bodyBytes: result.wireBody.length,
    });
    if (memory.onTurn) this.#frontier.endTurn(memory, now);
  }

  /** A fault of the whole host or a timeout (C5). `lookup` is the failed one: it is asked again before it counts again. */
  #hostFault(memory: HostMemory, now: number, what: OutcomeCode, lookup: DnsEntry | undefined): void {
    const { clock, config, random } = this.#context;
    const { record } = memory;
    const { faultLimit, faultPause, setAside, setAsideLimit } = config.politeness;
    const fault = afterFault(record.faults, record.setAside, random.next(), {
      faultLimit,
      faultPauseMs: faultPause,
      setAsideMs: setAside,
      setAsideLimit,
    });
    record.faults = fault.faults;
    record.setAside = fault.setAside;
    record.waitUntilMs = now + Math.max(fault.pauseMs, lookup === undefined ? 0 : lookup.expiresAt - clock.nowMonoMs());
    record.gapRule = fault.rule;
    this.#frontier.touch(memory);
    this.#markDirty();
    if (fault.retire || (lookup?.kind === 'not-found' && record.faults >= NOT_FOUND_LIMIT)) {
      record.state = 'retired';
      record.waitUntilMs = now;
      this.#events.notice(
        this.id,
        `${record.key} is retired after failing too often, at last with ${what}; ${queuedTotal(record)} URLs are dropped`,
      );
    }
  }

  /** What a result means for its host beyond the gap. Returns true when the URL's attempt does not count. */
  #judgeHost(memory: HostMemory, result: ExchangeResult, now: number): boolean {
    const { record } = memory;
    const hostWide = OUTCOME_CODES[result.outcome] === 'host';
    if (!hostWide && result.outcome !== 'timeout') return false;
    const before = record.setAside;
    const gap = { owedMs: record.owedMs, rule: record.gapRule };
    const wait = record.waitUntilMs;
    this.#hostFault(memory, now, result.outcome, undefined);
    const answered = result.outcome === 'rate-limited' || result.outcome === 'unavailable' || result.outcome === 'timeout';
    // The server's own word (doubled gap, Retry-After) is enough until the limit is reached; a timeout has used up its time already.
    if (answered && record.setAside === before && record.state === 'open') {
      record.waitUntilMs = wait;
      record.gapRule = gap.rule;
    }
    return hostWide;
  }

  // ── robots.txt ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #endRobots(memory: HostMemory, parts: SplitUrl, origin: string, hops: number, job: ErrandJob | undefined, result: ExchangeResult): void {
    if (result.isAborted) return;
    const now = this.#context.clock.nowEpochMs();
    this.#judgeHost(memory, result, now);
    const url = urlOf(parts);
    const target = result.outcome === 'redirect' ? new LinkResolver(url).resolve(result.location ?? '') : '';
    if (job !== undefined) {
      this.#endErrand(memory, job, target === '' ? errandAnswerOf(result) : { kind: 'redirect', url: target });
      return;
    }
    if (target !== '') {
      this.#robotsHop(origin, memory.record.key, target, hops + 1, result.status, now);
      if (this.#robots.verdict(origin, now).kind === 'wait') this.#frontier.sleep(memory, now + 1_000);
      return;
    }
    const answer = robotsAnswerOf(errandAnswerOf(result))!;
    const record = this.#robots.answer(origin, answer, now);
    this.#markDirty();
    // Its Crawl-delay counts from this exchange on.
    const verdict = this.#robots.verdict(origin, now);
    if (record.state === 'deny-all' || verdict.kind !== 'rules') return;
    const delay = verdict.robots.rules().crawlDelayMs ?? -1;
    memory.record.crawlDelayMs = delay;
    // A longer one is not waited for: the host's next turn sets it apart.
    if (delay > memory.record.owedMs && delay <= this.#context.config.politeness.crawlDelayMax) {
      memory.record.owedMs = delay;
      memory.record.gapRule = 'crawl-delay';
    }
  }

  #robotsHop(origin: string, hostKey: string, target: string, hops: number, status: number, now: number): void {
    if (hops > ROBOTS_HOPS_MAX) {
      this.#robots.answer(origin, { kind: 'response', status, body: NO_BYTES }, now);
      return;
    }
    const parts = splitUrl(target);
    if (parts.hostKey === hostKey) {
      this.#robots.hopHere(origin, target, hops);
      return;
    }
    const id = this.#robots.hopElsewhere(origin, hostKey, target, hops, now);
    this.#context.channel.send({ kind: 'errand', from: this.id, to: shardOfHost(this.#context, parts.host), id, url: target, hops });
  }

  #endErrand(memory: HostMemory, job: ErrandJob, answer: ErrandAnswer): void {
    const jobs = this.#errands.get(memory.record.id);
    jobs?.splice(jobs.indexOf(job), 1);
    if (jobs?.length === 0) this.#errands.delete(memory.record.id);
    memory.errands--;
    this.#context.channel.send({ kind: 'errand-reply', from: this.id, to: job.from, id: job.id, answer });
  }

  // ── pages ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #endPage(memory: HostMemory, lease: Lease, entry: QueueEntry, parts: SplitUrl, headers: HeaderList, result: ExchangeResult): void {
    const now = this.#context.clock.nowEpochMs();
    if (result.isAborted) {
      this.#ports.gate.givePage();
      return;
    }
    assert(this.#frontier.peek(memory, now) === lease.entry, `the entry on lease is the head of ${memory.record.key}`);
    const isOwnFault = entry.attempts > 0 || memory.record.faults + memory.record.setAside === 0;
    const hostWide = this.#judgeHost(memory, result, now);
    // A body that was broken off is kept as the last word only: it may come whole.
    const mayRetry =
      hostWide || OUTCOME_CODES[result.outcome] === 'transient' || result.truncated === 'disconnect' || result.truncated === 'time';
    // A fault of the whole host uses up no attempt; of a host that has just answered it is the URL's own, then and later.
    const attempts = entry.attempts + (hostWide && !isOwnFault ? 0 : 1);
    this.#frontier.consume(memory);
    const { fetch } = this.#context.config;
    const retries = mayRetry && attempts < fetch.attempts;
    if (retries || OUTCOME_CODES[result.outcome] !== 'success') this.#givePage();
    if (retries) {
      const pause = fetch.retryDelay * 2 ** entry.attempts * (1 + 0.25 * this.#context.random.next());
      this.#frontier.requeue(memory, { ...entry, attempts, notBeforeMs: (hostWide ? hostDueMs(memory.record) : now) + pause });
      return;
    }
    this.#finishPage(memory, { ...entry, attempts }, parts, headers, result, now);
  }

  #givePage(): void {
    this.#ports.gate.givePage();
    if (this.#paused === 'pages') this.#setPaused('');
  }

  #finishPage(memory: HostMemory, entry: QueueEntry, parts: SplitUrl, headers: HeaderList, result: ExchangeResult, now: number): void {
    const url = urlOf(parts);
    let outcome = result.outcome;
    let redirectTo = '';
    let tally: LinkTally | undefined;
    if (outcome === 'redirect') {
      const redirect = this.#redirect(memory, entry, parts, url, result, now);
      if (redirect === 'interim') return;
      outcome = redirect.outcome;
      redirectTo = redirect.target;
      tally = redirect.tally;
    }
    if (OUTCOME_CODES[outcome] === 'success') this.#storePage(memory, entry, parts, url, headers, result, now);
    else this.#storeOther(memory, entry, parts, url, headers, result, outcome, redirectTo, tally, now);
  }

  #redirect(
    memory: HostMemory,
    entry: QueueEntry,
    parts: SplitUrl,
    url: string,
    result: ExchangeResult,
    now: number,
  ): 'interim' | { outcome: OutcomeCode; target: string; tally: LinkTally | undefined } {
    const resolver = new LinkResolver(url);
    const target = resolver.resolve(result.location ?? '');
    if (target === '') {
      return {
        outcome: 'bad-redirect',
        target: '',
        tally: result.location === undefined ? undefined : this.#router.refused(resolver.rejected),
      };
    }
    const to = splitUrl(target);
    const { config, scope, canonicalize } = this.#context;
    const step = redirectStep(entry, url, parts.host, target, to.host, result.headers.all('set-cookie'), config.fetch.maxRedirects);
    if (step.kind === 'loop') return { outcome: 'redirect-loop', target, tally: this.#router.refused('redirect-loop') };
    if (step.kind === 'too-many') return { outcome: 'too-many-redirects', target, tally: this.#router.refused('too-many-redirects') };
    if (to.hostKey === parts.hostKey && canonicalize(target) === canonicalize(url)) {
      // The same URL again, with a cookie or in another spelling: its end is still to come.
      this.#frontier.requeue(memory, {
        ...entry,
        https: to.scheme === 'https',
        pathQuery: to.pathQuery,
        chain: step.chain,
        notBeforeMs: 0,
      });
      this.#totals.interim++;
      return 'interim';
    }
    const exempt = step.chain.fromSeed && scope.check(target, to, canonicalize(target), entry.depth, now) === 'out-of-scope';
    if (exempt) this.#addToScope(to.hostKey);
    const tally = this.#router.single(target, 'redirect', entry.depth, url, now, step.chain, exempt);
    return { outcome: 'redirect', target, tally };
  }

  #addToScope(hostKey: string): void {
    if (!this.#context.scope.addHost(hostKey)) return;
    this.#scopeHosts.push(hostKey);
    this.#events.notice(this.id, `a seed redirects to ${hostKey}: it joins the scope`);
    this.#events.scopeAdded(hostKey);
  }

  #storePage(
    memory: HostMemory,
    entry: QueueEntry,
    parts: SplitUrl,
    url: string,
    headers: HeaderList,
    result: ExchangeResult,
    now: number,
  ): void {
    const { config, handlers, rules } = this.#context;
    const { body } = result;
    const { outcome } = result;
    const media = mediaTypeOf(result.contentType, body.subarray(0, 512));
    if (media.sniffed && !this.#accepts(media.type)) {
      this.#storeOther(memory, entry, parts, url, headers, result, 'unwanted-type', '', undefined, now);
      return;
    }
    const page = handlers.find(media.type)?.handle({
      bytes: body,
      contentTypeHeader: result.contentType,
      mediaType: media.type,
      options: {
        maxLinks: config.fetch.maxLinks,
        text: config.output.text ? 'both' : 'main',
        robotsNames: ['robots', config.agent.token.toLowerCase()],
      },
    });
    const tags = parseRobotsTags(
      [...result.headers.all('x-robots-tag'), ...(page?.metaRobots ?? []).map((meta) => meta.content)],
      config.agent.token,
    );
    const hash = contentHash(body);
    const verdict = this.#content.judge({
      url,
      status: result.status,
      outcome,
      bodyBytes: body.length,
      hash,
      mainText: page?.mainText ?? '',
    });
    const near = verdict.kind === 'near' || verdict.kind === 'text';
    const skip = near && rules.skipNearDuplicates;
    this.#countVerdict(memory, verdict, page);
    const stored = skip ? undefined : this.#appendWarc(url, parts, headers, result, verdict, hash);
    if (verdict.kind === '' && body.length > 0) {
      this.#content.add({ hash, url, fetchedAtMs: result.startedAtEpoch, payloadSha1: stored?.payloadSha1 ?? '' }, verdict);
    }
    const reason: RejectReason | undefined = tags.nofollow ? 'nofollow' : skip ? 'near-duplicate' : undefined;
    const tally = page === undefined ? undefined : this.#router.page(url, entry.depth, page, reason, now);
    memory.record.cyclePages++;
    this.#totals.bodyBytes += body.length;
    this.#record(memory, entry, url, result, outcome, now, {
      hash,
      verdict,
      stored,
      tally,
      title: page?.title ?? '',
      canonical: page?.canonicalHref,
      redirectTo: '',
      robots: [tags.noindex ? 'noindex' : '', tags.nofollow ? 'nofollow' : '', tags.noarchive ? 'noarchive' : ''].filter(
        (word) => word !== '',
      ),
      text: config.output.text ? page?.text : undefined,
    });
  }

  #countVerdict(memory: HostMemory, verdict: ContentVerdict, page: ParsedPage | undefined): void {
    if (verdict.kind === 'exact') this.#totals.exactDuplicates++;
    if (page === undefined) return;
    memory.record.judged++;
    if (verdict.kind === 'near' || verdict.kind === 'text') {
      this.#totals.nearDuplicates++;
      memory.record.nearDuplicates++;
    }
    this.#setAsideForCopies(memory);
  }

  /** A host that gives little but near-duplicates (F4) is demoted by the frontier first, and from here on set aside for a while after every so many pages. */
  #setAsideForCopies(memory: HostMemory): void {
    const { record } = memory;
    if (!this.#context.rules.skipNearDuplicates || record.judged % COPIES_WINDOW !== 0) return;
    if (record.nearDuplicates < COPIES_SHARE * record.judged) return;
    record.waitUntilMs = this.#context.clock.nowEpochMs() + this.#context.config.politeness.setAside;
    record.gapRule = 'set-aside';
    this.#frontier.touch(memory);
    this.#context.metrics.count('portolan_hosts_set_aside_for_copies_total');
    this.#events.notice(this.id, `${record.key} is set aside: ${record.nearDuplicates} of its ${record.judged} pages are near-duplicates`);
  }

  #appendWarc(
    url: string,
    parts: SplitUrl,
    headers: HeaderList,
    result: ExchangeResult,
    verdict: ContentVerdict | undefined,
    hash: Buffer | undefined,
  ): StoredBody | undefined {
    if (!this.#output.storesBodies || result.status === 0) return undefined;
    const { original } = verdict ?? {};
    const { at, encoded } = this.#output.appendExchange({
      url,
      dateMs: result.startedAtEpoch,
      address: result.remoteAddress === '' ? undefined : result.remoteAddress,
      request: { method: 'GET', path: parts.pathQuery, host: parts.hostKey, headers },
      response: {
        status: result.status,
        statusText: result.statusText,
        rawHeaders: result.rawHeaders,
        body: [result.wireBody],
        truncated: result.truncated,
        payloadSha256: hash !== undefined && result.body === result.wireBody ? `sha256:${hash.toString('hex')}` : undefined,
      },
      original:
        verdict?.kind === 'exact' && original !== undefined && original.payloadSha1 !== ''
          ? { url: original.url, dateMs: original.fetchedAtMs, payloadSha1: original.payloadSha1 }
          : undefined,
    });
    this.#totals.storedPages++;
    return { segment: at.segment, offset: at.offset, length: encoded.responseBytes, payloadSha1: encoded.payloadSha1 };
  }

  #storeOther(
    memory: HostMemory,
    entry: QueueEntry,
    parts: SplitUrl,
    url: string,
    headers: HeaderList,
    result: ExchangeResult,
    outcome: OutcomeCode,
    redirectTo: string,
    tally: LinkTally | undefined,
    now: number,
  ): void {
    const stored = outcome === 'unwanted-type' ? undefined : this.#appendWarc(url, parts, headers, result, undefined, undefined);
    this.#record(memory, entry, url, result, outcome, now, {
      hash: undefined,
      verdict: undefined,
      stored,
      tally,
      title: '',
      canonical: undefined,
      redirectTo,
      robots: [],
      text: undefined,
    });
  }

  /** The end of a URL: page row, line, counts. */
  #record(
    memory: HostMemory,
    entry: QueueEntry,
    url: string,
    result: ExchangeResult,
    outcome: OutcomeCode,
    now: number,
    more: PageFindings,
  ): void {
    const { record } = memory;
    const { verdict, stored, tally } = more;
    record.fetched++;
    bump(this.#totals.fetched, outcome);
    const key = keyHex(entry.keyHi, entry.keyLo);
    if (outcome === 'redirect') this.#uncommittedRedirects.add(key);
    const words = verdict?.words ?? 0;
    this.#pages.push({
      hostId: record.id,
      keyHi: entry.keyHi,
      keyLo: entry.keyLo,
      url,
      status: result.status,
      outcome,
      fetchedAtMs: result.startedAtEpoch,
      etag: result.etag ?? '',
      lastModified: result.lastModified ?? '',
      contentHash: more.hash,
      simhashHi: verdict?.simhashHi ?? 0,
      simhashLo: verdict?.simhashLo ?? 0,
      words,
      duplicateOf: verdict?.original?.url ?? '',
      duplicateKind: verdict?.kind ?? '',
      changeRate: 0,
      nextFetchMs: 0,
      segment: stored?.segment ?? '',
      offset: stored?.offset ?? 0,
      length: stored?.length ?? 0,
      via: entry.via,
      depth: entry.depth,
      foundAtS: entry.foundAtS,
      attempts: entry.attempts,
      bodyBytes: result.body.length,
      durationMs: result.durationMs,
    });
    this.#output.appendPage({
      url,
      canonical: more.canonical,
      key,
      host: record.key,
      status: result.status === 0 ? undefined : result.status,
      outcome,
      class: OUTCOME_CODES[outcome],
      via: entry.via === '' ? undefined : entry.via,
      kind: entry.kind,
      depth: entry.depth,
      foundAtMs: entry.foundAtS * 1_000,
      fetchedAtMs: result.startedAtEpoch,
      durationMs: result.durationMs,
      firstByteMs: result.firstByteMs,
      address: result.remoteAddress === '' ? undefined : result.remoteAddress,
      bytesWire: result.wireBody.length,
      bytesBody: result.body.length,
      contentType: result.contentType,
      title: more.title === '' ? undefined : more.title,
      contentHash: more.hash?.toString('hex'),
      simhash: words > 0 ? keyHex(verdict!.simhashHi, verdict!.simhashLo) : undefined,
      duplicateOf: verdict?.kind === 'exact' ? verdict.original?.url : undefined,
      nearDuplicateOf: verdict?.kind === 'near' || verdict?.kind === 'text' ? verdict.original?.url : undefined,
      etag: result.etag,
      lastModified: result.lastModified,
      robots: more.robots.length > 0 ? more.robots : undefined,
      redirectTo: more.redirectTo === '' ? undefined : more.redirectTo,
      attempts: entry.attempts,
      links:
        tally === undefined
          ? undefined
          : { found: tally.found, rejected: tally.rejected, known: tally.known, sent: tally.local + tally.sent },
      warc: stored === undefined ? undefined : { file: stored.segment, offset: stored.offset, length: stored.length },
      detail: result.detail === '' ? undefined : result.detail,
      text: more.text,
    });
    this.#markDirty();
    void now;
  }

  // ── commits ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #markDirty(): void {
    this.#version++;
    if (this.#dirty) return;
    this.#dirty = true;
    this.#dirtySinceMs = this.#context.clock.nowEpochMs();
  }

  #scheduleCommit(now: number): void {
    if (!this.#dirty || this.#committing !== undefined || this.#closed) return;
    const { commitInterval } = this.#context.config.run;
    const full = this.#pages.length >= BATCH_PAGES || this.#output.bytesSinceSync >= BATCH_BYTES;
    const quiet = this.#inFlight + this.#resolving === 0 && this.#frontier.waitUntil(now) > now;
    const due = full ? now : this.#dirtySinceMs + (quiet ? Math.min(IDLE_COMMIT_MS, commitInterval) : commitInterval);
    if (this.#cancelCommit !== undefined && this.#commitDueMs <= due) return;
    this.#cancelCommit?.();
    this.#commitDueMs = due;
    this.#cancelCommit = this.#context.clock.setTimer(Math.min(Math.max(0, due - now), commitInterval), () => {
      this.#cancelCommit = undefined;
      this.#guard(() => void this.#commit());
    });
  }

  /** One group commit: files, then the batch, then everything that may only follow it. */
  #commit(): Promise<void> {
    if (this.#committing !== undefined) return this.#committing;
    this.#committing = this.#commitOnce().then(
      () => {
        this.#committing = undefined;
        this.#pump();
      },
      (error: unknown) => {
        this.#committing = undefined;
        this.#fail(error);
      },
    );
    return this.#committing;
  }

  async #commitOnce(): Promise<void> {
    this.#cancelCommit?.();
    this.#cancelCommit = undefined;
    const { store } = this.#ports;
    this.#endExpiredLeases();
    const seenJob = this.#seen.maintain();
    if (seenJob !== undefined)
      void seenJob.then(
        () => this.#markDirty(),
        (error: unknown) => this.#fail(error),
      );
    const frozen = this.#freeze();
    const marks = await this.#output.sync();
    const { lanes, atMs, inFlight } = frozen;
    const batch: Batch = { ...frozen.batch, marks: JSON.stringify({ ...marks, lanes, atMs, inFlight } satisfies SavedMarks) };
    const durable = store.commit(batch);
    // From here on the store's reads answer for the batch; it is true for others only when it is durable.
    this.#frontier.thawed();
    await durable;
    if (this.#closed && !this.#clean) return;
    this.#commitSeq = batch.commitSeq;
    this.#afterCommit(frozen, batch);
  }

  #freeze(): Frozen {
    this.#frozenSinceMs = this.#dirty ? this.#dirtySinceMs : Number.POSITIVE_INFINITY;
    this.#dirty = false;
    const manifest = this.#seen.pendingManifest();
    const frontier = this.#frontier.freeze();
    const seenDeltas = this.#seen.takeNewKeys();
    const outbox = this.#outbox.freeze();
    const taken: TakenRow[] = [...this.#takenChanged].map((from) => ({ from, ...this.#taken.get(from)! }));
    const acks = new Map(this.#acksDue);
    const totals = this.#totals.snapshot(this.#frontier.queuedCounts);
    const lanes = this.#outbox.lastSeqs();
    const batch: Omit<Batch, 'marks'> = {
      epoch: 1,
      commitSeq: this.#commitSeq + 1,
      clean: this.#clean,
      ...frontier,
      pages: this.#pages,
      pagesGone: this.#pagesGone,
      fates: this.#fates,
      robots: this.#robots.freeze(),
      content: this.#content.freeze(),
      seenDeltas,
      seenManifest: manifest === undefined ? undefined : JSON.stringify(manifest),
      seenDeltasBelow: manifest?.deltasFrom ?? -1,
      outbox,
      outboxDone: this.#outbox.takeDone(),
      taken,
      scopeHosts: this.#scopeHosts,
      nextContentId: this.#content.nextId,
      totals: JSON.stringify(totals),
    };
    this.#pages = [];
    this.#pagesGone = [];
    this.#fates = [];
    this.#scopeHosts = [];
    this.#takenChanged.clear();
    this.#acksDue.clear();
    this.#frozenRedirects = this.#uncommittedRedirects;
    this.#uncommittedRedirects = new Set();
    const atMs = this.#context.clock.nowEpochMs();
    return {
      batch,
      totals,
      acks,
      lanes,
      takenSeq: this.#takenSeqs(),
      hasManifest: manifest !== undefined,
      atMs,
      inFlight: [...this.#requests.values()],
    };
  }

  #afterCommit(frozen: Frozen, batch: Batch): void {
    this.#frozenSinceMs = Number.POSITIVE_INFINITY;
    this.#robots.thawed();
    this.#frozenRedirects = new Set();
    if (frozen.hasManifest) this.#seen.manifestCommitted();
    this.#committedTotals = frozen.totals;
    this.#committedSentSeq = frozen.lanes;
    this.#committedTakenSeq = frozen.takenSeq;
    for (const message of this.#outbox.committed()) this.#context.channel.send(message);
    for (const [from, refused] of frozen.acks) this.#acknowledge(from, frozen.takenSeq[from] ?? 0, refused);
    this.#publishContent();
    this.#checkDisk();
    this.#events.committed(this.id, batch.commitSeq, batch.pages.length);
  }

  #publishContent(): void {
    const entries = this.#content.thawed();
    if (entries.length === 0) return;
    for (let to = 0; to < this.#context.shards; to++) {
      if (to !== this.id) this.#context.channel.send({ kind: 'content', from: this.id, to, entries });
    }
  }

  /** Free space under the reserve stops new leases; they go on when there is space again. */
  #checkDisk(): void {
    const now = this.#context.clock.nowEpochMs();
    if (now - this.#lastDiskCheckMs < 1_000) return;
    this.#lastDiskCheckMs = now;
    const { reserve } = this.#context.config.output;
    const free = this.#ports.disk.freeBytes();
    if (free < reserve && this.#paused === '') {
      this.#events.notice(
        this.id,
        `only ${Math.floor(free / 1_048_576)} MiB are free, less than the reserve of ${Math.floor(reserve / 1_048_576)} MiB: the crawl pauses until there is space`,
      );
      this.#setPaused('disk');
    } else if (free >= reserve && this.#paused === 'disk') {
      this.#events.notice(this.id, 'there is space again: the crawl goes on');
      this.#setPaused('');
    }
    if (this.#paused === 'disk') this.#context.clock.setTimer(5_000, () => this.#guard(() => this.#checkDisk()));
  }

  #setPaused(paused: ShardStatus['paused']): void {
    this.#paused = paused;
    this.#version++;
    if (paused === '') this.#pump();
  }

  #endExpiredLeases(): void {
    const now = this.#context.clock.nowEpochMs();
    for (const lease of this.#frontier.expiredLeases(now)) {
      this.#events.notice(this.id, `a lease of ${lease.host.record.key} expired; its URL is handed out again`);
      this.#context.metrics.count('portolan_leases_expired_total');
      this.#aborts.get(lease.id)?.();
    }
  }

  #takenSeqs(): Record<string, number> {
    return Object.fromEntries([...this.#taken].map(([from, taken]) => [from, taken.seq]));
  }

  // ── operator ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  status(): ShardStatus {
    const now = this.#context.clock.nowEpochMs();
    const stats = this.#frontier.stats();
    const quiet = this.#inFlight + this.#resolving === 0 && !this.#dirty && this.#committing === undefined;
    return {
      shard: this.id,
      idle: quiet && this.#frontier.idle && this.#outbox.unacked === 0 && this.#outbox.openFinds === 0 && this.#errands.size === 0,
      version: this.#version,
      commitSeq: this.#commitSeq,
      totals: this.#committedTotals,
      sentSeq: this.#committedSentSeq,
      takenSeq: this.#committedTakenSeq,
      inFlight: this.#inFlight,
      active: stats.active,
      hosts: stats.hosts,
      apartHosts: this.#frontier.apartHosts,
      apartUrls: this.#frontier.apartCount,
      waitMs: Math.max(0, this.#frontier.waitUntil(now) - now),
      paused: this.#paused,
    };
  }

  pause(): void {
    if (this.#paused === '') this.#setPaused('operator');
  }

  resume(): void {
    if (this.#paused === 'operator') this.#setPaused('');
  }

  /** Leases nothing more, lets exchanges in flight end, commits, and closes. */
  async stop(): Promise<void> {
    if (this.#closed) return;
    this.#paused = 'stopping';
    while (this.#inFlight + this.#resolving > 0 && !this.#closed) await this.#sleep(20);
    for (;;) {
      await this.#committing;
      if (this.#closed) return;
      if (!this.#dirty) break;
      await this.#commit();
    }
    this.#clean = true;
    this.#dirty = true;
    await this.#commit();
    this.close();
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#context.clock.setTimer(ms, resolve));
  }

  #fail(error: unknown): void {
    if (this.#closed) return;
    this.close();
    if (error instanceof SeenDamaged) this.#giveUpSeenRuns();
    this.#events.failed(this.id, error instanceof Error ? error : new PortolanError('PORTOLAN_ENGINE_INVARIANT', String(error)));
  }

  /** A damaged block is met only when it is read: without its runs the next open rebuilds the set from the rows. */
  #giveUpSeenRuns(): void {
    const { disk } = this.#ports;
    for (const name of disk.list('seen')) if (isRunName(name)) disk.remove(`seen/${name}`);
  }

  /** Lets everything go without a commit. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelPump?.();
    this.#cancelCommit?.();
    for (const abort of this.#aborts.values()) abort();
    this.#aborts.clear();
    this.#seen?.close();
    this.#near.close();
    this.#output.close();
    this.#ports.store.close();
  }
}

interface Frozen {
  readonly batch: Omit<Batch, 'marks'>;
  readonly totals: TotalsSnapshot;
  readonly acks: ReadonlyMap<number, readonly number[]>;
  readonly lanes: Record<string, number>;
  readonly takenSeq: Record<string, number>;
  readonly hasManifest: boolean;
  readonly atMs: EpochMs;
  readonly inFlight: SavedMarks['inFlight'];
}

interface StoredBody {
  readonly segment: string;
  readonly offset: number;
  readonly length: number;
  readonly payloadSha1: string;
}

interface PageFindings {
  readonly hash: Buffer | undefined;
  readonly verdict: ContentVerdict | undefined;
  readonly stored: StoredBody | undefined;
  readonly tally: LinkTally | undefined;
  readonly title: string;
  readonly canonical: string | undefined;
  readonly redirectTo: string;
  readonly robots: readonly string[];
  readonly text: string | undefined;
}

const NO_BYTES = new Uint8Array(0);
const ROBOTS_ENTRY: QueueEntry = {
  https: false,
  pathQuery: '/robots.txt',
  keyHi: 0,
  keyLo: 0,
  kind: 'link',
  depth: 0,
  via: '',
  foundAtS: 0,
  attempts: 0,
  notBeforeMs: 0,
  chain: undefined,
};
const EMPTY_PAGE: PageRow = {
  hostId: 0,
  keyHi: 0,
  keyLo: 0,
  url: '',
  status: 0,
  outcome: 'redirect',
  fetchedAtMs: 0,
  etag: '',
  lastModified: '',
  contentHash: undefined,
  simhashHi: 0,
  simhashLo: 0,
  words: 0,
  duplicateOf: '',
  duplicateKind: '',
  changeRate: 0,
  nextFetchMs: 0,
  segment: '',
  offset: 0,
  length: 0,
  via: '',
  depth: 0,
  foundAtS: 0,
  attempts: 0,
  bodyBytes: 0,
  durationMs: 0,
};

function gapOptions(config: ThreadContext['config']) {
  const { delay, delayFactor, delayFactorMax, retryAfterMax } = config.politeness;
  return { delayMs: delay, delayFactor, delayFactorMaxMs: delayFactorMax, retryAfterMaxMs: retryAfterMax };
}

function errandAnswerOf(result: ExchangeResult): ErrandAnswer {
  if (result.status === 0 || result.outcome === 'decode-error' || result.outcome === 'timeout' || result.outcome === 'reset')
    return { kind: 'failed', code: result.outcome };
  return { kind: 'response', status: result.status, body: result.body, cacheControl: result.headers.first('cache-control') ?? '' };
}

function lossOf(report: SegmentOpenReport): string {
  return report.short ? `has lost ${report.missingBytes} bytes that were committed` : 'is not what was committed';
}

function parseMarks(text: string): SavedMarks {
  if (text === '') return { warc: undefined, pages: undefined, ledger: undefined, lanes: {}, atMs: 0, inFlight: [] };
  return JSON.parse(text) as SavedMarks;
}

function hostOfKey(hostKey: string): string {
  const colon = hostKey.lastIndexOf(':');
  return colon < 0 || hostKey.endsWith(']') ? hostKey : hostKey.slice(0, colon);
}

function partsOf(entry: QueueEntry, hostKey: string): SplitUrl {
  return splitUrl(`${entry.https ? 'https' : 'http'}://${hostKey}${entry.pathQuery}`);
}

function urlOf(parts: SplitUrl): string {
  return parts.origin + parts.pathQuery;
}

function entryOfFind(find: Find, parts: SplitUrl): QueueEntry {
  const { keyHi, keyLo, kind, depth, via, foundAtS, chain } = find;
  return {
    https: parts.scheme === 'https',
    pathQuery: detached(parts.pathQuery),
    keyHi,
    keyLo,
    kind,
    depth,
    via,
    foundAtS,
    attempts: 0,
    notBeforeMs: 0,
    chain,
  };
}

function entryOfPage(page: PageRow, parts: SplitUrl): QueueEntry {
  const { keyHi, keyLo, depth, via, foundAtS } = page;
  return {
    https: parts.scheme === 'https',
    pathQuery: parts.pathQuery,
    keyHi,
    keyLo,
    kind: via === '' ? 'seed' : 'link',
    depth,
    via,
    foundAtS,
    attempts: 0,
    notBeforeMs: 0,
    chain: undefined,
  };
}
