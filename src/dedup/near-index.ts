/**
 * Finds the SimHashes within 3 bits of a given one (R-H3): block permutations in tables, in memory up to a budget, then in runs on disk.
 *
 * Invariant: `find` sees every entry added before, wherever it lies: a pair at most 3 bits apart is never missed (4 tables as well as 20).
 * Add only originals, that is what `find` did not answer (R-H4): copies of copies would make one bucket as long as the cluster. A bucket is
 * followed for 16,384 entries at most, and stats().truncatedProbes says when that was not enough.
 *
 * Spilling and merging go on in small steps inside `add`, one for each call, so there is no job to await and the memory bound holds: a
 * segment that fills before its predecessor is written waits for it. Nothing is durable: the owner adds everything again at open, from the page rows.
 */
import { assert } from '../core/errors.ts';
import type { Disk } from '../ports/disk.ts';
import { NearProbe } from './near-probe.ts';
import { NearRun } from './near-run.ts';
import { NearSegment } from './near-segment.ts';
import { type NearLayout, nearLayout, tableKey } from './near-tables.ts';
import { NEAR_DISTANCE_MAX } from './policy.ts';

/** Entries from which new segments get 20 tables; 4 tables make 610 candidates a probe there. */
const LARGE_FROM = 10_000_000;
const SEGMENT_ENTRIES_MIN = 64;
const MERGE_RUNS = 8;
/** Entries of one run: positions in it stay below 2^31. */
const RUN_ENTRIES_MAX = 200_000_000;

export interface NearIndexOptions {
  readonly disk: Disk;
  /** Directory of this index alone; run files found in it are removed. */
  readonly dir: string;
  /** Half for the two segments and the copy that is being ordered, half for what runs keep in memory (more: their bitmaps are left out, and probes read). */
  readonly memoryBytes: number;
  /** Default 10 M. */
  readonly largeFrom?: number;
}

export interface NearMatch {
  readonly id: number;
  /** Bits apart, 0 … 3. */
  readonly distance: number;
}

export interface NearStats {
  readonly entries: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  readonly runs: number;
  readonly runsWithoutBitmap: number;
  readonly layout: 'small' | 'large';
  readonly probes: number;
  /** Mean number of entries compared in full per probe. */
  readonly candidatesPerProbe: number;
  readonly readsPerProbe: number;
  readonly truncatedProbes: number;
}

export class NearIndex {
  readonly #options: NearIndexOptions;
  readonly #small = nearLayout('small');
  readonly #large = nearLayout('large');
  readonly #probe = new NearProbe();
  #active: NearSegment;
  #frozen: NearSegment | undefined;
  #runs: NearRun[] = [];
  #spill: Generator<void, NearRun> | undefined;
  #merge: { readonly steps: Generator<void, NearRun>; readonly inputs: readonly NearRun[] } | undefined;
  #entries = 0;
  #nextRun = 1;
  #probes = 0;
  #candidates = 0;
  #reads = 0;
  #truncated = 0;

  constructor(options: NearIndexOptions) {
    this.#options = options;
    for (const name of options.disk.list(options.dir)) {
      if (/^near-\d+\.run$/.test(name)) options.disk.remove(`${options.dir}/${name}`);
    }
    this.#active = this.#newSegment();
  }

  /** `id`: 0 … 2^53 − 1; on equal distances the smallest is found. Throws PortolanError of the disk; the entry is in the index all the same. */
  add(hi: number, lo: number, id: number): void {
    if (this.#active.full) this.#freeze();
    this.#active.add(hi, lo, id);
    this.#entries++;
    if (this.#spill !== undefined || this.#frozen !== undefined) this.#stepSpill();
    if (this.#merge !== undefined) this.#stepMerge();
  }

  /** The nearest entry at most `maxDistance` (0 … 3) bits away, of several the one with the smallest id. */
  find(hi: number, lo: number, maxDistance: number): NearMatch | undefined {
    assert(maxDistance >= 0 && maxDistance <= NEAR_DISTANCE_MAX, `near distance ${maxDistance} is not within 0 … ${NEAR_DISTANCE_MAX}`);
    const probe = this.#probe;
    probe.start(hi, lo, maxDistance);
    const layouts = this.#layoutsInUse();
    for (const layout of layouts) this.#probeLayout(layout, probe);
    this.#probes++;
    this.#candidates += probe.candidates;
    if (probe.truncated) this.#truncated++;
    return probe.id < 0 ? undefined : { id: probe.id, distance: probe.distance };
  }

  stats(): NearStats {
    const per = (total: number): number => (this.#probes === 0 ? 0 : total / this.#probes);
    const runBytes = this.#runs.reduce((sum, run) => sum + run.memoryBytes, 0);
    return {
      entries: this.#entries,
      memoryBytes: this.#active.bytes + (this.#frozen?.bytes ?? 0) + runBytes,
      diskBytes: this.#runs.reduce((sum, run) => sum + run.diskBytes, 0),
      runs: this.#runs.length,
      runsWithoutBitmap: this.#runs.filter((run) => run.layout.sparse && run.bitmapBytes === 0).length,
      layout: this.#active.layout.name,
      probes: this.#probes,
      candidatesPerProbe: per(this.#candidates),
      readsPerProbe: per(this.#reads),
      truncatedProbes: this.#truncated,
    };
  }

  /** Removes the files. Idempotent. */
  close(): void {
    this.#spill?.return(undefined as never);
    this.#merge?.steps.return(undefined as never);
    for (const run of this.#runs) run.remove();
    this.#runs = [];
  }

  #layoutsInUse(): readonly NearLayout[] {
    const inUse = (layout: NearLayout): boolean =>
      this.#active.layout === layout || this.#frozen?.layout === layout || this.#runs.some((run) => run.layout === layout);
    return [this.#small, this.#large].filter(inUse);
  }

  /** Table by table over all parts: entries at distance 0 are in every table, so once one table gave such an answer the rest need not be asked. */
  #probeLayout(layout: NearLayout, probe: NearProbe): void {
    for (let table = 0; table < layout.tables.length; table++) {
      const key = tableKey(layout.tables[table]!, probe.hi, probe.lo);
      if (this.#active.layout === layout) this.#active.probe(table, key, probe);
      if (this.#frozen?.layout === layout) this.#frozen.probe(table, key, probe);
      for (const run of this.#runs) {
        if (run.layout === layout) this.#reads += run.probe(table, key, probe);
      }
      if (probe.distance === 0) return;
    }
  }

  #newSegment(): NearSegment {
    const layout = this.#entries >= (this.#options.largeFrom ?? LARGE_FROM) ? this.#large : this.#small;
    const bytesPerEntry = 3 * NearSegment.bytesPerEntry(layout);
    return new NearSegment(layout, Math.max(SEGMENT_ENTRIES_MIN, Math.floor(this.#options.memoryBytes / 2 / bytesPerEntry)));
  }

  #freeze(): void {
    while (this.#frozen !== undefined) this.#stepSpill();
    this.#frozen = this.#active;
    this.#active = this.#newSegment();
  }

  #stepSpill(): void {
    this.#spill ??= NearRun.spill(this.#frozen!, this.#place(0));
    try {
      const step = this.#spill.next();
      if (step.done !== true) return;
      this.#runs.push(step.value);
    } catch (error) {
      this.#spill = undefined;
      throw error;
    }
    this.#spill = undefined;
    this.#frozen = undefined;
    this.#startMerge();
  }

  #startMerge(): void {
    if (this.#merge !== undefined) return;
    for (const first of this.#runs) {
      const inputs = this.#runs.filter((run) => run.level === first.level && run.layout === first.layout).slice(0, MERGE_RUNS);
      const entries = inputs.reduce((sum, run) => sum + run.count, 0);
      if (inputs.length < MERGE_RUNS || entries > RUN_ENTRIES_MAX) continue;
      const freed = inputs.reduce((sum, run) => sum + run.memoryBytes, 0);
      this.#merge = { steps: NearRun.merge(inputs, this.#place(first.level + 1, freed)), inputs };
      return;
    }
  }

  #stepMerge(): void {
    const { steps, inputs } = this.#merge!;
    try {
      const step = steps.next();
      if (step.done !== true) return;
      this.#runs = [...this.#runs.filter((run) => !inputs.includes(run)), step.value];
    } catch (error) {
      this.#merge = undefined;
      throw error;
    }
    this.#merge = undefined;
    for (const run of inputs) run.remove();
    this.#startMerge();
  }

  #place(level: number, freedBytes = 0): { disk: Disk; path: string; level: number; bitmapBytesMax: number } {
    const { disk, dir, memoryBytes } = this.#options;
    const used = this.#runs.reduce((sum, run) => sum + run.memoryBytes, 0);
    const path = `${dir}/near-${String(this.#nextRun++).padStart(6, '0')}.run`;
    return { disk, path, level, bitmapBytesMax: memoryBytes / 2 - used + freedBytes };
  }
}
