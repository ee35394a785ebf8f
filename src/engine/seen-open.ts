/** Opening a shard's seen set: as the last commit left it, or, when its files are damaged, made again from the rows of the store. */
import type { OpenedShard, ShardStore } from '../ports/shard-store.ts';
import { isRunName, readManifest, SeenDamaged } from '../seen/manifest.ts';
import { SeenSet, type SeenSetOptions } from '../seen/seen-set.ts';
import type { ShardEnv } from './shard-env.ts';
import type { Unwritten } from './unwritten.ts';

const SEEN_DIR = 'seen';
const SEEN_BYTES_MIN = 65_536;
/** Words of one piece of the keys; two words are a key. */
const PIECE_WORDS = 8_192;

/** A set made again is a change that the next batch carries. */
export async function openSeen(env: ShardEnv, opened: OpenedShard, unwritten: Unwritten): Promise<SeenSet> {
  const options = seenOptions(env, opened);
  try {
    return SeenSet.open(options);
  } catch (error) {
    if (!(error instanceof SeenDamaged)) throw error;
    env.events.notice(env.id, `${error.message}; it is rebuilt from the page, queue and fate rows`);
    const seen = await SeenSet.rebuild(options, admittedKeys(env.ports.store));
    unwritten.mark();
    return seen;
  }
}

/** A damaged block is met only when it is read: without its runs the next open makes the set again. */
export function giveUpSeenRuns(env: ShardEnv): void {
  const { disk } = env.ports;
  for (const name of disk.list(SEEN_DIR)) if (isRunName(name)) disk.remove(`${SEEN_DIR}/${name}`);
}

function seenOptions(env: ShardEnv, opened: OpenedShard): SeenSetOptions {
  const { config, shards, yieldTurn } = env.context;
  return {
    disk: env.ports.disk,
    dir: SEEN_DIR,
    manifest: opened.seenManifest === '' ? undefined : readManifest(JSON.parse(opened.seenManifest)),
    deltas: opened.seenDeltas,
    memoryBytes: Math.max(SEEN_BYTES_MIN, Math.floor((config.run.memory * 3) / 8 / shards)),
    yieldTurn,
  };
}

/** Every key of an admitted URL, from the rows, halves alternating. */
function* admittedKeys(store: ShardStore): Iterable<Uint32Array> {
  const pieces: Uint32Array[] = [];
  let piece = new Uint32Array(PIECE_WORDS);
  let at = 0;
  const put = (hi: number, lo: number): void => {
    if (at === piece.length) {
      pieces.push(piece);
      piece = new Uint32Array(PIECE_WORDS);
      at = 0;
    }
    piece[at++] = hi;
    piece[at++] = lo;
  };
  store.scanKeys(put);
  store.scanEntries((_hostId, _level, entry) => put(entry.keyHi, entry.keyLo));
  yield* pieces;
  yield piece.subarray(0, at);
}
