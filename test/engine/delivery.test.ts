/** Items of a shard reach the program in order and at least once, whatever was committed, given and killed in between; what waits is bounded. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { createFileBlobStore } from '../../src/adapters/file/blob-store.ts';
import { Delivery, type DeliveryItem, type DeliveryMarks, type DeliveryPlan } from '../../src/engine/delivery.ts';
import { TestDisk } from '../support/test-disk.ts';

const PLAN: DeliveryPlan = { pages: true, drops: true, body: true, text: false, links: false, headers: false, window: 10 };

class Rig {
  readonly #temporary = TestDisk.temporary();
  readonly disk = this.#temporary.disk;
  readonly blobs = createFileBlobStore(this.disk, '');
  /** As the store has it. */
  marks: DeliveryMarks | undefined;
  sent: DeliveryItem[] = [];
  changes = 0;
  delivery!: Delivery;

  /** Kills what there was and opens anew. */
  open(plan: DeliveryPlan | 'none' = PLAN): this {
    this.delivery?.close();
    this.sent = [];
    const send = (items: readonly DeliveryItem[]): void => void this.sent.push(...items);
    this.delivery = new Delivery(this.blobs, 0, plan === 'none' ? undefined : plan, this.marks, send, () => this.changes++);
    this.delivery.start();
    return this;
  }

  async commit(): Promise<void> {
    const marks = await this.delivery.sync();
    // A store keeps it as JSON.
    this.marks = marks === undefined ? undefined : (JSON.parse(JSON.stringify(marks)) as DeliveryMarks);
    this.delivery.committed(this.marks);
  }

  remove(): void {
    this.delivery.close();
    this.#temporary.remove();
  }

  names(): string[] {
    return this.sent.map(({ json }) => json);
  }

  files(): readonly string[] {
    return this.blobs.list('state/delivery/');
  }
}

/** It goes with the test. */
function rigFor(t: Pick<TestContext, 'after'>): Rig {
  const rig = new Rig();
  t.after(() => rig.remove());
  return rig;
}

test('nothing goes out before its commit, and bodies arrive as they were', async (t) => {
  const rig = rigFor(t).open();
  const body = Uint8Array.from({ length: 700_000 }, (_, at) => at % 251);
  rig.delivery.add('"ä"', body);
  rig.delivery.add('"none"', undefined);
  rig.delivery.add('"empty"', new Uint8Array(0));
  assert.equal(rig.sent.length, 0);
  await rig.commit();
  assert.deepEqual(rig.names(), ['"ä"', '"none"', '"empty"']);
  assert.deepEqual(
    rig.sent.map(({ body: one }) => one?.length),
    [700_000, undefined, 0],
  );
  assert.deepEqual(Buffer.from(rig.sent[0]!.body!), Buffer.from(body));
  assert.equal(rig.sent[0]!.body!.byteOffset + rig.sent[0]!.body!.buffer.byteLength, body.length, 'a buffer of its own');
});

test('what is on its way is bounded in bytes, one larger item aside', async (t) => {
  const rig = rigFor(t).open({ ...PLAN, window: 1_000 });
  for (let at = 0; at < 20; at++) rig.delivery.add(String(at), new Uint8Array(1_000_000));
  rig.delivery.add('large', new Uint8Array(9_000_000));
  await rig.commit();
  assert.equal(rig.sent.length, 5);
  for (let given = 1; given <= 21; given++) {
    rig.delivery.given(given);
    assert.ok(rig.sent.length - given <= 5);
  }
  assert.deepEqual(rig.names(), [...Array.from({ length: 20 }, (_, at) => String(at)), 'large']);
  assert.ok(rig.delivery.isDrained);
});

test('the window closes with as many items as it has, and opens with the first that is given', async (t) => {
  const rig = rigFor(t).open();
  for (let at = 0; at < 9; at++) rig.delivery.add('x', undefined);
  assert.equal(rig.delivery.isFull, false);
  rig.delivery.add('x', undefined);
  assert.deepEqual([rig.delivery.isFull, rig.delivery.wantsCommit], [true, true]);
  await rig.commit();
  assert.deepEqual([rig.delivery.isFull, rig.delivery.wantsCommit], [true, false], 'the program is waited for, not the commit');
  rig.delivery.given(1);
  assert.equal(rig.delivery.isFull, false);
});

test('a spool that is given to the end goes with an orderly end; one that waits stays, also for a run without a program', async (t) => {
  const rig = rigFor(t).open();
  for (const name of ['a', 'b']) rig.delivery.add(name, undefined);
  await rig.commit();
  rig.delivery.given(1);
  await rig.commit();
  rig.delivery.finish();
  rig.open('none');
  assert.deepEqual([rig.sent, rig.delivery.isDrained, rig.delivery.isFull], [[], true, false]);
  await rig.commit();
  rig.open();
  assert.deepEqual(rig.names(), ['b']);
  rig.delivery.given(2);
  await rig.commit();
  rig.delivery.finish();
  assert.deepEqual(rig.files(), []);
  rig.open();
  rig.delivery.add('c', undefined);
  await rig.commit();
  assert.deepEqual(
    rig.sent.map(({ seq, json }) => [seq, json]),
    [[3, 'c']],
  );
});

test('full segments go when they are given and that is remembered', async (t) => {
  const rig = rigFor(t).open({ ...PLAN, window: 1_000 });
  for (let at = 1; at <= 45; at++) {
    rig.delivery.add(String(at), new Uint8Array(1_000_000));
    if (at % 5 === 0) {
      await rig.commit();
      rig.delivery.given(at);
      await rig.commit();
    }
  }
  assert.equal(rig.files().length, 1);
  assert.deepEqual(rig.names().length, 45);
});

test('a spool that was damaged is said with its number of items, and the delivery goes on after it', async (t) => {
  const rig = rigFor(t).open();
  for (const name of ['a', 'b', 'c']) rig.delivery.add(name, undefined);
  await rig.commit();
  rig.delivery.given(1);
  await rig.commit();
  rig.delivery.close();
  rig.disk.truncate(rig.files()[0]!, 5);
  rig.open();
  assert.deepEqual([rig.delivery.lost, rig.delivery.isDrained, rig.sent], [2, true, []]);
  rig.delivery.add('d', undefined);
  await rig.commit();
  assert.deepEqual(rig.names(), ['d']);
});

test('whatever is added, committed, given and killed: each committed item comes, in order, and again only when it was not remembered as given', async () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('add' as const), bytes: fc.constantFrom(0, 10, 300_000, 3_000_000) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('commit' as const) }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('give' as const), count: fc.integer({ min: 1, max: 6 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('kill' as const), program: fc.boolean() }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const rig = new Rig().open();
      let hasProgram = true;
      let added = 0;
      let given = 0;
      const committed: string[] = [];
      let open: string[] = [];
      /** Names up to what the last commit remembers. */
      let remembered = 0;
      /** As of the last opening: what is sent begins there. */
      let remembered0 = 0;
      const check = (): void => {
        const names = rig.names();
        assert.deepEqual(names, committed.slice(remembered0, remembered0 + names.length));
      };
      for (const one of steps) {
        if (one.kind === 'add' && hasProgram) {
          const name = `item ${added++}`;
          open.push(name);
          rig.delivery.add(name, one.bytes === 0 ? undefined : new Uint8Array(one.bytes));
        } else if (one.kind === 'commit') {
          await rig.commit();
          committed.push(...open);
          open = [];
          remembered = given;
        } else if (one.kind === 'give') {
          given = Math.min(remembered0 + rig.sent.length, given + one.count);
          rig.delivery.given(given);
        } else if (one.kind === 'kill') {
          hasProgram = one.program;
          open = [];
          given = remembered;
          remembered0 = remembered;
          rig.open(hasProgram ? PLAN : 'none');
        }
        check();
      }
      rig.open();
      remembered0 = remembered;
      for (let seq = remembered + 1; seq <= committed.length; seq++) rig.delivery.given(seq);
      check();
      assert.equal(rig.sent.length, committed.length - remembered, 'nothing that was committed is passed over');
      rig.remove();
    }),
    { numRuns: 60 },
  );
});
