/**
 * What a module of hooks exports, as its author writes it. The module is named by path and imported by every thread of the crawl, since functions
 * cannot be handed from thread to thread; so each thread has its own copy of its variables, and none shares any with the program.
 *
 * All hooks run within the milliseconds of a page: they do not wait, do no I/O and keep no state that a verdict depends on.
 */
import type { FindKind } from '../core/reasons.ts';
import type { LinkKind } from '../parse/page.ts';

/** Exports of a module of hooks; at least one. */
export interface Hooks {
  /** They win over the built-in handlers of HTML, XHTML and plain text. Their types must be in fetch.accept. */
  readonly handlers?: readonly PageHandler[];
  readonly scopeFilter?: ScopeFilter;
  readonly linkFilter?: LinkFilter;
}

export interface PageHandler {
  /** Media types in lower case without parameters: `application/json`. */
  readonly types: readonly string[];
  /** What it throws is said in a notice, and the page is kept as one without links and text. */
  handle(page: HandledPage): PageFindings;
}

export interface HandledPage {
  /** The body with its content coding undone. It is the crawl's own buffer: not to be written to. */
  readonly bytes: Uint8Array;
  /** As the server sent it. */
  readonly contentType: string | undefined;
  /** Lower case, without parameters; found by looking when the server named none. */
  readonly mediaType: string;
  /** The body as text, by the rules that HTML has for its charset. */
  text(): string;
}

/** What a handler finds; everything may be left out. */
export interface PageFindings {
  readonly title?: string;
  /** As written on the page: relative references are resolved by the crawl. More than fetch.maxLinks are rejected. */
  readonly links?: readonly (string | FoundLink)[];
  /** Base of relative references, when it is not the page itself. */
  readonly baseHref?: string;
  /** All readable text. */
  readonly text?: string;
  /** Text by which near-duplicates are found; `text` when it is left out. */
  readonly mainText?: string;
  /** URL that the page names as its canonical one. */
  readonly canonical?: string;
  /** BCP 47. */
  readonly language?: string;
}

export interface FoundLink {
  readonly href: string;
  readonly text?: string;
  readonly nofollow?: boolean;
}

/**
 * Asked about each URL that the configured scope admits, with the URL as found (absolute); seeds and their redirects are not asked about. Only
 * `false` rejects it, as `filtered`. A URL that is already known may be counted as known without being asked about.
 */
export type ScopeFilter = (url: string, found: FoundContext) => boolean;

export interface FoundContext {
  /** Links from a seed that the URL would have. */
  readonly depth: number;
  /** Page that it was found on. */
  readonly via: string;
  readonly kind: FindKind;
}

/** Asked about each link of a page, as written there, before it is resolved. Only `false` rejects it, as `filtered`. */
export type LinkFilter = (link: FilteredLink, page: { readonly url: string; readonly depth: number }) => boolean;

export interface FilteredLink {
  readonly href: string;
  readonly kind: LinkKind;
  readonly nofollow: boolean;
}
