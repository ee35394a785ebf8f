/**
 * Which of svg, math and HTML the scanner is in (HTML Living Standard, 13.2.6.5), from tags alone.
 *
 * Kept are only svg, math and the elements within them that lead back to HTML (integration points). An end tag of an HTML element
 * within svg or math is taken to close an element around them, since the elements it may name cannot be inside. Where that is wrong (a
 * stray end tag, an unknown element around an unclosed svg), at most the title and raw text up to the next HTML tag are read otherwise.
 */
import { ENCODING, FONT_LOOK, type HtmlTokens } from './html-tokens.ts';
import { BREAKOUT, FOREIGN, HTML_ONLY, TAG_TRAITS, tagIndex } from './tags.ts';

const A = tagIndex('a');
const SVG = tagIndex('svg');
const MATH = tagIndex('math');
const FOREIGN_OBJECT = tagIndex('foreignobject');
const DESC = tagIndex('desc');
const TITLE = tagIndex('title');
const ANNOTATION_XML = tagIndex('annotation-xml');
const FONT = tagIndex('font');
/** Elements open at once; deeper ones are not followed. */
const MAX_DEPTH = 256;

export class ForeignContent {
  /** Innermost last. */
  readonly #open: number[] = [];
  /** Anchors of svg open: `</a>` beyond them closes one around the svg. */
  #anchorsOpen = 0;

  reset(): void {
    this.#open.length = 0;
    this.#anchorsOpen = 0;
  }

  /** Whether any svg or math is open. */
  get isOpen(): boolean {
    return this.#open.length > 0;
  }

  /** Whether tags are those of svg or math here, not of HTML. */
  get isInside(): boolean {
    const top = this.#open.at(-1);
    return top === SVG || top === MATH;
  }

  /** Whether text here is shown as text of the page: not the labels and titles of drawings. */
  get showsText(): boolean {
    const top = this.#open.at(-1);
    return top !== SVG && top !== DESC && top !== TITLE;
  }

  /** Enters svg or math from HTML. */
  enter(tag: number, tokens: HtmlTokens): void {
    if (!tokens.isSelfClosing && this.#open.length < MAX_DEPTH) this.#open.push(tag);
  }

  /** Whether a start tag inside svg or math is one of HTML; if so, svg and math have ended. */
  breaksOut(tag: number, tokens: HtmlTokens): boolean {
    if ((TAG_TRAITS[tag]! & BREAKOUT) === 0 && !(tag === FONT && tokens.has(FONT_LOOK))) return false;
    this.#leave();
    return true;
  }

  /** A start tag inside svg or math. */
  startTag(tag: number, tokens: HtmlTokens): void {
    if (tag === A && !tokens.isSelfClosing) this.#anchorsOpen++;
    if ((TAG_TRAITS[tag]! & FOREIGN) === 0) return;
    const isInSvg = this.#open.at(-1) === SVG;
    const isSvgPoint = tag === FOREIGN_OBJECT || tag === DESC || tag === TITLE;
    if (tag === SVG || tag === MATH) this.enter(tag, tokens);
    else if (tag === ANNOTATION_XML ? !isInSvg && isHtmlAnnotation(tokens) : isInSvg === isSvgPoint) this.enter(tag, tokens);
  }

  /** An end tag while any svg or math is open. `isInAnchor`: an anchor of HTML is open around it; `</a>` then closes that, and what is within. */
  endTag(tag: number, isInAnchor: boolean): void {
    if ((TAG_TRAITS[tag]! & FOREIGN) !== 0) {
      const at = this.#open.lastIndexOf(tag);
      if (at !== -1) this.#open.length = at;
    } else if (tag === A && this.#anchorsOpen > 0) {
      this.#anchorsOpen--;
    } else if (tag === A ? isInAnchor : (TAG_TRAITS[tag]! & HTML_ONLY) !== 0) {
      this.#leave();
    }
  }

  #leave(): void {
    while (this.isInside) this.#open.pop();
    this.#anchorsOpen = 0;
  }
}

function isHtmlAnnotation(tokens: HtmlTokens): boolean {
  const encoding = tokens.value(ENCODING)?.toLowerCase();
  return encoding === 'text/html' || encoding === 'application/xhtml+xml';
}
