import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WARCParser } from 'warcio';
import { createRandom } from '../../src/adapters/node/random.ts';
import { WarcEncoder, type WarcExchange } from '../../src/output/warc.ts';
import { readWarcRecord, readWarcRecords } from '../../src/output/warc-reader.ts';
import { wholeRecordsLength } from '../../src/output/warc-records.ts';

function exchange(path: string, body: Uint8Array): WarcExchange {
  return {
    url: `http://plain.example${path}`,
    dateMs: Date.UTC(2026, 4, 6, 7, 8, 9, 10),
    request: { method: 'GET', path, host: 'plain.example', headers: [['User-Agent', 'portolan']] },
    response: { status: 200, statusText: 'OK', rawHeaders: ['Content-Length', String(body.length)], body: [body] },
  };
}

/** A file of plain records, and the offset after each exchange. */
function plainFile(bodies: readonly Uint8Array[]): { readonly file: Buffer; readonly ends: readonly number[] } {
  const encoder = new WarcEncoder({ random: createRandom(3), gzip: false });
  const parts: Uint8Array[] = [
    encoder.warcinfo({ software: 'portolan', userAgent: 'portolan', configuration: '{}' }, 'p-s0-00000.warc', 0),
  ];
  const ends = [parts[0]!.length];
  bodies.forEach((body, index) => {
    parts.push(new Uint8Array(encoder.exchange(exchange(`/${index}`, body)).bytes));
    ends.push(ends.at(-1)! + parts.at(-1)!.length);
  });
  return { file: Buffer.concat(parts), ends };
}

const readerOf = (file: Buffer) => (offset: number, length: number) => file.subarray(offset, offset + length);
const BODIES = [
  new Uint8Array(0),
  Buffer.from('x'),
  Buffer.from('WARC/1.1\r\nContent-Length: 3\r\n\r\n\r\n\r\n'),
  Buffer.alloc(400_000, 7),
];

test('R-J1 plain records are read by warcio and by our own reader, bodies to the byte', async () => {
  const { file } = plainFile(BODIES);
  const blocks: Buffer[] = [];
  for await (const record of new WARCParser([file], { parseHttp: false })) blocks.push(Buffer.from(await record.readFully(false)));
  const ours = [...readWarcRecords(readerOf(file), 0, file.length)];
  assert.deepEqual(
    ours.map((record) => record.type),
    ['warcinfo', ...BODIES.flatMap(() => ['response', 'request'])],
  );
  for (const [index, record] of ours.entries()) assert.ok(blocks[index]!.equals(Buffer.from(record.block)), `record ${index}`);
  for (const [index, body] of BODIES.entries()) {
    const { offset, length } = ours[1 + 2 * index]!;
    assert.ok(
      Buffer.from(readWarcRecord(readerOf(file), offset, length).block)
        .subarray(-body.length || Number.POSITIVE_INFINITY)
        .equals(body),
    );
  }
});

test('R-L1 a plain file that is torn anywhere is whole up to the last record that is whole', () => {
  const { file } = plainFile([Buffer.from('one'), Buffer.from('two\r\n\r\n')]);
  const ends = [0];
  for (const record of readWarcRecords(readerOf(file), 0, file.length)) ends.push(record.offset + record.length);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: file.length }), (length) => {
      const expected = ends.findLast((end) => end <= length);
      assert.equal(wholeRecordsLength(readerOf(file.subarray(0, length)), 0, length), expected);
    }),
  );
});

test('R-L1 bytes that are no record end a plain file', () => {
  const { file } = plainFile([Buffer.from('one')]);
  for (const noise of [
    'garbage',
    'WARC/1.1\r\n\r\n',
    'WARC/1.1\r\nContent-Length: 999999\r\n\r\n',
    'WARC/1.1\r\nContent-Length: 0\r\n\r\nxxxx',
  ]) {
    const torn = Buffer.concat([file, Buffer.from(noise)]);
    assert.equal(wholeRecordsLength(readerOf(torn), 0, torn.length), file.length, noise);
  }
});
