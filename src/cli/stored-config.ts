/**
 * The configuration of the last run, as the directory keeps it. It was checked before it was written, so it is taken as it is when it has the shape that this
 * version writes; the schema is loaded for any other.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/schema.ts';
import { hasConfigShape } from '../config/shape.ts';
import type { CrawlMeta } from '../engine/crawl-meta.ts';
import { STORED_CONFIG } from '../engine/crawl-open.ts';
import type { CrawlDir } from './crawl-dir.ts';

/** What a directory's crawl runs with, and where that was found. */
export interface StoredConfig {
  readonly config: Config;
  readonly from: 'the last run' | 'crawl.json and defaults';
}

/**
 * The configuration of the last run, its secrets masked; the scope is that of crawl.json, which rules. One that this version cannot read (or none) is that of
 * the defaults.
 */
export async function readStoredConfig(crawl: CrawlDir): Promise<StoredConfig> {
  const file = join(crawl.dir, STORED_CONFIG);
  try {
    if (existsSync(file)) return { config: await asConfig(JSON.parse(readFileSync(file, 'utf8')), crawl.meta, file), from: 'the last run' };
  } catch {
    // Written by another version, or by hand.
  }
  return { config: await asConfig({}, crawl.meta, file), from: 'crawl.json and defaults' };
}

async function asConfig(input: Readonly<Record<string, object>>, meta: CrawlMeta, file: string): Promise<Config> {
  const { mode, include, exclude } = meta.scope;
  const scope = { ...input['scope'], mode, include, exclude };
  if (hasConfigShape(input)) return { ...input, scope: scope as Config['scope'] };
  const { parseConfig } = await import('../config/schema.ts');
  // Scope web wants a contact; a stored crawl of it had one.
  return parseConfig({ ...input, agent: { contact: 'unknown', ...input['agent'] }, scope }, file);
}
