/** The seed list as numbered messages, one series per shard (PROTOCOL section 3: seeds are a sender like any other). */
import { createHash } from 'node:crypto';
import { ByteWriter } from '../core/bytes.ts';
import { writeFind } from '../core/records.ts';
import { ADDED_SEED_SENDER, SEED_SENDER } from '../ports/link-channel.ts';
import { registrableDomain, shardOf, splitUrl, urlKey } from '../url/index.ts';
import type { SeedMessage } from './coordinator.ts';

const SEEDS_PER_MESSAGE = 1_000;
const ADDED_LIST = 'added';

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
  return [...byShard(seeds, shards)].flatMap(([to, own]) =>
    inMessages(own).map((part, at) => ({
      ...{ from: SEED_SENDER, to, seq: at + 1, count: part.length, list },
      blob: encode(part, canonicalize, nowEpochMs),
    })),
  );
}

/**
 * Seeds that were added to the crawl after its begin: one list for good, whose numbers go on with each addition, so that a resume sends again what
 * it sent before and a shard takes each message once. The same additions in the same order are numbered alike.
 */
export class AddedSeedNumbers {
  readonly #shards: number;
  readonly #canonicalize: (url: string) => string;
  readonly #lastSeq = new Map<number, number>();

  constructor(shards: number, canonicalize: (url: string) => string) {
    this.#shards = shards;
    this.#canonicalize = canonicalize;
  }

  /** The messages of one addition. */
  next(urls: readonly string[], addedAtMs: number): SeedMessage[] {
    const messages: SeedMessage[] = [];
    for (const [to, own] of byShard(urls, this.#shards)) {
      for (const part of inMessages(own)) {
        const seq = (this.#lastSeq.get(to) ?? 0) + 1;
        this.#lastSeq.set(to, seq);
        const blob = encode(part, this.#canonicalize, addedAtMs);
        messages.push({ from: ADDED_SEED_SENDER, to, seq, count: part.length, blob, list: ADDED_LIST });
      }
    }
    return messages;
  }
}

function byShard(seeds: readonly string[], shards: number): ReadonlyMap<number, readonly string[]> {
  const perShard = new Map<number, string[]>();
  for (const seed of seeds) {
    const shard = shardOf(registrableDomain(splitUrl(seed).host), shards);
    const own = perShard.get(shard);
    if (own === undefined) perShard.set(shard, [seed]);
    else own.push(seed);
  }
  return perShard;
}

function inMessages(seeds: readonly string[]): string[][] {
  const parts: string[][] = [];
  for (let at = 0; at < seeds.length; at += SEEDS_PER_MESSAGE) parts.push(seeds.slice(at, at + SEEDS_PER_MESSAGE));
  return parts;
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
