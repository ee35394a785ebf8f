/** Parquet as the export writes it: piece by piece, whatever the rows hold, and with no more in memory than a row group. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { ParquetEncoder, ROW_GROUP_BYTES_MAX, ROW_GROUP_ROWS_MAX } from '../../src/cli/export/parquet.ts';
import type { Column, Value } from '../../src/cli/export/tables.ts';

const COLUMNS: readonly Column[] = [
  { name: 'url', type: 'text' },
  { name: 'host', type: 'text' },
  { name: 'status', type: 'int' },
  { name: 'at', type: 'time' },
  { name: 'share', type: 'float' },
  { name: 'nofollow', type: 'bool' },
];

/** The file, and its longest piece. */
function written(rows: Iterable<readonly Value[]>): { readonly file: ArrayBuffer; readonly longest: number } {
  const encoder = new ParquetEncoder(COLUMNS);
  const pieces: Buffer[] = [];
  for (const row of rows) {
    const piece = encoder.add(row);
    // The encoder's bytes are its own again with the next call.
    if (piece !== undefined) pieces.push(Buffer.from(piece));
  }
  pieces.push(Buffer.from(encoder.end()));
  const bytes = Buffer.concat(pieces);
  return {
    file: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer,
    longest: Math.max(...pieces.map(({ length }) => length)),
  };
}

test('R-J2 rows of several row groups come back as they were, absent values and all', async () => {
  const at = Date.UTC(2026, 10, 30);
  const row = (n: number): readonly Value[] => [
    n % 11 === 0 ? undefined : n % 13 === 0 ? '' : `https://host-${n % 50}.test/käse/${n}/\u{1f30d}`,
    `host-${n % 50}.test`,
    n % 3 === 0 ? undefined : n * 1_000_003,
    n % 5 === 0 ? 0 : at + n,
    n % 2 === 0 ? n / 7 : undefined,
    n % 4 === 0 ? undefined : n % 4 === 1,
  ];
  const count = 2 * ROW_GROUP_ROWS_MAX + 17;
  const { file } = written(Array.from({ length: count }, (_, n) => row(n)));
  const groups = parquetMetadata(file).row_groups;
  assert.deepEqual(
    groups.map(({ num_rows }) => Number(num_rows)),
    [ROW_GROUP_ROWS_MAX, ROW_GROUP_ROWS_MAX, 17],
  );
  const read = await parquetReadObjects({ file });
  assert.equal(read.length, count);
  for (const [n, found] of read.entries()) {
    const [url, host, status, time, share, nofollow] = row(n);
    const expected = {
      url: url ?? null,
      host,
      status: status === undefined ? null : BigInt(status as number),
      at: time === 0 ? null : new Date(time as number),
      share: share ?? null,
      nofollow: nofollow ?? null,
    };
    assert.deepEqual({ ...found }, expected, `row ${n}`);
  }
});

test('long texts make smaller row groups: what is in memory is bounded by bytes, not by rows', async () => {
  // Of no use to a compressor.
  const long = (n: number): string =>
    Array.from({ length: 20_000 }, (_, at) => String.fromCharCode(33 + ((n * 7_919 + at * at * 31) % 90))).join('');
  const texts = Array.from({ length: 40 }, (_, n) => long(n).repeat(50));
  const { file, longest } = written(texts.map((text, n) => [text, `h${n}`, n, 1 + n, undefined, true]));
  const groups = parquetMetadata(file).row_groups;
  for (const { num_rows, total_byte_size } of groups) {
    assert.ok(Number(num_rows) <= 17);
    assert.ok(Number(total_byte_size) < ROW_GROUP_BYTES_MAX + 2_000_000, 'one row over the bound at most');
  }
  assert.ok(longest < ROW_GROUP_BYTES_MAX + 2_000_000);
  const read = await parquetReadObjects({ file, columns: ['url'] });
  assert.ok(read.every(({ url }, n) => url === texts[n]));
});

test('what the footer keeps of a row group does not grow with its texts', () => {
  const rows = (length: number) => [['x'.repeat(length), 'h', 1, 1, 1, true] as const];
  const footer = (length: number): number => parquetMetadata(written(rows(length)).file).metadata_length;
  assert.ok(footer(100_000) < footer(10) + 20);
});

test('no rows are a file of its columns', async () => {
  const { file } = written([]);
  assert.deepEqual(await parquetReadObjects({ file }), []);
  assert.deepEqual(
    parquetMetadata(file)
      .schema.slice(1)
      .map(({ name }) => name),
    COLUMNS.map(({ name }) => name),
  );
});
