/** URLs that end without a request: one at a time with a reason of its own, or all of a host's with the reason for which it was closed. */
import { counted } from '../core/counted.ts';
import { type HostState, queuedTotal } from '../core/host.ts';
import type { DropReason } from '../core/reasons.ts';
import type { QueueEntry } from '../core/records.ts';
import type { EpochMs } from '../core/time.ts';
import type { Frontier, HostMemory } from '../frontier/frontier.ts';
import { encodeDropLine } from '../output/drop-line.ts';
import { keyHex, type SplitUrl } from '../url/index.ts';
import { bump, type Totals } from './accounting.ts';
import type { Delivery } from './delivery.ts';
import { dropItem } from './delivery-items.ts';
import { partsOf, rowDepth, urlOf } from './entries.ts';
import type { Errands } from './errands.ts';
import type { ShardEnv } from './shard-env.ts';
import type { ShardOutput } from './shard-output.ts';
import type { ShardState } from './shard-state.ts';
import type { Unwritten } from './unwritten.ts';

/** Entries let go without a request in one turn. */
export const DROPS_PER_TURN = 64;

type ClosedState = Exclude<HostState, 'open'>;

/** A closed host's reason for every entry it still has. */
export const CLOSED_REASONS: Readonly<Record<ClosedState, DropReason>> = {
  retired: 'host-retired',
  'robots-given-up': 'robots-unreachable',
  'over-budget': 'page-budget',
  forbidden: 'forbidden-address',
};

export class Drops {
  readonly #env: ShardEnv;
  readonly #errands: Errands;
  readonly #frontier: Frontier;
  readonly #totals: Totals;
  readonly #output: ShardOutput;
  readonly #delivery: Delivery;
  readonly #unwritten: Unwritten;

  constructor(env: ShardEnv, state: Pick<ShardState, 'frontier' | 'totals' | 'output' | 'delivery' | 'unwritten'>, errands: Errands) {
    this.#env = env;
    this.#errands = errands;
    this.#frontier = state.frontier;
    this.#totals = state.totals;
    this.#output = state.output;
    this.#delivery = state.delivery;
    this.#unwritten = state.unwritten;
  }

  /** The entry at the head of the host that is on turn. `detail`: which rule, in words; '' when the reason says it all. */
  drop(memory: HostMemory, entry: QueueEntry, parts: SplitUrl, reason: DropReason, detail: string, now: EpochMs): void {
    this.#frontier.consume(memory);
    memory.record.dropped++;
    bump(this.#totals.dropped, reason);
    const url = urlOf(parts);
    const { keyHi, keyLo, via, depth } = entry;
    this.#unwritten.addFate({ hostId: memory.record.id, keyHi, keyLo, reason, atMs: now, url, via, depth: rowDepth(entry) });
    const line = encodeDropLine({ url, key: keyHex(keyHi, keyLo), host: memory.record.key, reason, detail, via, depth, atMs: now });
    this.#output.appendDrop(line);
    if (this.#delivery.plan?.drops === true) this.#delivery.add(dropItem(line), undefined);
    this.#unwritten.mark();
  }

  /** Every URL that waits for this host, or comes later, ends with the reason of its state. Ends the turn. */
  closeHost(memory: HostMemory, state: ClosedState, now: EpochMs): void {
    const { record } = memory;
    record.state = state;
    this.#frontier.touch(memory);
    this.#env.events.notice(
      this.#env.id,
      `${record.key} is closed: ${CLOSED_REASONS[state]}; ${counted(queuedTotal(record), 'URL is', 'URLs are')} dropped`,
    );
    this.dropClosed(memory, state, now);
  }

  /** One turn of a host that is closed: lets go of some of its URLs. A new cycle gives an exhausted host its budget back. */
  dropClosed(memory: HostMemory, state: ClosedState, now: EpochMs): void {
    this.#errands.failAll(memory);
    const { record } = memory;
    if (state === 'over-budget' && now - record.cycleStartMs >= this.#env.context.config.frontier.budgetCycle) {
      record.state = 'open';
      this.#frontier.endTurn(memory, now);
      return;
    }
    const reason = CLOSED_REASONS[state];
    for (let drops = 0; drops < DROPS_PER_TURN; drops++) {
      const entry = this.#frontier.peek(memory, Number.POSITIVE_INFINITY);
      if (entry === undefined) break;
      this.drop(memory, entry, partsOf(memory, entry), reason, '', now);
    }
    this.#frontier.endTurn(memory, now, now);
  }
}
