/**
 * What must never be fetched, as the operator lists it (row C7): one file, read again when it changes, each version one value of this class.
 *
 * One entry per line; blank lines and lines that begin with `#` say nothing, and ` #` begins a comment after an entry (not in a pattern):
 * - `example.com`, `.example.com`, `*.example.com`: that host and all its sub-domains (the three mean the same; on every port);
 * - `192.0.2.7`, `2001:db8::1`, `192.0.2.0/24`, `2001:db8::/32`: addresses, matched against hosts written as addresses and against the address a
 *   host resolves to; an IPv4 address mapped into IPv6 counts as IPv4;
 * - `/regexp/` or `/regexp/i`: a JavaScript regular expression on the URL as found.
 *
 * Look-ups do not depend on the number of hosts and addresses; every pattern is tried on every URL, hence their bound.
 */
import ipaddr from 'ipaddr.js';
import { PortolanError } from '../core/errors.ts';
import type { SplitUrl } from '../url/index.ts';

export const BLOCKLIST_ENTRIES_MAX = 5_000_000;
export const BLOCKLIST_PATTERNS_MAX = 1_000;

const PATTERN_LINE = /^\/(.+)\/(i?)$/;
const ADDRESS_LINE = /^[\d.]+(?:\/\d+)?$|:/;
/** Labels of letters (any script), digits, `-` and `_`; the URL parser decides about the rest. */
const HOST_LINE = /^[^\s/?#@:\\[\]%*]+$/;
const REMEDY =
  'write one entry per line: a host (example.com, which includes its sub-domains), an address or range (192.0.2.0/24), or a pattern between slashes (/\\/private\\//); # begins a comment';

type Address = ReturnType<typeof ipaddr.parse>;

export class Blocklist {
  readonly #hosts = new Map<string, string>();
  readonly #patterns: { readonly pattern: RegExp; readonly line: string }[] = [];
  readonly #ranges = new AddressRanges();

  /** `file` is named in errors. Throws PORTOLAN_BLOCKLIST_INVALID with file and line number. */
  static parse(text: string, file: string): Blocklist {
    const list = new Blocklist();
    let number = 0;
    for (const raw of text.split('\n')) {
      number++;
      const line = withoutComment(number === 1 ? raw.replace(/^\ufeff/, '') : raw);
      const problem = line === '' ? undefined : list.#add(line);
      if (problem === undefined) continue;
      throw new PortolanError('PORTOLAN_BLOCKLIST_INVALID', `${file}, line ${number}: "${line.slice(0, 200)}" ${problem}`, {
        remedy: REMEDY,
      });
    }
    return list;
  }

  /** Entries; the same entry twice counts once. */
  get size(): number {
    return this.#hosts.size + this.#patterns.length + this.#ranges.size;
  }

  /** The line that forbids this URL, or undefined. `parts` are those of `url`. */
  matchesUrl(url: string, parts: SplitUrl): string | undefined {
    if (this.#hosts.size > 0) {
      for (let host = parts.host; host !== ''; host = parentOf(host)) {
        const line = this.#hosts.get(host);
        if (line !== undefined) return line;
      }
    }
    if (this.#ranges.size > 0 && isAddressHost(parts.host)) {
      const line = this.matchesAddress(parts.host);
      if (line !== undefined) return line;
    }
    for (const { pattern, line } of this.#patterns) if (pattern.test(url)) return line;
    return undefined;
  }

  /** The line that forbids this address (IPv4 or IPv6 text, brackets and zone allowed), or undefined; text that is no address matches none. */
  matchesAddress(address: string): string | undefined {
    if (this.#ranges.size === 0) return undefined;
    const bare = address.replace(/^\[|\]$|%.*$/g, '');
    return ipaddr.isValid(bare) ? this.#ranges.match(ipaddr.process(bare)) : undefined;
  }

  /** undefined when the line was understood, otherwise what is wrong with it. */
  #add(line: string): string | undefined {
    if (this.size >= BLOCKLIST_ENTRIES_MAX) return `is over the bound of ${BLOCKLIST_ENTRIES_MAX} entries`;
    if (line.startsWith('/')) return this.#addPattern(line);
    if (ADDRESS_LINE.test(line)) return this.#ranges.add(line);
    return this.#addHost(line);
  }

  #addPattern(line: string): string | undefined {
    const [, source, flags] = PATTERN_LINE.exec(line) ?? [];
    if (source === undefined) return 'begins like a pattern and does not end in a slash';
    if (this.#patterns.length >= BLOCKLIST_PATTERNS_MAX) return `is over the bound of ${BLOCKLIST_PATTERNS_MAX} patterns`;
    try {
      this.#patterns.push({ pattern: new RegExp(source, flags), line });
      return undefined;
    } catch (error) {
      return `is not a regular expression (${(error as Error).message})`;
    }
  }

  #addHost(line: string): string | undefined {
    const name = line.replace(/^\*?\./, '');
    if (!HOST_LINE.test(name)) return 'is neither a host nor an address nor a pattern between slashes';
    const hostname = URL.parse(`http://${name}/`)?.hostname.replace(/\.$/, '') ?? '';
    if (hostname === '' || hostname.includes('..') || isAddressHost(hostname)) return 'is not a host name';
    if (!this.#hosts.has(hostname)) this.#hosts.set(hostname, line);
    return undefined;
  }
}

function withoutComment(raw: string): string {
  const line = raw.trim();
  if (line.startsWith('#')) return '';
  return line.startsWith('/') ? line : line.replace(/\s+#.*$/, '');
}

function parentOf(host: string): string {
  const dot = host.indexOf('.');
  return dot < 0 ? '' : host.slice(dot + 1);
}

/** Is this host of a URL an address? The URL parser leaves digits at the end of IPv4 addresses only. */
function isAddressHost(host: string): boolean {
  return host.startsWith('[') || /\.\d+$/.test(host);
}

/** Ranges by prefix length: one look-up for each length in use (at most 33 + 129). */
class AddressRanges {
  readonly #byLength = new Map<string, Map<string, string>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** undefined, or what is wrong with the line. */
  add(line: string): string | undefined {
    const [text = '', lengthText] = line.split('/');
    if (!(ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)) || text.includes('%'))
      return 'is not an address (a port cannot be given)';
    const address = ipaddr.process(text);
    const bits = address.kind() === 'ipv4' ? 32 : 128;
    const mapped = ipaddr.parse(text).kind() !== address.kind();
    const length = lengthText === undefined ? bits : Number(lengthText) - (mapped ? 96 : 0);
    if (!/^\d{0,3}$/.test(lengthText ?? '') || lengthText === '' || length < 0 || length > bits)
      return 'has a prefix length that is not possible';
    const table = this.#tableFor(address.kind(), length);
    const key = prefixOf(address, length);
    if (!table.has(key)) {
      table.set(key, line);
      this.#size++;
    }
    return undefined;
  }

  match(address: Address): string | undefined {
    for (const [name, table] of this.#byLength) {
      const [kind, length] = name.split('/');
      if (kind !== address.kind()) continue;
      const line = table.get(prefixOf(address, Number(length)));
      if (line !== undefined) return line;
    }
    return undefined;
  }

  #tableFor(kind: string, length: number): Map<string, string> {
    const name = `${kind}/${length}`;
    const known = this.#byLength.get(name);
    if (known !== undefined) return known;
    const table = new Map<string, string>();
    this.#byLength.set(name, table);
    return table;
  }
}

/** The first `length` bits, as a key. */
function prefixOf(address: Address, length: number): string {
  const bytes = address.toByteArray();
  const whole = length >> 3;
  const rest = length & 7;
  const prefix = bytes.slice(0, whole);
  if (rest > 0) prefix.push(bytes[whole]! & (0xff << (8 - rest)) & 0xff);
  return prefix.join('.');
}
