import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseRobotsTags } from '../../src/robots/page-rules.ts';

/** The rules found, as a list of words. */
function found(...values: string[]): string[] {
  return Object.entries(parseRobotsTags(values, 'FooBot'))
    .filter(([, isSet]) => isSet)
    .map(([name]) => name);
}

describe('page rules', () => {
  it('directives are read in any case and from several values, and add up (R-D5)', () => {
    assert.deepEqual(found(), []);
    assert.deepEqual(found('index, follow', 'all', ''), []);
    assert.deepEqual(found('NoIndex'), ['noindex']);
    assert.deepEqual(found('noindex,nofollow'), ['noindex', 'nofollow']);
    assert.deepEqual(found('none'), ['noindex', 'nofollow']);
    assert.deepEqual(found('index', 'noarchive', 'NOFOLLOW , index'), ['nofollow', 'noarchive']);
    assert.deepEqual(found('nocache'), ['noarchive']);
    assert.deepEqual(found('noindex nofollow;noarchive'), ['noindex', 'nofollow', 'noarchive']);
  });

  it('directives for an agent apply to that agent alone, up to the next one (R-D5)', () => {
    assert.deepEqual(found('otherbot: noindex, nofollow'), []);
    assert.deepEqual(found('foobot: noindex, nofollow'), ['noindex', 'nofollow']);
    assert.deepEqual(found('noarchive, otherbot: noindex, FOOBOT: nofollow'), ['nofollow', 'noarchive']);
    assert.deepEqual(found('otherbot: noindex, *: nofollow'), ['nofollow']);
    assert.deepEqual(found('otherbot : noindex'), []);
    assert.deepEqual(found('foobot/2.1:noindex'), ['noindex']);
    assert.deepEqual(found('foobotnews: noindex'), []);
    assert.deepEqual(found('otherbot: noindex', 'nofollow'), ['nofollow'], 'each value begins anew');
  });

  it('directives with a value of their own name no agent (R-D5)', () => {
    assert.deepEqual(found('max-snippet:20, noindex'), ['noindex']);
    assert.deepEqual(found('unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow'), ['nofollow']);
    assert.deepEqual(found('unavailable_after: Friday, 25-Jun-10 15:00:00 UTC, noarchive'), ['noarchive']);
    assert.deepEqual(found('max-image-preview:none', 'max-image-preview: none'), []);
    assert.deepEqual(found('max-image-preview: none, none'), ['noindex', 'nofollow']);
    assert.deepEqual(found('foobot: max-image-preview:none, nofollow'), ['nofollow']);
    assert.deepEqual(found('otherbot: max-snippet: 10, noindex'), []);
  });

  it('words that only contain a directive say nothing (R-D5)', () => {
    assert.deepEqual(found('noindexing, x-nofollow, no-archive, noimageindex, nosnippet'), []);
  });

  it('any text gives an answer, and a directive at the start of a value is never lost (R-D5)', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (rest) => assert.equal(parseRobotsTags([`noindex, ${rest}`], 'FooBot').noindex, true)),
    );
  });
});
