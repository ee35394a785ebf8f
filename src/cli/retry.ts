/**
 * `portolan retry DIR --reason …`: puts URLs that have ended back into their queues while the crawl is stopped; the next run fetches them. It takes the crawl's lock, so
 * that no crawl has the state open meanwhile. Stopped half way, what was put back is put back, and the same command goes on.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { lockCrawl } from '../adapters/sqlite/crawl-lock.ts';
import { createSqliteStore } from '../adapters/sqlite/shard-store.ts';
import { PortolanError } from '../core/errors.ts';
import { PUT_BACK_REASONS, type PutBackResult, putBack } from '../engine/put-back.ts';
import { shardFile } from '../thread-data.ts';
import { parseSeed, splitUrl } from '../url/index.ts';
import { openCrawlDir } from './crawl-dir.ts';
import { EXIT } from './exit-codes.ts';
import { counted, kinds, numbered } from './numbers.ts';

const CACHE_BYTES = 16 << 20;

export interface RetryFlags {
  /** Separated by commas. */
  readonly reason: string;
  readonly host?: string;
  readonly json?: boolean;
}

export async function retry(dirArgument: string, flags: RetryFlags): Promise<number> {
  const reasons = reasonsOf(flags.reason);
  const hostKey = flags.host === undefined ? undefined : splitUrl(parseSeed(flags.host)).hostKey;
  const crawl = openCrawlDir(dirArgument);
  const unlock = lockCrawl(join(crawl.dir, 'state', 'lock.db'));
  try {
    const done: PutBackResult[] = [];
    for (let shard = 0; shard < crawl.meta.shards; shard++) {
      const file = shardFile(crawl.dir, shard);
      if (!existsSync(file)) continue;
      const store = createSqliteStore({ file, cacheBytes: CACHE_BYTES });
      try {
        done.push(await putBack(store, shard, { reasons, hostKey }));
      } finally {
        store.close();
      }
    }
    process.stdout.write(flags.json === true ? `${JSON.stringify(summary(done))}\n` : text(summary(done), crawl.dir));
    return EXIT.finished;
  } finally {
    unlock();
  }
}

function reasonsOf(text: string): Set<string> {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !PUT_BACK_REASONS.includes(name));
  if (unknown === undefined) return new Set(names);
  throw new PortolanError('PORTOLAN_USAGE_INVALID', `--reason takes ${PUT_BACK_REASONS.join(', ')}; "${unknown}" is none of them`, {
    remedy: 'see docs/REASONS.md; portolan status DIR says how many there are of each',
  });
}

function summary(parts: readonly PutBackResult[]) {
  const byReason: Record<string, number> = {};
  for (const part of parts) for (const [reason, n] of Object.entries(part.byReason)) byReason[reason] = (byReason[reason] ?? 0) + n;
  const total = (pick: (part: PutBackResult) => number): number => parts.reduce((a, part) => a + pick(part), 0);
  return { urls: total(({ urls }) => urls), hosts: total(({ hosts }) => hosts), byReason };
}

function text({ urls, hosts, byReason }: ReturnType<typeof summary>, dir: string): string {
  if (urls === 0) return 'nothing has ended so: no URL was put back\n';
  return `${counted(urls, 'URL')} of ${counted(hosts, 'host')} ${numbered(urls, 'waits', 'wait')} again (${kinds(byReason)}); run the crawl into ${dir} again to fetch ${numbered(urls, 'it', 'them')}\n`;
}
