/** The two laws: any true history of finds and URLs leaves nothing unaccounted, and one lost anywhere shows. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { DROP_REASONS, OUTCOME_NAMES, REJECT_REASONS } from '../../src/core/reasons.ts';
import { bump, emptyTotals, lawGaps, merge, overall, sum, Totals, type TotalsSnapshot } from '../../src/engine/accounting.ts';

const SHARDS = 3;

interface Shard {
  readonly totals: Totals;
  readonly queued: number[];
  /** Finds sent to this shard and not taken yet, by sender. */
  readonly inbox: number[];
}

/** One thing that happens to one find or one URL. `pick` chooses among reasons, levels and shards. */
type Event = {
  readonly kind:
    | 'seed'
    | 'known at finder'
    | 'rejected at finder'
    | 'local'
    | 'send'
    | 'take'
    | 'fetch'
    | 'drop'
    | 'retry'
    | 'reopen'
    | 'lost output';
  readonly shard: number;
  readonly pick: number;
};
type Arrival = 'known' | 'rejected' | 'admitted';
const event: fc.Arbitrary<Event> = fc.record({
  kind: fc.constantFrom(
    'seed',
    'known at finder',
    'rejected at finder',
    'local',
    'local',
    'send',
    'send',
    'take',
    'take',
    'fetch',
    'fetch',
    'drop',
    'retry',
    'reopen',
    'lost output',
  ),
  shard: fc.nat(SHARDS - 1),
  pick: fc.nat(1_000),
});

function newShards(): Shard[] {
  return Array.from({ length: SHARDS }, () => ({
    totals: new Totals(),
    queued: [0, 0, 0, 0, 0, 0],
    inbox: new Array<number>(SHARDS).fill(0),
  }));
}

function happen(shards: readonly Shard[], { kind, shard, pick }: Event): void {
  const { totals, queued, inbox } = shards[shard]!;
  const reject = REJECT_REASONS[pick % REJECT_REASONS.length]!;
  switch (kind) {
    case 'seed':
      totals.seeds++;
      arrive(shards[shard]!, pick);
      break;
    case 'known at finder':
      totals.extracted++;
      totals.finderKnown++;
      break;
    case 'rejected at finder':
      totals.extracted++;
      bump(totals.finderRejected, reject);
      break;
    case 'local':
      totals.extracted++;
      totals.local++;
      arrive(shards[shard]!, pick);
      break;
    case 'send': {
      const to = (shard + 1 + (pick % (SHARDS - 1))) % SHARDS;
      totals.extracted++;
      bump(totals.sent, to);
      shards[to]!.inbox[shard]!++;
      break;
    }
    case 'take': {
      const from = inbox.findIndex((count) => count > 0);
      if (from < 0) break;
      inbox[from]!--;
      bump(totals.taken, from);
      arrive(shards[shard]!, pick);
      break;
    }
    case 'fetch':
      if (unqueue(queued)) bump(totals.fetched, OUTCOME_NAMES[pick % OUTCOME_NAMES.length]!);
      break;
    case 'drop':
      if (unqueue(queued)) bump(totals.dropped, DROP_REASONS[pick % DROP_REASONS.length]!);
      break;
    case 'retry':
      if (unqueue(queued)) queued[5]!++;
      break;
    case 'reopen':
    case 'lost output': {
      const code = OUTCOME_NAMES.find((name) => (totals.fetched.get(name) ?? 0) > 0);
      if (code === undefined) break;
      bump(totals.fetched, code, -1);
      queued[5]!++;
      if (kind === 'reopen') totals.reopened++;
      else totals.lostOutput++;
      break;
    }
  }
}

function arrive({ totals, queued }: Shard, pick: number): void {
  const arrival = (['known', 'rejected', 'admitted', 'admitted'] as const)[pick % 4] as Arrival;
  if (arrival === 'known') totals.known++;
  else if (arrival === 'rejected') bump(totals.ownerRejected, REJECT_REASONS[pick % REJECT_REASONS.length]!);
  else {
    totals.admitted++;
    queued[pick % 5]!++;
  }
}

function unqueue(queued: number[]): boolean {
  const level = queued.findIndex((count) => count > 0);
  if (level < 0) return false;
  queued[level]!--;
  return true;
}

function snapshots(shards: readonly Shard[]): TotalsSnapshot[] {
  return shards.map(({ totals, queued }) => totals.snapshot(queued));
}

const history = fc.array(event, { maxLength: 300, size: 'max' });

describe('accounting', () => {
  test('whatever happens to finds and URLs, the laws hold per shard and overall, and in transit is what was sent and not taken', () => {
    fc.assert(
      fc.property(history, (events) => {
        const shards = newShards();
        for (const one of events) happen(shards, one);
        const parts = snapshots(shards);
        for (const part of parts) assert.deepEqual(lawGaps(part), { finder: 0, owner: 0, urls: 0 });
        const all = overall(parts);
        assert.equal(all.unaccounted, 0);
        assert.equal(
          all.inTransit,
          shards.reduce((total, shard) => total + shard.inbox.reduce((a, b) => a + b, 0), 0),
        );
        assert.equal(all.found, all.known + sum(all.rejected) + all.admitted + all.inTransit);
        assert.equal(all.admitted, all.queued + sum(all.fetched) + sum(all.dropped));
      }),
    );
  });

  /** Every counter that a law has a term for: changing any one of them alone must show. */
  const terms: Readonly<Record<string, (totals: Totals, queued: number[], pick: number) => void>> = {
    'a link that was met and not counted': (totals) => totals.extracted--,
    'a link counted as known and lost': (totals) => totals.finderKnown--,
    'a link rejected without a reason': (totals, _queued, pick) =>
      bump(totals.finderRejected, REJECT_REASONS[pick % REJECT_REASONS.length]!, -1),
    'a find of this shard lost on its way': (totals) => totals.local--,
    'a find that was sent and not counted': (totals, _queued, pick) => bump(totals.sent, pick % SHARDS, -1),
    'a find that was taken and not counted': (totals, _queued, pick) => bump(totals.taken, pick % SHARDS, -1),
    'a find that was taken twice': (totals, _queued, pick) => bump(totals.taken, pick % SHARDS, 1),
    'a seed lost': (totals) => totals.seeds--,
    'a known find lost at its owner': (totals) => totals.known--,
    'a find refused without a reason': (totals, _queued, pick) =>
      bump(totals.ownerRejected, REJECT_REASONS[pick % REJECT_REASONS.length]!, -1),
    'a URL admitted and not counted': (totals) => totals.admitted--,
    'a queued URL lost': (_totals, queued, pick) => queued[pick % 6]!--,
    'a URL queued twice': (_totals, queued, pick) => queued[pick % 6]!++,
    'an outcome lost': (totals, _queued, pick) => bump(totals.fetched, OUTCOME_NAMES[pick % OUTCOME_NAMES.length]!, -1),
    'a URL that ended twice': (totals, _queued, pick) => bump(totals.fetched, OUTCOME_NAMES[pick % OUTCOME_NAMES.length]!, 1),
    'a drop without a reason': (totals, _queued, pick) => bump(totals.dropped, DROP_REASONS[pick % DROP_REASONS.length]!, -1),
  };
  for (const [title, lose] of Object.entries(terms)) {
    test(`${title} makes unaccounted non-zero`, () => {
      fc.assert(
        fc.property(history, fc.nat(SHARDS - 1), fc.nat(100), (events, shard, pick) => {
          const shards = newShards();
          for (const one of events) happen(shards, one);
          lose(shards[shard]!.totals, shards[shard]!.queued, pick);
          assert.ok(overall(snapshots(shards)).unaccounted > 0);
        }),
        { numRuns: 40 },
      );
    });
  }

  test('errors of two shards in opposite directions do not cancel', () => {
    const shards = newShards();
    shards[0]!.totals.admitted++;
    shards[1]!.totals.admitted--;
    assert.ok(overall(snapshots(shards)).unaccounted >= 2);
  });

  test('a receiver that took more than was sent is unaccounted, even when another pair is behind by as much', () => {
    const shards = newShards();
    for (const from of [0, 1]) {
      shards[from]!.totals.extracted++;
      bump(shards[from]!.totals.sent, 2);
    }
    bump(shards[2]!.totals.taken, 1, 2);
    shards[2]!.totals.known += 2;
    assert.ok(overall(snapshots(shards)).unaccounted > 0);
  });

  test('R-L1 totals come back from their text as they were, and go on', () => {
    fc.assert(
      fc.property(history, history, (before, after) => {
        const shards = newShards();
        for (const one of before) happen(shards, one);
        const again = shards.map(({ totals, queued, inbox }) => {
          const restored = Totals.restore(JSON.stringify(totals.snapshot(queued)));
          assert.deepEqual(restored.queued, queued);
          return { totals: restored.totals, queued: [...restored.queued], inbox: [...inbox] };
        });
        assert.deepEqual(snapshots(again), snapshots(shards));
        for (const one of after) {
          happen(shards, one);
          happen(again, one);
        }
        assert.deepEqual(snapshots(again), snapshots(shards));
      }),
    );
  });

  test('a snapshot does not follow later counting', () => {
    const totals = new Totals();
    const queued = [1, 0, 0, 0, 0, 0];
    bump(totals.fetched, 'ok');
    const snapshot = totals.snapshot(queued);
    bump(totals.fetched, 'ok');
    queued[0]!++;
    totals.admitted++;
    assert.deepEqual([snapshot.fetched, snapshot.queued[0], snapshot.admitted], [{ ok: 1 }, 1, 0]);
  });

  test('a new shard has nothing, and nothing of it is unaccounted', () => {
    assert.equal(overall([emptyTotals(), emptyTotals()]).unaccounted, 0);
    assert.deepEqual(Totals.restore('').totals.snapshot([0, 0, 0, 0, 0, 0]), emptyTotals());
  });

  test('merging adds by name', () => {
    assert.deepEqual(merge([{ a: 1 }, { a: 2, b: 3 }, {}]), { a: 3, b: 3 });
  });
});
