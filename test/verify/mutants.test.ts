/** The mutants of test/durability/mutants.ts fit the product as it is: renaming a line must not quietly take a proof away. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MUTANTS, mutated } from '../durability/mutants.ts';

test('R-C8: there are at least fifteen mutants, each with a name of its own, each of which changes one place', () => {
  assert.ok(MUTANTS.length >= 15);
  assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length);
  for (const mutant of MUTANTS) assert.notEqual(mutated(mutant), '', mutant.name);
});
