/**
 * The seen set of one shard: every 64-bit URL key ever admitted lets its URL through once (R-G1 … R-G6; PROTOCOL section 7).
 *
 * Invariant: a key that was added is never denied, by no flush, merge, crash or reopen. With `confirm` the answer is exact; without it a
 * Bloom filter's "maybe" counts as "known" (R-G3), at the rate of bloomFalsePositiveRate per run.
 *
 * Life of a key: active table and a delta chunk of the next batch → at the flush mark the table is frozen and becomes a sorted run, its filter
 * sized for exactly its keys (so no filter is ever over capacity, R-G2) → eight runs of one level are merged into one of the next.
 * A run enters the manifest only when its file and directory are synced; the batch that stores the manifest deletes the deltas below
 * `deltasFrom`; only after that batch is durable are merged runs unlinked. A crash between any two of these steps loses no key.
 *
 * The owner's part, once per batch: `takeNewKeys` → delta rows; `pendingManifest` → manifest row and deletion of rows below its `deltasFrom`;
 * when the batch is durable `manifestCommitted`. Once a second: `maintain`. An error of `maintain` is the disk's: the same work is tried again at
 * the next call under a new name; SeenDamaged means close and rebuild.
 *
 * What it does not do: store deltas (the batch does), know URLs, use timers or threads (long work runs in turns of a few milliseconds).
 */
import { assert } from '../core/errors.ts';
import type { Disk } from '../ports/disk.ts';
import { BLOOM_BITS_MAX } from './bloom.ts';
import { HotCache } from './hot-cache.ts';
import { KeyTable } from './key-table.ts';
import { type DeltaChunk, isRunName, type RunManifest, runName } from './manifest.ts';
import { mergeRuns } from './merge.ts';
import { Run } from './run.ts';
import { RunWriter, type Turn } from './run-writer.ts';
import { sortKeys } from './sort-keys.ts';

/** A table is full at this share of its slots, and frozen at FLUSH_AT of that (R-G2: 80 %). 2^20 slots: frozen at 713,000 keys. */
const LOAD_MAX = 0.85;
const FLUSH_AT = 0.8;
const SLOTS_MIN = 256;
/** Above this a table goes to its full size in one step, so that moving keys never takes more than about a millisecond. */
const SLOTS_STEPPED_MAX = 65_536;
const MERGE_RUNS = 8;
const KEYS_PER_TURN = 2_048;
const BYTES_PER_SLOT = 8;
const FILTER_BYTES_MAX = 1_073_741_824;

export interface SeenSetOptions {
  readonly disk: Disk;
  /** Directory of this set alone. Run files in it that the manifest does not name are unlinked at open. */
  readonly dir: string;
  /** The one of the last durable batch; undefined for a new set. */
  readonly manifest: RunManifest | undefined;
  /** The stored delta chunks in any order; those below the manifest's `deltasFrom` are skipped. */
  readonly deltas: Iterable<DeltaChunk>;
  /** Tables and hot cache: three quarters for the active table, the frozen one and its sorted copy, one for the cache. 32 MiB gives 2^20 slots and 1 M hot keys. */
  readonly memoryBytes: number;
  /** Bound of all filters in memory, default 1 GiB. A run whose filter does not fit is looked up by reading (stats: runsWithoutFilter). */
  readonly filterBytesMax?: number;
  /** Default 20. */
  readonly bitsPerKey?: number;
  /** Default 14. */
  readonly hashes?: number;
  /** Whether a filter's "maybe" is confirmed by reading the run. Default true. */
  readonly confirm?: boolean;
  /** Resolves in a later turn of the loop. */
  readonly yieldTurn: () => Promise<void>;
}

export interface SeenStats {
  /** Keys in tables and runs. */
  readonly keys: number;
  readonly tableKeys: number;
  /** Keys in the active table at which it is frozen. Above it for long: flushing does not keep up. */
  readonly flushMark: number;
  /** True while the active table had to outgrow its share of the budget because its predecessor is not written yet. */
  readonly overBudget: boolean;
  /** Tables, hot cache, filters, fences and block buffers. */
  readonly memoryBytes: number;
  readonly filterBytes: number;
  readonly diskBytes: number;
  readonly runs: number;
  readonly runsWithoutFilter: number;
  /** Largest share of set bits among the filters; 0.503 is a filter at its capacity. */
  readonly filterFill: number;
  /** Look-ups in filters for keys that the run does not hold, as far as known: denied, and false "maybe" found out by reading. */
  readonly filterDenied: number;
  readonly filterFalsePositives: number;
  /** "Maybe" answers that were taken for "known" because confirmation is off. */
  readonly unconfirmed: number;
  readonly hotHits: number;
  /** Blocks read to confirm. */
  readonly reads: number;
  readonly flushes: number;
  readonly merges: number;
  readonly flushing: boolean;
  readonly merging: boolean;
}

/** Thrown into a job when the set was closed under it. */
class Stopped extends Error {}

export class SeenSet {
  readonly #options: SeenSetOptions;
  readonly #bitsPerKey: number;
  readonly #hashes: number;
  #confirm: boolean;
  readonly #slotsMax: number;
  readonly #flushMark: number;
  readonly #turn: Turn;

  #active: KeyTable;
  #activeFull: number;
  #frozen: KeyTable | undefined;
  #frozenCovers = 0;
  #hot: HotCache | undefined;

  /** Oldest first; all complete and durable. */
  #runs: Run[] = [];
  /** Merged away, still named by the last durable manifest. */
  #retired: Run[] = [];
  #nextRun = 1;
  #deltasFrom = 0;
  #version = 0;
  #versionCommitted = 0;
  #offered: { readonly version: number; readonly retired: number } | undefined;

  #fresh: Uint32Array = new Uint32Array(1_024);
  #freshCount = 0;
  #sealed: DeltaChunk[] = [];
  #nextDelta = 0;

  #flushing = false;
  #merging = false;
  #closed = false;
  #flushes = 0;
  #merges = 0;
  #filterDenied = 0;
  #filterFalsePositives = 0;
  #unconfirmed = 0;
  #hotHits = 0;
  #reads = 0;

  private constructor(options: SeenSetOptions) {
    this.#options = options;
    this.#bitsPerKey = options.bitsPerKey ?? 20;
    this.#hashes = options.hashes ?? 14;
    this.#confirm = options.confirm ?? true;
    this.#slotsMax = powerOfTwoAtMost(Math.max(SLOTS_MIN, (options.memoryBytes * 0.75) / (3 * BYTES_PER_SLOT)));
    this.#flushMark = Math.floor(this.#slotsMax * LOAD_MAX * FLUSH_AT);
    this.#active = new KeyTable(Math.min(SLOTS_MIN, this.#slotsMax));
    this.#activeFull = Math.floor(this.#active.slots * LOAD_MAX);
    this.#turn = async () => {
      await options.yieldTurn();
      if (this.#closed) throw new Stopped('the seen set was closed');
    };
  }

  /** Throws SeenDamaged when a run of the manifest is missing or fails its checks; nothing is unlinked then. Call `rebuild` with the same options. */
  static open(options: SeenSetOptions): SeenSet {
    const set = new SeenSet(options);
    try {
      set.#openRuns(options.manifest);
      set.#removeStrayFiles();
      for (const chunk of options.deltas) set.#replay(chunk);
    } catch (error) {
      set.close();
      throw error;
    }
    return set;
  }

  /**
   * A new set from the authoritative rows: `keys` gives (hi, lo) pairs in pieces of any size, repeats allowed; the deltas of `options` are added.
   * On return all keys are in durable runs and `pendingManifest` holds the manifest, to be committed with the deletion of all deltas.
   * Until that commit the store names the damaged runs, so that a crash leads here again.
   */
  static async rebuild(options: SeenSetOptions, keys: Iterable<Uint32Array> | AsyncIterable<Uint32Array>): Promise<SeenSet> {
    const set = new SeenSet(options);
    try {
      set.#confirm = true; // an admitted key that a filter takes for known would be missing after the next merge
      set.#nextRun = options.manifest?.nextRun ?? 1;
      set.#nextDelta = options.manifest?.deltasFrom ?? 0;
      set.#removeStrayFiles();
      for (const chunk of options.deltas) await set.#refill(chunk);
      for await (const piece of keys) await set.#refill({ seq: -1, keys: piece });
      if (set.#active.count > 0) await set.#flush();
      set.#confirm = options.confirm ?? true;
      set.#deltasFrom = set.#nextDelta;
      set.#version++;
    } catch (error) {
      set.close();
      throw error;
    }
    return set;
  }

  /** Whether the key is known. Throws SeenDamaged when the block that would answer is damaged. */
  has(hi: number, lo: number): boolean {
    if (this.#active.has(hi, lo)) return true;
    if (this.#frozen?.has(hi, lo) === true) return true;
    return this.#runs.length > 0 && this.#inRuns(hi >>> 0, lo >>> 0);
  }

  /** True when the key was new; it then belongs to the next `takeNewKeys`. Throws as `has` does. */
  add(hi: number, lo: number): boolean {
    if (this.has(hi, lo)) return false;
    this.#insert(hi, lo);
    if (this.#freshCount * 2 === this.#fresh.length) this.#fresh = doubled(this.#fresh);
    this.#fresh[this.#freshCount * 2] = hi;
    this.#fresh[this.#freshCount * 2 + 1] = lo;
    this.#freshCount++;
    return true;
  }

  /** The keys added since the last call, for the batch: one chunk, or more when a flush began in between; empty when nothing is new. */
  takeNewKeys(): readonly DeltaChunk[] {
    this.#seal();
    const chunks = this.#sealed;
    this.#sealed = [];
    return chunks;
  }

  /**
   * Starts what is due: a flush when the active table is over its mark, a merge when eight runs of one level stand, one of each at a time.
   * Resolves when what it started is done; undefined when it started nothing. Rejects with PortolanError (disk, or SeenDamaged by a merge).
   */
  maintain(): Promise<void> | undefined {
    if (this.#closed) return undefined;
    const jobs: Promise<void>[] = [];
    const flushDue = this.#frozen !== undefined || this.#active.count >= this.#flushMark;
    if (flushDue && !this.#flushing) jobs.push(this.#flush());
    const group = this.#merging ? undefined : this.#mergeGroup();
    if (group !== undefined) jobs.push(this.#merge(group));
    if (jobs.length === 0) return undefined;
    return Promise.all(jobs).then(() => undefined, ignoreStopped);
  }

  /** The manifest that the next batch must store, deleting the delta rows below its `deltasFrom`; undefined when the stored one is right. */
  pendingManifest(): RunManifest | undefined {
    if (this.#version === this.#versionCommitted) return undefined;
    this.#offered = { version: this.#version, retired: this.#retired.length };
    return {
      version: 1,
      nextRun: this.#nextRun,
      deltasFrom: this.#deltasFrom,
      runs: this.#runs.map((run) => run.entry),
    };
  }

  /** The batch with the manifest last returned by `pendingManifest` is durable: runs that it no longer names are unlinked. */
  manifestCommitted(): void {
    const offered = this.#offered;
    assert(offered !== undefined, 'a seen manifest is committed only after it was offered');
    this.#offered = undefined;
    this.#versionCommitted = offered.version;
    this.#unlink(this.#retired.splice(0, offered.retired));
  }

  stats(): SeenStats {
    const tables = this.#active.bytes + (this.#frozen?.bytes ?? 0) + (this.#hot?.bytes ?? 0);
    const tableKeys = this.#active.count + (this.#frozen?.count ?? 0);
    return {
      keys: tableKeys + sum(this.#runs, (run) => run.entry.keys),
      tableKeys,
      flushMark: this.#flushMark,
      overBudget: this.#active.slots > this.#slotsMax,
      memoryBytes: tables + sum(this.#runs, (run) => run.memoryBytes),
      filterBytes: sum(this.#runs, (run) => run.filterBytes),
      diskBytes: sum(this.#runs, (run) => run.entry.bytes) + sum(this.#retired, (run) => run.entry.bytes),
      runs: this.#runs.length,
      runsWithoutFilter: this.#runs.filter((run) => !run.hasFilter).length,
      filterFill: this.#runs.reduce((most, run) => Math.max(most, run.filterFill()), 0),
      filterDenied: this.#filterDenied,
      filterFalsePositives: this.#filterFalsePositives,
      unconfirmed: this.#unconfirmed,
      hotHits: this.#hotHits,
      reads: this.#reads,
      flushes: this.#flushes,
      merges: this.#merges,
      flushing: this.#flushing,
      merging: this.#merging,
    };
  }

  /** Idempotent. Work under way stops at its next turn; what it wrote is unlinked then or at the next open. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const run of this.#runs) run.close();
    for (const run of this.#retired) run.close();
  }

  #inRuns(hi: number, lo: number): boolean {
    if (this.#hot?.has(hi, lo) === true) {
      this.#hotHits++;
      return true;
    }
    for (let i = this.#runs.length - 1; i >= 0; i--) {
      const run = this.#runs[i]!;
      if (!run.mayHold(hi, lo)) this.#filterDenied++;
      else if (this.#holds(run, hi, lo)) return true;
    }
    return false;
  }

  #holds(run: Run, hi: number, lo: number): boolean {
    if (!this.#confirm && run.hasFilter) {
      this.#unconfirmed++;
      return true;
    }
    this.#reads++;
    if (run.holds(hi, lo)) {
      this.#hot ??= new HotCache(powerOfTwoAtMost(Math.max(SLOTS_MIN, this.#options.memoryBytes / 4 / BYTES_PER_SLOT)));
      this.#hot.add(hi, lo);
      return true;
    }
    if (run.hasFilter) this.#filterFalsePositives++;
    return false;
  }

  #insert(hi: number, lo: number): void {
    if (this.#active.count >= this.#activeFull) this.#growActive();
    this.#active.add(hi, lo);
  }

  /** Four times as large up to the budget; beyond it twice, which is over budget and only happens while the frozen table is still being written. */
  #growActive(): void {
    const slots = this.#active.slots;
    const stepped = slots * 4 <= SLOTS_STEPPED_MAX ? slots * 4 : this.#slotsMax;
    this.#active.grow(slots >= this.#slotsMax ? slots * 2 : Math.min(stepped, this.#slotsMax));
    this.#activeFull = Math.floor(this.#active.slots * LOAD_MAX);
  }

  #replay(chunk: DeltaChunk): void {
    if (chunk.seq < this.#deltasFrom) return;
    for (let i = 0; i < chunk.keys.length; i += 2) {
      if (!this.#active.has(chunk.keys[i]!, chunk.keys[i + 1]!)) this.#insert(chunk.keys[i]!, chunk.keys[i + 1]!);
    }
    this.#nextDelta = Math.max(this.#nextDelta, chunk.seq + 1);
  }

  async #refill(chunk: DeltaChunk): Promise<void> {
    for (let i = 0; i < chunk.keys.length; i += 2) {
      if (!this.has(chunk.keys[i]!, chunk.keys[i + 1]!)) this.#insert(chunk.keys[i]!, chunk.keys[i + 1]!);
      if (this.#active.count >= this.#flushMark) await this.#flushAndMerge();
    }
    this.#nextDelta = Math.max(this.#nextDelta, chunk.seq + 1);
    await this.#turn();
  }

  /** During a rebuild no stored manifest names the runs, so merged ones are unlinked at once. */
  async #flushAndMerge(): Promise<void> {
    await this.#flush();
    for (let group = this.#mergeGroup(); group !== undefined; group = this.#mergeGroup()) await this.#merge(group);
    this.#unlink(this.#retired.splice(0));
  }

  #seal(): void {
    if (this.#freshCount === 0) return;
    this.#sealed.push({ seq: this.#nextDelta++, keys: this.#fresh.slice(0, this.#freshCount * 2) });
    this.#freshCount = 0;
    if (this.#fresh.length > 65_536) this.#fresh = new Uint32Array(1_024);
  }

  async #flush(): Promise<void> {
    this.#flushing = true;
    try {
      const frozen = this.#frozen ?? this.#freeze();
      const run = await this.#write(0, frozen.count, [], (writer) => this.#pushTable(frozen, writer));
      this.#runs.push(run);
      this.#deltasFrom = this.#frozenCovers;
      this.#frozen = undefined;
      this.#flushes++;
      this.#version++;
    } finally {
      this.#flushing = false;
    }
  }

  #freeze(): KeyTable {
    this.#seal();
    this.#frozen = this.#active;
    this.#frozenCovers = this.#nextDelta;
    this.#active = new KeyTable(this.#slotsMax);
    this.#activeFull = Math.floor(this.#slotsMax * LOAD_MAX);
    return this.#frozen;
  }

  async #pushTable(table: KeyTable, writer: RunWriter): Promise<void> {
    const words = await sortKeys(table, this.#turn);
    for (let from = 0; from < words.length; from += KEYS_PER_TURN * 2) {
      const to = Math.min(words.length, from + KEYS_PER_TURN * 2);
      for (let i = from; i < to; i += 2) writer.push(words[i + 1]!, words[i]!);
      await this.#turn();
    }
  }

  /** Eight runs of the lowest level that has as many, oldest first, and whose keys fit one filter. */
  #mergeGroup(): readonly Run[] | undefined {
    const levels = new Map<number, Run[]>();
    for (const run of this.#runs) levels.set(run.entry.level, [...(levels.get(run.entry.level) ?? []), run]);
    const full = [...levels.keys()].sort((a, b) => a - b).filter((level) => levels.get(level)!.length >= MERGE_RUNS);
    const keysMax = BLOOM_BITS_MAX / this.#bitsPerKey;
    return full.map((level) => levels.get(level)!.slice(0, MERGE_RUNS)).find((group) => sum(group, (run) => run.entry.keys) <= keysMax);
  }

  async #merge(group: readonly Run[]): Promise<void> {
    this.#merging = true;
    try {
      const keysMax = sum(group, (run) => run.entry.keys);
      const merged = await this.#write(group[0]!.entry.level + 1, keysMax, group, (writer) => mergeRuns(group, writer, this.#turn));
      const at = this.#runs.indexOf(group[0]!);
      this.#runs = this.#runs.filter((run) => !group.includes(run));
      this.#runs.splice(at, 0, merged);
      this.#retired.push(...group);
      this.#merges++;
      this.#version++;
    } finally {
      this.#merging = false;
    }
  }

  /** A durable run of what `fill` pushes, to stand instead of `replaced`. On any failure its file is given up and nothing has changed. */
  async #write(level: number, keysMax: number, replaced: readonly Run[], fill: (writer: RunWriter) => Promise<void>): Promise<Run> {
    const { disk, dir } = this.#options;
    const name = runName(this.#nextRun++);
    const writer = new RunWriter({ disk, dir, name, level, keysMax, bitsPerKey: this.#bitsPerKey, hashes: this.#hashes });
    try {
      await this.#turn();
      await fill(writer);
      const written = await writer.finish(this.#turn);
      if (this.#closed) throw new Stopped('the seen set was closed');
      return Run.openWritten(disk, dir, written, this.#filterBytesLeft() + sum(replaced, (run) => run.filterBytes));
    } catch (error) {
      writer.abandon();
      throw error;
    }
  }

  #filterBytesLeft(): number {
    return (this.#options.filterBytesMax ?? FILTER_BYTES_MAX) - sum(this.#runs, (run) => run.filterBytes);
  }

  #openRuns(manifest: RunManifest | undefined): void {
    if (manifest === undefined) return;
    this.#nextRun = manifest.nextRun;
    this.#deltasFrom = manifest.deltasFrom;
    this.#nextDelta = manifest.deltasFrom;
    for (const entry of manifest.runs) {
      this.#runs.push(Run.open(this.#options.disk, this.#options.dir, entry, this.#filterBytesLeft()));
    }
  }

  #removeStrayFiles(): void {
    const { disk, dir } = this.#options;
    const named = new Set(this.#runs.map((run) => run.entry.name));
    for (const name of disk.list(dir)) {
      if (isRunName(name) && !named.has(name)) disk.remove(`${dir}/${name}`);
    }
  }

  #unlink(runs: readonly Run[]): void {
    for (const run of runs) {
      run.close();
      this.#options.disk.remove(`${this.#options.dir}/${run.entry.name}`);
    }
  }
}

function ignoreStopped(error: unknown): void {
  if (!(error instanceof Stopped)) throw error;
}

function powerOfTwoAtMost(value: number): number {
  return 2 ** Math.floor(Math.log2(value));
}

function doubled(words: Uint32Array): Uint32Array {
  const larger = new Uint32Array(words.length * 2);
  larger.set(words);
  return larger;
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}
