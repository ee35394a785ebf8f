/**
 * What a parser says about one page: its links, and the few words of its head that rule what may be done with them.
 *
 * Everything here is as written in the page: nothing is resolved, canonicalised or judged. Strings may be views into the page's text
 * (V8 slices keep the whole text alive): keep them for a batch, not for the life of the crawl.
 */

import type { Assets } from './assets.ts';

/**
 * Where a link was written. `refresh` is a meta refresh; `next`, `prev`, `canonical` and `alternate` are link elements, named in the
 * order canonical, next, prev, alternate when rel has several. `alternate` is a page in another language or for another device:
 * hreflang or media is set, or type is an HTML type. Feeds, style sheets and other types are not links.
 */
export type LinkKind = 'a' | 'area' | 'frame' | 'iframe' | 'refresh' | 'next' | 'prev' | 'canonical' | 'alternate';

export interface PageLink {
  /** Character references decoded, C0 controls and spaces trimmed from both ends, otherwise as written; '' for an empty a or area. */
  readonly href: string;
  readonly kind: LinkKind;
  /** The rel of the element has the token nofollow; ugc and sponsored alone do not count. */
  readonly nofollow: boolean;
  /** With ParseOptions.anchorText, for an a element: its text with white space folded; of several with one href the first that has any. */
  readonly text?: string;
}

export interface MetaRobots {
  /** Lower case, one of options.robotsNames. */
  readonly name: string;
  /** As written, references decoded. */
  readonly content: string;
}

export interface ParsedPage {
  /** In page order, at most maxLinks; one entry for each (href without its fragment, nofollow): the first one met. */
  readonly links: readonly PageLink[];
  /** Every link met. linksFound = links.length + repeats within the page + linksOverBound. */
  readonly linksFound: number;
  /** Links met after the bound was reached that equal none of `links`. */
  readonly linksOverBound: number;
  /** href of the first base element that has one, trimmed; '' when it is empty. */
  readonly baseHref: string | undefined;
  /** First title element, white space folded, at most MAX_TITLE_CHARS; '' without one. */
  readonly title: string;
  /** href of the first link rel=canonical that has one. */
  readonly canonicalHref: string | undefined;
  /** In page order, at most MAX_META_ROBOTS. */
  readonly metaRobots: readonly MetaRobots[];
  /** Visible text, white space folded, blocks separated by \n; '' when not asked for. */
  readonly text: string;
  /**
   * Text without navigation, page header and footer, asides and form controls, as UTF-16 code units; none when not asked for. White space is folded only
   * where `text` or the texts of links are asked for too. The array may be
   * the handler's own buffer, which its next page overwrites.
   */
  readonly mainText: Readonly<Uint16Array>;
  /** lang (or xml:lang) of the html element, at most MAX_LANGUAGE_CHARS; undefined when missing or empty. */
  readonly language: string | undefined;
  /** What the page is shown with; undefined when not asked for. */
  readonly assets?: Assets;
}

export interface ParseOptions {
  /** Most links kept; see ParsedPage.linksOverBound. */
  readonly maxLinks: number;
  /** `main` gives mainText alone, `both` text and mainText. */
  readonly text: 'none' | 'main' | 'both';
  /** Names of meta elements reported in metaRobots, lower case: robots and the product token. */
  readonly robotsNames: readonly string[];
  /** xhtml honours `<script/>` and `<![CDATA[`; the rest is read as HTML. Default html. */
  readonly syntax?: 'html' | 'xhtml';
  /** Fill in PageLink.text; needs `text` main or both. Default false. */
  readonly anchorText?: boolean;
  /** Fill in ParsedPage.assets, at most maxLinks of them. Default false. */
  readonly assets?: boolean;
}

export const NO_UNITS: Readonly<Uint16Array> = new Uint16Array(0);
export const MAX_TITLE_CHARS = 2_048;
/** Longer texts of links are cut off. */
export const MAX_ANCHOR_CHARS = 1_024;
export const MAX_LANGUAGE_CHARS = 64;
export const MAX_META_ROBOTS = 32;
