/**
 * CDXJ lines: the index by which replay tools find a record of a WARC file. `<SURT key> <14 digits of time> <JSON>`, sorted by bytes.
 *
 * The key is the one that pywb and cdxj-indexer look up (package surt, the Internet Archive's canonicalisation): host reversed and without www, escapes undone
 * and made anew, all in lower case, query sorted, well-known session identifiers gone. It is not our canonical URL: a tool finds a URL by its own key alone.
 * Pure. Not done here: reading files, sorting.
 */
import { type WarcRecord, warcResponse } from './warc-reader.ts';

/** Bytes that stand for themselves in a key: printable ASCII but `#`, `%` and the blank. */
const ESCAPED = /[^\x21\x22\x24\x26-\x7e]/g;
const PERCENT = /%([0-9a-f]{2})/gi;
const WWW = /^www\d*\./;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: '80', https: '443' };
/** Session identifiers in a query; each is taken out where it is followed by `&` or the end. */
const SESSION_PARAMETERS = [
  'jsessionid=[0-9a-z]{32}',
  'phpsessid=[0-9a-z]{32}',
  'sid=[0-9a-z]{32}',
  'aspsessionid[a-z]{8}=[a-z]{24}',
  'cfid=[^&]+&cftoken=[^&]+',
].map((parameter) => new RegExp(`^(.*)(?:${parameter})(?:&(.*))?$`, 'i'));
/** Session identifiers that ASP.NET puts into the path. */
const SESSION_SEGMENTS = [/^(.*\/)\((?:[a-z]\([0-9a-z]{24}\))+\)\/([^?]+\.aspx.*)$/i, /^(.*\/)\([0-9a-z]{24}\)\/([^?]+\.aspx.*)$/i];

/** `url`: absolute http or https, ASCII. A text that is none is its own key. */
export function surtKey(url: string): string {
  const parts = /^(https?):\/\/(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)(?::(\d*))?([^?#]*)(?:\?([^#]*))?/i.exec(url);
  if (parts === null) return url;
  const [, scheme = '', host = '', port = '', path = '', query = ''] = parts;
  const shownPort = port === '' || port === DEFAULT_PORTS[scheme.toLowerCase()] ? '' : `:${port}`;
  const shownQuery = surtQuery(query);
  return `${surtHost(host)}${shownPort})${surtPath(path)}${shownQuery === '' ? '' : `?${shownQuery}`}`;
}

function surtHost(host: string): string {
  const bare = unescaped(host)
    .replace(/^\[|\]$/g, '')
    .replaceAll('..', '.')
    .replace(/^\.+|\.+$/g, '');
  return escaped(bare.toLowerCase()).replace(WWW, '').split('.').reverse().join(',');
}

function surtPath(path: string): string {
  let key = escaped(withoutDots(unescaped(path))).toLowerCase();
  for (const pattern of SESSION_SEGMENTS) key = key.replace(pattern, '$1$2');
  return key.length > 1 && key.endsWith('/') ? key.slice(0, -1) : key;
}

/** Empty segments and `.` go, `..` takes one away; a slash at the end stays. */
function withoutDots(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/').slice(1)) {
    if (segment === '.') continue;
    if (segment === '..' && kept.length > 0) kept.pop();
    else kept.push(segment);
  }
  const last = kept.pop() ?? '';
  return `/${kept.map((segment) => (segment === '' ? '' : `${segment}/`)).join('')}${last}`;
}

function surtQuery(query: string): string {
  let key = escaped(unescaped(query));
  for (const pattern of SESSION_PARAMETERS) key = key.replace(pattern, '$1$2');
  if (key.length <= 1) return key.toLowerCase();
  return key
    .toLowerCase()
    .split('&')
    .map((parameter) => parameter.split(/=(.*)/s).slice(0, 2))
    .sort(byNameThenValue)
    .map((pair) => pair.join('='))
    .join('&');
}

/** As lists compare: `a` before `a=`. */
function byNameThenValue(a: readonly string[], b: readonly string[]): number {
  if (a[0] !== b[0]) return a[0]! < b[0]! ? -1 : 1;
  if (a.length !== b.length) return a.length - b.length;
  return a[1] === b[1] ? 0 : (a[1] ?? '') < (b[1] ?? '') ? -1 : 1;
}

/** Bytes as latin-1; an escape that hides another is undone too. */
function unescaped(text: string): string {
  let before: string;
  let after = text;
  do {
    before = after;
    after = before.replace(PERCENT, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  } while (after !== before);
  return after;
}

function escaped(text: string): string {
  return text.replace(ESCAPED, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}

/** The line of a response or revisit record, with its line feed; undefined for other records. `filename`: last part of the WARC file's name. */
export function cdxjLine(record: WarcRecord, filename: string): string | undefined {
  if (record.type !== 'response' && record.type !== 'revisit') return undefined;
  const { fields, offset, length } = record;
  const url = fields.get('warc-target-uri') ?? '';
  const response = warcResponse(record);
  const entry = {
    url,
    mime: record.type === 'revisit' ? 'warc/revisit' : mimeOf(response?.rawHeaders ?? []),
    status: response === undefined ? undefined : String(response.status),
    digest: fields.get('warc-payload-digest'),
    length: String(length),
    offset: String(offset),
    filename,
  };
  return `${surtKey(url)} ${timestamp(fields.get('warc-date') ?? '')} ${JSON.stringify(entry)}\n`;
}

function mimeOf(rawHeaders: readonly string[]): string | undefined {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]!.toLowerCase() === 'content-type') return rawHeaders[at + 1]!.split(/[;\s]/, 1)[0];
  }
  return undefined;
}

/** 14 digits of an ISO 8601 date. */
export function timestamp(date: string): string {
  return date.replace(/\D/g, '').slice(0, 14);
}
