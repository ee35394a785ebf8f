/**
 * The order in which things were last used, as a list that runs through the things themselves: a use costs a few writes to them. A Map whose key is taken out
 * and put in again keeps the same order, but makes a new table of its whole size every so many uses.
 */

/** What stands in a list carries its neighbours; undefined at the ends and outside of a list. */
export interface Used<T> {
  usedBefore: T | undefined;
  usedAfter: T | undefined;
}

export class Recency<T extends Used<T>> {
  #oldest: T | undefined;
  #newest: T | undefined;

  /** The least recently used; undefined when there is none. */
  get oldest(): T | undefined {
    return this.#oldest;
  }

  get newest(): T | undefined {
    return this.#newest;
  }

  /** Of one that stands in no list. */
  add(one: T): void {
    one.usedBefore = this.#newest;
    if (this.#newest === undefined) this.#oldest = one;
    else this.#newest.usedAfter = one;
    this.#newest = one;
  }

  /** Of one that stands in this list. */
  remove(one: T): void {
    const { usedBefore, usedAfter } = one;
    if (usedBefore === undefined) this.#oldest = usedAfter;
    else usedBefore.usedAfter = usedAfter;
    if (usedAfter === undefined) this.#newest = usedBefore;
    else usedAfter.usedBefore = usedBefore;
    one.usedBefore = undefined;
    one.usedAfter = undefined;
  }

  /** Of one that stands in this list: it is the newest now. */
  use(one: T): void {
    if (one === this.#newest) return;
    this.remove(one);
    this.add(one);
  }
}
