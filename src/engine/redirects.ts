/**
 * Redirect chains (row A6): a redirect is an outcome whose target becomes a find; it is never followed inline.
 * A chain ends at its limit, or when it comes back to a URL it has been at and no cookie changed in between.
 */
import type { QueueEntry, RedirectChain } from '../core/records.ts';
import { registrableDomain } from '../url/index.ts';

export type RedirectStep =
  | { readonly kind: 'go'; readonly chain: RedirectChain }
  | { readonly kind: 'loop' }
  | { readonly kind: 'too-many' };

/** Bytes of cookies a chain carries at most. */
const COOKIES_MAX = 4_096;

export function redirectStep(
  entry: QueueEntry,
  from: string,
  fromHost: string,
  target: string,
  targetHost: string,
  setCookies: readonly string[],
  maxRedirects: number,
): RedirectStep {
  const before = entry.chain;
  const hops = (before?.hops ?? 0) + 1;
  if (hops > maxRedirects) return { kind: 'too-many' };
  const sameSite = registrableDomain(fromHost) === registrableDomain(targetHost);
  const cookies = sameSite ? mergeCookies(before?.cookies ?? '', setCookies) : '';
  const urls = [...(before?.urls ?? []), from];
  if (urls.includes(target) && cookies === (before?.cookies ?? '')) return { kind: 'loop' };
  return { kind: 'go', chain: { hops, fromSeed: before?.fromSeed ?? entry.kind === 'seed', cookies, urls } };
}

/** Name and value of each cookie; a later one replaces an earlier one of its name. Attributes are not looked at: the chain stays within one site and lasts seconds. */
export function mergeCookies(before: string, setCookies: readonly string[]): string {
  if (setCookies.length === 0) return before;
  const pairs = new Map<string, string>();
  for (const pair of before === '' ? [] : before.split('; ')) pairs.set(pair.slice(0, pair.indexOf('=')), pair);
  for (const line of setCookies) {
    const pair = line.split(';', 1)[0]!.trim();
    const equals = pair.indexOf('=');
    if (equals > 0) pairs.set(pair.slice(0, equals), pair);
  }
  const joined = [...pairs.values()].join('; ');
  return joined.length > COOKIES_MAX ? before : joined;
}
