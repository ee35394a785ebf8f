import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../../src/adapters/node/random.ts';
import { KNOWN_ELSEWHERE, KNOWN_HERE, LatelyKnown } from '../../src/engine/lately-known.ts';

test('a link is found with its place until others have pushed it out, and never after clear', () => {
  const lately = new LatelyKnown(1_024, createRandom(1));
  lately.remember('http://a.test/', KNOWN_HERE);
  lately.remember('http://b.test/', KNOWN_ELSEWHERE);
  assert.deepEqual(
    ['http://a.test/', 'http://b.test/', 'http://c.test/'].map((link) => lately.find(link)),
    [KNOWN_HERE, KNOWN_ELSEWHERE, 0],
  );
  lately.clear();
  assert.equal(lately.find('http://a.test/'), 0);
});

test('it never finds a link that was not remembered, however alike: 400,000 links that differ in one character, in order or in length', () => {
  const lately = new LatelyKnown(65_536, createRandom(2));
  for (let i = 0; i < 60_000; i++) lately.remember(`http://host.test/page/${i}?x=${i % 7}`, KNOWN_HERE);
  for (let i = 0; i < 100_000; i++) {
    assert.equal(lately.find(`http://host.test/page/${i}?y=${i % 7}`), 0);
    assert.equal(lately.find(`http://host.test/egap/${i}?x=${i % 7}`), 0);
    assert.equal(lately.find(`http://host.test/page/${i}?x=${i % 7}&`), 0);
    assert.equal(lately.find(`https://host.test/page/${i}?x=${i % 7}`), 0);
  }
});

test('most of what fits is found again', () => {
  const lately = new LatelyKnown(65_536, createRandom(3));
  const links = Array.from({ length: 32_768 }, (_, i) => `http://h${i % 97}.test/section/${i}.html`);
  for (const link of links) lately.remember(link, KNOWN_HERE);
  const found = links.filter((link) => lately.find(link) === KNOWN_HERE).length;
  assert.ok(found > 0.9 * links.length, `${found} of ${links.length}`);
});

test('a link too long to be held is not found', () => {
  const lately = new LatelyKnown(1_024, createRandom(4));
  const link = `http://a.test/${'x'.repeat(2_000)}`;
  lately.remember(link, KNOWN_HERE);
  assert.equal(lately.find(link), 0);
});
