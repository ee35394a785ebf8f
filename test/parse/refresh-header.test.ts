import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HtmlParser } from '../../src/parse/html.ts';
import { withRefreshHeader } from '../../src/parse/refresh-header.ts';

const URL = 'http://site.example/dir/page';

function pageOf(html: string) {
  return new HtmlParser().parse(html, { maxLinks: 2, text: 'none', robotsNames: [] });
}

test('the target of a Refresh header is a link like one of meta refresh, relative to the page and not to its base element', () => {
  const page = withRefreshHeader(pageOf('<base href="http://other.example/"><a href=x>x</a>'), URL, "3; url='../up'", 2)!;
  assert.deepEqual(page.links.at(-1), { href: 'http://site.example/up', kind: 'refresh', nofollow: false });
  assert.deepEqual([page.linksFound, page.links.length, page.linksOverBound], [2, 2, 0]);
});

test('a Refresh header counts once more what the page links to already, and counts over the bound when there is no room', () => {
  const known = withRefreshHeader(pageOf('<a href="http://site.example/up">x</a>'), URL, '0;url=/up', 2)!;
  assert.deepEqual([known.linksFound, known.links.length, known.linksOverBound], [2, 1, 0]);
  const full = withRefreshHeader(pageOf('<a href=a>a</a><a href=b>b</a>'), URL, '0;url=/up', 2)!;
  assert.deepEqual([full.linksFound, full.links.length, full.linksOverBound], [3, 2, 1]);
});

test('a Refresh header without a target, with the page itself or with another scheme adds nothing', () => {
  const page = pageOf('<a href=a>a</a>');
  for (const header of [undefined, '', '5', '0;url=', '0;url=/dir/page', '0;url=javascript:go()', 'url=/no-delay'])
    assert.equal(withRefreshHeader(page, URL, header, 2), page, header);
  assert.equal(withRefreshHeader(undefined, URL, '0;url=/up', 2), undefined);
});
