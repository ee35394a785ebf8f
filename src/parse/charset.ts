/**
 * From the bytes of a page to its text: Encoding Standard, and the HTML Living Standard's 13.2.3.2 for finding the encoding.
 *
 * Order: byte order mark, charset of the Content-Type header, meta or XML declaration in the first 1,024 bytes, then UTF-8 when the
 * bytes are valid UTF-8, else windows-1252. A label nobody knows counts as none. Never guesses from letter frequencies, never throws:
 * what cannot be decoded becomes U+FFFD. The mark itself is not part of the text.
 */
import { isAscii, isUtf8 } from 'node:buffer';
import { legacyHookDecode, normalizeEncoding } from '@exodus/bytes/encoding.js';
import { getEncoding } from 'encoding-sniffer';

export interface DecodedBody {
  readonly text: string;
  /** Name of the encoding in the Encoding Standard, lower case: utf-8, windows-1252, shift_jis; `replacement` for unsafe ones. */
  readonly charset: string;
  readonly source: 'bom' | 'header' | 'meta' | 'default';
}

const PRESCAN_BYTES = 1_024;
/** The prescan can never find this encoding (its step turns it into windows-1252), so it stands for "nothing found". */
const NOTHING_FOUND = 'x-user-defined';
/** ASCII bytes mean something else in these. */
const NOT_ASCII_COMPATIBLE: readonly string[] = ['utf-16le', 'utf-16be', 'iso-2022-jp', 'replacement'];

export function decodeBody(bytes: Uint8Array, contentTypeHeader: string | undefined): DecodedBody {
  const marked = markedCharset(bytes);
  if (marked !== undefined)
    return { text: decode(bytes.subarray(marked.markBytes), marked.charset), charset: marked.charset, source: 'bom' };
  const fromHeader = charsetOfHeader(contentTypeHeader);
  if (fromHeader !== undefined) return { text: decode(bytes, fromHeader), charset: fromHeader, source: 'header' };
  const fromMeta = prescan(bytes);
  if (fromMeta !== undefined) return { text: decode(bytes, fromMeta), charset: fromMeta, source: 'meta' };
  const charset = isUtf8(withoutCutCharacter(bytes)) ? 'utf-8' : 'windows-1252';
  return { text: decode(bytes, charset), charset, source: 'default' };
}

/** Byte order mark, Encoding Standard section 6. */
function markedCharset(bytes: Uint8Array): { readonly charset: string; readonly markBytes: number } | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return { charset: 'utf-8', markBytes: 3 };
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { charset: 'utf-16le', markBytes: 2 };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { charset: 'utf-16be', markBytes: 2 };
  return undefined;
}

/** Encoding named by the charset parameter of a Content-Type value, quoted or not; undefined when missing or unknown. */
function charsetOfHeader(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const label = /;\s*charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;,"']+))/i.exec(header);
  return label === null ? undefined : (normalizeEncoding(label[1] ?? label[2] ?? label[3] ?? '') ?? undefined);
}

function prescan(bytes: Uint8Array): string | undefined {
  const head = bytes.subarray(0, PRESCAN_BYTES);
  const found = getEncoding(viewOf(head), { maxBytes: PRESCAN_BYTES, defaultEncoding: NOTHING_FOUND }).toLowerCase();
  return found === NOTHING_FOUND ? undefined : found;
}

function decode(bytes: Uint8Array, charset: string): string {
  if (isAscii(bytes) && !NOT_ASCII_COMPATIBLE.includes(charset)) return viewOf(bytes).toString('latin1');
  if (charset === 'utf-8') return viewOf(bytes).toString('utf8');
  if (charset === 'utf-16le' || charset === 'utf-16be') return new TextDecoder(charset, { ignoreBOM: true }).decode(bytes);
  return legacyHookDecode(bytes, charset);
}

/** Without the first bytes of a UTF-8 character that the end of the body cuts off: a body cut at a cap is still UTF-8. */
function withoutCutCharacter(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte >= 0xc0) return (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back ? bytes.subarray(0, -back) : bytes;
    if (byte < 0x80) return bytes;
  }
  return bytes;
}

/** A view, not a copy. */
function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
