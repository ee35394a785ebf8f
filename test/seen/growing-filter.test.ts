import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GrowingFilter } from '../../src/seen/growing-filter.ts';
import { KeyMill } from './keys.ts';

test('a key that was added is never denied, however often the filter grew', () => {
  const filter = new GrowingFilter(4_194_304);
  const pairs = new KeyMill(7).pairs(200_000);
  for (let i = 0; i < pairs.length; i += 2) filter.add(pairs[i]!, pairs[i + 1]!);
  for (let i = 0; i < pairs.length; i += 2) assert.ok(filter.mayHave(pairs[i]!, pairs[i + 1]!), `key ${i / 2}`);
});

test('few keys that were never added pass', () => {
  const filter = new GrowingFilter(4_194_304);
  const added = new KeyMill(7).pairs(200_000);
  for (let i = 0; i < added.length; i += 2) filter.add(added[i]!, added[i + 1]!);
  const others = new KeyMill(8).pairs(100_000);
  let passed = 0;
  for (let i = 0; i < others.length; i += 2) if (filter.mayHave(others[i]!, others[i + 1]!)) passed++;
  // Four filters of 12 bits a key and 8 hashes each: 0.3 % each at full load.
  assert.ok(passed < 2_000, `${passed} of 100,000`);
});

test('beyond its bound it denies nothing', () => {
  const filter = new GrowingFilter(65_536);
  const pairs = new KeyMill(9).pairs(60_000);
  for (let i = 0; i < pairs.length; i += 2) filter.add(pairs[i]!, pairs[i + 1]!);
  assert.ok(filter.mayHave(1, 2));
  for (let i = 0; i < pairs.length; i += 2) assert.ok(filter.mayHave(pairs[i]!, pairs[i + 1]!));
});
