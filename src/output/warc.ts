/**
 * WARC 1.1 records (ISO 28500:2017), each its own gzip member, or plain when the files are not to be compressed.
 *
 * One exchange becomes two records, `response` (or `revisit`) first and `request` after it, so that the offset of what was appended is the
 * offset of the response. The block of a response is the HTTP head (http-head.ts) and the body as it came over the wire: transfer coding
 * removed, content coding kept. Payload digests are taken over that body, so equal pages are recognised whatever the chunks were
 * (webrecorder/warcio#74). A second payload digest stands in `WARC-Payload-Digest-SHA-256`, an extension field (WARC 1.1 allows
 * WARC-Payload-Digest once only, and the tools of the field compare its sha1).
 * Invariants: Content-Length counts the block alone; each record ends with CRLF CRLF; each field occurs once; the response's and the
 * request's WARC-Date are the same moment. A body that is compressed already is not compressed again but wrapped in stored blocks.
 * Not here: WARC-Warcinfo-ID (a record belongs to the warcinfo at the head of its file), writing, rotation (segment-writer.ts).
 */
import { assert } from '../core/errors.ts';
import type { EpochMs } from '../core/time.ts';
import type { Random } from '../ports/random.ts';
import { sha1Digest, sha256Digest } from './digest.ts';
import { deflateRecord, storedMemberBytes, writeDeflatedMember, writeStoredMember } from './gzip-member.ts';
import { type RawHeaders, type ResponseHead, requestHead, responseHead } from './http-head.ts';
import { isoDate } from './iso-date.ts';

/** Why the stored body is not whole (WARC 1.1 section 5.13). */
export type WarcTruncation = 'length' | 'time' | 'disconnect' | 'unspecified';

export interface WarcExchange {
  /** Absolute URL as it was requested, without a fragment. */
  readonly url: string;
  /** Moment of the request. */
  readonly dateMs: EpochMs;
  /** Peer's address without port and brackets; undefined when it is not known. */
  readonly address?: string | undefined;
  readonly request: {
    readonly method: string;
    /** Path and query. */
    readonly path: string;
    /** Value of the Host header, used unless `headers` has one. */
    readonly host: string;
    readonly headers: readonly (readonly [string, string])[];
  };
  readonly response: {
    readonly status: number;
    /** Latin-1 text, as the header values. */
    readonly statusText: string;
    readonly rawHeaders: RawHeaders;
    /** Pieces in order; transfer coding removed, content coding kept. */
    readonly body: readonly Uint8Array[];
    readonly truncated?: WarcTruncation | undefined;
    /** `sha256:<hex>` over the same bytes when the caller has it already (an identity body's content hash). */
    readonly payloadSha256?: string | undefined;
  };
  /**
   * An earlier capture of what should be the same payload. When the payload digests agree (or the status is 304) a revisit record is
   * written, otherwise the response in full: two bodies can be equal decoded and differ on the wire.
   */
  readonly original?: WarcOriginal | undefined;
}

export interface WarcOriginal {
  readonly url: string;
  /** WARC-Date of the original capture. */
  readonly dateMs: EpochMs;
  /** `sha1:…` as its record has it. */
  readonly payloadSha1: string;
  /** Its WARC-Record-ID without brackets, if known. */
  readonly recordId?: string | undefined;
}

export interface WarcEncoded {
  /** Both records. A view of the encoder's own buffer: valid until its next call. */
  readonly bytes: Uint8Array;
  /** Bytes of the first member, the response or revisit record. */
  readonly responseBytes: number;
  readonly kind: 'response' | 'revisit';
  /** WARC-Record-ID of the first record, without brackets. */
  readonly recordId: string;
  readonly payloadSha1: string;
  readonly payloadSha256: string;
}

/** The fields of the warcinfo record; one line each, undefined and empty ones are left out. */
export interface WarcInfo {
  /** Name and version of the program. */
  readonly software: string;
  readonly userAgent: string;
  readonly operator?: string | undefined;
  readonly hostname?: string | undefined;
  /** What robots.txt means to this crawl: `obey` by habit of the field. */
  readonly robots?: string | undefined;
  readonly isPartOf?: string | undefined;
  readonly description?: string | undefined;
  /** The configuration in force, as JSON. */
  readonly configuration: string;
}

export interface WarcEncoderOptions {
  readonly random: Random;
  /** Deflate level of what is not compressed yet, 1 … 9. Default 1: level 3 costs as much again and gains under 1 % on HTML. */
  readonly level?: number;
  /** Default true; false leaves records as they are, one behind the other. */
  readonly gzip?: boolean;
}

/** Larger records are stored as they are: deflating blocks the thread for about 8 ms per MB. */
export const WARC_DEFLATE_BYTES_MAX = 4 << 20;
/** Buffers over this size are given back after the record that needed them. */
const BUFFER_BYTES_KEPT_MAX = 1 << 20;
const BUFFER_BYTES_MIN = 64 << 10;
/** Room for the fields of a record besides its URLs. */
const FIELDS_BYTES_MAX = 1_024;
const END_OF_RECORD = '\r\n\r\n';
const IDENTICAL_PAYLOAD = 'identical-payload-digest';
const NOT_MODIFIED = 'server-not-modified';
type RevisitProfile = typeof IDENTICAL_PAYLOAD | typeof NOT_MODIFIED;

export class WarcEncoder {
  readonly #random: Random;
  readonly #level: number;
  readonly #gzip: boolean;
  #record: Buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES_MIN);
  #out: Buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES_MIN);

  constructor(options: WarcEncoderOptions) {
    this.#random = options.random;
    this.#level = options.level ?? 1;
    this.#gzip = options.gzip ?? true;
    assert(this.#level >= 1 && this.#level <= 9, 'a deflate level is 1 … 9');
  }

  /** First record of a file. `filename` is the last part of the object's name. The result is the caller's. */
  warcinfo(info: WarcInfo, filename: string, dateMs: EpochMs): Uint8Array {
    const block = Buffer.from(infoFields(info), 'utf8');
    const head =
      'WARC/1.1\r\nWARC-Type: warcinfo\r\n' +
      `WARC-Record-ID: <${this.#newId()}>\r\nWARC-Date: ${isoDate(dateMs)}\r\nWARC-Filename: ${filename}\r\n` +
      `WARC-Block-Digest: ${sha1Digest(block)}\r\nContent-Type: application/warc-fields\r\nContent-Length: ${block.length}\r\n\r\n`;
    const record = Buffer.concat([Buffer.from(head, 'utf8'), block, Buffer.from(END_OF_RECORD)]);
    const into = Buffer.allocUnsafe(storedMemberBytes(record.length));
    const end = this.#member(record, true, into, 0);
    return new Uint8Array(into.subarray(0, end));
  }

  exchange(exchange: WarcExchange): WarcEncoded {
    const { request, response, original } = exchange;
    const bodyBytes = sizeOf(response.body);
    const responseText = responseHead(response.status, response.statusText, response.rawHeaders, bodyBytes);
    const requestText = requestHead(request.method, request.path, request.host, request.headers);
    const target = fieldUrl(exchange.url);
    const refersTo = original === undefined ? '' : fieldUrl(original.url);
    const blockAt = FIELDS_BYTES_MAX + target.length + refersTo.length;
    this.#reserve(blockAt + responseText.text.length + bodyBytes, blockAt + requestText.length);

    const common = `WARC-Target-URI: ${target}\r\nWARC-Date: ${isoDate(exchange.dateMs)}\r\n${addressField(exchange.address)}`;
    const first = this.#response(exchange, responseText, blockAt, common, refersTo);
    const end = this.#request(requestText, blockAt, `${common}WARC-Concurrent-To: <${first.recordId}>\r\n`, first.responseBytes);
    const bytes = this.#out.subarray(0, end);
    this.#giveBackLargeBuffers();
    return { bytes, ...first };
  }

  #response(exchange: WarcExchange, head: ResponseHead, blockAt: number, common: string, refersTo: string): Omit<WarcEncoded, 'bytes'> {
    const { response, original } = exchange;
    const payloadAt = blockAt + this.#record.write(head.text, blockAt, 'latin1');
    const payload = this.#record.subarray(payloadAt, copyPieces(response.body, this.#record, payloadAt));
    const payloadSha1 = sha1Digest(payload);
    const payloadSha256 = response.payloadSha256 ?? sha256Digest(payload);
    const profile = original === undefined ? undefined : revisitProfile(response.status, payloadSha1, original);
    const kind = profile === undefined ? 'response' : 'revisit';
    const blockEnd = kind === 'response' ? payloadAt + payload.length : payloadAt;
    const recordId = this.#newId();
    const fields =
      `WARC/1.1\r\nWARC-Type: ${kind}\r\nWARC-Record-ID: <${recordId}>\r\n${common}` +
      (profile === undefined ? '' : profileFields(profile, original?.recordId, refersTo, original?.dateMs ?? exchange.dateMs)) +
      // A 304 has no payload of its own: it carries the digest of the original's.
      (profile === NOT_MODIFIED ? payloadField(original?.payloadSha1 ?? payloadSha1) : payloadFields(payloadSha1, payloadSha256)) +
      (response.truncated === undefined ? '' : `WARC-Truncated: ${response.truncated}\r\n`) +
      blockFields('response', this.#record.subarray(blockAt, blockEnd));
    const deflate = kind === 'response' && shouldDeflate(head, blockEnd - blockAt);
    return { responseBytes: this.#close(fields, blockAt, blockEnd, deflate, 0), kind, recordId, payloadSha1, payloadSha256 };
  }

  /** Stored as it is: to deflate these 500 bytes would cost 50 µs, more than everything else here. */
  #request(head: string, blockAt: number, common: string, at: number): number {
    const blockEnd = blockAt + this.#record.write(head, blockAt, 'latin1');
    const fields =
      `WARC/1.1\r\nWARC-Type: request\r\nWARC-Record-ID: <${this.#newId()}>\r\n${common}` +
      blockFields('request', this.#record.subarray(blockAt, blockEnd));
    return this.#close(fields, blockAt, blockEnd, false, at);
  }

  /** Puts the fields right before the block and the end after it, and the member of it all at `at` of the output. Returns its end. */
  #close(fields: string, blockAt: number, blockEnd: number, deflate: boolean, at: number): number {
    const start = blockAt - fields.length;
    assert(start >= 0, 'the fields of a record fit their room');
    this.#record.write(fields, start, 'latin1');
    this.#record.write(END_OF_RECORD, blockEnd, 'latin1');
    return this.#member(this.#record.subarray(start, blockEnd + END_OF_RECORD.length), deflate, this.#out, at);
  }

  #member(record: Uint8Array, deflate: boolean, into: Buffer, at: number): number {
    if (!this.#gzip) return copyPieces([record], into, at);
    const deflated = deflate ? deflateRecord(record, this.#level) : undefined;
    return deflated === undefined ? writeStoredMember(record, into, at) : writeDeflatedMember(record, deflated, into, at);
  }

  #reserve(responseBytes: number, requestBytes: number): void {
    const record = Math.max(responseBytes, requestBytes) + END_OF_RECORD.length;
    if (record > this.#record.length) this.#record = Buffer.allocUnsafeSlow(roundUp(record));
    const out = storedMemberBytes(responseBytes + END_OF_RECORD.length) + storedMemberBytes(requestBytes + END_OF_RECORD.length);
    if (out > this.#out.length) this.#out = Buffer.allocUnsafeSlow(roundUp(out));
  }

  #giveBackLargeBuffers(): void {
    if (this.#record.length > BUFFER_BYTES_KEPT_MAX) this.#record = Buffer.allocUnsafeSlow(BUFFER_BYTES_MIN);
    if (this.#out.length > BUFFER_BYTES_KEPT_MAX) this.#out = Buffer.allocUnsafeSlow(BUFFER_BYTES_MIN);
  }

  #newId(): string {
    return `urn:uuid:${this.#random.uuid()}`;
  }
}

function infoFields(info: WarcInfo): string {
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['software', info.software],
    ['format', 'WARC File Format 1.1'],
    ['conformsTo', 'http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/'],
    ['http-header-user-agent', info.userAgent],
    ['operator', info.operator],
    ['hostname', info.hostname],
    ['robots', info.robots],
    ['isPartOf', info.isPartOf],
    ['description', info.description],
    ['configuration', info.configuration],
  ];
  let text = '';
  for (const [name, value] of fields) {
    if (value !== undefined && value !== '') text += `${name}: ${value.replace(/[\r\n]+/g, ' ')}\r\n`;
  }
  return text;
}

function addressField(address: string | undefined): string {
  return address === undefined ? '' : `WARC-IP-Address: ${address}\r\n`;
}

function payloadField(sha1: string): string {
  return `WARC-Payload-Digest: ${sha1}\r\n`;
}

function payloadFields(sha1: string, sha256: string): string {
  return `${payloadField(sha1)}WARC-Payload-Digest-SHA-256: ${sha256}\r\n`;
}

function blockFields(message: 'request' | 'response', block: Uint8Array): string {
  return (
    `WARC-Block-Digest: ${sha1Digest(block)}\r\nContent-Type: application/http;msgtype=${message}\r\n` +
    `Content-Length: ${block.length}\r\n\r\n`
  );
}

/** WARC 1.1 sections 6.7.2 and 6.7.3; undefined when the response has to be stored in full. */
function revisitProfile(status: number, payloadSha1: string, original: WarcOriginal): RevisitProfile | undefined {
  if (status === 304) return NOT_MODIFIED;
  return payloadSha1 === original.payloadSha1 ? IDENTICAL_PAYLOAD : undefined;
}

function profileFields(profile: RevisitProfile, refersToId: string | undefined, refersTo: string, refersToDateMs: EpochMs): string {
  return (
    `WARC-Profile: http://netpreserve.org/warc/1.1/revisit/${profile}\r\n` +
    (refersToId === undefined ? '' : `WARC-Refers-To: <${refersToId}>\r\n`) +
    `WARC-Refers-To-Target-URI: ${refersTo}\r\nWARC-Refers-To-Date: ${isoDate(refersToDateMs)}\r\n`
  );
}

/** Media types whose bytes do not get smaller by another deflate. */
const COMPRESSED_TYPE =
  /^(?:image\/(?!svg|bmp|x-ms-bmp|vnd\.microsoft\.icon|x-icon)|audio\/|video\/|font\/woff)|^application\/(?:zip|gzip|x-gzip|pdf|x-7z|zstd|vnd\.openxml|epub)/;

function shouldDeflate(head: ResponseHead, recordBytes: number): boolean {
  if (recordBytes > WARC_DEFLATE_BYTES_MAX) return false;
  if (head.contentEncoding !== '' && head.contentEncoding !== 'identity') return false;
  return !COMPRESSED_TYPE.test(head.mediaType);
}

/** A URL as a field value: ASCII without spaces and controls, as the URL standard serialises it; anything else is percent-encoded. */
function fieldUrl(url: string): string {
  return /^[\x21-\x7e]*$/.test(url) ? url : encodeURI(url.toWellFormed()).replaceAll('%25', '%');
}

function sizeOf(pieces: readonly Uint8Array[]): number {
  let size = 0;
  for (const piece of pieces) size += piece.length;
  return size;
}

/** Returns the offset after the copy. */
function copyPieces(pieces: readonly Uint8Array[], into: Uint8Array, at: number): number {
  let end = at;
  for (const piece of pieces) {
    into.set(piece, end);
    end += piece.length;
  }
  return end;
}

function roundUp(bytes: number): number {
  return 2 ** Math.ceil(Math.log2(bytes));
}
