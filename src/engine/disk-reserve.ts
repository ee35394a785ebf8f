/** Free space under the reserve (output.reserve) stops new leases; they go on when there is space again. Asked once a second at most. */
import type { EpochMs } from '../core/time.ts';
import type { Loop } from './loop.ts';
import type { ShardEnv } from './shard-env.ts';

const CHECK_MS = 1_000;
/** While the crawl pauses nothing commits, so the disk is asked by a timer. */
const PAUSED_CHECK_MS = 5_000;
const MIB = 1_048_576;

export class DiskReserve {
  readonly #env: ShardEnv;
  readonly #loop: Loop;
  #lastCheckMs: EpochMs = 0;

  constructor(env: ShardEnv, loop: Loop) {
    this.#env = env;
    this.#loop = loop;
  }

  check(): void {
    const { id, context, ports, events } = this.#env;
    const now = context.clock.nowEpochMs();
    if (now - this.#lastCheckMs < CHECK_MS) return;
    this.#lastCheckMs = now;
    const { reserve } = context.config.output;
    const free = ports.disk.freeBytes();
    if (free < reserve && this.#loop.paused === '') {
      events.notice(
        id,
        `only ${Math.floor(free / MIB)} MiB are free, less than the reserve of ${Math.floor(reserve / MIB)} MiB: the crawl pauses until there is space`,
      );
      this.#loop.pause('disk');
    } else if (free >= reserve && this.#loop.paused === 'disk') {
      events.notice(id, 'there is space again: the crawl goes on');
      this.#loop.pause('');
    }
    if (this.#loop.paused === 'disk') context.clock.setTimer(PAUSED_CHECK_MS, () => this.#loop.guard(() => this.check()));
  }
}
