/**
 * Every request that was made for one URL, read from the politeness ledger of its shard (docs/LEDGER.md): attempts that failed included, which the state
 * does not keep. Reads all files of the shard, about 300 MB a second; one file in memory at a time.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LedgerReader, type LedgerRecord, type LedgerStart } from '../output/politeness-ledger.ts';
import type { NamedUrl } from './explain-verdict.ts';

export interface UrlRequest {
  readonly atMs: number;
  readonly url: string;
  readonly address: string;
  readonly gapMs: number;
  readonly gapRule: string;
  /** 0 when no response came; undefined, as what follows, when the request has no end: a crash cut it off, or it is under way. */
  readonly status: number | undefined;
  readonly outcome: string | undefined;
  readonly durationMs: number | undefined;
  readonly retryAfterMs: number | undefined;
}

/** Oldest first. `isUrl` tells whether a URL, as it was requested, is the one that is asked about. */
export function urlRequests(dir: string, shard: number, named: NamedUrl, isUrl: (url: string) => boolean): UrlRequest[] {
  const found: UrlRequest[] = [];
  const open = new Map<number, LedgerStart>();
  for (const file of ledgerFiles(dir, shard)) {
    for (const record of records(file)) {
      if (record.kind === 'start' && record.what === 'page' && record.hostKey === named.parts.hostKey) {
        if (isUrl(`${record.scheme}://${record.hostKey}${record.path}`)) open.set(record.lease, record);
      } else if (record.kind === 'end') {
        const start = open.get(record.lease);
        if (start === undefined) continue;
        open.delete(record.lease);
        found.push({
          ...requestOf(start),
          ...{ status: record.status, outcome: record.outcome },
          durationMs: record.durationMs,
          retryAfterMs: record.retryAfterMs,
        });
      }
    }
  }
  return [...found, ...[...open.values()].map(requestOf)].sort((a, b) => a.atMs - b.atMs);
}

function ledgerFiles(dir: string, shard: number): string[] {
  const folder = join(dir, 'ledger');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => new RegExp(`-s${shard}-\\d{5,9}\\.ledger$`).test(name))
    .sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
    .map((name) => join(folder, name));
}

/** The last frame of a crawl that runs may be under way. */
function records(file: string): Iterable<LedgerRecord> {
  return new LedgerReader(readFileSync(file));
}

function requestOf(start: LedgerStart): UrlRequest {
  return {
    atMs: start.epochMs,
    url: `${start.scheme}://${start.hostKey}${start.path}`,
    address: start.address,
    gapMs: start.gapOwedMs,
    gapRule: start.gapRule,
    ...{ status: undefined, outcome: undefined, durationMs: undefined, retryAfterMs: undefined },
  };
}
