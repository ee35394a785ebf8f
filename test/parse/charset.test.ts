import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeBody } from '../../src/parse/charset.ts';
import { joined, type Parts, parsePage, readVectors, resolved } from './support.ts';

interface CharsetCase {
  readonly id: string;
  readonly promise: string;
  readonly contentType: string | undefined;
  readonly bytes: Parts;
  readonly charset: string;
  readonly title: string;
  readonly textContains?: readonly string[];
  readonly url?: string;
  readonly links?: readonly string[];
}

for (const vector of readVectors<CharsetCase>('charset.json')) {
  test(`R-A4 ${vector.id}: ${vector.promise}`, () => {
    const { text, charset } = decodeBody(Buffer.from(joined(vector.bytes), 'latin1'), vector.contentType);
    assert.equal(charset, vector.charset);
    const page = parsePage(text);
    assert.equal(page.title, vector.title);
    for (const part of vector.textContains ?? []) assert.ok(page.text.includes(part), part);
    if (vector.url !== undefined) assert.deepEqual(resolved(text, vector.url), vector.links);
  });
}

function bytes(latin1: string): Uint8Array {
  return Buffer.from(latin1, 'latin1');
}
const HTML = 'text/html';
const META_KOI8 = '<meta charset=koi8-r>\xc1';

test('a byte order mark beats the header, the header beats meta, meta beats the default', () => {
  assert.deepEqual(decodeBody(bytes(`\xef\xbb\xbf${META_KOI8}`), 'text/html; charset=windows-1251').source, 'bom');
  assert.deepEqual(decodeBody(bytes(META_KOI8), 'text/html; charset=windows-1251'), {
    text: '<meta charset=koi8-r>Б',
    charset: 'windows-1251',
    source: 'header',
  });
  assert.deepEqual(decodeBody(bytes(META_KOI8), HTML), { text: '<meta charset=koi8-r>а', charset: 'koi8-r', source: 'meta' });
  assert.deepEqual(decodeBody(bytes('\xc3\xa9'), HTML), { text: 'é', charset: 'utf-8', source: 'default' });
  assert.deepEqual(decodeBody(bytes('\x93\xe9\x94\x80'), undefined), { text: '“é”€', charset: 'windows-1252', source: 'default' });
});

test('the charset of the header is read quoted, spaced and in any case; an unknown one counts as none', () => {
  for (const header of [
    'text/html;charset=KOI8-R',
    'text/html; a=b ; Charset = "koi8-r"',
    "text/html; charset='koi8-r'",
    'text/html; charset=koi8-r;x',
    'text/html; charset= koi8',
  ]) {
    assert.equal(decodeBody(bytes('\xc1'), header).charset, 'koi8-r', header);
  }
  assert.deepEqual(decodeBody(bytes(META_KOI8), 'text/html; charset=nonsense').source, 'meta');
  assert.deepEqual(decodeBody(bytes('x'), 'text/html; charset=').source, 'default');
});

test('labels mean what the Encoding Standard says', () => {
  const cases = [
    ['iso-8859-1', 'windows-1252', '\x80', '€'],
    ['ascii', 'windows-1252', '\x92', '’'],
    ['gb2312', 'gbk', '\xd6\xd0', '中'],
    ['sjis', 'shift_jis', '\x93\xfa', '日'],
    ['latin5', 'windows-1254', '\xfe', 'ş'],
    ['big5', 'big5', '\xa4\xa4', '中'],
    ['iso-2022-jp', 'iso-2022-jp', '\x1b$B\x46\x7c\x1b(B', '日'],
    ['utf-16le', 'utf-16le', 'a\0', 'a'],
    ['utf-16be', 'utf-16be', '\0a', 'a'],
    ['hz-gb-2312', 'replacement', 'a', '\ufffd'],
    ['utf-8', 'utf-8', 'a\xffb', 'a\ufffdb'],
  ] as const;
  for (const [label, charset, body, text] of cases) {
    const decoded = decodeBody(bytes(body), `text/html; charset=${label}`);
    assert.deepEqual([decoded.charset, decoded.text], [charset, text], label);
  }
});

test('meta is found in its forms within 1,024 bytes, and not beyond', () => {
  for (const meta of [
    '<meta charset="koi8-r">',
    '<META content="text/html; charset=koi8-r" HTTP-EQUIV=content-type>',
    '<?xml version="1.0" encoding="koi8-r"?>',
    '<!-- <meta charset=big5> --><meta charset=koi8-r/>',
  ]) {
    assert.equal(decodeBody(bytes(`${meta}\xc1`), HTML).charset, 'koi8-r', meta);
  }
  assert.equal(decodeBody(bytes(`${' '.repeat(1_024)}<meta charset=koi8-r>`), HTML).source, 'default');
  assert.deepEqual(decodeBody(bytes('<meta charset=x-user-defined>\x80'), HTML).text.at(-1), '€');
});

test('a body cut within a character is still UTF-8', () => {
  for (const cut of ['\xc3', '\xe2', '\xe2\x82', '\xf0', '\xf0\x9f\x98']) {
    assert.deepEqual(decodeBody(bytes(`\xc3\xa9${cut}`), HTML), { text: 'é\ufffd', charset: 'utf-8', source: 'default' });
  }
  assert.equal(decodeBody(bytes('\xe9\x80\x80\x80'), HTML).charset, 'windows-1252');
  assert.equal(decodeBody(bytes('\xc3'), HTML).charset, 'utf-8');
});

test('UTF-16 takes half a character and half a pair as U+FFFD', () => {
  assert.equal(decodeBody(bytes('\xff\xfea\0b'), HTML).text, 'a\ufffd');
  assert.equal(decodeBody(bytes('\xfe\xff\xd8\0\0a'), HTML).text, '\ufffda');
});

test('no body makes it throw, and text that was encoded as UTF-8 comes back', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 40 }),
      fc.constantFrom(
        undefined,
        HTML,
        'text/html; charset=shift_jis',
        'text/html; charset=utf-16be',
        'text/html; charset=euc-kr',
        'text/html; charset=iso-2022-jp',
      ),
      (body, header) => {
        assert.equal(typeof decodeBody(body, header).text, 'string');
      },
    ),
  );
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      fc.pre(!text.startsWith('\ufeff'));
      assert.equal(decodeBody(Buffer.from(text), 'text/html; charset=utf-8').text, text);
    }),
  );
});
