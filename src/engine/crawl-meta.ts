/**
 * What a crawl directory was made with and cannot change without becoming another crawl: number of shards and the functions behind URL keys and shards,
 * and the scope. Written once, renamed into place last; compared at every start.
 */
import { PortolanError } from '../core/errors.ts';

export const CRAWL_FORMAT_VERSION = 1;

export interface CrawlMeta {
  readonly format: number;
  readonly shards: number;
  readonly shardFunction: number;
  /** Release of the public-suffix snapshot. */
  readonly suffixList: string;
  readonly canonicalizer: number;
  /** Hash of the parameter lists of the canonicaliser. */
  readonly parameters: string;
  readonly scope: { readonly mode: string; readonly include: readonly string[]; readonly exclude: readonly string[] };
  readonly createdAtMs: number;
}

/** Throws PORTOLAN_STATE_NEWER or PORTOLAN_STATE_DAMAGED. */
export function parseMeta(text: string): CrawlMeta {
  const meta = parseJson(text) as Partial<CrawlMeta> | null | undefined;
  if (typeof meta?.format === 'number' && meta.format > CRAWL_FORMAT_VERSION) {
    throw new PortolanError('PORTOLAN_STATE_NEWER', `the crawl was made by a newer version (format ${meta.format})`, {
      remedy: 'use that version',
    });
  }
  const isWhole =
    typeof meta?.format === 'number' &&
    Number.isSafeInteger(meta.shards) &&
    meta.shards! > 0 &&
    Array.isArray(meta.scope?.include) &&
    Array.isArray(meta.scope.exclude);
  if (isWhole) return meta as CrawlMeta;
  throw new PortolanError('PORTOLAN_STATE_DAMAGED', 'crawl.json cannot be read', {
    remedy: 'restore it from a backup, or start a new crawl in another directory',
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Throws PORTOLAN_STATE_MISMATCH naming every difference; `force` accepts another scope, never another key or shard function. */
export function checkMeta(stored: CrawlMeta, wanted: CrawlMeta, force: boolean): void {
  const fixed: string[] = [];
  for (const name of ['shardFunction', 'suffixList', 'canonicalizer', 'parameters'] as const) {
    if (stored[name] !== wanted[name]) fixed.push(`${name} was ${stored[name]}, is ${wanted[name]}`);
  }
  if (fixed.length > 0) {
    throw new PortolanError(
      'PORTOLAN_STATE_MISMATCH',
      `this version makes other URL keys than the crawl was started with: ${fixed.join('; ')}`,
      {
        remedy: 'use the version it was started with, or start a new crawl in another directory',
      },
    );
  }
  const differs: string[] = [];
  if (stored.scope.mode !== wanted.scope.mode) differs.push(`scope was ${stored.scope.mode}, is ${wanted.scope.mode}`);
  for (const name of ['include', 'exclude'] as const) {
    const [was, is] = [stored.scope[name].join(' '), wanted.scope[name].join(' ')];
    if (was !== is) differs.push(`${name} was "${was}", is "${is}"`);
  }
  if (differs.length > 0 && !force) {
    throw new PortolanError('PORTOLAN_STATE_MISMATCH', `the directory holds a crawl with other rules: ${differs.join('; ')}`, {
      remedy: 'repeat the command with the old rules, choose another directory with --out, or add --force to go on with the new rules',
    });
  }
}
