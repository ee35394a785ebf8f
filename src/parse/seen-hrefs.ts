/**
 * The distinct hrefs of one page. A Set that lives as long as the parser would do, but for the garbage collector: V8 leaves the table that a Set outgrows
 * or clears pointing to its successor, so one table that reached the old generation keeps every later one alive, with the hrefs in it and the pages they
 * are slices of, until the next full collection (53 KB a page were promoted; a quarter of the process's CPU time went to it).
 *
 * Open addressing over an array that holds no object; exact: equal hashes are compared as strings. Emptied for each page.
 */
const MIN_SLOTS = 1 << 10;
/** Places looked at for one href. A page that wants more is made to: its hrefs go to a Set of its own, whose hash nobody can foresee. */
const PROBES_MAX = 64;
/** No slot: too many were looked at. */
const CROWDED = -1;
const PRIME = 0x01000193;

export class SeenHrefs {
  /** Place of a href in #hrefs plus one, 0 where none stands; a power of two long, at most half full. */
  #slots = new Int32Array(MIN_SLOTS);
  #hrefs: string[] = [];
  readonly #hashes: number[] = [];
  /** Instead of all of these, for a page whose hrefs crowd. */
  #set: Set<string> | undefined;

  /** Lets go of the hrefs, and of the memory that a page with very many took. */
  reset(): void {
    this.#set = undefined;
    if (this.#hrefs.length === 0) return;
    if (this.#slots.length > MIN_SLOTS) this.#slots = new Int32Array(MIN_SLOTS);
    else this.#slots.fill(0);
    this.#hrefs = [];
    this.#hashes.length = 0;
  }

  has(href: string): boolean {
    if (this.#set !== undefined) return this.#set.has(href);
    const slot = this.#slotOf(href, hashOf(href));
    return slot === CROWDED ? this.#useSet().has(href) : this.#slots[slot] !== 0;
  }

  /** Adds it; false when it was there. */
  add(href: string): boolean {
    if (this.#set !== undefined) return addTo(this.#set, href);
    const hash = hashOf(href);
    const slot = this.#slotOf(href, hash);
    if (slot === CROWDED) return addTo(this.#useSet(), href);
    if (this.#slots[slot] !== 0) return false;
    this.#hashes.push(hash);
    this.#slots[slot] = this.#hrefs.push(href);
    if (this.#hrefs.length * 2 > this.#slots.length) this.#grow();
    return true;
  }

  #useSet(): Set<string> {
    this.#set = new Set(this.#hrefs);
    return this.#set;
  }

  /** Where it stands, or the free slot where it would; CROWDED when that is too far away. */
  #slotOf(href: string, hash: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = hash & mask;
    for (let probes = 0; probes < PROBES_MAX; probes++) {
      const place = slots[slot]!;
      if (place === 0 || (this.#hashes[place - 1] === hash && this.#hrefs[place - 1] === href)) return slot;
      slot = (slot + 1) & mask;
    }
    return CROWDED;
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

function addTo(set: Set<string>, href: string): boolean {
  const before = set.size;
  return set.add(href).size > before;
}

/** FNV-1a over the code units, its high bits folded into the low ones that choose a slot. */
function hashOf(href: string): number {
  let hash = 0x811c9dc5 | 0;
  for (let i = 0; i < href.length; i++) hash = Math.imul(hash ^ href.charCodeAt(i), PRIME);
  return hash ^ (hash >>> 15);
}
