/**
 * `portolan wacz DIR`: a crawl as one WACZ file (version 1.1.1): its WARC files as they are, their index (CDXJ in gzip'd blocks with a second-level index), the
 * list of pages, and a datapackage.json with the hash of each. Replay tools (ReplayWeb.page, pywb) open it without unpacking.
 *
 * Written in one pass and bounded memory, also while the crawl runs (up to the last commits). pages/pages.jsonl has the seeds, pages/extraPages.jsonl the rest.
 */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { decodeBody } from '../fetch/content-coding.ts';
import { HeaderView } from '../fetch/headers.ts';
import { cdxjLine } from '../output/cdxj.ts';
import { type WarcRecord, warcResponse } from '../output/warc-reader.ts';
import { createHandlers, type Handlers } from '../parse/handlers.ts';
import { mediaTypeOf } from '../parse/media-type.ts';
import { VERSION } from '../version.ts';
import { type CrawlDir, openCrawlDir } from './crawl-dir.ts';
import { EXIT } from './exit-codes.ts';
import { openFileSink, untilDone } from './export/sink.ts';
import { SortedLines } from './export/sorted-lines.ts';
import { recordsOf, type WarcFile, warcFiles } from './export/warc-files.ts';
import { pageOf } from './page-of.ts';
import { ZipWriter } from './wacz-zip.ts';

const WACZ_VERSION = '1.1.1';
/** Lines of the index in one gzip'd block. */
const LINES_PER_BLOCK = 1_024;
const COPY_BYTES = 1 << 20;
const RECORDS_PER_TURN = 500;
const TITLE_BODY_BYTES_MAX = 5_000_000;

export interface WaczFlags {
  readonly out?: string;
  readonly title?: string;
}

export async function wacz(dirArgument: string, flags: WaczFlags): Promise<number> {
  const crawl = openCrawlDir(dirArgument);
  const out = flags.out ?? join(crawl.dir, `${basename(crawl.dir)}.wacz`);
  const open = () => openFileSink(out);
  return untilDone(open, EXIT, async (sink) => {
    const now = new Date();
    const zip = new ZipWriter(sink, now);
    const contents = new Contents(crawl);
    try {
      for (const file of warcFiles(crawl)) {
        await contents.read(file);
        await zip.add(`archive/${basename(file.name)}`, copyOf(file));
      }
      await addIndexes(zip, contents);
      await zip.add('pages/pages.jsonl', contents.pages(true));
      await zip.add('pages/extraPages.jsonl', contents.pages(false));
      await addPackage(zip, now, flags.title);
      await zip.finish();
    } finally {
      contents.close();
      crawl.close();
    }
  });
}

function* copyOf(file: WarcFile): Iterable<Uint8Array> {
  const fd = openSync(file.path, 'r');
  try {
    const buffer = Buffer.allocUnsafe(COPY_BYTES);
    for (let at = 0; at < file.length; ) {
      const bytes = readSync(fd, buffer, 0, Math.min(COPY_BYTES, file.length - at), at);
      if (bytes === 0) return;
      at += bytes;
      yield buffer.subarray(0, bytes);
    }
  } finally {
    closeSync(fd);
  }
}

/** Index lines and pages of the files that were read. */
class Contents {
  readonly #crawl: CrawlDir;
  readonly #handlers: Handlers = createHandlers();
  readonly lines = new SortedLines();
  readonly #pages = { seeds: new SortedLines(), others: new SortedLines() };
  #records = 0;
  #pageCount = 0;

  constructor(crawl: CrawlDir) {
    this.#crawl = crawl;
  }

  async read(file: WarcFile): Promise<void> {
    for (const record of recordsOf(file)) {
      const line = cdxjLine(record, basename(file.name));
      if (line !== undefined) {
        this.lines.add(line);
        this.#page(record);
      }
      if (++this.#records % RECORDS_PER_TURN === 0) await new Promise((turn) => setImmediate(turn));
    }
  }

  /** A page is what was fetched with success and has a parser: requisites are none. */
  #page(record: WarcRecord): void {
    const url = record.fields.get('warc-target-uri') ?? '';
    const response = warcResponse(record);
    if (response === undefined || response.status < 200 || response.status > 299) return;
    const title = record.type === 'revisit' ? '' : this.#titleOf(response.rawHeaders, response.body);
    if (title === undefined) return;
    const id = createHash('sha256').update(`${url} ${record.offset}`).digest('hex').slice(0, 20);
    const page = { id, url, ts: record.fields.get('warc-date'), ...(title === '' ? {} : { title }) };
    // Kept in the order in which they were fetched: the number leads the line and is cut off again.
    const line = `${String(this.#pageCount++).padStart(12, '0')}${JSON.stringify(page)}\n`;
    (this.#isSeed(url) ? this.#pages.seeds : this.#pages.others).add(line);
  }

  /** Undefined when it is no page. */
  #titleOf(rawHeaders: readonly string[], body: Uint8Array): string | undefined {
    const headers = new HeaderView(rawHeaders);
    const limits = { maxBodyBytes: TITLE_BODY_BYTES_MAX, maxWireBytes: TITLE_BODY_BYTES_MAX };
    const { bytes } = decodeBody(body, headers.all('content-encoding'), false, limits);
    const contentTypeHeader = headers.first('content-type');
    const mediaType = mediaTypeOf(contentTypeHeader, bytes.subarray(0, 512)).type;
    const options = { maxLinks: 1, text: 'none', robotsNames: [] } as const;
    return this.#handlers.find(mediaType)?.handle({ bytes, contentTypeHeader, mediaType, options }).title;
  }

  #isSeed(url: string): boolean {
    const page = pageOf(this.#crawl, url);
    return page !== undefined && page.depth === 0 && page.via === '';
  }

  *pages(seeds: boolean): Iterable<Uint8Array> {
    const head = seeds ? { id: 'pages', title: 'Seeds' } : { id: 'extra-pages', title: 'All other pages' };
    yield Buffer.from(`${JSON.stringify({ format: 'json-pages-1.0', ...head })}\n`);
    for (const line of (seeds ? this.#pages.seeds : this.#pages.others).sorted()) yield Buffer.from(line.slice(12));
  }

  close(): void {
    this.lines.close();
    this.#pages.seeds.close();
    this.#pages.others.close();
  }
}

/** index.cdx.gz in blocks, and index.idx with the first key of each. */
async function addIndexes(zip: ZipWriter, contents: Contents): Promise<void> {
  let idx = `!meta 0 ${JSON.stringify({ format: 'cdxj-gzip-1.0', filename: 'index.cdx.gz' })}\n`;
  function* blocks(): Iterable<Uint8Array> {
    let offset = 0;
    for (const lines of blocksOf(contents.lines.sorted())) {
      const bytes = gzipSync(lines.join(''));
      const first = lines[0]!;
      const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      idx += `${first.slice(0, first.indexOf(' {'))} ${JSON.stringify({ offset, length: bytes.length, digest })}\n`;
      offset += bytes.length;
      yield bytes;
    }
  }
  await zip.add('indexes/index.cdx.gz', blocks());
  await zip.add('indexes/index.idx', [Buffer.from(idx)]);
}

function* blocksOf(lines: Iterable<string>): Iterable<string[]> {
  let block: string[] = [];
  for (const line of lines) {
    block.push(line);
    if (block.length < LINES_PER_BLOCK) continue;
    yield block;
    block = [];
  }
  if (block.length > 0) yield block;
}

async function addPackage(zip: ZipWriter, now: Date, title: string | undefined): Promise<void> {
  const resources = zip.entries.map(({ name, hash, bytes }) => ({ name: basename(name).toLowerCase(), path: name, hash, bytes }));
  const text = JSON.stringify(
    {
      profile: 'data-package',
      wacz_version: WACZ_VERSION,
      software: `Portolan ${VERSION}`,
      created: `${now.toISOString().slice(0, 19)}Z`,
      ...(title === undefined ? {} : { title }),
      resources,
    },
    undefined,
    2,
  );
  const { hash } = await zip.add('datapackage.json', [Buffer.from(text)]);
  await zip.add('datapackage-digest.json', [Buffer.from(JSON.stringify({ path: 'datapackage.json', hash }, undefined, 2))]);
}
