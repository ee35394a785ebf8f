/**
 * `portolan explain [DIR] URL`: why a URL was fetched, waits, was let go, or was never admitted, and by which rule, in the words of docs/REASONS.md.
 *
 * With DIR it reads the state, read-only and also while a crawl runs, as of the last commit. A rejected URL is not remembered: its verdict is computed again
 * with the configuration of the last run, and the answer says so. Without DIR it answers from configuration alone.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { PortolanError } from '../core/errors.ts';
import { CLOSED_REASONS } from '../engine/drops.ts';
import { robotsIgnored } from '../engine/host-rules.ts';
import { rulesInLog, STEERING_LOG } from '../engine/steering-log.ts';
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS, parseSeed } from '../url/index.ts';
import { type CrawlDir, openCrawlDir } from './crawl-dir.ts';
import { EXIT } from './exit-codes.ts';
import type { UrlRequest } from './explain-requests.ts';
import { type RobotsFacts, type UrlFacts, urlFacts } from './explain-state.ts';
import { explainJson, explainText } from './explain-text.ts';
import { judgeUrl, type NamedUrl, nameUrl, type ScopeVerdict } from './explain-verdict.ts';
import { readWords } from './explain-words.ts';
import { readStoredConfig } from './stored-config.ts';

export interface ExplainFlags {
  readonly json?: boolean;
  readonly liveRobots?: boolean;
  readonly requests?: boolean;
  readonly config?: string;
}

export interface Explanation {
  readonly asked: string;
  /** Undefined when the text is no URL. */
  readonly named: NamedUrl | undefined;
  /** undefined: no directory was named. */
  readonly shard: { readonly number: number; readonly of: number } | undefined;
  readonly verdict: { readonly state: string; readonly name: string };
  readonly scope: ScopeVerdict | undefined;
  readonly facts: UrlFacts | undefined;
  readonly robots: RobotsFacts | undefined;
  readonly requests: readonly UrlRequest[] | undefined;
  readonly notes: readonly string[];
  readonly nowMs: number;
}

export async function explain(
  args: readonly string[],
  flags: ExplainFlags,
  write = (text: string): void => void process.stdout.write(text),
): Promise<number> {
  const [url, dir] = [...args].reverse();
  if (url === undefined) {
    throw new PortolanError('PORTOLAN_USAGE_INVALID', 'explain needs a URL', { remedy: 'write it as portolan explain [DIR] URL' });
  }
  const crawl = dir === undefined ? undefined : openCrawlDir(dir);
  try {
    const explanation = await explainUrl(url, crawl, flags, Date.now());
    const words = readWords();
    write(flags.json === true ? `${JSON.stringify(explainJson(explanation, words))}\n` : explainText(explanation, words));
    return EXIT.finished;
  } finally {
    crawl?.close();
  }
}

export async function explainUrl(text: string, crawl: CrawlDir | undefined, flags: ExplainFlags, nowMs: number): Promise<Explanation> {
  const named = nameUrl(text);
  if ('reason' in named) {
    const scope = { allowed: false, ...named };
    return { ...NOTHING, asked: text, scope, verdict: { state: 'rejected', name: named.reason }, nowMs };
  }
  const notes: string[] = [];
  const config = await configOf(crawl, flags, notes);
  const facts = crawl && urlFacts(crawl, named, config.agent.token, nowMs);
  const scope = scopeOf(named, config, crawl, facts, nowMs, notes);
  const ignored = robotsIgnored(config, named.parts.hostKey);
  if (ignored !== undefined) notes.push(`robots.txt of this host is neither asked for nor obeyed: ${ignored}`);
  const live = flags.liveRobots === true && ignored === undefined ? await askRobots(named, config, notes) : undefined;
  const robots = ignored === undefined ? (live ?? facts?.robots) : undefined;
  if (crawl !== undefined && robots === undefined && ignored === undefined)
    notes.push('robots.txt of this origin has not been asked for yet');
  return {
    asked: text,
    named,
    shard: crawl && { number: crawl.shardOfHost(named.parts.host), of: crawl.meta.shards },
    verdict: verdictOf(scope, facts, robots, config),
    scope,
    facts,
    robots,
    requests: flags.requests === true && crawl !== undefined ? await requestsOf(crawl, named) : undefined,
    notes,
    nowMs,
  };
}

const NOTHING = { named: undefined, shard: undefined, facts: undefined, robots: undefined, requests: undefined, notes: [] } as const;

async function configOf(crawl: CrawlDir | undefined, flags: ExplainFlags, notes: string[]): Promise<Config> {
  if (flags.config !== undefined || crawl === undefined) {
    const { resolveConfig } = await import('./crawl-config.ts');
    return resolveConfig([], flags.config === undefined ? {} : { config: flags.config });
  }
  const { config, from } = await readStoredConfig(crawl);
  if (from !== 'the last run')
    notes.push(
      'the directory holds no configuration that this version can read: defaults are taken, with the scope of crawl.json (--config names a file)',
    );
  return config;
}

function scopeOf(
  named: NamedUrl,
  config: Config,
  crawl: CrawlDir | undefined,
  facts: UrlFacts | undefined,
  nowMs: number,
  notes: string[],
): ScopeVerdict {
  let seeds = crawl?.scopeSeeds() ?? config.seeds.map(parseSeed);
  if (seeds.length === 0 && config.scope.mode !== 'web') {
    notes.push('no seeds are known: the URL is taken as its own seed');
    seeds = [named.url];
  }
  const depth = facts?.depth ?? 0;
  const knowsDepth = facts?.depth !== undefined;
  if (!knowsDepth && config.scope.maxDepth !== undefined) notes.push('how many links it is from a seed is not known: depth 0 is taken');
  if (crawl !== undefined && !knowsDepth) {
    notes.push('rejected URLs are not remembered: the verdict is computed again with the configuration of the last run');
  }
  const verdict = judgeUrl(named, { config, seeds, extraHosts: extraHosts(crawl, config), depth, nowMs, blocks: blocksOf(crawl) });
  const isSeed = knowsDepth && (facts?.page ?? facts?.fate ?? facts?.queue) !== undefined && depth === 0 && facts?.via.length === 0;
  if (!verdict.allowed && depth < 0) notes.push('it is an asset of a page (scope.assets): scope does not apply to it');
  else if (!verdict.allowed && isSeed) notes.push('it is a seed (or the target of one): scope and traps do not apply to it');
  else if (!verdict.allowed && knowsDepth) notes.push('the rules of today would reject it; it was admitted under those of its day');
  return verdict;
}

function blocksOf(crawl: CrawlDir | undefined): readonly string[] {
  const file = join(crawl?.dir ?? '', STEERING_LOG);
  return crawl === undefined || !existsSync(file) ? [] : rulesInLog(readFileSync(file, 'utf8')).blocks;
}

/** Of all shards, which are opened for it. */
function extraHosts(crawl: CrawlDir | undefined, config: Config): string[] {
  const hosts: string[] = [];
  if (config.scope.mode === 'web') return hosts;
  for (let shard = 0; shard < (crawl?.meta.shards ?? 0); shard++) hosts.push(...(crawl!.reader(shard)?.scopeHosts() ?? []));
  return hosts;
}

async function askRobots(named: NamedUrl, config: Config, notes: string[]): Promise<RobotsFacts> {
  const { liveRobots } = await import('./explain-live.ts');
  const { facts, note } = await liveRobots(named.parts, config);
  if (note !== '') notes.push(`robots.txt: ${note}`);
  return facts;
}

async function requestsOf(crawl: CrawlDir, named: NamedUrl): Promise<UrlRequest[]> {
  const { urlRequests } = await import('./explain-requests.ts');
  const canonicalize = createCanonicalizer(DEFAULT_CANONICAL_OPTIONS);
  const isUrl = (url: string): boolean => url === named.url || canonicalize(url) === named.canonical;
  return urlRequests(crawl.dir, crawl.shardOfHost(named.parts.host), named, isUrl);
}

/** One word for it all: what became of the URL, or what would. */
function verdictOf(
  scope: ScopeVerdict,
  facts: UrlFacts | undefined,
  robots: RobotsFacts | undefined,
  config: Config,
): Explanation['verdict'] {
  if (facts?.page !== undefined) return { state: 'fetched', name: facts.page.outcome };
  if (facts?.fate !== undefined) return { state: 'dropped', name: facts.fate.reason };
  if (facts?.state === 'queued' || facts?.state === 'in transit') return { state: facts.state, name: '' };
  if (!scope.allowed) return { state: 'rejected', name: scope.reason ?? '' };
  if (facts?.host !== undefined && facts.host.queued >= config.frontier.maxQueuedPerHost)
    return { state: 'rejected', name: 'host-queue-full' };
  const closed = facts?.host === undefined ? undefined : CLOSED_REASONS[facts.host.state as keyof typeof CLOSED_REASONS];
  if (closed !== undefined) return { state: 'would be dropped', name: closed };
  if (robots !== undefined && !robots.allowed)
    return { state: 'would be dropped', name: robots.state === 'deny-all' ? 'robots-unreachable' : 'robots-disallowed' };
  return { state: facts === undefined ? 'may be crawled' : 'not found yet', name: '' };
}
