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

test('hrefs that were made to meet in one place are told apart all the same', () => {
  const collidingEnds = pairsThatMeet(8);
  const hrefs = Array.from(
    { length: 2 ** collidingEnds.length },
    (_, i) => `/${collidingEnds.map((pair, at) => pair[(i >> at) & 1]!).join('')}`,
  );
  const seen = new SeenHrefs();
  for (const one of hrefs) assert.equal(seen.add(one), true);
  for (const one of hrefs) assert.equal(seen.has(one) && !seen.add(one), true);
  assert.equal(seen.has('/none'), false);
  seen.reset();
  assert.equal(seen.has(hrefs[0]!), false);
  assert.equal(seen.add(hrefs[0]!), true);
});

/** Pairs of texts after which FNV-1a is in the same state, each continuing from the one before: every choice of one text of each pair has one hash. */
function pairsThatMeet(count: number): readonly (readonly [string, string])[] {
  const step = (from: number, text: string): number => {
    let hash = from;
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    return hash;
  };
  const pairs: (readonly [string, string])[] = [];
  let state = step(0x811c9dc5 | 0, '/');
  while (pairs.length < count) {
    const seen = new Map<number, string>();
    for (let i = 0; ; i++) {
      const text = ((i * 2_654_435_761) % 2_176_782_336).toString(36).padStart(6, '0');
      const hash = step(state, text);
      const other = seen.get(hash);
      if (other !== undefined) {
        pairs.push([other, text]);
        state = hash;
        break;
      }
      seen.set(hash, text);
    }
  }
  return pairs;
}
