/**
 * A crawl directory as the asking verbs (explain, status, export, cdxj, wacz) open it: read-only, also while a crawl runs, and without loading what only a
 * crawl needs. Each shard is seen as of its last commit when it is opened; shards are not seen at one common moment.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openShardReader, type ShardReader } from '../adapters/sqlite/reader.ts';
import { PortolanError } from '../core/errors.ts';
import { type CrawlMeta, parseMeta } from '../engine/crawl-meta.ts';
import type { SegmentMark } from '../output/segment-writer.ts';
import { registrableDomain, shardOf } from '../url/index.ts';

const SCOPE_SEEDS = 'state/scope-seeds.json';

export interface CrawlDir {
  readonly dir: string;
  readonly meta: CrawlMeta;
  /** The shard that owns a host (as in SplitUrl.host). */
  shardOfHost(host: string): number;
  /** Opened once and kept until `close`; undefined when that shard has not committed anything. */
  reader(shard: number): ShardReader | undefined;
  /** One after the other; each is closed when the next one is asked for, so that its snapshot is held no longer than needed. */
  readers(): Iterable<ShardReader>;
  /** Seeds that make the scope; none for scope web. */
  scopeSeeds(): readonly string[];
  close(): void;
}

/** Throws PORTOLAN_STATE_MISSING, PORTOLAN_STATE_DAMAGED, PORTOLAN_STATE_NEWER. */
export function openCrawlDir(dirArgument: string): CrawlDir {
  const dir = resolve(dirArgument);
  const file = join(dir, 'crawl.json');
  if (!existsSync(file)) {
    throw new PortolanError('PORTOLAN_STATE_MISSING', `${dir} holds no crawl`, { remedy: 'name the directory given to crawl with --out' });
  }
  const meta = parseMeta(readFileSync(file, 'utf8'));
  const kept = new Map<number, ShardReader | undefined>();
  const open = (shard: number): ShardReader | undefined => openShardReader(join(dir, 'state', `shard-${shard}`, 'state.db'), shard);
  return {
    dir,
    meta,
    shardOfHost: (host) => shardOf(registrableDomain(host), meta.shards),
    reader(shard) {
      if (!kept.has(shard)) kept.set(shard, open(shard));
      return kept.get(shard);
    },
    *readers() {
      for (let shard = 0; shard < meta.shards; shard++) {
        const reader = open(shard);
        if (reader === undefined) continue;
        try {
          yield reader;
        } finally {
          reader.close();
        }
      }
    },
    scopeSeeds: () => (existsSync(join(dir, SCOPE_SEEDS)) ? (JSON.parse(readFileSync(join(dir, SCOPE_SEEDS), 'utf8')) as string[]) : []),
    close() {
      for (const reader of kept.values()) reader?.close();
      kept.clear();
    },
  };
}

/** Where the files of one kind end for the last commit; undefined when none was written. */
export function markOf(reader: ShardReader, kind: 'warc' | 'pages' | 'ledger'): SegmentMark | undefined {
  const { marks } = reader;
  return marks === '' ? undefined : ((JSON.parse(marks) as Partial<Record<typeof kind, SegmentMark>>)[kind] ?? undefined);
}
