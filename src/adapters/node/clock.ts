/**
 * The system's clock.
 *
 * Monotonic time is CLOCK_MONOTONIC of the machine (process.hrtime): threads and processes of one boot read the same scale, which is what
 * the politeness ledger's (boot id, mono, wall) needs. Timers stand in a heap of our own behind one Node timer, because Node's may fire up
 * to 1 ms early and a heap entry is cheaper than a Timeout object. Invariant: a timer never fires before its due time, and in order of due
 * time (equal due times: in order of setting).
 */
import type { EpochMs, MonoMs } from '../../core/time.ts';
import type { Clock } from '../../ports/clock.ts';

export interface SystemClockOptions {
  /** Whether waiting timers keep the process alive. Default true; switch with `keepAlive` when a crawl begins or ends. */
  readonly keepAlive?: boolean;
}

export interface SystemClock extends Clock {
  /** Whether waiting timers keep the process alive from now on. */
  keepAlive(on: boolean): void;
}

/** setTimeout takes at most 2^31 - 1 ms; a later timer is waited for in steps. */
const NODE_DELAY_MS_MAX = 2 ** 31 - 1;
/** Cancelled entries are swept when they are more than this and more than half of the heap. */
const CANCELLED_COUNT_MIN = 64;

interface Entry {
  readonly dueMs: number;
  readonly order: number;
  fn: (() => void) | undefined;
}

export function createSystemClock(options: SystemClockOptions = {}): SystemClock {
  return new NodeClock(options.keepAlive ?? true);
}

class NodeClock implements SystemClock {
  #keepAlive: boolean;
  #heap: Entry[] = [];
  #order = 0;
  #cancelled = 0;
  #armedFor = Number.POSITIVE_INFINITY;
  #timeout: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;

  constructor(keepAlive: boolean) {
    this.#keepAlive = keepAlive;
  }

  nowEpochMs(): EpochMs {
    return Date.now();
  }

  nowMonoMs(): MonoMs {
    return monoMs();
  }

  setTimer(delayMs: number, fn: () => void): () => void {
    const entry: Entry = { dueMs: monoMs() + Math.max(0, delayMs), order: this.#order++, fn };
    push(this.#heap, entry);
    if (entry.dueMs < this.#armedFor) this.#arm();
    return () => this.#cancel(entry);
  }

  keepAlive(on: boolean): void {
    this.#keepAlive = on;
    for (const handle of [this.#timeout, this.#immediate]) {
      if (on) handle?.ref();
      else handle?.unref();
    }
  }

  #cancel(entry: Entry): void {
    if (entry.fn === undefined) return;
    entry.fn = undefined;
    this.#cancelled += 1;
    if (this.#cancelled > CANCELLED_COUNT_MIN && this.#cancelled * 2 > this.#heap.length) this.#sweep();
    if (this.#heap.length === this.#cancelled) this.#disarm(); // nothing waits: the process may end
  }

  #sweep(): void {
    this.#heap = this.#heap.filter((entry) => entry.fn !== undefined).sort(compare);
    this.#cancelled = 0;
  }

  #arm(): void {
    this.#disarm();
    this.#dropCancelledHead();
    const head = this.#heap[0];
    if (head === undefined) return;
    this.#armedFor = head.dueMs;
    const delayMs = head.dueMs - monoMs();
    if (delayMs <= 0) this.#immediate = setImmediate(() => this.#run());
    else this.#timeout = setTimeout(() => this.#run(), Math.min(Math.ceil(delayMs), NODE_DELAY_MS_MAX));
    if (!this.#keepAlive) this.keepAlive(false);
  }

  #disarm(): void {
    clearTimeout(this.#timeout);
    clearImmediate(this.#immediate);
    this.#timeout = undefined;
    this.#immediate = undefined;
    this.#armedFor = Number.POSITIVE_INFINITY;
  }

  /** Fires what was due when it began; timers set meanwhile wait for the next turn of the loop, so that I/O gets its turn. */
  #run(): void {
    this.#armedFor = Number.NEGATIVE_INFINITY; // no arming from inside: once, at the end
    const nowMs = monoMs();
    const orderEnd = this.#order;
    try {
      for (;;) {
        this.#dropCancelledHead();
        const head = this.#heap[0];
        if (head === undefined || head.dueMs > nowMs || head.order >= orderEnd) break;
        pop(this.#heap);
        const fn = head.fn;
        head.fn = undefined;
        fn?.();
      }
    } finally {
      this.#arm(); // also after a timer that throws: the others still fire
    }
  }

  #dropCancelledHead(): void {
    while (this.#heap.length > 0 && this.#heap[0]?.fn === undefined) {
      pop(this.#heap);
      this.#cancelled -= 1;
    }
  }
}

function monoMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}

function compare(a: Entry, b: Entry): number {
  return a.dueMs - b.dueMs || a.order - b.order;
}

function push(heap: Entry[], entry: Entry): void {
  let at = heap.length;
  heap.push(entry);
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above]!;
    if (compare(parent, entry) <= 0) break;
    heap[at] = parent;
    at = above;
  }
  heap[at] = entry;
}

function pop(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let below = at * 2 + 1;
    if (below >= heap.length) break;
    if (below + 1 < heap.length && compare(heap[below + 1]!, heap[below]!) < 0) below += 1;
    const child = heap[below]!;
    if (compare(last, child) <= 0) break;
    heap[at] = child;
    at = below;
  }
  heap[at] = last;
}
