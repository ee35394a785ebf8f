/**
 * The one file that names concrete adapters: it puts a node together on the main thread (`runCrawl`) (compose-thread.ts: in each of its threads).
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import tldts from 'tldts/package.json' with { type: 'json' };
import { openDisk } from './adapters/file/disk.ts';
import { createGateMemory } from './adapters/node/address-gate.ts';
import { readCertificates } from './adapters/node/certificates.ts';
import { createSystemClock } from './adapters/node/clock.ts';
import { type ControlSocket, serveControl } from './adapters/node/control-socket.ts';
import { createThreadChannel } from './adapters/node/link-channel.ts';
import { createNodeResolver } from './adapters/node/resolver.ts';
import { spawnThreads, type WarmThread } from './adapters/node/threads.ts';
import { lockCrawl } from './adapters/sqlite/crawl-lock.ts';
import { createSqliteStore } from './adapters/sqlite/shard-store.ts';
import type { Config } from './config/schema.ts';
import { PortolanError } from './core/errors.ts';
import { emptyTotals, type TotalsSnapshot } from './engine/accounting.ts';
import { Coordinator, type CoordinatorEvents, type EndReport } from './engine/coordinator.ts';
import { CRAWL_META, hashText, newMeta, openMeta, openScopeSeeds, writeStoredConfig } from './engine/crawl-open.ts';
import { coordinatorOptions, gatePlan, shardsOfThread, threadOfShard } from './engine/crawl-plan.ts';
import type { DeliveryItem, DeliveryPlan } from './engine/delivery.ts';
import { dnsOverrides } from './engine/dns-overrides.ts';
import { HostRuleTable } from './engine/host-rules.ts';
import type { FromThread, ToThread } from './engine/messages.ts';
import { AddedSeedNumbers } from './engine/seed-messages.ts';
import { shownConfig } from './engine/shown-config.ts';
import { blocklistWith, encodeAnswer, refusalOf, STEERING_LINE_BYTES_MAX } from './engine/steering.ts';
import { SteeringDesk } from './engine/steering-desk.ts';
import { SteeringLog } from './engine/steering-log.ts';
import { recordHooks } from './library/hooks-record.ts';
import { createAddressGuard } from './net/address-guard.ts';
import { readRanks } from './read-ranks.ts';
import { Blocklist } from './scope/blocklist.ts';
import { createScope } from './scope/scope.ts';
import { shardFile, type ThreadData } from './thread-data.ts';
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS, parseSeed, registrableDomain, shardOf, splitUrl } from './url/index.ts';
import { VERSION } from './version.ts';
import { workerEntry } from './warm.ts';

const BLOCKLIST_POLL_MS = 1_000;
/** Seeds that the threads know of, for the warcinfo record. */
const SEEDS_SHOWN = 100;

export interface CrawlHandle {
  /** Ends in an orderly way. */
  stop(): void;
  pause(): void;
  resume(): void;
  /** The program is done with every page and drop of the shard up to item `seq`. */
  given(shard: number, seq: number): void;
  /** The program takes nothing more: what waits is for the next run. */
  abandon(): void;
  readonly ended: Promise<CrawlReport>;
}

export interface CrawlReport extends EndReport {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly shards: number;
  readonly dir: string;
  readonly config: Config;
}

export interface RunOptions {
  readonly force: boolean;
  readonly events: CoordinatorEvents;
  /** A thread that was started ahead; used when it is as large as the configuration wants. */
  readonly warm?: WarmThread;
  /** Module of hooks, as a URL that every thread imports. */
  readonly hooks?: string | undefined;
  /** What `items` is called with; nothing when absent. `window`: over all shards. */
  readonly delivery?: DeliveryPlan | undefined;
  readonly items?: (shard: number, items: readonly DeliveryItem[]) => void;
}

/** Starts or resumes the crawl in config.output.dir. Throws PortolanError before anything is fetched when something is not right. */
export async function runCrawl(config: Config, options: RunOptions): Promise<CrawlHandle> {
  const clock = createSystemClock();
  const startedAtMs = clock.nowEpochMs();
  const dir = resolve(config.output.dir);
  const seeds = config.seeds.map(parseSeed);
  checkParts(config, seeds);
  requireSeeds(dir, seeds);
  const file = readBlocklist(config);
  const disk = openDisk(dir); // makes it, with its name durable
  const unlock = lockCrawl(join(dir, 'state', 'lock.db'));
  let closeLog = (): void => {};
  try {
    const wanted = newMeta(config, Math.max(4, availableParallelism()), tldts.version, startedAtMs);
    const isNew = !disk.exists(CRAWL_META) && !disk.list('state').some((name) => name.startsWith('shard-'));
    const meta = await openMeta(disk, wanted, options.force);
    const log = await SteeringLog.open(disk);
    closeLog = () => log.close();
    const { blocks, delays: hostDelays, seeds: addedSeeds } = log.state;
    const blocklist = blocklistWith(file, blocks);
    if (blocklist !== undefined && blocks.length > 0) Blocklist.parse(blocklist.text, blocklist.file);
    const [areas, otherHooks] = await Promise.all([
      openScopeSeeds(disk, config.scope.mode, [...seeds, ...addedSeeds.flatMap(({ urls }) => urls)]),
      recordHooks(disk, options.hooks, isNew),
      writeStoredConfig(disk, shownConfig(config), SEEDS_SHOWN),
    ]);
    if (otherHooks !== undefined) options.events.notice(-1, otherHooks);
    const threads = Math.min(config.run.threads ?? availableParallelism(), meta.shards);
    const gateOptions = gatePlan(config, () => readTotals(dir, meta.shards));
    const gate = createGateMemory(gateOptions);
    // The shard that has work first is opened first, in the thread that is ready first.
    const first = shardOfSeed(seeds[0], meta.shards);
    const data: ThreadData[] = Array.from({ length: threads }, (_, thread) => ({
      config: { ...config, seeds: config.seeds.slice(0, SEEDS_SHOWN) },
      areas,
      shards: meta.shards,
      own: shardsOfThread(thread, threads, meta.shards).sort((a, b) => Number(b === first) - Number(a === first) || a - b),
      isNew,
      threads,
      dir,
      gate,
      gateOptions,
      bootId: bootId(clock.nowEpochMs()),
      configVersion: hashText(
        JSON.stringify(shownConfig(config)) + (Object.keys(hostDelays).length === 0 ? '' : JSON.stringify(hostDelays)),
      ),
      blocklist,
      hostDelays,
      hooks: options.hooks,
      delivery: options.delivery && { ...options.delivery, window: Math.max(1, Math.ceil(options.delivery.window / meta.shards)) },
    }));
    const group = spawnThreads(workerEntry(), data, {
      memoryBytes: config.run.memory,
      warm: options.warm,
      first: threadOfShard(first, threads),
    });
    const channel = createThreadChannel(-1, (shard) => threadOfShard(shard, threads));
    group.ports.forEach((port, thread) => {
      channel.connect(thread, port);
    });
    const { promise, resolve: end } = Promise.withResolvers<CrawlReport>();
    let stopBlocklist = (): void => {};
    let control: ControlSocket | undefined;
    let isOver = false;
    let isAbandoned = false;
    const finish = (report: EndReport): void => {
      stopBlocklist();
      for (const port of group.ports) port.close();
      void Promise.all(group.threads.map((thread) => thread.terminate())).then(() => {
        log.close();
        unlock();
        // Who waits for the end of the crawl is told by this, so it comes last.
        isOver = true;
        control?.close();
        end({ ...report, startedAtMs, endedAtMs: clock.nowEpochMs(), shards: meta.shards, dir, config });
      });
    };
    const numbers = new AddedSeedNumbers(meta.shards, createCanonicalizer(DEFAULT_CANONICAL_OPTIONS));
    const given = coordinatorOptions(config, meta.shards, seeds, startedAtMs);
    const coordinator = new Coordinator(
      { ...given, seeds: [...given.seeds, ...addedSeeds.flatMap(({ urls, atMs }) => numbers.next(urls, atMs))], isNew, disk },
      clock,
      channel,
      group.threads as readonly { post(message: ToThread): void }[],
      options.events,
      finish,
    );
    group.threads.forEach((thread, number) => {
      thread.onMessage((message) => {
        const said = message as FromThread;
        // A thread that was not open yet has not heard it.
        if (said.type === 'opened' && isAbandoned) group.threads[number]?.post({ type: 'abandon' } satisfies ToThread);
        if (said.type === 'items') options.items?.(said.shard, said.items);
        else coordinator.receive(number, said);
      });
      thread.onExit((error) => coordinator.threadDied(number, error));
    });
    const notice = (text: string): void => options.events.notice(-1, text);
    const desk = new SteeringDesk(
      { log, disk, clock, scopeMode: config.scope.mode, numbers, file, facts: { pid: process.pid } },
      {
        steer: (message) => coordinator.steer(message),
        addSeeds: (messages) => coordinator.addSeeds(messages),
        stop: () => coordinator.stop('stopped'),
        notice,
      },
    );
    stopBlocklist = watchBlocklist(config, clock, (list) => desk.fileChanged(list), notice);
    control = await openControl(dir, desk, notice);
    if (isOver) control?.close();
    return {
      stop: () => coordinator.stop('stopped'),
      pause: () => void coordinator.steer({ type: 'pause' }),
      resume: () => void coordinator.steer({ type: 'resume' }),
      given: (shard, seq) => group.threads[threadOfShard(shard, threads)]?.post({ type: 'given', shard, seq } satisfies ToThread),
      abandon: () => {
        isAbandoned = true;
        for (const thread of group.threads) thread.post({ type: 'abandon' } satisfies ToThread);
      },
      ended: promise,
    };
  } catch (error) {
    closeLog();
    unlock();
    throw error;
  }
}

/** `seed`: as from parseSeed. */
function shardOfSeed(seed: string | undefined, shards: number): number {
  return seed === undefined ? 0 : shardOf(registrableDomain(splitUrl(seed).host), shards);
}

/** A crawl that cannot be steered goes on all the same, and says so. */
async function openControl(dir: string, desk: SteeringDesk, notice: (text: string) => void): Promise<ControlSocket | undefined> {
  const refusal = (message: string): string =>
    encodeAnswer(refusalOf(new PortolanError('PORTOLAN_CONTROL_INVALID', message, { remedy: 'docs/STEERING.md has the bounds' })));
  try {
    return await serveControl(dir, {
      lineBytesMax: STEERING_LINE_BYTES_MAX,
      answer: (line) => desk.answer(line),
      tooLong: refusal(`the request is longer than ${STEERING_LINE_BYTES_MAX} bytes`),
      tooMany: refusal('too many operators are connected'),
    });
  } catch (error) {
    notice(`there is no control socket (${(error as Error).message}): portolan pause, block and the like cannot reach this crawl`);
    return undefined;
  }
}

/** What only the parts themselves can judge of a configuration; the threads make them again. Throws PORTOLAN_CONFIG_INVALID. */
function checkParts(config: Config, seeds: readonly string[]): void {
  createAddressGuard({ allowNets: config.net.allow });
  createScope({ ...config.scope, maxDepth: config.scope.maxDepth }, seeds, []);
  dnsOverrides(config.dns.resolve);
  readRanks(config);
  new HostRuleTable(config, VERSION, seeds, process.env);
  for (const [key, { ca }] of Object.entries(config.hosts)) if (ca !== undefined) readCertificates(ca, `hosts.${key}.ca`);
  if (config.dns.servers.length > 0)
    createNodeResolver({ timeoutMs: config.dns.timeout, maxInFlight: 2, servers: config.dns.servers }).close();
}

function requireSeeds(dir: string, seeds: readonly string[]): void {
  if (seeds.length > 0 || existsSync(join(dir, CRAWL_META))) return;
  throw new PortolanError('PORTOLAN_SEED_NONE', 'there is nothing to start from', {
    remedy: 'give a URL, --seeds FILE, or seeds in the configuration',
  });
}

/** Totals of the last commit of every shard, by shard, read without opening the crawl for writing; zeros where nothing was committed yet. */
export function readTotals(dir: string, shards: number): TotalsSnapshot[] {
  const snapshots: TotalsSnapshot[] = [];
  for (let shard = 0; shard < shards; shard++) {
    snapshots.push(snapshotOf(shardFile(dir, shard), shard));
  }
  return snapshots;
}

function snapshotOf(file: string, shard: number): TotalsSnapshot {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return emptyTotals();
  const store = createSqliteStore({ file, cacheBytes: 1_048_576, readOnly: true });
  const { totals } = store.open(shard);
  store.close();
  return totals === '' ? emptyTotals() : (JSON.parse(totals) as TotalsSnapshot);
}

/** Monotonic times of one boot compare; elsewhere than on Linux each process is its own span. */
function bootId(nowMs: number): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return `process-${process.pid}-${Math.floor(nowMs)}`;
  }
}

function readBlocklist(config: Config): { text: string; file: string } | undefined {
  const file = config.politeness.blocklist;
  if (file === undefined) return undefined;
  try {
    const text = readFileSync(file, 'utf8');
    Blocklist.parse(text, file);
    return { text, file };
  } catch (error) {
    if (error instanceof PortolanError) throw error;
    throw new PortolanError('PORTOLAN_BLOCKLIST_INVALID', `the blocklist ${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
      remedy: 'check the path given to --blocklist',
    });
  }
}

/** Reads the file again when it changes. A list that cannot be read keeps the one in force, said loudly. */
function watchBlocklist(
  config: Config,
  clock: ReturnType<typeof createSystemClock>,
  changed: (list: { readonly text: string; readonly file: string }) => Promise<unknown>,
  notice: (text: string) => void,
): () => void {
  const file = config.politeness.blocklist;
  if (file === undefined) return () => {};
  let cancel = (): void => {};
  let last = statKey(file);
  const readAgain = async (): Promise<void> => {
    try {
      await changed(readBlocklist(config)!);
      notice('the blocklist has changed and is in force');
    } catch (error) {
      notice(`${(error as Error).message}; the old blocklist stays in force`);
    }
  };
  const look = (): void => {
    const now = statKey(file);
    if (now !== last) {
      last = now;
      void readAgain();
    }
    cancel = clock.setTimer(BLOCKLIST_POLL_MS, look);
  };
  cancel = clock.setTimer(BLOCKLIST_POLL_MS, look);
  return () => cancel();
}

function statKey(file: string): string {
  const stat = statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.mtimeMs}:${stat.size}:${stat.ino}`;
}
