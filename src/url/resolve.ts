/**
 * From an href to the URL as found: what a browser would ask for, without fragment, user info and root dot.
 *
 * Invariant: `resolve(href)` equals the WHATWG URL parser's answer with these three taken off, and parsing the result again changes nothing.
 * Hrefs that need no work are put together from strings (the URL parser costs 1.2 µs, a page has 72 distinct links); every other one,
 * and everything doubtful, goes through the parser. It does not canonicalise: `%7e` and the order of the query stay as found.
 */
import { CHARACTER_BITS, LABEL_PLAIN, PATH_PLAIN, QUERY_PLAIN } from './character-classes.ts';

/** Characters of an href; a longer one is refused as invalid-url without being parsed. */
export const HREF_CHARS_MAX = 65_536;

const HASH = 0x23;
const PERCENT = 0x25;
const DOT = 0x2e;
const SLASH = 0x2f;
const QUESTION = 0x3f;
/** Schemes of links that are never fetched and always parse when no slash follows; told apart here so that a long data: URL costs nothing. */
const OTHER_SCHEMES = ['mailto:', 'javascript:', 'tel:', 'data:'] as const;

export class LinkResolver {
  /** Why the last `resolve` answered ''. */
  rejected: 'invalid-url' | 'not-http' = 'invalid-url';
  /** For the URL parser; may be of any scheme. */
  readonly #base: string;
  /** The base as found; '' when it is not http or https, which turns the fast path for relative references off. */
  readonly #self: string;
  /** #self without its query. */
  readonly #page: string;
  /** #page up to and with its last slash. */
  readonly #directory: string;
  /** scheme://hostKey/ */
  readonly #root: string;

  /**
   * `documentUrl` is absolute. `baseHref` is the href of the page's base element as written; one that does not parse, or is a data: or
   * javascript: URL, is ignored (HTML, "frozen base URL").
   */
  constructor(documentUrl: string, baseHref?: string) {
    this.#base = baseOf(documentUrl, baseHref);
    const parsed = URL.parse(this.#base);
    this.#self = parsed !== null && isHttp(parsed.protocol) ? asFound(parsed.href) : '';
    const query = this.#self.indexOf('?');
    this.#page = query < 0 ? this.#self : this.#self.slice(0, query);
    this.#directory = this.#page.slice(0, this.#page.lastIndexOf('/') + 1);
    this.#root = this.#self.slice(0, this.#self.indexOf('/', 8) + 1);
  }

  /** The absolute URL as found, or '' when it is refused; `rejected` then has the reason. Never throws. */
  resolve(href: string): string {
    const fast = this.#joined(href);
    return fast !== '' ? fast : this.#parsed(href);
  }

  /** The answer by plain joining, '' when the href needs the parser. */
  #joined(href: string): string {
    if (href.length > HREF_CHARS_MAX) return '';
    const first = href.charCodeAt(0);
    if (first === SLASH) return this.#joinedToRoot(href);
    const absolute = first === 0x68 ? absoluteStart(href) : 0;
    if (absolute !== 0) return this.#joinedAbsolute(href, absolute);
    if (this.#self === '') return '';
    if (first === HASH || href === '') return this.#self;
    if (first === QUESTION) return joined(this.#page, href, queryEnd(href, 1));
    return this.#joinedToDirectory(href, first);
  }

  #joinedToRoot(href: string): string {
    if (this.#root === '' || href.charCodeAt(1) === SLASH) return '';
    return joined(this.#root, href, pathEnd(href, 1), 1);
  }

  #joinedAbsolute(href: string, hostStart: number): string {
    if (this.#root !== '' && href.startsWith(this.#root)) return joined('', href, pathEnd(href, this.#root.length));
    const end = hostEnd(href, hostStart);
    if (end < 0) return '';
    if (end === href.length) return `${href}/`;
    return joined('', href, pathEnd(href, end + 1));
  }

  /** `name`, `dir/name?query`, `./name`, `../name`. A colon could end a scheme: left to the parser. */
  #joinedToDirectory(href: string, first: number): string {
    let directory = this.#directory;
    let from = 0;
    if (first === DOT) {
      for (; href.startsWith('../', from); from += 3) directory = parentOf(directory, this.#root.length);
      if (from === 0 && href.startsWith('./')) from = 2;
      if (from === 0) return '';
    }
    if (href.includes(':')) return '';
    return joined(directory, href, pathEnd(href, from), from);
  }

  #parsed(href: string): string {
    this.rejected = 'not-http';
    for (const scheme of OTHER_SCHEMES) {
      if (href.startsWith(scheme) && href.charCodeAt(scheme.length) !== SLASH) return '';
    }
    this.rejected = 'invalid-url';
    if (href.length > HREF_CHARS_MAX) return '';
    const parsed = URL.parse(href, this.#base);
    if (parsed === null) return '';
    if (isHttp(parsed.protocol)) return asFound(parsed.href);
    this.rejected = 'not-http';
    return '';
  }
}

function baseOf(documentUrl: string, baseHref: string | undefined): string {
  if (baseHref === undefined || baseHref.length > HREF_CHARS_MAX) return documentUrl;
  const base = URL.parse(baseHref, documentUrl);
  if (base === null || base.protocol === 'data:' || base.protocol === 'javascript:') return documentUrl;
  return base.href;
}

function isHttp(protocol: string): boolean {
  return protocol === 'http:' || protocol === 'https:';
}

/**
 * A serialised http or https URL without fragment, user info and the root dot of its host; '' when the host is then empty or still ends
 * in a dot, as no such name can be looked up.
 */
export function asFound(href: string): string {
  const hostStart = href.charCodeAt(4) === 0x3a ? 7 : 8;
  const slash = href.indexOf('/', hostStart);
  const hash = href.indexOf('#', slash);
  const end = hash < 0 ? href.length : hash;
  const at = href.lastIndexOf('@', slash);
  if (at < 0 && href.charCodeAt(slash - 1) !== DOT && !href.slice(hostStart, slash).includes('.:')) return href.slice(0, end);
  const host = withoutRootDot(href.slice(at < 0 ? hostStart : at + 1, slash));
  return host === '' ? '' : href.slice(0, hostStart) + host + href.slice(slash, end);
}

function withoutRootDot(hostPort: string): string {
  if (hostPort.startsWith('[')) return hostPort;
  const colon = hostPort.indexOf(':');
  const host = colon < 0 ? hostPort : hostPort.slice(0, colon);
  const name = host.endsWith('.') ? host.slice(0, -1) : host;
  if (name === '' || name.endsWith('.')) return '';
  return colon < 0 ? name : name + hostPort.slice(colon);
}

/** Index after `http://` or `https://`, 0 when the href begins with neither in this spelling. */
function absoluteStart(href: string): number {
  if (href.startsWith('https://')) return 8;
  return href.startsWith('http://') ? 7 : 0;
}

/** `base` and the href from `from` to `end`; '' when end is −1, that is, when the href needs the parser. */
function joined(base: string, href: string, end: number, from = 0): string {
  if (end < 0) return '';
  return base + (from === 0 && end === href.length ? href : href.slice(from, end));
}

/** One directory up, never above the root; an empty segment is a segment. */
function parentOf(directory: string, rootLength: number): string {
  if (directory.length <= rootLength) return directory;
  return directory.slice(0, directory.lastIndexOf('/', directory.length - 2) + 1);
}

/**
 * Index of the slash (or the end) after a host that the parser would leave as it is, −1 when it might not: capitals, a port, user info,
 * an empty label, punycode (it is validated), and a last label that does not begin with a letter (it may be an IPv4 number).
 */
function hostEnd(text: string, start: number): number {
  let label = start;
  let index = start;
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 128 && (CHARACTER_BITS[code]! & LABEL_PLAIN) !== 0) continue;
    if (code !== DOT) break;
    if (index === label || isPunycode(text, label)) return -1;
    label = index + 1;
  }
  if (index < text.length && text.charCodeAt(index) !== SLASH) return -1;
  const first = text.charCodeAt(label);
  if (index === label || first < 0x61 || first > 0x7a || isPunycode(text, label)) return -1;
  return index;
}

function isPunycode(text: string, label: number): boolean {
  return text.charCodeAt(label) === 0x78 && text.startsWith('xn--', label);
}

/**
 * End of a path with its query that the parser would leave as it is: the index of the fragment's `#` or the text's length; −1 when it
 * might change it. `from` stands at the beginning of a segment. A segment that begins with a dot, plain or escaped, goes to the parser.
 */
function pathEnd(text: string, from: number): number {
  if (text.charCodeAt(from) === DOT) return -1;
  for (let index = from; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 128 && (CHARACTER_BITS[code]! & PATH_PLAIN) !== 0) continue;
    if (code === SLASH) {
      if (text.charCodeAt(index + 1) === DOT) return -1;
    } else if (code === PERCENT) {
      if (text.charCodeAt(index + 1) === 0x32 && (text.charCodeAt(index + 2) | 0x20) === 0x65) return -1;
    } else if (code === QUESTION) return queryEnd(text, index + 1);
    else return code === HASH ? index : -1;
  }
  return text.length;
}

/** The same for a query. */
function queryEnd(text: string, from: number): number {
  for (let index = from; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 128 && (CHARACTER_BITS[code]! & QUERY_PLAIN) !== 0) continue;
    return code === HASH ? index : -1;
  }
  return text.length;
}
