import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSeed } from '../../src/url/index.ts';

test('R-A1 a seed may leave out its scheme, and is then https', () => {
  const cases = [
    ['example.com', 'https://example.com/'],
    ['  example.com/docs/?a=1#top \n', 'https://example.com/docs/?a=1'],
    ['example.com:8080/x', 'https://example.com:8080/x'],
    ['//example.com/x', 'https://example.com/x'],
    ['http://EXAMPLE.com.:80', 'http://example.com/'],
    ['HTTPS://user:secret@example.com/a', 'https://example.com/a'],
    ['user@example.com/a', 'https://example.com/a'],
    ['bücher.example', 'https://xn--bcher-kva.example/'],
    ['203.0.113.7', 'https://203.0.113.7/'],
    ['www.example.com', 'https://www.example.com/'],
    ['intranet', 'https://intranet/'],
    ['example.com:443', 'https://example.com/'],
    ['example.com/a b', 'https://example.com/a%20b'],
    ['https:443', 'https://https/'],
  ] as const;
  for (const [text, url] of cases) assert.equal(parseSeed(text), url, text);
});

test('R-A1 a loopback name or address without a scheme is http, since nobody has a certificate for it', () => {
  const cases = [
    ['localhost:3000', 'http://localhost:3000/'],
    ['localhost', 'http://localhost/'],
    ['app.localhost:443/x', 'http://app.localhost:443/x'],
    ['127.0.0.1:8080/docs/', 'http://127.0.0.1:8080/docs/'],
    ['127.8.9.10', 'http://127.8.9.10/'],
    ['[::1]:8080/', 'http://[::1]:8080/'],
    ['https://localhost:3000', 'https://localhost:3000/'],
    ['localhost.example', 'https://localhost.example/'],
  ] as const;
  for (const [text, url] of cases) assert.equal(parseSeed(text), url, text);
});

test('R-A1 the marks around a pasted URL are not part of it', () => {
  const pasted = [
    '<https://example.com/a>',
    '<URL:https://example.com/a>',
    '"https://example.com/a"',
    "'example.com/a'",
    '`example.com/a`',
    '[a page](https://example.com/a)',
    ' < https://example.com/a > ',
  ];
  for (const text of pasted) assert.equal(parseSeed(text), 'https://example.com/a', text);
});

test('R-A1 what is wrong with a seed is said in its own words', () => {
  const cases: readonly (readonly [text: string, why: RegExp])[] = [
    ['htps://example.com/', /the scheme is misspelt/],
    ['https//example.com/', /the colon after the scheme is missing/],
    ['https://https://example.com/', /the scheme stands twice/],
    ['https://a.example https://b.example', /it holds several URLs/],
    ['a.example,b.example', /it holds a comma/],
    ['*.example.com', /a wildcard is not understood.*--scope domain/],
    ['2001:db8::1', /stands in brackets: \[2001:db8::1\]/],
    ['::1', /stands in brackets: \[::1\]/],
    ['www.', /the name after www\. is missing/],
    ['https://exam…/page', /a part of its host name is missing/],
    ['example..com', /a part of its host name is missing/],
    ['example.com:99999', /port 99999 is larger than 65535/],
    ['example.com:0', /port 0 cannot be connected to/],
    ['http://a b/', /there is a space in its host name/],
    ['https://', /it names no host/],
    ['/docs', /it names no host/],
    ['example.com!', /"example\.com!" is not a host name/],
    ['ftp://example.com/', /only http and https can be crawled/],
  ];
  for (const [text, why] of cases) assert.throws(() => parseSeed(text), { code: 'PORTOLAN_SEED_INVALID', message: why }, text);
});

test('R-A1 a seed that cannot be crawled throws PORTOLAN_SEED_INVALID and says what to write', () => {
  for (const text of [
    '',
    '   ',
    'mailto:a@b.example',
    'ftp://example.com/',
    'javascript:alert(1)',
    '/docs',
    './a',
    '?x',
    '#x',
    'http://',
    'http://a b/',
    'example.com:99999',
    'https://.',
    'x'.repeat(70_000),
  ]) {
    assert.throws(
      () => parseSeed(text),
      (error: { code?: string; remedy?: string; message?: string }) =>
        error.code === 'PORTOLAN_SEED_INVALID' && error.remedy!.includes('https://example.com/') && error.message!.length < 400,
      text.slice(0, 50),
    );
  }
});
