import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseDuration, parseSize } from '../../src/config/units.ts';

test('durations are understood as people write them', () => {
  const cases = { '500ms': 500, '1s': 1_000, '1.5h': 5_400_000, '10m': 600_000, '2d': 172_800_000, ' 3 S ': 3_000, '250': 250, '0': 0 };
  for (const [text, ms] of Object.entries(cases)) assert.equal(parseDuration(text), ms, text);
  assert.equal(parseDuration(1_500), 1_500);
});

test('sizes are understood in powers of 1,000 and of 1,024', () => {
  const cases = {
    '64KB': 64_000,
    '64KiB': 65_536,
    '5MB': 5_000_000,
    '512MiB': 536_870_912,
    '1.5GB': 1_500_000_000,
    '1tib': 2 ** 40,
    '100': 100,
    '7b': 7,
  };
  for (const [text, bytes] of Object.entries(cases)) assert.equal(parseSize(text), bytes, text);
});

test('what is no duration or size is refused, never guessed', () => {
  for (const text of ['', 's', '-1s', '1 week', '1h30m', '1,5s', '0x10', 'Infinity', 'NaN', '1e3', '5 MB/s']) {
    assert.equal(parseDuration(text), undefined, text);
    assert.equal(parseSize(text), undefined, text);
  }
  assert.equal(parseDuration('5MB'), undefined);
  assert.equal(parseSize('5s'), undefined);
  for (const number of [-1, Number.NaN, Number.POSITIVE_INFINITY]) assert.equal(parseDuration(number), undefined);
});

test('a whole number of any unit comes back exactly', () => {
  const factors = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
  fc.assert(
    fc.property(fc.nat({ max: 10_000 }), fc.constantFrom(...(Object.keys(factors) as (keyof typeof factors)[])), (n, unit) => {
      assert.equal(parseDuration(`${n}${unit}`), n * factors[unit]);
    }),
  );
});
