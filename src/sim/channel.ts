/**
 * LinkChannel of one simulated process: every message arrives later than it was sent, those of one pair of shards in their order, and all of
 * them are gone when the process dies. A fault may delay a message (and with it those behind it) or lose it.
 */
import type { LinkChannel, LinkMessage } from '../ports/link-channel.ts';
import type { EventLog } from './event-log.ts';
import type { Faults } from './faults.ts';
import type { Incarnation } from './incarnation.ts';

const SLOW_MS_MAX = 3_000;

export class SimChannel implements LinkChannel {
  readonly #life: Incarnation;
  readonly #faults: Faults;
  readonly #log: EventLog;
  readonly #handlers = new Map<number, (message: LinkMessage) => void>();
  /** Pair → no message arrives before this virtual time. */
  readonly #lastAt = new Map<number, number>();

  constructor(life: Incarnation, faults: Faults, log: EventLog) {
    this.#life = life;
    this.#faults = faults;
    this.#log = log;
  }

  send(message: LinkMessage): void {
    const { time } = this.#life;
    const { linkLost, linkSlow } = this.#faults.options;
    if (message.from >= 0 && message.to >= 0 && this.#faults.strikes('link-lost', linkLost)) return;
    if (this.#faults.message('send')) return;
    const delay = this.#faults.strikes('link-slow', linkSlow) ? 1 + this.#faults.random.int(SLOW_MS_MAX) : 0;
    const pair = (message.from + 1) * 65_536 + message.to + 1;
    const at = Math.max(time.nowMs + delay, this.#lastAt.get(pair) ?? 0);
    this.#lastAt.set(pair, at);
    this.#life.after(at - time.nowMs, () => {
      if (this.#faults.message('receive')) return;
      if (message.kind === 'finds') this.#log.add('finds', time.nowMs, message.from, message.to, message.seq);
      this.#handlers.get(message.to)?.(message);
    });
  }

  receive(shard: number, handler: (message: LinkMessage) => void): void {
    this.#handlers.set(shard, handler);
  }
}
