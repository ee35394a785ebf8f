/** The part of the index in memory: entries in order of arrival, and for each table a chained hash over them. 16 + 8 · tables bytes an entry. */

import { ENTRIES_MAX, ENTRY_BYTES, ENTRY_WORDS, type NearProbe, putEntry } from './near-probe.ts';
import { type NearLayout, tableKey } from './near-tables.ts';

const CAPACITY_FIRST = 4_096;
/** Links hold the entry's index + 1, so that fresh arrays are empty and large ones cost nothing until they are used. */
const END = 0;

export class NearSegment {
  readonly layout: NearLayout;
  entries: Uint32Array;
  count = 0;
  readonly #capacityMax: number;
  #capacity: number;
  /** For each table: the newest entry of each bucket, then the next older one of each entry. */
  #heads: Int32Array[];
  #next: Int32Array[];
  #shift: number;

  constructor(layout: NearLayout, capacityMax: number) {
    this.layout = layout;
    this.#capacityMax = capacityMax;
    this.#capacity = Math.min(CAPACITY_FIRST, capacityMax);
    this.entries = new Uint32Array(this.#capacity * ENTRY_WORDS);
    this.#shift = 0;
    this.#heads = [];
    this.#next = [];
    this.#makeTables();
  }

  static bytesPerEntry(layout: NearLayout): number {
    return ENTRY_BYTES + 8 * layout.tables.length;
  }

  get full(): boolean {
    return this.count === this.#capacityMax;
  }

  get bytes(): number {
    const tables =
      this.#heads.reduce((sum, heads) => sum + heads.byteLength, 0) + this.#next.reduce((sum, next) => sum + next.byteLength, 0);
    return this.entries.byteLength + tables;
  }

  add(hi: number, lo: number, id: number): void {
    if (this.count === this.#capacity) this.#grow();
    putEntry(this.entries, this.count * ENTRY_WORDS, hi, lo, id);
    this.#link(this.count);
    this.count++;
  }

  probe(table: number, key: number, probe: NearProbe): void {
    const mask = this.layout.tables[table]!;
    const next = this.#next[table]!;
    const entries = this.entries;
    let looked = 0;
    for (let link = this.#heads[table]![key >>> this.#shift]!; link !== END; link = next[link - 1]!) {
      if (++looked > ENTRIES_MAX) {
        probe.truncated = true;
        return;
      }
      const at = (link - 1) * ENTRY_WORDS;
      const differs = ((entries[at]! ^ probe.hi) & mask.hi) | ((entries[at + 1]! ^ probe.lo) & mask.lo);
      if (differs === 0) probe.offer(entries, at);
    }
  }

  /** From the first size to the full one in a single step, so that linking anew takes a few milliseconds once and never more. */
  #grow(): void {
    this.#capacity = this.#capacityMax;
    const larger = new Uint32Array(this.#capacity * ENTRY_WORDS);
    larger.set(this.entries);
    this.entries = larger;
    this.#makeTables();
    for (let entry = 0; entry < this.count; entry++) this.#link(entry);
  }

  #makeTables(): void {
    const bits = Math.max(1, Math.floor(Math.log2(this.#capacity)));
    this.#shift = 32 - bits;
    this.#heads = this.layout.tables.map(() => new Int32Array(2 ** bits));
    this.#next = this.layout.tables.map(() => new Int32Array(this.#capacity));
  }

  #link(entry: number): void {
    const hi = this.entries[entry * ENTRY_WORDS]!;
    const lo = this.entries[entry * ENTRY_WORDS + 1]!;
    for (let table = 0; table < this.layout.tables.length; table++) {
      const bucket = tableKey(this.layout.tables[table]!, hi, lo) >>> this.#shift;
      this.#next[table]![entry] = this.#heads[table]![bucket]!;
      this.#heads[table]![bucket] = entry + 1;
    }
  }
}
