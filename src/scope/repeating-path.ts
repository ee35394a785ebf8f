/**
 * Trap: paths that grow by repeating themselves, as one relative link without its leading slash makes them on a server that answers
 * everything (/team/site/team/site/…).
 *
 * Rule, with n = maxSegmentRepeats: a path is refused when one segment stands in it more than n times, or when all its repeats together (segments minus
 * distinct segments) are more than n. So /a/b/a/b/a/b (4 repeats) and /a/x/a/y/a/z/a (a stands 4 times) are refused with n = 3.
 * Segments of digits alone are partitions of ids and dates (/000/000/012) more often than traps: they count in neither way, but one may
 * stand at most 2 n times. n = 0 switches the guard off.
 */

/** Up to here counting by comparison is faster than a map. */
const COMPARED_SEGMENTS_MAX = 16;

/** The segment that repeats too often, or undefined. `path` begins with `/` and has no query. */
export function repeatingSegment(path: string, maxRepeats: number): string | undefined {
  if (maxRepeats === 0 || !hasMoreSegmentsThan(path, maxRepeats)) return undefined;
  const segments = segmentsOf(path);
  const counts = segments.length > COMPARED_SEGMENTS_MAX ? new Map<string, number>() : undefined;
  let repeats = 0;
  for (let index = 0; index < segments.length; index++) {
    const segment = segments[index]!;
    const count = counts === undefined ? countBefore(segments, index) + 1 : (counts.get(segment) ?? 0) + 1;
    counts?.set(segment, count);
    if (count === 1) continue;
    const digits = isDigits(segment);
    if (count > (digits ? 2 * maxRepeats : maxRepeats)) return segment;
    if (!digits && ++repeats > maxRepeats) return segment;
  }
  return undefined;
}

function countBefore(segments: readonly string[], index: number): number {
  let count = 0;
  for (let before = 0; before < index; before++) if (segments[before] === segments[index]) count++;
  return count;
}

/** Segments of a path; the empty one after a slash at the end is none. */
export function segmentsOf(path: string): string[] {
  return path.slice(1, path.endsWith('/') ? -1 : undefined).split('/');
}

function hasMoreSegmentsThan(path: string, count: number): boolean {
  let at = 0;
  for (let seen = 0; seen < count; seen++) {
    at = path.indexOf('/', at + 1);
    if (at < 0) return false;
  }
  return at < path.length - 1;
}

function isDigits(segment: string): boolean {
  for (let index = 0; index < segment.length; index++) {
    const code = segment.charCodeAt(index);
    if (code < 0x30 || code > 0x39) return false;
  }
  return segment !== '';
}
