/**
 * What a node reads and writes of the crawl as a whole before any shard is opened: crawl.json and the seeds of the scope, over the Disk of the
 * crawl's directory. Each file is renamed into place whole; nothing else in the engine writes them.
 */
import { createHash } from 'node:crypto';
import type { Config } from '../config/schema.ts';
import { PortolanError } from '../core/errors.ts';
import type { EpochMs } from '../core/time.ts';
import type { Disk } from '../ports/disk.ts';
import { CANONICALIZER_VERSION, DEFAULT_CANONICAL_OPTIONS, SHARD_FUNCTION_VERSION } from '../url/index.ts';
import { CRAWL_FORMAT_VERSION, type CrawlMeta, checkMeta, parseMeta } from './crawl-meta.ts';
import { scopeSeeds } from './scope-seeds.ts';

export const CRAWL_META = 'crawl.json';
const SCOPE_SEEDS = 'state/scope-seeds.json';
/** The configuration of the last run, for those who ask about the crawl later; a crawl itself never reads it. */
export const STORED_CONFIG = 'state/config.json';
/** Made with the first shard; it never stands without crawl.json. */
const FIRST_STATE = 'state/shard-0/state.db';

/** What a crawl begun now is made with. `shards` counts when the configuration names no number; `suffixList`: release of the public-suffix snapshot. */
export function newMeta(config: Config, shards: number, suffixList: string, nowMs: EpochMs): CrawlMeta {
  const { mode, include, exclude } = config.scope;
  return {
    format: CRAWL_FORMAT_VERSION,
    shards: config.run.shards ?? shards,
    shardFunction: SHARD_FUNCTION_VERSION,
    suffixList,
    canonicalizer: CANONICALIZER_VERSION,
    parameters: hashText(JSON.stringify(DEFAULT_CANONICAL_OPTIONS)),
    scope: { mode, include, exclude },
    createdAtMs: nowMs,
  };
}

/**
 * Begins the crawl with `wanted`, or goes on with what it was begun with; `force` takes over another scope.
 * Throws PORTOLAN_STATE_DAMAGED, PORTOLAN_STATE_NEWER or PORTOLAN_STATE_MISMATCH.
 */
export async function openMeta(disk: Disk, wanted: CrawlMeta, force: boolean): Promise<CrawlMeta> {
  if (!disk.exists(CRAWL_META)) {
    if (disk.exists(FIRST_STATE)) {
      throw new PortolanError('PORTOLAN_STATE_DAMAGED', 'crawl.json is gone, but not the state of a crawl', {
        remedy: 'restore it from a backup, or start a new crawl in another directory',
      });
    }
    await writeMeta(disk, wanted);
    return wanted;
  }
  const stored = readMeta(disk);
  checkMeta(stored, wanted, force);
  const meta = { ...stored, scope: wanted.scope };
  if (force) await writeMeta(disk, meta);
  return meta;
}

/** Throws PORTOLAN_STATE_DAMAGED or PORTOLAN_STATE_NEWER. */
export function readMeta(disk: Disk): CrawlMeta {
  return parseMeta(Buffer.from(disk.readWhole(CRAWL_META)).toString('utf8'));
}

function writeMeta(disk: Disk, meta: CrawlMeta): Promise<void> {
  return disk.writeWhole(CRAWL_META, Buffer.from(`${JSON.stringify(meta, undefined, 2)}\n`));
}

/** The areas of the crawl's scope: those it was started with and those of this run's seeds. `seeds` as from parseSeed. */
export async function openScopeSeeds(disk: Disk, mode: Config['scope']['mode'], seeds: readonly string[]): Promise<readonly string[]> {
  const stored = disk.exists(SCOPE_SEEDS) ? (JSON.parse(Buffer.from(disk.readWhole(SCOPE_SEEDS)).toString('utf8')) as string[]) : [];
  const all = scopeSeeds(mode, stored, seeds);
  if (all.length > stored.length) await disk.writeWhole(SCOPE_SEEDS, Buffer.from(`${JSON.stringify(all, undefined, 1)}\n`));
  return all;
}

/** `seedsMax`: seeds beyond are left out. */
export async function writeStoredConfig(disk: Disk, config: Config, seedsMax: number): Promise<void> {
  const stored = { ...config, seeds: config.seeds.slice(0, seedsMax) };
  await disk.writeWhole(STORED_CONFIG, Buffer.from(`${JSON.stringify(stored, undefined, 1)}\n`));
}

/** A short name for a text: 16 hexadecimal digits of its SHA-256. */
export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
