/** The WARC files of a crawl as the last commits left them: which there are, and how far each may be read. Read-only; the files are never locked. */
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import type { ShardReader } from '../../adapters/sqlite/reader.ts';
import type { ReadBytes } from '../../output/segment-writer.ts';
import { readWarcRecord, readWarcRecords, type WarcRecord } from '../../output/warc-reader.ts';
import { type CrawlDir, markOf } from '../crawl-dir.ts';

export interface WarcFile {
  readonly path: string;
  /** As in the state: `warc/…`. */
  readonly name: string;
  readonly shard: number;
  /** Bytes up to the last commit. */
  readonly length: number;
}

/** Files of all shards up to their marks, oldest first within each. No snapshot of the state is held afterwards. */
export function warcFiles(crawl: CrawlDir): WarcFile[] {
  const files: WarcFile[] = [];
  for (const reader of crawl.readers()) files.push(...filesOfShard(crawl.dir, reader));
  return files;
}

function filesOfShard(dir: string, reader: ShardReader): WarcFile[] {
  const mark = markOf(reader, 'warc');
  if (mark === undefined || !existsSync(join(dir, 'warc'))) return [];
  const pattern = new RegExp(`-s${reader.shard}-(\\d{5,9})\\.warc(?:\\.gz)?$`);
  const found: (WarcFile & { readonly number: number })[] = [];
  for (const file of readdirSync(join(dir, 'warc'))) {
    const number = Number(pattern.exec(file)?.[1] ?? Number.POSITIVE_INFINITY);
    if (number > mark.segment) continue;
    const [name, path] = [`warc/${file}`, join(dir, 'warc', file)];
    const length = name === mark.name ? mark.length : withFile(path, (_, size) => size);
    if (length > 0) found.push({ path, name, shard: reader.shard, length, number });
  }
  return found.sort((a, b) => a.number - b.number || (a.name < b.name ? -1 : 1));
}

/** Throws PORTOLAN_STATE_DAMAGED. */
export function* recordsOf(file: WarcFile): Iterable<WarcRecord> {
  const fd = openSync(file.path, 'r');
  try {
    yield* readWarcRecords(readerOf(fd), 0, file.length);
  } finally {
    closeSync(fd);
  }
}

export function recordAt(path: string, offset: number, length: number): WarcRecord {
  return withFile(path, (read) => readWarcRecord(read, offset, length));
}

function withFile<T>(path: string, work: (read: ReadBytes, size: number) => T): T {
  const fd = openSync(path, 'r');
  try {
    return work(readerOf(fd), fstatSync(fd).size);
  } finally {
    closeSync(fd);
  }
}

function readerOf(fd: number): ReadBytes {
  return (offset, length) => {
    const into = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const bytes = readSync(fd, into, filled, length - filled, offset + filled);
      if (bytes === 0) break;
      filled += bytes;
    }
    return into.subarray(0, filled);
  };
}
