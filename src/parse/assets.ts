/**
 * What a page is shown with: images, styles, scripts, media, fonts. A pass of its own over the page, made only when assets are asked for, so that a crawl
 * without them pays nothing; the tokens are those of html-tokens.ts.
 *
 * Everything is as written in the page, references decoded: nothing is resolved or judged. Content of template is inert and left out. What scripts would
 * ask for is not known. Frames are links of the page, not assets.
 */
import { decodeHTMLAttribute } from 'entities/decode';
import { cssUrls } from './css-urls.ts';
import { EOF, HtmlTokens, SLASH } from './html-tokens.ts';
import { RAW_TEXT, TAG_NAMES, TAG_TRAITS, tagIndex } from './tags.ts';

const BANG = 33;
const QUESTION = 63;
const DASH = 45;
const SCRIPT = tagIndex('script');
const PLAINTEXT = tagIndex('plaintext');
const STYLE = tagIndex('style');
const TEMPLATE = tagIndex('template');
const TEXTAREA = tagIndex('textarea');
const TITLE = tagIndex('title');

/** Attributes that name an asset, by element. */
const SOURCES: ReadonlyMap<string, readonly string[]> = new Map([
  ['img', ['src', 'srcset']],
  ['source', ['src', 'srcset']],
  ['script', ['src']],
  ['video', ['src', 'poster']],
  ['audio', ['src']],
  ['track', ['src']],
  ['embed', ['src']],
  ['object', ['data']],
  ['image', ['href', 'xlink:href']],
  ['use', ['href', 'xlink:href']],
  ['feimage', ['href', 'xlink:href']],
  ['body', ['background']],
  ['table', ['background']],
  ['td', ['background']],
  ['th', ['background']],
]);
const ASSET_RELS = new Set([
  'stylesheet',
  'icon',
  'apple-touch-icon',
  'apple-touch-icon-precomposed',
  'mask-icon',
  'preload',
  'modulepreload',
  'manifest',
]);
const ATTRIBUTE = /([^\s/>][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?/g;

export interface Assets {
  /** In page order, each once (without its fragment), at most `max`. */
  readonly hrefs: readonly string[];
  /** Every one met; found = hrefs.length + repeats + overBound. */
  readonly found: number;
  readonly overBound: number;
}

export const NO_ASSETS: Assets = { hrefs: [], found: 0, overBound: 0 };

/** Of a page; `max`: most that are kept. */
export function htmlAssets(html: string, max: number): Assets {
  const bag = new Bag(max);
  new AssetScanner(html, bag).scan();
  return bag.assets();
}

/** Of a style sheet. */
export function cssAssets(css: string, max: number): Assets {
  const bag = new Bag(max);
  cssUrls(css, (url) => bag.add(url));
  return bag.assets();
}

class Bag {
  readonly #max: number;
  readonly #hrefs = new Set<string>();
  #found = 0;
  #overBound = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(written: string | undefined): void {
    const href = written?.trim() ?? '';
    const fragment = href.indexOf('#');
    const bare = fragment < 0 ? href : href.slice(0, fragment);
    if (bare === '' || /^(?:data|blob|about|javascript):/i.test(bare)) return;
    this.#found++;
    if (this.#hrefs.has(bare)) return;
    if (this.#hrefs.size >= this.#max) this.#overBound++;
    else this.#hrefs.add(bare);
  }

  assets(): Assets {
    return this.#found === 0 ? NO_ASSETS : { hrefs: [...this.#hrefs], found: this.#found, overBound: this.#overBound };
  }
}

class AssetScanner {
  readonly #tokens = new HtmlTokens();
  readonly #html: string;
  readonly #bag: Bag;
  #templateDepth = 0;

  constructor(html: string, bag: Bag) {
    this.#html = html;
    this.#bag = bag;
    this.#tokens.reset(html);
  }

  /** As HtmlParser's scan, of which only tags matter here. */
  scan(): void {
    const { units, end } = this.#tokens;
    for (let open = this.#html.indexOf('<'); open !== -1 && open + 1 < end; ) {
      const unit = units[open + 1]!;
      let from = open + 1;
      if (this.#tokens.isLetter(open + 1)) from = this.#startTag(open + 1);
      else if (unit === SLASH) from = this.#endTag(open + 2);
      else if (unit === BANG && units[open + 2] === DASH && units[open + 3] === DASH) from = this.#tokens.behindComment(open + 4);
      else if (unit === BANG || unit === QUESTION) from = this.#tokens.behindGreater(open + 2);
      open = this.#html.indexOf('<', from);
    }
  }

  #startTag(nameStart: number): number {
    const tokens = this.#tokens;
    tokens.readTagName(nameStart);
    const { tag, nameEnd } = tokens;
    const next = tokens.behindTag(false);
    if (next === EOF) return tokens.end;
    if (tag === TEMPLATE) this.#templateDepth++;
    else if (this.#templateDepth === 0) this.#read(this.#html.slice(nameStart, nameEnd).toLowerCase(), this.#html.slice(nameEnd, next - 1));
    const isText = (TAG_TRAITS[tag]! & RAW_TEXT) !== 0 || tag === TEXTAREA || tag === TITLE;
    return isText ? this.#text(tag, next) : next;
  }

  #text(tag: number, start: number): number {
    const tokens = this.#tokens;
    if (tag === PLAINTEXT) return tokens.end;
    const end = tag === SCRIPT ? tokens.scriptEnd(start) : tokens.rawEnd(TAG_NAMES[tag]!, start);
    if (tag === STYLE && this.#templateDepth === 0) cssUrls(this.#html.slice(start, end), (url) => this.#bag.add(url));
    return end;
  }

  #endTag(nameStart: number): number {
    const tokens = this.#tokens;
    if (!tokens.isLetter(nameStart)) return tokens.behindGreater(nameStart);
    tokens.readTagName(nameStart);
    const { tag } = tokens;
    const next = tokens.behindTag(false);
    if (tag === TEMPLATE && this.#templateDepth > 0) this.#templateDepth--;
    return next === EOF ? tokens.end : next;
  }

  /** `text`: what stands between the name and the `>`. */
  #read(name: string, text: string): void {
    const wanted = SOURCES.get(name) ?? (name === 'link' || name === 'input' ? [] : undefined);
    if (wanted === undefined && !/style/i.test(text)) return;
    const attributes = attributesOf(text);
    for (const attribute of wanted ?? []) this.#take(attribute, attributes.get(attribute));
    if (name === 'link') this.#link(attributes);
    if (name === 'input' && attributes.get('type')?.trim().toLowerCase() === 'image') this.#bag.add(attributes.get('src'));
    const style = attributes.get('style');
    if (style !== undefined) cssUrls(style, (url) => this.#bag.add(url));
  }

  #take(attribute: string, value: string | undefined): void {
    if (value === undefined) return;
    if (attribute === 'srcset') for (const url of srcsetUrls(value)) this.#bag.add(url);
    else this.#bag.add(value);
  }

  #link(attributes: ReadonlyMap<string, string>): void {
    const rels = (attributes.get('rel') ?? '').toLowerCase().split(/[\t\n\f\r ]+/);
    if (!rels.some((rel) => ASSET_RELS.has(rel))) return;
    this.#bag.add(attributes.get('href'));
    for (const url of srcsetUrls(attributes.get('imagesrcset') ?? '')) this.#bag.add(url);
  }
}

/** The first of each name, names in lower case, references decoded. */
function attributesOf(text: string): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  for (const [, name = '', double, single, bare = ''] of text.matchAll(ATTRIBUTE)) {
    const lower = name.toLowerCase();
    const value = double ?? single ?? bare;
    if (!attributes.has(lower)) attributes.set(lower, value.includes('&') ? decodeHTMLAttribute(value) : value);
  }
  return attributes;
}

/** URLs of a srcset (HTML Living Standard, "parse a srcset attribute"): a URL may have commas within, but not at its end; descriptors may have parentheses. */
export function srcsetUrls(text: string): readonly string[] {
  const urls: string[] = [];
  const pattern = /[\s,]*([^\s]+)/y;
  const descriptors = /(?:[^,(]|\([^)]*(?:\)|$))*(?:,|$)/y;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [, written = ''] = match;
    const url = written.replace(/,+$/, '');
    if (url !== '') urls.push(url);
    if (url.length === written.length) {
      descriptors.lastIndex = pattern.lastIndex;
      pattern.lastIndex += descriptors.exec(text)?.[0].length ?? 0;
    }
  }
  return urls;
}
