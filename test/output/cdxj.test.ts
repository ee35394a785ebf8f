/** Keys as package surt 0.3.1 makes them (each was made with it), and lines. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cdxjLine, surtKey } from '../../src/output/cdxj.ts';

const KEYS: readonly (readonly [url: string, key: string])[] = [
  ['http://www.Example.com/', 'com,example)/'],
  ['https://www2.example.com:443/A/b/?Z=1&a=2&b', 'com,example)/a/b?a=2&b&z=1'],
  ['http://example.com:8080/a//b/../c/./d/', 'com,example:8080)/a/c/d'],
  ['http://127.0.0.1:8080/x%2Fy%20z', '1,0,0,127:8080)/x/y%20z'],
  ['https://example.com/%7Euser/%25zz?q=%C3%A4&a=', 'com,example)/~user/%25zz?a=&q=%c3%a4'],
  ['https://example.com/?', 'com,example)/'],
  ['https://example.com/?a', 'com,example)/?a'],
  ['https://example.com/?a=&a&b=1&a=0', 'com,example)/?a&a=&a=0&b=1'],
  ['https://example.com/x?phpsessid=0123456789abcdef0123456789ABCDEF&x=1', 'com,example)/x?x=1'],
  ['https://example.com/x?x=1&sid=0123456789abcdef0123456789ABCDEF', 'com,example)/x?&x=1'],
  ['https://example.com/(S(0123456789abcdefghijklmn))/page.aspx?x', 'com,example)/page.aspx?x'],
  ['http://xn--mnchen-3ya.de/', 'de,xn--mnchen-3ya)/'],
  ['https://example.com/a%23b?c%23d=%26', 'com,example)/a%23b?&c%23d='],
  ['https://[2001:db8::1]:8443/x', '2001:db8::1:8443)/x'],
  ['https://example.com/A%2520B', 'com,example)/a%20b'],
  ['https://www.com/', 'com)/'],
  ['https://example.com/a;jsessionid=0123456789abcdef0123456789abcdef?x', 'com,example)/a;jsessionid=0123456789abcdef0123456789abcdef?x'],
  ['https://ex.com/"<>`{}|\\^[]', 'com,ex)/"<>`{}|\\^[]'],
  ['https://ex.com/..//..', 'com,ex)/..'],
  ['https://ex.com/?b=2=3&b=1', 'com,ex)/?b=1&b=2=3'],
  ['https://ex.com/a?&&x&', 'com,ex)/a?&&&x'],
  ['http://1.2.3.4/', '4,3,2,1)/'],
];

test('a SURT key is the one by which pywb looks a URL up', () => {
  for (const [url, key] of KEYS) assert.equal(surtKey(url), key, url);
});

test('a key has no blank and no line feed, so that a line has three fields', () => {
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true, withFragments: true }), (url) => {
      assert.doesNotMatch(surtKey(url), /[\s]/);
    }),
  );
});

test('records that no replay asks for have no line', () => {
  const record = { offset: 0, length: 1, fields: new Map(), block: new Uint8Array() };
  for (const type of ['warcinfo', 'request', 'metadata']) assert.equal(cdxjLine({ ...record, type }, 'a.warc.gz'), undefined);
});
