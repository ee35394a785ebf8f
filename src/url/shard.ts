/**
 * Which shard owns a registrable domain. The function is part of the stored state: changing it moves hosts, so it has a version and a
 * change is a reshard.
 *
 * Version 1: FNV-1a (32 bits) over the characters, MurmurHash3's 32-bit finaliser, then floor(hash × shards / 2^32), so every number of shards
 * gets equal slices of the hash range.
 */
export const SHARD_FUNCTION_VERSION = 1;

/** 0 … shards − 1. `domain` is ASCII. */
export function shardOf(domain: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < domain.length; index++) hash = Math.imul(hash ^ domain.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash = (hash ^ (hash >>> 16)) >>> 0;
  return Math.floor((hash / 0x1_0000_0000) * shards);
}
