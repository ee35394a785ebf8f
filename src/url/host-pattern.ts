/**
 * Things said about hosts, found again by a host key. A pattern is a host (`www.example.org`, all its ports), a host with a port
 * (`www.example.org:8080`), or a domain with its sub-domains (`*.example.org`, which example.org itself belongs to).
 *
 * The order is fixed: host with port, host, then the domains from the longest to the shortest. Patterns are as from config/hosts.ts: lower case,
 * ASCII, without a default port.
 */
export class HostPatterns<T> {
  readonly #byPattern: ReadonlyMap<string, T>;

  constructor(entries: Iterable<readonly [pattern: string, value: T]>) {
    this.#byPattern = new Map(entries);
  }

  get size(): number {
    return this.#byPattern.size;
  }

  /** Everything said about the host, the most specific first. */
  matching(hostKey: string): readonly T[] {
    const found: T[] = [];
    const take = (pattern: string): void => {
      const value = this.#byPattern.get(pattern);
      if (value !== undefined) found.push(value);
    };
    const host = hostName(hostKey);
    if (host !== hostKey) take(hostKey);
    take(host);
    if (isAddress(host)) return found;
    for (let name = host; name !== ''; name = parentOf(name)) take(`*.${name}`);
    return found;
  }
}

function hostName(hostKey: string): string {
  const colon = hostKey.lastIndexOf(':');
  return colon < 0 || hostKey.endsWith(']') ? hostKey : hostKey.slice(0, colon);
}

/** Within an address there is nothing above it: 127.0.0.1 is no sub-domain of 0.0.1. */
function isAddress(host: string): boolean {
  return host.startsWith('[') || /\.\d+$/.test(host);
}

function parentOf(name: string): string {
  const dot = name.indexOf('.');
  return dot < 0 ? '' : name.slice(dot + 1);
}
