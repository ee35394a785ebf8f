/**
 * A simulated crawl from beginning to end: builds the world of a seed, runs the engine in it through kills and faults, and looks at what came out.
 *
 * The same seed and options give the same run, event by event; `eventHash` says so. Phase one injects faults until faults.untilMs; phase two heals,
 * and the crawl must finish (unless its time, `forMs`, is up before). Everything that the checkers find is in `findings`; a run without any is clean.
 * Not simulated: CPU time (work takes no virtual time), SQLite, sockets, TLS.
 */
import type { Config } from '../config/schema.ts';
import { emptyTotals, type Overall, overall, type TotalsSnapshot } from '../engine/accounting.ts';
import type { Constraint } from '../engine/binding-constraint.ts';
import type { CoordinatorEvents, EndReport } from '../engine/coordinator.ts';
import type { EngineHooks } from '../engine/hooks.ts';
import type { ShardStatus } from '../engine/shard.ts';
import type { CrawlView } from '../engine/watch.ts';
import type { ShardStore } from '../ports/shard-store.ts';
import { parseSeed } from '../url/index.ts';
import { CommitWatch } from './commit-watch.ts';
import { SimMachineDisk } from './disk.ts';
import { EventLog, type LoggedEvent } from './event-log.ts';
import { type FaultName, type FaultOptions, Faults, type Message, NO_FAULTS, type Operation } from './faults.ts';
import { type Check, Findings } from './findings.ts';
import { Incarnation } from './incarnation.ts';
import { mix } from './mix.ts';
import { SimNode, type World } from './node.ts';
import type { SimParts, SimStores } from './parts.ts';
import { PolitenessWatch } from './politeness-watch.ts';
import { type Recount, recount } from './recount.ts';
import { type Sample, Series, sampleOf } from './series.ts';
import type { NetworkCounts } from './transport.ts';
import { VirtualTime } from './virtual-time.ts';
import type { WebOptions } from './web/options.ts';
import { SimWeb } from './web/web.ts';

export interface SimulationOptions {
  /** Without seeds of its own it begins at the first `seedCount` sites. */
  readonly config: Config;
  readonly web: WebOptions;
  readonly seed: number;
  /** Default 10. */
  readonly seedCount?: number;
  /** Virtual time after which the crawl is ended, milliseconds; 0 (default): when it is finished. */
  readonly forMs?: number;
  readonly faults?: FaultOptions;
  /** Text of a blocklist, put into force at a virtual millisecond; default none. */
  readonly blocklist?: { readonly text: string; readonly atMs: number };
  /** As of a program that runs the crawl; default none. */
  readonly hooks?: EngineHooks;
  /** Threads of the simulated process. Default 2, at most one for each shard. */
  readonly threads?: number;
  /** Keep WARC, pages and ledger in memory: needed for kills and for the verifier. Default true. */
  readonly keepOutput?: boolean;
  /** Keep every row, count them and follow every link when the crawl has ended. Default true. */
  readonly checkRows?: boolean;
  /** Least time between two questions of the coordinator, milliseconds; 0: as in the engine. Default 10,000: asking costs more than the crawl while all wait. */
  readonly pollMs?: number;
  /** Wall time at which it begins. */
  readonly startEpochMs?: number;
  /** What the politeness watch takes for the configuration, when it is another: to see that it sees. */
  readonly watchConfig?: Config;
  readonly onEvent?: (event: LoggedEvent) => void;
  readonly onNotice?: (atMs: number, shard: number, text: string) => void;
}

export interface SimulationResult {
  readonly seed: number;
  readonly reason: EndReport['reason'] | 'stuck';
  /** 16 hexadecimal digits over all events. */
  readonly eventHash: string;
  readonly events: number;
  /** Virtual time that it took, milliseconds. */
  readonly tookMs: number;
  readonly exchanges: number;
  readonly inFlightMax: number;
  readonly commits: number;
  readonly starts: number;
  readonly shards: number;
  readonly overall: Overall;
  readonly totals: readonly TotalsSnapshot[];
  readonly last: Sample;
  readonly series: readonly Sample[];
  readonly metrics: Readonly<Record<string, number>>;
  readonly faults: Partial<Record<FaultName, number>>;
  /** How the exchanges ended, by outcome; empty without output. */
  readonly exchangeOutcomes: Readonly<Record<string, number>>;
  /** Operations of storage, and messages, for failing each of them in turn. */
  readonly operations: number;
  readonly messages: number;
  /** What kind the one was that failed so. */
  readonly failed: Operation | Message | undefined;
  readonly checked: number;
  readonly findings: Partial<Record<Check, number>>;
  readonly findingLines: readonly string[];
  readonly recount: Recount | undefined;
  readonly tail: readonly TailHost[];
  /** What kept the crawl from being faster, by the time that it did, most first; in the engine's own words at the last such moment. */
  readonly constraints: readonly { readonly constraint: Constraint; readonly share: number; readonly words: string }[];
}

/** A host with URLs left. */
export interface TailHost {
  readonly host: string;
  readonly queued: number;
  readonly fetched: number;
  readonly gapMs: number;
  readonly gapRule: string;
  readonly state: string;
}

const START_EPOCH_MS = 1_767_225_600_000; // 2026-01-01
const SYNC_MS = 4;
const POLL_MS = 10_000;
/** Phase two must come to an end within this. */
const FINISH_WITHIN_MS = 400 * 86_400_000;
const STARTS_MAX = 10_000;
const RESTART_MS = 1_000;
/** So long may pass without any request while URLs wait and no host asks for more. */
const STALL_MS = 40 * 86_400_000;
const TAIL_HOSTS = 10;
const STORAGE_FAULTS: readonly FaultName[] = ['append-failed', 'sync-failed', 'commit-failed', 'disk-full', 'operation-failed'];

/** The web of a seed, as a simulation of that seed meets it. */
export function simulatedWeb(seed: number, options: WebOptions): SimWeb {
  return new SimWeb(mix(seed, 2), options);
}

export function runSimulation(options: SimulationOptions, parts: SimParts): Promise<SimulationResult> {
  return new Simulation(options, parts).run();
}

class Simulation {
  readonly #options: SimulationOptions;
  readonly #parts: SimParts;
  readonly #time: VirtualTime;
  readonly #wall: { offsetMs: number };
  readonly #findings = new Findings();
  readonly #log: EventLog;
  readonly #faults: Faults;
  readonly #stores: SimStores;
  readonly #commits: CommitWatch;
  readonly #series = new Series();
  readonly #network: NetworkCounts = { exchanges: 0, inFlight: 0, inFlightMax: 0, bytes: 0 };
  readonly #world: World;
  #starts = 0;
  #node: SimNode | undefined;
  #lastMetrics: Readonly<Record<string, number>> = {};
  #healed = false;
  #boot = 1;
  #lastProgressMs = 0;
  readonly #constraints = new Map<Constraint, { ms: number; words: string }>();
  #progress = { exchanges: 0, atMs: 0 };

  constructor(options: SimulationOptions, parts: SimParts) {
    this.#options = options;
    this.#parts = parts;
    const { config, seed, web: webOptions } = options;
    this.#time = new VirtualTime(parts.hop);
    this.#wall = { offsetMs: options.startEpochMs ?? START_EPOCH_MS };
    this.#log = new EventLog(options.onEvent);
    this.#faults = new Faults(options.faults ?? NO_FAULTS, parts.createRandom(mix(seed, 1)), this.#time);
    this.#stores = parts.createStores(options.checkRows ?? true);
    this.#commits = new CommitWatch(this.#time, this.#findings, this.#log);
    const web = simulatedWeb(seed, webOptions);
    const shards = config.run.shards ?? 4;
    const seeds = (config.seeds.length > 0 ? config.seeds : web.seeds(options.seedCount ?? 10)).map(parseSeed);
    this.#world = {
      config,
      blocklist: options.blocklist,
      hooks: options.hooks,
      seeds,
      shards,
      threads: Math.min(options.threads ?? 2, shards),
      seed,
      parts,
      web,
      disk: new SimMachineDisk(this.#faults, options.keepOutput ?? true),
      faults: this.#faults,
      watch: new PolitenessWatch(options.watchConfig ?? config, this.#findings),
      log: this.#log,
      network: this.#network,
      pollMs: options.pollMs ?? POLL_MS,
      openStore: (life, shard) => this.#openStore(life, shard),
    };
  }

  async run(): Promise<SimulationResult> {
    const { forMs = 0 } = this.#options;
    const endMs = forMs > 0 ? forMs : Number.POSITIVE_INFINITY;
    let reason: SimulationResult['reason'] | undefined;
    while (reason === undefined) reason = await this.#oneLife(endMs);
    return this.#result(reason);
  }

  /** One process from its start to its end; the reason when the crawl is over with it. */
  async #oneLife(endMs: number): Promise<SimulationResult['reason'] | undefined> {
    if (++this.#starts > STARTS_MAX) return this.#giveUp('unfinished', `${STARTS_MAX} starts were not enough`);
    const life = new Incarnation(this.#starts, this.#time, this.#wall, this.#boot);
    const storageFaults = this.#storageFaults();
    this.#log.add('start', this.#time.nowMs, life.number);
    const node = new SimNode(this.#world, life, this.#events());
    this.#node = node;
    node.begin();
    const killAtMs = this.#nextKillMs();
    for (;;) {
      const untilMs = Math.min(killAtMs, endMs, this.#healAtMs(), this.#time.nowMs + STALL_MS, FINISH_WITHIN_MS);
      const how = await this.#time.run(untilMs, () => node.report !== undefined || this.#faults.powerGoes || this.#faults.processDies);
      if (this.#faults.powerGoes || this.#faults.processDies) {
        await this.#kill(node, this.#faults.powerGoes);
        return undefined;
      }
      if (how === 'over') return this.#ended(node, storageFaults);
      if (how === 'empty') return this.#giveUp('stalled', 'nothing is left to happen, and the crawl is not over');
      if (this.#time.nowMs >= FINISH_WITHIN_MS) return this.#giveUp('unfinished', 'the crawl does not come to an end');
      if (this.#time.nowMs >= endMs) {
        node.stop('time-limit');
        endMs = Number.POSITIVE_INFINITY;
        continue;
      }
      const isHeal = this.#time.nowMs >= this.#healAtMs();
      if (isHeal) this.#healed = true;
      if (this.#time.nowMs >= killAtMs || (isHeal && this.#mustRestartToHeal())) {
        await this.#kill(node, this.#faults.random.next() < this.#faults.options.powerCuts);
        return undefined;
      }
      if (!isHeal && this.#network.exchanges === this.#progress.exchanges && this.#time.nowMs - this.#progress.atMs >= STALL_MS)
        return this.#giveUp('stalled', `no request for ${STALL_MS / 86_400_000} days`);
      if (this.#network.exchanges !== this.#progress.exchanges)
        this.#progress = { exchanges: this.#network.exchanges, atMs: this.#time.nowMs };
    }
  }

  #giveUp(check: Check, text: string): 'stuck' {
    this.#findings.report(check, this.#time.nowMs, text);
    return 'stuck';
  }

  #healAtMs(): number {
    const { untilMs } = this.#faults.options;
    return untilMs > 0 && !this.#healed ? untilMs : Number.POSITIVE_INFINITY;
  }

  /** Lost messages are sent again when the process starts anew, and not before. */
  #mustRestartToHeal(): boolean {
    return this.#faults.options.linkLost > 0;
  }

  #nextKillMs(): number {
    const { killEveryMs } = this.#faults.options;
    if (killEveryMs === 0 || !this.#faults.active) return Number.POSITIVE_INFINITY;
    return this.#time.nowMs + Math.ceil(-killEveryMs * Math.log(1 - this.#faults.random.next()));
  }

  async #kill(node: SimNode, isPowerCut: boolean): Promise<void> {
    const { random, options } = this.#faults;
    this.#faults.powerGone();
    this.#faults.fired(isPowerCut ? 'power-cut' : 'kill');
    await this.#down(
      node,
      isPowerCut ? 'power-cut' : 'killed',
      100 + random.int(Math.max(1, options.downMsMax)) + (isPowerCut ? 30_000 : 0),
    );
  }

  /** The process is gone; after `downMs` somebody starts it again. */
  async #down(node: SimNode, how: 'killed' | 'power-cut' | 'storage-failed', downMs: number): Promise<void> {
    const isPowerCut = how === 'power-cut';
    const { nowMs } = this.#time;
    node.life.kill();
    this.#network.inFlight = 0;
    this.#world.watch.killed(nowMs, how);
    this.#log.add(how, nowMs, node.life.number);
    for (let shard = 0; shard < this.#world.shards; shard++) {
      const lost = this.#stores.crash(shard, isPowerCut ? 'lost' : 'kept');
      if (lost && isPowerCut) this.#faults.fired('lost-batch');
    }
    if (isPowerCut) {
      this.#world.disk.powerCut();
      this.#boot++;
    }
    this.#time.after(downMs, () => {}); // time goes on, also when nothing else is to happen
    // Time passes even when nothing else is left to happen.
    this.#time.at(nowMs + downMs, () => {});
    await this.#time.run(nowMs + downMs, () => false);
    this.#stepClock();
  }

  #stepClock(): void {
    const { clockBack, clockForward } = this.#faults.options;
    if (this.#faults.strikes('clock-back', clockBack)) this.#wall.offsetMs -= this.#faults.random.int(86_400_000);
    if (!this.#faults.strikes('clock-forward', clockForward)) return;
    this.#wall.offsetMs += this.#faults.random.int(86_400_000);
    this.#world.watch.clockJumped();
  }

  async #ended(node: SimNode, storageFaultsBefore: number): Promise<SimulationResult['reason'] | undefined> {
    const { reason, error, metrics } = node.report!;
    this.#lastMetrics = metrics;
    if (reason !== 'failed') {
      this.#series.add(this.#time.nowMs, node.report!.statuses);
      node.life.kill();
      return reason;
    }
    this.#log.add('failed', this.#time.nowMs, error?.code ?? '');
    if (this.#storageFaults() === storageFaultsBefore) {
      this.#findings.report('failed', this.#time.nowMs, `${error?.code}: ${error?.message}\n${error?.stack ?? ''}`);
      return 'stuck';
    }
    await this.#down(node, 'storage-failed', RESTART_MS);
    return undefined;
  }

  #storageFaults(): number {
    const counts = this.#faults.counts();
    return STORAGE_FAULTS.reduce((sum, name) => sum + (counts[name] ?? 0), 0);
  }

  #openStore(life: Incarnation, shard: number): ShardStore {
    const { options } = this.#faults;
    const sync = (): Promise<void> => {
      const failing = this.#faults.operation('commit') || this.#faults.strikes('commit-failed', options.commitFailed);
      return life.wait(SYNC_MS + this.#faults.slowSyncMs(), () =>
        failing ? new Error('the log cannot be synced (simulated)') : undefined,
      );
    };
    const store = this.#commits.over(this.#stores.open(shard, sync), shard);
    const open = store.open.bind(store);
    store.open = (id) => {
      const opened = open(id);
      this.#commits.reopened(shard, opened.commitSeq, opened.totals);
      return opened;
    };
    return store;
  }

  #events(): CoordinatorEvents {
    return {
      committed: () => {},
      notice: (shard, text) => {
        this.#log.add('notice', this.#time.nowMs, shard, text);
        this.#options.onNotice?.(this.#time.nowMs, shard, text);
      },
      progress: (statuses, view) => this.#onProgress(statuses, view),
    };
  }

  #onProgress(statuses: readonly ShardStatus[], view: CrawlView): void {
    const { nowMs } = this.#time;
    const spentMs = nowMs - this.#lastProgressMs;
    this.#lastProgressMs = nowMs;
    const spent = this.#constraints.get(view.constraint);
    if (spent === undefined) this.#constraints.set(view.constraint, { ms: spentMs, words: view.constraintWords });
    else {
      spent.ms += spentMs;
      spent.words = view.constraintWords;
    }
    const { backQueues } = this.#world.config.frontier;
    const { connections } = this.#world.config.fetch;
    const active = statuses.reduce((sum, status) => sum + status.active, 0);
    this.#findings.expect(active <= backQueues, 'bound', nowMs, () => `${active} hosts hold back queues, ${backQueues} may`);
    for (const { shard, inFlight } of statuses) {
      const most = Math.ceil(connections / statuses.length);
      this.#findings.expect(inFlight <= most, 'bound', nowMs, () => `shard ${shard} has ${inFlight} exchanges in flight, ${most} may be`);
    }
    if (this.#series.isDue(nowMs)) this.#series.add(nowMs, statuses);
  }

  #result(reason: SimulationResult['reason']): SimulationResult {
    const { shards } = this.#world;
    const { nowMs } = this.#time;
    const stores = Array.from({ length: shards }, (_, shard) => this.#stores.open(shard, async () => {}));
    const opened = stores.map((store, shard) => store.open(shard));
    const totals = opened.map((one) => (one.totals === '' ? emptyTotals() : (JSON.parse(one.totals) as TotalsSnapshot)));
    const context = this.#node?.context;
    const isWhole = reason !== 'stuck' && reason !== 'failed' && context !== undefined && (this.#options.checkRows ?? true);
    const rows = isWhole ? recount(stores, opened, totals, context, this.#world.web, this.#findings, nowMs) : undefined;
    this.#findings.expect(this.#world.watch.openExchanges === 0, 'exchange-end', nowMs, () => 'exchanges are still open at the end');
    const exchangeOutcomes = this.#verify(opened.map(({ marks }) => marks));
    const statuses = this.#node?.report?.statuses ?? [];
    return {
      seed: this.#options.seed,
      reason,
      eventHash: this.#log.hash(),
      events: this.#log.count,
      tookMs: nowMs,
      exchanges: this.#network.exchanges,
      inFlightMax: this.#network.inFlightMax,
      commits: this.#commits.commits,
      starts: this.#starts,
      shards,
      overall: overall(totals),
      totals,
      last: sampleOf(nowMs, statuses),
      series: this.#series.samples,
      metrics: this.#lastMetrics,
      faults: this.#faults.counts(),
      exchangeOutcomes,
      operations: this.#faults.operations,
      messages: this.#faults.messages,
      failed: this.#faults.failed,
      checked: this.#findings.checked,
      findings: this.#findings.counts(),
      findingLines: this.#findings.lines(),
      recount: rows,
      tail: tailOf(stores),
      constraints: this.#constraintShares(),
    };
  }

  #constraintShares(): SimulationResult['constraints'] {
    const all = [...this.#constraints];
    const whole = Math.max(
      1,
      all.reduce((sum, [, { ms }]) => sum + ms, 0),
    );
    return all.sort((a, b) => b[1].ms - a[1].ms).map(([constraint, { ms, words }]) => ({ constraint, share: ms / whole, words }));
  }

  /** The ledger of the whole crawl goes to the offline verifier, which knows nothing of the scheduler. */
  #verify(marks: readonly string[]): Readonly<Record<string, number>> {
    if (this.#options.keepOutput === false) return {};
    const reader = new Incarnation(0, this.#time, this.#wall);
    const { requests, objections, outcomes } = this.#parts.verify(this.#parts.createBlobs(this.#world.disk.view(reader, '')), marks);
    for (const text of objections) this.#findings.report('verify', this.#time.nowMs, text);
    this.#findings.passed(requests);
    return outcomes;
  }
}

/** The hosts with the most URLs left. */
function tailOf(stores: readonly ShardStore[]): TailHost[] {
  const most: { readonly store: ShardStore; readonly id: number; readonly queued: number }[] = [];
  for (const store of stores) {
    store.scanHosts(({ id, queued }) => {
      if (queued === 0 || (most.length === TAIL_HOSTS && queued <= most.at(-1)!.queued)) return;
      most.push({ store, id, queued });
      most.sort((a, b) => b.queued - a.queued || a.id - b.id);
      if (most.length > TAIL_HOSTS) most.pop();
    });
  }
  return most.map(({ store, id, queued }) => {
    const { key, fetched, owedMs, gapRule, state } = store.readHost(id)!;
    return { host: key, queued, fetched, gapMs: owedMs, gapRule, state };
  });
}
