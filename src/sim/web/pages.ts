/**
 * The pages of a simulated host: what stands under a path. A pure function of the host's seeds and the path; nothing is kept but one copy of the
 * largest bodies.
 *
 * Page p links to pages 4p + 1 … 4p + 4 of its host, so every page can be reached from the first one as long as those above it are pages; the
 * other links are drawn. Site s links to sites 4s + 1 … 4s + 4 likewise.
 */
import { drawn, logNormal, mix, pareto, unit } from '../mix.ts';
import type { HostFacts, SimHosts } from './hosts.ts';
import type { PageKind } from './options.ts';
import { WORDS } from './words.ts';

/** What a path leads to. */
export type Place =
  | { readonly at: 'page'; readonly page: number }
  | { readonly at: 'hop'; readonly page: number; readonly hop: number }
  | { readonly at: 'loop'; readonly page: number; readonly hop: number }
  | { readonly at: 'month'; readonly month: number }
  | { readonly at: 'deeper' }
  | { readonly at: 'list' };

const BRANCHES = 4;
const SECTIONS = ['news', 'blog', 'shop', 'help', 'about', 'docs'];
const DRAW = { kind: 21, links: 22, target: 23, away: 24, odd: 25, nofollow: 26, words: 27, word: 28, change: 29, size: 30 } as const;
/** Every so many pages of a host stand under /private/. */
const PRIVATE_EVERY = 11;
const MONTHS = 12 * 400;
/** Kinds whose links are there to be followed, once they are served with status 200. */
const FULL_KINDS: readonly PageKind[] = ['page', 'flaky', 'cookie-wall', 'copy', 'near-copy'];

export class SimPages {
  readonly #hosts: SimHosts;

  constructor(hosts: SimHosts) {
    this.#hosts = hosts;
  }

  kind(host: HostFacts, page: number): PageKind {
    return page === 0 ? 'page' : drawn(unit(host.contentSeed, page, DRAW.kind), this.#hosts.options.pages, 'page' as PageKind);
  }

  path(host: HostFacts, page: number): string {
    if (page === 0) return '/';
    const below = page % PRIVATE_EVERY === 5 ? '/private' : '';
    if (host.style === 0) return `${below}/p/${page}.html`;
    if (host.style === 1) return `${below}/${SECTIONS[page % SECTIONS.length]}/article-${page}`;
    return `${below}/index.php?id=${page}`;
  }

  /** Undefined: there is nothing. */
  find(host: HostFacts, path: string): Place | undefined {
    if (path === '/') return { at: 'page', page: 0 };
    const number = lastNumber(path);
    if (number >= 0 && number < host.pages && this.path(host, number) === path) return { at: 'page', page: number };
    const steps = /^\/(hop|loop)\/(\d{1,9})\/(\d{1,2})$/.exec(path);
    if (steps !== null) return { at: steps[1] as 'hop' | 'loop', page: Number(steps[2]), hop: Number(steps[3]) };
    if (host.kind === 'calendar') {
      const month = /^\/calendar\/(\d{4})\/(\d\d)\/$/.exec(path);
      if (month !== null) return { at: 'month', month: Number(month[1]) * 12 + Number(month[2]) - 1 };
    }
    if (host.kind === 'endless-path' && path.startsWith('/deeper/')) return { at: 'deeper' };
    if (host.kind === 'facets' && path.startsWith('/list?')) return { at: 'list' };
    return undefined;
  }

  /** Number of changes of the page's text up to a time. */
  version(host: HostFacts, page: number, nowMs: number): number {
    const { median, sigma } = this.#hosts.options.changeDays;
    if (median === 0) return 0;
    const { contentSeed: seed } = host;
    const days = logNormal(unit(seed, page, DRAW.change), unit(seed, page, DRAW.change, 1), median, sigma);
    return Math.floor(nowMs / (Math.max(0.01, days) * 86_400_000) + unit(seed, page, DRAW.change, 2));
  }

  /** hrefs of a page as they stand in it, without the odd ones. */
  links(host: HostFacts, page: number): string[] {
    const { links, sites } = this.#hosts.options;
    const { contentSeed: seed } = host;
    const hrefs: string[] = page === 0 ? [] : ['/'];
    for (let child = page * BRANCHES + 1; child <= page * BRANCHES + BRANCHES && child < host.pages; child++)
      hrefs.push(this.path(host, child));
    if (page === 0 && host.sub === 0) this.#branchOut(host, sites, hrefs);
    const count = pareto(unit(seed, page, DRAW.links), links.min, links.alpha, links.max);
    for (let at = 0; at < count; at++) {
      const u = unit(seed, page, DRAW.target, at);
      if (unit(seed, page, DRAW.away, at) < links.away) hrefs.push(this.#away(u, mix(seed, page, DRAW.away, at, 1)));
      else hrefs.push(this.path(host, Math.floor(host.pages * u * u)));
    }
    return hrefs;
  }

  /** Whether the page's link of this number says nofollow. */
  isNofollow(host: HostFacts, page: number, at: number): boolean {
    const { nofollow } = this.#hosts.options.links;
    return nofollow > 0 && unit(host.contentSeed, page, DRAW.nofollow, at) < nofollow;
  }

  /** The page whose body is served for a page: a copy has that of the page before it. */
  original(host: HostFacts, page: number): number {
    let original = page;
    while (original > 0 && this.kind(host, original) === 'copy') original--;
    return original;
  }

  /** hrefs that a crawler which obeys nofollow must have found on a page that it got whole. */
  linksToFollow(host: HostFacts, page: number): readonly string[] {
    const original = this.original(host, page);
    if (!FULL_KINDS.includes(this.kind(host, page)) || !FULL_KINDS.includes(this.kind(host, original))) return [];
    return this.links(host, original).filter((_, at) => !this.isNofollow(host, original, at));
  }

  /** Links to the next sites and to the other hosts of this one. */
  #branchOut(host: HostFacts, sites: number, hrefs: string[]): void {
    for (let site = host.site * BRANCHES + 1; site <= host.site * BRANCHES + BRANCHES && site < sites; site++)
      hrefs.push(this.#home(site, 0));
    const subs = Math.min(this.#hosts.hostsOfSite(host.site), 1_000);
    for (let sub = 1; sub < subs; sub++) hrefs.push(this.#home(host.site, sub));
  }

  #home(site: number, sub: number): string {
    return `${this.#hosts.find(this.#hosts.nameOf(site, sub))!.origin}/`;
  }

  /** A page of some host; its first page three times out of four. */
  #away(u: number, draw: number): string {
    const target = this.#hosts.find(this.#hosts.popular(u, (draw >>> 8) / 2 ** 24))!;
    return target.origin + ((draw & 3) === 0 ? this.path(target, (draw >>> 2) % target.pages) : '/');
  }

  /** Where a page of a redirecting kind leads to; '' for none. */
  redirect(host: HostFacts, page: number, kind: PageKind): string {
    const draw = mix(host.contentSeed, page, DRAW.target, 99);
    switch (kind) {
      case 'redirect':
        return this.path(host, draw % host.pages);
      case 'redirect-away':
        return this.#away(draw / 2 ** 32, mix(draw, 1));
      case 'redirect-chain':
        return `/hop/${page}/1`;
      case 'redirect-loop':
        return `/loop/${page}/1`;
      case 'cookie-wall':
        return this.path(host, page);
      default:
        return '';
    }
  }

  /** What a page's answer holds: HTML, or the lines of generated.ts. */
  body(host: HostFacts, page: number, nowMs: number): string {
    const original = this.original(host, page);
    const kind = this.kind(host, original);
    return this.#hosts.options.body === 'generated' ? this.#generated(host, original, kind) : this.#html(host, original, kind, nowMs);
  }

  #generated(host: HostFacts, page: number, kind: PageKind): string {
    let lines = `T${this.#title(host, textPageOf(host, page, kind))}\n`;
    if (kind === 'noindex') lines += 'Rnoindex, nofollow\n';
    const hrefs = this.links(host, page);
    for (let at = 0; at < hrefs.length; at++) lines += `${this.isNofollow(host, page, at) ? 'N' : 'L'}${hrefs[at]}\n`;
    if (this.#hasOddLinks(host, page)) for (const href of oddLinks(page)) lines += `L${href.replaceAll('&amp;', '&')}\n`;
    for (const href of trapHrefs(host, page)) lines += `L${href}\n`;
    return lines;
  }

  #title({ contentSeed }: HostFacts, textPage: number): string {
    return `${WORDS[mix(contentSeed, textPage) % WORDS.length]} ${textPage}`;
  }

  #hasOddLinks({ contentSeed }: HostFacts, page: number): boolean {
    const { odd } = this.#hosts.options.links;
    return odd > 0 && unit(contentSeed, page, DRAW.odd) < odd;
  }

  #html(host: HostFacts, page: number, kind: PageKind, nowMs: number): string {
    const textPage = textPageOf(host, page, kind);
    const changed = kind === 'near-copy' ? 1 : host.kind === 'copies' ? 1 + (page % 3) : 0;
    const { body } = this.#hosts.options;
    const { contentSeed: seed } = host;
    const version = body === 'links' ? 0 : this.version(host, textPage, nowMs);
    let html = `<!doctype html><title>${this.#title(host, textPage)}</title>`;
    if (kind === 'noindex') html += '<meta name=robots content="noindex, nofollow">';
    if (body === 'text') html += this.#text(seed, textPage, version, changed);
    html += '<ul>';
    const hrefs = this.links(host, page);
    for (let at = 0; at < hrefs.length; at++) {
      html += this.isNofollow(host, page, at)
        ? `<li><a rel=nofollow href="${hrefs[at]}">`
        : `<li><a href="${body === 'text' ? spelt(hrefs[at]!, seed, page, at) : hrefs[at]}">`;
    }
    if (this.#hasOddLinks(host, page)) for (const href of oddLinks(page)) html += `<li><a href="${href}">`;
    for (const href of trapHrefs(host, page)) html += `<li><a href="${href}">`;
    return `${html}</ul>`;
  }

  #text(seed: number, page: number, version: number, changed: number): string {
    const { words } = this.#hosts.options;
    const count = Math.min(
      5_000,
      Math.ceil(logNormal(unit(seed, page, DRAW.words), unit(seed, page, DRAW.words, 1), words.median, words.sigma)),
    );
    let text = '<p>';
    for (let at = 0; at < count; at++) {
      const draw = mix(seed, page, DRAW.word, at, at % 50 === 7 ? version : 0);
      text += `${WORDS[(at === 20 ? draw + changed : draw) % WORDS.length]}${at % 60 === 59 ? '.<p>' : ' '}`;
    }
    return text;
  }

  /** HTML of the endless places. */
  trap(place: Place, path: string): string {
    switch (place.at) {
      case 'month': {
        const { month } = place;
        const link = (m: number): string =>
          `<a href="/calendar/${String(Math.floor(m / 12) % MONTHS).padStart(4, '0')}/${String((m % 12) + 1).padStart(2, '0')}/">`;
        return `<title>Month ${month}</title>${link(month + 1)}next</a>${link(Math.max(0, month - 1))}before</a>${link(month + 60)}in five years</a>`;
      }
      case 'deeper':
        return `<title>Deeper ${path.length}</title><a href="deeper/again/">deeper</a>`;
      default:
        return facets(path);
    }
  }

  /** Bytes that the body's transfer takes time for, at least. */
  transferBytes(host: HostFacts, page: number): number {
    const { median, sigma } = this.#hosts.options.bodyBytes;
    return logNormal(unit(host.contentSeed, page, DRAW.size), unit(host.contentSeed, page, DRAW.size, 1), median, sigma);
  }
}

/** Another spelling of the same URL, now and then. */
function spelt(href: string, seed: number, page: number, at: number): string {
  switch (mix(seed, page, DRAW.target, at, 5) % 40) {
    case 0:
      return `${href}#part`;
    case 1:
      return `${href}${href.includes('?') ? '&amp;' : '?'}utm_source=site`;
    case 2:
      return href.startsWith('/') ? `/x/..${href}` : href.replace(/^https?:\/\/[^/]+/, (origin) => origin.toUpperCase());
    default:
      return href;
  }
}

function oddLinks(page: number): string[] {
  return [
    'mailto:info@example.com',
    'javascript:void(0)',
    'http://',
    `http://10.0.0.${page % 256}/admin`,
    'http://169.254.169.254/latest/meta-data/',
    'http://[::1]:8080/',
    `/long/${'x'.repeat(1_200)}`,
    `/search?${Array.from({ length: 12 }, (_, at) => `p${at}=${page}`).join('&amp;')}`,
    `/a/b/a/b/a/b/a/b/a/b/${page}`,
    `/not-there/${page}`,
  ];
}

function trapHrefs(host: HostFacts, page: number): readonly string[] {
  if (host.kind === 'calendar') return ['/calendar/2026/01/'];
  if (host.kind === 'endless-path') return ['/deeper/'];
  return host.kind === 'facets' ? [`/list?color=${page % 9}`] : [];
}

/** The page whose title and text a page has. */
function textPageOf(host: HostFacts, page: number, kind: PageKind): number {
  return kind === 'near-copy' ? page - 1 : host.kind === 'copies' ? 0 : page;
}

function facets(path: string): string {
  const [, query = ''] = path.split('?');
  let html = `<title>List ${query}</title>`;
  for (const [at, name] of ['color', 'size', 'brand', 'sort', 'page', 'view'].entries()) {
    const rest = query.split('&').filter((part) => !part.startsWith(`${name}=`));
    html += `<a href="/list?${[...rest, `${name}=${(query.length + at) % 9}`].join('&amp;')}">${name}</a>`;
  }
  return html;
}

/** The last run of digits of a path; −1 without one. */
function lastNumber(path: string): number {
  let end = path.length;
  while (end > 0 && !isDigit(path.charCodeAt(end - 1))) end--;
  let from = end;
  while (from > 0 && isDigit(path.charCodeAt(from - 1))) from--;
  return end === from || end - from > 9 ? -1 : Number(path.slice(from, end));
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
