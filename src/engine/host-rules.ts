/**
 * What holds for one host: the crawl's rules with what `hosts` of the configuration says of it in their place, and the headers of its requests.
 *
 * Invariant: what is said of one host is never sent to another. Headers are made anew for each request from the host that is asked, so that a redirect carries
 * nothing along; Authorization and Cookie from fetch.headers go to the hosts of the seeds alone. What is secret is masked in the copy of the
 * headers that is written down.
 *
 * A secret that stands in the environment is read once, here; a missing one ends the crawl before it begins. Without `hosts` every host has the
 * same rules, and finding them costs nothing.
 */
import type { Config } from '../config/schema.ts';
import { PortolanError } from '../core/errors.ts';
import { ACCEPT_ROBOTS, type HeaderList, type RequestAgent, requestHeaders, withHeaders } from '../fetch/headers.ts';
import type { GapOptions } from '../frontier/gap.ts';
import { addressKey } from '../net/address-guard.ts';
import type { LedgerHost } from '../output/ledger-config.ts';
import { HostPatterns, parseSeed, splitUrl } from '../url/index.ts';
import { type CrawlRules, crawlRules } from './context.ts';
import { mergeCookies } from './redirects.ts';

type HostConfig = Config['hosts'][string];
type Secret = string | { readonly env: string };
export type Environment = Readonly<Record<string, string | undefined>>;

/** Stands for a secret wherever it would be written down. */
export const MASK = '***';
/** Rules of so many hosts are kept. */
const HOSTS_KEPT_MAX = 10_000;
/** Names in lower case whose values say who asks: from fetch.headers they go to the seeds' hosts alone. */
const CREDENTIALS = new Set(['authorization', 'cookie']);
/** Headers of `hosts` that are no secret whoever reads them. */
const HARMLESS = /^(?:accept(?:-language)?|cache-control|dnt|origin|pragma|priority|referer|sec-.*|upgrade-insecure-requests)$/;

export interface RequestHeaders {
  readonly sent: HeaderList;
  /** The same with secrets masked, for what is written down. */
  readonly shown: HeaderList;
}

export interface ProxyHost {
  /** Name, or address with the brackets of IPv6. */
  readonly host: string;
  readonly port: number;
  /** TLS to the proxy itself. */
  readonly secure: boolean;
  /** Value of Proxy-Authorization. */
  readonly authorization: string | undefined;
}

export interface HostRules {
  readonly gap: GapOptions;
  /** What the address of the host is owed after an exchange. */
  readonly addressDelayMs: number;
  /** 0 = no limit. */
  readonly pageBudget: number;
  /** Why robots.txt is neither asked for nor obeyed; undefined when it is. */
  readonly robotsIgnored: string | undefined;
  /** Through which the host is asked; its name is then not looked up, and the host alone is the unit of politeness. */
  readonly proxy: ProxyHost | undefined;
  /** File of certificate authorities that are trusted beside the usual ones. */
  readonly caFile: string | undefined;
  readonly insecureTls: boolean;
  /** `cookies`: of a chain of redirects, '' without one. */
  headers(scheme: 'http' | 'https', what: 'page' | 'robots' | 'asset', cookies: string): RequestHeaders;
}

/** An exception that the operator has stated. */
export interface HostException {
  /** As in the configuration. */
  readonly hosts: string;
  readonly what: 'robots.txt is ignored' | 'certificates are not checked';
  readonly reason: string;
}

export function hostExceptions(config: Pick<Config, 'hosts'>): HostException[] {
  return Object.entries(config.hosts).flatMap(([hosts, { robots, tls }]) => [
    ...(robots === undefined ? [] : [{ hosts, what: 'robots.txt is ignored' as const, reason: robots.reason }]),
    ...(tls === undefined ? [] : [{ hosts, what: 'certificates are not checked' as const, reason: tls.reason }]),
  ]);
}

/** What a judge of the ledger needs of `hosts`. */
export function ledgerHosts(config: Config): Readonly<Record<string, LedgerHost>> {
  return Object.fromEntries(
    Object.entries(config.hosts).map(([hosts, { delay, delayFactor, pageBudget, robots, proxy }]) => [
      hosts,
      {
        ...(delay === undefined ? {} : { delayMs: delay, addressDelayMs: addressDelayOf(config, delay) }),
        ...(delayFactor === undefined ? {} : { delayFactor }),
        ...(pageBudget === undefined ? {} : { pageBudget }),
        ...(robots === undefined ? {} : { robotsIgnored: robots.reason }),
        ...(proxy === undefined ? {} : { isProxied: true }),
      },
    ]),
  );
}

/** Why robots.txt of a host is set aside; undefined when it is obeyed. */
export function robotsIgnored(config: Pick<Config, 'hosts'>, hostKey: string): string | undefined {
  const said = new HostPatterns(Object.entries(config.hosts)).matching(hostKey);
  return said.find(({ robots }) => robots !== undefined)?.robots?.reason;
}

/** One header line to add, with its value for the eye. */
interface Extra {
  readonly name: string;
  readonly value: string;
  readonly shown: string;
}

/** An entry of `hosts` with its secrets read. */
interface Entry extends Pick<HostConfig, 'delay' | 'delayFactor' | 'pageBudget' | 'httpsOnly' | 'robots' | 'ca' | 'tls'> {
  readonly headers: readonly Extra[] | undefined;
  readonly authorization: string | undefined;
  readonly cookies: string | undefined;
  readonly proxy: ProxyHost | undefined;
}

export class HostRuleTable {
  readonly #config: Config;
  readonly #rules: CrawlRules;
  readonly #entries: HostPatterns<Entry>;
  readonly #global: readonly Extra[];
  /** Hosts that credentials of fetch.headers go to; empty when there are none of those. */
  readonly #seedHosts: ReadonlySet<string>;
  readonly #known = new Map<string, HostRules>();
  readonly #all: HostRules;

  /** `areas`: seeds that make the scope. Throws PORTOLAN_CONFIG_INVALID for a variable that the environment lacks. */
  constructor(config: Config, version: string, areas: readonly string[] = [], environment: Environment = {}) {
    this.#config = config;
    this.#rules = crawlRules(config, version);
    this.#entries = new HostPatterns(
      Object.entries(config.hosts).map(([key, host]) => [key, readEntry(`hosts.${key}`, host, environment)]),
    );
    this.#global = config.fetch.headers.map(lineOf);
    const hasCredentials = this.#global.some(isCredential);
    this.#seedHosts = new Set(
      hasCredentials ? [...config.seeds.map(parseSeed), ...areas].map((url) => withoutWww(splitUrl(url).host)) : [],
    );
    this.#all = this.#make([], false);
  }

  of(hostKey: string): HostRules {
    if (this.#entries.size === 0 && this.#seedHosts.size === 0) return this.#all;
    const known = this.#known.get(hostKey);
    if (known !== undefined) return known;
    const matching = this.#entries.matching(hostKey);
    const isSeed = this.#seedHosts.has(withoutWww(splitUrl(`http://${hostKey}/`).host));
    const rules = matching.length === 0 && !isSeed ? this.#all : this.#make(matching, isSeed);
    if (this.#known.size >= HOSTS_KEPT_MAX) this.#known.clear();
    this.#known.set(hostKey, rules);
    return rules;
  }

  #make(entries: readonly Entry[], isSeed: boolean): HostRules {
    const say = <K extends keyof Entry>(key: K): Entry[K] | undefined => entries.find((entry) => entry[key] !== undefined)?.[key];
    const { gap, pageBudget } = this.#rules;
    const delayMs = say('delay') ?? gap.delayMs;
    return new RulesOfHost({
      gap: { ...gap, delayMs, delayFactor: say('delayFactor') ?? gap.delayFactor },
      addressDelayMs: addressDelayOf(this.#config, delayMs),
      pageBudget: say('pageBudget') ?? pageBudget,
      robotsIgnored: say('robots')?.reason,
      proxy: say('proxy'),
      caFile: say('ca'),
      insecureTls: say('tls') !== undefined,
      agent: this.#rules.agent,
      plain: this.#global.filter((extra) => isSeed || !isCredential(extra)),
      own: [...(say('headers') ?? []), ...authorizationOf(say('authorization'))],
      cookies: say('cookies') ?? '',
      httpsOnly: say('httpsOnly') ?? false,
    });
  }
}

/** What the address gate is taken for: the address, or behind a proxy, where nobody knows it, the host alone. */
export function gateKey(rules: HostRules, hostKey: string, address: string): string {
  return rules.proxy === undefined ? addressKey(address) : `proxy ${hostKey}`;
}

/** An address is asked no less often than its host may be, unless its pause was set on purpose. */
export function addressDelayOf({ politeness }: Pick<Config, 'politeness'>, hostDelayMs: number): number {
  return politeness.addressDelay ?? Math.min(politeness.delay, hostDelayMs);
}

interface Made extends Omit<HostRules, 'headers'> {
  readonly agent: RequestAgent;
  /** Sent in any case. */
  readonly plain: readonly Extra[];
  /** Sent to this host; over https alone with `httpsOnly`. */
  readonly own: readonly Extra[];
  readonly cookies: string;
  readonly httpsOnly: boolean;
}

class RulesOfHost implements HostRules {
  readonly gap: GapOptions;
  readonly addressDelayMs: number;
  readonly pageBudget: number;
  readonly robotsIgnored: string | undefined;
  readonly proxy: ProxyHost | undefined;
  readonly caFile: string | undefined;
  readonly insecureTls: boolean;
  readonly #made: Made;
  /** Without cookies of a chain, by scheme and what is asked for. */
  readonly #ready = new Map<string, RequestHeaders>();

  constructor(made: Made) {
    this.gap = made.gap;
    this.addressDelayMs = made.addressDelayMs;
    this.pageBudget = made.pageBudget;
    this.robotsIgnored = made.robotsIgnored;
    this.proxy = made.proxy;
    this.caFile = made.caFile;
    this.insecureTls = made.insecureTls;
    this.#made = made;
  }

  headers(scheme: 'http' | 'https', what: 'page' | 'robots' | 'asset', cookies: string): RequestHeaders {
    if (cookies !== '') return this.#build(scheme, what, cookies);
    const key = `${scheme} ${what}`;
    const ready = this.#ready.get(key) ?? this.#build(scheme, what, '');
    this.#ready.set(key, ready);
    return ready;
  }

  #build(scheme: 'http' | 'https', what: 'page' | 'robots' | 'asset', chain: string): RequestHeaders {
    const { agent, plain, own, httpsOnly } = this.#made;
    const base = requestHeaders(
      what === 'robots' ? { ...agent, accept: ACCEPT_ROBOTS } : what === 'asset' ? { ...agent, accept: '*/*' } : agent,
    );
    const extras = [...plain, ...(httpsOnly && scheme === 'http' ? [] : own)];
    // A media type that pages are asked for with is none of robots.txt's, nor of an image's.
    const fitting = what === 'page' ? extras : extras.filter(({ name }) => name.toLowerCase() !== 'accept');
    const cookies = this.#cookies(scheme, fitting, chain);
    const all = [...fitting.filter(({ name }) => name.toLowerCase() !== 'cookie'), ...cookies];
    return {
      sent: withHeaders(
        base,
        all.map(({ name, value }) => [name, value]),
      ),
      shown: withHeaders(
        base,
        all.map(({ name, shown }) => [name, shown]),
      ),
    };
  }

  /** The operator's cookies and the chain's in one line; of one name the server's own word counts. */
  #cookies(scheme: 'http' | 'https', extras: readonly Extra[], chain: string): Extra[] {
    const { cookies, httpsOnly } = this.#made;
    const own = httpsOnly && scheme === 'http' ? '' : cookies;
    const before = own !== '' ? own : (extras.findLast(({ name }) => name.toLowerCase() === 'cookie')?.value ?? '');
    if (before === '' && chain === '') return [];
    const value = before === '' ? chain : chain === '' ? before : mergeCookies(before, chain.split('; '));
    const shown = before === '' ? chain : chain === '' ? MASK : `${MASK}; ${chain}`;
    return [{ name: 'Cookie', value, shown }];
  }
}

function authorizationOf(value: string | undefined): Extra[] {
  return value === undefined ? [] : [{ name: 'Authorization', value, shown: MASK }];
}

function isCredential({ name }: Extra): boolean {
  return CREDENTIALS.has(name.toLowerCase());
}

function lineOf(line: string): Extra {
  const colon = line.indexOf(':');
  const [name, value] = [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  return { name, value, shown: CREDENTIALS.has(name.toLowerCase()) ? MASK : value };
}

/** A configuration that was written down has masks in it: those are never sent. */
function readEntry(key: string, host: HostConfig, environment: Environment): Entry {
  const { delay, delayFactor, pageBudget, httpsOnly, robots, ca, tls, headers, cookies, proxy } = host;
  const text = (secret: Secret, name: string): string => secretText(secret, `${key}.${name}`, environment);
  const auth = host.auth?.password === MASK ? undefined : host.auth;
  return {
    ...{ delay, delayFactor, pageBudget, httpsOnly, robots, ca, tls },
    headers:
      headers === undefined
        ? undefined
        : Object.entries(headers).flatMap(([name, secret]) => {
            const value = fieldValue(text(secret, `headers.${name}`), `${key}.headers.${name}`);
            const shown = typeof secret === 'string' && HARMLESS.test(name.toLowerCase()) ? value : MASK;
            return value === MASK ? [] : [{ name, value, shown }];
          }),
    authorization:
      auth === undefined ? undefined : `Basic ${base64(`${text(auth.user, 'auth.user')}:${text(auth.password, 'auth.password')}`)}`,
    cookies: cookies === undefined ? undefined : fieldValue(cookieText(cookies, text), `${key}.cookies`),
    proxy: proxy === undefined ? undefined : proxyOf(text(proxy, 'proxy'), `${key}.proxy`),
  };
}

function cookieText(cookies: NonNullable<HostConfig['cookies']>, text: (secret: Secret, name: string) => string): string {
  if (cookies === MASK) return '';
  if (typeof cookies === 'string' || isVariable(cookies)) return text(cookies, 'cookies');
  return Object.entries(cookies)
    .map(([name, value]) => `${name}=${text(value, `cookies.${name}`)}`)
    .filter((pair) => !pair.endsWith(`=${MASK}`))
    .join('; ');
}

function isVariable(value: object): value is { readonly env: string } {
  return 'env' in value && Object.keys(value).length === 1 && typeof value.env === 'string';
}

/** Throws PORTOLAN_CONFIG_INVALID, without the value of anything. */
function secretText(secret: Secret, key: string, environment: Environment): string {
  if (typeof secret === 'string') return secret;
  const value = environment[secret.env];
  if (value !== undefined) return value.replace(/\r?\n$/, '');
  throw new PortolanError('PORTOLAN_CONFIG_INVALID', `${key}: the environment has no variable ${secret.env}`, {
    remedy: `set it before the crawl is started, such as: ${secret.env}=… portolan crawl …`,
  });
}

/** RFC 9110 section 5.5: what came from the environment is held against it here. */
function fieldValue(value: string, key: string): string {
  if (!/[^\t\x20-\x7e\x80-\xff]/.test(value)) return value;
  throw new PortolanError('PORTOLAN_CONFIG_INVALID', `${key}: its value has characters that a header cannot carry`, {
    remedy: 'look at the value of the variable in the environment',
  });
}

function proxyOf(text: string, key: string): ProxyHost {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') {
    throw new PortolanError('PORTOLAN_CONFIG_INVALID', `${key}: this is no URL of a proxy`, {
      remedy: 'write it as http://HOST:PORT or https://HOST:PORT, with USER:PASSWORD@ in front of HOST when it wants them',
    });
  }
  const secure = url.protocol === 'https:';
  const credentials = `${decoded(url.username)}:${decoded(url.password)}`;
  return {
    host: url.hostname,
    port: url.port === '' ? (secure ? 443 : 80) : Number(url.port),
    secure,
    authorization: credentials === ':' || credentials === `${MASK}:` ? undefined : `Basic ${base64(credentials)}`,
  };
}

/** What is no percent-encoding stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64');
}

function withoutWww(host: string): string {
  return host.startsWith('www.') && host.includes('.', 4) ? host.slice(4) : host;
}
