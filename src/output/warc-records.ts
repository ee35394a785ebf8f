/**
 * Plain WARC records, one behind the other: where each ends (WARC 1.1 section 4: head, block of Content-Length bytes, CRLF CRLF).
 * For files without compression; files of gzip members have gzip-member.ts.
 */
import type { ReadBytes } from './segment-writer.ts';

const HEAD_END = Buffer.from('\r\n\r\n');
const VERSION = Buffer.from('WARC/');
/** A head of ours has two URLs at most; longer ones are no heads. */
const HEAD_BYTES_MAX = 1 << 17;

/** Bytes of the record that begins at the start of `data`, its end marker included; undefined when no sound head is there. May exceed `data`. */
export function plainRecordLength(data: Uint8Array): number | undefined {
  const head = Buffer.from(data.buffer, data.byteOffset, Math.min(data.byteLength, HEAD_BYTES_MAX));
  const headEnd = isPlainRecord(data) ? head.indexOf(HEAD_END) : -1;
  const length = headEnd < 0 ? undefined : /^content-length: *(\d{1,15})\r?$/im.exec(head.toString('latin1', 0, headEnd))?.[1];
  return length === undefined ? undefined : headEnd + HEAD_END.length + Number(length) + HEAD_END.length;
}

/** Whether a record begins here that is no gzip member. */
export function isPlainRecord(data: Uint8Array): boolean {
  return data.length >= VERSION.length && VERSION.every((byte, index) => data[index] === byte);
}

/** End of the last whole record in the first `length` bytes, `from` being the end of a record: for a file that a crash left with a torn end. */
export function wholeRecordsLength(read: ReadBytes, from: number, length: number): number {
  let at = from;
  while (at < length) {
    const record = plainRecordLength(read(at, Math.min(HEAD_BYTES_MAX, length - at)));
    if (record === undefined || at + record > length) break;
    if (!HEAD_END.equals(read(at + record - HEAD_END.length, HEAD_END.length))) break;
    at += record;
  }
  return at;
}
