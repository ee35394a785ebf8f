/** Texts of links, for the link graph. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseHtml } from '../../src/parse/html.ts';
import { MAX_ANCHOR_CHARS } from '../../src/parse/page.ts';

const OPTIONS = { maxLinks: 100, text: 'both', robotsNames: [], anchorText: true } as const;

function texts(html: string): readonly (readonly [string, string | undefined])[] {
  return parseHtml(html, OPTIONS).links.map(({ href, text }) => [href, text]);
}

test('R-J4 a link has the text of its element, folded, references decoded', () => {
  assert.deepEqual(texts('vor <a href=/x> a\n <b>b</b>\t&amp; c </a> nach <a href=/y>y</a>'), [
    ['/x', 'a b & c'],
    ['/y', 'y'],
  ]);
  assert.deepEqual(texts('<a href=/x>日本<br>語</a>'), [['/x', '日本\n語']]);
});

test('of links with one href the first text counts that there is', () => {
  assert.deepEqual(texts('<a href=/x><img src=i></a><a href=/x>second</a><a href=/x>third</a>'), [['/x', 'second']]);
});

test('an element that is not closed ends at the next one, or with the page', () => {
  assert.deepEqual(texts('<a href=/x>one<a href=/y>two'), [
    ['/x', 'one'],
    ['/y', 'two'],
  ]);
});

test('what is no a element has no text, and nothing has without being asked for', () => {
  assert.deepEqual(texts('<link rel=next href=/n><iframe src=/f></iframe><map><area href=/m></map>'), [
    ['/n', undefined],
    ['/f', undefined],
    ['/m', undefined],
  ]);
  const { links } = parseHtml('<a href=/x>text</a>', { ...OPTIONS, anchorText: false });
  assert.deepEqual(links, [{ href: '/x', kind: 'a', nofollow: false }]);
});

test('links beyond the bound, and texts beyond theirs, are cut off', () => {
  const { links } = parseHtml(`<a href=/1>one</a><a href=/2>two</a><a href=/1>again</a>`, { ...OPTIONS, maxLinks: 1 });
  assert.deepEqual(
    links.map(({ href, text }) => [href, text]),
    [['/1', 'one']],
  );
  assert.equal(texts(`<a href=/x>${'x'.repeat(5_000)}</a>`)[0]?.[1]?.length, MAX_ANCHOR_CHARS);
});
