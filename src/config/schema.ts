/**
 * One strict schema for the file, the flags and the library. Unknown keys fail and name the nearest right one; every key has a default, a
 * unit, a meaning and, where it costs something, its price (docs/CONFIG.md is generated from here). The result is one frozen Config.
 */
import { z } from 'zod';
import { PortolanError } from '../core/errors.ts';
import { parseDuration, parseSize } from './units.ts';

const duration = (meaning: string) =>
  z
    .union([z.string(), z.number()])
    .transform((value, context) => {
      const parsed = parseDuration(value);
      if (parsed !== undefined) return parsed;
      context.issues.push({ code: 'custom', message: `"${value}" is not a duration such as 500ms, 1s, 10m, 2h or 1d`, input: value });
      return z.NEVER;
    })
    .describe(meaning);
const size = (meaning: string) =>
  z
    .union([z.string(), z.number()])
    .transform((value, context) => {
      const parsed = parseSize(value);
      if (parsed !== undefined) return parsed;
      context.issues.push({ code: 'custom', message: `"${value}" is not a size such as 64KB, 5MB or 1GiB`, input: value });
      return z.NEVER;
    })
    .describe(meaning);
const count = (meaning: string, minimum = 0) => z.number().int().min(minimum).describe(meaning);
const texts = (meaning: string) => z.array(z.string()).describe(meaning);

export const ConfigSchema = z.strictObject({
  seeds: texts('URLs to start from').default([]),
  agent: z
    .strictObject({
      token: z.string().regex(/^[A-Za-z_-]+$/, 'a product token has letters, - and _ only (RFC 9309 section 2.2.1)').describe('product token: matched against robots.txt, first word of User-Agent').default('Portolan'),
      contact: z.string().describe('URL or mail address at which a webmaster reaches the operator; required for scope web').default(''),
    })
    .prefault({}),
  scope: z
    .strictObject({
      mode: z.enum(['host', 'domain', 'prefix', 'web']).describe('what may be crawled').default('host'),
      include: texts('regular expressions; with any, a URL must match one').default([]),
      exclude: texts('regular expressions; a URL that matches one is rejected').default([]),
      maxDepth: count('links from a seed; default 16 for scope web, none otherwise').optional(),
      maxUrlBytes: count('longer URLs are rejected', 16).default(1_000),
      maxParameters: count('query parameters of a URL').default(8),
      maxSegmentRepeats: count('times one path segment, or a cycle of them, may follow itself', 1).default(3),
      maxSubdomains: count('hosts of one registrable domain, scope web', 1).default(10_000),
    })
    .prefault({}),
  limits: z
    .strictObject({
      maxPages: count('pages fetched over all runs; 0 = no limit').default(0),
      maxTime: duration('length of this run; 0 = no limit').default(0),
    })
    .prefault({}),
  politeness: z
    .strictObject({
      delay: duration('least gap between the end of a fetch and the next start, per host').default(1_000),
      delayFactor: z.number().min(0).describe('gap as a multiple of the last fetch’s duration').default(5),
      delayFactorMax: duration('bound of the gap that delayFactor sets').default(30_000),
      addressDelay: duration('gap per address over all its hosts; default as delay').optional(),
      crawlDelayMax: duration('a longer Crawl-delay parks its host').default(300_000),
      retryAfterMax: duration('a longer Retry-After is taken as this').default(86_400_000),
      rate: z.number().min(0).describe('requests per second over all hosts; 0 = no limit').default(0),
      faultLimit: count('consecutive timeouts or host-wide faults until a host is set aside', 1).default(5),
      faultPause: duration('first pause of a host after a DNS, connect or TLS failure; doubles up to 10 minutes').default(10_000),
      setAside: duration('how long a failing host is set aside').default(3_600_000),
      setAsideLimit: count('times set aside in a row until the host is retired', 1).default(5),
      blocklist: z.string().describe('file of hosts, domains, CIDRs and /patterns/ that must not be fetched; read again when it changes').optional(),
    })
    .prefault({}),
  frontier: z
    .strictObject({
      backQueues: count('hosts worked on at once over all shards: ceiling of backQueues / (fetch + gap) pages/s', 1).default(1_024),
      weights: z.array(z.number().positive()).length(5).describe('how often each priority level is drawn, best first').default([5, 3.344, 2.236, 1.495, 1]),
      thresholds: z.array(z.number()).length(4).describe('least score of levels 0 … 3').default([0.3, 0.15, 0.09, 0.055]),
      quantum: count('fetches until a host yields its back queue when others wait', 1).default(64),
      maxQueuedPerHost: count('URLs that may wait for one host', 1).default(10_000_000),
      pageBudget: count('pages per host and cycle; default 10,000 for scope web, none otherwise; 0 = none').optional(),
      budgetCycle: duration('length of a page-budget cycle').default(30 * 86_400_000),
      hostsPerAddress: count('hosts of one address that may hold back queues at once', 1).default(4),
    })
    .prefault({}),
  fetch: z
    .strictObject({
      connections: count('exchanges in flight over all hosts', 1).default(256),
      connectTimeout: duration('to an open connection').default(5_000),
      firstByteTimeout: duration('from the request to the head of the answer').default(10_000),
      stallTimeout: duration('longest pause within a body').default(10_000),
      totalTimeout: duration('whole exchange').default(30_000),
      maxBody: size('decoded body; the rest is cut off and marked truncated').default(5_000_000),
      accept: texts('media types that are read; type/* is understood').default(['text/html', 'application/xhtml+xml', 'text/plain']),
      maxRedirects: count('hops of one chain').default(10),
      attempts: count('fetches of a URL that fails transiently', 1).default(3),
      retryDelay: duration('first pause before another attempt; doubles, with jitter').default(10_000),
      maxLinks: count('links of one page', 1).default(6_000),
    })
    .prefault({}),
  dns: z
    .strictObject({
      servers: texts('ADDR:PORT of the resolvers; default the system’s').default([]),
      resolve: texts('HOST:ADDR, fixed answers').default([]),
      timeout: duration('of one look-up').default(5_000),
      ttlMin: duration('an address is kept at least this long').default(600_000),
      ttlMax: duration('and at most this long').default(86_400_000),
      negativeTtl: duration('a name without address is not asked for again').default(300_000),
      cacheEntries: count('names kept in memory, per thread', 16).default(20_000),
    })
    .prefault({}),
  net: z.strictObject({ allow: texts('CIDRs of special ranges (loopback, private …) that may be contacted').default([]) }).prefault({}),
  robots: z
    .strictObject({
      ttl: duration('how long an answer is kept').default(86_400_000),
      retryMin: duration('first wait after a failure').default(60_000),
      retryMax: duration('longest wait after failures').default(3_600_000),
      giveUp: duration('failing for so long ends the host').default(30 * 86_400_000),
    })
    .prefault({}),
  dedup: z
    .strictObject({
      nearDuplicates: z.enum(['keep', 'skip']).describe('what happens to near-duplicates; default skip for scope web, keep otherwise').optional(),
      distance: z.number().int().min(0).max(3).describe('SimHash bits that may differ').default(3),
      demoteShare: z.number().min(0).max(1).describe('share of near-duplicates from which a host goes to the last level').default(0.5),
    })
    .prefault({}),
  output: z
    .strictObject({
      dir: z.string().describe('directory of the crawl').default('portolan-out'),
      warc: z.boolean().describe('write WARC files').default(true),
      pages: z.boolean().describe('write pages.jsonl').default(true),
      text: z.boolean().describe('visible text in pages.jsonl').default(false),
      warcSize: size('size at which a WARC file is closed').default(1_000_000_000),
      warcPrefix: z.string().regex(/^[A-Za-z0-9._-]+$/).describe('first part of WARC file names').default('portolan'),
      reserve: size('free disk space under which the crawl pauses').default(256 * 1_048_576),
    })
    .prefault({}),
  run: z
    .strictObject({
      threads: count('threads that run shards; default the number of processors', 1).optional(),
      shards: count('shards of a new crawl; default as many as processors, at least 4', 1).optional(),
      memory: size('of all caches and tables together').default(256 * 1_048_576),
      commitInterval: duration('between group commits').default(1_000),
    })
    .prefault({}),
});

export type ConfigInput = z.input<typeof ConfigSchema>;
type Parsed = z.output<typeof ConfigSchema>;
export type Config = DeepReadonly<Parsed>;
export type DeepReadonly<T> = T extends (infer U)[] ? readonly DeepReadonly<U>[] : T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T;

/** Throws PORTOLAN_CONFIG_UNKNOWN_KEY or PORTOLAN_CONFIG_INVALID; the message lists every finding. */
export function parseConfig(input: unknown, source: string): Config {
  const result = ConfigSchema.safeParse(input ?? {});
  if (!result.success) throw configError(result.error.issues, source);
  const config = result.data;
  if (config.scope.mode === 'web' && config.agent.contact === '') {
    throw new PortolanError('PORTOLAN_CONFIG_INVALID', 'a crawl of scope "web" needs a contact for webmasters', {
      remedy: 'give --contact with a URL or a mail address (agent.contact in the configuration)',
    });
  }
  return deepFreeze(config);
}

function configError(issues: readonly z.core.$ZodIssue[], source: string): PortolanError {
  const unknown = issues.find((issue) => issue.code === 'unrecognized_keys');
  const lines = issues.map((issue) => describeIssue(issue));
  return new PortolanError(unknown ? 'PORTOLAN_CONFIG_UNKNOWN_KEY' : 'PORTOLAN_CONFIG_INVALID', `${source}: ${lines.join('; ')}`, {
    remedy: 'see docs/CONFIG.md for the keys, their units and defaults',
  });
}

function describeIssue(issue: z.core.$ZodIssue): string {
  const path = issue.path.join('.');
  if (issue.code !== 'unrecognized_keys') return `${path === '' ? '' : `${path}: `}${issue.message}`;
  return issue.keys
    .map((key) => {
      const full = path === '' ? key : `${path}.${key}`;
      const near = nearest(full, configKeys());
      return `unknown key "${full}"${near === undefined ? '' : ` (did you mean "${near}"?)`}`;
    })
    .join('; ');
}

/** Every key of the schema, in its dotted form. */
export function configKeys(): string[] {
  const keys: string[] = [];
  for (const [name, type] of Object.entries(ConfigSchema.shape)) {
    const inner = 'innerType' in type.def ? (type.def.innerType as { shape?: Record<string, unknown> }) : undefined;
    if (inner?.shape === undefined) keys.push(name);
    else for (const key of Object.keys(inner.shape)) keys.push(`${name}.${key}`);
  }
  return keys;
}

/** The candidate with the smallest edit distance, when it is at most a third of the word (at least 2). */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitute = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(substitute, previous[j]! + 1, current[j - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}

function deepFreeze<T>(value: T): DeepReadonly<T> {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value as DeepReadonly<T>;
}
