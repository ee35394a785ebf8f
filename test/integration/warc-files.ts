/** Reads the WARC files of a crawl with npm's warcio, which shares nothing with the encoder. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WARCParser } from 'warcio';

export interface WarcRecord {
  readonly file: string;
  readonly type: string;
  readonly url: string;
  readonly fields: ReadonlyMap<string, string>;
  readonly block: Buffer;
}

async function readRecords(file: string, bytes: Uint8Array): Promise<WarcRecord[]> {
  const records: WarcRecord[] = [];
  for await (const record of new WARCParser([bytes], { parseHttp: false, keepHeadersCase: true })) {
    const block = Buffer.from(await record.readFully(false));
    const fields = new Map<string, string>([...record.warcHeaders.headers]);
    records.push({ file, type: record.warcType ?? '', url: record.warcTargetURI ?? '', fields, block });
  }
  return records;
}

/** Every record of every file, in order; throws for a file that cannot be read to its end. */
export async function readWarcs(out: string): Promise<readonly WarcRecord[]> {
  const dir = join(out, 'warc');
  const records: WarcRecord[] = [];
  for (const name of readdirSync(dir)
    .filter((file) => !file.endsWith('.cdxj'))
    .sort())
    records.push(...(await readRecords(name, readFileSync(join(dir, name)))));
  return records;
}

/** The record that begins at an offset, read from there and nowhere else. */
export async function warcRecordAt(
  out: string,
  at: { readonly file: string; readonly offset: number; readonly length: number },
): Promise<WarcRecord> {
  const [record] = await readRecords(at.file, readFileSync(join(out, at.file)).subarray(at.offset, at.offset + at.length));
  if (record === undefined) throw new Error(`no record at ${at.file}:${at.offset}`);
  return record;
}
