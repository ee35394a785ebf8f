/**
 * The hosts of a simulated web: what a name is, how its servers behave, and where it leads to. A pure function of seed, options and name;
 * the only memory is a bounded cache of what was worked out last.
 *
 * Site s is the domain `site<s>.<suffix>`; its hosts are `www.` and, in a farm, `w1.`, `w2.` and so on.
 */
import { drawn, logNormal, mix, pareto, unit } from '../mix.ts';
import type { HostKind, RobotsKind, WebOptions } from './options.ts';

export interface HostFacts {
  readonly site: number;
  readonly sub: number;
  readonly name: string;
  readonly scheme: 'http' | 'https';
  readonly origin: string;
  readonly kind: HostKind;
  readonly robots: RobotsKind;
  readonly pages: number;
  /** How the paths of its pages look: 0 … 2. */
  readonly style: number;
  readonly latencyMs: number;
  /** Draws of the host itself begin here. */
  readonly seed: number;
  /** Draws of its pages begin here: a mirror has those of another host. */
  readonly contentSeed: number;
}

const SUFFIXES = ['com', 'org', 'net', 'de', 'io', 'co.uk', 'fr', 'com.br', 'nl', 'info'];
const NAME = /^(www|w([1-9]\d{0,5}))\.site(\d{1,9})\.([a-z.]+)$/;
const CACHED = 32_768;

/** What each draw is for: two of them never share a hash. */
const DRAW = { suffix: 1, farm: 2, kind: 3, robots: 4, pages: 5, style: 6, latency: 7, scheme: 8, address: 9, dns: 10 } as const;

export class SimHosts {
  readonly seed: number;
  readonly options: WebOptions;
  #lately = new Map<string, HostFacts>();
  #before = new Map<string, HostFacts>();

  constructor(seed: number, options: WebOptions) {
    this.seed = seed;
    this.options = options;
  }

  nameOf(site: number, sub: number): string {
    const suffix = SUFFIXES[mix(this.seed, site, DRAW.suffix) % SUFFIXES.length];
    return `${sub === 0 ? 'www' : `w${sub}`}.site${site}.${suffix}`;
  }

  hostsOfSite(site: number): number {
    const { alpha, max } = this.options.hostsPerSite;
    return pareto(unit(this.seed, site, DRAW.farm), 1, alpha, max);
  }

  /** Undefined for a name that this web does not have. */
  find(name: string): HostFacts | undefined {
    let facts = this.#lately.get(name);
    if (facts !== undefined) return facts;
    facts = this.#before.get(name) ?? this.#make(name);
    if (facts === undefined) return undefined;
    if (this.#lately.size >= CACHED) {
      this.#before = this.#lately;
      this.#lately = new Map();
    }
    this.#lately.set(name, facts);
    return facts;
  }

  /** The host that a link of this draw leads to: popular sites more often. */
  popular(u: number, v: number): string {
    const site = Math.floor(this.options.sites * u ** 3);
    return this.nameOf(site, Math.floor(this.hostsOfSite(site) * v));
  }

  #make(name: string): HostFacts | undefined {
    const match = NAME.exec(name);
    if (match === null) return undefined;
    const site = Number(match[3]);
    const sub = match[2] === undefined ? 0 : Number(match[2]);
    if (site >= this.options.sites || sub >= this.hostsOfSite(site) || this.nameOf(site, sub) !== name) return undefined;
    return this.#facts(site, sub, name);
  }

  #facts(site: number, sub: number, name: string): HostFacts {
    const { options } = this;
    const seed = mix(this.seed, site, sub);
    const kind = drawn(unit(seed, DRAW.kind), options.hosts, 'plain' as HostKind);
    const scheme = unit(seed, DRAW.scheme) < options.https ? 'https' : 'http';
    const original = kind === 'mirror' ? mix(this.seed, (site + 1) % options.sites, 0) : seed;
    const { min, alpha, max } = options.pagesPerHost;
    const latency = logNormal(unit(seed, DRAW.latency), unit(seed, DRAW.latency, 1), options.latencyMs.median, options.latencyMs.sigma);
    return {
      site,
      sub,
      name,
      scheme,
      origin: `${scheme}://${name}`,
      kind,
      robots: drawn(unit(seed, DRAW.robots), options.robots, 'none' as RobotsKind),
      pages: pareto(unit(original, DRAW.pages), min, alpha, max),
      style: mix(original, DRAW.style) % 3,
      latencyMs: Math.min(8_000, latency * (kind === 'slow' ? 10 : 1)),
      seed,
      contentSeed: original,
    };
  }

  /** Addresses of a host at a time, IPv4 first. */
  addresses(host: HostFacts, nowMs: number): readonly string[] {
    const { shared, cdn, ipv6 } = this.options;
    const hour = host.kind === 'moving' ? Math.floor(nowMs / 3_600_000) : 0;
    // The hosts of a farm mostly stand on one machine.
    const seed = host.sub > 0 && unit(host.seed, DRAW.address, 7) < 0.8 ? mix(this.seed, host.site, 0) : host.seed;
    const u = unit(seed, DRAW.address, 1, hour);
    if (host.kind === 'private') return [`10.0.${(seed >>> 8) & 255}.${seed & 255}`];
    const own = ipv4(20, mix(seed, DRAW.address, 2, hour) % 2 ** 26);
    if (host.kind === 'mixed-addresses') return [own, '192.168.1.1', '127.0.0.1'];
    if (u < shared.share) return [ipv4(40, Math.floor(shared.addresses * unit(seed, DRAW.address, 3, hour) ** shared.skew))];
    if (u < shared.share + (1 - shared.share) * cdn.share) {
      const first = mix(seed, DRAW.address, 4) % cdn.addresses;
      return Array.from({ length: Math.min(4, cdn.addresses) }, (_, at) => ipv4(50, (first + at) % cdn.addresses));
    }
    if (unit(seed, DRAW.address, 5) >= ipv6) return [own];
    return [own, `2a00:1450:1:1:1:1:${(1 + (seed >>> 17)).toString(16)}:${(1 + (seed & 0xfffe)).toString(16)}`];
  }

  /** Whether a look-up of this host fails at this time. */
  dnsFails(host: HostFacts, nowMs: number): boolean {
    return host.kind === 'flaky-dns' && unit(host.seed, DRAW.dns, Math.floor(nowMs / 60_000)) < 0.4;
  }
}

/** In the blocks from `first`.0.0.0 on; `index` 0 … 2^26. */
function ipv4(first: number, index: number): string {
  return `${first + (index >>> 24)}.${(index >>> 16) & 255}.${(index >>> 8) & 255}.${index & 255}`;
}
