/**
 * Registrable domain (public suffix + 1, private suffixes included): the unit of shards, of scope `domain` and of sub-domain counts.
 *
 * The suffix list is frozen in the release of tldts that is installed; its version belongs to the state of a crawl, since a host that
 * changes domain changes shard. The default rule `*` of the list is not used: under an unknown suffix (`wiki.corp`, `a.b.test`) a host is its own domain.
 */
import { parse } from 'tldts';
import { detached } from '../core/text.ts';

const TLDTS_OPTIONS = { allowPrivateDomains: true, extractHostname: false, validateHostname: false } as const;

/** `host` as in SplitUrl. An IP literal, a bare public suffix and a host under an unknown suffix are themselves. 0.4 µs. */
export function registrableDomain(host: string): string {
  const { domain, isIcann, isPrivate } = parse(host, TLDTS_OPTIONS);
  return domain !== null && (isIcann === true || isPrivate === true) ? domain : host;
}

/** True when the host lies under (or is) a suffix of the list; false for IP literals and names such as `localhost` and `wiki.corp`. */
export function hasKnownSuffix(host: string): boolean {
  const { isIcann, isPrivate } = parse(host, TLDTS_OPTIONS);
  return isIcann === true || isPrivate === true;
}

/** registrableDomain with a memory of at most `capacity` hosts; when it is full it begins anew, so a hot host costs one look-up again. */
export class DomainTable {
  readonly #capacity: number;
  readonly #known = new Map<string, string>();

  /** About 150 bytes per host: 16,384 hosts are 2.5 MB. */
  constructor(capacity = 16_384) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#known.size;
  }

  registrableDomain(host: string): string {
    const known = this.#known.get(host);
    if (known !== undefined) return known;
    const domain = registrableDomain(host);
    if (this.#known.size >= this.#capacity) this.#known.clear();
    this.#known.set(detached(host), detached(domain));
    return domain;
  }
}
