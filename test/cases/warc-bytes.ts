/**
 * A second reader of WARC files, by the standard's letter and with nothing but zlib: members, heads, lengths, ends. It shares no code with the encoder
 * nor with the first reader (warcio), and knows where every byte belongs.
 */
import { hash } from 'node:crypto';
import { crc32, inflateRawSync } from 'node:zlib';

export interface RawRecord {
  readonly version: string;
  /** As they stand, in order. */
  readonly fields: readonly (readonly [string, string])[];
  readonly block: Buffer;
}

export interface WarcFindings {
  readonly records: readonly RawRecord[];
  /** What is not as it must be; empty for a sound file. */
  readonly wrong: readonly string[];
}

interface Inflated {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

const MEMBER_HEAD_BYTES = 10;
const MEMBER_END_BYTES = 8;

export function readWarcBytes(bytes: Buffer): WarcFindings {
  const records: RawRecord[] = [];
  const wrong: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const isGzip = bytes[at] === 0x1f && bytes[at + 1] === 0x8b;
    try {
      const member = isGzip ? memberAt(bytes, at) : { plain: bytes.subarray(at), end: bytes.length };
      const { record, end } = recordOf(member.plain);
      if (isGzip && end !== member.plain.length) wrong.push(`the member at ${at} holds more than one record`);
      records.push(record);
      at = isGzip ? member.end : at + end;
    } catch (error) {
      wrong.push(`at ${at} of ${bytes.length}: ${(error as Error).message}`);
      break;
    }
  }
  return { records, wrong };
}

function memberAt(bytes: Buffer, at: number): { readonly plain: Buffer; readonly end: number } {
  if (bytes[at + 3] !== 0) throw new Error('a gzip head with extra fields');
  const { buffer, engine } = inflateRawSync(bytes.subarray(at + MEMBER_HEAD_BYTES), { info: true }) as unknown as Inflated;
  const end = at + MEMBER_HEAD_BYTES + engine.bytesWritten + MEMBER_END_BYTES;
  if (end > bytes.length) throw new Error('the last member is cut short');
  if (bytes.readUInt32LE(end - 8) !== crc32(buffer) || bytes.readUInt32LE(end - 4) !== buffer.length)
    throw new Error('checksum or length of a member is wrong');
  return { plain: buffer, end };
}

function recordOf(bytes: Buffer): { readonly record: RawRecord; readonly end: number } {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) throw new Error('no head of a record');
  const [version = '', ...lines] = bytes.subarray(0, headEnd).toString('utf8').split('\r\n');
  if (!version.startsWith('WARC/')) throw new Error(`no version line but ${JSON.stringify(version.slice(0, 20))}`);
  const fields = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const);
  const length = fields.filter(([name]) => name.toLowerCase() === 'content-length');
  if (length.length !== 1 || !/^\d+$/.test(length[0]![1])) throw new Error('Content-Length is not there once');
  const blockEnd = headEnd + 4 + Number(length[0]![1]);
  if (bytes.subarray(blockEnd, blockEnd + 4).toString('latin1') !== '\r\n\r\n')
    throw new Error('the record does not end with CRLF CRLF behind its block');
  return { record: { version, fields, block: bytes.subarray(headEnd + 4, blockEnd) }, end: blockEnd + 4 };
}

export function fieldOf(record: RawRecord, name: string): string | undefined {
  return record.fields.find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1];
}

/** Head and payload of an HTTP block. */
export function httpParts(block: Buffer): { readonly head: Buffer; readonly payload: Buffer } {
  const end = block.indexOf('\r\n\r\n');
  return end < 0 ? { head: block, payload: Buffer.alloc(0) } : { head: block.subarray(0, end + 4), payload: block.subarray(end + 4) };
}

/** Whether a digest field is that of the bytes; both spellings, base32 and hex. */
export function digestFits(field: string, bytes: Uint8Array): boolean {
  const [algorithm = '', value = ''] = field.split(':');
  const hex = hash(algorithm, bytes, 'hex');
  return value.toLowerCase() === hex || value.toUpperCase() === base32(Buffer.from(hex, 'hex'));
}

export function base32(bytes: Uint8Array): string {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}
