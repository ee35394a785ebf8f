import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseSeed, splitUrl } from '../../src/url/index.ts';

const vectors: { spellings: { id: string; seeds: string[]; hostKeys: number }[] } = JSON.parse(
  readFileSync(new URL('../vectors/url.json', import.meta.url), 'utf8'),
);

test('R-F1 the parts of a URL are those of the URL parser', () => {
  const scheme = fc.constantFrom('http', 'https');
  const host = fc.constantFrom('h.example', 'a.b.example', 'localhost', '127.0.0.1', '[::1]', '[2001:db8::1]', 'xn--bcher-kva.example');
  const port = fc.constantFrom('', ':80', ':443', ':8080', ':1');
  const path = fc.constantFrom('/', '/a', '/a/b?c=d', '/?x:y', '/a@b:1/', '/x?http://y/');
  fc.assert(
    fc.property(scheme, host, port, path, fc.boolean(), (s, h, p, q, withLike) => {
      const found = new URL(`${s}://${h}${p}${q}`);
      const like = withLike ? splitUrl(`${found.origin}/other`) : splitUrl('https://h.example/');
      const parts = splitUrl(found.href, like);
      assert.deepEqual(parts, splitUrl(found.href));
      assert.equal(parts.scheme, s);
      assert.equal(parts.host, found.hostname);
      assert.equal(parts.hostKey, found.host);
      assert.equal(parts.origin, found.origin);
      assert.equal(parts.port, Number(found.port || (s === 'http' ? 80 : 443)));
      assert.equal(parts.pathQuery, found.pathname + found.search);
    }),
    { numRuns: 2_000 },
  );
});

test('R-F1 a host whose name begins like another is not taken for it', () => {
  const like = splitUrl('http://h.example/');
  assert.equal(splitUrl('http://h.example.org/', like).host, 'h.example.org');
  assert.equal(splitUrl('http://h.example:81/', like).port, 81);
});

for (const { id, seeds, hostKeys } of vectors.spellings) {
  test(`R-C1 ${id}: all spellings and both schemes of a host share one host key`, () => {
    assert.equal(new Set(seeds.map((seed) => splitUrl(parseSeed(seed)).hostKey)).size, hostKeys);
  });
}
