/**
 * One simulated process: the engine's coordinator and threads, unchanged, over the simulated ports of one incarnation. The threads' messages to one
 * another take the way through the heap of events, so that the interleaving of shards is part of the run.
 */
import type { Config } from '../config/schema.ts';
import { emptyTotals, type TotalsSnapshot } from '../engine/accounting.ts';
import type { ShardPorts, ThreadContext } from '../engine/context.ts';
import { Coordinator, type CoordinatorEvents, type EndReport } from '../engine/coordinator.ts';
import { newMeta, openMeta, openScopeSeeds } from '../engine/crawl-open.ts';
import { coordinatorOptions, gatePlan, shardsOfThread } from '../engine/crawl-plan.ts';
import { isWantedType } from '../engine/exchanges.ts';
import type { EngineHooks } from '../engine/hooks.ts';
import type { FromThread, ToThread } from '../engine/messages.ts';
import { ShardThread } from '../engine/thread.ts';
import { createThreadContext } from '../engine/thread-context.ts';
import type { ShardStore } from '../ports/shard-store.ts';
import { SimChannel } from './channel.ts';
import type { SimMachineDisk } from './disk.ts';
import type { EventLog } from './event-log.ts';
import type { Faults } from './faults.ts';
import { SimGate } from './gate.ts';
import type { Incarnation } from './incarnation.ts';
import { mix } from './mix.ts';
import type { SimParts } from './parts.ts';
import type { PolitenessWatch } from './politeness-watch.ts';
import { createSimResolver } from './resolver.ts';
import { type NetworkCounts, SimTransport } from './transport.ts';
import { createGeneratedHandler, GENERATED_TYPE } from './web/generated.ts';
import type { SimWeb } from './web/web.ts';

/** What outlives the process: machine, network, servers, checkers. */
export interface World {
  readonly config: Config;
  readonly blocklist: { readonly text: string; readonly atMs: number } | undefined;
  readonly hooks: EngineHooks | undefined;
  /** As from parseSeed. */
  readonly seeds: readonly string[];
  readonly shards: number;
  readonly threads: number;
  readonly seed: number;
  readonly parts: SimParts;
  readonly web: SimWeb;
  readonly disk: SimMachineDisk;
  readonly faults: Faults;
  readonly watch: PolitenessWatch;
  readonly log: EventLog;
  readonly network: NetworkCounts;
  /** The coordinator asks the shards no more often than this. */
  readonly pollMs: number;
  /** The store of a shard for this process, looked at by the checkers. */
  readonly openStore: (life: Incarnation, shard: number) => ShardStore;
}

/** How a process ended by itself. */
export type NodeEnd = Omit<EndReport, 'series'>;

export class SimNode {
  readonly life: Incarnation;
  readonly #world: World;
  readonly #events: CoordinatorEvents;
  #coordinator: Coordinator | undefined;
  #contexts: ThreadContext[] = [];
  #report: NodeEnd | undefined;
  #stop: 'time-limit' | 'stopped' | undefined;

  constructor(world: World, life: Incarnation, events: CoordinatorEvents) {
    this.#world = world;
    this.life = life;
    this.#events = events;
  }

  /** How the process ended by itself; undefined while it runs. */
  get report(): NodeEnd | undefined {
    return this.#report;
  }

  get context(): ThreadContext | undefined {
    return this.#contexts[0];
  }

  /** Begins; an error of the opening is a report with reason `failed`. */
  begin(): void {
    this.life.time.touch();
    this.#open().catch((error: unknown) => {
      const { message = String(error), stack = '' } = error instanceof Error ? error : {};
      const plain = { code: 'PORTOLAN_INTERNAL' as const, message, remedy: '', stack };
      this.#report = { reason: 'failed', statuses: [], metrics: {}, error: plain };
    });
  }

  /** Ends the crawl in an orderly way. */
  stop(reason: 'time-limit' | 'stopped'): void {
    this.#stop = reason;
    this.#coordinator?.stop(reason);
  }

  async #open(): Promise<void> {
    const { config, seeds, shards, threads, parts, disk } = this.#world;
    const { life } = this;
    const now = life.clock().nowEpochMs();
    const root = disk.view(life, '');
    const meta = await openMeta(root, newMeta(config, shards, parts.suffixList, now), false);
    const areas = await openScopeSeeds(root, config.scope.mode, seeds);
    if (!life.alive) return;
    const plan = gatePlan(config, () => this.#totals(meta.shards));
    const gate = new SimGate(plan);
    const channel = new SimChannel(life, this.#world.faults, this.#world.log);
    const runners = Array.from({ length: threads }, (_, thread) => this.#thread(thread, meta.shards, areas, channel));
    const links = runners.map((runner) => ({ post: (message: ToThread) => life.after(0, () => void runner.receive(message)) }));
    const poll = life.clock(this.#world.pollMs);
    this.#coordinator = new Coordinator(
      coordinatorOptions(config, meta.shards, seeds, now),
      poll,
      channel,
      links,
      this.#events,
      (report) => {
        this.#report = report;
      },
    );
    if (this.#stop !== undefined) this.#coordinator.stop(this.#stop);
    this.#blockLater();
    for (const runner of runners) void runner.open((shard) => this.#ports(shard, gate));
  }

  /** As when somebody blocks hosts while the crawl runs. */
  #blockLater(): void {
    const { blocklist } = this.#world;
    if (blocklist === undefined || this.life.time.nowMs >= blocklist.atMs) return;
    this.life.after(blocklist.atMs - this.life.time.nowMs, () => {
      void this.#coordinator?.steer({ type: 'rules', blocklist: { text: blocklist.text, file: 'blocklist' }, hostDelays: {} });
    });
  }

  #totals(shards: number): TotalsSnapshot[] {
    return Array.from({ length: shards }, (_, shard) => {
      const { totals } = this.#world.openStore(this.life, shard).open(shard);
      return totals === '' ? emptyTotals() : (JSON.parse(totals) as TotalsSnapshot);
    });
  }

  #thread(thread: number, shards: number, areas: readonly string[], channel: SimChannel): ShardThread {
    const { config, blocklist, hooks, parts, web, faults, watch, log, network, seed, threads } = this.#world;
    const { life } = this;
    const metrics = parts.createMetrics();
    const context = createThreadContext({
      config: acceptingGenerated(config),
      shards,
      areas,
      blocklist: blocklist !== undefined && life.time.nowMs >= blocklist.atMs ? { text: blocklist.text, file: 'blocklist' } : undefined,
      hooks: { ...hooks, handlers: [createGeneratedHandler(), ...(hooks?.handlers ?? [])] },
      bootId: `sim-${seed}-${life.boot}`,
      configVersion: 'sim',
      version: parts.version,
      clock: life.clock(),
      random: parts.createRandom(mix(seed, life.number, thread, 77)),
      metrics,
      transport: new SimTransport(web, life, faults, watch, log, network),
      resolver: createSimResolver(web, life, faults),
      channel,
      yieldTurn: () => life.wait(0),
    });
    this.#contexts.push(context);
    const post = (message: FromThread): void => life.after(0, () => this.#coordinator?.receive(thread, message));
    return new ShardThread(context, shardsOfThread(thread, threads, shards), metrics, post);
  }

  #ports(shard: number, gate: SimGate): ShardPorts {
    const { parts, disk, openStore } = this.#world;
    return {
      store: openStore(this.life, shard),
      disk: disk.view(this.life, `state/shard-${shard}/`),
      blobs: parts.createBlobs(disk.view(this.life, '')),
      gate: gate.of(shard + 1),
    };
  }
}

/** Pages as they are generated count as HTML. */
function acceptingGenerated(config: Config): Config {
  const { accept } = config.fetch;
  return isWantedType(accept, 'text/html') ? { ...config, fetch: { ...config.fetch, accept: [...accept, GENERATED_TYPE] } } : config;
}
