/** Batches and rows for tests of ShardStore: everything empty but what the test names. */
import { createHash } from 'node:crypto';
import { ByteWriter } from '../../src/core/bytes.ts';
import { type HostRecord, newHostRecord } from '../../src/core/host.ts';
import { type FateRow, type PageRow, type QueueEntry, writeQueueEntry } from '../../src/core/records.ts';
import type { Batch, ChunkWrite, ContentRow, RobotsRow, ShardStore } from '../../src/ports/shard-store.ts';

export function batch(commitSeq: number, parts: Partial<Batch> = {}): Batch {
  return {
    epoch: 1,
    commitSeq,
    clean: false,
    hosts: [],
    chunks: [],
    chunksDone: [],
    pages: [],
    pagesGone: [],
    fates: [],
    robots: [],
    content: [],
    seenDeltas: [],
    seenManifest: undefined,
    seenDeltasBelow: -1,
    outbox: [],
    outboxDone: [],
    taken: [],
    scopeHosts: [],
    nextHostId: 1,
    nextContentId: 1,
    totals: `totals ${commitSeq}`,
    marks: `marks ${commitSeq}`,
    ...parts,
  };
}

export function host(id: number, queued: readonly number[] = [], parts: Partial<HostRecord> = {}): HostRecord {
  const record = { ...newHostRecord(id, `h${id}.example`, 'example'), ...parts };
  queued.forEach((count, level) => {
    record.queues[level]!.queued = count;
    if (count > 0) record.queues[level]!.tailSeq = 1;
  });
  return record;
}

export function entry(number: number, parts: Partial<QueueEntry> = {}): QueueEntry {
  return {
    https: number % 2 === 1,
    pathQuery: `/p${number}`,
    keyHi: (number * 2654435761) >>> 0,
    keyLo: number,
    kind: 'link',
    depth: number % 5,
    via: `http://h/${number % 3}`,
    foundAtS: 1_700_000_000 + number,
    attempts: 0,
    notBeforeMs: 0,
    chain: undefined,
    ...parts,
  };
}

export function chunk(hostId: number, level: number, seq: number, entries: readonly QueueEntry[], append = false): ChunkWrite {
  const out = new ByteWriter();
  let via: string | undefined;
  for (const one of entries) {
    writeQueueEntry(out, one, via);
    via = one.via;
  }
  return { hostId, level, seq, count: entries.length, blob: out.take(), append };
}

export function page(hostId: number, number: number, parts: Partial<PageRow> = {}): PageRow {
  return {
    hostId,
    keyHi: 0xf0000000 + number,
    keyLo: 0xffffffff - number,
    url: `http://h${hostId}.example/p${number}`,
    status: 200,
    outcome: 'ok',
    fetchedAtMs: 1_700_000_000_000 + number,
    etag: '"e"',
    lastModified: 'Tue, 14 Nov 2023 22:13:20 GMT',
    contentHash: sha(`page ${number}`),
    simhashHi: 0x80000001,
    simhashLo: number,
    words: 120,
    duplicateOf: '',
    duplicateKind: '',
    changeRate: 0.25,
    nextFetchMs: 1_800_000_000_000,
    segment: 'warc/a-00001.warc.gz',
    offset: number * 100,
    length: 100,
    via: 'http://seed.example/',
    depth: 2,
    foundAtS: 1_699_999_999,
    attempts: 1,
    bodyBytes: 4_096,
    durationMs: 87,
    ...parts,
  };
}

export function fate(hostId: number, number: number): FateRow {
  return {
    hostId,
    keyHi: number,
    keyLo: 0xfffffff0,
    reason: 'robots-disallowed',
    atMs: 1_700_000_000_000,
    url: `http://h${hostId}.example/f${number}`,
    via: '',
    depth: 0,
  };
}

export function content(id: number, text: string, parts: Partial<ContentRow> = {}): ContentRow {
  return {
    id,
    hash: sha(`body ${id}`),
    url: `http://h1.example/c${id}`,
    fetchedAtMs: 1_700_000_000_000 + id,
    payloadSha1: 'AAAA',
    textHash: sha(text).subarray(0, 8),
    sketch: Buffer.concat([sha(text), sha(text), sha(text), sha(text)]),
    simhashHi: id,
    simhashLo: 0xfedcba98,
    words: 60,
    ...parts,
  };
}

export function robots(origin: string, body: string | undefined, parts: Partial<RobotsRow> = {}): RobotsRow {
  const bytes = body === undefined ? undefined : Buffer.from(body);
  return {
    origin,
    state: 'rules',
    status: 200,
    body: bytes,
    bodySha256: bytes === undefined ? '' : createHash('sha256').update(bytes).digest('hex'),
    fetchedAtMs: 1,
    expiresAtMs: 2,
    failingSinceMs: 0,
    failures: 0,
    ...parts,
  };
}

export function sha(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}

/** Everything a store can be asked about ids and origins below a bound, in a form that compares: bytes become hex. */
export function dump(store: ShardStore, origins: readonly string[], hostIds: number, seqs: number): unknown {
  const hosts: unknown[] = [];
  const chunks: unknown[] = [];
  const entries: unknown[] = [];
  const keys: string[] = [];
  const hashes: unknown[] = [];
  store.scanHosts((scan) => hosts.push({ scan, record: store.readHost(scan.id), id: store.findHostId(scan.key) }));
  for (let id = 1; id <= hostIds; id++) {
    for (let level = 0; level < 6; level++) {
      for (let seq = 1; seq <= seqs; seq++) {
        const blob = store.readChunk(id, level, seq);
        if (blob !== undefined) chunks.push([id, level, seq, Buffer.from(blob).toString('hex')]);
      }
    }
  }
  store.scanEntries((hostId, level, queued) => entries.push([hostId, level, queued]));
  store.scanKeys((hi, lo) => keys.push(`${hi}/${lo}`));
  store.scanContent((print) =>
    hashes.push([hex(print.hash), hex(print.textHash), print.simhashHi, print.simhashLo, print.id, store.readContent(print.id)?.url]),
  );
  keys.sort();
  const pages = keys.map((key) => {
    const [hi, lo] = key.split('/').map(Number);
    return Array.from({ length: hostIds }, (_, i) => plain(store.readPage(i + 1, hi!, lo!)));
  });
  return plain({
    hosts,
    chunks,
    entries,
    keys,
    hashes,
    pages,
    robots: origins.map((origin) => store.readRobots(origin)),
    beyond: store.pagesBeyond('', 0).length,
  });
}

/** A copy in which bytes are hex and -0, Buffer and Uint8Array make no difference. */
export function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, inner) => {
      if (inner?.type === 'Buffer' && Array.isArray(inner.data)) return Buffer.from(inner.data).toString('hex');
      if (inner instanceof Uint32Array) return [...inner];
      if (inner instanceof Uint8Array) return Buffer.from(inner).toString('hex');
      return inner;
    }) ?? 'null',
  );
}

function hex(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : Buffer.from(bytes).toString('hex');
}
