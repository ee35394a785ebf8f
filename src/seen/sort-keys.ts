/**
 * Sorts the keys of a table in turns of about a millisecond: counted into buckets by their leading bits (keys are uniform), each bucket sorted.
 * Uneven keys are sorted just as rightly; only the turns get longer.
 */
import type { KeyTable } from './key-table.ts';
import type { Turn } from './run-writer.ts';

const SLOTS_PER_TURN = 32_768;
const KEYS_PER_TURN = 8_192;
const KEYS_PER_BUCKET = 128;

/** All keys ascending as (lo, hi) words: 8 bytes a key. */
export async function sortKeys(table: KeyTable, turn: Turn): Promise<Uint32Array> {
  const bits = Math.min(16, Math.max(1, Math.ceil(Math.log2(table.count / KEYS_PER_BUCKET))));
  const shift = 32 - bits;
  const starts = await countBuckets(table, shift, bits, turn);
  const sorted = new Uint32Array(table.count * 2);
  await scatter(table, shift, starts.slice(), sorted, turn);
  await sortBuckets(sorted, starts, turn);
  return sorted;
}

/** Position of the first key of each bucket, and at the end the number of keys. The key (0, 0) is the first of bucket 0. */
async function countBuckets(table: KeyTable, shift: number, bits: number, turn: Turn): Promise<Uint32Array> {
  const starts = new Uint32Array(2 ** bits + 1);
  const words = table.words;
  if (table.holdsZero) starts[1] = 1;
  for (let from = 0; from < words.length; from += SLOTS_PER_TURN * 2) {
    const to = Math.min(words.length, from + SLOTS_PER_TURN * 2);
    for (let i = from; i < to; i += 2) {
      const hi = words[i]!;
      if ((hi | words[i + 1]!) === 0) continue;
      const bucket = (hi >>> shift) + 1;
      starts[bucket] = starts[bucket]! + 1;
    }
    await turn();
  }
  for (let i = 1; i < starts.length; i++) starts[i] = starts[i]! + starts[i - 1]!;
  return starts;
}

async function scatter(table: KeyTable, shift: number, next: Uint32Array, into: Uint32Array, turn: Turn): Promise<void> {
  const words = table.words;
  if (table.holdsZero) next[0] = 1;
  for (let from = 0; from < words.length; from += SLOTS_PER_TURN * 2) {
    const to = Math.min(words.length, from + SLOTS_PER_TURN * 2);
    for (let i = from; i < to; i += 2) {
      const hi = words[i]!;
      const lo = words[i + 1]!;
      if ((hi | lo) === 0) continue;
      const bucket = hi >>> shift;
      const at = next[bucket]!;
      next[bucket] = at + 1;
      into[at * 2] = lo;
      into[at * 2 + 1] = hi;
    }
    await turn();
  }
}

async function sortBuckets(words: Uint32Array, starts: Uint32Array, turn: Turn): Promise<void> {
  const keys = new BigUint64Array(words.buffer);
  let sinceTurn = 0;
  for (let bucket = 0; bucket + 1 < starts.length; bucket++) {
    const from = starts[bucket]!;
    const to = starts[bucket + 1]!;
    if (to - from > 1) keys.subarray(from, to).sort();
    sinceTurn += to - from;
    if (sinceTurn >= KEYS_PER_TURN) {
      sinceTurn = 0;
      await turn();
    }
  }
}
