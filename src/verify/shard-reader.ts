/**
 * The ledger of one shard as a stream of events, segment after segment, and whether it is whole: every mark's chained hash covers the bytes
 * before it, a segment goes on where the one before ended, an opening names a mark that stands there, segments are numbered without a hole.
 *
 * Bytes may be missing only between the last mark that a commit made durable and the next opening: those were never promised. Each file's
 * damage is told once.
 */
import { PortolanError } from '../core/errors.ts';
import { LedgerStream, ledgerHeaders } from '../output/ledger-stream.ts';
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
/** Of one opening: the mark of a commit is written when the commit before it is durable, so the last durable one is among the last two. */
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
  /** Of the opening that is being read. */
  #marks: Mark[] = [];
  /** Of the openings before it, from the mark that the last of them named: as long as none makes a commit durable, the next one names the same mark. */
  #marksBefore: Mark[] = [];
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

  /** The boots that this shard was opened in, each with its first header. */
  boots(): ReadonlyMap<string, LedgerHeader> {
    const boots = new Map<string, LedgerHeader>();
    for (const { name } of this.#files) {
      try {
        for (const header of ledgerHeaders((offset, size) => this.#source.read(name, offset, size), this.#source.length(name) ?? 0))
          if (!boots.has(header.bootId)) boots.set(header.bootId, header);
      } catch (error) {
        // What is damaged is told when the events are read.
        if (!(error instanceof PortolanError) || error.code !== 'PORTOLAN_STATE_DAMAGED') throw error;
      }
    }
    return boots;
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
      this.#opens(record.prior);
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
    if (this.#marks.length <= MARKS_KEPT) return;
    this.#marks.shift();
    this.#marksBefore = [];
  }

  /** No later opening names a mark before `named`. */
  #opens(named: Mark | undefined): void {
    const marks = [...this.#marksBefore, ...this.#marks];
    const at = named === undefined ? -1 : marks.findIndex((one) => isSame(one, named));
    this.#marksBefore = at < 0 ? marks : marks.slice(at);
    this.#marks = [];
  }

  #expectMark(mark: Mark, file: LedgerFile | undefined, offset: number, whose: string): void {
    const found = [...this.#marksBefore, ...this.#marks].some((one) => isSame(one, mark));
    if (found || mark.length === 0) return;
    // Commits of the format without marks cannot be looked up.
    if (this.#oldFormat && this.#marks.length + this.#marksBefore.length === 0) return;
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

function isSame(one: Mark, other: Mark): boolean {
  return one.segment === other.segment && one.length === other.length && one.chain === other.chain;
}

/**
 * Boots in the order in which they were: each shard knows that of the boots it was opened in. One may be missing in a shard, when the power went
 * before its opening was durable; wall time decides only between boots of which no shard has seen both.
 */
export function orderOfBoots(shards: readonly ReadonlyMap<string, { readonly epochMs: number }>[]): readonly string[] {
  const left = new Map<string, number>();
  for (const boots of shards)
    for (const [boot, { epochMs }] of boots) left.set(boot, Math.min(epochMs, left.get(boot) ?? Number.POSITIVE_INFINITY));
  const queues = shards.map((boots) => [...boots.keys()]);
  const order: string[] = [];
  while (left.size > 0) {
    const heads = new Set(queues.filter((queue) => queue.length > 0).map((queue) => queue[0]!));
    const isFirst = (boot: string): boolean => queues.every((queue) => queue.indexOf(boot) <= 0);
    const first = [...heads].filter(isFirst);
    // Without any, the shards contradict one another, which only forged files do.
    const next = (first.length > 0 ? first : [...heads]).reduce((a, b) => (left.get(b)! < left.get(a)! ? b : a));
    order.push(next);
    left.delete(next);
    for (const [at, queue] of queues.entries()) queues[at] = queue.filter((boot) => boot !== next);
  }
  return order;
}

/** Events of all shards in the order of their monotonic times, boot after boot (`order`: as from orderOfBoots). Each shard keeps its own order. */
export function* mergeShards(streams: readonly Iterable<LedgerEvent>[], order: readonly string[]): Iterable<LedgerEvent> {
  const ranks = new Map(order.map((boot, rank) => [boot, rank]));
  const rankOf = (boot: string): number => ranks.get(boot) ?? -1;
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
