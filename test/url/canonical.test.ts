import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS, LinkResolver, looksLikeSessionId, parseSeed } from '../../src/url/index.ts';

interface KeyCase {
  readonly id: string;
  readonly same: readonly (readonly string[])[];
  readonly different: readonly (readonly [string, string])[];
  readonly idempotent: readonly string[];
}
const vectors: { keys: KeyCase[] } = JSON.parse(readFileSync(new URL('../vectors/url.json', import.meta.url), 'utf8'));
const canonicalize = createCanonicalizer(DEFAULT_CANONICAL_OPTIONS);
const key = (url: string) => canonicalize(parseSeed(url));

for (const { id, same, different, idempotent } of vectors.keys) {
  test(`R-F1 ${id}: one page has one canonical URL, two pages have two`, () => {
    for (const urls of same) assert.equal(new Set(urls.map(key)).size, 1, urls.join(' '));
    for (const [a, b] of different) assert.notEqual(key(a), key(b));
    for (const url of idempotent) assert.equal(key(key(url)), key(url));
  });
}

function holds(cases: readonly (readonly [found: string, canonical: string])[]): void {
  for (const [found, canonical] of cases) assert.equal(canonicalize(`http://h.example${found}`), `http://h.example${canonical}`, found);
}

test('R-F1 escapes of unreserved characters are decoded, hex digits become capitals, reserved characters stay escaped', () => {
  holds([
    ['/%7euser/%41%2d%2E%5f', '/~user/A-._'],
    ['/a%2fb%3fc%23d%25e%3b%26', '/a%2Fb%3Fc%23d%25e%3B%26'],
    ['/caf%c3%a9?q=%e2%82%ac', '/caf%C3%A9?q=%E2%82%AC'],
    ['/100%', '/100%'],
    ['/%zz%4', '/%zz%4'],
    ['/%z%41', '/%zA'],
    ['/%%34%31', '/%%341'],
    ['/%4%31', '/%4%31'],
    ['/%257e', '/%257e'],
    ['/a|b^c`{}', '/a%7Cb%5Ec%60%7B%7D'],
    ['/?a|b={1}', '/?a%7Cb=%7B1%7D'],
    ['/f?x[0]=1', '/f?x[0]=1'],
  ]);
});

test('R-F1 the query is sorted by name only, and values of one name keep their order', () => {
  holds([
    ['/p?b=1&a=2', '/p?a=2&b=1'],
    ['/p?a=2&a=1', '/p?a=2&a=1'],
    ['/p?b=9&a=2&b=1&a=1', '/p?a=2&a=1&b=9&b=1'],
    ['/p?%61=1&A=2', '/p?A=2&a=1'],
    ['/p?a=1+b', '/p?a=1+b'],
    ['/p?a=1%2Bb', '/p?a=1%2Bb'],
    ['/p?a&a=', '/p?a&a='],
    ['/p?&a=1&&b=2&', '/p?a=1&b=2'],
    ['/p?', '/p'],
    ['/p?&', '/p'],
    ['/p?12345', '/p?12345'],
    ['/p?u=http://x/?y', '/p?u=http://x/?y'],
  ]);
});

test('R-F1 tracking parameters are dropped whatever their value, and others are kept', () => {
  holds([
    ['/p?utm_source=a&id=1&UTM_Medium=b', '/p?id=1'],
    ['/p?gclid=1', '/p'],
    ['/p?%75tm_source=1', '/p'],
    ['/p?fbclid=x&msclkid=y', '/p'],
    ['/p?utm=1&gclidx=2', '/p?gclidx=2&utm=1'],
  ]);
});

test('R-F1 session parameters leave the query and the path, whole', () => {
  const id = '0A1B2C3D4E5F60718293A4B5C6D7E8F9';
  holds([
    [`/p1;jsessionid=${id}.node01?x=1`, '/p1?x=1'],
    [`/;jsessionid=${id}.node02`, '/'],
    [`/a;JSESSIONID=${id}/b;v=2;jsessionid=x;w=3/c`, '/a/b;v=2;w=3/c'],
    [`/q?PHPSESSID=${id}&id=4`, '/q?id=4'],
    ['/q?ASPSESSIONIDQQBTSABC=KJHGFD', '/q'],
    ['/p1;v=2?x=1', '/p1;v=2?x=1'],
    ['/(S(lit3py55t21z5v55vlm25s55))/orders.aspx', '/orders.aspx'],
    ['/app/(X(1)S(lit3py55t21z5v55vlm25s55))/', '/app/'],
    ['/(S(lit3py55t21z5v55vlm25s55))', '/'],
    ['/wiki/Foo_(S)/(bar)', '/wiki/Foo_(S)/(bar)'],
    ['/a/..;jsessionid=1/b', '/a/..;jsessionid=1/b'],
    ['/a/%2e;jsessionid=1/b', '/a/.;jsessionid=1/b'],
  ]);
});

test('R-F1 an ambiguous name is dropped only when its value looks like a session id', () => {
  const id = '9f86d081884c7d659a2feaa0c55ad015';
  holds([
    [`/r?sid=${id}`, '/r'],
    [`/r;sid=${id}`, '/r'],
    ['/r?sid=7', '/r?sid=7'],
    ['/r?ref=homepage-banner-2024&s=shoes', '/r?ref=homepage-banner-2024&s=shoes'],
    ['/r?session=communityevents2024', '/r?session=communityevents2024'],
    ['/r?ref=1234567890123456789', '/r?ref=1234567890123456789'],
    [`/r?id=${id}`, `/r?id=${id}`],
  ]);
  assert.ok(looksLikeSessionId('3f2504e0-4f89-11d3-9a0c-0305e82c3301'));
  assert.ok(looksLikeSessionId('k3v9q0l2p8d7s1a6f5g4h3j2k1'));
  assert.ok(!looksLikeSessionId('my-long-article-2024-about-7-things'));
});

test('R-F1 trailing slash, letter case of the path, www and scheme are kept as given', () => {
  for (const url of [
    'http://h.example/a',
    'http://h.example/a/',
    'http://h.example/A',
    'http://www.h.example/a',
    'https://h.example/a',
    'https://h.example:8443/a?b=c',
  ]) {
    assert.equal(canonicalize(url), url);
  }
});

test('R-F1 the lists are the user’s: a name not in them is kept, and a name that cannot be one is refused', () => {
  const custom = createCanonicalizer({ trackingParameters: ['trk*'], sessionParameters: [], ambiguousParameters: [] });
  assert.equal(
    custom('http://h.example/a;jsessionid=1?utm_source=1&trk_x=2&phpsessid=3'),
    'http://h.example/a;jsessionid=1?phpsessid=3&utm_source=1',
  );
  for (const name of ['', '*', 'a*b']) {
    assert.throws(() => createCanonicalizer({ ...DEFAULT_CANONICAL_OPTIONS, trackingParameters: [name] }), {
      code: 'PORTOLAN_CONFIG_INVALID',
    });
  }
});

const PIECES = [
  'a',
  'b',
  '1',
  '4',
  'Z',
  '.',
  '..',
  '/',
  '/',
  ';',
  ';jsessionid=',
  ';v=1',
  '(S(',
  '(X(1)',
  '))',
  ')',
  '%',
  '%%',
  '%4',
  '%34',
  '%31',
  '%41',
  '%7e',
  '%2e',
  '%2f',
  '%25',
  '%3B',
  '%5e',
  '%c3',
  '?',
  '&',
  '&',
  '=',
  'utm_x=1',
  'sid=',
  '9f86d081884c7d65',
  'phpsessid',
  'A=',
  '|',
  '^',
  '{',
  '`',
  "'",
  '"',
  ' ',
  'é',
  '+',
  '[',
  '~',
];
const found = fc
  .array(fc.constantFrom(...PIECES), { maxLength: 12 })
  .map((pieces) => new LinkResolver('http://h.example/').resolve(`/${pieces.join('')}`))
  .filter((url) => url !== '');

test('R-F1 canonicalising twice changes nothing, and a canonical URL is a URL as found', () => {
  fc.assert(
    fc.property(found, (url) => {
      const canonical = canonicalize(url);
      assert.equal(canonicalize(canonical), canonical, url);
      assert.equal(new LinkResolver('http://x.example/').resolve(canonical), canonical, url);
    }),
    { numRuns: 10_000 },
  );
});

test('R-F1 the order of differently named parameters does not change the canonical URL', () => {
  const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'page', 'q', 'z[]', 'utm_source'), { minLength: 1 });
  fc.assert(
    fc.property(names, fc.infiniteStream(fc.nat()), (list, order) => {
      const shuffled = list.map((name) => ({ name, rank: order.next().value! })).sort((a, b) => a.rank - b.rank);
      const url = (parameters: readonly string[]) => canonicalize(`http://h.example/?${parameters.map((name) => `${name}=1`).join('&')}`);
      assert.equal(url(shuffled.map(({ name }) => name)), url(list));
    }),
  );
});
