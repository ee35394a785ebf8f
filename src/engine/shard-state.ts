/**
 * The state of one shard in memory: everything a batch is frozen from, made from what the last batch left in the store.
 *
 * Invariant: each piece has one owner of its private fields, and the parts that move URLs along are handed the pieces they name. Nothing here
 * is brought up to the outside world yet: lost output and debts are restore.ts.
 */
import type { Config } from '../config/schema.ts';
import { counted } from '../core/counted.ts';
import { PortolanError } from '../core/errors.ts';
import { NearIndex } from '../dedup/near-index.ts';
import { Frontier } from '../frontier/frontier.ts';
import type { OpenedShard } from '../ports/shard-store.ts';
import { ROBOTS_DEFAULTS } from '../robots/policy.ts';
import type { SeenSet } from '../seen/seen-set.ts';
import { Totals, type TotalsSnapshot } from './accounting.ts';
import { Activity } from './activity.ts';
import { ContentDesk } from './content-desk.ts';
import type { ThreadContext } from './context.ts';
import { Delivery } from './delivery.ts';
import { LeftAddresses } from './left-addresses.ts';
import { LoadMeter } from './load-meter.ts';
import { Outbox } from './outbox.ts';
import { RobotsDesk } from './robots-desk.ts';
import { parseMarks, type SavedMarks } from './saved-marks.ts';
import { openSeen } from './seen-open.ts';
import type { ShardEnv } from './shard-env.ts';
import { ShardOutput } from './shard-output.ts';
import { Unwritten } from './unwritten.ts';

/** Keys remembered as durable at their owner. */
const KNOWN_KEYS = 1 << 17;
/** A host of which so many pages were judged may be demoted for its near-duplicates. */
const JUDGED_MIN = 20;
const NEAR_BYTES_MIN = 2_097_152;
const ROBOTS_BYTES_MIN = 1_048_576;

export interface ShardState {
  /** As the store gave it at open. */
  readonly opened: OpenedShard;
  readonly marks: SavedMarks;
  /** What the last durable commit says to others. */
  readonly committed: Committed;
  readonly totals: Totals;
  readonly frontier: Frontier;
  readonly outbox: Outbox;
  readonly robots: RobotsDesk;
  readonly near: NearIndex;
  readonly content: ContentDesk;
  readonly output: ShardOutput;
  readonly delivery: Delivery;
  readonly seen: SeenSet;
  readonly unwritten: Unwritten;
  readonly activity: Activity;
  readonly meter: LoadMeter;
  readonly leftAddresses: LeftAddresses;
}

export interface Committed {
  readonly commitSeq: number;
  readonly totals: TotalsSnapshot;
  /** Last message number of each lane, by receiver. */
  readonly sentSeq: Readonly<Record<string, number>>;
}

/** Opens store, output files and seen set. Throws PortolanError. */
export async function openShardState(env: ShardEnv): Promise<ShardState> {
  const { id, context, ports, events } = env;
  const opened = ports.store.open(id);
  if (opened.isNew === true && ports.blobs.list(`ledger/ledger-s${id}-`).length > 0) {
    throw new PortolanError('PORTOLAN_STATE_DAMAGED', `the database of shard ${id} is gone, but not its output`, {
      remedy: 'restore the state directory from a backup, or start a new crawl in another directory',
    });
  }
  const marks = parseMarks(opened.marks);
  const { totals, queued } = Totals.restore(opened.totals);
  const frontier = openFrontier(env);
  frontier.setQueuedCounts(queued);
  const outbox = new Outbox(id, KNOWN_KEYS);
  const near = openNear(env);
  const output = new ShardOutput(context, id, ports.blobs, marks, (file) => events.rotated(id, file));
  outbox.restore(opened.outbox, new Map(Object.entries(marks.lanes).map(([to, seq]) => [Number(to), seq])));
  const activity = new Activity();
  const unwritten = new Unwritten(context.clock, activity);
  return {
    opened,
    marks,
    committed: { commitSeq: opened.commitSeq, totals: totals.snapshot(frontier.queuedCounts), sentSeq: outbox.lastSeqs() },
    totals,
    frontier,
    outbox,
    robots: openRobots(env, output),
    near,
    content: new ContentDesk(ports.store, near, context.simhasher, context.config.dedup.distance, opened.nextContentId),
    output,
    delivery: openDelivery(env, marks, unwritten),
    seen: await openSeen(env, opened, unwritten),
    unwritten,
    activity,
    meter: new LoadMeter(),
    leftAddresses: new LeftAddresses(),
  };
}

function openDelivery(env: ShardEnv, marks: SavedMarks, unwritten: Unwritten): Delivery {
  const { id, context, ports, events } = env;
  const { delivery, deliver = () => {} } = context;
  const opened = new Delivery(
    ports.blobs,
    id,
    delivery,
    marks.delivery,
    (items) => deliver(id, items),
    () => unwritten.mark(),
  );
  if (opened.lost > 0)
    events.notice(
      id,
      `${counted(opened.lost, 'page or drop that waited for the program is', 'pages and drops that waited for the program are')} lost to it: their spool is not what was committed`,
    );
  return opened;
}

function openFrontier(env: ShardEnv): Frontier {
  const { context, ports } = env;
  const { config, rules, transport } = context;
  return new Frontier(
    {
      weights: config.frontier.weights,
      quantum: config.frontier.quantum,
      maxQueuedPerHost: config.frontier.maxQueuedPerHost,
      maxSubdomains: rules.maxSubdomains,
      fairSlots: Math.max(1, Math.floor(config.frontier.backQueues / context.shards)),
      demoted: (host) =>
        rules.skipNearDuplicates && host.judged >= JUDGED_MIN && host.nearDuplicates >= config.dedup.demoteShare * host.judged,
      released: (hostKey) => {
        transport.release(`http://${hostKey}`);
        transport.release(`https://${hostKey}`);
      },
    },
    ports.store,
    context.random,
    ports.gate,
  );
}

function openRobots(env: ShardEnv, output: ShardOutput): RobotsDesk {
  const { context, ports } = env;
  const { config } = context;
  return new RobotsDesk(
    ports.store,
    context.random,
    {
      ...ROBOTS_DEFAULTS,
      ttlMs: config.robots.ttl,
      retryMsMin: config.robots.retryMin,
      retryMsMax: config.robots.retryMax,
      giveUpMs: config.robots.giveUp,
    },
    config.agent.token,
    shareOf(config, context, 1 / 16, ROBOTS_BYTES_MIN),
    (record, hops, bodyBefore) => output.ledgerRobots(record, hops, bodyBefore),
  );
}

function openNear(env: ShardEnv): NearIndex {
  const { context, ports } = env;
  return new NearIndex({ disk: ports.disk, dir: 'near', memoryBytes: shareOf(context.config, context, 1 / 8, NEAR_BYTES_MIN) });
}

/** Bytes for one shard when all shards together may take this part of the memory. */
function shareOf(config: Config, context: ThreadContext, part: number, bytesMin: number): number {
  return Math.max(bytesMin, Math.floor((config.run.memory * part) / context.shards));
}
