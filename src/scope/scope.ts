/**
 * What may be crawled: the operator's scope, the include and exclude patterns, and the trap guards (rows A3, F2, F3).
 *
 * Invariant: a verdict is a pure function of configuration, seeds, added hosts, the URL and now. Rejected URLs are not remembered, so the same
 * call answers `portolan explain` later. Seeds are exempt: the caller does not ask about them. The blocklist, robots.txt, page budgets and
 * the address guard are other people's business.
 *
 * User patterns are JavaScript regular expressions and may be catastrophic (`(a+)+$`): they run on URLs of at most maxUrlBytes, which is the only bound.
 */
import { counted } from '../core/counted.ts';
import { PortolanError } from '../core/errors.ts';
import type { RejectReason } from '../core/reasons.ts';
import type { EpochMs } from '../core/time.ts';
import { DomainTable, hasKnownSuffix, type SplitUrl, splitUrl } from '../url/index.ts';
import { calendarTrap } from './calendar.ts';
import { facetTrap } from './facets.ts';
import { countParameters } from './query.ts';
import { repeatingSegment } from './repeating-path.ts';

export interface ScopeOptions {
  /**
   * host: the seeds' host keys, in both schemes, with and without `www.`. prefix: the same, and the path begins like a seed's path up to its last
   * slash. domain: the seeds' registrable domains. web: everything.
   */
  readonly mode: 'host' | 'domain' | 'prefix' | 'web';
  /** Regular expressions on the URL as found; with any, one must match. */
  readonly include: readonly string[];
  /** A URL that matches one is rejected, whatever the includes say. */
  readonly exclude: readonly string[];
  /** Links from a seed; undefined: no limit. */
  readonly maxDepth: number | undefined;
  /** Bytes of the URL as found (it is ASCII). */
  readonly maxUrlBytes: number;
  /** Query parameters of the canonical URL, so tracking and session parameters do not count. */
  readonly maxParameters: number;
  /** See repeating-path.ts; 0 switches the guard off. */
  readonly maxSegmentRepeats: number;
}

export interface Verdict {
  readonly reason: RejectReason | undefined;
  /** The rule that decided, in words. */
  readonly rule: string;
}

export interface Scope {
  /** undefined: may be crawled. `parts` are those of `url`; `depth` is in links from a seed. */
  check(url: string, parts: SplitUrl, canonical: string, depth: number, nowEpochMs: EpochMs): RejectReason | undefined;
  explain(url: string, parts: SplitUrl, canonical: string, depth: number, nowEpochMs: EpochMs): Verdict;
  /** Of what a page is shown with, which comes from any host: only its length and scope.exclude count. */
  checkAsset(url: string): RejectReason | undefined;
  /**
   * A seed redirected to this host: it joins the scope, in scope domain with its registrable domain, in scope prefix with the seeds' prefixes, or with
   * the path of its own when given as `hostKey/path/`. False when it was in already, and always in scope web. The caller keeps what
   * was added and hands it in as `extraHosts` next time.
   */
  addHost(hostKey: string): boolean;
}

/** `seeds` as from parseSeed; `extraHosts` as given to addHost. Throws PORTOLAN_CONFIG_INVALID for a pattern that does not compile. */
export function createScope(options: ScopeOptions, seeds: readonly string[], extraHosts: readonly string[]): Scope {
  const scope = new ConfiguredScope(options, seeds);
  for (const host of extraHosts) scope.addHost(host);
  return scope;
}

interface Area {
  /** In words, for explain. */
  readonly words: string;
  contains(parts: SplitUrl): boolean;
  add(hostKey: string): boolean;
}

class ConfiguredScope implements Scope {
  readonly #options: ScopeOptions;
  readonly #area: Area;
  readonly #include: readonly RegExp[];
  readonly #exclude: readonly RegExp[];

  constructor(options: ScopeOptions, seeds: readonly string[]) {
    this.#options = options;
    this.#area = areaOf(options.mode, seeds);
    this.#include = options.include.map((text) => compiled(text, 'scope.include'));
    this.#exclude = options.exclude.map((text) => compiled(text, 'scope.exclude'));
  }

  check(url: string, parts: SplitUrl, canonical: string, depth: number, nowEpochMs: EpochMs): RejectReason | undefined {
    const options = this.#options;
    if (url.length > options.maxUrlBytes) return 'url-too-long';
    if (!this.#area.contains(parts)) return 'out-of-scope';
    if (this.#exclude.length > 0 && firstMatch(this.#exclude, url) !== undefined) return 'excluded';
    if (this.#include.length > 0 && firstMatch(this.#include, url) === undefined) return 'not-included';
    if (options.maxDepth !== undefined && depth > options.maxDepth) return 'too-deep';
    return trapReason(options, canonical, parts.origin.length, nowEpochMs);
  }

  explain(url: string, parts: SplitUrl, canonical: string, depth: number, nowEpochMs: EpochMs): Verdict {
    const reason = this.check(url, parts, canonical, depth, nowEpochMs);
    return { reason, rule: this.#rule(reason, url, canonical, depth, nowEpochMs, parts) };
  }

  checkAsset(url: string): RejectReason | undefined {
    if (url.length > this.#options.maxUrlBytes) return 'url-too-long';
    return this.#exclude.length > 0 && firstMatch(this.#exclude, url) !== undefined ? 'excluded' : undefined;
  }

  addHost(hostKey: string): boolean {
    return this.#area.add(hostKey);
  }

  #rule(reason: RejectReason | undefined, url: string, canonical: string, depth: number, nowEpochMs: EpochMs, parts: SplitUrl): string {
    const options = this.#options;
    const { path, query } = pathAndQuery(canonical, parts.origin.length);
    switch (reason) {
      case undefined:
        return this.#include.length > 0
          ? `${this.#area.words}, and scope.include ${firstMatch(this.#include, url)} matches`
          : this.#area.words;
      case 'url-too-long':
        return `the URL has ${url.length} bytes, scope.maxUrlBytes is ${options.maxUrlBytes}`;
      case 'out-of-scope':
        return `${parts.hostKey}${options.mode === 'prefix' ? parts.pathQuery : ''} is not in ${this.#area.words}`;
      case 'excluded':
        return `scope.exclude ${firstMatch(this.#exclude, url)} matches`;
      case 'not-included':
        return this.#include.length === 1
          ? 'the pattern of scope.include does not match'
          : `none of the ${this.#include.length} patterns of scope.include matches`;
      case 'too-deep':
        return `${counted(depth, 'link')} from a seed, scope.maxDepth is ${options.maxDepth}`;
      case 'too-many-parameters':
        return `${countParameters(query)} query parameters, scope.maxParameters is ${options.maxParameters}`;
      case 'trap-repeating-path':
        return `path segment "${repeatingSegment(path, options.maxSegmentRepeats)}" repeats, scope.maxSegmentRepeats is ${options.maxSegmentRepeats}`;
      case 'trap-calendar':
        return `the date ${calendarTrap(path, query, nowEpochMs)} lies outside the window in which calendars are believed`;
      case 'trap-facets':
        return `filters are piled up in the query: "${facetTrap(query)}" is one too many`;
      default:
        return reason;
    }
  }
}

function trapReason(options: ScopeOptions, canonical: string, pathStart: number, nowEpochMs: EpochMs): RejectReason | undefined {
  const { path, query } = pathAndQuery(canonical, pathStart);
  if (query !== '' && countParameters(query) > options.maxParameters) return 'too-many-parameters';
  if (repeatingSegment(path, options.maxSegmentRepeats) !== undefined) return 'trap-repeating-path';
  if (query !== '' && facetTrap(query) !== undefined) return 'trap-facets';
  return calendarTrap(path, query, nowEpochMs) === undefined ? undefined : 'trap-calendar';
}

function pathAndQuery(canonical: string, pathStart: number): { readonly path: string; readonly query: string } {
  const mark = canonical.indexOf('?', pathStart);
  if (mark < 0) return { path: canonical.slice(pathStart), query: '' };
  return { path: canonical.slice(pathStart, mark), query: canonical.slice(mark + 1) };
}

function compiled(text: string, key: string): RegExp {
  try {
    return new RegExp(text);
  } catch (cause) {
    throw new PortolanError('PORTOLAN_CONFIG_INVALID', `${key}: "${text}" is not a regular expression: ${(cause as Error).message}`, {
      remedy: 'write a JavaScript regular expression without slashes around it; a literal . ? + ( [ needs a backslash',
      cause,
    });
  }
}

function firstMatch(patterns: readonly RegExp[], url: string): RegExp | undefined {
  for (const pattern of patterns) if (pattern.test(url)) return pattern;
  return undefined;
}

function areaOf(mode: ScopeOptions['mode'], seeds: readonly string[]): Area {
  const area = { web: () => new WebArea(), host: () => new HostArea(), prefix: () => new PrefixArea(), domain: () => new DomainArea() }[
    mode
  ]();
  for (const seed of seeds) {
    const { hostKey, pathQuery } = splitUrl(seed);
    const query = pathQuery.indexOf('?');
    const path = query < 0 ? pathQuery : pathQuery.slice(0, query);
    area.add(mode === 'prefix' ? hostKey + path.slice(0, path.lastIndexOf('/') + 1) : hostKey);
  }
  return area;
}

class WebArea implements Area {
  readonly words = 'the whole web (scope web)';
  contains(): boolean {
    return true;
  }
  add(): boolean {
    return false;
  }
}

/** `www.` at the beginning says nothing, unless nothing with a dot is left (`www.com`). */
function withoutWww(hostKey: string): string {
  return hostKey.startsWith('www.') && hostKey.includes('.', 4) ? hostKey.slice(4) : hostKey;
}

/** An added entry may be `hostKey` or `hostKey/path/`. */
function hostKeyOf(entry: string): string {
  const slash = entry.indexOf('/');
  return (slash < 0 ? entry : entry.slice(0, slash)).toLowerCase();
}

class HostArea implements Area {
  readonly #hosts = new Set<string>();

  get words(): string {
    return `the ${this.#hosts.size === 1 ? 'host' : `${this.#hosts.size} hosts`} of the seeds, with and without www. (scope host)`;
  }

  contains(parts: SplitUrl): boolean {
    return this.#hosts.has(withoutWww(parts.hostKey));
  }

  add(entry: string): boolean {
    const host = withoutWww(hostKeyOf(entry));
    if (this.#hosts.has(host)) return false;
    this.#hosts.add(host);
    return true;
  }
}

class PrefixArea implements Area {
  readonly #prefixes = new Map<string, string[]>();
  /** Prefixes of the entries that had one: those of a host that was added without. */
  readonly #given = new Set<string>();

  get words(): string {
    return `the seeds' URLs up to their last slash, on ${counted(this.#prefixes.size, 'host')} with and without www. (scope prefix)`;
  }

  contains(parts: SplitUrl): boolean {
    const prefixes = this.#prefixes.get(withoutWww(parts.hostKey));
    if (prefixes === undefined) return false;
    for (const prefix of prefixes) if (parts.pathQuery.startsWith(prefix)) return true;
    return false;
  }

  add(entry: string): boolean {
    const host = withoutWww(hostKeyOf(entry));
    const slash = entry.indexOf('/');
    const known = this.#prefixes.get(host) ?? [];
    const wanted = slash < 0 ? (known.length > 0 ? [] : [...this.#given]) : [entry.slice(slash)];
    const added = wanted.filter((prefix) => !known.some((shorter) => prefix.startsWith(shorter)));
    if (slash >= 0) this.#given.add(entry.slice(slash));
    if (added.length === 0) return false;
    this.#prefixes.set(host, [...known, ...added]);
    return true;
  }
}

class DomainArea implements Area {
  readonly #table = new DomainTable();
  readonly #domains = new Set<string>();
  /** Domains under a suffix that the list does not know (`shop.test`): their sub-domains are found by walking up. */
  readonly #unlisted = new Set<string>();

  get words(): string {
    return `the ${this.#domains.size} registrable domains of the seeds (scope domain)`;
  }

  contains(parts: SplitUrl): boolean {
    if (this.#domains.has(this.#table.registrableDomain(parts.host))) return true;
    if (this.#unlisted.size === 0) return false;
    for (let dot = parts.host.indexOf('.'); dot >= 0; dot = parts.host.indexOf('.', dot + 1)) {
      if (this.#unlisted.has(parts.host.slice(dot + 1))) return true;
    }
    return false;
  }

  add(entry: string): boolean {
    const host = splitUrl(`http://${hostKeyOf(entry)}/`).host;
    const listed = hasKnownSuffix(host);
    const domain = listed ? this.#table.registrableDomain(host) : withoutWww(host);
    if (this.#domains.has(domain)) return false;
    this.#domains.add(domain);
    if (!listed) this.#unlisted.add(domain);
    return true;
  }
}
