/**
 * Virtual time: one heap of events, run one after the other. Time stands while an event runs and jumps to the next one afterwards.
 *
 * Invariant: events run in order of their time, equal times in the order in which they were set; nothing else makes anything run. After each
 * event whose code may have left promises behind, a `hop` drains them all, since none of them waits for anything real.
 * So the whole run is a function of its inputs. Times are whole milliseconds.
 * Not here: what the events are; wall clocks (see incarnation.ts).
 */

export interface VirtualEvent {
  readonly atMs: number;
  readonly order: number;
  /** Undefined when it has run or was cancelled. */
  fn: (() => void) | undefined;
  /** Where it stands in the heap. */
  place: number;
  /** The event's code uses no promise but those of simulated ports, which ask for a hop themselves. */
  readonly plain: boolean;
}

export class VirtualTime {
  readonly #hop: () => Promise<void>;
  readonly #heap: VirtualEvent[] = [];
  #order = 0;
  #nowMs = 0;
  #touched = false;
  #ran = 0;

  /** `hop` resolves when no promise is left to run. */
  constructor(hop: () => Promise<void>) {
    this.#hop = hop;
  }

  /** Milliseconds since the simulation began. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Events run so far. */
  get ran(): number {
    return this.#ran;
  }

  /** Something that a promise waits for has happened: promises are drained before the next event. */
  touch(): void {
    this.#touched = true;
  }

  at(atMs: number, fn: () => void, plain = false): VirtualEvent {
    const event: VirtualEvent = { atMs: Math.max(this.#nowMs, Math.ceil(atMs)), order: this.#order++, fn, place: 0, plain };
    push(this.#heap, event);
    return event;
  }

  after(delayMs: number, fn: () => void, plain = false): VirtualEvent {
    return this.at(this.#nowMs + Math.max(0, delayMs), fn, plain);
  }

  /** A promise that is fulfilled after `delayMs`, or rejected with what `failure` gives then. */
  wait(delayMs: number, failure?: () => unknown): Promise<void> {
    this.touch();
    return new Promise((resolve, reject) => {
      this.after(delayMs, () => {
        const error = failure?.();
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  }

  /** Idempotent. */
  cancel(event: VirtualEvent): void {
    if (event.fn === undefined) return;
    event.fn = undefined;
    remove(this.#heap, event.place);
  }

  /** Runs events until `isOver` says so, none is left, or the next one lies beyond `untilMs` (time then stands at untilMs). */
  async run(untilMs: number, isOver: () => boolean): Promise<'over' | 'empty' | 'until'> {
    await this.#hop();
    while (!isOver()) {
      const event = this.#heap[0];
      if (event === undefined) return 'empty';
      if (event.atMs > untilMs) {
        this.#nowMs = Math.max(this.#nowMs, untilMs);
        return 'until';
      }
      remove(this.#heap, 0);
      this.#nowMs = event.atMs;
      this.#ran++;
      const fn = event.fn!;
      event.fn = undefined;
      fn();
      if (event.plain && !this.#touched) continue;
      this.#touched = false;
      await this.#hop();
    }
    return 'over';
  }
}

function isBefore(a: VirtualEvent, b: VirtualEvent): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

function push(heap: VirtualEvent[], event: VirtualEvent): void {
  heap.push(event);
  rise(heap, event, heap.length - 1);
}

/** Takes the event at this place out: a timer that is cancelled, as most are, goes at once and weighs on no other. */
function remove(heap: VirtualEvent[], place: number): void {
  const last = heap.pop()!;
  if (place === heap.length) return;
  const above = (place - 1) >> 1;
  if (place > 0 && isBefore(last, heap[above]!)) rise(heap, last, place);
  else sink(heap, last, place);
}

function rise(heap: VirtualEvent[], event: VirtualEvent, from: number): void {
  let at = from;
  while (at > 0) {
    const above = (at - 1) >> 1;
    const parent = heap[above]!;
    if (!isBefore(event, parent)) break;
    heap[at] = parent;
    parent.place = at;
    at = above;
  }
  heap[at] = event;
  event.place = at;
}

function sink(heap: VirtualEvent[], event: VirtualEvent, from: number): void {
  let at = from;
  for (;;) {
    let below = at * 2 + 1;
    if (below >= heap.length) break;
    if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++;
    const child = heap[below]!;
    if (!isBefore(child, event)) break;
    heap[at] = child;
    child.place = at;
    at = below;
  }
  heap[at] = event;
  event.place = at;
}
