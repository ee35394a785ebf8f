/**
 * The three series of segments of one shard: WARC, pages.jsonl and the politeness ledger; opened at the marks of the last commit.
 *
 * The ledger is the log of debts: a start record is handed to the operating system before its request leaves, an end record with the next
 * start or sync. What lies beyond the mark at open is kept and replayed; WARC and pages are cut to their marks, so each outcome stands once.
 */
import type { Config } from '../config/schema.ts';
import type { EpochMs, MonoMs } from '../core/time.ts';
import { wholeMembersLength } from '../output/gzip-member.ts';
import { ledgerConfigOf } from '../output/ledger-config.ts';
import { encodePageLine, type PageLineRecord, wholeLinesLength } from '../output/pages-jsonl.ts';
import {
  LedgerEncoder,
  type LedgerEnd,
  LedgerReader,
  type LedgerRecord,
  type LedgerRobots,
  type LedgerStart,
  ledgerBodyParts,
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
import { wholeRecordsLength } from '../output/warc-records.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import { ROBOTS_DEFAULTS, type RobotsRecord } from '../robots/policy.ts';
import { KeyTable } from '../seen/key-table.ts';
import type { ThreadContext } from './context.ts';
import { hostExceptions, ledgerHosts } from './host-rules.ts';
import { shownConfig } from './shown-config.ts';

const LEDGER_SEGMENT_BYTES = 64 * 1_048_576;
const PAGES_SEGMENT_BYTES = 1_000_000_000;
const LINE_WINDOW_BYTES = 1_048_576;
/** Hashes of robots.txt bodies that are remembered as written: sites of one maker have the same. */
const KNOWN_BODIES_MAX = 4_096;

export interface OutputMarks {
  readonly warc: SegmentMark | undefined;
  readonly pages: SegmentMark | undefined;
  readonly ledger: SegmentMark | undefined;
}

/** The moment at which a shard was opened, from which on debts of the time before count, and the commit that it goes on from. */
export interface LedgerOpening {
  readonly commitSeq: number;
  readonly monoMs: MonoMs;
  readonly epochMs: EpochMs;
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
  /** A series of WARC files goes on as it began, whatever the configuration says now. */
  readonly #gzip: boolean;
  readonly #ledgerEncoder = new LedgerEncoder();
  /** For the begin of a segment, which comes while a record that waits to be appended stands in the other one. */
  readonly #headEncoder = new LedgerEncoder();
  readonly #warc: SegmentWriter | undefined;
  readonly #pages: SegmentWriter | undefined;
  readonly #ledger: SegmentWriter;
  readonly #ledgerMark: SegmentMark | undefined;
  readonly #knownBodies = new Set<string>();
  readonly reports: OutputReports;
  #openedSeq = 0;
  #bytesSinceSync = 0;

  /** `rotated` is called with each WARC file that is full. */
  constructor(context: ThreadContext, shard: number, blobs: BlobStore, marks: OutputMarks, rotated: (name: string) => void) {
    this.#context = context;
    this.#shard = shard;
    this.#blobs = blobs;
    this.#gzip = marks.warc === undefined ? context.config.output.warcGzip : marks.warc.name.endsWith('.gz');
    this.#warcEncoder = new WarcEncoder({ random: context.random, gzip: this.#gzip });
    this.#ledgerMark = marks.ledger;
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
        suffix: this.#gzip ? '.warc.gz' : '.warc',
        maxBytes: output.warcSize,
        head: (name) => this.#warcEncoder.warcinfo(this.#warcInfo(), name.slice(name.lastIndexOf('/') + 1), clock.nowEpochMs()),
        wholeLength: this.#gzip ? wholeMembersLength : wholeRecordsLength,
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
        head: (_name, _segment, before) => this.#ledgerHead(before),
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
      robots: robotsPolicy(config),
      configuration: JSON.stringify(shownConfig(config)),
    };
  }

  /** Begins a segment: with what the records that follow are judged by, so that it can be read by itself. */
  #ledgerHead(before: SegmentMark | undefined): Uint8Array {
    const { clock } = this.#context;
    const now = { commitSeq: this.#openedSeq, monoMs: clock.nowMonoMs(), epochMs: clock.nowEpochMs() };
    const frames = [Buffer.from(this.#ledgerHeader(this.#headEncoder, false, now, before))];
    for (const frame of this.#rulesInForce(this.#headEncoder)) frames.push(Buffer.from(frame));
    return Buffer.concat(frames);
  }

  #ledgerHeader(encoder: LedgerEncoder, opens: boolean, at: LedgerOpening, prior: SegmentMark | undefined): Uint8Array {
    const { bootId, configVersion, rules } = this.#context;
    return encoder.header({
      kind: 'header',
      opens,
      ...at,
      prior: prior === undefined ? undefined : { segment: prior.segment, length: prior.length, chain: prior.chain },
      shard: this.#shard,
      bootId,
      configVersion,
      agent: rules.userAgent,
    });
  }

  /** Configuration and blocklist. Each frame is valid until the next one is asked for. */
  *#rulesInForce(encoder: LedgerEncoder): Iterable<Uint8Array> {
    const { config, rules, blocklist, hostDelays } = this.#context;
    const filled = { ...rules, robotsTtlMaxMs: ROBOTS_DEFAULTS.ttlMsMax, hostDelaysMs: hostDelays.current.all, hosts: ledgerHosts(config) };
    const text = JSON.stringify(ledgerConfigOf(config, filled));
    for (const part of ledgerBodyParts('config', Buffer.from(text))) yield encoder.body(part);
    for (const part of ledgerBodyParts('blocklist', Buffer.from(blocklist.text))) yield encoder.body(part);
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

  /** The first records of this incarnation. */
  beginLedger(opening: LedgerOpening): void {
    this.#openedSeq = opening.commitSeq;
    this.#ledger.append(this.#ledgerHeader(this.#ledgerEncoder, true, opening, this.#ledgerMark));
    for (const frame of this.#rulesInForce(this.#ledgerEncoder)) this.#ledger.append(frame);
    this.#ledger.flush();
  }

  /** Blocklist or delays of the context have changed; requests that follow are judged by the new ones. */
  ledgerRules(): void {
    for (const frame of this.#rulesInForce(this.#ledgerEncoder)) this.#ledger.append(frame);
    this.#ledger.flush();
  }

  /** A robots.txt that came into force, its body before it when the ledger may not have it yet. Goes with the end record that follows. */
  ledgerRobots(record: RobotsRecord, hops: number, bodyBefore: string): void {
    const hash = record.bodySha256 === '' ? undefined : record.bodySha256.slice(0, 16);
    if (hash !== undefined && record.body !== undefined && record.bodySha256 !== bodyBefore && !this.#isKnownBody(hash)) {
      for (const part of ledgerBodyParts('robots', record.body, hash)) this.#ledger.append(this.#ledgerEncoder.body(part));
    }
    this.#ledger.append(
      this.#ledgerEncoder.robots({
        kind: 'robots',
        origin: record.origin,
        state: record.state satisfies LedgerRobots['state'],
        hops,
        status: record.status,
        epochMs: record.fetchedAtMs,
        validMs: record.expiresAtMs - record.fetchedAtMs,
        hash,
      }),
    );
  }

  #isKnownBody(hash: string): boolean {
    if (this.#knownBodies.has(hash)) return true;
    if (this.#knownBodies.size >= KNOWN_BODIES_MAX) this.#knownBodies.clear();
    this.#knownBodies.add(hash);
    return false;
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

  /** Starts to make everything appended so far durable, for this commit; resolves to the marks of this moment. */
  async sync(commitSeq: number): Promise<OutputMarks> {
    this.#bytesSinceSync = 0;
    this.#markLedger(commitSeq);
    const [warc, pages, ledger] = await Promise.all([this.#warc?.sync(), this.#pages?.sync(), this.#ledger.sync()]);
    return { warc, pages, ledger };
  }

  #markLedger(commitSeq: number): void {
    const { clock } = this.#context;
    this.#ledger.flush();
    const { chain } = this.#ledger.mark();
    // It speaks of its own segment, so it must not begin the next one.
    this.#ledger.append(
      this.#ledgerEncoder.mark({ kind: 'mark', commitSeq, monoMs: clock.nowMonoMs(), epochMs: clock.nowEpochMs(), chain }),
      true,
    );
  }

  close(): void {
    this.#warc?.close();
    this.#pages?.close();
    this.#ledger.close();
  }
}

/** `obey` by habit of the field, with what the operator has excepted and why. */
function robotsPolicy(config: Config): string {
  const ignored = hostExceptions(config).filter(({ what }) => what === 'robots.txt is ignored');
  return ['obey', ...ignored.map(({ hosts, reason }) => `ignored for ${hosts}: ${reason}`)].join('; ');
}
