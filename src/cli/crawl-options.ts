/** The flags of `crawl` and the configuration keys they stand for. Every flag is a key of the one schema; a flag wins over the file. */

import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { parse } from 'yaml';
import { type Config, parseConfig } from '../config/schema.ts';
import { PortolanError } from '../core/errors.ts';
import { parseSeed } from '../url/index.ts';

export interface CrawlFlags {
  readonly [flag: string]: unknown;
  readonly config?: string;
  readonly seeds?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly force?: boolean;
}

type Kind = 'text' | 'number' | 'list' | 'switch';

interface Flag {
  readonly flag: string;
  readonly key: string;
  readonly kind: Kind;
  readonly help: string;
  readonly choices?: readonly string[];
}

export const FLAGS: readonly Flag[] = [
  {
    flag: '--out <dir>',
    key: 'output.dir',
    kind: 'text',
    help: 'directory of the crawl (default portolan-out); the same directory resumes',
  },
  {
    flag: '--scope <mode>',
    key: 'scope.mode',
    kind: 'text',
    help: 'what may be crawled (default host)',
    choices: ['host', 'domain', 'prefix', 'web'],
  },
  { flag: '--include <regexp>', key: 'scope.include', kind: 'list', help: 'a URL must match one of these (repeatable)' },
  { flag: '--exclude <regexp>', key: 'scope.exclude', kind: 'list', help: 'a URL that matches one of these is rejected (repeatable)' },
  { flag: '--max-depth <n>', key: 'scope.maxDepth', kind: 'number', help: 'links from a seed' },
  { flag: '--max-pages <n>', key: 'limits.maxPages', kind: 'number', help: 'pages fetched, over all runs' },
  { flag: '--max-time <time>', key: 'limits.maxTime', kind: 'text', help: 'length of this run, such as 10m' },
  { flag: '--agent <token>', key: 'agent.token', kind: 'text', help: 'product token, matched against robots.txt' },
  { flag: '--contact <url|mail>', key: 'agent.contact', kind: 'text', help: 'where a webmaster reaches you; required for --scope web' },
  { flag: '--delay <time>', key: 'politeness.delay', kind: 'text', help: 'least gap between two fetches of a host (default 1s)' },
  { flag: '--delay-factor <n>', key: 'politeness.delayFactor', kind: 'number', help: 'gap as a multiple of the last fetch (default 5)' },
  { flag: '--address-delay <time>', key: 'politeness.addressDelay', kind: 'text', help: 'least gap per address (default as --delay)' },
  { flag: '--rate <n>', key: 'politeness.rate', kind: 'text', help: 'requests per second over all hosts, such as 5/s' },
  {
    flag: '--blocklist <file>',
    key: 'politeness.blocklist',
    kind: 'text',
    help: 'hosts, domains, CIDRs and /patterns/ never to fetch; read again when it changes',
  },
  { flag: '--threads <n>', key: 'run.threads', kind: 'number', help: 'threads that run shards (default: processors)' },
  { flag: '--memory <size>', key: 'run.memory', kind: 'text', help: 'bound of caches and tables (default 256MiB)' },
  { flag: '--max-body <size>', key: 'fetch.maxBody', kind: 'text', help: 'largest decoded body (default 5MB)' },
  { flag: '--accept <types>', key: 'fetch.accept', kind: 'list', help: 'media types that are read, separated by commas' },
  { flag: '--dns <addr:port>', key: 'dns.servers', kind: 'list', help: 'name server to ask (repeatable)' },
  { flag: '--resolve <host:addr>', key: 'dns.resolve', kind: 'list', help: 'fixed address of a name (repeatable)' },
  {
    flag: '--allow-net <cidr>',
    key: 'net.allow',
    kind: 'list',
    help: 'special range that may be contacted, such as 127.0.0.0/8 (repeatable)',
  },
  { flag: '--warc <on|off>', key: 'output.warc', kind: 'switch', help: 'write WARC files (default on)' },
  { flag: '--pages <on|off>', key: 'output.pages', kind: 'switch', help: 'write pages.jsonl (default on)' },
  { flag: '--text <on|off>', key: 'output.text', kind: 'switch', help: 'visible text in pages.jsonl (default off)' },
  {
    flag: '--near-duplicates <what>',
    key: 'dedup.nearDuplicates',
    kind: 'text',
    help: 'keep or skip near-duplicates',
    choices: ['keep', 'skip'],
  },
];

const MAY_REPEAT = (value: string, before: readonly string[] | undefined): string[] => [...(before ?? []), value];

export function addCrawlOptions(command: Command): Command {
  command.option('--seeds <file>', 'file of URLs, one a line; - for standard input');
  command.option('--config <file>', 'portolan.yaml');
  for (const { flag, kind, help, choices } of FLAGS) {
    const option = new Option(flag, help);
    if (choices !== undefined) option.choices(choices);
    if (kind === 'list') option.argParser(MAY_REPEAT);
    command.addOption(option);
  }
  command.option('--json', 'one JSON event a line on standard output');
  command.option('--quiet', 'errors only');
  command.option('--force', 'go on although the rules differ from the stored crawl');
  return command;
}

/** Throws PORTOLAN_CONFIG_*, PORTOLAN_SEED_*. */
export function resolveConfig(seedArguments: readonly string[], flags: CrawlFlags): Config {
  const file = flags.config === undefined ? {} : readConfigFile(flags.config);
  const merged = structuredClone(file) as Record<string, unknown>;
  for (const { flag, key, kind } of FLAGS) {
    const value = flags[flagName(flag)];
    if (value !== undefined) setKey(merged, key, flagValue(flag, kind, value));
  }
  const seeds = [...readSeedFile(flags.seeds), ...seedArguments];
  if (seeds.length > 0) merged['seeds'] = seeds;
  return parseConfig(merged, flags.config ?? 'command line');
}

function flagName(flag: string): string {
  return flag
    .split(' ')[0]!
    .slice(2)
    .replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function flagValue(flag: string, kind: Kind, value: unknown): unknown {
  if (kind === 'switch') {
    if (value === 'on' || value === 'off') return value === 'on';
    throw new PortolanError('PORTOLAN_CONFIG_INVALID', `${flag.split(' ')[0]} takes on or off, not "${String(value)}"`, {
      remedy: 'write it as in the help text',
    });
  }
  if (kind === 'number' || flag.startsWith('--rate')) {
    const number = Number(String(value).replace(flag.startsWith('--rate') ? /\/s$/ : /$^/, ''));
    if (Number.isFinite(number)) return number;
    throw new PortolanError('PORTOLAN_CONFIG_INVALID', `${flag.split(' ')[0]} takes a number, not "${String(value)}"`, {
      remedy: 'give a plain number',
    });
  }
  if (flag.startsWith('--accept')) return (value as string[]).flatMap((types) => types.split(',').map((type) => type.trim().toLowerCase()));
  return value;
}

function setKey(target: Record<string, unknown>, key: string, value: unknown): void {
  const [section, name] = key.split('.') as [string, string];
  const inner = (target[section] ?? {}) as Record<string, unknown>;
  inner[name] = value;
  target[section] = inner;
}

function readConfigFile(file: string): Record<string, unknown> {
  try {
    return (parse(readFileSync(file, 'utf8')) ?? {}) as Record<string, unknown>;
  } catch (error) {
    throw new PortolanError('PORTOLAN_CONFIG_UNREADABLE', `${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
      remedy: 'check the path and the YAML',
    });
  }
}

/** Checks every line, so that a bad seed is named with its place. */
function readSeedFile(file: string | undefined): string[] {
  if (file === undefined) return [];
  let text: string;
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new PortolanError('PORTOLAN_CONFIG_UNREADABLE', `the seed file ${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
      remedy: 'check the path given to --seeds',
    });
  }
  const seeds: string[] = [];
  text.split(/\r?\n/).forEach((line, index) => {
    const seed = line.trim();
    if (seed === '' || seed.startsWith('#')) return;
    try {
      parseSeed(seed);
    } catch (error) {
      const { message, remedy } = error as PortolanError;
      throw new PortolanError('PORTOLAN_SEED_INVALID', `${file} line ${index + 1}: ${message}`, { cause: error, remedy });
    }
    seeds.push(seed);
  });
  return seeds;
}
