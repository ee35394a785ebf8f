/** The hash of `explain` is that of a crawl. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { sha256Words } from '../../src/cli/sha256.ts';
import { urlKey } from '../../src/url/index.ts';

const hex = (words: Uint32Array): string => [...words].map((word) => word.toString(16).padStart(8, '0')).join('');

test('sha256Words is SHA-256, for texts of every length around whole blocks and for any text', () => {
  for (let length = 0; length < 200; length++) {
    const text = 'u'.repeat(length);
    assert.equal(hex(sha256Words(text)), createHash('sha256').update(text).digest('hex'), `${length} bytes`);
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      assert.equal(hex(sha256Words(text)), createHash('sha256').update(text, 'utf8').digest('hex'));
    }),
  );
});

test('its first two words are the key of a URL', () => {
  const key = new Uint32Array(2);
  for (const url of ['https://example.org/', 'http://[2001:db8::1]:8080/a?b=%C3%A4', `https://example.org/${'a'.repeat(2_000)}`]) {
    urlKey(url, key);
    assert.deepEqual(sha256Words(url).slice(0, 2), key);
  }
});
