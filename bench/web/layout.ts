/**
 * Which hosts and pages the benchmark web has, as pure functions of its options. Nothing here touches the disk.
 *
 * Host h is the address 127.<net>.a.b, so that one port serves every host and no name server is needed. Hosts with an even number close /private/
 * in their robots.txt; the others have two ordinary pages there. Page 0 is "/"; pages 1 to 5 have one tracked alias each; page 6 lies below "/~desk/"
 * and page 7 below "/caf%C3%A9/" (both have other spellings); page 3 has a <base href>.
 */
import { type Seeded, seeded } from '../../test/support/seeded.ts';
import { vocabulary } from './prose.ts';

export interface WebOptions {
  /** 1 … 50,000. */
  readonly hosts: number;
  /** Pages of each host that a polite crawl must fetch; 12 … 1,000. */
  readonly pages: number;
  readonly port: number;
  /** Second byte of the addresses, 1 … 255. */
  readonly net: number;
  readonly seed: number;
  /** Links of a page, 60 % of them to its own host. */
  readonly links: number;
  /** Size of a page in KB, spread evenly between the two. */
  readonly kbMin: number;
  readonly kbMax: number;
}

export const WEB_DEFAULTS: WebOptions = { hosts: 400, pages: 50, port: 18280, net: 31, seed: 1, links: 100, kbMin: 30, kbMax: 60 };

/** Raised when the same options give other bytes than before. */
export const WEB_FORMAT = 1;
export const TRACKED_PAGES = 5;
export const BASE_PAGE = 3;
export const TILDE_PAGE = 6;
export const ACCENT_PAGE = 7;
export const CLOSED_PAGES = 2;
const HOSTS_PER_BLOCK = 250;

const SECTIONS = ['bulletin', 'handbook', 'records/2023', 'records/2024', 'catalogue', 'staff', 'studies'] as const;
const TRACKERS = ['utm_source=list&amp;utm_medium=post', 'gclid=EAIaIQ7', 'fbclid=IwY2x', 'utm_campaign=may&amp;utm_term=b'] as const;

export interface WebLayout {
  readonly options: WebOptions;
  address(host: number): string;
  /** scheme://address:port */
  origin(host: number): string;
  closesPrivate(host: number): boolean;
  /** Canonical path of a page: unreserved characters literal, hex digits upper-case. */
  path(host: number, page: number): string;
  /** Path of a page that robots.txt forbids, index 0 … CLOSED_PAGES - 1. Even hosts only. */
  closedPath(host: number, index: number): string;
  /** The one query that a link to a tracked page may carry, as it stands in HTML. */
  tracker(host: number, page: number): string;
  random(purpose: number, ...numbers: number[]): Seeded;
}

export function layoutWeb(options: WebOptions): WebLayout {
  if (options.pages < 12 || options.pages > 1_000) throw new Error('pages must be 12 … 1000');
  if (options.hosts < 1 || options.hosts > 50_000) throw new Error('hosts must be 1 … 50000');
  const words = vocabulary(options.seed);
  const paths = new Map<number, string>();
  const random = (purpose: number, ...numbers: number[]): Seeded => seeded(options.seed, purpose, ...numbers);
  const slug = (host: number, page: number): string => {
    const r = random(1, host, page);
    return `${r.pick(words)}-${r.pick(words)}-${page}`;
  };
  const address = (host: number): string => `127.${options.net}.${1 + Math.floor(host / HOSTS_PER_BLOCK)}.${1 + (host % HOSTS_PER_BLOCK)}`;
  const closesPrivate = (host: number): boolean => host % 2 === 0;
  const makePath = (host: number, page: number): string => {
    const name = slug(host, page);
    const section = SECTIONS[page % SECTIONS.length];
    if (page === 0) return '/';
    if (page === TILDE_PAGE) return `/~desk/${name}.html`;
    if (page === ACCENT_PAGE) return `/caf%C3%A9/${name}.html`;
    if (!closesPrivate(host) && page >= options.pages - CLOSED_PAGES) return `/private/${name}.html`;
    if (page % 9 === 2) return `/${section}/${name}/`;
    if (page % 9 === 5) return `/notes/${name}`;
    return `/${section}/${name}.html`;
  };
  return {
    options,
    address,
    origin: (host) => `http://${address(host)}:${options.port}`,
    closesPrivate,
    path: (host, page) => {
      const key = host * 1_000 + page;
      const known = paths.get(key) ?? makePath(host, page);
      paths.set(key, known);
      return known;
    },
    closedPath: (host, index) => `/private/${slug(host, 2_000 + index)}.html`,
    tracker: (host, page) => TRACKERS[(host + page) % TRACKERS.length] ?? TRACKERS[0],
    random,
  };
}

/** File below a host's root for a canonical path. */
export function fileOf(path: string): string {
  return decodeURIComponent(path.endsWith('/') ? `${path}index.html` : path);
}
