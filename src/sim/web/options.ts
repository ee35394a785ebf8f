/**
 * What a simulated web is made of. Everything is a share, a distribution or a bound; the web itself is a function of these and the seed (web.ts).
 * A file given to `portolan simulate --web` holds any of these keys over a preset's values.
 */
import { PortolanError } from '../../core/errors.ts';

/** How the servers of a host behave. */
export const HOST_KINDS = [
  'dead-name', // the name does not exist
  'dead-dns', // its name servers do not answer
  'flaky-dns', // look-ups fail now and then
  'refusing', // no server on the port
  'black-hole', // connections are never answered
  'bad-tls', // the handshake fails
  'failing', // 5xx for everything but robots.txt
  'down-at-times', // 503 with Retry-After in spells of some minutes
  'rate-limiting', // 429 with Retry-After to requests closer together than it likes
  'slow', // ten times the usual latency
  'stalling', // bodies stop half way now and then
  'private', // the name leads to a private address
  'mixed-addresses', // some of its addresses are private
  'moving', // its address changes every hour
  'mirror', // page by page the same as another host
  'copies', // nearly all its pages have the same text
  'calendar', // endless pages of dates
  'endless-path', // relative links that grow their own path
  'facets', // endless combinations of parameters
] as const;
export type HostKind = (typeof HOST_KINDS)[number] | 'plain';

export const ROBOTS_KINDS = [
  'rules', // some paths are disallowed
  'crawl-delay', // and a Crawl-delay of 2 to 20 s
  'long-delay', // a Crawl-delay over an hour
  'deny-all',
  'failing', // 5xx for good
  'failing-at-first', // 5xx for some hours
  'redirect', // to the robots.txt of another host
  'redirect-loop',
  'forbidden', // 403, which allows everything
  'large', // rules behind half a megabyte of comments
] as const;
export type RobotsKind = (typeof ROBOTS_KINDS)[number] | 'none';

export const PAGE_KINDS = [
  'missing',
  'gone',
  'denied', // 403
  'redirect', // to another page of the host
  'redirect-away', // to a page of another host
  'redirect-chain', // more hops than a crawler follows
  'redirect-loop',
  'cookie-wall', // redirects to itself until a cookie comes back
  'bad-redirect', // without a target
  'broken', // 500 for good
  'flaky', // 500 half of the time
  'other-type', // a PDF
  'empty',
  'huge', // more bytes than anybody wants
  'cut-off', // the connection breaks off within the body
  'bad-coding', // the content coding cannot be undone
  'not-http', // bytes that are no response
  'noindex', // with nofollow
  'copy', // byte by byte the page before it
  'near-copy', // the text of the page before it with a word changed
] as const;
export type PageKind = (typeof PAGE_KINDS)[number] | 'page';

const BODIES = ['generated', 'links', 'text'] as const;

export interface WebOptions {
  /** Registrable domains. */
  readonly sites: number;
  /** Hosts of a site: Pareto from 1; the smaller alpha, the larger the largest farms. */
  readonly hostsPerSite: { readonly alpha: number; readonly max: number };
  /** Pages of a host: Pareto. */
  readonly pagesPerHost: { readonly min: number; readonly alpha: number; readonly max: number };
  /** Links of a page: Pareto; `away`: share that leads to other hosts; `odd`: share of pages with links that no crawler should follow. */
  readonly links: {
    readonly min: number;
    readonly alpha: number;
    readonly max: number;
    readonly away: number;
    readonly odd: number;
    readonly nofollow: number;
  };
  /**
   * `generated`: a page is handed over as its title and links, without HTML (generated.ts), which is cheapest; `links`: as HTML that is its links and little
   * else; `text`: pages with paragraphs, so that duplicates are recognised by their text.
   */
  readonly body: (typeof BODIES)[number];
  /** Words of a page's text: log-normal. */
  readonly words: { readonly median: number; readonly sigma: number };
  /** To the first byte: log-normal over hosts; connecting takes a third of it. */
  readonly latencyMs: { readonly median: number; readonly sigma: number };
  /** Bytes that a body takes on the wire beyond what is generated, for its transfer time and the counts: log-normal over pages. */
  readonly bodyBytes: { readonly median: number; readonly sigma: number };
  /** Bytes per millisecond of a connection. */
  readonly bandwidth: number;
  /** Share of hosts on addresses shared with others; how many such addresses there are; how uneven they are filled (larger: more so). */
  readonly shared: { readonly share: number; readonly addresses: number; readonly skew: number };
  /** Share of the rest that is behind a CDN: four addresses out of `cdnAddresses`. */
  readonly cdn: { readonly share: number; readonly addresses: number };
  readonly ipv6: number;
  readonly https: number;
  /** Time to live of addresses, seconds. */
  readonly dnsTtlS: number;
  readonly dnsMs: number;
  /** Shares; the rest are plain hosts, hosts without robots.txt and plain pages. */
  readonly hosts: Readonly<Partial<Record<(typeof HOST_KINDS)[number], number>>>;
  readonly robots: Readonly<Partial<Record<(typeof ROBOTS_KINDS)[number], number>>>;
  readonly pages: Readonly<Partial<Record<(typeof PAGE_KINDS)[number], number>>>;
  /** Mean time between two changes of a page's text, days: log-normal over pages; 0: pages never change. */
  readonly changeDays: { readonly median: number; readonly sigma: number };
}

const SMALL: WebOptions = {
  sites: 40,
  hostsPerSite: { alpha: 2.5, max: 4 },
  pagesPerHost: { min: 6, alpha: 1.1, max: 150 },
  links: { min: 6, alpha: 2, max: 60, away: 0.15, odd: 0.05, nofollow: 0.01 },
  body: 'text',
  words: { median: 150, sigma: 0.6 },
  latencyMs: { median: 120, sigma: 0.6 },
  bodyBytes: { median: 12_000, sigma: 1 },
  bandwidth: 1_000,
  shared: { share: 0.3, addresses: 4, skew: 2 },
  cdn: { share: 0.1, addresses: 8 },
  ipv6: 0.05,
  https: 0.7,
  dnsTtlS: 3_600,
  dnsMs: 20,
  hosts: { 'dead-name': 0.02, refusing: 0.01, slow: 0.03, 'rate-limiting': 0.02 },
  robots: { rules: 0.4, 'crawl-delay': 0.05, redirect: 0.02 },
  pages: { missing: 0.03, redirect: 0.04, 'other-type': 0.02, noindex: 0.01, copy: 0.01, 'near-copy': 0.01, flaky: 0.005 },
  changeDays: { median: 30, sigma: 2 },
};

const BROAD: WebOptions = {
  ...SMALL,
  sites: 1_000_000,
  hostsPerSite: { alpha: 2, max: 2_000 },
  pagesPerHost: { min: 3, alpha: 0.9, max: 1_000_000 },
  links: { ...SMALL.links, away: 0.2, odd: 0.01 },
  body: 'generated',
  shared: { share: 0.5, addresses: 20_000, skew: 3 },
  cdn: { share: 0.15, addresses: 256 },
  hosts: {
    'dead-name': 0.03,
    'dead-dns': 0.01,
    refusing: 0.02,
    'black-hole': 0.01,
    'bad-tls': 0.01,
    failing: 0.01,
    'down-at-times': 0.01,
    'rate-limiting': 0.03,
    slow: 0.05,
    mirror: 0.02,
    copies: 0.01,
    calendar: 0.01,
    facets: 0.01,
    private: 0.002,
    moving: 0.01,
  },
  robots: { rules: 0.4, 'crawl-delay': 0.05, 'long-delay': 0.002, 'deny-all': 0.02, failing: 0.01, redirect: 0.03, forbidden: 0.02 },
};

const HOSTILE: WebOptions = {
  ...SMALL,
  sites: 24,
  hostsPerSite: { alpha: 1.2, max: 6 },
  pagesPerHost: { min: 3, alpha: 1.1, max: 40 },
  words: { median: 80, sigma: 0.5 },
  links: { ...SMALL.links, away: 0.25, odd: 0.3, nofollow: 0.05 },
  shared: { share: 0.5, addresses: 3, skew: 2 },
  hosts: Object.fromEntries(HOST_KINDS.map((kind) => [kind, 0.035])),
  robots: Object.fromEntries(ROBOTS_KINDS.map((kind) => [kind, kind === 'rules' ? 0.2 : 0.04])),
  pages: Object.fromEntries(PAGE_KINDS.map((kind) => [kind, kind === 'huge' ? 0.005 : 0.025])),
};

export const WEB_PRESETS: Readonly<Record<'small' | 'broad' | 'hostile', WebOptions>> = { small: SMALL, broad: BROAD, hostile: HOSTILE };

/** A partial description laid over a preset. Throws PORTOLAN_CONFIG_UNKNOWN_KEY or PORTOLAN_CONFIG_INVALID. */
export function parseWebOptions(input: unknown, source: string): WebOptions {
  const given = (input ?? {}) as Record<string, unknown>;
  const { preset = 'small', ...rest } = given;
  const base = WEB_PRESETS[preset as keyof typeof WEB_PRESETS];
  if (base === undefined || typeof given !== 'object' || Array.isArray(given))
    throw invalid(source, `preset is one of ${Object.keys(WEB_PRESETS).join(', ')}`);
  return over(base as unknown as Tree, rest, source, '') as unknown as WebOptions;
}

type Tree = { readonly [key: string]: number | string | Tree };

const KINDS: Readonly<Record<string, readonly string[]>> = { hosts: HOST_KINDS, robots: ROBOTS_KINDS, pages: PAGE_KINDS };

function over(base: Tree, given: Record<string, unknown>, source: string, path: string): Tree {
  const result: Record<string, number | string | Tree> = { ...base };
  for (const [key, value] of Object.entries(given)) {
    const name = path === '' ? key : `${path}.${key}`;
    const before = KINDS[path] === undefined ? base[key] : KINDS[path].includes(key) ? 0 : undefined;
    if (before === undefined) {
      throw new PortolanError('PORTOLAN_CONFIG_UNKNOWN_KEY', `${source}: unknown key "${name}"`, {
        remedy: `known here: ${(KINDS[path] ?? Object.keys(base)).join(', ')}`,
      });
    }
    if (typeof before === 'object') {
      if (typeof value !== 'object' || value === null) throw invalid(source, `${name} holds keys of its own`);
      result[key] = over(before, value as Record<string, unknown>, source, name);
    } else if (typeof before === 'number') {
      if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) throw invalid(source, `${name} is a number from 0`);
      result[key] = value;
    } else {
      if (!BODIES.includes(value as WebOptions['body'])) throw invalid(source, `${name} is one of ${BODIES.join(', ')}`);
      result[key] = value as string;
    }
  }
  return result;
}

function invalid(source: string, what: string): PortolanError {
  return new PortolanError('PORTOLAN_CONFIG_INVALID', `${source}: ${what}`, { remedy: 'see docs/SIMULATION.md for the keys of a web' });
}
