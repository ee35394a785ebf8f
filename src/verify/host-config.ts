/**
 * The rules for one host: those of the crawl with what the configuration in the ledger says of the host in their place, key by key from the most specific
 * pattern that says something. Made once for each host and configuration, so that two of them can be compared by identity.
 */
import type { LedgerConfig, LedgerHost } from '../output/ledger-config.ts';
import type { Net } from './addresses.ts';

export interface Rules {
  readonly config: LedgerConfig;
  readonly allowed: readonly Net[];
  /** Said of the host of a request; nothing in the rules of the crawl as a whole. */
  readonly host: LedgerHost;
}

export class RulesInForce {
  readonly #all: Rules;
  readonly #hosts = new Map<string, Rules>();

  constructor(config: LedgerConfig, allowed: readonly Net[]) {
    this.#all = { config, allowed, host: {} };
  }

  get config(): LedgerConfig {
    return this.#all.config;
  }

  of(hostKey: string): Rules {
    if (this.config.hosts === undefined) return this.#all;
    const known = this.#hosts.get(hostKey) ?? this.#make(hostKey, this.config.hosts);
    this.#hosts.set(hostKey, known);
    return known;
  }

  #make(hostKey: string, hosts: Readonly<Record<string, LedgerHost>>): Rules {
    const said = patternsOf(hostKey).filter((pattern) => Object.hasOwn(hosts, pattern));
    if (said.length === 0) return this.#all;
    // The most specific comes last and overwrites.
    const host: LedgerHost = Object.assign({}, ...said.reverse().map((pattern) => hosts[pattern]));
    const { config, allowed } = this.#all;
    const { delayMs, addressDelayMs, delayFactor, pageBudget } = { ...config, ...host };
    return { config: { ...config, delayMs, addressDelayMs, delayFactor, pageBudget }, allowed, host };
  }
}

/** What may be said of a host, the most specific first: itself with its port, itself, its domains from the longest on. */
function patternsOf(hostKey: string): string[] {
  const [, name = hostKey] = /^(.*?)(?::\d+)?$/.exec(hostKey) ?? [];
  const isAddress = name.endsWith(']') || /\.\d+$/.test(name);
  const labels = name.split('.');
  const domains = isAddress ? [] : labels.map((_, from) => `*.${labels.slice(from).join('.')}`);
  return [...new Set([hostKey, name, ...domains])];
}
