/**
 * Functions of the program that runs the crawl, as the engine calls them: within a thread, on the way of a URL, without waiting for anything.
 *
 * They are pure functions of what they are handed. Nothing here catches what they throw: who makes an EngineHooks from a stranger's module
 * (src/library/hooks.ts) sees to that.
 */
import type { FindKind } from '../core/reasons.ts';
import type { MediaHandler } from '../parse/handlers.ts';
import type { PageLink } from '../parse/page.ts';

/** Where a URL was found. */
export interface FoundAt {
  /** Links from a seed that the URL itself would have. */
  readonly depth: number;
  /** Page that it was found on. */
  readonly via: string;
  readonly kind: FindKind;
}

export interface EngineHooks {
  /** Win over the built-in handlers of the same types. */
  readonly handlers: readonly MediaHandler[];
  /** Asked about each URL that the scope admits, seeds and their redirects aside; false rejects it as `filtered`. */
  readonly admits?: (url: string, found: FoundAt) => boolean;
  /** Asked about each link of a page as it is written there, before it is resolved; false rejects it as `filtered`. */
  readonly follows?: (link: PageLink, page: { readonly url: string; readonly depth: number }) => boolean;
}
