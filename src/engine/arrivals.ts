/**
 * Messages from other shards and from the seed list, and what is owed for them: finds are admitted in the order of their numbers and acknowledged
 * when the batch that took them is durable (PROTOCOL section 2).
 *
 * Invariant: exactly taken + 1 is admitted; lower numbers were taken before, higher ones wait for the message that was lost and is sent again.
 */
import { readFinds } from '../core/records.ts';
import { isSeedSender, type LinkMessage, SEED_SENDER } from '../ports/link-channel.ts';
import type { TakenRow } from '../ports/shard-store.ts';
import { splitUrl } from '../url/index.ts';
import { bump, type Totals } from './accounting.ts';
import type { Activity } from './activity.ts';
import type { Admission } from './admission.ts';
import type { ContentDesk } from './content-desk.ts';
import type { Errands } from './errands.ts';
import type { FindRouter } from './find-router.ts';
import type { Outbox } from './outbox.ts';
import type { RobotsTurns } from './robots-turns.ts';
import type { ShardEnv } from './shard-env.ts';
import type { ShardState } from './shard-state.ts';
import type { Unwritten } from './unwritten.ts';

/** What of one sender was taken. `finds` counts those of all its lists. */
interface Taken {
  seq: number;
  finds: number;
  readonly list: string;
}

/** What a batch takes along, and what may be acknowledged once it is durable. */
export interface FrozenArrivals {
  readonly rows: readonly TakenRow[];
  /** Keys refused (halves alternating) by sender; each sender here is owed an acknowledgement. */
  readonly refused: ReadonlyMap<number, readonly number[]>;
  readonly takenSeq: Readonly<Record<string, number>>;
}

export class Arrivals {
  readonly #env: ShardEnv;
  readonly #admission: Admission;
  readonly #router: FindRouter;
  readonly #errands: Errands;
  readonly #robotsTurns: RobotsTurns;
  readonly #totals: Totals;
  readonly #outbox: Outbox;
  readonly #content: ContentDesk;
  readonly #unwritten: Unwritten;
  readonly #activity: Activity;
  readonly #taken = new Map<number, Taken>();
  readonly #takenChanged = new Set<number>();
  readonly #refused = new Map<number, number[]>();
  #committedSeq: Readonly<Record<string, number>>;

  constructor(
    env: ShardEnv,
    state: Pick<ShardState, 'opened' | 'totals' | 'outbox' | 'content' | 'unwritten' | 'activity'>,
    admission: Admission,
    router: FindRouter,
    errands: Errands,
    robotsTurns: RobotsTurns,
  ) {
    this.#env = env;
    this.#admission = admission;
    this.#router = router;
    this.#errands = errands;
    this.#robotsTurns = robotsTurns;
    this.#totals = state.totals;
    this.#outbox = state.outbox;
    this.#content = state.content;
    this.#unwritten = state.unwritten;
    this.#activity = state.activity;
    for (const { from, seq, finds, list } of state.opened.taken) this.#taken.set(from, { seq, finds, list });
    this.#committedSeq = this.#takenSeq();
  }

  receive(message: LinkMessage): void {
    this.#activity.moved();
    switch (message.kind) {
      case 'finds':
        this.#receiveFinds(message);
        break;
      case 'ack':
        // An owner has refused what the router may hold for known.
        if (message.refused.length > 0) this.#router.forget();
        if (this.#outbox.acknowledged(message.from, message.upTo, message.refused)) this.#unwritten.mark();
        break;
      case 'content':
        this.#content.learn(message.entries);
        if (this.#content.isDirty) this.#unwritten.mark();
        break;
      case 'errand':
        this.#errands.receive(message);
        break;
      case 'errand-reply':
        this.#robotsTurns.receiveReply(message.id, message.answer);
        break;
      case 'scope':
        this.#env.context.scope.addHost(message.hostKey);
        break;
    }
  }

  #receiveFinds(message: LinkMessage & { kind: 'finds' }): void {
    const { from, seq } = message;
    const taken = this.#takenOf(from, message.list ?? '');
    if (seq <= taken.seq) {
      // Sent again after a restart: acknowledge what is durable at once; the pending commit acknowledges the rest.
      const durable = from === SEED_SENDER ? taken.seq : (this.#committedSeq[from] ?? 0);
      if (seq <= durable) this.#acknowledge(from, durable, []);
      return;
    }
    if (seq !== taken.seq + 1) return;
    const refused = this.#refused.get(from) ?? [];
    this.#refused.set(from, refused);
    const finds = readFinds(message.blob);
    if (isSeedSender(from)) this.#totals.seeds += finds.length;
    else bump(this.#totals.taken, from, finds.length);
    for (const find of finds) if (!this.#admission.admit(find, splitUrl(find.url))) refused.push(find.keyHi, find.keyLo);
    taken.seq = seq;
    taken.finds += finds.length;
    this.#takenChanged.add(from);
    this.#unwritten.mark();
  }

  /** Another list of the same sender is numbered anew. */
  #takenOf(from: number, list: string): Taken {
    const before = this.#taken.get(from);
    if (before !== undefined && before.list === list) return before;
    const taken = { seq: 0, finds: before?.finds ?? 0, list };
    this.#taken.set(from, taken);
    return taken;
  }

  #acknowledge(from: number, upTo: number, refused: readonly number[]): void {
    this.#env.context.channel.send({ kind: 'ack', from: this.#env.id, to: from, upTo, refused: Uint32Array.from(refused) });
  }

  freeze(): FrozenArrivals {
    const rows = [...this.#takenChanged].map((from) => ({ from, ...this.#taken.get(from)! }));
    const frozen = { rows, refused: new Map(this.#refused), takenSeq: this.#takenSeq() };
    this.#takenChanged.clear();
    this.#refused.clear();
    return frozen;
  }

  /** The batch that carried them is durable: their senders may forget them. */
  committed(frozen: FrozenArrivals): void {
    this.#committedSeq = frozen.takenSeq;
    for (const [from, refused] of frozen.refused) this.#acknowledge(from, frozen.takenSeq[from] ?? 0, refused);
  }

  /** Number of the last message taken durably, by sender. */
  get committedSeq(): Readonly<Record<string, number>> {
    return this.#committedSeq;
  }

  #takenSeq(): Record<string, number> {
    return Object.fromEntries([...this.#taken].map(([from, taken]) => [from, taken.seq]));
  }
}
