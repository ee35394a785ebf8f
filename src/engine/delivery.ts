/**
 * What a shard hands to the program that runs the crawl: fetched pages and dropped URLs, each at least once, in the order of their commits.
 *
 * Life of an item: `add` appends it to a spool beside the state → the commit of its page makes spool and page durable together → it is read back and
 * sent, a bounded number of bytes at a time → the program says that it is done with it (`given`) → the next commit remembers that. So memory holds
 * only what is on its way, a kill between two commits repeats what was not remembered, and nothing that was committed is passed over.
 *
 * Back-pressure: while more than the window waits (`isFull`) the shard leases nothing; exchanges that are in flight come on top. A spool that was
 * given to the end is removed with the shard's orderly end, or with the next opening. Without a plan (nobody listens in this run) what waits stays for a run that has one.
 */
import { assert, PortolanError } from '../core/errors.ts';
import {
  listSegments,
  openSegments,
  type SegmentMark,
  type SegmentSeries,
  type SegmentWriter,
  segmentName,
} from '../output/segment-writer.ts';
import type { BlobStore } from '../ports/blob-store.ts';

/** What the program wants of this run; the same for every shard. */
export interface DeliveryPlan {
  readonly pages: boolean;
  readonly drops: boolean;
  readonly body: boolean;
  readonly text: boolean;
  readonly links: boolean;
  readonly headers: boolean;
  /** Items of one shard that may wait, at least 1. */
  readonly window: number;
}

/** One page or drop on its way. */
export interface DeliveryItem {
  /** Rising by one within the shard. */
  readonly seq: number;
  /** A page line or drop line with what was asked for beside it, as JSON. */
  readonly json: string;
  /** In a buffer of its own, so that it can be handed to another thread. */
  readonly body: Uint8Array<ArrayBuffer> | undefined;
}

/** As a batch stores it. */
export interface DeliveryMarks {
  readonly end: SegmentMark;
  readonly last: Position;
  /** Up to where the program is done. */
  readonly given: Position;
}

/** The place behind item `seq`. */
interface Position {
  readonly seq: number;
  readonly segment: number;
  readonly offset: number;
  /** Bytes of all items so far. */
  readonly bytes: number;
}

const SEGMENT_BYTES = 16 * 1_048_576;
/** Bytes that may wait in the spool of a shard: a window of large pages ends here. */
const WAITING_BYTES_MAX = 64 * 1_048_576;
/** Bytes sent and not yet done with, per shard; one larger item goes alone. */
const SENT_BYTES_MAX = 4 * 1_048_576;
const READ_BYTES = 256 * 1_024;
const HEAD_BYTES = 8;
const NO_BODY = 0xffff_ffff;
const START: Position = { seq: 0, segment: 0, offset: 0, bytes: 0 };

export class Delivery {
  readonly #series: SegmentSeries;
  readonly #plan: DeliveryPlan | undefined;
  readonly #send: (items: readonly DeliveryItem[]) => void;
  readonly #changed: () => void;
  #writer: SegmentWriter | undefined;
  #last: Position;
  #given: Position;
  /** What waits at open was lost or changed by something else: so many items. */
  readonly lost: number;
  #committedSeq: number;
  /** Where reading goes on. */
  #next: Position;
  /** Sent and not done with, oldest first. */
  #sent: Position[] = [];
  #chunk: { readonly segment: number; readonly offset: number; readonly bytes: Uint8Array } | undefined;
  #oldestSegment = 0;
  #started = false;
  #abandoned = false;

  /** `changed`: the next batch has something to remember. */
  constructor(
    blobs: BlobStore,
    shard: number,
    plan: DeliveryPlan | undefined,
    marks: DeliveryMarks | undefined,
    send: (items: readonly DeliveryItem[]) => void,
    changed: () => void,
  ) {
    this.#series = { store: blobs, dir: 'state/delivery', prefix: 'delivery', shard, suffix: '.spool', maxBytes: SEGMENT_BYTES };
    this.#plan = plan;
    this.#send = send;
    this.#changed = changed;
    const waits = marks !== undefined && marks.given.seq < marks.last.seq;
    const seq = marks?.last.seq ?? 0;
    this.#last = this.#given = { ...START, seq };
    let lost = 0;
    if (waits || plan !== undefined) {
      const { writer, report } = openSegments(this.#series, waits ? marks.end : undefined);
      this.#writer = writer;
      if (waits && (report.short || report.damaged)) {
        lost = marks.last.seq - marks.given.seq;
        writer.close();
        this.#writer = openSegments(this.#series, undefined).writer;
      } else if (waits) {
        this.#last = marks.last;
        this.#given = marks.given;
      }
    }
    this.lost = lost;
    this.#committedSeq = this.#last.seq;
    this.#next = this.#given;
  }

  get plan(): DeliveryPlan | undefined {
    return this.#plan;
  }

  /** So much waits for the program that nothing more is leased. */
  get isFull(): boolean {
    const plan = this.#plan;
    if (plan === undefined) return false;
    return this.#last.seq - this.#given.seq >= plan.window || this.#last.bytes - this.#given.bytes >= WAITING_BYTES_MAX;
  }

  /** The window is full, and mostly of what waits for a commit: the next one is worth making at once. */
  get wantsCommit(): boolean {
    return this.isFull && (this.#last.seq - this.#committedSeq) * 2 > this.#last.seq - this.#given.seq;
  }

  /** Nothing waits for the program, or nobody takes it in this run. */
  get isDrained(): boolean {
    return this.#plan === undefined || this.#abandoned || this.#given.seq === this.#last.seq;
  }

  /** With its page's row in the same batch. */
  add(json: string, body: Uint8Array | undefined): void {
    const text = Buffer.from(json, 'utf8');
    const frame = Buffer.allocUnsafe(HEAD_BYTES + text.length + (body?.length ?? 0));
    frame.writeUInt32LE(text.length, 0);
    frame.writeUInt32LE(body?.length ?? NO_BODY, 4);
    text.copy(frame, HEAD_BYTES);
    if (body !== undefined) frame.set(body, HEAD_BYTES + text.length);
    assert(this.#writer !== undefined, 'there is a spool');
    const { segment, offset, length } = this.#writer.append(frame);
    this.#last = {
      seq: this.#last.seq + 1,
      segment: segmentNumber(segment),
      offset: offset + length,
      bytes: this.#last.bytes + length,
    };
  }

  /** Makes the spool durable; resolves to what the batch of this moment stores. */
  async sync(): Promise<DeliveryMarks | undefined> {
    const { given, last } = { given: this.#given, last: this.#last };
    if (this.#writer === undefined) return last.seq === 0 ? undefined : { end: EMPTY, last, given };
    const end = await this.#writer.sync();
    return { end, last, given };
  }

  /** The batch with these marks is durable: its items may go out, and what it remembers as given may go. */
  committed(marks: DeliveryMarks | undefined): void {
    if (marks === undefined || this.#writer === undefined) return;
    this.#committedSeq = marks.last.seq;
    const { store } = this.#series;
    if (marks.given.segment > this.#oldestSegment) {
      this.#oldestSegment = marks.given.segment;
      for (const { number, name } of listSegments(this.#series)) if (number < marks.given.segment) store.remove(name);
    }
    this.#pump();
  }

  /** From here on items are sent. */
  start(): void {
    this.#started = true;
    this.#pump();
  }

  /** The program is done with every item up to `seq`. */
  given(seq: number): void {
    let done: Position | undefined;
    while (this.#sent.length > 0 && this.#sent[0]!.seq <= seq) done = this.#sent.shift();
    if (done === undefined) return;
    this.#given = done;
    this.#changed();
    this.#pump();
  }

  /** The program takes nothing more: what waits is for the next run. */
  abandon(): void {
    this.#abandoned = true;
  }

  #pump(): void {
    if (!this.#started || this.#abandoned || this.#plan === undefined) return;
    const items: DeliveryItem[] = [];
    let onWay = (this.#sent.at(-1) ?? this.#given).bytes - this.#given.bytes;
    while (this.#next.seq < this.#committedSeq && (onWay < SENT_BYTES_MAX || this.#sent.length === 0)) {
      const { item, bytes } = this.#read();
      items.push(item);
      this.#sent.push(this.#next);
      onWay += bytes;
    }
    if (this.#next.seq === this.#committedSeq) this.#chunk = undefined;
    if (items.length > 0) this.#send(items);
  }

  /** The item behind `#next`, which then stands behind it. */
  #read(): { readonly item: DeliveryItem; readonly bytes: number } {
    this.#stepIntoSegment();
    const head = this.#bytes(HEAD_BYTES);
    const jsonBytes = readUint32(head, 0);
    const bodyBytes = readUint32(head, 4);
    const bytes = HEAD_BYTES + jsonBytes + (bodyBytes === NO_BODY ? 0 : bodyBytes);
    const frame = this.#bytes(bytes);
    const text = Buffer.from(frame.buffer, frame.byteOffset + HEAD_BYTES, jsonBytes).toString('utf8');
    const body = bodyBytes === NO_BODY ? undefined : Uint8Array.from(frame.subarray(HEAD_BYTES + jsonBytes));
    const { seq, segment, offset, bytes: before } = this.#next;
    this.#next = { seq: seq + 1, segment, offset: offset + bytes, bytes: before + bytes };
    return { item: { seq: seq + 1, json: text, body }, bytes };
  }

  /** An item never spans two segments: the next one begins where a segment ends. */
  #stepIntoSegment(): void {
    const { segment, offset } = this.#next;
    if (segment === this.#last.segment || offset < (this.#series.store.length(segmentName(this.#series, segment)) ?? 0)) return;
    this.#next = { ...this.#next, segment: segment + 1, offset: 0 };
  }

  /** So many bytes from `#next` on. */
  #bytes(length: number): Uint8Array {
    const { segment, offset } = this.#next;
    const from = this.#chunk?.segment === segment ? offset - this.#chunk.offset : -1;
    if (this.#chunk === undefined || from < 0 || from + length > this.#chunk.bytes.length) {
      const bytes = this.#series.store.read(segmentName(this.#series, segment), offset, Math.max(length, READ_BYTES));
      this.#chunk = { segment, offset, bytes };
      if (bytes.length < length) {
        throw new PortolanError('PORTOLAN_STATE_DAMAGED', `${segmentName(this.#series, segment)} ends before what was committed`, {
          remedy: 'run again: pages that still waited for the program are said to be lost to it, and stand in pages.jsonl',
        });
      }
      return bytes.subarray(0, length);
    }
    return this.#chunk.bytes.subarray(from, from + length);
  }

  /** The last batch of an orderly end is durable: a spool that was given to the end is not needed any more. */
  finish(): void {
    if (this.#writer === undefined || this.#given.seq < this.#last.seq) return;
    this.close();
    for (const { name } of listSegments(this.#series)) this.#series.store.remove(name);
  }

  /** Idempotent. */
  close(): void {
    this.#writer?.close();
  }
}

const EMPTY: SegmentMark = { segment: 0, name: '', length: 0, chain: '' };

function segmentNumber(name: string): number {
  return Number(/-(\d+)\.spool$/.exec(name)?.[1] ?? 0);
}

function readUint32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0;
}
