/**
 * The blocklist as the judge reads it, from the text that the ledger holds: hosts with their sub-domains, addresses and ranges, and /patterns/ on
 * the URL. A line that cannot be read blocks nothing: the crawler refuses such a list as a whole and keeps the one in force.
 */
import { type Address, isWithin, type Net, readAddress, readNet } from './addresses.ts';

export class BlockedList {
  readonly #hosts = new Set<string>();
  readonly #nets: Net[] = [];
  readonly #patterns: RegExp[] = [];

  constructor(text: string) {
    for (const raw of text.replace(/^\ufeff/, '').split('\n')) this.#add(raw.trim());
  }

  get isEmpty(): boolean {
    return this.#hosts.size + this.#nets.length + this.#patterns.length === 0;
  }

  /** `hostKey` with or without a port. */
  blocksHost(hostKey: string): boolean {
    const host = hostKey.replace(/:\d+$/, '');
    const literal = readAddress(host.replace(/^\[|\]$/g, ''));
    if (literal !== undefined && this.blocksAddress(literal)) return true;
    const labels = host.split('.');
    return this.#hosts.size > 0 && labels.some((_, from) => this.#hosts.has(labels.slice(from).join('.')));
  }

  blocksAddress(address: Address): boolean {
    return this.#nets.some((net) => isWithin(unmapped(address), net));
  }

  blocksUrl(url: string): boolean {
    return this.#patterns.some((pattern) => pattern.test(url));
  }

  #add(line: string): void {
    if (line === '' || line.startsWith('#')) return;
    const pattern = /^\/(.+)\/(i?)$/.exec(line);
    if (pattern !== null) {
      this.#patterns.push(new RegExp(pattern[1]!, pattern[2]!));
      return;
    }
    const entry = line.replace(/\s+#.*$/, '');
    const net = readNet(entry);
    if (net !== undefined) this.#nets.push(unmappedNet(net));
    else {
      const host = URL.parse(`http://${entry.replace(/^\*?\./, '')}/`)?.hostname.replace(/\.$/, '') ?? '';
      if (host !== '') this.#hosts.add(host);
    }
  }
}

function unmapped(address: Address): Address {
  const isMapped = address.family === 6 && address.value >> 32n === 0xffffn;
  return isMapped ? { family: 4, value: address.value & 0xffff_ffffn } : address;
}

function unmappedNet(net: Net): Net {
  const value = net.prefix << net.rest;
  const isMapped = net.family === 6 && net.rest <= 32n && value >> 32n === 0xffffn;
  return isMapped ? { family: 4, prefix: (value & 0xffff_ffffn) >> net.rest, rest: net.rest } : net;
}
