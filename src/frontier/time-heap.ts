/**
 * Binary min-heap of (time, id) over typed arrays: push and pop cost O(log n), nothing is allocated per entry. Equal times leave in any order.
 * An id may stand in it more than once; the caller decides whether a popped entry still means something.
 */
export class TimeHeap {
  #times: Float64Array;
  #ids: Int32Array;
  #size = 0;

  constructor(capacity = 64) {
    this.#times = new Float64Array(capacity);
    this.#ids = new Int32Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  /** Time of the first entry; Infinity when empty. */
  get firstTime(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : this.#times[0]!;
  }

  /** Id of the first entry; the heap must not be empty. */
  get firstId(): number {
    return this.#ids[0]!;
  }

  push(time: number, id: number): void {
    if (this.#size === this.#ids.length) this.#grow();
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#times[parent]! <= time) break;
      this.#move(parent, at);
      at = parent;
    }
    this.#times[at] = time;
    this.#ids[at] = id;
  }

  /** Removes the first entry and returns its id; the heap must not be empty. */
  pop(): number {
    const id = this.#ids[0]!;
    const last = --this.#size;
    const time = this.#times[last]!;
    const lastId = this.#ids[last]!;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= last) break;
      if (child + 1 < last && this.#times[child + 1]! < this.#times[child]!) child++;
      if (this.#times[child]! >= time) break;
      this.#move(child, at);
      at = child;
    }
    this.#times[at] = time;
    this.#ids[at] = lastId;
    return id;
  }

  /** Adds to every time; the order stays. */
  shiftTimes(byMs: number): void {
    for (let at = 0; at < this.#size; at++) this.#times[at]! += byMs;
  }

  #move(from: number, to: number): void {
    this.#times[to] = this.#times[from]!;
    this.#ids[to] = this.#ids[from]!;
  }

  #grow(): void {
    const times = new Float64Array(this.#times.length * 2);
    const ids = new Int32Array(this.#ids.length * 2);
    times.set(this.#times);
    ids.set(this.#ids);
    this.#times = times;
    this.#ids = ids;
  }
}
