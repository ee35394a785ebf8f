/**
 * The judges judged: each broken crawler of test/durability/mutants.ts is found out, the unbroken one is not accused. A mutant that the crawl tempts by
 * chance has three tries. All of them take a quarter of an hour (npm run mutants); otherwise every twelfth runs, other ones each day of the month.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { Copy, isCaught, MUTANTS, tempt } from './mutants.ts';

/** Mutants that this crawl does not tempt reliably, and why; they run and are listed, but do not fail the suite. */
const SURVIVORS: Readonly<Record<string, string>> = {
  'after a restart an address owes nothing':
    'a host that is owed nothing itself must come within 260 ms after the opening; test/verify/verify.test.ts forges that ledger',
};

const TRIES = 3;
const SHARE = 12;

function mutants(): typeof MUTANTS {
  if (process.env['PORTOLAN_MUTANTS'] === 'all') return MUTANTS;
  const day = new Date().getUTCDate();
  return MUTANTS.filter((_, index) => index % SHARE === day % SHARE);
}

describe('R-C8 mutation proof', { concurrency: 1 }, () => {
  const copy = new Copy();
  after(() => copy.remove());

  for (const kind of ['many', 'rate'] as const) {
    test(`the unbroken product leaves verify and the recount silent on the crawl "${kind}"`, async () => {
      const caught = await tempt(copy, undefined, kind);
      assert.deepEqual([caught.verify, caught.recount, caught.finished], [{}, [], true], caught.complaints);
    });
  }

  for (const mutant of mutants()) {
    const survives = SURVIVORS[mutant.name];
    test(`caught: ${mutant.name}`, survives === undefined ? {} : { todo: survives }, async () => {
      let caught = await tempt(copy, mutant);
      for (let tries = 1; tries < TRIES && !isCaught(caught); tries++) caught = await tempt(copy, mutant);
      assert.ok(isCaught(caught), JSON.stringify(caught));
    });
  }
});
