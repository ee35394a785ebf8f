import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { createFileBlobStore } from '../../src/adapters/file/blob-store.ts';
import { openDisk } from '../../src/adapters/file/disk.ts';
import { createRandom } from '../../src/adapters/node/random.ts';
import { wholeMembersLength } from '../../src/output/gzip-member.ts';
import { wholeLinesLength } from '../../src/output/pages-jsonl.ts';
import { LedgerEncoder, LedgerReader, type LedgerStart, wholeFramesLength } from '../../src/output/politeness-ledger.ts';
import { CHAIN_BLOCK_BYTES, chainOf } from '../../src/output/segment-chain.ts';
import { listSegments, openSegments, type SegmentMark, type SegmentSeries } from '../../src/output/segment-writer.ts';
import { WarcEncoder } from '../../src/output/warc.ts';
import type { BlobStore, BlobWriter } from '../../src/ports/blob-store.ts';

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

function newRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'portolan-segments-'));
  roots.push(root);
  return root;
}

function lines(root: string, more: Partial<SegmentSeries> = {}): SegmentSeries {
  const store = createFileBlobStore(openDisk(root), '');
  return { store, dir: 'pages', prefix: 'pages', shard: 3, suffix: '.jsonl', maxBytes: 100, wholeLength: wholeLinesLength, ...more };
}

const line = (text: string): Buffer => Buffer.from(`${text}\n`);

/** All bytes of the series as it lies on disk, in order of the segments. */
function onDisk(series: SegmentSeries): string {
  return listSegments(series)
    .map(({ name }) => Buffer.from(series.store.read(name, 0, series.store.length(name) ?? 0)).toString())
    .join('');
}

function chainOnDisk(series: SegmentSeries, mark: SegmentMark): string {
  return chainOf((offset, length) => series.store.read(mark.name, offset, length), mark.length);
}

test('R-J1 units stand where append said, in segments that end between units', async () => {
  const series = lines(newRoot());
  const { writer } = openSegments(series, undefined);
  const texts = ['a'.repeat(60), 'b'.repeat(60), 'c'.repeat(500), 'd'];
  const positions = texts.map((text) => writer.append(line(text)));
  const mark = await writer.sync();
  writer.close();
  assert.deepEqual(
    positions.map(({ segment }) => segment),
    [0, 1, 2, 3].map((n) => `pages/pages-s3-0000${n}.jsonl`),
  );
  positions.forEach(({ segment, offset, length }, i) => {
    assert.equal(Buffer.from(series.store.read(segment, offset, length)).toString(), `${texts[i]}\n`);
  });
  assert.deepEqual({ ...mark, chain: '' }, { segment: 3, name: 'pages/pages-s3-00003.jsonl', length: 2, chain: '' });
});

test('each segment begins with its head, which counts in offsets and in the bound', () => {
  const series = lines(newRoot(), { head: (name, segment) => line(`head ${segment} ${name}`) });
  const { writer } = openSegments(series, undefined);
  const first = writer.append(line('a'.repeat(60)));
  const second = writer.append(line('b'.repeat(60)));
  writer.flush();
  assert.equal(first.offset, line('head 0 pages/pages-s3-00000.jsonl').length);
  assert.equal(second.segment, 'pages/pages-s3-00001.jsonl');
  assert.equal(second.offset, first.offset);
  assert.match(onDisk(series), /^head 0 .*\na+\nhead 1 .*\nb+\n$/);
  writer.close();
});

test('what is appended reaches the store at the bound of the buffer at the latest, and the caller may reuse its bytes', () => {
  const series = lines(newRoot(), { bufferBytes: 20, maxBytes: 10_000 });
  const { writer } = openSegments(series, undefined);
  const shared = Buffer.alloc(9);
  for (const text of ['11111111', '22222222', '33333333']) {
    shared.write(`${text}\n`);
    writer.append(shared);
    assert.ok(writer.bufferedBytes() <= 20);
  }
  assert.equal(onDisk(series), '11111111\n22222222\n');
  writer.append(line('x'.repeat(50))); // larger than the buffer
  assert.equal(onDisk(series), `11111111\n22222222\n33333333\n${'x'.repeat(50)}\n`);
  writer.close();
});

test('a mark speaks of the moment sync was called: what is appended while it runs belongs to the next', async () => {
  const series = lines(newRoot());
  const { writer } = openSegments(series, undefined);
  writer.append(line('one'));
  const running = writer.sync();
  writer.append(line('two'));
  writer.flush();
  const first = await running;
  assert.equal(first.length, 4);
  assert.equal(first.chain, chainOnDisk(series, first));
  const second = await writer.sync();
  assert.equal(second.length, 8);
  writer.close();
});

test('R-J1 property: any run of appends, flushes, syncs and crashes leaves exactly the units of the last commit', async () => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.nat(130).map((size) => ({ do: 'append' as const, size })) },
    { weight: 2, arbitrary: fc.constant({ do: 'flush' as const, size: 0 }) },
    { weight: 2, arbitrary: fc.constant({ do: 'commit' as const, size: 0 }) },
    { weight: 1, arbitrary: fc.constant({ do: 'crash' as const, size: 0 }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.constantFrom(16, 4_096), async (steps, bufferBytes) => {
      const series = lines(newRoot(), { bufferBytes });
      let committed = '';
      let pending = '';
      let mark: SegmentMark | undefined;
      let writer = openSegments(series, mark).writer;
      for (const [i, { do: what, size }] of [...steps, { do: 'crash' as const, size: 0 }].entries()) {
        if (what === 'append') {
          const text = `${i}${'x'.repeat(size)}`;
          writer.append(line(text));
          pending += `${text}\n`;
        } else if (what === 'flush') writer.flush();
        else if (what === 'commit') {
          mark = await writer.sync();
          committed += pending;
          pending = '';
          assert.equal(onDisk(series), committed);
          assert.equal(mark.chain, chainOnDisk(series, mark));
        } else {
          writer.close();
          const opened = openSegments(series, mark);
          writer = opened.writer;
          pending = '';
          assert.equal(onDisk(series), committed);
          assert.equal(opened.report.short, false);
          assert.equal(opened.report.damaged, false);
          assert.deepEqual(writer.mark(), mark ?? { ...writer.mark(), length: 0, segment: 0 });
        }
      }
      writer.close();
    }),
    { numRuns: 60 },
  );
});

test('R-L3 a segment of several blocks is continued by reading its tail only, with the same chain', async () => {
  const series = lines(newRoot(), { maxBytes: 1 << 30 });
  const first = openSegments(series, undefined).writer;
  first.append(Buffer.alloc(2 * CHAIN_BLOCK_BYTES + 1_000, 'abc\n'));
  const mark = await first.sync();
  first.close();
  let readFrom = Number.POSITIVE_INFINITY;
  const watching: BlobStore = {
    open: (name) => series.store.open(name),
    length: (name) => series.store.length(name),
    cut: (name, length) => series.store.cut(name, length),
    remove: (name) => series.store.remove(name),
    list: (prefix) => series.store.list(prefix),
    read: (name, offset, length) => {
      readFrom = Math.min(readFrom, offset);
      return series.store.read(name, offset, length);
    },
  };
  const second = openSegments({ ...series, store: watching }, mark).writer;
  second.append(Buffer.alloc(CHAIN_BLOCK_BYTES, 'def\n'));
  const later = await second.sync();
  second.close();
  assert.equal(readFrom, 2 * CHAIN_BLOCK_BYTES);
  assert.equal(later.length, 3 * CHAIN_BLOCK_BYTES + 1_000);
  assert.equal(later.chain, chainOnDisk(series, later));
});

test('a segment short of its mark is told with what is missing, cut to whole units and never written again', async () => {
  const root = newRoot();
  const series = lines(root);
  const before = openSegments(series, undefined).writer;
  for (const text of ['one', 'two', 'three']) before.append(line(text));
  const mark = await before.sync();
  before.close();
  truncateSync(join(root, mark.name), mark.length - 3);
  const { writer, report } = openSegments(series, mark);
  assert.deepEqual(
    { short: report.short, missing: report.missingBytes, damaged: report.damaged, believed: report.believedBytes, cut: report.cutBytes },
    { short: true, missing: 3, damaged: false, believed: 8, cut: 3 },
  );
  assert.equal(writer.append(line('four')).segment, 'pages/pages-s3-00001.jsonl');
  const next = await writer.sync();
  writer.close();
  assert.equal(onDisk(series), 'one\ntwo\nfour\n');
  assert.equal(openSegments(series, next).report.short, false);
  assert.equal(onDisk(series), 'one\ntwo\nfour\n');
});

test('a marked segment that is gone is short by all of it', async () => {
  const root = newRoot();
  const series = lines(root);
  const before = openSegments(series, undefined).writer;
  before.append(line('one'));
  const mark = await before.sync();
  before.close();
  series.store.remove(mark.name);
  const { writer, report } = openSegments(series, mark);
  assert.deepEqual([report.short, report.missingBytes, writer.mark().segment], [true, 4, 1]);
});

test('bytes that are not the committed ones are told as damage, and the segment is not continued', async () => {
  const root = newRoot();
  const series = lines(root);
  const before = openSegments(series, undefined).writer;
  before.append(line('one'));
  const mark = await before.sync();
  before.close();
  writeFileSync(join(root, mark.name), 'onX\nmore\n');
  const { writer, report } = openSegments(series, mark);
  assert.deepEqual([report.damaged, report.short, report.cutBytes, writer.mark().segment], [true, false, 5, 1]);
  assert.equal(readFileSync(join(root, mark.name), 'utf8'), 'onX\n');
});

test('segments of another shard or series in the same directory are left alone', () => {
  const root = newRoot();
  const ten = lines(root, { shard: 10 });
  const others = ['pages/pages-s10-00000.jsonl', 'pages/pages-s1-00000.jsonl.bak', 'pages/notes.jsonl', 'pages/pages-s1-x.jsonl'];
  for (const name of others) {
    const other = ten.store.open(name);
    other.append(line('keep'));
    other.close();
  }
  openSegments(lines(root, { shard: 1 }), undefined);
  assert.deepEqual(ten.store.list('pages/'), [...others].sort());
});

test('warc-03: after a stop in the middle of a member every file is whole to its last byte and nothing follows a torn member', async () => {
  const root = newRoot();
  const encoder = new WarcEncoder({ random: createRandom(1) });
  const info = { software: 'Portolan', userAgent: 'portolan', configuration: '{}' };
  const series: SegmentSeries = {
    store: createFileBlobStore(openDisk(root), ''),
    dir: 'warc',
    prefix: 'portolan',
    shard: 0,
    suffix: '.warc.gz',
    maxBytes: 4_000,
    head: (name) => encoder.warcinfo(info, name.slice(name.lastIndexOf('/') + 1), 1_767_000_000_000),
    wholeLength: wholeMembersLength,
  };
  const put = (writer: ReturnType<typeof openSegments>['writer'], path: string) =>
    writer.append(
      encoder.exchange({
        url: `http://w.example${path}`,
        dateMs: 1_767_000_000_000,
        request: { method: 'GET', path, host: 'w.example', headers: [] },
        response: { status: 200, statusText: 'OK', rawHeaders: ['Content-Type', 'text/html'], body: [Buffer.from(`<p>${path}`)] },
      }).bytes,
    );
  const first = openSegments(series, undefined).writer;
  for (let i = 0; i < 6; i++) put(first, `/${i}`);
  const mark = await first.sync();
  for (let i = 6; i < 12; i++) put(first, `/${i}`);
  first.flush();
  first.close();
  const torn = listSegments(series).at(-1)!.name;
  truncateSync(join(root, torn), series.store.length(torn)! - 7);
  const second = openSegments(series, mark).writer;
  for (let i = 6; i < 12; i++) put(second, `/${i}`);
  await second.sync();
  second.close();

  let text = '';
  for (const { name } of listSegments(series)) {
    const bytes = readFileSync(join(root, name));
    assert.equal(
      wholeMembersLength((at, n) => bytes.subarray(at, at + n), 0, bytes.length),
      bytes.length,
    );
    text += gunzipSync(bytes).toString();
  }
  for (let i = 0; i < 12; i++)
    assert.equal(text.split(`WARC-Type: response`).filter((part) => part.includes(`w.example/${i}\r\n`)).length, 1);
});

test('R-C8 the ledger beyond its mark is kept for the replay, only a torn last frame is cut', async () => {
  const root = newRoot();
  const encoder = new LedgerEncoder();
  const start = (lease: number): LedgerStart => ({
    kind: 'start',
    lease,
    what: 'page',
    scheme: 'http',
    hostKey: 'w.example',
    path: '/',
    address: '192.0.2.7',
    gapOwedMs: 0,
    gapRule: 'first',
    monoMs: 1,
    epochMs: 2,
  });
  const frameBytes = encoder.start(start(1)).length;
  const store = createFileBlobStore(openDisk(root), '');
  const series: SegmentSeries = {
    store,
    dir: 'ledger',
    prefix: 'ledger',
    shard: 0,
    suffix: '.ledger',
    maxBytes: frameBytes * 3,
    wholeLength: wholeFramesLength,
    beyond: 'keep',
  };
  const first = openSegments(series, undefined).writer;
  first.append(encoder.start(start(1)));
  const mark = await first.sync();
  for (let lease = 2; lease <= 7; lease++) first.append(encoder.start(start(lease)));
  first.flush();
  first.close();
  const names = listSegments(series).map(({ name }) => name);
  assert.equal(names.length, 3);
  const last = store.open(names[2]!);
  last.append(encoder.start(start(8)).subarray(0, 10));
  last.close();

  const { writer, report } = openSegments(series, mark);
  assert.equal(report.cutBytes, 10);
  assert.deepEqual(report.kept, [
    { name: names[0], from: frameBytes, to: frameBytes * 3 },
    { name: names[1], from: 0, to: frameBytes * 3 },
    { name: names[2], from: 0, to: frameBytes },
  ]);
  const replayed = report.kept.flatMap(({ name, from, to }) => [...new LedgerReader(store.read(name, from, to - from))]);
  assert.deepEqual(
    replayed.map((record) => record.kind === 'start' && record.lease),
    [2, 3, 4, 5, 6, 7],
  );
  writer.append(encoder.start(start(9)));
  const next = await writer.sync();
  writer.close();
  assert.deepEqual([next.name, next.length, next.chain], [names[2], frameBytes * 2, chainOnDisk(series, next)]);
});

/** A store whose n-th append or sync fails as a full or failing disk does: after a part of the bytes. */
function failing(store: BlobStore, failAt: number): BlobStore {
  let calls = 0;
  const fails = () => ++calls === failAt;
  const open = (name: string): BlobWriter => {
    const inner = store.open(name);
    return {
      name,
      length: () => inner.length(),
      close: () => inner.close(),
      append: (bytes) => {
        if (!fails()) return inner.append(bytes);
        inner.append(bytes.subarray(0, bytes.length >> 1));
        throw new Error('disk full');
      },
      sync: () => (fails() ? Promise.reject(new Error('sync failed')) : inner.sync()),
    };
  };
  const { length, cut, remove, list, read } = {
    length: store.length.bind(store),
    cut: store.cut.bind(store),
    remove: store.remove.bind(store),
    list: store.list.bind(store),
    read: store.read.bind(store),
  };
  return { open, length, cut, remove, list, read };
}

test('fault loop: whichever write or sync fails, the writer stays failed and the next open finds the last commit', async () => {
  for (let failAt = 1; ; failAt++) {
    const series = lines(newRoot());
    let committed = '';
    let pending = '';
    let mark: SegmentMark | undefined;
    let failed = false;
    const { writer } = openSegments({ ...series, store: failing(series.store, failAt) }, undefined);
    try {
      for (let i = 0; i < 12; i++) {
        writer.append(line(`${i}${'x'.repeat(30)}`));
        pending += `${i}${'x'.repeat(30)}\n`;
        if (i % 3 !== 2) continue;
        mark = await writer.sync();
        committed += pending;
        pending = '';
      }
    } catch {
      failed = true;
      assert.throws(() => writer.append(line('more')), /disk full|sync failed/);
      assert.throws(() => writer.flush(), /disk full|sync failed/);
    }
    writer.close();
    const opened = openSegments(series, mark);
    assert.deepEqual([opened.report.short, opened.report.damaged], [false, false]);
    assert.equal(onDisk(series), committed, `failure ${failAt}`);
    opened.writer.close();
    if (!failed) break;
  }
});
