import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type VirtualEvent, VirtualTime } from '../../src/sim/virtual-time.ts';

const hop = (): Promise<void> => new Promise((done) => process.nextTick(done));

describe('virtual time', () => {
  test('events run in order of their time, equal times in the order in which they were set, cancelled ones never', async () => {
    const command = fc.record({ atMs: fc.nat(20), cancels: fc.option(fc.nat(60), { nil: undefined }) });
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 60 }), async (commands) => {
        const time = new VirtualTime(hop);
        const events: VirtualEvent[] = [];
        const ran: number[] = [];
        const model = new Map<number, number>();
        for (const { atMs, cancels } of commands) {
          const order = events.length;
          events.push(time.at(atMs, () => void ran.push(order)));
          model.set(order, atMs);
          const other = cancels === undefined ? undefined : events[cancels];
          if (other === undefined) continue;
          time.cancel(other);
          time.cancel(other);
          model.delete(cancels!);
        }
        assert.equal(await time.run(100, () => false), 'empty');
        assert.deepEqual(
          ran,
          [...model].sort(([a, atA], [b, atB]) => atA - atB || a - b).map(([order]) => order),
        );
      }),
    );
  });

  test('what an event cancels does not run, what it sets does, and time stands where it was asked to stop', async () => {
    const time = new VirtualTime(hop);
    const ran: string[] = [];
    const gone = time.at(7, () => void ran.push('gone'));
    time.at(5, () => {
      ran.push(`first at ${time.nowMs}`);
      time.cancel(gone);
      time.after(1, () => void ran.push(`second at ${time.nowMs}`));
      time.at(1, () => void ran.push(`never before now: ${time.nowMs}`));
    });
    time.at(50, () => void ran.push('later'));
    assert.equal(await time.run(20, () => false), 'until');
    assert.deepEqual(ran, ['first at 5', 'never before now: 5', 'second at 6']);
    assert.equal(time.nowMs, 20);
  });

  test('promises that an event leaves are drained before the next one', async () => {
    const time = new VirtualTime(hop);
    const ran: string[] = [];
    const chain = async (): Promise<void> => {
      for (let step = 0; step < 5; step++) await Promise.resolve();
      ran.push('promise');
    };
    time.at(1, () => void chain());
    time.at(1, () => void ran.push('event'));
    await time.run(1, () => false);
    assert.deepEqual(ran, ['promise', 'event']);
  });
});
