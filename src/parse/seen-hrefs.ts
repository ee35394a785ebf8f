/**
 * The distinct hrefs of one page. A Set that lives as long as the parser would do, but for the garbage collector: V8 leaves the table that a Set outgrows
 * or clears pointing to its successor, so one table that reached the old generation keeps every later one alive, with the hrefs in it and the pages they
 * are slices of, until the next full collection (53 KB a page were promoted; a third of the process's CPU time went to collections).
 *
 * Open addressing over an array that holds no object; exact: equal hashes are compared as strings. Emptied for each page.
 */
const MIN_SLOTS = 1 << 10;
const PRIME = 0x01000193;

export class SeenHrefs {
  /** Place of a href in #hrefs plus one, 0 where none stands; a power of two long, at most half full. */
  #slots = new Int32Array(MIN_SLOTS);
  #hrefs: string[] = [];
  readonly #hashes: number[] = [];

  /** Lets go of the hrefs, and of the memory that a page with very many took. */
  reset(): void {
    if (this.#hrefs.length === 0) return;
    if (this.#slots.length > MIN_SLOTS) this.#slots = new Int32Array(MIN_SLOTS);
    else this.#slots.fill(0);
    this.#hrefs = [];
    this.#hashes.length = 0;
  }

  has(href: string): boolean {
    return this.#slots[this.#slotOf(href, hashOf(href))] !== 0;
  }

  /** Adds it; false when it was there. */
  add(href: string): boolean {
    const hash = hashOf(href);
    const slot = this.#slotOf(href, hash);
    if (this.#slots[slot] !== 0) return false;
    this.#hashes.push(hash);
    this.#slots[slot] = this.#hrefs.push(href);
    if (this.#hrefs.length * 2 > this.#slots.length) this.#grow();
    return true;
  }

  /** Where it stands, or the free slot where it would. */
  #slotOf(href: string, hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hash & mask;
    for (let place = slots[slot]!; place !== 0; place = slots[slot]!) {
      if (this.#hashes[place - 1] === hash && this.#hrefs[place - 1] === href) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #grow(): void {
    const slots = new Int32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    this.#hashes.forEach((hash, place) => {
      let slot = hash & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = place + 1;
    });
    this.#slots = slots;
  }
}

/** FNV-1a over the code units, its high bits folded into the low ones that choose a slot. */
function hashOf(href: string): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = 0; i < href.length; i++) hash = Math.imul(hash ^ href.charCodeAt(i), PRIME);
  return hash ^ (hash >>> 15);
}
