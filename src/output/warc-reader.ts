/**
 * Reads the WARC files that warc.ts writes, one record at a time and in bounded memory: for exports and indexes that are derived from them.
 *
 * Invariant: a record is handed out whole or not at all; `length` is the bytes of its gzip member, so that offset and length name it to other tools. Only
 * bytes below the given end are looked at (the mark of the last commit: what lies beyond may be torn).
 * What it does not do: other people's WARC files (several records in a member), digests, decoding of content codings.
 */
import { inflateRawSync } from 'node:zlib';
import { PortolanError } from '../core/errors.ts';
import type { ReadBytes } from './segment-writer.ts';
import { isPlainRecord, plainRecordLength } from './warc-records.ts';

export interface WarcRecord {
  /** First byte of its member in the file, and the member's bytes. */
  readonly offset: number;
  readonly length: number;
  /** WARC-Type. */
  readonly type: string;
  /** By name in lower case. */
  readonly fields: ReadonlyMap<string, string>;
  readonly block: Uint8Array;
}

/** An HTTP response as it stands in the block of a response or revisit record. */
export interface WarcResponse {
  readonly status: number;
  /** Names and values alternating, latin-1. */
  readonly rawHeaders: readonly string[];
  /** As it came over the wire, with its content coding; empty in a revisit record. */
  readonly body: Uint8Array;
}

const WINDOW_BYTES = 1 << 20;
const HEADER_BYTES = 10;
const TRAILER_BYTES = 8;
/** No record is larger: a body has its cap. */
const MEMBER_BYTES_MAX = 1 << 30;
const HEAD_END = Buffer.from('\r\n\r\n');

/** Records whose members begin at or after `from` and end by `end`. Throws PORTOLAN_STATE_DAMAGED, naming the offset. */
export function* readWarcRecords(read: ReadBytes, from: number, end: number): Iterable<WarcRecord> {
  let windowAt = from;
  let window: Uint8Array = new Uint8Array(0);
  let wanted = WINDOW_BYTES;
  for (let at = from; at < end; ) {
    const inflated = inflateMember(window.subarray(at - windowAt));
    if (inflated !== undefined) {
      yield parseRecord(inflated.bytes, at, inflated.length);
      at += inflated.length;
      wanted = WINDOW_BYTES;
      continue;
    }
    const have = window.length - (at - windowAt);
    if (have >= end - at || wanted > MEMBER_BYTES_MAX) throw damaged(at, 'a record that is cut short or damaged');
    if (have >= wanted) wanted *= 2;
    windowAt = at;
    window = read(at, Math.min(wanted, end - at));
    if (window.length <= have && window.length < end - at) throw damaged(at, 'the file is shorter than the last commit says');
  }
}

/** The record of one member. Throws PORTOLAN_STATE_DAMAGED. */
export function readWarcRecord(read: ReadBytes, offset: number, length: number): WarcRecord {
  const inflated = inflateMember(read(offset, length));
  if (inflated === undefined) throw damaged(offset, 'a record that is cut short or damaged');
  return parseRecord(inflated.bytes, offset, inflated.length);
}

/** Undefined when no whole member (or record, in a file without compression) begins here. */
function inflateMember(data: Uint8Array): { readonly bytes: Uint8Array; readonly length: number } | undefined {
  if (isPlainRecord(data)) {
    const length = plainRecordLength(data);
    return length === undefined || length > data.length ? undefined : { bytes: data.subarray(0, length), length };
  }
  if (data.length < HEADER_BYTES + TRAILER_BYTES || data[0] !== 0x1f || data[1] !== 0x8b || data[3] !== 0) return undefined;
  try {
    const { buffer, engine } = inflateRawSync(data.subarray(HEADER_BYTES), { info: true }) as unknown as {
      readonly buffer: Uint8Array;
      readonly engine: { readonly bytesWritten: number };
    };
    const length = HEADER_BYTES + engine.bytesWritten + TRAILER_BYTES;
    return length > data.length ? undefined : { bytes: buffer, length };
  } catch {
    return undefined; // cut short, or damaged: the caller tells one from the other by reading more
  }
}

function parseRecord(bytes: Uint8Array, offset: number, length: number): WarcRecord {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const headEnd = buffer.indexOf(HEAD_END);
  if (headEnd < 0 || !buffer.subarray(0, 5).equals(Buffer.from('WARC/'))) throw damaged(offset, 'a member that is no WARC record');
  const fields = new Map<string, string>();
  for (const line of buffer.toString('utf8', 0, headEnd).split('\r\n').slice(1)) {
    const colon = line.indexOf(':');
    if (colon > 0) fields.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  const blockAt = headEnd + HEAD_END.length;
  const blockBytes = Number(fields.get('content-length'));
  if (!Number.isSafeInteger(blockBytes) || blockAt + blockBytes > buffer.length) throw damaged(offset, 'a record with a wrong length');
  return { offset, length, type: fields.get('warc-type') ?? '', fields, block: buffer.subarray(blockAt, blockAt + blockBytes) };
}

/** Undefined when the block is no HTTP response. */
export function warcResponse(record: WarcRecord): WarcResponse | undefined {
  const block = Buffer.from(record.block.buffer, record.block.byteOffset, record.block.byteLength);
  const headEnd = block.indexOf(HEAD_END);
  const head = block.toString('latin1', 0, headEnd < 0 ? block.length : headEnd).split('\r\n');
  const status = /^HTTP\/\d(?:\.\d)? (\d{3})/.exec(head[0] ?? '');
  if (status === null) return undefined;
  const rawHeaders: string[] = [];
  for (const line of head.slice(1)) {
    const colon = line.indexOf(':');
    if (colon > 0) rawHeaders.push(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return {
    status: Number(status[1]),
    rawHeaders,
    body: headEnd < 0 ? block.subarray(block.length) : block.subarray(headEnd + HEAD_END.length),
  };
}

function damaged(offset: number, what: string): PortolanError {
  return new PortolanError('PORTOLAN_STATE_DAMAGED', `${what} (byte ${offset})`, { remedy: 'restore the crawl directory from a backup' });
}
