/**
 * Reads the WARC files of a killed crawl up to the marks of its last commits, with a reader that shares no code with the product: what the next life
 * goes on from must be whole records to the last byte. At the end it looks up every record that pages.jsonl points at.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32, gunzipSync, inflateRawSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { WARCParser } from 'warcio';

const GZIP_HEAD_BYTES = 10;
const GZIP_TRAILER_BYTES = 8;

interface Mark {
  readonly name: string;
  readonly length: number;
}

export class WarcCheck {
  readonly #out: string;
  /** Bytes of each file known to be whole records. */
  readonly #good = new Map<string, number>();
  bytesRead = 0;

  constructor(out: string) {
    this.#out = out;
  }

  /** Findings in what is new since the last call: the marked files up to their marks, full files whole. */
  async afterKill(): Promise<readonly string[]> {
    const findings: string[] = [];
    for (const mark of this.#marks()) {
      const series = mark.name.slice(0, mark.name.lastIndexOf('-'));
      for (const name of this.#files().filter((file) => file.startsWith(series) && file < mark.name))
        findings.push(...(await this.#read(name, Number.POSITIVE_INFINITY)));
      if (mark.length > 0) findings.push(...(await this.#read(mark.name, mark.length)));
    }
    return findings;
  }

  /** Every file to its last byte, and every pointer of pages.jsonl. */
  async atEnd(): Promise<readonly string[]> {
    const findings: string[] = [];
    for (const name of this.#files()) findings.push(...(await this.#read(name, Number.POSITIVE_INFINITY)));
    const files = new Map(this.#files().map((name) => [name, readFileSync(join(this.#out, name))]));
    for (const row of pageRows(this.#out)) {
      if (row.warc === undefined) continue;
      const bytes = files.get(row.warc.file)?.subarray(row.warc.offset, row.warc.offset + row.warc.length);
      if (bytes === undefined || !pointsAt(bytes, row.url))
        findings.push(`${row.url}: ${row.warc.file} has no record of it at ${row.warc.offset}`);
    }
    return findings;
  }

  #files(): readonly string[] {
    const dir = join(this.#out, 'warc');
    return existsSync(dir)
      ? readdirSync(dir)
          .sort()
          .map((name) => `warc/${name}`)
      : [];
  }

  *#marks(): Iterable<Mark> {
    const state = join(this.#out, 'state');
    for (const shard of existsSync(state) ? readdirSync(state).filter((name) => name.startsWith('shard-')) : []) {
      const file = join(state, shard, 'state.db');
      if (!existsSync(file)) continue;
      const db = new Database(file, { readonly: true });
      try {
        const table = db.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name = 'meta'").get() as { n: number };
        const row =
          table.n === 0 ? undefined : (db.prepare("SELECT value FROM meta WHERE key = 'marks'").get() as { value: string } | undefined);
        const { warc } = row === undefined || row.value === '' ? {} : (JSON.parse(row.value) as { warc?: Mark });
        if (warc !== undefined) yield warc;
      } finally {
        db.close();
      }
    }
  }

  async #read(name: string, upTo: number): Promise<readonly string[]> {
    const path = join(this.#out, name);
    const from = this.#good.get(name) ?? 0;
    const all = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
    const to = Math.min(upTo, all.length);
    if (upTo !== Number.POSITIVE_INFINITY && to < upTo) return [`${name} has ${all.length} bytes, the last commit says ${upTo}`];
    if (to === from) return [];
    if (to < from) return [`${name} has ${all.length} bytes, and had ${from} that were committed`];
    const finding = await readRecords(all.subarray(from, to));
    if (finding !== '') return [`${name} from ${from} to ${to}: ${finding}`];
    this.#good.set(name, to);
    this.bytesRead += to - from;
    return [];
  }
}

/** '' when the bytes are whole records and nothing else. */
async function readRecords(bytes: Uint8Array): Promise<string> {
  try {
    const parser = new WARCParser([bytes], { parseHttp: false });
    let records = 0;
    for await (const record of parser) {
      const block = await record.readFully(false);
      if (block.length !== Number(record.warcHeaders.headers.get('Content-Length'))) return `record ${records + 1} is cut short`;
      records++;
    }
    const members = membersOf(bytes);
    return members === records ? '' : `${records} records in ${members} members`;
  } catch (error) {
    return String(error);
  }
}

/** Gzip members, each inflated on its own up to its checksum; throws when bytes are left over or a member is damaged. */
function membersOf(bytes: Uint8Array): number {
  let members = 0;
  for (let at = 0; at < bytes.length; members++) {
    if (bytes[at] !== 0x1f || bytes[at + 1] !== 0x8b || bytes[at + 3] !== 0) throw new Error(`no plain gzip member at ${at}`);
    const { buffer, engine } = inflateRawSync(bytes.subarray(at + GZIP_HEAD_BYTES), { info: true }) as unknown as Inflated;
    const trailer = at + GZIP_HEAD_BYTES + engine.bytesWritten;
    if (Buffer.from(bytes.buffer, bytes.byteOffset).readUInt32LE(trailer) !== crc32(buffer))
      throw new Error(`wrong checksum of the member at ${at}`);
    at = trailer + GZIP_TRAILER_BYTES;
    if (at > bytes.length) throw new Error('the last member is cut short');
  }
  return members;
}

interface Inflated {
  readonly buffer: Uint8Array;
  readonly engine: { readonly bytesWritten: number };
}

function pointsAt(member: Uint8Array, url: string): boolean {
  try {
    const head = gunzipSync(member).toString('latin1').split('\r\n\r\n', 1)[0] ?? '';
    return head.startsWith('WARC/1.1\r\n') && head.includes(`WARC-Target-URI: ${url}\r\n`);
  } catch {
    return false;
  }
}

export interface PageRow {
  readonly url: string;
  readonly outcome: string;
  readonly key: string;
  readonly warc?: { readonly file: string; readonly offset: number; readonly length: number };
}

/** The rows of pages/*.jsonl. A line that is no JSON is an error: a torn line must not be left standing. */
export function pageRows(out: string): readonly PageRow[] {
  const dir = join(out, 'pages');
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(dir, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as PageRow);
}
