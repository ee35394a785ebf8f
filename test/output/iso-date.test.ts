import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PortolanError } from '../../src/core/errors.ts';
import { isoDate } from '../../src/output/iso-date.ts';

test('R-J2 every moment of the years 1970 to 9999 is written as the platform writes it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (epochMs) => {
      assert.equal(isoDate(epochMs), new Date(epochMs).toISOString());
    }),
    { numRuns: 2_000 },
  );
});

test('the first and last day of each month and the leap days are written right', () => {
  for (let year = 1970; year <= 2500; year++) {
    for (let month = 0; month < 12; month++) {
      for (const day of [0, 1]) {
        const epochMs = Date.UTC(year, month, day, 23, 59, 59, 999);
        if (epochMs >= 0) assert.equal(isoDate(epochMs), new Date(epochMs).toISOString());
      }
    }
  }
});

test('a fraction of a millisecond is cut off, a date without a four-digit year is refused', () => {
  assert.equal(isoDate(999.9), '1970-01-01T00:00:00.999Z');
  for (const bad of [-1, 253_402_300_800_000, Number.NaN]) assert.throws(() => isoDate(bad), PortolanError);
});
