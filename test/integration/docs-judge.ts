/**
 * What a complete, polite crawl of the documentation sites fetches, worked out from the files on disk by other means than the crawler's own:
 * parse5 builds the tree, the WHATWG URL class resolves, and a model of the server says what a path answers. The seed of each site is "/".
 *
 * Followed are a and area, frame and iframe, meta refresh, link rel canonical, next, prev, and alternate pages in HTML; not followed are rel=nofollow, links of
 * a page whose meta robots says nofollow, links to other hosts, and what robots.txt closes. Only HTML answers are compared: whether a crawler asks for
 * an image or an archive that a page links to is its own affair, as no link says of what type its target is.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { type DefaultTreeAdapterTypes, parse } from 'parse5';
import type { DocsSite } from '../../scripts/docs-web.ts';
import { type LoggedRequest, measurePauses } from '../support/nginx-log.ts';

type Node = DefaultTreeAdapterTypes.Node;
type Element = DefaultTreeAdapterTypes.Element;

/** What the server answers to a path. */
type Answer =
  | { readonly kind: 'html'; readonly file: string }
  | { readonly kind: 'listing'; readonly dir: string }
  | { readonly kind: 'redirect'; readonly to: string }
  | { readonly kind: 'other' }
  | { readonly kind: 'missing' };

export interface DocsJudgement {
  readonly expected: number;
  /** HTML pages among the files, reachable or not. */
  readonly files: number;
  readonly fetchedHtml: number;
  readonly requests: number;
  readonly missing: readonly string[];
  readonly extra: readonly string[];
  readonly forbidden: readonly string[];
  readonly repeated: readonly string[];
  readonly overlaps: number;
}

/** URLs of all HTML pages that a complete crawl fetches, in their comparable form. */
export function closureOf(sites: readonly DocsSite[], port: number, closedPrefixes: readonly string[]): ReadonlySet<string> {
  const byAuthority = authorities(sites, port);
  const expected = new Set<string>();
  const met = new Set<string>();
  const queue: URL[] = sites.map((site) => new URL(`http://${site.host}:${port}/`));
  for (let url = queue.pop(); url !== undefined; url = queue.pop()) {
    const site = byAuthority.get(url.host);
    const key = site === undefined ? '' : keyOf(site, url.pathname + url.search);
    if (site === undefined || url.protocol !== 'http:' || met.has(key)) continue;
    met.add(key);
    if (closedPrefixes.some((prefix) => url.pathname.startsWith(prefix))) continue;
    const answer = answerTo(site, url.pathname);
    if (answer.kind === 'redirect') queue.push(new URL(answer.to, url));
    if (answer.kind !== 'html' && answer.kind !== 'listing') continue;
    expected.add(key);
    queue.push(...(answer.kind === 'html' ? linksOf(answer.file, url) : listingOf(answer.dir, url)));
  }
  return expected;
}

export function judgeDocs(
  sites: readonly DocsSite[],
  port: number,
  closedPrefixes: readonly string[],
  requests: readonly LoggedRequest[],
): DocsJudgement {
  const expected = closureOf(sites, port, closedPrefixes);
  const byAddress = new Map(sites.map((site) => [`${site.address}:${port}`, site]));
  const seen = new Map<string, number>();
  const fetched = new Set<string>();
  const forbidden = new Set<string>();
  for (const request of requests) {
    const site = byAddress.get(request.address);
    if (site === undefined || request.target === '/robots.txt') continue;
    const key = keyOf(site, request.target);
    seen.set(key, (seen.get(key) ?? 0) + 1);
    if (closedPrefixes.some((prefix) => request.target.startsWith(prefix))) forbidden.add(key);
    const { kind } = answerTo(site, pathOf(request.target));
    if (request.status === 200 && (kind === 'html' || kind === 'listing')) fetched.add(key);
  }
  return {
    expected: expected.size,
    files: sites.reduce((sum, site) => sum + countHtml(site.root), 0),
    fetchedHtml: fetched.size,
    requests: requests.length,
    missing: [...expected].filter((key) => !fetched.has(key)),
    extra: [...fetched].filter((key) => !expected.has(key)),
    forbidden: [...forbidden],
    repeated: [...seen].filter(([, count]) => count > 1).map(([key]) => key),
    overlaps: measurePauses(requests, 0).overlaps,
  };
}

function authorities(sites: readonly DocsSite[], port: number): ReadonlyMap<string, DocsSite> {
  return new Map(
    sites.flatMap((site) => [`${site.host}:${port}`, `${site.address}:${port}`].map((authority) => [authority, site] as const)),
  );
}

/** One form for all spellings of a URL that are the same to the server: escapes undone, the query kept. */
function keyOf(site: DocsSite, target: string): string {
  const query = target.includes('?') ? target.slice(target.indexOf('?')) : '';
  return `${site.name}:${decoded(pathOf(target))}${query === '?' ? '' : query}`;
}

function pathOf(target: string): string {
  return target.replace(/[?#].*$/s, '');
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function answerTo(site: DocsSite, path: string): Answer {
  // nginx refuses a bare % before it knows the host: such a request stands in no log of a site.
  if (/%(?![0-9a-f]{2})/i.test(path)) return { kind: 'missing' };
  const file = join(site.root, decoded(path));
  const stat = decoded(path).includes('\0') ? undefined : statSync(file, { throwIfNoEntry: false });
  if (stat === undefined || !file.startsWith(site.root)) return { kind: 'missing' };
  if (!stat.isDirectory()) return path.endsWith('/') ? { kind: 'missing' } : isHtml(file) ? { kind: 'html', file } : { kind: 'other' };
  if (!path.endsWith('/')) return { kind: 'redirect', to: `${path}/` };
  const index = join(file, 'index.html');
  return existsSync(index) ? { kind: 'html', file: index } : { kind: 'listing', dir: file };
}

function isHtml(file: string): boolean {
  return ['.html', '.htm'].includes(extname(file).toLowerCase());
}

/** As nginx's autoindex lists: no dot files, nothing that cannot be looked up, a slash behind directories. */
function listingOf(dir: string, url: URL): URL[] {
  const names = readdirSync(dir).filter((name) => !name.startsWith('.'));
  return ['../', ...names].flatMap((name) => {
    const stat = statSync(join(dir, name), { throwIfNoEntry: false });
    if (stat === undefined) return [];
    return [new URL(name === '../' ? name : encodeURIComponent(name) + (stat.isDirectory() ? '/' : ''), url)];
  });
}

interface Found {
  readonly hrefs: string[];
  base: string | undefined;
  nofollow: boolean;
}

function linksOf(file: string, url: URL): URL[] {
  const found: Found = { hrefs: [], base: undefined, nofollow: false };
  walk(parse(decodeText(readFileSync(file)), { scriptingEnabled: false }), found);
  if (found.nofollow) return [];
  const base = (found.base === undefined ? undefined : parsed(found.base, url)) ?? url;
  return found.hrefs.flatMap((href) => parsed(href, base) ?? []);
}

function parsed(href: string, base: URL): URL | undefined {
  return URL.canParse(href, base.href) ? new URL(href, base) : undefined;
}

function decodeText(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

/** Iterative: generated pages nest deeply. The content of template is not among childNodes, hence not walked. */
function walk(root: Node, found: Found): void {
  const stack: Node[] = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if ('tagName' in node) look(node, found);
    if ('childNodes' in node) for (let i = node.childNodes.length - 1; i >= 0; i--) stack.push(node.childNodes[i]!);
  }
}

function look(element: Element, found: Found): void {
  const attribute = (name: string): string | undefined => element.attrs.find((one) => one.name === name)?.value;
  const words = (name: string): readonly string[] => (attribute(name) ?? '').toLowerCase().split(/\s+/);
  const href = attribute('href');
  switch (element.tagName) {
    case 'base':
      found.base ??= href;
      break;
    case 'a':
    case 'area':
      if (href !== undefined && !words('rel').includes('nofollow')) found.hrefs.push(href);
      break;
    case 'frame':
    case 'iframe':
      found.hrefs.push(...[attribute('src')].filter((src) => src !== undefined));
      break;
    case 'link':
      if (href !== undefined && isPageRelation(words('rel'), attribute('type'), attribute('hreflang'), attribute('media')))
        found.hrefs.push(href);
      break;
    case 'meta':
      lookAtMeta((attribute('name') ?? '').toLowerCase(), (attribute('http-equiv') ?? '').toLowerCase(), attribute('content') ?? '', found);
      break;
  }
}

function isPageRelation(
  rel: readonly string[],
  type: string | undefined,
  hreflang: string | undefined,
  media: string | undefined,
): boolean {
  if (rel.includes('nofollow')) return false;
  if (rel.includes('canonical') || rel.includes('next') || rel.includes('prev')) return true;
  return rel.includes('alternate') && (hreflang !== undefined || media !== undefined || /html/i.test(type ?? ''));
}

function lookAtMeta(name: string, httpEquiv: string, content: string, found: Found): void {
  if (name === 'robots' && /\b(nofollow|none)\b/i.test(content)) found.nofollow = true;
  const refresh = httpEquiv === 'refresh' ? /^\s*[\d.]+\s*[;,\s]\s*url\s*=\s*['"]?([^'"]+)/i.exec(content) : null;
  if (refresh?.[1] !== undefined) found.hrefs.push(refresh[1].trim());
}

function countHtml(dir: string): number {
  return readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile() && isHtml(entry.name)).length;
}
