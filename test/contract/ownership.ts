/** What every Ownership promises (src/ports/ownership.ts) of shards that nobody else wants. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Ownership } from '../../src/ports/ownership.ts';

export function ownershipContract(name: string, make: (shards: readonly number[]) => Ownership): void {
  describe(`Ownership contract: ${name}`, () => {
    test('R-M1 it names the shards of this node', () => {
      assert.deepEqual(make([0, 3, 7]).shards(), [0, 3, 7]);
      assert.deepEqual(make([]).shards(), []);
    });

    test('R-M1 an acquired shard has an epoch of at least 1, and epochs of a shard never fall', async () => {
      const ownership = make([0, 1]);
      let lost = 0;
      for (const shard of ownership.shards()) {
        let epoch = 1;
        for (let round = 0; round < 3; round++) {
          const next = await ownership.acquire(shard, () => lost++);
          assert.ok(Number.isSafeInteger(next) && next >= epoch, `epoch ${next} after ${epoch}`);
          epoch = next;
          await ownership.release(shard);
        }
      }
      assert.equal(lost, 0, 'giving a shard back is not losing it');
    });

    test('R-M1 releasing what is not held is no error', async () => {
      const ownership = make([4]);
      await ownership.release(4);
      await ownership.acquire(4, () => {});
      await ownership.release(4);
      await ownership.release(4);
    });
  });
}
