import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { keyHex, urlKey } from '../../src/url/index.ts';

test('R-J2 a URL key is the first 8 bytes of SHA-256, and its hex form has 16 digits', () => {
  const into = new Uint32Array(2);
  fc.assert(
    fc.property(fc.oneof(fc.webUrl(), fc.string({ unit: 'grapheme' })), (text) => {
      urlKey(text, into);
      const digest = createHash('sha256').update(text).digest();
      assert.equal(into[0], digest.readUInt32BE(0));
      assert.equal(into[1], digest.readUInt32BE(4));
      assert.equal(keyHex(into[0]!, into[1]!), digest.toString('hex', 0, 8));
    }),
  );
  assert.equal(keyHex(0, 1), '0000000000000001');
  assert.equal(keyHex(-1, 0), 'ffffffff00000000');
});
