/** Text for the demo's pages: sentences from a small vocabulary, the same for the same seed, so that every page has a text of its own and exact copies are exact. */

const NOUNS =
  'harbour quay pilot lantern anchor ferry chart compass tide channel buoy lighthouse warehouse rope sail mast captain log cargo barrel crane dock island reef storm fog bell current depth bridge market customs tower'.split(
    ' ',
  );
const VERBS =
  'marks guides keeps measures crosses watches carries records repairs follows signals reaches leaves shelters warns counts loads charts lifts lights'.split(
    ' ',
  );
const QUALITIES =
  'old narrow northern southern quiet heavy bright patient broad deep shallow eastern western careful slow early late salt wooden iron painted hidden'.split(
    ' ',
  );
const PLACES =
  'by the outer wall, before the morning tide, along the eastern channel, near the old customs house, behind the second bridge, under the new crane, at the mouth of the river, beside the market hall, on the far side of the bay, between two buoys'.split(
    ', ',
  );

/** `sentences` of them; `seed` is any text. */
export function prose(seed: string, sentences: number): string {
  const pick = picker(seed);
  return Array.from({ length: sentences }, () => {
    const subject = `the ${pick(QUALITIES)} ${pick(NOUNS)}`;
    const object = `the ${pick(QUALITIES)} ${pick(NOUNS)}`;
    return `${subject[0]!.toUpperCase()}${subject.slice(1)} ${pick(VERBS)} ${object} ${pick(PLACES)}.`;
  }).join(' ');
}

/** xorshift over an FNV-1a hash of the seed: spread well enough for words, and the same everywhere. */
function picker(seed: string): (words: readonly string[]) => string {
  let state = 2_166_136_261;
  for (const char of seed) state = Math.imul(state ^ char.charCodeAt(0), 16_777_619);
  return (words) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return words[(state >>> 0) % words.length]!;
  };
}
