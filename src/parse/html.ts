/**
 * One pass over a decoded HTML page: links, title, the head's rules and, when asked for, the visible text.
 *
 * The tokens are those of the HTML Living Standard (13.2.5, in html-tokens.ts); no tree is built. Of tree construction (13.2.6) it
 * keeps what changes tokens: raw text elements, svg and math (where title and style are plain markup, and many tags end them), and
 * template. Scripting counts as off, so noscript content is markup.
 *
 * What it does not do: resolve URLs, move or drop misplaced elements as a tree builder would (a frame outside a frameset is still a
 * link), look at style sheets or hidden attributes, run scripts. Content of template is inert, hence neither link nor text, except with
 * shadowrootmode, which is shown. Text of svg is left out, that of math is kept.
 */
import { decodeHTML } from 'entities/decode';
import { FoldedText } from './folded-text.ts';
import { ForeignContent } from './foreign.ts';
import {
  CONTENT,
  DASH,
  EOF,
  HREF,
  HREFLANG,
  HTTP_EQUIV,
  HtmlTokens,
  LANG,
  MEDIA,
  NAME,
  REL,
  SHADOW_ROOT_MODE,
  SLASH,
  SRC,
  TYPE,
  XLINK_HREF,
  XML_LANG,
} from './html-tokens.ts';
import { MainText } from './main-text.ts';
import {
  type LinkKind,
  MAX_ANCHOR_CHARS,
  MAX_LANGUAGE_CHARS,
  MAX_META_ROBOTS,
  MAX_TITLE_CHARS,
  type MetaRobots,
  NO_UNITS,
  type PageLink,
  type ParsedPage,
  type ParseOptions,
} from './page.ts';
import { refreshUrl } from './refresh.ts';
import { SeenHrefs } from './seen-hrefs.ts';
import {
  ASIDE,
  BLOCK,
  ESCAPABLE_TEXT,
  HANDLED,
  LANDMARK,
  RAW_TEXT,
  SHOWN_RAW,
  TAG_NAMES,
  TAG_TRAITS,
  tagIndex,
  WORD_BREAK,
} from './tags.ts';

const BANG = 33;
const QUESTION = 63;

const A = tagIndex('a');
const AREA = tagIndex('area');
const FRAME = tagIndex('frame');
const IFRAME = tagIndex('iframe');
const LINK = tagIndex('link');
const META = tagIndex('meta');
const BASE = tagIndex('base');
const HTML = tagIndex('html');
const TITLE = tagIndex('title');
const TEMPLATE = tagIndex('template');
const SCRIPT = tagIndex('script');
const PLAINTEXT = tagIndex('plaintext');
const SVG = tagIndex('svg');
const MATH = tagIndex('math');

/** The longest title looked at, before folding and cutting. */
const MAX_TITLE_SOURCE_CHARS = 4 * MAX_TITLE_CHARS;

/** Reads one page after another; keeps its buffers between them. Not for two pages at once. */
export class HtmlParser {
  readonly #tokens = new HtmlTokens();
  readonly #text = new FoldedText();
  readonly #mainText = new MainText(this.#text);
  readonly #foreign = new ForeignContent();
  #maxLinks = 0;
  #robotsNames: readonly string[] = [];
  #isXhtml = false;
  #wantsText = false;
  #templateDepth = 0;
  /** An `a` of HTML is open. */
  #isInAnchor = false;

  #links: PageLink[] = [];
  #linksFound = 0;
  #linksOverBound = 0;
  readonly #seenLinks = new SeenHrefs();
  readonly #seenNofollow = new SeenHrefs();
  /** Texts of links by their place in #links; undefined when they are not asked for. */
  #anchorTexts: string[] | undefined;
  readonly #anchorPlaces = new Map<string, number>();
  /** Place of the link whose a element is open, −1 without one, and where its text begins. */
  #openAnchor = -1;
  #anchorFrom = 0;
  #baseHref: string | undefined;
  #title: string | undefined;
  #canonicalHref: string | undefined;
  #metaRobots: MetaRobots[] = [];
  #language: string | undefined;

  parse(html: string, options: ParseOptions): ParsedPage {
    this.#reset(html, options);
    this.#scan();
    this.#closeAnchor();
    this.#tokens.release();
    this.#anchorPlaces.clear();
    this.#seenLinks.reset();
    this.#seenNofollow.reset();
    return {
      links: this.#anchorTexts === undefined ? this.#links : withTexts(this.#links, this.#anchorTexts),
      linksFound: this.#linksFound,
      linksOverBound: this.#linksOverBound,
      baseHref: this.#baseHref,
      title: this.#title ?? '',
      canonicalHref: this.#canonicalHref,
      metaRobots: this.#metaRobots,
      text: options.text === 'both' ? this.#text.text() : '',
      mainText: this.#wantsText ? this.#text.mainUnits() : NO_UNITS,
      language: this.#language,
    };
  }

  #reset(html: string, options: ParseOptions): void {
    this.#tokens.reset(html);
    this.#maxLinks = options.maxLinks;
    this.#robotsNames = options.robotsNames;
    this.#isXhtml = options.syntax === 'xhtml';
    this.#wantsText = options.text !== 'none';
    // The words of the main text alone need no folding, which costs as much as the rest of the scan.
    if (this.#wantsText) this.#text.reset(html.length, options.text === 'both' || options.anchorText === true);
    this.#mainText.reset();
    this.#foreign.reset();
    this.#templateDepth = 0;
    this.#isInAnchor = false;
    this.#links = [];
    this.#linksFound = 0;
    this.#linksOverBound = 0;
    this.#anchorTexts = options.anchorText === true && this.#wantsText ? [] : undefined;
    this.#openAnchor = -1;
    this.#baseHref = undefined;
    this.#title = undefined;
    this.#canonicalHref = undefined;
    this.#metaRobots = [];
    this.#language = undefined;
  }

  /** The data state, 13.2.5.1, with tag open 13.2.5.6. A `<` that begins no markup is text, as is one at the end of the page. */
  #scan(): void {
    const tokens = this.#tokens;
    const html = tokens.html;
    const end = tokens.end;
    let textStart = 0;
    let from = 0;
    while (from < end) {
      const open = html.indexOf('<', from);
      if (open === -1 || open + 1 >= end) break;
      const unit = tokens.units[open + 1]!;
      const isStartTag = tokens.isLetter(open + 1);
      if (!isStartTag && unit !== BANG && unit !== QUESTION && (unit !== SLASH || open + 2 >= end)) {
        from = open + 1;
        continue;
      }
      if (open > textStart && this.#wantsText) this.#writeText(textStart, open);
      from = isStartTag ? this.#startTag(open + 1) : unit === SLASH ? this.#endTagOpen(open + 2) : this.#declaration(open + 2, unit);
      textStart = from;
    }
    if (textStart < end && this.#wantsText) this.#writeText(textStart, end);
  }

  #endTagOpen(nameStart: number): number {
    return this.#tokens.isLetter(nameStart) ? this.#endTag(nameStart) : this.#tokens.behindGreater(nameStart);
  }

  /** Markup declaration open state, 13.2.5.42, and `<?`. */
  #declaration(start: number, unit: number): number {
    const tokens = this.#tokens;
    if (unit === QUESTION) return tokens.behindGreater(start);
    if (tokens.units[start] === DASH && tokens.units[start + 1] === DASH) return tokens.behindComment(start + 2);
    const takesCdata = this.#isXhtml || this.#foreign.isInside;
    return takesCdata && tokens.html.startsWith('[CDATA[', start) ? this.#cdata(start + 7) : tokens.behindGreater(start);
  }

  #cdata(start: number): number {
    const tokens = this.#tokens;
    const close = tokens.find(']]>', start);
    if (this.#showsText()) this.#text.write(tokens.units, start, close);
    return Math.min(close + 3, tokens.end);
  }

  // Tags

  #startTag(nameStart: number): number {
    const tokens = this.#tokens;
    tokens.readTagName(nameStart);
    const tag = tokens.tag;
    const traits = TAG_TRAITS[tag]!;
    const isNearForeign = this.#foreign.isOpen;
    const next = tokens.behindTag((traits & HANDLED) !== 0 || isNearForeign);
    if (next === EOF) return tokens.end;
    if (isNearForeign && this.#foreign.isInside && !this.#foreign.breaksOut(tag, tokens)) {
      this.#startForeign(tag);
      return next;
    }
    return traits === 0 ? next : this.#startKnown(tag, traits, next);
  }

  #startKnown(tag: number, traits: number, next: number): number {
    if ((traits & HANDLED) !== 0) this.#handle(tag);
    if (this.#wantsText && (traits & (BLOCK | WORD_BREAK)) !== 0) this.#break(traits);
    if (this.#isXhtml && this.#tokens.isSelfClosing) return next;
    if ((traits & (RAW_TEXT | ESCAPABLE_TEXT)) !== 0) return this.#textContent(tag, traits, next);
    if ((traits & LANDMARK) !== 0 && this.#wantsText && this.#templateDepth === 0) this.#mainText.startTag(tag, traits);
    if (tag === SVG || tag === MATH) this.#foreign.enter(tag, this.#tokens);
    return next;
  }

  #startForeign(tag: number): void {
    const tokens = this.#tokens;
    if (tag === A && this.#templateDepth === 0) this.#anchor(tokens.value(HREF) ?? tokens.value(XLINK_HREF), 'a');
    this.#foreign.startTag(tag, tokens);
  }

  #endTag(nameStart: number): number {
    const tokens = this.#tokens;
    tokens.readTagName(nameStart);
    const tag = tokens.tag;
    const traits = TAG_TRAITS[tag]!;
    const next = tokens.behindTag(false);
    if (next === EOF) return tokens.end;
    if (this.#foreign.isOpen) this.#foreign.endTag(tag, this.#isInAnchor);
    if (tag === A && !this.#foreign.isInside) this.#isInAnchor = false;
    if (tag === TEMPLATE && this.#templateDepth > 0) this.#templateDepth--;
    if (tag === A && this.#openAnchor >= 0) this.#closeAnchor();
    if (this.#wantsText) {
      if ((traits & (BLOCK | WORD_BREAK)) !== 0) this.#break(traits);
      if ((traits & LANDMARK) !== 0 && this.#templateDepth === 0) this.#mainText.endTag(tag);
    }
    return next;
  }

  // What tags say

  #handle(tag: number): void {
    const tokens = this.#tokens;
    if (tag === TEMPLATE) this.#template();
    else if (this.#templateDepth > 0) return;
    else if (tag === A) {
      this.#isInAnchor = true;
      this.#anchor(tokens.value(HREF), 'a');
    } else if (tag === LINK) this.#linkElement();
    else if (tag === META) this.#meta();
    else if (tag === AREA) this.#anchor(tokens.value(HREF), 'area');
    else if (tag === IFRAME) this.#embedded('iframe');
    else if (tag === FRAME) this.#embedded('frame');
    else if (tag === BASE) this.#baseHref ??= tokens.value(HREF);
    else if (tag === HTML) this.#language ??= this.#languageOfTag();
  }

  #anchor(href: string | undefined, kind: LinkKind): void {
    if (kind === 'a') this.#closeAnchor();
    if (href === undefined) return;
    this.#addLink(href, kind, this.#tokens.has(REL) && hasNofollow(this.#tokens.value(REL) ?? ''));
    if (kind === 'a' && this.#anchorTexts !== undefined) this.#openAnchorOf(href);
  }

  #openAnchorOf(href: string): void {
    const known = this.#anchorPlaces.get(href);
    const place = known ?? this.#links.length - 1;
    if (known === undefined) {
      if (this.#links[place]?.href !== href) return; // beyond the bound, or the same without its fragment
      this.#anchorPlaces.set(href, place);
    }
    this.#openAnchor = place;
    this.#anchorFrom = this.#text.length;
  }

  #closeAnchor(): void {
    const place = this.#openAnchor;
    if (place < 0 || this.#anchorTexts === undefined) return;
    this.#openAnchor = -1;
    if ((this.#anchorTexts[place] ?? '') === '') this.#anchorTexts[place] = this.#text.since(this.#anchorFrom).slice(0, MAX_ANCHOR_CHARS);
  }

  #embedded(kind: LinkKind): void {
    const src = this.#tokens.value(SRC);
    if (src) this.#addLink(src, kind, false);
  }

  #linkElement(): void {
    const tokens = this.#tokens;
    const href = tokens.value(HREF);
    if (!href || !tokens.has(REL)) return;
    const rel = relTokens(tokens.value(REL) ?? '');
    if (rel.includes('canonical')) this.#canonicalHref ??= href;
    const kind = this.#linkKind(rel);
    if (kind !== undefined) this.#addLink(href, kind, rel.includes('nofollow'));
  }

  #linkKind(rel: readonly string[]): LinkKind | undefined {
    const tokens = this.#tokens;
    if (rel.includes('canonical')) return 'canonical';
    if (rel.includes('next')) return 'next';
    if (rel.includes('prev')) return 'prev';
    if (!rel.includes('alternate') || rel.includes('stylesheet')) return undefined;
    const type = essenceOf(tokens.value(TYPE) ?? '');
    if (type !== '') return type === 'text/html' || type === 'application/xhtml+xml' ? 'alternate' : undefined;
    return tokens.has(HREFLANG) || tokens.has(MEDIA) ? 'alternate' : undefined;
  }

  #meta(): void {
    const tokens = this.#tokens;
    const content = tokens.value(CONTENT);
    if (content === undefined) return;
    const name = tokens.value(NAME)?.toLowerCase();
    if (name !== undefined && this.#robotsNames.includes(name) && this.#metaRobots.length < MAX_META_ROBOTS) {
      this.#metaRobots.push({ name, content });
    }
    if (tokens.value(HTTP_EQUIV)?.toLowerCase() !== 'refresh') return;
    const url = refreshUrl(content);
    if (url !== undefined) this.#addLink(url, 'refresh', false);
  }

  #languageOfTag(): string | undefined {
    const language = this.#tokens.value(LANG) || this.#tokens.value(XML_LANG);
    return language ? language.slice(0, MAX_LANGUAGE_CHARS) : undefined;
  }

  #template(): void {
    if (this.#isXhtml && this.#tokens.isSelfClosing) return;
    const mode = this.#templateDepth === 0 ? this.#tokens.value(SHADOW_ROOT_MODE)?.toLowerCase() : undefined;
    if (mode !== 'open' && mode !== 'closed') this.#templateDepth++;
  }

  #addLink(href: string, kind: LinkKind, nofollow: boolean): void {
    this.#linksFound++;
    const fragment = href.indexOf('#');
    const key = fragment === -1 ? href : href.slice(0, fragment);
    const seen = nofollow ? this.#seenNofollow : this.#seenLinks;
    if (this.#links.length >= this.#maxLinks) {
      if (!seen.has(key)) this.#linksOverBound++;
      return;
    }
    if (seen.add(key)) this.#links.push({ href, kind, nofollow });
  }

  // Text

  /** An element whose content is text. Returns the place of its end tag, which is then read like any other. */
  #textContent(tag: number, traits: number, start: number): number {
    const tokens = this.#tokens;
    const end = tag === SCRIPT ? tokens.scriptEnd(start) : tag === PLAINTEXT ? tokens.end : tokens.rawEnd(TAG_NAMES[tag]!, start);
    if (tag === TITLE) {
      if (this.#title === undefined && this.#templateDepth === 0) this.#title = titleOf(tokens.html, start, end);
    } else if ((traits & SHOWN_RAW) !== 0 && this.#showsText()) {
      const isAside = (traits & ASIDE) !== 0;
      if (isAside) this.#mainText.openAside();
      if ((traits & ESCAPABLE_TEXT) !== 0) this.#writeText(start, end);
      else this.#text.write(tokens.units, start, end);
      if (isAside) this.#mainText.closeAside();
    }
    return end;
  }

  #showsText(): boolean {
    return this.#wantsText && this.#templateDepth === 0 && (!this.#foreign.isOpen || this.#foreign.showsText);
  }

  #writeText(start: number, end: number): void {
    if (!this.#showsText()) return;
    const tokens = this.#tokens;
    const ampersand = tokens.nextAmpersand(start);
    if (ampersand >= end) {
      this.#text.write(tokens.units, start, end);
      return;
    }
    this.#text.write(tokens.units, start, ampersand);
    this.#text.writeString(decodeHTML(tokens.html.slice(ampersand, end)));
  }

  #break(traits: number): void {
    if ((traits & BLOCK) !== 0) this.#text.breakLine();
    else this.#text.breakWord();
  }
}

/** One page with buffers of its own; for many pages keep an HtmlParser. */
export function parseHtml(html: string, options: ParseOptions): ParsedPage {
  return new HtmlParser().parse(html, options);
}

function withTexts(links: readonly PageLink[], texts: readonly (string | undefined)[]): PageLink[] {
  return links.map((link, place) => (texts[place] === undefined ? link : { ...link, text: texts[place] }));
}

function titleOf(html: string, start: number, end: number): string {
  const raw = html.slice(start, Math.min(end, start + MAX_TITLE_SOURCE_CHARS));
  const text = decodeHTML(raw)
    .replaceAll('\0', '\ufffd')
    .replace(/[\t\n\f\r ]+/g, ' ');
  const from = text.startsWith(' ') ? 1 : 0;
  return text.slice(from, text.endsWith(' ') ? -1 : undefined).slice(0, MAX_TITLE_CHARS);
}

function relTokens(rel: string): readonly string[] {
  return rel.toLowerCase().split(/[\t\n\f\r ]+/);
}

function hasNofollow(rel: string): boolean {
  return rel.length >= 8 && relTokens(rel).includes('nofollow');
}

function essenceOf(type: string): string {
  const semicolon = type.indexOf(';');
  return (semicolon === -1 ? type : type.slice(0, semicolon)).trim().toLowerCase();
}
