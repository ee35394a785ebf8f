/** What the tests of the parse room share. */
import { readFileSync } from 'node:fs';
import { HtmlParser } from '../../src/parse/html.ts';
import type { ParsedPage, ParseOptions } from '../../src/parse/page.ts';
import { linkLine } from './oracle.ts';

export const ROBOTS_NAMES: readonly string[] = ['robots', 'portolan'];
export const OPTIONS: ParseOptions = { maxLinks: 10_000, text: 'both', robotsNames: ROBOTS_NAMES };

export function parsePage(html: string, options: Partial<ParseOptions> = {}): ParsedPage {
  return new HtmlParser().parse(html, { ...OPTIONS, ...options });
}

export function hrefs(html: string, options: Partial<ParseOptions> = {}): readonly string[] {
  return parsePage(html, options).links.map((link) => link.href);
}

/** The main text as a string. */
export function mainOf(page: ParsedPage): string {
  return String.fromCharCode(...page.mainText);
}

/** Links as the oracle writes them. */
export function linkLines(page: ParsedPage): readonly string[] {
  return page.links.map((link) => linkLine(link.kind, link.href, link.nofollow));
}

/** What the scanner keeps of the oracle's links: the first of each (href without fragment, nofollow). */
export function firstOfEach(lines: readonly string[]): readonly string[] {
  const seen = new Set<string>();
  return lines.filter((line) => {
    const [, href, isNofollow] = JSON.parse(line) as [string, string, boolean];
    const key = JSON.stringify([href.replace(/#.*/s, ''), isNofollow]);
    return !seen.has(key) && seen.add(key);
  });
}

/** Text with repetitions: [text, times] in a vector file. */
export type Parts = readonly (string | readonly [string, number])[];
export function joined(parts: Parts): string {
  return parts.map((part) => (typeof part === 'string' ? part : part[0].repeat(part[1]))).join('');
}

export function readVectors<Case>(name: string): readonly Case[] {
  const file = new URL(`../vectors/${name}`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { readonly cases: readonly Case[] }).cases;
}

/** Links of a page as a crawler requests them: resolved, http and https only, without fragment. */
export function resolved(html: string, pageUrl: string): readonly string[] {
  const page = parsePage(html);
  const base = page.baseHref === undefined ? pageUrl : new URL(page.baseHref, pageUrl).href;
  return page.links.flatMap(({ href }) => {
    if (!URL.canParse(href, base)) return [];
    const url = new URL(href, base);
    url.hash = '';
    return url.protocol === 'http:' || url.protocol === 'https:' ? [url.href] : [];
  });
}
