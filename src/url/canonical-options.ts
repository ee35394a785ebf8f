/**
 * Which query parameters and path parameters say nothing about the page. Names are compared in lower case; one that ends in `*` stands for
 * every name with that beginning. The lists shape URL keys: a crawl keeps those it was started with.
 */
import { PortolanError } from '../core/errors.ts';

export interface CanonicalOptions {
  /** Query parameters that name a campaign or a click; dropped whatever their value. */
  readonly trackingParameters: readonly string[];
  /** Session parameters; dropped from the query and from path segments (`;name=value`) whatever their value. */
  readonly sessionParameters: readonly string[];
  /** Names with more than one use: dropped, in both places, only when the value looks like a session id. */
  readonly ambiguousParameters: readonly string[];
}

export const DEFAULT_CANONICAL_OPTIONS: CanonicalOptions = Object.freeze({
  trackingParameters: Object.freeze([
    'utm_*',
    'mtm_*',
    'pk_campaign',
    'pk_kwd',
    'pk_source',
    'pk_medium',
    'pk_content',
    'piwik_campaign',
    'piwik_kwd',
    'gclid',
    'gclsrc',
    'dclid',
    'gbraid',
    'wbraid',
    'gad_source',
    'gad_campaignid',
    '_ga',
    '_gl',
    'srsltid',
    'fbclid',
    'fb_action_ids',
    'fb_action_types',
    'fb_source',
    'igshid',
    'msclkid',
    'twclid',
    'ttclid',
    'li_fat_id',
    'epik',
    'rdt_cid',
    'yclid',
    'ysclid',
    '_openstat',
    'mc_cid',
    'mc_eid',
    'mkt_tok',
    '_hsenc',
    '_hsmi',
    '__hssc',
    '__hstc',
    '__hsfp',
    'hsctatracking',
    'hsa_*',
    'oly_anon_id',
    'oly_enc_id',
    'vero_id',
    'vero_conv',
    'wickedid',
    '_branch_match_id',
    'irclickid',
  ]),
  sessionParameters: Object.freeze([
    'jsessionid',
    'phpsessid',
    'phpsessionid',
    'aspsessionid*',
    'asp.net_sessionid',
    'cfid',
    'cftoken',
    'oscsid',
    'zenid',
  ]),
  ambiguousParameters: Object.freeze(['ref', 'referrer', 'sid', 's', 'sess', 'sessid', 'session', 'sessionid', 'session_id', 'session-id']),
});

export type NameRule = 'drop' | 'drop-if-session';

/** The lists, ready for look-ups. A name in two lists is dropped whatever its value. */
export class ParameterRules {
  readonly #exact = new Map<string, NameRule>();
  readonly #beginnings: (readonly [beginning: string, rule: NameRule])[] = [];
  /** session and ambiguous names only, for path parameters. */
  readonly path: ParameterRules | undefined;

  /** Throws PORTOLAN_CONFIG_INVALID for an empty name and for a `*` that is not at the end. */
  constructor(options: CanonicalOptions, forPath = false) {
    this.#add(options.ambiguousParameters, 'drop-if-session');
    this.#add(options.sessionParameters, 'drop');
    if (!forPath) this.#add(options.trackingParameters, 'drop');
    this.path = forPath ? undefined : new ParameterRules(options, true);
  }

  /** `name` as written, escapes of unreserved characters decoded. */
  ruleFor(name: string): NameRule | undefined {
    const lower = name.toLowerCase();
    const exact = this.#exact.get(lower);
    if (exact !== undefined) return exact;
    for (const [beginning, rule] of this.#beginnings) if (lower.startsWith(beginning)) return rule;
    return undefined;
  }

  #add(names: readonly string[], rule: NameRule): void {
    for (const name of names) {
      const star = name.indexOf('*');
      if (name === '' || name === '*' || (star >= 0 && star !== name.length - 1)) throw badName(name);
      if (star < 0) this.#exact.set(name.toLowerCase(), rule);
      else this.#beginnings.push([name.slice(0, -1).toLowerCase(), rule]);
    }
  }
}

function badName(name: string): PortolanError {
  return new PortolanError('PORTOLAN_CONFIG_INVALID', `"${name}" is not a parameter name to drop from URLs`, {
    remedy: 'give whole names such as gclid, or a beginning with one star at its end such as utm_*',
  });
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** One word of 16 to 128 letters and digits, and after it at most a node name as servlet containers append (`.node01`, `!-12345`). */
const SESSION_WORD = /^([0-9A-Za-z]{16,128})(?:[.!:][\w.!:-]{0,64})?$/;
const LETTER_DIGIT_CHANGES_MIN = 3;

/**
 * Does a parameter's value look like a session id? A UUID, or at least 16 letters and digits in which letters and digits change places 3 times
 * or more, which random text does and words with a year or number at their end do not.
 */
export function looksLikeSessionId(value: string): boolean {
  if (value.length < 16) return false;
  if (UUID.test(value)) return true;
  const word = SESSION_WORD.exec(value)?.[1];
  return word !== undefined && letterDigitChanges(word) >= LETTER_DIGIT_CHANGES_MIN;
}

function letterDigitChanges(word: string): number {
  let changes = 0;
  for (let index = 1; index < word.length; index++) {
    if (word.charCodeAt(index) < 0x3a !== word.charCodeAt(index - 1) < 0x3a) changes++;
  }
  return changes;
}
