import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { HREF_CHARS_MAX, LinkResolver } from '../../src/url/index.ts';

interface ResolveCase {
  readonly id: string;
  readonly base: string;
  readonly cases: readonly (readonly [string, string | null])[];
}
const vectors: { resolve: ResolveCase[] } = JSON.parse(readFileSync(new URL('../vectors/url.json', import.meta.url), 'utf8'));

/** What `resolve` promises, said in the slow way: the WHATWG parser's own setters. */
function expected(href: string, base: string): string {
  const url = URL.parse(href, base);
  if (url === null || !/^https?:$/.test(url.protocol)) return '';
  url.hash = '';
  url.username = '';
  url.password = '';
  const labels = url.hostname.split('.');
  if (labels.at(-1) === '') {
    const bare = labels.slice(0, -1).join('.');
    if (bare === '' || bare.endsWith('.')) return '';
    url.hostname = bare;
  }
  return url.href;
}

for (const { id, base, cases } of vectors.resolve) {
  test(`R-F1 ${id}: references resolve as in a browser, without fragment, user info and root dot`, () => {
    const resolver = new LinkResolver(base);
    for (const [href, url] of cases) assert.equal(resolver.resolve(href), url ?? '', JSON.stringify(href));
  });
}

const PIECES = [
  'a',
  'page-3',
  '.html',
  'B',
  '~u',
  '/',
  '/',
  '//',
  '.',
  '..',
  './',
  '../',
  '/./',
  '/../',
  '%2e',
  '%2E%2e',
  '%',
  '%4',
  '%41',
  '%zz',
  '%20',
  '%C3%A9',
  '?',
  '?a=1',
  '&b=2',
  '#',
  '#f',
  ':',
  '@',
  ';',
  ',',
  '=',
  '+',
  '$',
  '!',
  "'",
  '(',
  ')',
  '*',
  '&',
  '-',
  '_',
  '[',
  ']',
  '{',
  '}',
  '|',
  '^',
  '`',
  '"',
  '<',
  '>',
  '\\',
  ' ',
  '\t',
  '\n',
  '\r',
  '\0',
  '\u00a0',
  'é',
  '\ud800',
  '\u{1f600}',
  '。',
  'http:',
  'https:',
  'http://',
  'https://',
  'HTTP://',
  'ftp://',
  'mailto:',
  'javascript:',
  'data:',
  'tel:',
  'h.example',
  'H.Example',
  'h.example.',
  'h.example..',
  'xn--',
  'xn--bcher-kva',
  'bücher',
  '127.1',
  '0x7f',
  '1.2.3.4',
  '[::1]',
  '[',
  ':80',
  ':443',
  ':8080',
  ':',
  ':99999',
  'user@',
  'u:p@',
  '-a',
  'a_b',
  'www.h.example',
  'localhost',
  'C:',
  'C|',
];
const BASES = [
  'http://h.example/',
  'https://h.example/dir/sub/page.html?q=1#f',
  'http://h.example/a//b/',
  'http://h.example:8080/x;y/z?',
  'http://u:p@h.example./d/e',
  'https://[::1]:81/p/q',
  'http://1.2.3.4/a/b/c',
  'http://xn--bcher-kva.example/%7e/x%2Fy/z',
  'https://h.example/?x/../y',
];
const hrefs = fc.array(fc.constantFrom(...PIECES), { maxLength: 7 }).map((pieces) => pieces.join(''));

test('R-F1 the fast path and the WHATWG parser never differ, whatever the href', () => {
  fc.assert(
    fc.property(
      fc.oneof({ weight: 4, arbitrary: hrefs }, fc.string({ unit: 'binary', maxLength: 12 })),
      fc.constantFrom(...BASES),
      (href, base) => {
        const url = new LinkResolver(base).resolve(href);
        assert.equal(url, expected(href, base), `${JSON.stringify(href)} on ${base}`);
      },
    ),
    { numRuns: 30_000 },
  );
});

test('R-F1 every single ASCII character, at each place of an href, comes out as the WHATWG parser has it', () => {
  for (const base of BASES) {
    const resolver = new LinkResolver(base);
    for (let code = 0; code < 256; code++) {
      const c = String.fromCharCode(code);
      const places = [
        c,
        `${c}a`,
        `a${c}b`,
        `/${c}`,
        `/a${c}b`,
        `/a/${c}/b`,
        `?${c}b`,
        `/a?${c}=b${c}`,
        `../${c}`,
        `./a${c}`,
        `http://h${c}a.example/x`,
        `http://${c}.example`,
        `https://a.${c}`,
      ];
      for (const href of places) assert.equal(resolver.resolve(href), expected(href, base), `${JSON.stringify(href)} on ${base}`);
    }
  }
});

test('R-F1 resolving a URL as found gives the same URL', () => {
  fc.assert(
    fc.property(hrefs, fc.constantFrom(...BASES), (href, base) => {
      const url = new LinkResolver(base).resolve(href);
      if (url !== '') assert.equal(new LinkResolver(url).resolve(url), url);
    }),
    { numRuns: 5_000 },
  );
});

test('R-F1 a refused href says whether it is no URL or not http', () => {
  const resolver = new LinkResolver('https://h.example/a');
  const cases = [
    ['mailto:a@b.example', 'not-http'],
    ['javascript:void(0)', 'not-http'],
    ['data:text/html,x', 'not-http'],
    ['tel:+1', 'not-http'],
    ['JavaScript:x', 'not-http'],
    ['ftp://h.example/', 'not-http'],
    [`data:,${'x'.repeat(HREF_CHARS_MAX)}`, 'not-http'],
    ['http://', 'invalid-url'],
    ['http://a b/', 'invalid-url'],
    ['//h.example:x/', 'invalid-url'],
    ['http://h..', 'invalid-url'],
    ['http://./', 'invalid-url'],
    [`/${'x'.repeat(HREF_CHARS_MAX)}`, 'invalid-url'],
  ] as const;
  for (const [href, reason] of cases) {
    assert.equal(resolver.resolve(href), '', href.slice(0, 40));
    assert.equal(resolver.rejected, reason, href.slice(0, 40));
  }
});

test('R-F1 the base element moves relative links, and one that is broken, data: or javascript: is ignored', () => {
  const resolved = (baseHref: string | undefined, href: string) => new LinkResolver('http://h.example/dir/page', baseHref).resolve(href);
  assert.equal(resolved(undefined, 'x'), 'http://h.example/dir/x');
  assert.equal(resolved('/other/', 'x'), 'http://h.example/other/x');
  assert.equal(resolved('//cdn.example', 'x'), 'http://cdn.example/x');
  assert.equal(resolved('', 'x'), 'http://h.example/dir/x');
  for (const ignored of ['http://', 'data:,x', 'javascript:x']) assert.equal(resolved(ignored, 'x'), 'http://h.example/dir/x', ignored);
  assert.equal(resolved('mailto:x', 'y'), '');
  assert.equal(resolved('mailto:x', 'http://a.example/y'), 'http://a.example/y');
  assert.equal(resolved('ftp://f.example/', 'y'), '');
});

test('R-F1 url-08: credentials in a link never reach the URL', () => {
  const resolver = new LinkResolver('http://reader:s3cr3t@c.example/start');
  assert.equal(resolver.resolve('http://bob:pw@c.example/two'), 'http://c.example/two');
  assert.equal(resolver.resolve('three'), 'http://c.example/three');
  assert.equal(resolver.resolve(''), 'http://c.example/start');
});
