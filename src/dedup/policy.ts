/**
 * Which pages may be called duplicates of another at all. Invariant: empty bodies, error pages and broken-off pages are nobody's copy and nobody's
 * original, and pages of few words are only ever exact copies; otherwise they would form one great cluster, and each of them would hide its
 * links and its body behind a page that it has nothing to do with.
 */
import type { OutcomeCode } from '../core/reasons.ts';

/** Under so many words a page is only ever an exact copy, byte for byte: a menu, "Loading…", a gallery frame have the same few words everywhere. */
export const NEAR_WORDS_MIN = 50;
/** Largest share of words with a digit (tables of figures, lists of versions) at which text without them still stands for the page. */
export const DIGIT_SHARE_MAX = 0.2;
/** Bits apart at which two pages are the same (0 … 3); the index guarantees no more than 3. */
export const NEAR_DISTANCE_MAX = 3;

/**
 * Estimated Jaccard index (sketch.ts) from which a candidate is a near-duplicate. A little over the 0.9 that is meant, for the estimate's own error.
 */
export const LIKENESS_MIN = 0.92;

export interface PageFacts {
  /** HTTP status of the final response. */
  readonly status: number;
  readonly outcome: OutcomeCode;
}

/**
 * Whether equal bodies make this page a copy, and whether it may be the original of one: a whole 2xx body that is not empty. However short it is,
 * nothing is lost with a copy: its links are followed all the same.
 */
export function exactEligible(page: PageFacts & { readonly bodyBytes: number }): boolean {
  return isWhole(page) && page.bodyBytes > 0;
}

/**
 * Whether text hash and SimHash of this page mean anything: a whole 2xx page of at least 50 words. Only such pages go into the index.
 * With `digitWords` (SimHasher.digitWords) a page that is mostly numbers is told apart too: its SimHash has not seen what it is about.
 */
export function nearEligible(page: PageFacts & { readonly words: number; readonly digitWords?: number }): boolean {
  const digitWords = page.digitWords ?? 0;
  return isWhole(page) && page.words >= NEAR_WORDS_MIN && digitWords <= DIGIT_SHARE_MAX * (page.words + digitWords);
}

function isWhole(page: PageFacts): boolean {
  return page.outcome === 'ok' && page.status >= 200 && page.status < 300;
}
