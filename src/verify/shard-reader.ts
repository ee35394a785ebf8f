/**
 * The ledger of one shard as a stream of events, segment after segment, and whether it is whole: every mark's chained hash covers the bytes
 * before it, a segment goes on where the one before ended, an opening names a mark that stands there, segments are numbered without a hole.
 *
 * Bytes may be missing only between the last mark that a commit made durable and the next opening: those were never promised. Each file's
 * damage is told once.
 */
import { PortolanError } from '../core/errors.ts';
import { LedgerStream } from '../output/ledger-stream.ts';
import type { LedgerHeader, LedgerMark, LedgerPrior, LedgerRecord } from '../output/politeness-ledger.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Findings } from './findings.ts';

export type LedgerSource = Pick<BlobStore, 'list' | 'length' | 'read'>;

export interface LedgerFile {
  readonly shard: number;
  readonly segment: number;
  readonly name: string;
}

export interface LedgerEvent {
  readonly file: LedgerFile;
  readonly from: number;
  readonly to: number;
  readonly record: LedgerRecord;
  /** Monotonic time of the event, or of the one before when it has none; never less than that within one boot. */
  readonly monoMs: number;
  readonly boot: string;
}

const NAME = /^ledger\/ledger-s(\d+)-(\d{5,9})\.ledger$/;
/** A commit names the mark before it at most. */
const MARKS_KEPT = 4;

/** Ledger files by shard, each in the order of its segments. */
export function ledgerFiles(source: LedgerSource): ReadonlyMap<number, readonly LedgerFile[]> {
  const shards = new Map<number, LedgerFile[]>();
  for (const name of source.list('ledger/')) {
    const match = NAME.exec(name);
    if (match === null) continue;
    const file = { shard: Number(match[1]), segment: Number(match[2]), name };
    const files = shards.get(file.shard);
    if (files === undefined) shards.set(file.shard, [file]);
    else files.push(file);
  }
  for (const files of shards.values()) files.sort((a, b) => a.segment - b.segment);
  return new Map([...shards].sort(([a], [b]) => a - b));
}

/** A place in a shard's ledger and the chained hash up to it. */
type Mark = LedgerPrior;

export class ShardReader {
  readonly shard: number;
  readonly #source: LedgerSource;
  readonly #files: readonly LedgerFile[];
  readonly #findings: Findings;
  readonly #starts = new Map<number, number>();
  #marks: Mark[] = [];
  #boot = '';
  #monoMs = 0;
  #lastWallMs = 0;
  #bytes = 0;
  /** Damage of the file that is being read has been told. */
  #told = false;
  /** A segment began without naming the one before: only an opening may follow. */
  #mustOpen = false;
  #oldFormat = false;
  #end: Mark | undefined;

  constructor(shard: number, files: readonly LedgerFile[], source: LedgerSource, findings: Findings) {
    this.shard = shard;
    this.#files = files;
    this.#source = source;
    this.#findings = findings;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** `committed`: what the state says that the last commit made durable; checked at the end. */
  *events(committed: Mark | undefined): Iterable<LedgerEvent> {
    let expected = 0;
    for (const file of this.#files) {
      this.#told = false;
      if (file.segment !== expected) this.#missing(file, 0, `segment ${expected} of the shard is not there`);
      expected = file.segment + 1;
      yield* this.#eventsOf(file);
    }
    if (committed !== undefined) this.#expectMark(committed, this.#files.at(-1), 0, 'the last commit');
  }

  *#eventsOf(file: LedgerFile): Iterable<LedgerEvent> {
    const length = this.#source.length(file.name) ?? 0;
    const stream = new LedgerStream((offset, size) => this.#source.read(file.name, offset, size), length);
    let last = 0;
    this.#bytes += length;
    try {
      for (const { record, from, to } of stream.items()) {
        if (record.kind === 'header') this.#header(file, from, record);
        else if (record.kind === 'mark') this.#mark(file, from, to, record, stream);
        else if (record.kind === 'start' && this.#mustOpen) {
          this.#missing(file, from, 'the segment goes on from one that it does not name');
          this.#mustOpen = false;
        }
        this.#tell(record);
        last = to;
        yield { file, from, to, record, monoMs: this.#monoMs, boot: this.#boot };
      }
    } catch (error) {
      if (!(error instanceof PortolanError) || error.code !== 'PORTOLAN_STATE_DAMAGED') throw error;
      this.#missing(file, last, error.message);
    }
    this.#end = { segment: file.segment, length: last, chain: stream.chainTo(last) };
  }

  /** Moves this shard's time on to the record's. */
  #tell(record: LedgerRecord): void {
    let monoMs = this.#monoMs;
    if (record.kind === 'header') {
      if (record.bootId !== this.#boot) this.#monoMs = record.monoMs;
      this.#boot = record.bootId;
      if (record.opens) this.#starts.clear();
      monoMs = record.monoMs;
    } else if (record.kind === 'start') {
      this.#starts.set(record.lease, record.monoMs);
      monoMs = record.monoMs;
    } else if (record.kind === 'end') {
      monoMs = (this.#starts.get(record.lease) ?? monoMs) + record.durationMs;
      this.#starts.delete(record.lease);
    } else if (record.kind === 'mark') monoMs = record.monoMs;
    if ('epochMs' in record) this.#lastWallMs = record.epochMs;
    this.#monoMs = Math.max(this.#monoMs, monoMs);
  }

  #header(file: LedgerFile, from: number, record: LedgerHeader): void {
    if (record.commitSeq < 0) {
      this.#oldFormat = true;
      return;
    }
    if (record.opens) {
      this.#mustOpen = false;
      if (record.prior !== undefined) this.#expectMark(record.prior, file, from, 'the commit that the shard was opened at');
      else if (record.commitSeq > 0 && !this.#oldFormat)
        this.#missing(file, from, 'the shard was opened without the mark of its last commit');
      return;
    }
    if (from !== 0) this.#missing(file, from, 'a segment begins within another');
    else if (record.prior === undefined) this.#mustOpen = file.segment > 0;
    else if (this.#end === undefined || record.prior.segment !== this.#end.segment || record.prior.chain !== this.#end.chain)
      this.#missing(file, from, `the segment before, ${record.prior.length} bytes long, does not end as it did when this one began`);
  }

  #mark(file: LedgerFile, from: number, to: number, record: LedgerMark, stream: LedgerStream): void {
    if (stream.chainTo(from) !== record.chain) this.#missing(file, from, 'the bytes before this mark are not those that were committed');
    this.#marks.push({ segment: file.segment, length: to, chain: stream.chainTo(to) });
    if (this.#marks.length > MARKS_KEPT) this.#marks.shift();
  }

  #expectMark(mark: Mark, file: LedgerFile | undefined, offset: number, whose: string): void {
    const found = this.#marks.some((one) => one.segment === mark.segment && one.length === mark.length && one.chain === mark.chain);
    if (found || mark.length === 0) return;
    // Commits of the format without marks cannot be looked up.
    if (this.#oldFormat && this.#marks.length === 0) return;
    const at = file ?? { shard: this.shard, segment: mark.segment, name: `shard ${this.shard}` };
    this.#told = false;
    this.#missing(at, offset, `${whose} left ${mark.length} bytes in segment ${mark.segment}; they are not there as they were`);
  }

  #missing(file: LedgerFile, offset: number, text: string): void {
    if (this.#told) return;
    this.#told = true;
    this.#findings.add({
      kind: 'evidence-missing',
      shard: this.shard,
      hostKey: '',
      address: '',
      epochMs: this.#lastWallMs,
      text,
      records: [{ file: file.name, offset }],
    });
  }
}

/**
 * Events of all shards in the order of their monotonic times, boot after boot. Each shard keeps its own order. A boot's rank is that of its first
 * appearance: every shard is opened in every run, so all see the boots in one order.
 */
export function* mergeShards(streams: readonly Iterable<LedgerEvent>[]): Iterable<LedgerEvent> {
  const ranks = new Map<string, number>();
  const rankOf = (boot: string): number => {
    const known = ranks.get(boot);
    if (known !== undefined) return known;
    ranks.set(boot, ranks.size);
    return ranks.size - 1;
  };
  const heads: { next: LedgerEvent; rank: number; readonly rest: Iterator<LedgerEvent> }[] = [];
  for (const stream of streams) {
    const rest = stream[Symbol.iterator]();
    const first = rest.next();
    if (first.done !== true) heads.push({ next: first.value, rank: rankOf(first.value.boot), rest });
  }
  while (heads.length > 0) {
    let least = heads[0]!;
    for (const head of heads) {
      if (head.rank < least.rank || (head.rank === least.rank && head.next.monoMs < least.next.monoMs)) least = head;
    }
    yield least.next;
    const following = least.rest.next();
    if (following.done === true) heads.splice(heads.indexOf(least), 1);
    else {
      least.next = following.value;
      least.rank = rankOf(following.value.boot);
    }
  }
}
