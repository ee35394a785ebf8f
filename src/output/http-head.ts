/**
 * The HTTP heads that stand in WARC records, as latin-1 text.
 *
 * Order, letter case, repetitions and bytes of the header lines stay as they were received, with two exceptions that keep the record
 * consistent with its body (webrecorder/pywb#584): the transport has removed the transfer coding, so `Transfer-Encoding` becomes
 * `X-Crawler-Transfer-Encoding`; a `Content-Length` that disagrees with the stored body (body cut at a cap, connection broken off) becomes
 * `X-Crawler-Content-Length`. In both cases a true `Content-Length` is added at the end. The prefix is the one that StormCrawler's and
 * Common Crawl's archives use. White space around a value and the HTTP version are not known any more: the version is written as HTTP/1.1.
 */

/** Header names and values alternating, as the transport delivers them. */
export type RawHeaders = readonly string[];

export interface ResponseHead {
  readonly text: string;
  /** Value of the last Content-Encoding, lower case; '' when there is none. */
  readonly contentEncoding: string;
  /** Media type of the last Content-Type, lower case, without parameters; '' when there is none. */
  readonly mediaType: string;
}

/** `bodyBytes` is the stored body's size; a 304 (RFC 9110 section 8.6) tells the length of a body that it does not have, which stays. */
export function responseHead(status: number, statusText: string, rawHeaders: RawHeaders, bodyBytes: number): ResponseHead {
  let text = `HTTP/1.1 ${status} ${latin1Line(statusText)}\r\n`;
  let contentEncoding = '';
  let mediaType = '';
  let renamed = false;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    const value = latin1Line(rawHeaders[i + 1]!);
    let prefix = '';
    switch (watched(name)) {
      case 'content-encoding':
        contentEncoding = value.trim().toLowerCase();
        break;
      case 'content-type':
        mediaType = mediaTypeOf(value);
        break;
      case 'transfer-encoding':
        prefix = 'X-Crawler-';
        break;
      case 'content-length':
        if (value.trim() !== String(bodyBytes) && status !== 304) prefix = 'X-Crawler-';
        break;
      default:
    }
    if (prefix !== '') renamed = true;
    text += headerLine(prefix + name, value);
  }
  if (renamed) text += headerLine('Content-Length', String(bodyBytes));
  return { text: `${text}\r\n`, contentEncoding, mediaType };
}

/** `host` becomes the first header line unless the list has a Host of its own. */
export function requestHead(method: string, path: string, host: string, headers: readonly (readonly [string, string])[]): string {
  let text = `${method} ${latin1Line(path)} HTTP/1.1\r\n`;
  let lines = '';
  let hasHost = false;
  for (const [name, value] of headers) {
    if (name.length === 4 && name.toLowerCase() === 'host') hasHost = true;
    lines += headerLine(name, latin1Line(value));
  }
  if (!hasHost) text += headerLine('Host', host);
  return `${text}${lines}\r\n`;
}

function headerLine(name: string, value: string): string {
  return value === '' ? `${name}:\r\n` : `${name}: ${value}\r\n`;
}

/** Lower-cases only names of the lengths that matter: most are of another. */
function watched(name: string): string {
  const { length } = name;
  return length === 12 || length === 14 || length === 16 || length === 17 ? name.toLowerCase() : '';
}

function mediaTypeOf(value: string): string {
  const end = value.indexOf(';');
  return (end < 0 ? value : value.slice(0, end)).trim().toLowerCase();
}

/**
 * A line break inside a value would begin a header of its own: it becomes a space (RFC 9110 section 5.5). A text with characters over U+00FF
 * cannot have come from a latin-1 reading: it was read as UTF-8, and its bytes are those.
 */
function latin1Line(value: string): string {
  if (!/[\r\n\u0100-\uffff]/.test(value)) return value;
  const text = /[\u0100-\uffff]/.test(value) ? Buffer.from(value, 'utf8').toString('latin1') : value;
  return text.replace(/[\r\n]+/g, ' ');
}
