/**
 * The one file that names concrete adapters: it puts a node together on the main thread (`runCrawl`) (compose-thread.ts: in each of its threads).
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { openDisk } from './adapters/file/disk.ts';
import { createGateMemory } from './adapters/node/address-gate.ts';
import { createSystemClock } from './adapters/node/clock.ts';
import { createThreadChannel } from './adapters/node/link-channel.ts';
import { createNodeResolver } from './adapters/node/resolver.ts';
import { spawnThreads } from './adapters/node/threads.ts';
import { lockCrawl } from './adapters/sqlite/crawl-lock.ts';
import { createSqliteStore } from './adapters/sqlite/shard-store.ts';
import type { Config } from './config/schema.ts';
import { PortolanError } from './core/errors.ts';
import { emptyTotals, overall, type TotalsSnapshot } from './engine/accounting.ts';
import { Coordinator, type CoordinatorEvents, type EndReport } from './engine/coordinator.ts';
import { CRAWL_FORMAT_VERSION, type CrawlMeta, checkMeta, parseMeta } from './engine/crawl-meta.ts';
import type { FromThread, ToThread } from './engine/messages.ts';
import { scopeSeeds } from './engine/scope-seeds.ts';
import { seedMessages } from './engine/seed-messages.ts';
import { createAddressGuard } from './net/address-guard.ts';
import { Blocklist } from './scope/blocklist.ts';
import { createScope } from './scope/scope.ts';
import { dnsOverrides, shardFile, type ThreadData } from './thread-data.ts';
import { CANONICALIZER_VERSION, createCanonicalizer, DEFAULT_CANONICAL_OPTIONS, parseSeed, SHARD_FUNCTION_VERSION } from './url/index.ts';

const BLOCKLIST_POLL_MS = 1_000;
/** Seeds that the threads know of, for the warcinfo record. */
const SEEDS_SHOWN = 100;
const SCOPE_SEEDS = 'state/scope-seeds.json';

export interface CrawlHandle {
  /** Ends in an orderly way. */
  stop(): void;
  pause(): void;
  resume(): void;
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
}

/** Starts or resumes the crawl in config.output.dir. Throws PortolanError before anything is fetched when something is not right. */
export async function runCrawl(config: Config, options: RunOptions): Promise<CrawlHandle> {
  const clock = createSystemClock();
  const startedAtMs = clock.nowEpochMs();
  const dir = resolve(config.output.dir);
  const seeds = config.seeds.map(parseSeed);
  checkParts(config, seeds);
  requireSeeds(dir, seeds);
  const blocklist = readBlocklist(config);
  openDisk(dir); // makes it, with its name durable
  const unlock = lockCrawl(join(dir, 'state', 'lock.db'));
  try {
    const meta = await openMeta(dir, config, options.force, startedAtMs);
    const areas = await openScopeSeeds(dir, config.scope.mode, seeds);
    const threads = Math.min(config.run.threads ?? availableParallelism(), meta.shards);
    const addressDelay = config.politeness.addressDelay ?? config.politeness.delay;
    const gateOptions = {
      slots: config.frontier.backQueues,
      ratePerS: config.politeness.rate,
      pagesLeft: pagesLeft(config, dir, meta.shards),
      owedMsMax: 2 * addressDelay,
    };
    const gate = createGateMemory(gateOptions);
    const data: ThreadData[] = Array.from({ length: threads }, (_, thread) => ({
      config: { ...config, seeds: config.seeds.slice(0, SEEDS_SHOWN) },
      areas,
      shards: meta.shards,
      own: shardsOfThread(thread, threads, meta.shards),
      threads,
      dir,
      gate,
      gateOptions,
      bootId: bootId(clock.nowEpochMs()),
      configVersion: hashText(JSON.stringify(config)),
      blocklist,
    }));
    const entry = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
    const group = spawnThreads(entry, data, config.run.memory);
    const channel = createThreadChannel(-1, (shard) => shard % threads);
    group.ports.forEach((port, thread) => {
      channel.connect(thread, port);
    });
    const { promise, resolve: end } = Promise.withResolvers<CrawlReport>();
    const canonicalize = createCanonicalizer(DEFAULT_CANONICAL_OPTIONS);
    let stopBlocklist = (): void => {};
    const finish = (report: EndReport): void => {
      stopBlocklist();
      for (const port of group.ports) port.close();
      void Promise.all(group.threads.map((thread) => thread.terminate())).then(() => {
        unlock();
        end({ ...report, startedAtMs, endedAtMs: clock.nowEpochMs(), shards: meta.shards, dir, config });
      });
    };
    const coordinator = new Coordinator(
      {
        shards: meta.shards,
        maxPages: config.limits.maxPages,
        maxTimeMs: config.limits.maxTime,
        seeds: seedMessages(seeds, meta.shards, canonicalize, startedAtMs),
      },
      clock,
      channel,
      group.threads as readonly { post(message: ToThread): void }[],
      options.events,
      finish,
    );
    group.threads.forEach((thread, number) => {
      thread.onMessage((message) => coordinator.receive(number, message as FromThread));
      thread.onExit((error) => coordinator.threadDied(number, error));
    });
    stopBlocklist = watchBlocklist(
      config,
      clock,
      (text, file) => coordinator.send({ type: 'blocklist', text, file }),
      (text) => options.events.notice(-1, text),
    );
    return {
      stop: () => coordinator.stop('stopped'),
      pause: () => coordinator.send({ type: 'pause' }),
      resume: () => coordinator.send({ type: 'resume' }),
      ended: promise,
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** What only the parts themselves can judge of a configuration; the threads make them again. Throws PORTOLAN_CONFIG_INVALID. */
function checkParts(config: Config, seeds: readonly string[]): void {
  createAddressGuard({ allowNets: config.net.allow });
  createScope({ ...config.scope, maxDepth: config.scope.maxDepth }, seeds, []);
  dnsOverrides(config.dns.resolve);
  if (config.dns.servers.length > 0)
    createNodeResolver({ timeoutMs: config.dns.timeout, maxInFlight: 2, servers: config.dns.servers }).close();
}

function requireSeeds(dir: string, seeds: readonly string[]): void {
  if (seeds.length > 0 || existsSync(join(dir, 'crawl.json'))) return;
  throw new PortolanError('PORTOLAN_SEED_NONE', 'there is nothing to start from', {
    remedy: 'give a URL, --seeds FILE, or seeds in the configuration',
  });
}

/** The areas of the crawl's scope: those it was started with and those of this run's seeds. */
async function openScopeSeeds(dir: string, mode: Config['scope']['mode'], seeds: readonly string[]): Promise<readonly string[]> {
  const disk = openDisk(dir);
  const stored = disk.exists(SCOPE_SEEDS) ? (JSON.parse(Buffer.from(disk.readWhole(SCOPE_SEEDS)).toString('utf8')) as string[]) : [];
  const all = scopeSeeds(mode, stored, seeds);
  if (all.length > stored.length) await disk.writeWhole(SCOPE_SEEDS, Buffer.from(`${JSON.stringify(all, undefined, 1)}\n`));
  return all;
}

function shardsOfThread(thread: number, threads: number, shards: number): number[] {
  return Array.from({ length: shards }, (_, shard) => shard).filter((shard) => shard % threads === thread);
}

async function openMeta(dir: string, config: Config, force: boolean, nowMs: number): Promise<CrawlMeta> {
  const disk = openDisk(dir);
  const { mode, include, exclude } = config.scope;
  const wanted: CrawlMeta = {
    format: CRAWL_FORMAT_VERSION,
    shards: config.run.shards ?? Math.max(4, availableParallelism()),
    shardFunction: SHARD_FUNCTION_VERSION,
    suffixList: packageVersion('tldts'),
    canonicalizer: CANONICALIZER_VERSION,
    parameters: hashText(JSON.stringify(DEFAULT_CANONICAL_OPTIONS)),
    scope: { mode, include, exclude },
    createdAtMs: nowMs,
  };
  if (!disk.exists('crawl.json')) {
    if (disk.exists('state/shard-0/state.db')) {
      throw new PortolanError('PORTOLAN_STATE_DAMAGED', 'crawl.json is gone, but not the state of a crawl', {
        remedy: 'restore it from a backup, or start a new crawl in another directory',
      });
    }
    await disk.writeWhole('crawl.json', Buffer.from(`${JSON.stringify(wanted, undefined, 2)}\n`));
    return wanted;
  }
  const stored = parseMeta(Buffer.from(disk.readWhole('crawl.json')).toString('utf8'));
  checkMeta(stored, wanted, force);
  const meta = { ...stored, scope: wanted.scope };
  if (force) await disk.writeWhole('crawl.json', Buffer.from(`${JSON.stringify(meta, undefined, 2)}\n`));
  return meta;
}

/** Pages that --max-pages leaves for this run; −1 without a limit. */
function pagesLeft(config: Config, dir: string, shards: number): number {
  if (config.limits.maxPages === 0) return -1;
  const { fetched } = overall(readTotals(dir, shards));
  return Math.max(0, config.limits.maxPages - (fetched['ok'] ?? 0) - (fetched['truncated'] ?? 0) - (fetched['not-modified'] ?? 0));
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

export function readCrawlMeta(dir: string): CrawlMeta {
  // Looked for before anything is opened: to open a directory is to create it.
  if (statSync(join(dir, 'crawl.json'), { throwIfNoEntry: false }) === undefined) {
    throw new PortolanError('PORTOLAN_STATE_MISSING', `${dir} holds no crawl`, { remedy: 'name the directory given to crawl with --out' });
  }
  return parseMeta(Buffer.from(openDisk(dir).readWhole('crawl.json')).toString('utf8'));
}

function packageVersion(name: string): string {
  const require = createRequire(import.meta.url);
  return (require(`${name}/package.json`) as { version: string }).version;
}

function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
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
  changed: (text: string, file: string) => void,
  notice: (text: string) => void,
): () => void {
  const file = config.politeness.blocklist;
  if (file === undefined) return () => {};
  let cancel = (): void => {};
  let last = statKey(file);
  const look = (): void => {
    const now = statKey(file);
    if (now !== last) {
      last = now;
      try {
        const list = readBlocklist(config)!;
        changed(list.text, list.file);
        notice('the blocklist has changed and is in force');
      } catch (error) {
        notice(`${(error as Error).message}; the old blocklist stays in force`);
      }
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
