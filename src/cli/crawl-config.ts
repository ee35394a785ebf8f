/**
 * From flags, file and seeds to one configuration: a flag wins over the file, the file over the default. Where each value was written is kept (`origins`):
 * mistakes are said with it, and --dry-run shows it.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigFinding } from '../config/findings.ts';
import { configKeyDocs } from '../config/key-docs.ts';
import { type Config, configKeys, parseConfig } from '../config/schema.ts';
import { DURATION } from '../config/units.ts';
import { PortolanError } from '../core/errors.ts';
import { createAddressGuard, isIpLiteral } from '../net/address-guard.ts';
import { HostPatterns, parseSeed, splitUrl } from '../url/index.ts';
import { type ConfigFile, readConfigFile, readText } from './config-file.ts';
import { type CrawlFlags, FLAGS, type FlagKind } from './crawl-options.ts';

/** Where a value was written. */
export type Origin =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly file: string; readonly line: number }
  | { readonly kind: 'flag'; readonly flag: string }
  | { readonly kind: 'argument'; readonly position: number };

export interface ResolvedSeed {
  /** As written. */
  readonly text: string;
  /** As from parseSeed. */
  readonly url: string;
  readonly origin: Origin;
}

export interface ResolvedCrawl {
  readonly config: Config;
  /** By dotted key; a key that is not here has its default. */
  readonly origins: ReadonlyMap<string, Origin>;
  readonly seeds: readonly ResolvedSeed[];
  /** What is possible and probably not meant, in sentences. */
  readonly notices: readonly string[];
}

/** Throws PORTOLAN_CONFIG_*, PORTOLAN_SEED_*. */
export function resolveConfig(seedArguments: readonly string[], flags: CrawlFlags): Config {
  return resolveCrawl(seedArguments, flags).config;
}

/** Throws PORTOLAN_CONFIG_*, PORTOLAN_SEED_*. */
export function resolveCrawl(seedArguments: readonly string[], flags: CrawlFlags): ResolvedCrawl {
  const file: ConfigFile = flags.config === undefined ? { values: {}, lines: new Map() } : readConfigFile(flags.config);
  const merged = structuredClone(file.values) as Record<string, unknown>;
  const origins = new Map<string, Origin>();
  for (const [key, line] of file.lines) origins.set(key, { kind: 'file', file: flags.config ?? '', line });
  for (const { flag, key, kind } of FLAGS) {
    const value = flags[flagName(flag)];
    if (value === undefined) continue;
    setKey(merged, key, flagValue(flag, kind, value));
    origins.set(key, { kind: 'flag', flag: bareFlag(flag) });
  }
  const given = givenSeeds(seedArguments, flags.seeds);
  if (given.length > 0) {
    merged['seeds'] = given.map(({ text }) => text);
    origins.set('seeds', given[0]!.origin);
  }
  const config = parseConfig(merged, flags.config ?? 'command line', (finding) => said(finding, origins));
  // The texts are those of the configuration, from which credentials are taken out.
  const seeds = config.seeds.map((text, index) => checkedSeed(text, given[index]?.origin ?? origins.get(`seeds.${index}`) ?? DEFAULT));
  return { config, origins: onlyKeys(origins), seeds, notices: [...noticesOf(flags, seeds), ...refusedSeeds(config, seeds)] };
}

/** Seeds of a file, then those of the command line. Throws PORTOLAN_SEED_INVALID, PORTOLAN_CONFIG_UNREADABLE. */
export function givenSeeds(seedArguments: readonly string[], file: string | undefined): ResolvedSeed[] {
  return [...readSeedFile(file), ...seedArguments.map(argumentSeed)];
}

/** Of one kind; a list of seeds may be long. */
const NOTICES_MAX = 3;
/**
 * A crawl that exists goes on without seeds; a new one needs one. Throws PORTOLAN_SEED_NONE, and names a portolan.yaml of the working directory
 * that was not asked for (a configuration is never taken up by itself: it would change what a command means).
 */
export function requireSeeds({ config, seeds }: ResolvedCrawl, flags: CrawlFlags): void {
  if (seeds.length > 0 || existsSync(join(config.output.dir, 'crawl.json'))) return;
  const isFileHere = flags.config === undefined && existsSync(USUAL_FILE);
  throw new PortolanError('PORTOLAN_SEED_NONE', 'there is nothing to start from', {
    remedy: isFileHere
      ? `give a URL; or take the seeds of the ${USUAL_FILE} that is here with --config ${USUAL_FILE}`
      : 'give a URL, --seeds FILE, or seeds in the configuration',
  });
}

const USUAL_FILE = 'portolan.yaml';
const DEFAULT: Origin = { kind: 'default' };

/** `portolan.yaml:3`, `--delay`, `argument 2`, `default`. */
export function originText(origin: Origin): string {
  if (origin.kind === 'file') return `${origin.file}:${origin.line}`;
  if (origin.kind === 'flag') return origin.flag;
  return origin.kind === 'argument' ? `argument ${origin.position}` : 'default';
}

function said({ key, text }: ConfigFinding, origins: ReadonlyMap<string, Origin>): string {
  let known = key;
  while (known !== '' && !origins.has(known)) known = known.slice(0, Math.max(0, known.lastIndexOf('.')));
  const origin = origins.get(known) ?? DEFAULT;
  const named = key === '' || text.includes(`"${key}"`) ? text : `${key}: ${text}`;
  if (origin.kind === 'default') return named;
  return origin.kind === 'flag' && known === key ? `${origin.flag}: ${text}` : `${originText(origin)}: ${named}`;
}

function onlyKeys(origins: ReadonlyMap<string, Origin>): ReadonlyMap<string, Origin> {
  const keys = new Set(configKeys());
  return new Map([...origins].filter(([key]) => keys.has(key) || key.startsWith('hosts.')));
}

function flagName(flag: string): string {
  return bareFlag(flag)
    .slice(2)
    .replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function bareFlag(flag: string): string {
  return flag.split(' ')[0]!;
}

function flagValue(flag: string, kind: FlagKind, value: unknown): unknown {
  if (kind === 'switch') {
    if (value === 'on' || value === 'off') return value === 'on';
    throw badFlag(`${bareFlag(flag)} takes on or off, not "${String(value)}"`, 'write it as in the help text');
  }
  const isRate = flag.startsWith('--rate');
  if (kind === 'number' || isRate) {
    const text = isRate ? String(value).replace(/\/s$/, '') : String(value);
    if (/^-?\d+(?:\.\d+)?$/.test(text)) return Number(text);
    throw badFlag(
      `${bareFlag(flag)} takes a number, not "${String(value)}"`,
      isRate ? 'give requests per second, such as 5 or 0.5/s' : 'give digits alone, such as 100',
    );
  }
  if (flag.startsWith('--accept')) return (value as string[]).flatMap((types) => types.split(',').map((type) => type.trim().toLowerCase()));
  return value;
}

function badFlag(message: string, remedy: string): PortolanError {
  return new PortolanError('PORTOLAN_CONFIG_INVALID', message, { remedy });
}

function setKey(target: Record<string, unknown>, key: string, value: unknown): void {
  const [section, name] = key.split('.') as [string, string];
  const inner = (target[section] ?? {}) as Record<string, unknown>;
  // A section that is no group of keys stays, and is refused by the schema.
  if (typeof inner !== 'object' || Array.isArray(inner)) return;
  inner[name] = value;
  target[section] = inner;
}

function argumentSeed(text: string, index: number): ResolvedSeed {
  const isFile = !/^https?:|^[^.]+$/i.test(text) && statSync(text, { throwIfNoEntry: false })?.isFile() === true;
  if (isFile) {
    throw new PortolanError('PORTOLAN_SEED_INVALID', `argument ${index + 1}: ${text} is a file`, {
      remedy: `to crawl the URLs in it: --seeds ${text} (for a host of that name: https://${text}/)`,
    });
  }
  return checkedSeed(text, { kind: 'argument', position: index + 1 });
}

/** Names the place of a seed that cannot be used. */
function checkedSeed(text: string, origin: Origin): ResolvedSeed {
  try {
    return { text, url: parseSeed(text), origin };
  } catch (error) {
    const { message, remedy } = error as PortolanError;
    const place = origin.kind === 'argument' || origin.kind === 'default' ? '' : `${originText(origin)}: `;
    throw new PortolanError('PORTOLAN_SEED_INVALID', `${place}${message}`, { cause: error, remedy });
  }
}

function readSeedFile(file: string | undefined): ResolvedSeed[] {
  if (file === undefined) return [];
  const name = file === '-' ? 'standard input' : file;
  const text = readText(file, `the seed file ${name} cannot be read`, 'check the path given to --seeds');
  const seeds: ResolvedSeed[] = [];
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .forEach((line, index) => {
      const seed = line.trim();
      if (seed !== '' && !seed.startsWith('#')) seeds.push(checkedSeed(seed, { kind: 'file', file: name, line: index + 1 }));
    });
  return seeds;
}

/** A bare number below a second, and a scheme that was added. */
function noticesOf(flags: CrawlFlags, seeds: readonly ResolvedSeed[]): string[] {
  const notices: string[] = [];
  for (const { flag, key } of FLAGS) {
    const value = flags[flagName(flag)];
    if (typeof value !== 'string' || !/^[1-9]\d{0,2}$/.test(value) || !isDuration(key)) continue;
    notices.push(`${bareFlag(flag)} ${value} is ${DURATION.write(Number(value))}; write ${value}s for seconds`);
  }
  const [bare] = seeds.filter(({ text, url }) => !text.includes('://') && url.startsWith('https:'));
  if (bare !== undefined) notices.push(`${bare.text} is taken as ${bare.url}; write http:// in front for a site without https`);
  return notices;
}

function isDuration(key: string): boolean {
  return configKeyDocs().some((doc) => doc.key === key && doc.value === 'duration');
}

/** Seeds of this machine or of a private network, which the address guard will refuse. Names that must be looked up are not judged here. */
function refusedSeeds(config: Config, seeds: readonly ResolvedSeed[]): string[] {
  const guard = createAddressGuard({ allowNets: config.net.allow });
  const proxied = new HostPatterns(Object.entries(config.hosts));
  const told = new Map<string, string>();
  for (const { url } of seeds) {
    const { host, hostKey } = splitUrl(url);
    const address = /^(?:.+\.)?localhost$/.test(host) ? '127.0.0.1' : isIpLiteral(host);
    if (address === undefined || told.has(hostKey) || proxied.matching(hostKey).some(({ proxy }) => proxy !== undefined)) continue;
    const { allowed, range } = guard.verdict(address);
    if (!allowed)
      told.set(hostKey, `${hostKey} will be refused: ${address} is in the range ${range}; allow it with --allow-net ${address}`);
  }
  return [...told.values()].slice(0, NOTICES_MAX);
}
