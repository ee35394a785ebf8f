/** The frontier's own small structures against the obvious ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HostIndex, NO_LEVEL } from '../../src/frontier/host-index.ts';
import { IdRing } from '../../src/frontier/id-ring.ts';
import { TimeHeap } from '../../src/frontier/time-heap.ts';

test('R-B4 the heap gives back times in order, whatever went in between', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(1_000), { nil: undefined }), { maxLength: 400, size: 'max' }), (steps) => {
      const heap = new TimeHeap(4);
      const model: { time: number; id: number }[] = [];
      steps.forEach((time, id) => {
        if (time !== undefined) {
          heap.push(time, id);
          model.push({ time, id });
        } else if (model.length > 0) {
          const first = Math.min(...model.map((one) => one.time));
          assert.equal(heap.firstTime, first);
          const popped = heap.pop();
          const at = model.findIndex((one) => one.id === popped);
          assert.equal(model[at]?.time, first);
          model.splice(at, 1);
        }
        assert.equal(heap.size, model.length);
        if (model.length === 0) assert.equal(heap.firstTime, Number.POSITIVE_INFINITY);
      });
    }),
  );
});

test('R-B1 a ring is a queue', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 600, size: 'max' }), (steps) => {
      const ring = new IdRing();
      const model: number[] = [];
      steps.forEach((push, id) => {
        if (push) {
          ring.push(id);
          model.push(id);
        } else if (model.length > 0) assert.equal(ring.shift(), model.shift());
        assert.equal(ring.size, model.length);
      });
    }),
  );
});

test('R-B8 the index finds every host, also those that share a hash or a part of it', () => {
  const hash = fc.tuple(fc.nat(3), fc.oneof(fc.nat(3), fc.constant(0xffffffff)));
  fc.assert(
    fc.property(fc.array(hash, { maxLength: 2_500, size: 'max' }), (hashes) => {
      const index = new HostIndex();
      const model = new Map<string, number[]>();
      hashes.forEach(([hi, lo], i) => {
        const id = i + 1;
        index.insert(hi, lo, id);
        assert.equal(index.level(id), NO_LEVEL);
        const key = `${hi}/${lo}`;
        model.set(key, [...(model.get(key) ?? []), id]);
      });
      assert.equal(index.hosts, hashes.length);
      for (const [key, ids] of model) {
        const [hi, lo] = key.split('/').map(Number);
        const found = ids.map((_, nth) => index.find(hi!, lo!, nth)).sort((a, b) => a - b);
        assert.deepEqual(found, ids);
        assert.equal(index.find(hi!, lo!, ids.length), 0);
      }
      assert.equal(index.find(9, 9), 0);
    }),
    { numRuns: 20 },
  );
});
