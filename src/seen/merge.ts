/** Merges runs into one, in turns of a few milliseconds. The inputs stay as they are; equal keys become one. */
import type { Run, RunCursor } from './run.ts';
import type { RunWriter, Turn } from './run-writer.ts';

const KEYS_PER_TURN = 2_048;

/** Pushes every key of `runs` into `writer` in order. The caller finishes it. Throws SeenDamaged when a block of an input fails its check. */
export async function mergeRuns(runs: readonly Run[], writer: RunWriter, turn: Turn): Promise<void> {
  const cursors = runs.map((run) => run.cursor()).filter((cursor) => !cursor.done);
  while (cursors.length > 0) {
    for (let i = 0; i < KEYS_PER_TURN && cursors.length > 0; i++) {
      const at = smallest(cursors);
      const cursor = cursors[at]!;
      writer.push(cursor.hi, cursor.lo);
      cursor.next();
      if (cursor.done) cursors.splice(at, 1);
    }
    await turn();
  }
}

function smallest(cursors: readonly RunCursor[]): number {
  let best = 0;
  let hi = cursors[0]!.hi;
  let lo = cursors[0]!.lo;
  for (let i = 1; i < cursors.length; i++) {
    const cursor = cursors[i]!;
    if (cursor.hi < hi || (cursor.hi === hi && cursor.lo < lo)) {
      best = i;
      hi = cursor.hi;
      lo = cursor.lo;
    }
  }
  return best;
}
