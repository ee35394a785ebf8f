/**
 * Which shards this node serves, and with which fencing token. On one machine the answer never changes; in a cluster a consumer group decides.
 * Contract: `acquire` resolves to the epoch under which the shard may be written; epochs of a shard only rise. `lost` is called at most once
 * per acquisition, when another node may have it: the holder stops at once and writes nothing more.
 */
export interface Ownership {
  shards(): readonly number[];
  acquire(shard: number, lost: (shard: number) => void): Promise<number>;
  release(shard: number): Promise<void>;
}
