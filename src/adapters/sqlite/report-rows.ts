/**
 * What the report shows of single pages and hosts: counted from page and host rows, read-only, in bounded time.
 *
 * A small crawl is read whole. Of a large one a sample is read: an even share of each host's pages. The pages of a host lie in the order of a hash of
 * their URL, so the first ones of that order are as good as any, and every page has the same chance. When even that takes too long the reading is broken
 * off. What was done is said (`coverage`, `note`), so that no figure claims more than it is.
 */

import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { counted } from '../../core/counted.ts';
import { hasTables, storeError } from './shard-store.ts';

export interface RowLimits {
  /** Up to so many page rows are all read. */
  readonly rowsMax: number;
  /** Of more, about so many. */
  readonly sampleRows: number;
  /** With more host rows than this neither hosts nor a sample are read. */
  readonly hostsMax: number;
  /** The reading is broken off after this. */
  readonly timeMs: number;
}

export const ROW_LIMITS: RowLimits = { rowsMax: 400_000, sampleRows: 100_000, hostsMax: 2_000_000, timeMs: 5_000 };

/** Hosts that are named. */
export const TOP_HOSTS = 20;
/** Depths from here on are one bar. */
export const DEPTH_MAX = 20;

/** Pages whose figure is at least the one before and less than `below`; the first begins at 0, the last has no end (null). */
export interface Bucket {
  readonly below: number | null;
  readonly n: number;
}

export interface HostFigures {
  readonly key: string;
  readonly state: string;
  readonly fetched: number;
  readonly queued: number;
  readonly dropped: number;
  readonly gapRule: string;
  readonly owedMs: number;
}

export interface RowFigures {
  readonly coverage: 'all' | 'sample' | 'cut' | 'none';
  /** A sentence; empty when all rows were read. */
  readonly note: string;
  /** Page rows there are, and those that were read. */
  readonly pageRows: number;
  readonly rowsRead: number;
  /** Pages by links from a seed: index = depth, the last entry is DEPTH_MAX and more. */
  readonly depths: readonly number[];
  /** HTTP status → pages; 0 when no response came. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Decoded bodies of pages with content, in bytes. */
  readonly sizes: readonly Bucket[];
  /** Length of the last exchange, in ms. */
  readonly durations: readonly Bucket[];
  /** '' (content of its own), exact, text, near → pages with content. */
  readonly duplicates: Readonly<Record<string, number>>;
  /** Undefined when host rows were not read. */
  readonly hosts:
    | {
        readonly rows: number;
        readonly states: Readonly<Record<string, number>>;
        /** Hosts by URLs fetched. */
        readonly byFetched: readonly Bucket[];
        /** Most fetched first. */
        readonly top: readonly HostFigures[];
        /** Longest queues first; only hosts that have one. */
        readonly waiting: readonly HostFigures[];
      }
    | undefined;
}

export interface RowsInput {
  /** Databases of the shards; one that is not there has no rows. */
  readonly files: readonly string[];
  /** Page rows and host rows of all shards, as counted. */
  readonly pageRows: number;
  readonly hostRows: number;
  readonly nowMs: () => number;
  readonly limits?: RowLimits;
}

const SIZE_BELOW = [1, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000];
const DURATION_BELOW = [10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000];
const FETCHED_BELOW = [1, 2, 4, 10, 30, 100, 300, 1_000, 3_000, 10_000, 100_000];
/** Rows between two looks at the clock. */
const CLOCK_EVERY = 2_048;

export function reportRows(input: RowsInput): RowFigures {
  const { limits = ROW_LIMITS, pageRows, hostRows } = input;
  const count = new RowCount(input.nowMs, limits.timeMs);
  const isLarge = pageRows > limits.rowsMax;
  const withHosts = hostRows <= limits.hostsMax;
  if (isLarge && !withHosts)
    return count.figures('none', `Not read: the crawl has more than ${limits.hostsMax.toLocaleString('en-US')} hosts.`, pageRows, false);
  const share = isLarge ? limits.sampleRows / pageRows : 1;
  for (const file of input.files) {
    if (count.isLate) break;
    readShard(file, (db) => {
      const picks = withHosts ? count.hosts(db, share) : [];
      if (isLarge) count.sample(db, picks);
      else count.pages(db);
    });
  }
  const read = count.rowsRead.toLocaleString('en-US');
  if (count.isLate)
    return count.figures('cut', `Cut off after ${limits.timeMs / 1_000} s: of ${read} of ${counted(pageRows, 'page')}.`, pageRows, false);
  if (isLarge) return count.figures('sample', `From a sample of ${read} of ${counted(pageRows, 'page')}.`, pageRows, true);
  return count.figures('all', withHosts ? '' : 'Hosts were not read: there are too many.', pageRows, withHosts);
}

function readShard(file: string, work: (db: Database.Database) => void): void {
  if (!existsSync(file)) return;
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    const open = db;
    if (hasTables(open)) open.transaction(() => work(open))();
  } catch (error) {
    throw storeError(error, `${file} cannot be read for the report`);
  } finally {
    db?.close();
  }
}

type HostRow = [id: number, key: string, state: string, fetched: number, queued: number, dropped: number, rule: string, owed: number];
type PageFields = [depth: number, status: number, outcome: string, bytes: number, duration: number, duplicate: string | null];

const HOST_SQL = 'SELECT id, key, state, fetched, queued, dropped, gap_rule, owed_ms FROM host';
const PAGE_SQL = 'SELECT depth, status, outcome, body_bytes, duration_ms, duplicate_kind FROM page';

class RowCount {
  readonly #nowMs: () => number;
  readonly #untilMs: number;
  readonly #depths = new Array<number>(DEPTH_MAX + 1).fill(0);
  readonly #statuses = new Map<number, number>();
  readonly #sizes = new Histogram(SIZE_BELOW);
  readonly #durations = new Histogram(DURATION_BELOW);
  readonly #duplicates: Record<string, number> = { '': 0, exact: 0, text: 0, near: 0 };
  readonly #states = new Map<string, number>();
  readonly #byFetched = new Histogram(FETCHED_BELOW);
  readonly #top = new Top((host) => host.fetched);
  readonly #waiting = new Top((host) => host.queued);
  #hostRows = 0;
  #fetchedSoFar = 0;
  #steps = 0;
  rowsRead = 0;
  isLate = false;

  constructor(nowMs: () => number, timeMs: number) {
    this.#nowMs = nowMs;
    this.#untilMs = nowMs() + timeMs;
  }

  /** Counts the hosts; answers with how many pages of which to read, so that altogether `share` of all are. */
  hosts(db: Database.Database, share: number): [id: number, n: number][] {
    const picks: [number, number][] = [];
    for (const row of db.prepare(HOST_SQL).raw().iterate() as IterableIterator<HostRow>) {
      if (this.#tick()) break;
      const [id, key, state, fetched, queued, dropped, gapRule, owedMs] = row;
      this.#hostRows++;
      bump(this.#states, state);
      this.#byFetched.add(fetched);
      const host = { key, state, fetched, queued, dropped, gapRule, owedMs };
      this.#top.add(host);
      this.#waiting.add(host);
      const before = Math.floor(this.#fetchedSoFar * share);
      this.#fetchedSoFar += fetched;
      const n = Math.floor(this.#fetchedSoFar * share) - before;
      if (n > 0 && share < 1) picks.push([id, n]);
    }
    return picks;
  }

  pages(db: Database.Database): void {
    for (const row of db.prepare(PAGE_SQL).raw().iterate() as IterableIterator<PageFields>) if (!this.#page(row)) return;
  }

  sample(db: Database.Database, picks: readonly (readonly [id: number, n: number])[]): void {
    const statement = db.prepare(`${PAGE_SQL} WHERE host_id = ? ORDER BY key LIMIT ?`).raw();
    for (const pick of picks) {
      for (const row of statement.all(...pick) as PageFields[]) if (!this.#page(row)) return;
    }
  }

  /** False when time is up. */
  #page([depth, status, outcome, bytes, duration, duplicate]: PageFields): boolean {
    if (this.#tick()) return false;
    this.rowsRead++;
    // Below zero are the steps of an asset from its page.
    if (depth >= 0) this.#depths[Math.min(depth, DEPTH_MAX)]!++;
    bump(this.#statuses, status);
    this.#durations.add(duration);
    if (outcome !== 'ok' && outcome !== 'truncated') return true;
    this.#sizes.add(bytes);
    const kind = duplicate ?? '';
    this.#duplicates[kind] = (this.#duplicates[kind] ?? 0) + 1;
    return true;
  }

  #tick(): boolean {
    if (++this.#steps % CLOCK_EVERY === 0 && this.#nowMs() > this.#untilMs) this.isLate = true;
    return this.isLate;
  }

  figures(coverage: RowFigures['coverage'], note: string, pageRows: number, withHosts: boolean): RowFigures {
    let depths = this.#depths.length;
    while (depths > 1 && this.#depths[depths - 1] === 0) depths--;
    return {
      coverage,
      note,
      pageRows,
      rowsRead: this.rowsRead,
      depths: this.#depths.slice(0, depths),
      statuses: Object.fromEntries([...this.#statuses].sort((a, b) => a[0] - b[0])),
      sizes: this.#sizes.buckets(),
      durations: this.#durations.buckets(),
      duplicates: this.#duplicates,
      hosts: withHosts
        ? {
            rows: this.#hostRows,
            states: Object.fromEntries([...this.#states].sort((a, b) => b[1] - a[1])),
            byFetched: this.#byFetched.buckets(),
            top: this.#top.list(),
            waiting: this.#waiting.list(),
          }
        : undefined,
    };
  }
}

class Histogram {
  readonly #below: readonly number[];
  readonly #counts: number[];

  constructor(below: readonly number[]) {
    this.#below = below;
    this.#counts = new Array<number>(below.length + 1).fill(0);
  }

  add(value: number): void {
    let at = 0;
    while (at < this.#below.length && value >= this.#below[at]!) at++;
    this.#counts[at]!++;
  }

  buckets(): Bucket[] {
    return this.#counts.map((n, at) => ({ below: this.#below[at] ?? null, n }));
  }
}

/** The TOP_HOSTS with the greatest figure, those without one left out. */
class Top {
  readonly #of: (host: HostFigures) => number;
  #list: HostFigures[] = [];

  constructor(of: (host: HostFigures) => number) {
    this.#of = of;
  }

  add(host: HostFigures): void {
    const value = this.#of(host);
    if (value === 0) return;
    if (this.#list.length === TOP_HOSTS && value <= this.#of(this.#list[TOP_HOSTS - 1]!)) return;
    let at = this.#list.length;
    while (at > 0 && this.#of(this.#list[at - 1]!) < value) at--;
    this.#list.splice(at, 0, host);
    if (this.#list.length > TOP_HOSTS) this.#list.pop();
  }

  list(): readonly HostFigures[] {
    return this.#list;
  }
}

function bump<K>(counts: Map<K, number>, key: K): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
