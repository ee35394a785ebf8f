/**
 * The three series of segments of one shard: WARC, pages.jsonl and the politeness ledger; opened at the marks of the last commit.
 *
 * The ledger is the log of debts: a start record is handed to the operating system before its request leaves, an end record with the next
 * start or sync. What lies beyond the mark at open is kept and replayed; WARC and pages are cut to their marks, so each outcome stands once.
 */
import type { Config } from '../config/schema.ts';
import { wholeMembersLength } from '../output/gzip-member.ts';
import { encodePageLine, type PageLineRecord, wholeLinesLength } from '../output/pages-jsonl.ts';
import {
  LedgerEncoder,
  type LedgerEnd,
  LedgerReader,
  type LedgerRecord,
  type LedgerStart,
  wholeFramesLength,
} from '../output/politeness-ledger.ts';
import {
  listSegments,
  openSegments,
  type SegmentMark,
  type SegmentOpenReport,
  type SegmentPosition,
  type SegmentWriter,
} from '../output/segment-writer.ts';
import { type WarcEncoded, WarcEncoder, type WarcExchange, type WarcInfo } from '../output/warc.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import { KeyTable } from '../seen/key-table.ts';
import type { ThreadContext } from './context.ts';

const LEDGER_SEGMENT_BYTES = 64 * 1_048_576;
const PAGES_SEGMENT_BYTES = 1_000_000_000;
const LINE_WINDOW_BYTES = 1_048_576;

export interface OutputMarks {
  readonly warc: SegmentMark | undefined;
  readonly pages: SegmentMark | undefined;
  readonly ledger: SegmentMark | undefined;
}

export interface OutputReports {
  readonly warc: SegmentOpenReport | undefined;
  readonly pages: SegmentOpenReport | undefined;
  readonly ledger: SegmentOpenReport;
}

export class ShardOutput {
  readonly #context: ThreadContext;
  readonly #shard: number;
  readonly #blobs: BlobStore;
  readonly #warcEncoder: WarcEncoder;
  readonly #ledgerEncoder = new LedgerEncoder();
  readonly #warc: SegmentWriter | undefined;
  readonly #pages: SegmentWriter | undefined;
  readonly #ledger: SegmentWriter;
  readonly reports: OutputReports;
  #bytesSinceSync = 0;

  /** `rotated` is called with each WARC file that is full. */
  constructor(context: ThreadContext, shard: number, blobs: BlobStore, marks: OutputMarks, rotated: (name: string) => void) {
    this.#context = context;
    this.#shard = shard;
    this.#blobs = blobs;
    this.#warcEncoder = new WarcEncoder({ random: context.random });
    const { output } = context.config;
    const warc = output.warc || marks.warc !== undefined ? this.#openWarc(output, marks.warc, rotated) : undefined;
    const pages = output.pages || marks.pages !== undefined ? this.#openPages(marks.pages) : undefined;
    const ledger = this.#openLedger(marks.ledger);
    this.#warc = warc?.writer;
    this.#pages = pages?.writer;
    this.#ledger = ledger.writer;
    this.reports = { warc: warc?.report, pages: pages?.report, ledger: ledger.report };
  }

  #openWarc(output: Config['output'], mark: SegmentMark | undefined, rotated: (name: string) => void) {
    const { clock } = this.#context;
    return openSegments(
      {
        store: this.#blobs,
        dir: 'warc',
        prefix: output.warcPrefix,
        shard: this.#shard,
        suffix: '.warc.gz',
        maxBytes: output.warcSize,
        head: (name) => this.#warcEncoder.warcinfo(this.#warcInfo(), name.slice(name.lastIndexOf('/') + 1), clock.nowEpochMs()),
        wholeLength: wholeMembersLength,
        onRotate: rotated,
      },
      mark,
    );
  }

  #openPages(mark: SegmentMark | undefined) {
    return openSegments(
      {
        store: this.#blobs,
        dir: 'pages',
        prefix: 'pages',
        shard: this.#shard,
        suffix: '.jsonl',
        maxBytes: PAGES_SEGMENT_BYTES,
        wholeLength: wholeLinesLength,
      },
      mark,
    );
  }

  #openLedger(mark: SegmentMark | undefined) {
    return openSegments(
      {
        store: this.#blobs,
        dir: 'ledger',
        prefix: 'ledger',
        shard: this.#shard,
        suffix: '.ledger',
        maxBytes: LEDGER_SEGMENT_BYTES,
        head: () => Uint8Array.from(this.#ledgerHeader()),
        wholeLength: wholeFramesLength,
        beyond: 'keep',
      },
      mark,
    );
  }

  #warcInfo(): WarcInfo {
    const { config, rules, software } = this.#context;
    return {
      software,
      userAgent: rules.userAgent,
      operator: config.agent.contact,
      robots: 'obey',
      configuration: JSON.stringify(config),
    };
  }

  #ledgerHeader(): Uint8Array {
    const { clock, bootId, configVersion, rules } = this.#context;
    return this.#ledgerEncoder.header({
      kind: 'header',
      shard: this.#shard,
      bootId,
      monoMs: clock.nowMonoMs(),
      epochMs: clock.nowEpochMs(),
      configVersion,
      agent: rules.userAgent,
    });
  }

  /** The records beyond the mark, oldest first: what happened after the last commit. */
  *ledgerBeyondMark(): Iterable<LedgerRecord> {
    for (const { name, from, to } of this.reports.ledger.kept) {
      yield* new LedgerReader(this.#blobs.read(name, from, to - from), { durableLength: 0 });
    }
  }

  /** Keys of the lines that pages.jsonl has; for the repair of a file that lost some. One pass over the files. */
  lineKeys(): KeyTable {
    const keys = new KeyTable(1_024);
    for (const { name } of listSegments({ store: this.#blobs, dir: 'pages', prefix: 'pages', shard: this.#shard, suffix: '.jsonl' })) {
      for (const [, hi = '', lo = ''] of this.#textOf(name)) {
        if ((keys.count + 1) * 4 > keys.slots * 3) keys.grow(keys.slots * 2);
        keys.add(Number.parseInt(hi, 16), Number.parseInt(lo, 16));
      }
    }
    return keys;
  }

  *#textOf(name: string): Iterable<RegExpMatchArray> {
    const length = this.#blobs.length(name) ?? 0;
    let rest = '';
    for (let at = 0; at < length; at += LINE_WINDOW_BYTES) {
      const text = rest + Buffer.from(this.#blobs.read(name, at, Math.min(LINE_WINDOW_BYTES, length - at))).toString('latin1');
      const end = text.lastIndexOf('\n') + 1;
      rest = text.slice(end);
      yield* text.slice(0, end).matchAll(/^\{.*?"key":"([0-9a-f]{8})([0-9a-f]{8})"/gm);
    }
  }

  /** The first record of this incarnation. */
  beginLedger(): void {
    this.#ledger.append(this.#ledgerHeader());
    this.#ledger.flush();
  }

  /** Durable against SIGKILL when it returns. */
  ledgerStart(record: LedgerStart): void {
    this.#ledger.append(this.#ledgerEncoder.start(record));
    this.#ledger.flush();
  }

  /** With a pause of its own it is handed over at once: after a kill the default would be too short. Others go with the next start or sync. */
  ledgerEnd(record: LedgerEnd): void {
    this.#ledger.append(this.#ledgerEncoder.end(record));
    if (record.owedMs !== undefined) this.#ledger.flush();
  }

  get storesBodies(): boolean {
    return this.#context.config.output.warc && this.#warc !== undefined;
  }

  appendExchange(exchange: WarcExchange): { readonly at: SegmentPosition; readonly encoded: WarcEncoded } {
    const encoded = this.#warcEncoder.exchange(exchange);
    const at = this.#warc!.append(encoded.bytes);
    this.#bytesSinceSync += encoded.bytes.length;
    return { at, encoded };
  }

  appendPage(record: PageLineRecord): void {
    if (this.#pages === undefined || !this.#context.config.output.pages) return;
    this.#appendLine(encodePageLine(record));
  }

  appendDrop(line: string): void {
    if (this.#pages === undefined || !this.#context.config.output.pages) return;
    this.#appendLine(line);
  }

  #appendLine(line: string): void {
    const bytes = Buffer.from(line, 'utf8');
    this.#bytesSinceSync += bytes.length;
    this.#pages!.append(bytes);
  }

  /** Bytes appended since the last sync: many of them are a reason to commit early. */
  get bytesSinceSync(): number {
    return this.#bytesSinceSync;
  }

  /** Starts to make everything appended so far durable; resolves to the marks of this moment. */
  async sync(): Promise<OutputMarks> {
    this.#bytesSinceSync = 0;
    const [warc, pages, ledger] = await Promise.all([this.#warc?.sync(), this.#pages?.sync(), this.#ledger.sync()]);
    return { warc, pages, ledger };
  }

  close(): void {
    this.#warc?.close();
    this.#pages?.close();
    this.#ledger.close();
  }
}
