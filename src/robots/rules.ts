/**
 * The rules of one group, and the answer for a path: the longest matching pattern wins, Allow on a tie, no match is allowed
 * (RFC 9309 section 2.2.2). `/robots.txt` itself is always allowed.
 *
 * Plain prefixes are sorted; the one that matches is found by binary search and then by links from each prefix to the longest shorter one
 * that it begins with. Patterns with stars or an end are tried one by one, longest first, as long as one can still win.
 *
 * Invariant: the answer does not depend on the order of the lines. One check takes a bounded number of steps; a path whose check would take
 * more is not allowed, and `explain` says so. Nothing here knows agents, lines or caching.
 */
import { pathForm } from './normal-form.ts';
import { matchesPattern, type Pattern, type StepBudget } from './pattern.ts';

/** Characters that the patterns of one check may pass over: some 10 ms. Thousands of starred patterns against a URL of 1,000 bytes stay below. */
export const CHECK_STEPS_MAX = 8_000_000;
/** Up to this many prefixes a walk from the end is faster than the binary search. */
const WALKED_PREFIXES_MAX = 6;
/** Estimated heap of a rule beyond the characters of its pattern, and of a set of rules, in bytes. */
const RULE_OVERHEAD_BYTES = 120;
const SET_OVERHEAD_BYTES = 512;

export interface RobotsRules {
  /** Whether a URL may be fetched, by its path and query (begins with '/'; a fragment is ignored). */
  isAllowed(pathQuery: string): boolean;
  /** The same answer with the line of robots.txt that decided it; `rule` has the pattern in its normal form, '' without a rule. */
  explain(pathQuery: string): RobotsExplanation;
  /** Milliseconds asked for between two fetches by the group that applies; undefined when it asks for nothing. */
  readonly crawlDelayMs: number | undefined;
  /** Texts of all Sitemap lines, whatever their group, without repeats, in order. Not checked to be URLs. */
  readonly sitemaps: readonly string[];
  /** Sitemap lines left out: too many, or too long. */
  readonly sitemapsDropped: number;
  /** The body was longer than what is parsed; the rest had no say. */
  readonly truncated: boolean;
  /** Lines of the group that applies whose pattern can match something. */
  readonly ruleCount: number;
  /** Estimated heap held by this value, in bytes. */
  readonly sizeBytes: number;
}

export interface RobotsExplanation {
  readonly allowed: boolean;
  /** Line in robots.txt, counted from 1; 0 when no line decided. */
  readonly line: number;
  readonly rule: string;
}

export interface Rule {
  readonly pattern: Pattern;
  readonly allow: boolean;
  readonly line: number;
}

export interface RuleSetParts {
  readonly rules: readonly Rule[];
  readonly crawlDelayMs?: number | undefined;
  readonly sitemaps?: readonly string[];
  readonly sitemapsDropped?: number;
  readonly truncated?: boolean;
}

const ALLOWED_BY_NONE: RobotsExplanation = Object.freeze({ allowed: true, line: 0, rule: '' });
const STEPS_SPENT: RobotsExplanation = Object.freeze({ allowed: false, line: 0, rule: 'matching the patterns takes too many steps' });
const UNREACHABLE: RobotsExplanation = Object.freeze({ allowed: false, line: 0, rule: 'robots.txt is unreachable' });

export class RuleSet implements RobotsRules {
  readonly crawlDelayMs: number | undefined;
  readonly sitemaps: readonly string[];
  readonly sitemapsDropped: number;
  readonly truncated: boolean;
  readonly ruleCount: number;
  readonly sizeBytes: number;
  /** Plain prefixes in the order of their text, no two alike. */
  readonly #plain: readonly Rule[];
  readonly #prefixes: readonly string[];
  /** For each prefix the index of the longest other one that it begins with, or -1. */
  readonly #parents: Int32Array;
  /** The other patterns, longest first, Allow before Disallow among equals, no two alike. */
  readonly #starred: readonly Rule[];
  readonly #budget: StepBudget = { left: 0 };

  constructor(parts: RuleSetParts) {
    this.crawlDelayMs = parts.crawlDelayMs;
    this.sitemaps = parts.sitemaps ?? [];
    this.sitemapsDropped = parts.sitemapsDropped ?? 0;
    this.truncated = parts.truncated ?? false;
    this.ruleCount = parts.rules.length;
    this.#plain = withoutRepeats(parts.rules.filter((rule) => rule.pattern.kind === 'plain').sort(byText));
    this.#prefixes = this.#plain.map((rule) => rule.pattern.text);
    this.#parents = parentsOf(this.#prefixes);
    this.#starred = withoutRepeats(parts.rules.filter((rule) => rule.pattern.kind !== 'plain').sort(byText)).sort(byRank);
    this.sizeBytes = sizeOf([...this.#plain, ...this.#starred], this.sitemaps);
  }

  isAllowed(pathQuery: string): boolean {
    if (this.ruleCount === 0 || pathQuery === '/robots.txt') return true;
    const path = pathForm(pathQuery);
    const rule = this.#ruleFor(path);
    return this.#budget.left >= 0 && (rule === undefined || rule.allow || path === '/robots.txt');
  }

  explain(pathQuery: string): RobotsExplanation {
    const path = pathForm(pathQuery);
    if (path === '/robots.txt') return ALLOWED_BY_NONE;
    const rule = this.#ruleFor(path);
    if (this.#budget.left < 0) return STEPS_SPENT;
    if (rule === undefined) return ALLOWED_BY_NONE;
    return { allowed: rule.allow, line: rule.line, rule: `${rule.allow ? 'Allow' : 'Disallow'}: ${rule.pattern.text}` };
  }

  /** The rule that decides, or undefined. Void when the budget is below zero afterwards. */
  #ruleFor(path: string): Rule | undefined {
    this.#budget.left = CHECK_STEPS_MAX;
    const plain = this.#longestPrefix(path);
    const rank = plain === undefined ? 0 : plain.pattern.text.length;
    for (const rule of this.#starred) {
      const length = rule.pattern.text.length;
      if (length < rank || (length === rank && plain?.allow === true)) break;
      const matches = matchesPattern(rule.pattern, path, this.#budget);
      if (this.#budget.left < 0) return undefined;
      if (!matches) continue;
      return length === rank && !rule.allow ? plain : rule;
    }
    return plain;
  }

  #longestPrefix(path: string): Rule | undefined {
    const prefixes = this.#prefixes;
    if (prefixes.length <= WALKED_PREFIXES_MAX) {
      // A prefix of the path that begins with another one sorts behind it: the first hit from the end is the longest.
      for (let index = prefixes.length - 1; index >= 0; index--) if (path.startsWith(prefixes[index]!)) return this.#plain[index];
      return undefined;
    }
    let index = lastNotAfter(prefixes, path);
    // All between the longest matching prefix and the path itself begin with that prefix, so their links lead to it.
    while (index >= 0 && !path.startsWith(prefixes[index]!)) index = this.#parents[index]!;
    return this.#plain[index];
  }
}

/** Everything allowed: there is no robots.txt (4xx). */
export function allowAllRules(): RobotsRules {
  return new RuleSet({ rules: [] });
}

/** Nothing allowed but /robots.txt: it cannot be reached (5xx, 429, network). */
export function denyAllRules(): RobotsRules {
  return {
    isAllowed: (pathQuery) => pathQuery === '/robots.txt',
    explain: (pathQuery) => (pathQuery === '/robots.txt' ? ALLOWED_BY_NONE : UNREACHABLE),
    crawlDelayMs: undefined,
    sitemaps: [],
    sitemapsDropped: 0,
    truncated: false,
    ruleCount: 0,
    sizeBytes: SET_OVERHEAD_BYTES,
  };
}

function byText(a: Rule, b: Rule): number {
  if (a.pattern.text !== b.pattern.text) return a.pattern.text < b.pattern.text ? -1 : 1;
  if (a.allow !== b.allow) return a.allow ? -1 : 1;
  return a.line - b.line;
}

function byRank(a: Rule, b: Rule): number {
  return b.pattern.text.length - a.pattern.text.length || Number(b.allow) - Number(a.allow) || byText(a, b);
}

/** Of rules in the order of their text, the first of each pattern: Allow before Disallow, then the earliest line. */
function withoutRepeats(sorted: readonly Rule[]): Rule[] {
  return sorted.filter((rule, index) => index === 0 || sorted[index - 1]!.pattern.text !== rule.pattern.text);
}

function parentsOf(prefixes: readonly string[]): Int32Array {
  const parents = new Int32Array(prefixes.length);
  for (let index = 0; index < prefixes.length; index++) {
    let parent = index - 1;
    while (parent >= 0 && !prefixes[index]!.startsWith(prefixes[parent]!)) parent = parents[parent]!;
    parents[index] = parent;
  }
  return parents;
}

/** Index of the last text that is not greater than `path`, or -1. */
function lastNotAfter(sorted: readonly string[], path: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! <= path) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function sizeOf(rules: readonly Rule[], sitemaps: readonly string[]): number {
  let bytes = SET_OVERHEAD_BYTES;
  for (const { pattern } of rules) {
    const copied = pattern.kind === 'plain' ? 0 : pattern.text.length + 48 * pattern.pieces.length;
    bytes += RULE_OVERHEAD_BYTES + pattern.text.length + copied;
  }
  for (const sitemap of sitemaps) bytes += 32 + 2 * sitemap.length;
  return bytes;
}
