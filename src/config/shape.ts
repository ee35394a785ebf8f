/**
 * Which keys a resolved configuration has and of what type, so that one which was checked when it was written down can be taken as it is: the schema takes
 * longer to load than a whole answer of `portolan explain`. A test holds this against the schema. Values are not judged here: whoever did not write
 * the configuration itself asks `parseConfig`.
 */
import type { Config } from './schema.ts';

type Kind = 'string' | 'number' | 'boolean' | 'list' | 'map';
/** With a question mark: may be missing. */
type Shape = Readonly<Record<string, Kind | `${Kind}?` | Readonly<Record<string, Kind | `${Kind}?`>>>>;

export const CONFIG_SHAPE: Shape = {
  seeds: 'list',
  agent: { token: 'string', contact: 'string' },
  scope: {
    ...{ mode: 'string', include: 'list', exclude: 'list', maxDepth: 'number?', maxUrlBytes: 'number', maxParameters: 'number' },
    ...{ maxSegmentRepeats: 'number', maxSubdomains: 'number', assets: 'boolean' },
  },
  limits: { maxPages: 'number', maxTime: 'number' },
  politeness: {
    ...{ delay: 'number', delayFactor: 'number', delayFactorMax: 'number', addressDelay: 'number?', crawlDelayMax: 'number' },
    ...{ retryAfterMax: 'number', rate: 'number', faultLimit: 'number', faultPause: 'number', setAside: 'number', setAsideLimit: 'number' },
    ...{ blocklist: 'string?' },
  },
  frontier: {
    ...{ backQueues: 'number', weights: 'list', thresholds: 'list', ranks: 'string?', quantum: 'number', maxQueuedPerHost: 'number' },
    ...{ pageBudget: 'number?', budgetCycle: 'number', hostsPerAddress: 'number' },
  },
  fetch: {
    ...{ connections: 'number', connectTimeout: 'number', firstByteTimeout: 'number', stallTimeout: 'number', totalTimeout: 'number' },
    ...{ maxBody: 'number', accept: 'list', maxRedirects: 'number', attempts: 'number', retryDelay: 'number', maxLinks: 'number' },
    ...{ headers: 'list' },
  },
  hosts: 'map',
  dns: {
    ...{ servers: 'list', resolve: 'list', timeout: 'number', ttlMin: 'number', ttlMax: 'number', negativeTtl: 'number' },
    ...{ cacheEntries: 'number' },
  },
  net: { allow: 'list' },
  robots: { ttl: 'number', retryMin: 'number', retryMax: 'number', giveUp: 'number' },
  dedup: { nearDuplicates: 'string?', distance: 'number', demoteShare: 'number' },
  output: {
    ...{ dir: 'string', warc: 'boolean', pages: 'boolean', text: 'boolean', warcSize: 'number', warcGzip: 'boolean', warcPrefix: 'string' },
    ...{ cdxj: 'boolean', reserve: 'number' },
  },
  run: { threads: 'number?', shards: 'number?', memory: 'number', commitInterval: 'number' },
};

/** Whether it has every key with its type and no other: false for what another version has written. */
export function hasConfigShape(value: unknown): value is Config {
  return matches(value, CONFIG_SHAPE);
}

function matches(value: unknown, shape: Shape): boolean {
  if (kindOf(value) !== 'map') return false;
  const map = value as Readonly<Record<string, unknown>>;
  if (Object.keys(map).some((key) => !Object.hasOwn(shape, key))) return false;
  return Object.entries(shape).every(([key, kind]) => {
    if (typeof kind === 'object') return matches(map[key], kind);
    return kind.endsWith('?') && map[key] === undefined ? true : kindOf(map[key]) === kind.replace('?', '');
  });
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  return typeof value === 'object' && value !== null ? 'map' : typeof value;
}
