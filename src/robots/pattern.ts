/**
 * One path pattern of an Allow or Disallow line (RFC 9309 section 2.2.3): octets, `*` for any run of octets, `$` at the end for the end of the URL.
 *
 * Invariant: matching goes over the path once, whatever the pattern: each piece between two stars is searched from where the last one ended,
 * leftmost first, as a piece found further left never spoils a match. Nothing is tried again, and no regular expression is made from a pattern.
 * A search for one piece costs at most path length × piece length comparisons.
 */
import { normalForm } from './normal-form.ts';

export interface Pattern {
  /** Normal form, with `*` and the last `$` as written. Its length is the pattern's rank: the longest match wins. */
  readonly text: string;
  /** What stands before the first star. */
  readonly prefix: string;
  /** What stands between and behind the stars. Empty pieces are left out, but for the last of an anchored pattern. */
  readonly pieces: readonly string[];
  /** plain: the prefix is all; exact: the prefix is the whole URL; open: stars; anchored: stars, and the last piece ends the URL. */
  readonly kind: 'plain' | 'exact' | 'open' | 'anchored';
}

/** Characters that a check may still pass over. Below zero: the answer is not to be used. */
export interface StepBudget {
  left: number;
}

const NO_PIECES: readonly string[] = Object.freeze([]);

/** Pattern of the value of a line, given as octets. Undefined when it can match no URL: it begins with neither '/' nor '*'. */
export function compilePattern(octets: string): Pattern | undefined {
  if (!octets.startsWith('/') && !octets.startsWith('*')) return undefined;
  const ends = octets.endsWith('$');
  if (!ends && !octets.includes('*')) {
    const text = normalForm(octets);
    return { text, prefix: text, pieces: NO_PIECES, kind: 'plain' };
  }
  const parts = (ends ? octets.slice(0, -1) : octets).split('*').map(normalForm);
  const text = parts.join('*') + (ends ? '$' : '');
  const prefix = parts[0]!;
  if (parts.length === 1) return { text, prefix, pieces: NO_PIECES, kind: 'exact' };
  const last = parts.length - 1;
  const pieces = parts.filter((part, index) => index > 0 && (part !== '' || (ends && index === last)));
  return { text, prefix, pieces: pieces.length === 0 ? NO_PIECES : pieces, kind: ends ? 'anchored' : 'open' };
}

/**
 * Whether the pattern matches a path in normal form. Takes from the budget the characters it passes over, at most path length + pattern length
 * + 1; when that makes it fall below zero the answer is void.
 */
export function matchesPattern(pattern: Pattern, path: string, budget: StepBudget): boolean {
  const { prefix, pieces, kind } = pattern;
  budget.left -= 1 + Math.min(prefix.length, path.length);
  if (!path.startsWith(prefix)) return false;
  if (kind === 'plain') return true;
  if (kind === 'exact') return path.length === prefix.length;
  const searched = kind === 'anchored' ? pieces.length - 1 : pieces.length;
  let from = prefix.length;
  for (let index = 0; index < searched; index++) {
    const piece = pieces[index]!;
    const found = path.indexOf(piece, from);
    if (found < 0) {
      budget.left -= path.length - from;
      return false;
    }
    budget.left -= found - from + piece.length;
    from = found + piece.length;
  }
  if (kind === 'open') return true;
  const tail = pieces[searched]!;
  budget.left -= tail.length;
  return path.length - tail.length >= from && path.endsWith(tail);
}
