/**
 * From what a page holds to finds on their way: resolve, scope, key, and then either this shard's own admission or another shard's lane.
 * Every link met is counted once here: finderKnown, finderRejected(reason), local or sent.
 */

import type { FindKind, RejectReason } from '../core/reasons.ts';
import type { Find, RedirectChain } from '../core/records.ts';
import { detached } from '../core/text.ts';
import { isIpLiteral } from '../net/address-guard.ts';
import type { Assets } from '../parse/assets.ts';
import type { ParsedPage } from '../parse/page.ts';
import { LinkResolver, type SplitUrl, splitUrl, urlKey } from '../url/index.ts';
import { bump, type Totals } from './accounting.ts';
import { shardOfHost, type ThreadContext } from './context.ts';
import { KNOWN_ELSEWHERE, KNOWN_HERE, LatelyKnown } from './lately-known.ts';
import type { Outbox } from './outbox.ts';

const LETTER_H = 0x68;
const BRACKET = 0x5d;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

/** Links held as lately known, 8 bytes each. */
const LATELY_MAX = 65_536;
const LITERALS_MAX = 4_096;
/** A style sheet may ask for another one, and so on: so many steps from the page at most. */
const ASSET_STEPS_MAX = 5;

/** What became of the links of one page; found = known + local + sent + Σ rejected. */
export interface LinkTally {
  found: number;
  known: number;
  local: number;
  sent: number;
  readonly rejected: Partial<Record<RejectReason, number>>;
}

function newTally(): LinkTally {
  return { found: 0, known: 0, local: 0, sent: 0, rejected: {} };
}

export class FindRouter {
  readonly #context: ThreadContext;
  readonly #shard: number;
  readonly #totals: Totals;
  readonly #outbox: Outbox;
  readonly #admit: (find: Find, parts: SplitUrl) => void;
  readonly #isKnownHere: (hi: number, lo: number) => boolean;
  readonly #key = new Uint32Array(2);
  /** URLs as found. */
  readonly #lately: LatelyKnown;
  #blocklist: unknown;
  readonly #literals = new Map<string, boolean>();

  constructor(
    context: ThreadContext,
    shard: number,
    totals: Totals,
    outbox: Outbox,
    admit: (find: Find, parts: SplitUrl) => void,
    isKnownHere: (hi: number, lo: number) => boolean,
  ) {
    this.#context = context;
    this.#shard = shard;
    this.#totals = totals;
    this.#outbox = outbox;
    this.#admit = admit;
    this.#isKnownHere = isKnownHere;
    this.#lately = new LatelyKnown(LATELY_MAX, context.random);
  }

  /** `pageReason` rejects every link of the page (nofollow, near-duplicate). */
  page(url: string, depth: number, page: ParsedPage, pageReason: RejectReason | undefined, nowMs: number): LinkTally {
    const tally: LinkTally = { found: page.linksFound, known: 0, local: 0, sent: 0, rejected: {} };
    this.#totals.extracted += page.linksFound;
    if (page.linksOverBound > 0) this.#reject(tally, 'too-many-links', page.linksOverBound);
    // Repeats of a link within its page.
    this.#know(tally, page.linksFound - page.links.length - page.linksOverBound);
    if (pageReason !== undefined) {
      this.#reject(tally, pageReason, page.links.length);
      return tally;
    }
    const resolver = new LinkResolver(url, page.baseHref);
    const foundAtS = Math.floor(nowMs / 1_000);
    let parts: SplitUrl | undefined;
    const follows = this.#context.hooks?.follows;
    const on = { url, depth };
    for (const link of page.links) {
      if (link.nofollow) {
        this.#reject(tally, 'nofollow');
        continue;
      }
      if (follows !== undefined && !follows(link, on)) {
        this.#reject(tally, 'filtered');
        continue;
      }
      // An absolute href in its serialised form is its own answer.
      if (link.href.charCodeAt(0) === LETTER_H && this.#isLatelyKnown(tally, link.href, depth + 1)) continue;
      const target = resolver.resolve(link.href);
      if (target === '') {
        this.#reject(tally, resolver.rejected);
        continue;
      }
      if (this.#isLatelyKnown(tally, target, depth + 1)) continue;
      parts = splitUrl(target, parts);
      this.#route(tally, target, parts, 'link', depth + 1, url, foundAtS, nowMs, undefined, false);
    }
    return tally;
  }

  /**
   * What a page or a style sheet is shown with, counted into `tally` (a new one without). `step`: 1 from a page, one more with each style sheet; it stands in for
   * the depth, which does not count here.
   */
  assets(url: string, baseHref: string | undefined, step: number, assets: Assets, nowMs: number, tally: LinkTally = newTally()): LinkTally {
    const { hrefs, found, overBound } = assets;
    tally.found += found;
    this.#totals.extracted += found;
    this.#reject(tally, 'too-many-links', overBound);
    this.#know(tally, found - hrefs.length - overBound);
    if (step > ASSET_STEPS_MAX) {
      this.#reject(tally, 'too-deep', hrefs.length);
      return tally;
    }
    const resolver = new LinkResolver(url, baseHref);
    const foundAtS = Math.floor(nowMs / 1_000);
    for (const href of hrefs) {
      const target = resolver.resolve(href);
      if (target === '') this.#reject(tally, resolver.rejected);
      else this.#route(tally, target, splitUrl(target), 'asset', step, url, foundAtS, nowMs, undefined, false);
    }
    return tally;
  }

  /** Such a URL has passed every rule but depth, and is known here or will be at its owner by our own message. */
  #isLatelyKnown(tally: LinkTally, url: string, depth: number): boolean {
    if (this.#blocklist !== this.#context.blocklist.current) this.forget();
    const place = this.#lately.find(url);
    if (place === 0) return false;
    const { maxDepth } = this.#context.rules;
    if (maxDepth !== undefined && depth > maxDepth) return false;
    if (place === KNOWN_ELSEWHERE) {
      this.#know(tally, 1);
      return true;
    }
    tally.local++;
    this.#totals.local++;
    this.#totals.known++;
    return true;
  }

  /** Another blocklist is in force, or an owner has refused what we held for known: every rule is asked again. */
  forget(): void {
    this.#blocklist = this.#context.blocklist.current;
    this.#lately.clear();
  }

  /** One find that is not a link of a page: the target of a redirect. `exempt` finds pass scope (a seed's redirect). */
  single(
    target: string,
    kind: FindKind,
    depth: number,
    via: string,
    nowMs: number,
    chain: RedirectChain | undefined,
    exempt: boolean,
  ): LinkTally {
    const tally: LinkTally = { found: 1, known: 0, local: 0, sent: 0, rejected: {} };
    this.#totals.extracted++;
    this.#route(tally, target, splitUrl(target), kind, depth, via, Math.floor(nowMs / 1_000), nowMs, chain, exempt);
    return tally;
  }

  #route(
    tally: LinkTally,
    url: string,
    parts: SplitUrl,
    kind: FindKind,
    depth: number,
    via: string,
    foundAtS: number,
    nowMs: number,
    chain: RedirectChain | undefined,
    exempt: boolean,
  ): void {
    const { scope, canonicalize, blocklist, hooks } = this.#context;
    const canonical = canonicalize(url);
    const reason = exempt ? undefined : kind === 'asset' ? scope.checkAsset(url) : scope.check(url, parts, canonical, depth, nowMs);
    if (reason !== undefined) {
      this.#reject(tally, reason);
      return;
    }
    if (!exempt && hooks?.admits !== undefined && !hooks.admits(url, { depth, via, kind })) {
      this.#reject(tally, 'filtered');
      return;
    }
    if (blocklist.current.size > 0 && blocklist.current.matchesUrl(url, parts) !== undefined) {
      this.#reject(tally, 'blocklisted');
      return;
    }
    if (this.#isForbiddenLiteral(parts.host)) {
      this.#reject(tally, 'forbidden-address');
      return;
    }
    urlKey(canonical, this.#key);
    const keyHi = this.#key[0]!;
    const keyLo = this.#key[1]!;
    const owner = shardOfHost(this.#context, parts.host);
    // A redirect's target is always told to its owner: only there is known whether its own chain leads back to it (A6).
    if (owner === this.#shard) {
      tally.local++;
      this.#totals.local++;
      if (chain === undefined && this.#isKnownHere(keyHi, keyLo)) {
        this.#totals.known++;
        if (kind !== 'asset') this.#lately.remember(url, KNOWN_HERE);
      } else this.#admit({ url, keyHi, keyLo, kind, depth, via, foundAtS, chain }, parts);
      return;
    }
    if (chain === undefined && this.#outbox.knows(owner, keyHi, keyLo)) {
      this.#know(tally, 1);
      if (kind !== 'asset') this.#lately.remember(url, KNOWN_ELSEWHERE);
      return;
    }
    tally.sent++;
    bump(this.#totals.sent, owner);
    this.#outbox.add(owner, { url, keyHi, keyLo, kind, depth, via, foundAtS, chain });
  }

  /** Names are vetted when they are resolved; a literal is its own answer. */
  #isForbiddenLiteral(host: string): boolean {
    const last = host.charCodeAt(host.length - 1);
    if (last !== BRACKET && (last < DIGIT_0 || last > DIGIT_9)) return false;
    let forbidden = this.#literals.get(host);
    if (forbidden === undefined) {
      const address = isIpLiteral(host);
      forbidden = address !== undefined && !this.#context.guard.verdict(address).allowed;
      if (this.#literals.size >= LITERALS_MAX) this.#literals.clear();
      this.#literals.set(detached(host), forbidden);
    }
    return forbidden;
  }

  /** One find that goes no further: the target of a redirect that cannot or must not be followed. */
  refused(reason: RejectReason): LinkTally {
    const tally: LinkTally = { found: 1, known: 0, local: 0, sent: 0, rejected: {} };
    this.#totals.extracted++;
    this.#reject(tally, reason);
    return tally;
  }

  #reject(tally: LinkTally, reason: RejectReason, count = 1): void {
    if (count === 0) return;
    tally.rejected[reason] = (tally.rejected[reason] ?? 0) + count;
    bump(this.#totals.finderRejected, reason, count);
  }

  #know(tally: LinkTally, count: number): void {
    tally.known += count;
    this.#totals.finderKnown += count;
  }
}
