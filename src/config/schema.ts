/**
 * One strict schema for the file, the flags and the library. Unknown keys fail and name the nearest right one; every key has a default, a
 * unit, a meaning and, where it costs something, its price (scripts/config-doc.ts makes docs/CONFIG.md from here). The result is one frozen Config.
 */
import * as z from 'zod';
import { PortolanError } from '../core/errors.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';
import { DEFAULT_MEMORY_BYTES } from './defaults.ts';
import { count, doc, duration, size, texts } from './fields.ts';
import { type ConfigFinding, configError, configRefusal } from './findings.ts';
import { headerLine, hostsField } from './hosts.ts';
import { DURATION } from './units.ts';

export type { KeyDoc } from './fields.ts';

export const ConfigSchema = z.strictObject({
  seeds: texts('URLs or host names to start from', undefined, 'https://example.com/').default([]),
  agent: z
    .strictObject({
      token: z
        .string()
        .regex(/^[A-Za-z_-]+$/, 'a product token has letters, - and _ only (RFC 9309 section 2.2.1)')
        .describe('product token: matched against robots.txt, first word of User-Agent; letters, - and _')
        .default('Portolan'),
      contact: z.string().describe('URL or mail address at which a webmaster reaches the operator; required for scope web').default(''),
    })
    .prefault({}),
  scope: z
    .strictObject({
      mode: z
        .enum(['host', 'domain', 'prefix', 'web'])
        .describe(
          'what may be crawled: the hosts of the seeds with and without www (host), the same below the seeds’ last slash (prefix), their registrable domains (domain), or everything (web)',
        )
        .default('host'),
      include: texts(
        'JavaScript regular expressions on the URL as found; with any, a URL must match one',
        'each is tried on every link that is in scope',
        '/articles/',
      ).default([]),
      exclude: texts(
        'JavaScript regular expressions on the URL as found; a URL that matches one is rejected',
        'each is tried on every link that is in scope',
        '[?&]print=',
      ).default([]),
      maxDepth: count(
        'links from a seed, redirects not counted; default 16 for scope web, no limit otherwise',
        0,
        undefined,
        '16',
      ).optional(),
      maxUrlBytes: count('bytes of a URL; longer ones are rejected', 16).default(1_000),
      maxParameters: count('query parameters of a canonical URL (tracking and session parameters do not count); more are rejected').default(
        8,
      ),
      maxSegmentRepeats: count(
        'a path segment may stand at most n times in a path, and all repeats together may be at most n; segments of digits alone up to 2 n times; 0 switches this trap guard off',
      ).default(3),
      maxSubdomains: count('hosts of one registrable domain; in force with scope web', 1).default(10_000),
      assets: z
        .boolean()
        .meta(
          doc(
            undefined,
            'fetch what pages are shown with (images, styles, scripts, fonts, media), from any host, so that the WARC files replay them whole',
            'many more requests, also to hosts outside of the scope',
          ),
        )
        .default(false),
    })
    .prefault({}),
  limits: z
    .strictObject({
      maxPages: count('pages fetched (ok, truncated, not-modified) over all runs of the directory; 0 = no limit').default(0),
      maxTime: duration('length of one run; 0 = no limit').default(0),
    })
    .prefault({}),
  politeness: z
    .strictObject({
      delay: duration('least gap between the end of a fetch and the next start, per host', { max: DAY_MS }).default(1_000),
      delayFactor: z.number().min(0).describe('gap as a multiple of the last fetch’s duration; 0 switches it off').default(5),
      delayFactorMax: duration('bound of the gap that delayFactor sets', { max: DAY_MS }).default(30_000),
      addressDelay: duration(
        'gap per IP address over all its hosts; default as politeness.delay',
        { max: DAY_MS },
        undefined,
        '1s',
      ).optional(),
      crawlDelayMax: duration(
        'a host whose robots.txt asks for a longer Crawl-delay is set apart: its URLs stay queued and the crawl does not wait for them',
      ).default(300_000),
      retryAfterMax: duration('a longer Retry-After is taken as this').default(86_400_000),
      rate: z.number().min(0).describe('requests per second over all hosts; 0 = no limit').default(0),
      faultLimit: count('timeouts and host-wide faults (DNS, connect, TLS, 429, 503) in a row until a host is set aside', 1).default(5),
      faultPause: duration('first pause of a host after a DNS, connect or TLS failure; doubles up to 10 minutes', { min: 1 }).default(
        10_000,
      ),
      setAside: duration('how long a failing host is set aside', { min: 1 }).default(3_600_000),
      setAsideLimit: count(
        'times set aside in a row until the host is retired and its URLs are dropped (a name that does not exist: after two answers)',
        1,
      ).default(5),
      blocklist: z
        .string()
        .meta(
          doc(
            undefined,
            'file of hosts, domains, CIDRs and /patterns/ that must not be fetched; read again when it changes',
            undefined,
            'blocked.txt',
          ),
        )
        .optional(),
    })
    .prefault({}),
  frontier: z
    .strictObject({
      backQueues: count(
        'hosts worked on at once over all shards: no more than backQueues / (fetch + gap) pages per second',
        1,
        'memory: up to 64 waiting URLs of each host that is worked on',
      ).default(1_024),
      weights: z
        .array(z.number().positive())
        .length(5)
        .describe('how often each of the five priority levels is drawn, best first')
        .default([5, 3.344, 2.236, 1.495, 1]),
      thresholds: z
        .array(z.number())
        .length(4)
        .describe('least priority score of levels 0 … 3; a lower score is level 4')
        .default([0.3, 0.15, 0.09, 0.055]),
      ranks: z
        .string()
        .meta(
          doc(
            undefined,
            'CSV of domains with their rank, best first, as Tranco or Majestic publish them: half of a URL’s priority score; hosts and registrable domains',
            'about 100 bytes a line and thread',
            'ranks.csv',
          ),
        )
        .optional(),
      quantum: count('fetches until a host yields its back queue when others wait', 1).default(64),
      maxQueuedPerHost: count('URLs that may wait for one host; further ones are rejected', 1).default(10_000_000),
      pageBudget: count(
        'pages per host and cycle; default 10,000 for scope web, no limit otherwise; 0 = no limit',
        0,
        undefined,
        '10000',
      ).optional(),
      budgetCycle: duration('length of a page-budget cycle', { min: 1 }).default(30 * 86_400_000),
      hostsPerAddress: count('hosts of one IP address that may hold back queues at once, per shard', 1).default(4),
    })
    .prefault({}),
  fetch: z
    .strictObject({
      connections: count(
        'exchanges in flight over all hosts, divided among the shards',
        1,
        'a socket and up to twice fetch.maxBody of memory each',
      ).default(256),
      connectTimeout: duration('to an open connection', { min: 1, max: DAY_MS }).default(5_000),
      firstByteTimeout: duration('from the request to the head of the answer', { min: 1, max: DAY_MS }).default(10_000),
      stallTimeout: duration('longest pause within a body', { min: 1, max: DAY_MS }).default(10_000),
      totalTimeout: duration('whole exchange', { min: 1, max: DAY_MS }).default(30_000),
      maxBody: size(
        'bytes of a body, on the wire and decoded; the rest is cut off and the page marked truncated',
        { min: 1_000, max: 2 ** 30 },
        'bounds the memory of each exchange',
      ).default(5_000_000),
      accept: texts('media types that are read, type/* and */* are understood; the body of another one is broken off').default([
        'text/html',
        'application/xhtml+xml',
        'text/plain',
      ]),
      maxRedirects: count('hops of one chain').default(10),
      attempts: count('fetches of a URL that fails transiently, the first included', 1).default(3),
      retryDelay: duration('first pause before another attempt; doubles, with jitter').default(10_000),
      maxLinks: count('distinct links of one page; further ones are rejected', 1).default(6_000),
      headers: z
        .array(headerLine)
        .meta(
          doc(
            'list',
            'headers of every request, as "Name: value"; Authorization and Cookie go to the hosts of the seeds alone',
            undefined,
            'Accept-Language: de',
          ),
        )
        .default([]),
    })
    .prefault({}),
  hosts: hostsField,
  dns: z
    .strictObject({
      servers: texts('ADDR:PORT of the name servers; default those of the system', undefined, '192.0.2.53:53').default([]),
      resolve: texts(
        'HOST:ADDR, answers that are not asked for; several lines for one host are several addresses',
        undefined,
        'www.example.com:192.0.2.7',
      ).default([]),
      timeout: duration('of one look-up', { min: 1, max: HOUR_MS }).default(5_000),
      ttlMin: duration('an address is kept at least this long').default(600_000),
      ttlMax: duration('and at most this long').default(86_400_000),
      negativeTtl: duration('a name without address is not asked for again').default(300_000),
      cacheEntries: count('names kept in memory, per thread', 16, 'memory').default(20_000),
    })
    .prefault({}),
  net: z
    .strictObject({
      allow: texts('CIDRs of special ranges (loopback, private …) that may be contacted', undefined, '10.0.0.0/8').default([]),
    })
    .prefault({}),
  robots: z
    .strictObject({
      ttl: duration('an answer is kept at least this long; a longer max-age of the server counts, up to 7 days', { min: 1_000 }).default(
        86_400_000,
      ),
      retryMin: duration('first wait after a failure', { min: 1 }).default(60_000),
      retryMax: duration('longest wait after failures', { min: 1 }).default(3_600_000),
      giveUp: duration('a host whose robots.txt fails for so long is given up and its URLs are dropped').default(30 * 86_400_000),
    })
    .prefault({}),
  dedup: z
    .strictObject({
      nearDuplicates: z
        .enum(['keep', 'skip'])
        .meta(
          doc(
            undefined,
            'what happens to near-duplicates: stored like any page, or counted and let go with their links; default skip for scope web, keep otherwise',
            undefined,
            'keep',
          ),
        )
        .optional(),
      distance: z.number().int().min(0).max(3).describe('bits of 64 in which the SimHashes of near-duplicates may differ').default(3),
      demoteShare: z
        .number()
        .min(0)
        .max(1)
        .describe('share of near-duplicates among a host’s pages from which it goes to the last priority level (when they are skipped)')
        .default(0.5),
    })
    .prefault({}),
  output: z
    .strictObject({
      dir: z.string().describe('directory of the crawl').default('portolan-out'),
      warc: z
        .boolean()
        .meta(doc(undefined, 'write WARC files', 'disk: about as much as came over the wire'))
        .default(true),
      pages: z
        .boolean()
        .meta(doc(undefined, 'write pages.jsonl', 'disk: about 700 bytes for each outcome'))
        .default(true),
      text: z
        .boolean()
        .meta(doc(undefined, 'visible text in pages.jsonl', 'disk and some CPU'))
        .default(false),
      warcSize: size('size at which a WARC file is closed', { min: 1_000 }).default(1_000_000_000),
      warcGzip: z
        .boolean()
        .meta(
          doc(undefined, 'each WARC record compressed (.warc.gz); false: plain files (.warc). A crawl goes on as it began', 'false: disk'),
        )
        .default(true),
      warcPrefix: z
        .string()
        .regex(/^[A-Za-z0-9._-]+$/, 'letters, digits, ., _ and - are possible')
        .describe('first part of WARC file names')
        .default('portolan'),
      cdxj: z
        .boolean()
        .meta(
          doc(
            undefined,
            'write warc/index.cdxj, the index that replay tools want, at the end of each run',
            'reads the WARC files once more',
          ),
        )
        .default(false),
      reserve: size('free disk space under which the crawl pauses until there is more').default(256 * 1_048_576),
    })
    .prefault({}),
  run: z
    .strictObject({
      threads: count(
        'threads that run shards, at most as many as shards; default the number of processors',
        1,
        'about 50 MB of memory each',
        '2',
      ).optional(),
      shards: count(
        'shards of a new crawl, fixed when the directory is made; default as many as processors, at least 4',
        1,
        'four syncs of the disk per shard and commit',
        '4',
      ).optional(),
      memory: size('of all caches and tables together (seen set, near-duplicate index, robots and SQLite caches); not the whole process', {
        min: 256 * 1_024,
      }).default(DEFAULT_MEMORY_BYTES),
      commitInterval: duration(
        'between group commits',
        { min: 1, max: HOUR_MS },
        'a crash repeats what was fetched in the last two of them; each commit is four syncs per shard',
      ).default(1_000),
    })
    .prefault({}),
});

export type ConfigInput = z.input<typeof ConfigSchema>;
type Parsed = z.output<typeof ConfigSchema>;
export type Config = DeepReadonly<Parsed>;
export type DeepReadonly<T> = T extends (infer U)[]
  ? readonly DeepReadonly<U>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T;

/**
 * Throws PORTOLAN_CONFIG_UNKNOWN_KEY or PORTOLAN_CONFIG_INVALID; the message lists every finding. `say` words a finding for a caller who knows
 * where each value was written; without it `source` stands in front of them all.
 */
export function parseConfig(input: unknown, source: string, say?: (finding: ConfigFinding) => string): Config {
  const result = ConfigSchema.safeParse(input ?? {});
  if (!result.success) throw configError(result.error.issues, input ?? {}, source, say, configKeys());
  const config = result.data;
  const contradictions = contradictionsOf(config);
  if (contradictions.length > 0) throw configRefusal('PORTOLAN_CONFIG_INVALID', contradictions, source, say);
  if (config.scope.mode === 'web' && config.agent.contact === '') {
    throw new PortolanError('PORTOLAN_CONFIG_INVALID', 'a crawl of scope "web" needs a contact for webmasters', {
      remedy: 'give --contact with a URL or a mail address (agent.contact in the configuration)',
    });
  }
  return deepFreeze({ ...config, seeds: config.seeds.map(withoutUserInfo) });
}

/** User names and passwords in a seed are never used, and the configuration is written down in several places (warcinfo among them). */
function withoutUserInfo(seed: string): string {
  return seed.replace(/^([^/\\?#]*[/\\]{2,}|\W*https?:[/\\]?)[^/\\?#\s]*@/i, '$1');
}

/** What is wrong only between two keys. */
function contradictionsOf({ dns, robots }: Parsed): ConfigFinding[] {
  const findings: ConfigFinding[] = [];
  if (dns.ttlMin > dns.ttlMax)
    findings.push({ key: 'dns.ttlMin', text: `${DURATION.write(dns.ttlMin)} is more than dns.ttlMax, ${DURATION.write(dns.ttlMax)}` });
  if (robots.retryMin > robots.retryMax)
    findings.push({
      key: 'robots.retryMin',
      text: `${DURATION.write(robots.retryMin)} is more than robots.retryMax, ${DURATION.write(robots.retryMax)}`,
    });
  return findings;
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

function deepFreeze<T>(value: T): DeepReadonly<T> {
  if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) deepFreeze(inner);
    Object.freeze(value);
  }
  return value as DeepReadonly<T>;
}
