/**
 * parse5 as the second opinion on a page: the tokens its parser is given (so that tree construction has switched the tokenizer), and
 * the tree it builds. Scripting is off. What is read out of them follows the rules of src/parse/page.ts, written a second time.
 */
import { defaultTreeAdapter, foreignContent, Parser, parse, type Token, type DefaultTreeAdapterTypes as Tree } from 'parse5';

export interface OraclePage {
  /** `kind href nofollow`, one for each link before any folding of repeats. */
  readonly links: readonly string[];
  readonly baseHref: string | undefined;
  readonly title: string;
  readonly canonicalHref: string | undefined;
  readonly metaRobots: readonly string[];
}

interface OracleTag {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly isForeign: boolean;
}

const SPACES = /[\t\n\f\r ]+/;

class TokenRecorder extends Parser<Tree.DefaultTreeAdapterMap> {
  readonly tags: OracleTag[] = [];
  title: string | undefined;
  #isInTitle = false;

  override onStartTag(token: Token.TagToken): void {
    const attributes = new Map(token.attrs.map((attribute) => [attribute.name, attribute.value]));
    const isForeign = this.shouldProcessStartTagTokenInForeignContent(token) && !foreignContent.causesExit(token);
    const name = token.tagName;
    if (this.openElements.tmplCount === 0 && name !== 'template') {
      this.tags.push({ name, attributes, isForeign });
      if (name === 'title' && !isForeign && this.title === undefined) {
        this.title = '';
        this.#isInTitle = true;
      }
    }
    super.onStartTag(token);
  }

  override onEndTag(token: Token.TagToken): void {
    this.#isInTitle = false;
    super.onEndTag(token);
  }

  override onCharacter(token: Token.CharacterToken): void {
    this.#collect(token.chars);
    super.onCharacter(token);
  }

  override onNullCharacter(token: Token.CharacterToken): void {
    this.#collect(token.chars);
    super.onNullCharacter(token);
  }

  override onWhitespaceCharacter(token: Token.CharacterToken): void {
    this.#collect(token.chars);
    super.onWhitespaceCharacter(token);
  }

  #collect(chars: string): void {
    if (this.#isInTitle) this.title += chars;
  }
}

/** By the tokens: misplaced elements count, as they do for the scanner. */
export function oracleByTokens(html: string, robotsNames: readonly string[]): OraclePage {
  const recorder = new TokenRecorder({ scriptingEnabled: false });
  recorder.tokenizer.write(html, true);
  return pageOf(recorder.tags, recorder.title ?? '', robotsNames);
}

/** By the tree a browser would have. */
export function oracleByTree(html: string, robotsNames: readonly string[]): OraclePage & { readonly squeezedText: string } {
  const tags: OracleTag[] = [];
  const titles: string[] = [];
  let text = '';
  walk(parse(html, { scriptingEnabled: false }), (node, isShown) => {
    if (defaultTreeAdapter.isTextNode(node)) {
      if (isShown) text += node.value;
    } else if (defaultTreeAdapter.isElementNode(node)) {
      const isForeign = node.namespaceURI !== 'http://www.w3.org/1999/xhtml';
      tags.push({
        name: node.tagName,
        attributes: new Map(node.attrs.map(({ name, value, prefix }) => [prefix ? `${prefix}:${name}` : name, value])),
        isForeign,
      });
      if (node.tagName === 'title' && !isForeign)
        titles.push(node.childNodes.map((child) => ('value' in child ? child.value : '')).join(''));
    }
  });
  return { ...pageOf(tags, titles[0] ?? '', robotsNames), squeezedText: squeeze(text) };
}

/** Without white space and controls: what is left to compare when folding differs. */
export function squeeze(text: string): string {
  return text.replace(/[\0-\x20\u00a0]+/g, '');
}

const HIDDEN = new Set(['script', 'style', 'title', 'iframe', 'noembed', 'noframes', 'svg']);

function walk(node: Tree.Node, visit: (node: Tree.Node, isShown: boolean) => void, isShown = true): void {
  visit(node, isShown);
  if ('content' in node && node.attrs.some(({ name, value }) => name === 'shadowrootmode' && /^(open|closed)$/i.test(value))) {
    walk(node.content, visit, isShown);
  }
  if ('childNodes' in node)
    for (const child of node.childNodes) walk(child, visit, isShown && !('tagName' in node && HIDDEN.has(node.tagName)));
}

function pageOf(tags: readonly OracleTag[], title: string, robotsNames: readonly string[]): OraclePage {
  const links: string[] = [];
  const metaRobots: string[] = [];
  let baseHref: string | undefined;
  let canonicalHref: string | undefined;
  for (const { name, attributes, isForeign } of tags) {
    const get = (key: string) => attributes.get(key)?.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '');
    const rel = (get('rel') ?? '').toLowerCase().split(SPACES);
    const add = (kind: string, href: string | undefined) => {
      if (href !== undefined) links.push(linkLine(kind, href, rel.includes('nofollow') && !/^(i?frame|meta)$/.test(name)));
    };
    if (name === 'a') add('a', isForeign ? (get('href') ?? get('xlink:href')) : get('href'));
    if (isForeign) continue;
    if (name === 'area') add('area', get('href'));
    if (name === 'frame' || name === 'iframe') add(name, get('src') || undefined);
    if (name === 'base') baseHref ??= get('href');
    if (name === 'link' && get('href')) {
      if (rel.includes('canonical')) canonicalHref ??= get('href');
      const kind = ['canonical', 'next', 'prev'].find((word) => rel.includes(word)) ?? (isAlternate(rel, get) ? 'alternate' : undefined);
      if (kind !== undefined) add(kind, get('href'));
    }
    if (name === 'meta' && attributes.has('content')) {
      const metaName = get('name')?.toLowerCase() ?? '';
      if (robotsNames.includes(metaName)) metaRobots.push(`${metaName}: ${get('content')}`);
      if (get('http-equiv')?.toLowerCase() === 'refresh') add('refresh', refreshTarget(get('content') ?? ''));
    }
  }
  return { links, baseHref, title: foldTitle(title), canonicalHref, metaRobots };
}

export function linkLine(kind: string, href: string, isNofollow: boolean): string {
  return JSON.stringify([kind, href.replace(/\r\n?/g, '\n'), isNofollow]);
}

function foldTitle(title: string): string {
  return title.replace(/[\t\n\f\r ]+/g, ' ').replace(/^ | $/g, '');
}

function isAlternate(rel: readonly string[], get: (key: string) => string | undefined): boolean {
  if (!rel.includes('alternate') || rel.includes('stylesheet')) return false;
  const type = (get('type') ?? '').replace(/;.*/s, '').trim().toLowerCase();
  return type === '' ? get('hreflang') !== undefined || get('media') !== undefined : ['text/html', 'application/xhtml+xml'].includes(type);
}

function refreshTarget(content: string): string | undefined {
  const match = /^\s*[\d.]+(?:\s*[;,]\s*|\s+)(?:url\s*=\s*)?(?:"([^"]*)"?|'([^']*)'?|([^"'].*)|)/is.exec(content);
  return (match?.[1] ?? match?.[2] ?? match?.[3])?.trim() || undefined;
}
