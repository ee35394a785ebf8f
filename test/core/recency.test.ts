import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Recency, type Used } from '../../src/core/recency.ts';

interface Thing extends Used<Thing> {
  readonly name: number;
}

function inOrder(list: Recency<Thing>): number[] {
  const names: number[] = [];
  for (let one = list.oldest; one !== undefined; one = one.usedAfter) names.push(one.name);
  return names;
}

test('the order of use is that of a Map whose keys are taken out and put in again, whatever is done', () => {
  const command = fc.record({ do: fc.constantFrom('use', 'remove'), name: fc.nat(8) });
  fc.assert(
    fc.property(fc.array(command, { maxLength: 100 }), (commands) => {
      const list = new Recency<Thing>();
      const model = new Map<number, Thing>();
      for (const { do: what, name } of commands) {
        const known = model.get(name);
        model.delete(name);
        if (what === 'remove') {
          if (known !== undefined) list.remove(known);
          continue;
        }
        const thing = known ?? { name, usedBefore: undefined, usedAfter: undefined };
        if (known === undefined) list.add(thing);
        else list.use(thing);
        model.set(name, thing);
        assert.equal(list.newest, thing);
      }
      assert.deepEqual(inOrder(list), [...model.keys()]);
      assert.equal(list.newest, [...model.values()].at(-1));
    }),
  );
});
