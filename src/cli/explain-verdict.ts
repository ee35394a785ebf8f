/**
 * What configuration alone says of a URL: its canonical form and key, whether it may be crawled and the rule that decided. The order of the rules is that of
 * the find router: URL, scope with its patterns and traps, blocklist, address literal. Pure: reads no state, asks nobody.
 */
import { readFileSync } from 'node:fs';
import type { Config } from '../config/schema.ts';
import { PortolanError } from '../core/errors.ts';
import type { RejectReason } from '../core/reasons.ts';
import { crawlRules } from '../engine/context.ts';
import { createAddressGuard, isIpLiteral } from '../net/address-guard.ts';
import { Blocklist } from '../scope/blocklist.ts';
import { createScope } from '../scope/scope.ts';
import {
  createCanonicalizer,
  DEFAULT_CANONICAL_OPTIONS,
  keyHex,
  parseSeed,
  registrableDomain,
  type SplitUrl,
  splitUrl,
} from '../url/index.ts';
import { sha256Words } from './sha256.ts';

export interface NamedUrl {
  /** As it would be fetched. */
  readonly url: string;
  readonly parts: SplitUrl;
  readonly canonical: string;
  readonly keyHi: number;
  readonly keyLo: number;
  readonly key: string;
  readonly domain: string;
}

export interface ScopeVerdict {
  readonly allowed: boolean;
  readonly reason: RejectReason | undefined;
  /** The rule that decided, in words. */
  readonly rule: string;
}

/** What cannot be a URL of a crawl at all, with the reason by which it is rejected. */
export interface NoUrl {
  readonly reason: 'invalid-url' | 'not-http';
  readonly rule: string;
}

export function nameUrl(text: string): NamedUrl | NoUrl {
  let url: string;
  try {
    url = parseSeed(text);
  } catch (error) {
    if (!(error instanceof PortolanError)) throw error;
    const rule = error.message.slice(error.message.indexOf('cannot be used: ') + 'cannot be used: '.length);
    return { reason: rule.startsWith('only http') ? 'not-http' : 'invalid-url', rule };
  }
  const parts = splitUrl(url);
  const canonical = createCanonicalizer(DEFAULT_CANONICAL_OPTIONS)(url);
  // As urlKey has it.
  const [keyHi = 0, keyLo = 0] = sha256Words(canonical);
  return { url, parts, canonical, keyHi, keyLo, key: keyHex(keyHi, keyLo), domain: registrableDomain(parts.host) };
}

export interface ScopeInput {
  readonly config: Config;
  /** Seeds that make the scope, as from parseSeed. */
  readonly seeds: readonly string[];
  /** Hosts to which seeds redirected. */
  readonly extraHosts: readonly string[];
  /** Links from a seed. */
  readonly depth: number;
  readonly nowMs: number;
  /** Entries of `portolan block`. */
  readonly blocks?: readonly string[];
}

/** Throws PORTOLAN_CONFIG_INVALID and PORTOLAN_BLOCKLIST_INVALID. */
export function judgeUrl(named: NamedUrl, input: ScopeInput): ScopeVerdict {
  const { config, seeds, extraHosts, depth, nowMs } = input;
  const { url, parts, canonical } = named;
  const { maxDepth } = crawlRules(config, '');
  const verdict = createScope({ ...config.scope, maxDepth }, seeds, extraHosts).explain(url, parts, canonical, depth, nowMs);
  if (verdict.reason !== undefined) return { allowed: false, ...verdict };
  const line = blocklistOf(config)?.matchesUrl(url, parts);
  if (line !== undefined) return { allowed: false, reason: 'blocklisted', rule: `line "${line}" of ${config.politeness.blocklist}` };
  const entry = input.blocks === undefined ? undefined : Blocklist.parse(input.blocks.join('\n'), 'portolan block').matchesUrl(url, parts);
  if (entry !== undefined) return { allowed: false, reason: 'blocklisted', rule: `"${entry}", by portolan block` };
  const literal = isIpLiteral(parts.host);
  const address = literal === undefined ? undefined : createAddressGuard({ allowNets: config.net.allow }).verdict(literal);
  if (address !== undefined && !address.allowed) {
    return { allowed: false, reason: 'forbidden-address', rule: `${literal} is in the range ${address.range}` };
  }
  return { allowed: true, ...verdict };
}

function blocklistOf(config: Config): Blocklist | undefined {
  const file = config.politeness.blocklist;
  if (file === undefined) return undefined;
  try {
    return Blocklist.parse(readFileSync(file, 'utf8'), file);
  } catch (error) {
    if (error instanceof PortolanError) throw error;
    throw new PortolanError('PORTOLAN_BLOCKLIST_INVALID', `the blocklist ${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
      remedy: 'check politeness.blocklist in the configuration',
    });
  }
}
