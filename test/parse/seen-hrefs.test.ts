import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { SeenHrefs } from '../../src/parse/seen-hrefs.ts';

test('hrefs are told apart as a Set tells them apart, page after page, whatever their number', () => {
  const seen = new SeenHrefs();
  const href = fc.oneof(
    fc.nat(3_000).map((n) => `/a/${n}.html`),
    fc.string({ maxLength: 6 }),
  );
  fc.assert(
    fc.property(fc.array(href, { maxLength: 4_000, size: 'max' }), (hrefs) => {
      const expected = new Set<string>();
      seen.reset();
      for (const one of hrefs) {
        assert.equal(seen.has(one), expected.has(one));
        assert.equal(seen.add(one), !expected.has(one));
        expected.add(one);
      }
      for (const one of expected) assert.equal(seen.has(one), true);
    }),
    { numRuns: 40 },
  );
});
