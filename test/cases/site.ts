/**
 * The web of a durability case: so many pages on so many hosts, all reachable from each host's `/`, every page with a text of its own. A page is a
 * function of its URL, so that the web is the same before and after a kill.
 */
import { hash } from 'node:crypto';
import { type Fields, fieldsOf, numberOf } from './format.ts';
import type { Answer } from './web.ts';

export interface Site {
  readonly seeds: readonly string[];
  /** URL of every page. */
  readonly pages: ReadonlySet<string>;
  readonly latencyMs: number;
  readonly answer: Answer;
}

const SMALL_SITE: Fields = { hosts: { 'k1.test': 25, 'k2.test': 25, 'k3.test': 25, 'k4.test': 25 }, links_per_page: 5, latency_ms: 10 };
export const SITE_FIELDS = ['hosts', 'links_per_page', 'latency_ms', 'page_bytes'];

export function siteOf(input: Fields): Site {
  const site = input['site'] === undefined ? SMALL_SITE : fieldsOf(input, 'site');
  const sizes = new Map(Object.entries(fieldsOf(site, 'hosts')).map(([host, pages]) => [host, Number(pages)]));
  const linksPerPage = numberOf(site, 'links_per_page') ?? 5;
  const bytes = numberOf(site, 'page_bytes') ?? 0;
  const urls = [...sizes].flatMap(([host, pages]) => Array.from({ length: pages }, (_, index) => `http://${host}${pathOf(index)}`));
  return {
    seeds: [...sizes.keys()].map((host) => `http://${host}/`),
    pages: new Set(urls),
    latencyMs: numberOf(site, 'latency_ms') ?? 0,
    answer: ({ host, path }) => {
      const index = path === '/' ? 0 : Number(/^\/page-(\d+)$/.exec(path)?.[1] ?? -1);
      const pages = sizes.get(host) ?? 0;
      if (index < 0 || index >= pages) return undefined;
      return {
        status: 200,
        headers: [['Content-Type', 'text/html; charset=utf-8']],
        body: pageOf(host, index, linksTo(index, pages, linksPerPage), bytes),
      };
    },
  };
}

function pathOf(index: number): string {
  return index === 0 ? '/' : `/page-${index}`;
}

/** Page i leads to the pages behind it in a tree of this width, which makes all reachable, and to some others up to that number. */
function linksTo(index: number, pages: number, count: number): readonly number[] {
  const to = new Set<number>();
  for (let n = 1; n <= count; n++) if (index * count + n < pages) to.add(index * count + n);
  for (let n = 1; to.size < Math.min(count, pages - 1) && n <= 4 * count; n++) {
    const other = (index * 31 + n * 17) % pages;
    if (other !== index) to.add(other);
  }
  return [...to];
}

function pageOf(host: string, index: number, links: readonly number[], bytes: number): string {
  const name = `${host} ${index}`;
  const items = links.map((to) => `<li><a href="${pathOf(to)}">page ${to}</a>`).join('\n');
  const head = `<!doctype html><title>${name}</title><h1>${name}</h1><p>${words(name, 60)}</p><ul>${items}</ul>`;
  return bytes <= head.length ? head : `${head}<pre>${noise(name, bytes - head.length - 5)}</pre>`;
}

/** Words made of the name's hash: two pages have none in common but by chance. */
function words(name: string, count: number): string {
  const made: string[] = [];
  for (let n = 0; made.length < count; n++)
    made.push(
      ...hash('sha256', `${name} ${n}`)
        .replace(/\d/g, (digit) => 'ghijklmnop'[Number(digit)]!)
        .match(/.{8}/g)!,
    );
  return made.slice(0, count).join(' ');
}

/** Text that hardly compresses. */
function noise(name: string, length: number): string {
  const parts: string[] = [];
  for (let n = 0, made = 0; made < length; n++) {
    const part = hash('sha512', `${name} ${n}`, 'base64');
    parts.push(part);
    made += part.length;
  }
  return parts.join('').slice(0, length);
}
