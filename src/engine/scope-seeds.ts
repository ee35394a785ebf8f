/**
 * The seeds that make a crawl's scope, one for each area, kept with the crawl: seeds added later widen the scope, seeds left out later do not narrow it,
 * and a crawl goes on without naming them again.
 */
import { splitUrl } from '../url/index.ts';

/** Stored seeds and those of this run, one per area, stored ones first. `seeds` as from parseSeed. */
export function scopeSeeds(mode: 'host' | 'domain' | 'prefix' | 'web', stored: readonly string[], seeds: readonly string[]): string[] {
  if (mode === 'web') return [];
  const areas = new Map<string, string>();
  for (const seed of [...stored, ...seeds]) {
    const { hostKey, pathQuery } = splitUrl(seed);
    const path = pathQuery.split('?', 1)[0]!;
    const area = mode === 'prefix' ? hostKey + path.slice(0, path.lastIndexOf('/') + 1) : hostKey;
    if (!areas.has(area)) areas.set(area, seed);
  }
  return [...areas.values()];
}
