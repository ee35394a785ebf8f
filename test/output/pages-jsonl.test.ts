import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { encodePageLine, type PageLineRecord, wholeLinesLength } from '../../src/output/pages-jsonl.ts';

const AT_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const LEAST: PageLineRecord = {
  url: 'http://w.example/a',
  key: '0123456789abcdef',
  host: 'w.example',
  outcome: 'timeout',
  class: 'transient',
  kind: 'seed',
  depth: 0,
  foundAtMs: AT_MS,
  fetchedAtMs: AT_MS + 1_000,
  durationMs: 30_000,
  attempts: 3,
};

test('R-J2 a line has each field of the page row, in a fixed order', () => {
  const full: PageLineRecord = {
    ...LEAST,
    canonical: 'http://w.example/canonical',
    status: 200,
    via: 'http://w.example/',
    firstByteMs: 12.5,
    address: '192.0.2.7',
    bytesWire: 100,
    bytesBody: 300,
    contentType: 'text/html; charset=utf-8',
    charset: 'utf-8',
    title: 'A "title"\nof \u2028 two lines',
    contentHash: 'ab'.repeat(32),
    simhash: '00ff00ff00ff00ff',
    duplicateOf: 'http://w.example/first',
    nearDuplicateOf: 'http://w.example/near',
    etag: '"x"',
    lastModified: 'Fri, 02 Jan 2026 03:04:05 GMT',
    robots: ['noindex'],
    redirectTo: 'http://w.example/b',
    links: { found: 5, rejected: { 'not-http': 2 }, known: 2, sent: 1 },
    changeRate: 0.25,
    nextFetchAtMs: AT_MS + 86_400_000,
    warc: { file: 'warc/p-s0-00000.warc.gz', offset: 420, length: 797 },
    detail: 'why',
    text: 'visible text',
  };
  const line = encodePageLine(full);
  assert.ok(line.endsWith('}\n'));
  assert.equal(line.indexOf('\n'), line.length - 1, 'one record is one line');
  const { foundAtMs: _, fetchedAtMs: _f, nextFetchAtMs: _n, ...same } = full;
  const read = JSON.parse(line);
  assert.deepEqual(read, {
    ...same,
    foundAt: '2026-01-02T03:04:05.678Z',
    fetchedAt: '2026-01-02T03:04:06.678Z',
    nextFetchAt: '2026-01-03T03:04:05.678Z',
  });
  assert.deepEqual(Object.keys(read).slice(0, 4), ['url', 'canonical', 'key', 'host']);
  assert.equal(Object.keys(read).at(-1), 'text');
});

test('R-J2 what is not known is left out, and the order of the rest stays', () => {
  const keys = Object.keys(JSON.parse(encodePageLine({ ...LEAST, status: undefined, via: undefined })));
  assert.deepEqual(keys, ['url', 'key', 'host', 'outcome', 'class', 'kind', 'depth', 'foundAt', 'fetchedAt', 'durationMs', 'attempts']);
});

test('any text of the web stays one line of valid UTF-8', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.constantFrom('', '\ud800', '\udfff', '\n', '\0'), (some, odd) => {
      const title = some + odd;
      const bytes = Buffer.from(encodePageLine({ ...LEAST, title }), 'utf8');
      assert.equal(bytes.indexOf(0x0a), bytes.length - 1);
      assert.equal(JSON.parse(bytes.toString('utf8')).title, title);
    }),
  );
});

test('a file cut anywhere is taken back to the end of its last whole line', () => {
  const file = Buffer.from(`{"a":1}\n{"text":"${'x'.repeat(200_000)}"}\n{"b":2}\n`);
  const read = (offset: number, length: number) => file.subarray(offset, offset + length);
  const second = file.indexOf(0x0a, 8) + 1;
  assert.equal(wholeLinesLength(read, 0, file.length), file.length);
  assert.equal(wholeLinesLength(read, 0, file.length - 1), second);
  assert.equal(wholeLinesLength(read, 0, second - 1), 8);
  assert.equal(wholeLinesLength(read, 8, second - 1), 8);
  assert.equal(wholeLinesLength(read, 0, 7), 0);
  assert.equal(wholeLinesLength(read, 0, 0), 0);
});
