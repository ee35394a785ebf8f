/** What is said when the directory holds a crawl already: that it goes on, what was refused before and is not asked again, and which seeds are new to it. Nothing is said of a directory that cannot be read. */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readTotals } from '../compose.ts';
import type { Config } from '../config/schema.ts';
import { overall } from '../engine/accounting.ts';
import { parseSeed, splitUrl } from '../url/index.ts';
import { openCrawlDir } from './crawl-dir.ts';
import { count } from './numbers.ts';

const SEEDS_SHOWN = 3;

export function resumeNotices(config: Config): readonly string[] {
  const dir = resolve(config.output.dir);
  if (!existsSync(join(dir, 'crawl.json'))) return [];
  try {
    const crawl = openCrawlDir(dir);
    const { fetched, queued, dropped } = overall(readTotals(dir, crawl.meta.shards));
    const done = Object.values(fetched).reduce((sum, more) => sum + more, 0);
    const goesOn = `${config.output.dir} holds a crawl, which goes on: fetched ${count(done)}, waiting ${count(queued)}`;
    return [goesOn, ...refused(config.output.dir, dropped['forbidden-address'] ?? 0), ...joining(config, crawl.scopeSeeds())];
  } catch {
    return [];
  }
}

/** Whoever has been told to allow a range and has done so waits for pages that would not come: what was dropped stays dropped. */
function refused(dir: string, urls: number): string[] {
  if (urls === 0) return [];
  return [
    `${count(urls)} dropped as forbidden-address before; when their range is allowed now: portolan retry ${dir} --reason forbidden-address`,
  ];
}

/** Seeds of hosts that the crawl has not begun with: whoever wanted another crawl learns it before anything is fetched. */
function joining(config: Config, areas: readonly string[]): string[] {
  if (areas.length === 0) return [];
  const known = new Set(areas.map(hostOf));
  const others = config.seeds.map(parseSeed).filter((seed) => !known.has(hostOf(seed)));
  if (others.length === 0) return [];
  const shown = `${others.slice(0, SEEDS_SHOWN).join(', ')}${others.length > SEEDS_SHOWN ? ` and ${others.length - SEEDS_SHOWN} more` : ''}`;
  return [`new to it: ${shown}; a crawl of its own wants another directory, with --out`];
}

function hostOf(url: string): string {
  return splitUrl(url).host.replace(/^www\./, '');
}
