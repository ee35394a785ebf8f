/** The seed list as numbered messages, one series per shard (PROTOCOL section 3: seeds are a sender like any other). */
import { createHash } from 'node:crypto';
import { ByteWriter } from '../core/bytes.ts';
import { writeFind } from '../core/records.ts';
import { registrableDomain, shardOf, splitUrl, urlKey } from '../url/index.ts';
import type { SeedMessage } from './coordinator.ts';

const SEEDS_PER_MESSAGE = 1_000;

/** `seeds` as from parseSeed. The list's name is the hash of its text: another list is numbered anew, what is known in it stays known. */
export function seedMessages(
  seeds: readonly string[],
  shards: number,
  canonicalize: (url: string) => string,
  nowEpochMs: number,
): SeedMessage[] {
  const hash = createHash('sha256');
  for (const seed of seeds) hash.update(`${seed}\n`);
  const list = hash.digest('hex').slice(0, 16);
  const perShard = new Map<number, string[]>();
  for (const seed of seeds) {
    const shard = shardOf(registrableDomain(splitUrl(seed).host), shards);
    const own = perShard.get(shard);
    if (own === undefined) perShard.set(shard, [seed]);
    else own.push(seed);
  }
  const messages: SeedMessage[] = [];
  for (const [to, own] of perShard) {
    for (let at = 0, seq = 1; at < own.length; at += SEEDS_PER_MESSAGE, seq++) {
      const part = own.slice(at, at + SEEDS_PER_MESSAGE);
      messages.push({ to, seq, count: part.length, blob: encode(part, canonicalize, nowEpochMs), list });
    }
  }
  return messages;
}

function encode(seeds: readonly string[], canonicalize: (url: string) => string, nowEpochMs: number): Uint8Array {
  const out = new ByteWriter(seeds.length * 64);
  const key = new Uint32Array(2);
  let via: string | undefined;
  for (const url of seeds) {
    urlKey(canonicalize(url), key);
    writeFind(
      out,
      { url, keyHi: key[0]!, keyLo: key[1]!, kind: 'seed', depth: 0, via: '', foundAtS: Math.floor(nowEpochMs / 1_000), chain: undefined },
      via,
    );
    via = '';
  }
  return out.take();
}
