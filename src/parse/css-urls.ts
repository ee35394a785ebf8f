/**
 * The URLs that a style sheet, a style element or a style attribute asks for: `url(…)` and `src(…)` with a string, the strings of @import and of image-set.
 *
 * The part of CSS Syntax Level 3 that this takes: comments, strings, escapes, names, url tokens (sections 4.3.2 to 4.3.7). What stands in a comment or in a
 * string is none of these, and @namespace names a URL that is never fetched. Nothing is resolved or judged; `data:` and fragments alone are left
 * out, since they ask for nothing.
 */
const NAME = /(?:[\w-]|[^\x00-\x7f]|\\[^\n\r\f])+/y;
const SPACE = /(?:[ \t\n\r\f]|\/\*[\s\S]*?(?:\*\/|$))*/y;
const WHITES = /[ \t\n\r\f]*/y;
const BAD_IN_URL = /[\s"'(]/;
const WHITE = /[ \t\n\r\f]/;
/** White space in front of the parenthesis is looked at so far. */
const SPACES_MAX = 64;
const ESCAPE = /\\(?:([0-9a-f]{1,6})(?:\r\n|[ \t\n\r\f])?|(\r\n|[\n\r\f])|([\s\S]))/gi;
/** What cannot begin anything that matters is skipped in one step. */
const DULL = /[^"'\\/@\w()\-;{}\u0080-\uffff]+/y;

/** Calls `found` with each, in order, escapes undone. */
export function cssUrls(css: string, found: (url: string) => void): void {
  new CssScanner(css, found).scan();
}

class CssScanner {
  readonly #css: string;
  readonly #found: (url: string) => void;
  #at = 0;
  /** Of the statement that is being read: `import` until its URL is there, `namespace`, or nothing. */
  #statement: '' | 'import' | 'namespace' = '';
  /** Open parentheses, and among how many of them the strings of an image-set stand; −1 outside of one. */
  #depth = 0;
  #imageSet = -1;

  constructor(css: string, found: (url: string) => void) {
    this.#css = css;
    this.#found = found;
  }

  scan(): void {
    while (this.#at < this.#css.length) this.#step(this.#css[this.#at]!);
  }

  #step(unit: string): void {
    if (unit === '"' || unit === "'") this.#string(this.#isWanted());
    else if (unit === '/' && this.#css[this.#at + 1] === '*') this.#match(SPACE);
    else if (unit === '@') this.#atRule();
    else if (unit === '(') this.#open();
    else if (unit === ')') this.#close();
    else if (unit === ';' || unit === '{' || unit === '}') this.#endStatement();
    else if (this.#startsName()) this.#name();
    else if (this.#match(DULL) === '') this.#at++;
  }

  #startsName(): boolean {
    NAME.lastIndex = this.#at;
    return NAME.test(this.#css);
  }

  #endStatement(): void {
    this.#at++;
    this.#statement = '';
    this.#depth = 0;
    this.#imageSet = -1;
  }

  #atRule(): void {
    this.#at++;
    const name = this.#startsName() ? unescaped(this.#match(NAME)).toLowerCase() : '';
    this.#statement = name === 'import' || name === 'namespace' ? name : '';
  }

  #name(): void {
    const name = unescaped(this.#match(NAME)).toLowerCase();
    if (this.#css[this.#at] !== '(') return;
    if (name === 'url' || name === 'src') this.#urlFunction(name);
    else this.#open(name.endsWith('image-set'));
  }

  #open(isImageSet = false): void {
    this.#at++;
    this.#depth++;
    if (isImageSet && this.#imageSet < 0) this.#imageSet = this.#depth;
  }

  #close(): void {
    this.#at++;
    this.#depth = Math.max(0, this.#depth - 1);
    if (this.#depth < this.#imageSet) this.#imageSet = -1;
  }

  /** `url(` with a string is a function, otherwise one token up to its parenthesis; a bad one is skipped. */
  #urlFunction(name: string): void {
    this.#open();
    this.#match(WHITES);
    const quote = this.#css[this.#at];
    if (quote === '"' || quote === "'") {
      this.#string(this.#statement !== 'namespace');
      return;
    }
    if (name !== 'url') return;
    const end = this.#endOfUrl();
    if (end.isGood) this.#tell(this.#css.slice(this.#at, end.at), this.#statement !== 'namespace');
    this.#at = end.at + 1;
    this.#depth--;
  }

  /** Where the parenthesis of a url token stands (sections 4.3.6 and 4.3.14): a bad one has quotes, parentheses or white space within. */
  #endOfUrl(): { readonly at: number; readonly isGood: boolean } {
    const css = this.#css;
    let isGood = true;
    let at = this.#at;
    for (; at < css.length && css[at] !== ')'; at++) {
      if (css[at] === '\\') at++;
      else if (BAD_IN_URL.test(css[at]!))
        isGood = isGood && WHITE.test(css[at]!) && /^[ \t\n\r\f]*(?:\)|$)/.test(css.slice(at, at + SPACES_MAX));
    }
    return { at: Math.min(at, css.length), isGood };
  }

  /** A string by itself is a URL behind @import, and right within an image-set. */
  #isWanted(): boolean {
    return this.#statement === 'import' ? this.#depth === 0 : this.#imageSet >= 0 && this.#depth === this.#imageSet;
  }

  /** Up to its quote; a line break that is not escaped ends it, and it is a bad one. */
  #string(isWanted: boolean): void {
    const quote = this.#css[this.#at];
    let end = this.#at + 1;
    while (end < this.#css.length && this.#css[end] !== quote && !/[\n\r\f]/.test(this.#css[end]!)) end += this.#css[end] === '\\' ? 2 : 1;
    const isWhole = end >= this.#css.length || this.#css[end] === quote;
    if (isWhole) this.#tell(this.#css.slice(this.#at + 1, end), isWanted);
    this.#at = end + 1;
  }

  /** After its URL an @import has only conditions, of which no string is a URL. */
  #tell(raw: string, isWanted: boolean): void {
    if (!isWanted) return;
    if (this.#statement === 'import') this.#statement = 'namespace';
    const url = unescaped(raw).trim();
    if (url !== '' && !url.startsWith('#') && !/^data:/i.test(url)) this.#found(url);
  }

  #match(pattern: RegExp): string {
    return this.#exec(pattern)?.[0] ?? '';
  }

  #exec(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#css) ?? undefined;
    this.#at += match?.[0].length ?? 0;
    return match;
  }
}

/** Section 4.3.7; an escaped line break is nothing. */
function unescaped(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(ESCAPE, (_, hex: string | undefined, _line: string | undefined, char: string | undefined) => {
    if (hex === undefined) return char ?? '';
    const code = Number.parseInt(hex, 16);
    return code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? '\ufffd' : String.fromCodePoint(code);
  });
}
