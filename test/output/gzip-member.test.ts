import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import {
  deflateRecord,
  storedMemberBytes,
  wholeMembersLength,
  writeDeflatedMember,
  writeStoredMember,
} from '../../src/output/gzip-member.ts';

function stored(record: Uint8Array): Buffer {
  const into = Buffer.alloc(storedMemberBytes(record.length));
  assert.equal(writeStoredMember(record, into, 0), into.length);
  return into;
}

function deflated(record: Uint8Array): Buffer {
  const data = deflateRecord(record, 1);
  assert.ok(data !== undefined);
  const into = Buffer.alloc(storedMemberBytes(record.length));
  return into.subarray(0, writeDeflatedMember(record, data, into, 0));
}

const readFrom = (bytes: Uint8Array) => (offset: number, length: number) => bytes.subarray(offset, offset + length);

test('RFC 1951 section 3.2.4: a stored member inflates to the record, around the size of a block too', () => {
  for (const size of [0, 1, 65_534, 65_535, 65_536, 131_070, 131_071, 300_000]) {
    const record = Buffer.alloc(size, 'abc');
    assert.deepEqual(gunzipSync(stored(record)), record, `${size} bytes`);
  }
});

test('a record that deflate would make larger is left to stored blocks', () => {
  assert.equal(deflateRecord(hash('sha256', 'random enough', 'buffer'), 1), undefined);
  assert.deepEqual(gunzipSync(deflated(Buffer.alloc(5_000, 'abc'))), Buffer.alloc(5_000, 'abc'));
});

test('a file cut anywhere is taken back to the end of its last whole member', () => {
  const members = [
    stored(Buffer.from('first')),
    deflated(Buffer.alloc(2_000, 'second ')),
    stored(Buffer.alloc(0)),
    stored(Buffer.from('last')),
  ];
  const file = Buffer.concat(members);
  const ends = [0];
  for (const member of members) ends.push(ends.at(-1)! + member.length);
  for (let length = 0; length <= file.length; length++) {
    const expected = ends.findLast((end) => end <= length);
    assert.equal(wholeMembersLength(readFrom(file.subarray(0, length)), 0, length), expected, `cut at ${length}`);
  }
});

test('a flipped byte ends what is believed at the member before it', () => {
  const first = stored(Buffer.from('first'));
  const second = stored(Buffer.from('second'));
  fc.assert(
    fc.property(fc.nat(second.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
      fc.pre(at !== 10 || (flip & 7) !== 0); // RFC 1951: the padding bits of a stored block's first byte mean nothing
      const file = Buffer.concat([first, second, first]);
      file[first.length + at]! ^= flip;
      assert.equal(wholeMembersLength(readFrom(file), 0, file.length), first.length);
    }),
  );
});

test('a member larger than the window is walked over whole', () => {
  const large = stored(Buffer.alloc(3_000_000, 'large '));
  const file = Buffer.concat([large, stored(Buffer.from('after')), Buffer.from([0x1f, 0x8b])]);
  assert.equal(wholeMembersLength(readFrom(file), 0, file.length), file.length - 2);
});
