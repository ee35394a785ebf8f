/**
 * The media type of a response, in the spirit of the MIME Sniffing Standard: the header decides, and the first bytes are asked only
 * when it says nothing (missing, empty, unreadable, a wildcard, or application/octet-stream) or is plainly wrong (a PDF or a picture that is called HTML).
 * text/plain that holds HTML stays text/plain (a server that shows source text means it); only its binary content is unmasked, for the
 * header values that old servers sent for everything. Never looks at the URL.
 */
export interface MediaType {
  /** Type and subtype in lower case, without parameters. */
  readonly type: string;
  /** The bytes decided. */
  readonly sniffed: boolean;
}

/** Values old Apache servers sent for files they knew nothing about (MIME Sniffing, "supplied MIME type detection algorithm"). */
const SENT_FOR_EVERYTHING: readonly string[] = [
  'text/plain',
  'text/plain; charset=ISO-8859-1',
  'text/plain; charset=iso-8859-1',
  'text/plain; charset=UTF-8',
];
const MARKUP_TYPES: readonly string[] = ['text/html', 'application/xhtml+xml'];
const LESS_THAN = 0x3c;
const SPACE = 0x20;
const LF = 0x0a;
/** Begins the signatures that are text themselves, %PDF- and %!PS. */
const PERCENT = 0x25;
const SIGNATURE_BYTES_MAX = 16;
const SAYS_NOTHING: readonly string[] = ['*/*', 'unknown/unknown', 'application/unknown', 'application/octet-stream'];
const ESSENCE = /^([!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+)$/;

export function mediaTypeOf(contentTypeHeader: string | undefined, first512: Uint8Array): MediaType {
  const essence = essenceOf(contentTypeHeader ?? '');
  if (essence === undefined || SAYS_NOTHING.includes(essence)) return { type: sniff(first512), sniffed: true };
  if (SENT_FOR_EVERYTHING.includes(contentTypeHeader ?? '') && isBinary(first512))
    return { type: 'application/octet-stream', sniffed: true };
  const unmasked = MARKUP_TYPES.includes(essence) ? fileCalledMarkup(first512) : undefined;
  return unmasked === undefined ? { type: essence, sniffed: false } : { type: unmasked, sniffed: true };
}

/** The type of a file that is plainly no markup: its first bytes are a signature, of a document format or with binary bytes behind it. */
function fileCalledMarkup(first512: Uint8Array): string | undefined {
  const first = first512[0];
  if (first === LESS_THAN || first === SPACE || first === LF || first === undefined) return undefined;
  const head = Buffer.from(first512.buffer, first512.byteOffset, Math.min(first512.byteLength, SIGNATURE_BYTES_MAX)).toString('latin1');
  const type = SIGNATURES.find(([start]) => startsLike(head, start))?.[1];
  if (type === undefined) return undefined;
  return first === PERCENT || isBinary(first512) ? type : undefined;
}

/** Type and subtype of the last readable value that is no wildcard (Fetch Standard, "extract a MIME type"). */
function essenceOf(header: string): string | undefined {
  if (header.length > MAX_HEADER_CHARS) return undefined;
  let essence: string | undefined;
  for (const value of header.includes(',') ? header.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/) : [header]) {
    const semicolon = value.indexOf(';');
    const candidate = (semicolon === -1 ? value : value.slice(0, semicolon)).trim().toLowerCase();
    if (ESSENCE.test(candidate) && candidate !== '*/*') essence = candidate;
  }
  return essence;
}
/** Longer header values count as unreadable. */
const MAX_HEADER_CHARS = 1_024;

/** Starts of files that are plainly one thing; latin-1, `?` is any byte. */
const SIGNATURES: readonly (readonly [start: string, type: string])[] = [
  ['%PDF-', 'application/pdf'],
  ['%!PS-Adobe-', 'application/postscript'],
  ['\x89PNG\r\n\x1a\n', 'image/png'],
  ['GIF87a', 'image/gif'],
  ['GIF89a', 'image/gif'],
  ['\xff\xd8\xff', 'image/jpeg'],
  ['RIFF????WEBPVP', 'image/webp'],
  ['RIFF????WAVE', 'audio/wave'],
  ['RIFF????AVI ', 'video/avi'],
  ['OggS\0', 'application/ogg'],
  ['ID3', 'audio/mpeg'],
  ['\x1aE\xdf\xa3', 'video/webm'],
  ['\x1f\x8b\x08', 'application/x-gzip'],
  ['PK\x03\x04', 'application/zip'],
  ['Rar!\x1a\x07', 'application/x-rar-compressed'],
  ['wOFF', 'font/woff'],
  ['wOF2', 'font/woff2'],
];
const HTML_START = /^<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ >\t\n\f\r]|^<!--/i;
const XHTML_ROOT = /<html[\s>]/i;

function sniff(first512: Uint8Array): string {
  const head = Buffer.from(first512.buffer, first512.byteOffset, Math.min(first512.byteLength, 512)).toString('latin1');
  const markup = head.replace(/^(?:\xef\xbb\xbf)?[ \t\n\f\r]*/, '');
  if (HTML_START.test(markup)) return 'text/html';
  if (markup.startsWith('<?xml')) return XHTML_ROOT.test(markup) ? 'application/xhtml+xml' : 'text/xml';
  for (const [start, type] of SIGNATURES) if (startsLike(head, start)) return type;
  return isBinary(first512) ? 'application/octet-stream' : 'text/plain';
}

function startsLike(head: string, start: string): boolean {
  if (head.length < start.length) return false;
  for (let i = 0; i < start.length; i++) if (start[i] !== '?' && start[i] !== head[i]) return false;
  return true;
}

/** Has a binary data byte (MIME Sniffing section 3) and no byte order mark, which would make it text. */
function isBinary(first512: Uint8Array): boolean {
  if ((first512[0] === 0xfe && first512[1] === 0xff) || (first512[0] === 0xff && first512[1] === 0xfe)) return false;
  return first512
    .subarray(0, 512)
    .some((byte) => byte <= 0x08 || byte === 0x0b || (byte >= 0x0e && byte <= 0x1a) || (byte >= 0x1c && byte <= 0x1f));
}
