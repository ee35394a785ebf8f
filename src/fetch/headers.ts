/**
 * Headers of both directions: what a request carries, in one stable order, and how values of a response are found in the raw list.
 *
 * Raw headers are names and values alternating, as they came, each byte one character (latin-1); nothing is merged or re-spelt, since the
 * archive wants them as they were.
 */
import { isUtf8 } from 'node:buffer';

/** What is asked for. zstd is undone when a server sends it all the same, but not asked for: WARC readers (warcio, pywb) cannot undo it. */
export const ACCEPT_ENCODING = 'gzip, deflate, br';
export const ACCEPT = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.5';
export const ACCEPT_ROBOTS = 'text/plain,*/*;q=0.5';

export type HeaderList = readonly (readonly [name: string, value: string])[];

/** Who is asking: the same for every request of a crawl. */
export interface RequestAgent {
  /** Product, version and a URL that explains the crawl. */
  readonly userAgent: string;
  /** Mail address of the operator (RFC 9110 section 10.1.2). */
  readonly from?: string;
  /** Default ACCEPT. */
  readonly accept?: string;
  readonly acceptLanguage?: string;
}

/** Validators of the copy that is known, as the server gave them: they make the fetch a conditional one. */
export interface Validators {
  readonly etag?: string | undefined;
  readonly lastModified?: string | undefined;
}

/** Headers of a request in their fixed order; Host and Connection, which come first on the wire, are the transport's. */
export function requestHeaders(agent: RequestAgent, validators: Validators = {}, extra: HeaderList = []): HeaderList {
  const list: (readonly [string, string])[] = [['User-Agent', agent.userAgent]];
  if (agent.from !== undefined) list.push(['From', agent.from]);
  list.push(['Accept', agent.accept ?? ACCEPT]);
  if (agent.acceptLanguage !== undefined) list.push(['Accept-Language', agent.acceptLanguage]);
  list.push(['Accept-Encoding', ACCEPT_ENCODING]);
  if (validators.etag !== undefined) list.push(['If-None-Match', validators.etag]);
  if (validators.lastModified !== undefined) list.push(['If-Modified-Since', validators.lastModified]);
  return extra.length === 0 ? list : [...list, ...extra];
}

/** With `extra` in place of headers of the same name, and behind them what has none. */
export function withHeaders(list: HeaderList, extra: HeaderList): HeaderList {
  if (extra.length === 0) return list;
  const names = new Set(extra.map(([name]) => name.toLowerCase()));
  return [...list.filter(([name]) => !names.has(name.toLowerCase())), ...extra];
}

/** The request head as the undici transport writes it, for the archive's request record; latin-1. */
export function requestHead(origin: string, pathQuery: string, headers: HeaderList): string {
  const authority = origin.slice(origin.indexOf('://') + 3);
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `GET ${pathQuery} HTTP/1.1\r\nhost: ${authority}\r\nconnection: keep-alive\r\n${lines}\r\n`;
}

/** Finds values in a raw list. Names are given in lower case. */
export class HeaderView {
  readonly raw: readonly string[];
  constructor(raw: readonly string[]) {
    this.raw = raw;
  }

  /** The first value of that name. */
  first(lowerName: string): string | undefined {
    const index = this.#find(lowerName, 0);
    return index === -1 ? undefined : this.raw[index + 1];
  }

  all(lowerName: string): readonly string[] {
    const values: string[] = [];
    for (let index = this.#find(lowerName, 0); index !== -1; index = this.#find(lowerName, index + 2))
      values.push(this.raw[index + 1] ?? '');
    return values;
  }

  #find(lowerName: string, from: number): number {
    for (let index = from; index < this.raw.length; index += 2) {
      const name = this.raw[index] ?? '';
      if (name.length === lowerName.length && name.toLowerCase() === lowerName) return index;
    }
    return -1;
  }
}

/** Type and subtype in lower case without parameters; empty when the header is missing or has none (RFC 9110 section 8.3). */
export function mediaTypeOf(contentType: string | undefined): string {
  if (contentType === undefined) return '';
  const end = contentType.indexOf(';');
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase();
}

/**
 * The text of a Location header, to be resolved against the address that was asked. Bytes over 0x7F are read as UTF-8 when they are
 * that, and otherwise become one percent-escape each: servers send raw bytes, and the target they mean is those bytes.
 */
export function locationText(value: string | undefined): string | undefined {
  const text = value?.trim() ?? '';
  if (text === '') return undefined;
  if (!/[\u0080-\u00ff]/.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1');
  if (isUtf8(bytes)) return bytes.toString('utf8');
  return text.replace(/[\u0080-\u00ff]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
