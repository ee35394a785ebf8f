/**
 * What memory keeps of every host, cold ones too: 64-bit hash of the key → id, scheduling state, and the level of the ring it stands in.
 * About 18 bytes a host and no JavaScript object. The hash only finds candidates; the caller compares the key of the row before believing it.
 */
export const HOST_IDLE = 0; // nothing queued
export const HOST_IN_RING = 1; // waits in a front queue
export const HOST_ACTIVE = 2; // holds a back queue
export const HOST_SNOOZED = 3; // waits for a time without a back queue
export const HOST_PARKED = 4; // waits for its address
export const HOST_APART = 5; // set apart: the crawl does not wait for it
export const NO_LEVEL = 255;

export class HostIndex {
  #hi = new Uint32Array(1024);
  #lo = new Uint32Array(1024);
  #id = new Int32Array(1024);
  #count = 0;
  #state = new Uint8Array(1024);
  #ringLevel = new Uint8Array(1024);
  #level = new Uint8Array(1024);

  get hosts(): number {
    return this.#count;
  }

  /** Id of the host with this hash; 0 when there is none. Different keys may share a hash: `nth` counts through them, from 0. */
  find(hi: number, lo: number, nth = 0): number {
    const mask = this.#id.length - 1;
    let left = nth;
    for (let at = lo & mask; ; at = (at + 1) & mask) {
      const id = this.#id[at]!;
      if (id === 0) return 0;
      if (this.#lo[at] === lo && this.#hi[at] === hi && left-- === 0) return id;
    }
  }

  insert(hi: number, lo: number, id: number): void {
    if ((this.#count + 1) * 4 > this.#id.length * 3) this.#growTable();
    this.#place(hi, lo, id);
    this.#count++;
    this.#ensureId(id);
    this.#ringLevel[id] = NO_LEVEL;
    this.#level[id] = NO_LEVEL;
  }

  state(id: number): number {
    return this.#state[id]!;
  }

  setState(id: number, state: number): void {
    this.#state[id] = state;
  }

  ringLevel(id: number): number {
    return this.#ringLevel[id]!;
  }

  setRingLevel(id: number, level: number): void {
    this.#ringLevel[id] = level;
  }

  /** Ring level the host would go to, as of the last time its record was in memory; NO_LEVEL when it has nothing queued. */
  level(id: number): number {
    return this.#level[id]!;
  }

  setLevel(id: number, level: number): void {
    this.#level[id] = level;
  }

  #place(hi: number, lo: number, id: number): void {
    const mask = this.#id.length - 1;
    let at = lo & mask;
    while (this.#id[at] !== 0) at = (at + 1) & mask;
    this.#hi[at] = hi;
    this.#lo[at] = lo;
    this.#id[at] = id;
  }

  #growTable(): void {
    const { hi, lo, id } = { hi: this.#hi, lo: this.#lo, id: this.#id };
    this.#hi = new Uint32Array(id.length * 2);
    this.#lo = new Uint32Array(id.length * 2);
    this.#id = new Int32Array(id.length * 2);
    for (let at = 0; at < id.length; at++) if (id[at] !== 0) this.#place(hi[at]!, lo[at]!, id[at]!);
  }

  #ensureId(id: number): void {
    if (id < this.#state.length) return;
    const size = Math.max(id + 1, this.#state.length * 2);
    const state = new Uint8Array(size);
    const ringLevel = new Uint8Array(size);
    const level = new Uint8Array(size);
    state.set(this.#state);
    level.set(this.#level);
    this.#level = level;
    ringLevel.set(this.#ringLevel);
    this.#state = state;
    this.#ringLevel = ringLevel;
  }
}

/**
 * Two 32-bit hashes of a text (FNV-1a and a multiplicative variant), for the index only: never stored. Names that collide are easily made for
 * a known `seed` (a 32-bit integer), so each process draws its own.
 */
export function hashText(text: string, seed: number, into: Uint32Array): void {
  let a = 0x811c9dc5 ^ seed;
  let b = 0x9e3779b9 + seed;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b + code, 0x85ebca6b) ^ (b >>> 13);
  }
  into[0] = (a ^ (a >>> 15)) >>> 0;
  into[1] = Math.imul(b ^ (b >>> 16), 0xc2b2ae35) >>> 0;
}
