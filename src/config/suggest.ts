/**
 * What was probably meant: the nearest word of a list, and where a configuration key belongs. Pure text; it knows no schema.
 */

/** The candidate with the smallest edit distance, when it is at most a third of the word (at least 2); spelling with - or _ and capitals does not count. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const bare = bareWord(word);
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(bare, bareWord(candidate));
    // A short word is not near to another one merely because both are short.
    if (distance < bestDistance && distance < Math.max(bare.length, 1)) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * What to say behind an unknown key, with a leading space, or ''. `path` is dotted, `keys` are all there are (`section.name` or `name`):
 * a key under the wrong heading is told its right one, a dotted key how to nest it, another spelling the right one.
 */
export function keyAdvice(path: string, keys: readonly string[]): string {
  const parts = path.split('.');
  const name = parts.at(-1) ?? path;
  const nested = parts.length === 2 && keys.includes(path);
  if (nested) return ` (write it nested: "${parts[0]}:" and below it, indented, "${parts[1]}:")`;
  const elsewhere = keys.filter((key) => key !== path && key.split('.').at(-1) === name);
  const home = elsewhere[0];
  if (home !== undefined)
    return home.includes('.') ? ` (it belongs under "${home.split('.')[0]}": ${home})` : ` (it belongs to the top level: ${home})`;
  const sections = [...new Set(keys.map((key) => key.split('.')[0]!))];
  const near = nearest(path, parts.length === 1 ? [...sections, ...keys] : keys) ?? nearestByName(name, keys);
  return near === undefined ? '' : ` (did you mean "${near}"?)`;
}

/** `max-pages` at the top level is limits.maxPages. */
function nearestByName(name: string, keys: readonly string[]): string | undefined {
  const near = nearest(
    name,
    keys.map((key) => key.split('.').at(-1)!),
  );
  return near === undefined ? undefined : keys.find((key) => key.split('.').at(-1) === near);
}

function bareWord(word: string): string {
  return word.toLowerCase().replace(/[-_]/g, '');
}

/** Levenshtein: characters inserted, deleted or exchanged; two neighbours that changed places count once. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitute = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let distance = Math.min(substitute, previous[j]! + 1, current[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) distance = Math.min(distance, before[j - 2]! + 1);
      current.push(distance);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length]!;
}
