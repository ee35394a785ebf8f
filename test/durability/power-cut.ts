/**
 * What a power cut leaves of files: reads the record of test/durability/power-cut.c and puts the directory into a state in which the disk may have been
 * found, then lets the crawl go on and be judged as after a kill (test/durability/kill.ts).
 *
 * Durable is what a sync covered that had ended: for bytes that of their file, for names that of their directory. Of the rest, in each file any subset of the
 * writes may have arrived (in no order, one of them torn, with zeros where a write beyond it is missing), and of each directory's names any number of
 * the first changes. All of it lost and all of it kept are among the states. -shm files hold nothing durable and go.
 *
 *   node test/durability/power-cut.ts [--cuts 100] [--seed 1] [--shape TEXT] [--lie PATH-END] [--keep]
 */
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { portolan } from '../support/process.ts';
import { type Seeded, seeded } from '../support/seeded.ts';
import { type KillCrawlResult, killCrawl } from './kill.ts';
import type { Shape } from './shapes.ts';

/** Compiles the layer into `dir`; throws with what the compiler says. */
export function buildLayer(dir: string): string {
  const source = fileURLToPath(new URL('./power-cut.c', import.meta.url));
  const library = join(dir, 'power-cut.so');
  const { status, stderr, error } = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-Wall', '-Werror', '-o', library, source, '-lpthread'], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`cc cannot compile ${source}: ${error?.message ?? stderr}`);
  return library;
}

/** The reason to skip when the layer cannot be had here, or false. */
export function withoutLayer(): string | false {
  if (process.platform !== 'linux') return 'NOT TESTED: the layer under the process needs Linux';
  return spawnSync('cc', ['--version']).status === 0 ? false : 'NOT TESTED: there is no C compiler (cc)';
}

/** One record; see power-cut.c for the kinds. */
interface Operation {
  readonly kind: string;
  readonly number: number;
  readonly inode: number;
  /** Where a write begins; the length after a cut; of a sync that has ended: the number of its beginning. */
  readonly offset: number;
  readonly oldLength: number;
  readonly isDir: boolean;
  /** Bytes before, or a path. */
  readonly first: Buffer;
  /** Bytes after, or the other path. */
  readonly second: Buffer;
}

const HEAD_BYTES = 44;

/** The last record may be cut short: its call has not happened. */
function* operationsOf(record: Buffer): Iterable<Operation> {
  for (let at = 0; at + HEAD_BYTES <= record.length; ) {
    const firstLength = record.readUInt32LE(at + 4);
    const secondLength = record.readUInt32LE(at + 8);
    const end = at + HEAD_BYTES + firstLength + secondLength;
    if (end > record.length) return;
    const bytes = at + HEAD_BYTES;
    yield {
      kind: String.fromCharCode(record[at] ?? 0),
      isDir: record[at + 1] === 1,
      number: Number(record.readBigUInt64LE(at + 12)),
      inode: Number(record.readBigUInt64LE(at + 20)),
      offset: Number(record.readBigUInt64LE(at + 28)),
      oldLength: Number(record.readBigUInt64LE(at + 36)),
      first: record.subarray(bytes, bytes + firstLength),
      second: record.subarray(bytes + firstLength, end),
    };
    at = end;
  }
}

/** Counts of what power cuts did; each is added to. */
export interface CutCounts {
  cuts: number;
  /** Writes and cuts of files that no sync covered: thrown away whole, kept in part, kept. */
  discarded: number;
  torn: number;
  kept: number;
  discardedBytes: number;
  /** Names that were created, renamed or removed, and are not. */
  namesUndone: number;
  /** Writes that a sync had covered. */
  durable: number;
  syncs: number;
}

export function noCuts(): CutCounts {
  return { cuts: 0, discarded: 0, torn: 0, kept: 0, discardedBytes: 0, namesUndone: 0, durable: 0, syncs: 0 };
}

/** What no sync covers at the end of a record. */
interface Unsynced {
  /** By inode, in order. */
  readonly data: ReadonlyMap<number, readonly Operation[]>;
  /** By directory, in order. */
  readonly names: ReadonlyMap<string, readonly Operation[]>;
}

function unsyncedOf(operations: readonly Operation[], counts: CutCounts): Unsynced {
  const data = new Map<number, Operation[]>();
  const names = new Map<string, Operation[]>();
  const begun = new Map<number, Operation>();
  const cover = <K>(of: Map<K, Operation[]>, key: K, before: number): number => {
    const [all = [], rest] = [of.get(key), of.get(key)?.filter(({ number }) => number > before) ?? []];
    of.set(key, rest);
    return all.length - rest.length;
  };
  for (const operation of operations) {
    switch (operation.kind) {
      case 'W':
      case 'T':
        push(data, operation.inode, operation);
        break;
      case 'C':
      case 'U':
      case 'R':
      case 'M':
      case 'D':
        push(names, directoryOf(operation), operation);
        break;
      case 'S':
        begun.set(operation.number, operation);
        break;
      case 'E': {
        const sync = begun.get(operation.offset);
        if (sync === undefined) break;
        counts.syncs++;
        if (sync.isDir) cover(names, String(sync.first).replace(/\/$/, ''), sync.number);
        else counts.durable += cover(data, sync.inode, sync.number);
        break;
      }
      default:
        throw new Error(`the layer does not follow ${operation.kind} ${operation.first}`);
    }
  }
  return { data, names };
}

function push<K>(of: Map<K, Operation[]>, key: K, operation: Operation): void {
  const known = of.get(key);
  if (known === undefined) of.set(key, [operation]);
  else known.push(operation);
}

/** Of a rename the directory of the new name: only sockets are moved from one directory to another, and they are no durable state. */
function directoryOf({ kind, first, second }: Operation): string {
  return dirname(String(kind === 'R' ? second : first));
}

/** What is done to all that is at risk in one file or directory. */
const FATES = ['lost', 'first', 'some'] as const;

/**
 * Turns the directory into what a power cut at this moment may leave. `log`: the layer's directory; it is emptied, since what is there now is durable.
 * No process may use the directory.
 */
export function cutPower(dir: string, log: string, r: Seeded, counts: CutCounts): void {
  const record = join(log, 'record');
  const operations = existsSync(record) ? [...operationsOf(readFileSync(record))] : [];
  const { data, names } = unsyncedOf(operations, counts);
  counts.cuts++;
  const undone = [...names.values()].flatMap((all) => all.slice(keptOf(all.length, r)));
  for (const operation of undone.sort((a, b) => b.number - a.number)) {
    undoName(operation, log);
    counts.namesUndone++;
  }
  for (const path of filesBelow(dir)) {
    const atRisk = data.get(statSync(path).ino) ?? [];
    if (path.endsWith('-shm')) rmSync(path);
    else if (atRisk.length > 0) loseWrites(path, atRisk, r, counts);
  }
  rmSync(log, { recursive: true, force: true });
  mkdirSync(log);
}

function keptOf(all: number, r: Seeded): number {
  const fate = r.pick(FATES);
  return fate === 'lost' ? 0 : r.int(all + 1);
}

function undoName({ kind, number, first, second }: Operation, log: string): void {
  const [path, other] = [String(first), String(second)];
  const kept = join(log, `kept-${number}`);
  if (kind === 'C' || kind === 'M') rmSync(path, { recursive: true, force: true });
  else if (kind === 'D') mkdirSync(path, { recursive: true });
  else if (kind === 'U') restore(kept, path);
  else {
    if (existsSync(other) && existsSync(dirname(path))) renameSync(other, path);
    restore(kept, other);
  }
}

/** The call itself may not have happened any more. */
function restore(kept: string, path: string): void {
  if (existsSync(kept) && !existsSync(path)) linkSync(kept, path);
}

/** Takes every write at risk back, last first, then does again those that arrived. */
function loseWrites(path: string, atRisk: readonly Operation[], r: Seeded, counts: CutCounts): void {
  for (const { kind, offset, oldLength, first } of atRisk.toReversed()) {
    writeAt(path, first, offset);
    truncateSync(path, oldLength);
    if (kind === 'T' && statSync(path).size !== oldLength) throw new Error(`${path} cannot be made longer`);
  }
  const fate = r.pick(FATES);
  const firsts = r.int(atRisk.length + 1);
  const torn = r.chance(0.5) ? r.int(atRisk.length) : -1;
  atRisk.forEach(({ kind, offset, second }, at) => {
    const arrives = fate === 'some' ? r.chance(0.5) : fate === 'first' && at < firsts;
    const isTorn = kind === 'W' && at === torn && fate !== 'lost' && second.length > 1;
    if (!arrives && !isTorn) {
      counts.discarded++;
      counts.discardedBytes += second.length;
      return;
    }
    if (kind === 'T') truncateSync(path, offset);
    else writeAt(path, isTorn ? second.subarray(0, 1 + r.int(second.length - 1)) : second, offset);
    if (isTorn) counts.torn++;
    else counts.kept++;
  });
}

function writeAt(path: string, bytes: Uint8Array, offset: number): void {
  if (bytes.length === 0) return;
  const fd = openSync(path, 'r+');
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done, bytes.length - done, offset + done);
  closeSync(fd);
}

function filesBelow(dir: string): readonly string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  );
}

const PLAIN = { slowHosts: 0, slowPages: 0, crawlDelayS: 0, troubledHosts: 0, wide: 0, shared: 0 };

/** What the crawls are that lose their power: no server asks for more than the configured pause, since what it asked in the last moment is lost rightly. */
export const CUT_SHAPES: readonly Shape[] = [
  {
    name: 'many hosts, WARC files that rotate',
    web: { ...PLAIN, hosts: 14, pages: 24 },
    kills: 12,
    gapMs: 120,
    config: { output: { warcSize: 20_000 }, run: { commitInterval: '300ms' } },
    commitIntervalMs: 300,
  },
  {
    name: 'one shard, a seen set that flushes and merges',
    web: { ...PLAIN, hosts: 10, pages: 24, wide: 40 },
    kills: 12,
    gapMs: 160,
    flags: ['--memory', '256KiB'],
    config: { run: { shards: 1, commitInterval: '400ms' } },
    commitIntervalMs: 400,
    shards: 1,
  },
];

export interface CutCrawlOptions {
  readonly shape: Shape;
  readonly seed: number;
  /** Second byte of the addresses. */
  readonly net: number;
  /** Scratch directory; takes the crawl, the layer and its record. */
  readonly dir: string;
  /** As POWER_CUT_LIE: syncs that are none. */
  readonly lie?: string;
  readonly cuts?: number;
}

export interface CutCrawlResult extends KillCrawlResult {
  readonly lost: CutCounts;
}

/** A crawl that loses its power again and again, and is started again. */
export async function cutCrawl({ shape, seed, net, dir, lie = '', cuts = shape.kills }: CutCrawlOptions): Promise<CutCrawlResult> {
  mkdirSync(dir, { recursive: true });
  const [out, log] = [join(dir, 'out'), join(dir, 'layer')];
  mkdirSync(out); // its own name stands in a directory that the layer does not see
  mkdirSync(log);
  const variables = [`LD_PRELOAD=${buildLayer(dir)}`, `POWER_CUT_DIR=${out}`, `POWER_CUT_LOG=${log}`, `POWER_CUT_LIE=${lie}`];
  const r = seeded(seed, 7);
  const lost = noCuts();
  const { web, gapMs, config, flags, commitIntervalMs, shards } = shape;
  const result = await killCrawl({
    web: { ...web, seed, net },
    kills: cuts,
    gapMs,
    dir,
    verify: true,
    program: (verb, ...args) => {
      const { command, args: own } = portolan(verb ?? '', ...args);
      return verb === 'crawl' ? { command: 'env', args: [...variables, command, ...own] } : { command, args: own };
    },
    onKill: async () => {
      cutPower(out, log, r, lost);
      // A machine takes longer to start than a host's pause; what was asked in the last moment is not on record.
      await sleep(gapMs);
    },
    ...(flags === undefined ? {} : { extraFlags: flags }),
    ...(config === undefined ? {} : { config }),
    ...(commitIntervalMs === undefined ? {} : { commitIntervalMs }),
    ...(shards === undefined ? {} : { shards }),
  });
  return { ...result, lost };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      cuts: { type: 'string', default: '100' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      shape: { type: 'string', default: '' },
      lie: { type: 'string', default: '' },
      keep: { type: 'boolean', default: false },
    },
  });
  const root = mkdtempSync(join(tmpdir(), 'portolan-cut-'));
  process.stderr.write(`seed ${values.seed}, ${root}\n`);
  const shapes = CUT_SHAPES.filter(({ name }) => name.includes(values.shape));
  const total = noCuts();
  let broken = 0;
  for (let crawl = 0; total.cuts < Number(values.cuts); crawl++) {
    const shape = shapes[crawl % shapes.length];
    if (shape === undefined) return;
    const dir = join(root, `crawl-${crawl}`);
    const result = await cutCrawl({ shape, seed: Number(values.seed) + crawl, net: 100 + (crawl % 16), dir, lie: values.lie });
    for (const [name, count] of Object.entries(result.lost)) total[name as keyof CutCounts] += count;
    broken += result.broken.length;
    process.stderr.write(`${JSON.stringify({ crawl, shape: shape.name, ...result })}\n`);
    if (!values.keep && result.broken.length === 0) rmSync(dir, { recursive: true, force: true });
  }
  process.stdout.write(`${JSON.stringify({ ...total, broken })}\n`);
  process.exitCode = broken === 0 ? 0 : 1;
}

if (import.meta.main) await main();
