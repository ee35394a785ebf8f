/**
 * `portolan crawl … --dry-run`: what a crawl would do, without fetching a page. The effective configuration with the origin of each value, and for each seed
 * its canonical form, the verdict of the scope rules, its addresses with the verdict of the address guard, and the verdict of robots.txt.
 *
 * Names are looked up, as a crawl would. robots.txt is asked for only with --live-robots, once for each origin and with the configured gap between two requests
 * to one host; a page is never asked for. Nothing is written. At most SEEDS_MAX seeds are looked at, and what is left out is said.
 */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { createSystemClock } from '../adapters/node/clock.ts';
import { createNodeResolver } from '../adapters/node/resolver.ts';
import { configKeyDocs, hostKeyDocs } from '../config/key-docs.ts';
import type { Config } from '../config/schema.ts';
import { DURATION, SIZE } from '../config/units.ts';
import { crawlRules } from '../engine/context.ts';
import { checkMeta } from '../engine/crawl-meta.ts';
import { dnsOverrides } from '../engine/dns-overrides.ts';
import { HostRuleTable, type ProxyHost, robotsIgnored } from '../engine/host-rules.ts';
import { shownConfig } from '../engine/shown-config.ts';
import { createAddressGuard } from '../net/address-guard.ts';
import { DnsCache, type DnsEntry } from '../net/dns-cache.ts';
import type { Clock } from '../ports/clock.ts';
import { VERSION } from '../version.ts';
import { type Origin, originText, type ResolvedSeed, requireSeeds, resolveCrawl } from './crawl-config.ts';
import { openCrawlDir } from './crawl-dir.ts';
import type { CrawlFlags } from './crawl-options.ts';
import { EXIT } from './exit-codes.ts';
import { type LiveRobots, liveRobots } from './explain-live.ts';
import type { RobotsFacts } from './explain-state.ts';
import { judgeUrl, type NamedUrl, nameUrl } from './explain-verdict.ts';
import { counted, numbered } from './numbers.ts';

const SEEDS_MAX = 100;

interface Setting {
  readonly key: string;
  /** As it would be written in the file. */
  readonly value: string;
  readonly origin: string;
}

interface SeedReport {
  readonly seed: string;
  readonly origin: string;
  readonly url: string;
  readonly canonical: string;
  readonly key: string;
  /** The earlier seed with the same key: it is fetched once. */
  readonly sameAs?: string;
  readonly scope: { readonly verdict: 'admitted' | 'dropped'; readonly reason?: string; readonly rule: string };
  /** `proxy`: `HOST:PORT` of the one that the host is reached through; the addresses are then the proxy's, and the host's own name is not looked up. */
  readonly address: {
    readonly verdict: string;
    readonly proxy?: string;
    readonly allowed: readonly string[];
    readonly refused: readonly string[];
  };
  readonly robots: { readonly verdict: string; readonly line?: number; readonly rule?: string; readonly note?: string };
}

interface DryRun {
  readonly directory: { readonly path: string; readonly holds: 'nothing' | 'a crawl' };
  readonly userAgent: string;
  readonly notices: readonly string[];
  readonly configuration: readonly Setting[];
  readonly seeds: readonly SeedReport[];
  readonly seedsLeftOut: number;
}

/** Exit code 0 also when a seed would be rejected: the report is the result. */
export async function dryRun(seedArguments: readonly string[], flags: CrawlFlags): Promise<number> {
  const resolved = resolveCrawl(seedArguments, flags);
  requireSeeds(resolved, flags);
  const { config, origins, seeds, notices } = resolved;
  const dir = resolve(config.output.dir);
  const holds = holdsCrawl(dir, config, flags.force === true) ? 'a crawl' : 'nothing';
  const report: DryRun = {
    directory: { path: dir, holds },
    userAgent: crawlRules(config, VERSION).userAgent,
    notices,
    configuration: settingsOf(shownConfig(config), origins),
    seeds: await seedReports(config, seeds, flags.liveRobots === true),
    seedsLeftOut: Math.max(0, seeds.length - SEEDS_MAX),
  };
  process.stdout.write(flags.json === true ? `${JSON.stringify({ event: 'dry-run', ...report })}\n` : textOf(report));
  return EXIT.finished;
}

/** Throws what a crawl would: PORTOLAN_STATE_MISMATCH, PORTOLAN_STATE_NEWER, PORTOLAN_STATE_DAMAGED. */
function holdsCrawl(dir: string, config: Config, force: boolean): boolean {
  if (!existsSync(join(dir, 'crawl.json'))) return false;
  const { meta, close } = openCrawlDir(dir);
  close();
  const { mode, include, exclude } = config.scope;
  checkMeta(meta, { ...meta, scope: { mode, include, exclude } }, force);
  return true;
}

function settingsOf(config: Config, origins: ReadonlyMap<string, Origin>): Setting[] {
  const derived = derivedDefaults(config);
  return configKeyDocs()
    .filter(({ key }) => key !== 'seeds')
    .flatMap(({ key, value: kind }) => {
      if (key === 'hosts') return hostSettings(config, origins);
      const [section = '', name = ''] = key.split('.');
      const value = (config as unknown as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[section]?.[name];
      return [{ key, value: written(value ?? derived[key], kind), origin: originText(origins.get(key) ?? { kind: 'default' }) }];
    });
}

/** Each key of each host; secrets are masked already. */
function hostSettings(config: Config, origins: ReadonlyMap<string, Origin>): Setting[] {
  if (Object.keys(config.hosts).length === 0) return [{ key: 'hosts', value: 'none', origin: 'default' }];
  const kinds = new Map(hostKeyDocs().map(({ key, value }) => [key.slice(key.lastIndexOf('.') + 1), value]));
  return Object.entries(config.hosts).flatMap(([host, keys]) =>
    Object.entries(keys).map(([name, value]) => {
      const key = `hosts.${host}.${name}`;
      const origin = origins.get(key) ?? origins.get('hosts') ?? { kind: 'default' };
      return {
        key,
        value: typeof value === 'object' ? JSON.stringify(value) : written(value, kinds.get(name) ?? ''),
        origin: originText(origin),
      };
    }),
  );
}

/** Defaults that follow from other keys or from the machine. */
function derivedDefaults(config: Config): Readonly<Record<string, unknown>> {
  const rules = crawlRules(config, VERSION);
  const processors = availableParallelism();
  return {
    'scope.maxDepth': rules.maxDepth ?? 'no limit',
    'limits.maxPages': 'no limit',
    'limits.maxTime': 'no limit',
    'politeness.addressDelay': rules.addressDelayMs,
    'politeness.rate': 'no limit',
    'politeness.blocklist': 'none',
    'frontier.ranks': 'none',
    'frontier.pageBudget': rules.pageBudget === 0 ? 'no limit' : rules.pageBudget,
    'dedup.nearDuplicates': rules.skipNearDuplicates ? 'skip' : 'keep',
    'run.threads': processors,
    'run.shards': Math.max(4, processors),
  };
}

function written(value: unknown, kind: string): string {
  if (typeof value === 'number' && kind === 'duration') return DURATION.write(value);
  if (typeof value === 'number' && kind === 'size') return SIZE.write(value);
  if (Array.isArray(value)) return `[${value.join(', ')}]`;
  return value === '' ? '""' : String(value);
}

async function seedReports(config: Config, seeds: readonly ResolvedSeed[], asksRobots: boolean): Promise<SeedReport[]> {
  const clock = createSystemClock();
  const resolver = createNodeResolver({
    ...{ timeoutMs: config.dns.timeout, maxInFlight: 32 },
    ...(config.dns.servers.length === 0 ? {} : { servers: config.dns.servers }),
  });
  const guard = createAddressGuard({ allowNets: config.net.allow });
  const dns = new DnsCache({ resolver, clock, guard, overrides: dnsOverrides(config.dns.resolve) });
  const urls = seeds.map(({ url }) => url);
  const hostRules = new HostRuleTable(config, VERSION, [], process.env);
  const firstOfKey = new Map<string, string>();
  const looked = seeds.slice(0, SEEDS_MAX).map((seed) => ({ seed, named: nameUrl(seed.url) as NamedUrl }));
  try {
    const found = await Promise.all(
      looked.map(async ({ named }) => {
        const { proxy } = hostRules.of(named.parts.hostKey);
        return { named, proxy, entry: await dns.lookup(proxy?.host ?? named.parts.host) };
      }),
    );
    const robots = asksRobots ? await robotsOf(config, found) : undefined;
    return looked.map(({ seed, named }, index) => {
      const sameAs = firstOfKey.get(named.key);
      if (sameAs === undefined) firstOfKey.set(named.key, seed.text);
      return {
        ...{ seed: seed.text, origin: originText(seed.origin), url: named.url, canonical: named.canonical, key: named.key },
        ...(sameAs === undefined ? {} : { sameAs }),
        scope: scopeOf(config, named, urls),
        address: addressOf(found[index]!),
        robots: ignoredRobots(config, named) ??
          robots?.[index] ?? { verdict: 'not asked', note: 'one request for each origin with --live-robots' },
      };
    });
  } finally {
    resolver.close();
  }
}

/** A seed is exempt from scope, patterns and traps; what they say of links to it is worth knowing all the same. */
function scopeOf(config: Config, named: NamedUrl, urls: readonly string[]): SeedReport['scope'] {
  const verdict = judgeUrl(named, { config, seeds: urls, extraHosts: [], depth: 0, nowMs: Date.now() });
  if (verdict.allowed) return { verdict: 'admitted', rule: verdict.rule };
  const { reason = 'out-of-scope', rule } = verdict;
  if (reason === 'blocklisted' || reason === 'forbidden-address') return { verdict: 'dropped', reason, rule: `${reason}: ${rule}` };
  return { verdict: 'admitted', reason, rule: `as a seed; a link to it would be rejected as ${reason}: ${rule}` };
}

function addressOf({ entry, proxy }: Found): SeedReport['address'] {
  if (proxy !== undefined) return proxyAddress(entry, proxy);
  const refused = entry.refused.map(({ address, range }) => `${address} (${range})`);
  const verdict =
    entry.kind !== 'addresses'
      ? `${entry.kind}${entry.detail === '' ? '' : `: ${entry.detail}`}`
      : entry.allowed.length > 0
        ? 'allowed'
        : 'forbidden-address';
  return { verdict, allowed: entry.allowed, refused };
}

/** The operator vouches for the proxy: its address may be any. */
function proxyAddress(entry: DnsEntry, { host, port }: ProxyHost): SeedReport['address'] {
  const allowed = [...entry.allowed, ...entry.refused.map(({ address }) => address)];
  const verdict = allowed.length > 0 ? 'allowed' : `${entry.kind}${entry.detail === '' ? '' : `: ${entry.detail}`}`;
  return { verdict, proxy: `${host}:${port}`, allowed, refused: [] };
}

interface Found {
  readonly named: NamedUrl;
  readonly proxy: ProxyHost | undefined;
  /** Of the host, or of the proxy that it is reached through. */
  readonly entry: DnsEntry;
}

/** One request for each origin (and for each redirect), one after the other, with the gap of the configuration between two to one address. */
async function robotsOf(config: Config, all: readonly Found[]): Promise<SeedReport['robots'][]> {
  const clock = createSystemClock();
  const answers = new Map<string, LiveRobots>();
  const endedAtMs = new Map<string, number>();
  const verdicts: SeedReport['robots'][] = [];
  for (const { named, entry, proxy } of all) {
    const { origin, pathQuery, hostKey } = named.parts;
    const direct = entry.allowed[0];
    // Behind a proxy the host alone is the unit of politeness.
    const address = proxy === undefined || (direct ?? entry.refused[0]) === undefined ? direct : `proxy ${hostKey}`;
    if (robotsIgnored(config, hostKey) !== undefined) {
      verdicts.push({ verdict: 'ignored' });
      continue;
    }
    if (address === undefined) {
      verdicts.push({ verdict: 'not asked', note: 'there is no address to ask' });
      continue;
    }
    let answer = answers.get(origin);
    if (answer === undefined) {
      const before = endedAtMs.get(address);
      if (before !== undefined) await sleep(clock, before + config.politeness.delay - clock.nowMonoMs());
      answer = await liveRobots(named.parts, config);
      answers.set(origin, answer);
      endedAtMs.set(address, clock.nowMonoMs());
    }
    verdicts.push(robotsVerdict(answer.of(pathQuery), answer.note));
  }
  return verdicts;
}

function ignoredRobots(config: Config, { parts }: NamedUrl): SeedReport['robots'] | undefined {
  const reason = robotsIgnored(config, parts.hostKey);
  return reason === undefined ? undefined : { verdict: 'ignored', note: reason };
}

function sleep(clock: Clock, ms: number): Promise<void> {
  return new Promise((done) => void clock.setTimer(Math.max(0, ms), done));
}

function robotsVerdict({ allowed, line, text, state, status }: RobotsFacts, note: string): SeedReport['robots'] {
  const why =
    state === 'allow-all' ? `there is none (status ${status})` : state === 'deny-all' ? 'it cannot be read, so nothing is allowed' : '';
  const notes = [why, note].filter((one) => one !== '').join('; ');
  return {
    verdict: allowed ? 'allowed' : 'disallowed',
    ...(line === 0 ? {} : { line, rule: text }),
    ...(notes === '' ? {} : { note: notes }),
  };
}

function textOf(report: DryRun): string {
  const { directory, configuration, seeds, seedsLeftOut, notices, userAgent } = report;
  const width = Math.max(...configuration.map(({ key }) => key.length));
  const set = configuration.filter(({ origin }) => origin !== 'default');
  const line = ({ key, value, origin }: Setting): string => `  ${key.padEnd(width)}  ${value}  (${origin})`;
  return [
    'Dry run: nothing is fetched and nothing is written.',
    ...notices.map((notice) => `note: ${notice}`),
    `directory   ${directory.path} (holds ${directory.holds}${directory.holds === 'a crawl' ? ': it would go on' : ''})`,
    `User-Agent  ${userAgent}`,
    '',
    'Seeds',
    ...(seeds.length === 0 ? ['  none: the crawl in the directory goes on with its own'] : seeds.flatMap(seedLines)),
    ...(seedsLeftOut > 0 ? [`  … and ${seedsLeftOut} more that are not looked at here`] : []),
    '',
    `Configuration: ${set.length === 0 ? 'defaults alone' : `${set.length} of ${counted(configuration.length, 'key')} ${numbered(set.length, 'is', 'are')} set`}`,
    ...configuration.map(line),
    '',
  ].join('\n');
}

function seedLines({ seed, origin, canonical, url, sameAs, scope, address, robots }: SeedReport): string[] {
  const refused = address.refused.length === 0 ? '' : `; refused: ${address.refused.join(', ')}`;
  const decided = robots.rule === undefined ? '' : `, ${robots.line === undefined ? '' : `line ${robots.line}: `}${robots.rule}`;
  return [
    `  ${seed}  (${origin})`,
    `    fetched as  ${url}`,
    ...(canonical === url ? [] : [`    canonical   ${canonical}`]),
    ...(sameAs === undefined ? [] : [`    the same as ${sameAs}: fetched once`]),
    `    scope       ${scope.verdict}: ${scope.rule}`,
    `    address     ${address.proxy === undefined ? '' : `the proxy ${address.proxy} (the name of the host is not looked up here): `}${address.verdict}${address.allowed.length === 0 ? '' : `: ${address.allowed.join(', ')}`}${refused}`,
    `    robots.txt  ${robots.verdict}${decided}${robots.note === undefined ? '' : ` (${robots.note})`}`,
  ];
}
