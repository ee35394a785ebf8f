/**
 * Decides which parts of a page are outside its main text, from the start and end tags of landmarks alone (no tree).
 *
 * Outside are nav, aside, footer, button, select, datalist, textarea, and header unless it is within an article. A landmark that is never closed ends with
 * the landmark around it, and `main` ends all that are open. Without a tree an unclosed one may hide what follows it: FoldedText gives
 * the whole text when nothing is left.
 */
import type { FoldedText } from './folded-text.ts';
import { ASIDE, tagIndex } from './tags.ts';

const HEADER = tagIndex('header');
const ARTICLE = tagIndex('article');
const MAIN = tagIndex('main');
/** Landmarks open at once; deeper ones are not followed. */
const MAX_DEPTH = 256;

export class MainText {
  readonly #text: FoldedText;
  /** Tags open, innermost last; negative: its content stays in the main text. */
  readonly #open: number[] = [];
  #articleDepth = 0;
  #asideDepth = 0;

  constructor(text: FoldedText) {
    this.#text = text;
  }

  reset(): void {
    this.#open.length = 0;
    this.#articleDepth = 0;
    this.#asideDepth = 0;
  }

  startTag(tag: number, traits: number): void {
    if (tag === MAIN) {
      this.#closeTo(0);
      return;
    }
    if (this.#open.length >= MAX_DEPTH) return;
    if (tag === ARTICLE) this.#articleDepth++;
    const isAside = (traits & ASIDE) !== 0 && !(tag === HEADER && this.#articleDepth > 0);
    this.#open.push(isAside ? tag : -tag);
    if (isAside) this.openAside();
  }

  endTag(tag: number): void {
    let at = this.#open.length - 1;
    while (at >= 0 && Math.abs(this.#open[at]!) !== tag) at--;
    if (at >= 0) this.#closeTo(at);
  }

  openAside(): void {
    if (this.#asideDepth++ === 0) this.#text.openGap();
  }

  closeAside(): void {
    if (--this.#asideDepth === 0) this.#text.closeGap();
  }

  #closeTo(depth: number): void {
    while (this.#open.length > depth) {
      const tag = this.#open.pop()!;
      if (tag === -ARTICLE) this.#articleDepth--;
      if (tag > 0) this.closeAside();
    }
  }
}
