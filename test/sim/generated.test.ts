import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createGeneratedHandler, GENERATED_TYPE } from '../../src/sim/web/generated.ts';

const OPTIONS = { maxLinks: 3, text: 'main', robotsNames: ['robots'] } as const;

function parse(text: string) {
  const handler = createGeneratedHandler();
  return handler.handle({
    bytes: Buffer.from(text, 'latin1'),
    contentTypeHeader: GENERATED_TYPE,
    mediaType: GENERATED_TYPE,
    options: OPTIONS,
  });
}

describe('a page as generated', () => {
  test('is read with its title, its rules and its links, repeats left out and counted', () => {
    const page = parse('Tbon 7\nRnoindex, nofollow\nL/a\nL/b\nL/a\nN/a\nL/c\nL/d\n');
    assert.equal(page.title, 'bon 7');
    assert.deepEqual(page.metaRobots, [{ name: 'robots', content: 'noindex, nofollow' }]);
    assert.deepEqual(
      page.links.map(({ href, nofollow }) => [href, nofollow]),
      [
        ['/a', false],
        ['/b', false],
        ['/a', true],
      ],
    );
    assert.deepEqual([page.linksFound, page.linksOverBound], [6, 2]);
  });

  test('that was cut off within a line is read without that line', () => {
    const whole = 'Tbon 7\nL/a\nL/b\n';
    for (let length = 0; length <= whole.length; length++) {
      const hrefs = parse(whole.slice(0, length)).links.map(({ href }) => href);
      assert.deepEqual(hrefs, length === whole.length ? ['/a', '/b'] : length >= 11 ? ['/a'] : []);
    }
  });
});
