/**
 * Rows of bytes by a whole number, for runs with millions of them: one row costs its bytes, 12 more and about 30 of an index, where a Map of byte arrays
 * costs 300 and each collection of garbage a visit.
 *
 * A log of slabs: a row is written behind the last one, or over itself when its length stays. What it leaves behind is dead; when more is dead than
 * alive, the slab with the least alive is read from its front and what still counts is written again.
 * Keys are whole numbers from 0 to 2^53 − 1. What it does not do: take anything back, survive the process.
 */
import { assert } from '../core/errors.ts';

const SLAB_BYTES = 1_048_576;
/** Before each row: its key (float64) and its length (uint32). */
const HEAD_BYTES = 12;
const FIRST_PLACES = 1_024;
/** Fewer dead bytes are not worth the trouble. */
const DEAD_MIN_BYTES = 4 * SLAB_BYTES;
const FREE = -1;
const GONE = -2;

interface Slab {
  readonly bytes: Buffer;
  used: number;
  /** Heads included. */
  alive: number;
}

export class PackedRows {
  #keys = new Float64Array(FIRST_PLACES);
  /** Number of the slab × SLAB_BYTES + offset of the row's head; FREE or GONE. */
  #places = new Float64Array(FIRST_PLACES).fill(FREE);
  /** Places that are not FREE. */
  #taken = 0;
  #count = 0;
  #slabs: (Slab | undefined)[] = [];
  /** Numbers of slabs that are gone. */
  readonly #spare: number[] = [];
  #open = -1;
  #alive = 0;
  #dead = 0;

  get count(): number {
    return this.#count;
  }

  /** Of all slabs. */
  get bytes(): number {
    return this.#slabs.reduce((sum, slab) => sum + (slab?.bytes.length ?? 0), 0);
  }

  /** A view that the next change may overwrite. */
  get(key: number): Buffer | undefined {
    const at = this.#find(key);
    return at < 0 ? undefined : this.#rowAt(this.#places[at]!);
  }

  set(key: number, row: Uint8Array): void {
    const at = this.#find(key);
    if (at >= 0) {
      const before = this.#rowAt(this.#places[at]!);
      if (before.length === row.length) {
        before.set(row);
        return;
      }
      this.#bury(this.#places[at]!);
      this.#places[at] = this.#write(key, row);
    } else this.#insert(key, this.#write(key, row));
    if (this.#dead > DEAD_MIN_BYTES && this.#dead > this.#alive) this.#compact();
  }

  /** Puts bytes behind those of a row, or makes it. */
  append(key: number, more: Uint8Array): void {
    const before = this.get(key);
    this.set(key, before === undefined ? more : Buffer.concat([before, more]));
  }

  delete(key: number): void {
    const at = this.#find(key);
    if (at < 0) return;
    this.#bury(this.#places[at]!);
    this.#places[at] = GONE;
    this.#count--;
  }

  /** In no order that means anything. The rows must not change meanwhile. */
  *keys(): Iterable<number> {
    for (let at = 0; at < this.#places.length; at++) if (this.#places[at]! >= 0) yield this.#keys[at]!;
  }

  #rowAt(place: number): Buffer {
    const { bytes } = this.#slabs[Math.floor(place / SLAB_BYTES)]!;
    const head = place % SLAB_BYTES;
    return bytes.subarray(head + HEAD_BYTES, head + HEAD_BYTES + bytes.readUInt32LE(head + 8));
  }

  #write(key: number, row: Uint8Array): number {
    const size = HEAD_BYTES + row.length;
    const number = this.#slabFor(size);
    const slab = this.#slabs[number]!;
    const head = slab.used;
    slab.bytes.writeDoubleLE(key, head);
    slab.bytes.writeUInt32LE(row.length, head + 8);
    slab.bytes.set(row, head + HEAD_BYTES);
    slab.used += size;
    slab.alive += size;
    this.#alive += size;
    return number * SLAB_BYTES + head;
  }

  /** A row that is larger than a slab gets one of its own. */
  #slabFor(size: number): number {
    const open = this.#slabs[this.#open];
    if (open !== undefined && open.used + size <= open.bytes.length) return this.#open;
    const number = this.#spare.pop() ?? this.#slabs.length;
    this.#slabs[number] = { bytes: Buffer.allocUnsafeSlow(Math.max(SLAB_BYTES, size)), used: 0, alive: 0 };
    this.#open = number;
    return number;
  }

  #bury(place: number): void {
    const number = Math.floor(place / SLAB_BYTES);
    const slab = this.#slabs[number]!;
    const size = HEAD_BYTES + slab.bytes.readUInt32LE((place % SLAB_BYTES) + 8);
    slab.alive -= size;
    this.#alive -= size;
    this.#dead += size;
    if (slab.alive === 0 && number !== this.#open) this.#drop(number);
  }

  #drop(number: number): void {
    const slab = this.#slabs[number]!;
    this.#dead -= slab.used - slab.alive;
    this.#slabs[number] = undefined;
    this.#spare.push(number);
  }

  /** Moves what is alive out of the emptiest slab. */
  #compact(): void {
    let emptiest = -1;
    for (let number = 0; number < this.#slabs.length; number++) {
      const slab = this.#slabs[number];
      if (slab === undefined || number === this.#open) continue;
      if (emptiest < 0 || slab.alive / slab.used < this.#slabs[emptiest]!.alive / this.#slabs[emptiest]!.used) emptiest = number;
    }
    if (emptiest < 0) return;
    const { bytes, used } = this.#slabs[emptiest]!;
    for (let head = 0; head < used; ) {
      const length = bytes.readUInt32LE(head + 8);
      const key = bytes.readDoubleLE(head);
      const at = this.#find(key);
      const place = emptiest * SLAB_BYTES + head;
      head += HEAD_BYTES + length;
      if (at < 0 || this.#places[at] !== place) continue;
      this.#places[at] = this.#write(key, bytes.subarray(head - length, head));
      this.#bury(place);
    }
    const rest = this.#slabs[emptiest];
    if (rest?.bytes !== bytes) return;
    assert(rest.alive === 0, 'what was alive has been moved');
    this.#drop(emptiest);
  }

  /** Where the key stands in the index; −1 when it does not. */
  #find(key: number): number {
    const mask = this.#keys.length - 1;
    for (let at = placeOf(key) & mask; ; at = (at + 1) & mask) {
      const place = this.#places[at]!;
      if (place === FREE) return -1;
      if (place !== GONE && this.#keys[at] === key) return at;
    }
  }

  /** Of a key that is not there. */
  #insert(key: number, place: number): void {
    if ((this.#taken + 1) * 10 > this.#keys.length * 7) this.#rehash();
    const mask = this.#keys.length - 1;
    let at = placeOf(key) & mask;
    while (this.#places[at]! >= 0) at = (at + 1) & mask;
    if (this.#places[at] === FREE) this.#taken++;
    this.#keys[at] = key;
    this.#places[at] = place;
    this.#count++;
  }

  #rehash(): void {
    const keys = this.#keys;
    const places = this.#places;
    const size = this.#count * 2 > keys.length * 0.7 ? keys.length * 2 : keys.length;
    this.#keys = new Float64Array(size);
    this.#places = new Float64Array(size).fill(FREE);
    this.#taken = 0;
    this.#count = 0;
    for (let at = 0; at < keys.length; at++) if (places[at]! >= 0) this.#insert(keys[at]!, places[at]!);
  }
}

function placeOf(key: number): number {
  let hash = Math.imul((key | 0) ^ Math.imul((key / 4_294_967_296) | 0, 0x85ebca6b), 0x9e3779b1);
  hash ^= hash >>> 15;
  return Math.imul(hash, 0x2c1b3c6d) >>> 0;
}
