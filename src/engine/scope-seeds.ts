/**
 * The seeds that make a crawl's scope, one for each area, kept with the crawl: seeds added later widen the scope, seeds left out later do not narrow it,
 * and a crawl goes on without naming them again.
 */
import { splitUrl } from '../url/index.ts';

/** A seed as Scope.addHost takes it: its host key and its path up to the last slash, which only scope prefix looks at. */
export function areaOfSeed(seed: string): string {
  const { hostKey, pathQuery } = splitUrl(seed);
  const path = pathQuery.split('?', 1)[0]!;
  return hostKey + path.slice(0, path.lastIndexOf('/') + 1);
}

/** Stored seeds and those of this run, one per area, stored ones first. `seeds` as from parseSeed. */
export function scopeSeeds(mode: 'host' | 'domain' | 'prefix' | 'web', stored: readonly string[], seeds: readonly string[]): string[] {
  if (mode === 'web') return [];
  const areas = new Map<string, string>();
  for (const seed of [...stored, ...seeds]) {
    const area = mode === 'prefix' ? areaOfSeed(seed) : splitUrl(seed).hostKey;
    if (!areas.has(area)) areas.set(area, seed);
  }
  return [...areas.values()];
}
