/** The judges judged: each broken crawler of test/durability/mutants.ts is found out, the unbroken one is not accused. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Copy, isCaught, MUTANTS, tempt } from './mutants.ts';

/** Mutants that this crawl does not tempt reliably, and why; they run and are listed, but do not fail the suite. */
const SURVIVORS: Readonly<Record<string, string>> = {
  'after a restart an address owes nothing':
    'a host that is owed nothing itself must come within 260 ms after the opening; test/verify/verify.test.ts forges that ledger',
};

describe('R-C8 mutation proof', { concurrency: 1 }, () => {
  const copy = new Copy();
  after(() => copy.remove());

  for (const kind of ['many', 'rate'] as const) {
    test(`the unbroken product leaves verify and the recount silent on the crawl "${kind}"`, async () => {
      const caught = await tempt(copy, undefined, kind);
      assert.deepEqual([caught.verify, caught.recount, caught.finished], [{}, [], true], caught.complaints);
    });
  }

  for (const mutant of MUTANTS) {
    const survives = SURVIVORS[mutant.name];
    test(`caught: ${mutant.name}`, survives === undefined ? {} : { todo: survives }, async () => {
      const caught = await tempt(copy, mutant);
      assert.ok(isCaught(caught), JSON.stringify(caught));
    });
  }
});
