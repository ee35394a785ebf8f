import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BloomFilter, bloomBitsPerKey, bloomFalsePositiveRate, bloomHashes } from '../../src/seen/bloom.ts';
import { KeyMill } from './keys.ts';

const keyArray = fc.array(fc.tuple(fc.nat(0xffffffff), fc.nat(0xffffffff)), { maxLength: 300 });

test('R-G1: a key that was added is never denied, however full the filter', () => {
  fc.assert(
    fc.property(keyArray, fc.integer({ min: 1, max: 24 }), fc.integer({ min: 1, max: 20 }), (keys, bitsPerKey, hashes) => {
      const filter = BloomFilter.forKeys(Math.ceil(keys.length / 2), bitsPerKey, hashes);
      for (const [hi, lo] of keys) filter.add(hi, lo);
      return keys.every(([hi, lo]) => filter.has(hi, lo) && filter.has(hi | 0, lo | 0));
    }),
  );
});

test('R-G1: 20 bits per key and 14 hashes are what an error rate of 0.0067 % asks for', () => {
  assert.equal(bloomHashes(20), 14);
  assert.ok(Math.abs(bloomFalsePositiveRate(20, 14) - 0.000067) < 0.000001);
  assert.ok(Math.abs(bloomBitsPerKey(0.000067) - 20) < 0.05);
  assert.equal(bloomHashes(bloomBitsPerKey(0.01)), 7);
});

/** 24 M probes give about 1,600 false positives: four standard deviations are 10 %. The keys are fixed, so the verdict does not vary. */
for (const [keys, probes] of [
  [200_000, 24_000_000],
  [5_000, 24_000_000],
] as const) {
  test(`R-G5: at full load of ${keys} keys the measured rate is within 10 % of the formula`, (t) => {
    const filter = BloomFilter.forKeys(keys, 20, 14);
    const mill = new KeyMill(keys);
    for (let i = 0; i < keys; i++) {
      mill.next();
      filter.add(mill.hi, mill.lo);
    }
    let falsePositives = 0;
    for (let i = 0; i < probes; i++) {
      mill.next();
      if (filter.has(mill.hi, mill.lo)) falsePositives++;
    }
    const expected = bloomFalsePositiveRate(20, 14);
    const ratio = falsePositives / probes / expected;
    t.diagnostic(`${falsePositives} of ${probes}: ${ratio.toFixed(3)} of the formula; fill ${filter.fill().toFixed(4)}`);
    assert.ok(ratio > 0.9 && ratio < 1.1, `ratio ${ratio}`);
    assert.ok(Math.abs(filter.fill() - 0.5034) < 0.01);
  });
}
