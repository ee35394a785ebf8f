/** A URL in its three forms within a shard: a find or a page row, an entry of its host's queue, and the parts of its text. */
import type { Find, PageRow, QueueEntry } from '../core/records.ts';
import { detached } from '../core/text.ts';
import type { HostMemory } from '../frontier/frontier.ts';
import { type SplitUrl, splitUrl } from '../url/index.ts';

/** Stands for the request of a robots.txt, which no queue holds. */
export const ROBOTS_ENTRY: QueueEntry = {
  https: false,
  pathQuery: '/robots.txt',
  keyHi: 0,
  keyLo: 0,
  kind: 'link',
  depth: 0,
  via: '',
  foundAtS: 0,
  attempts: 0,
  notBeforeMs: 0,
  chain: undefined,
};

/** Of the head of a host's queue. The texts of an origin are the same ones for each URL of it: their hashes are known wherever they are looked up. */
export function partsOf(memory: HostMemory, { https, pathQuery }: QueueEntry): SplitUrl {
  const scheme = https ? 'https' : 'http';
  if (memory.parts?.scheme !== scheme) memory.parts = splitUrl(`${scheme}://${memory.record.key}/`);
  const { host, port, hostKey, origin } = memory.parts;
  return { scheme, host, port, hostKey, origin, pathQuery };
}

export function urlOf(parts: SplitUrl): string {
  return parts.origin + parts.pathQuery;
}

/** The host without its port. */
export function hostOfKey(hostKey: string): string {
  const colon = hostKey.lastIndexOf(':');
  return colon < 0 || hostKey.endsWith(']') ? hostKey : hostKey.slice(0, colon);
}

/** Its text is its own: the page or message it was cut from may go. */
export function entryOfFind(find: Find, parts: SplitUrl): QueueEntry {
  const { keyHi, keyLo, kind, depth, via, foundAtS, chain } = find;
  return {
    https: parts.scheme === 'https',
    pathQuery: detached(parts.pathQuery),
    keyHi,
    keyLo,
    kind,
    depth,
    via,
    foundAtS,
    attempts: 0,
    notBeforeMs: 0,
    chain,
  };
}

/** Rows of pages and fates have no column for the kind: steps of an asset from its page stand there below zero. */
export function rowDepth({ kind, depth }: Pick<QueueEntry, 'kind' | 'depth'>): number {
  return kind === 'asset' ? -depth : depth;
}

/** For a page that is to be fetched again: as if it had just been found. */
export function entryOfPage(page: Pick<PageRow, 'keyHi' | 'keyLo' | 'depth' | 'via' | 'foundAtS'>, parts: SplitUrl): QueueEntry {
  const { keyHi, keyLo, depth, via, foundAtS } = page;
  return {
    https: parts.scheme === 'https',
    pathQuery: parts.pathQuery,
    keyHi,
    keyLo,
    kind: depth < 0 ? 'asset' : via === '' ? 'seed' : 'link',
    depth: Math.abs(depth),
    via,
    foundAtS,
    attempts: 0,
    notBeforeMs: 0,
    chain: undefined,
  };
}
