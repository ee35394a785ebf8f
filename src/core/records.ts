/**
 * The records that flow through the engine, one direction: Find → QueueEntry → (lease, target, exchange) → PageRow or FateRow.
 * A URL key is the first 8 bytes of SHA-256 of the canonical URL, as two unsigned 32-bit halves (keyHi, keyLo); it is compared within its shard's hosts.
 */
import { ByteReader, type ByteWriter } from './bytes.ts';
import { type DropReason, FIND_KINDS, type FindKind, type OutcomeCode } from './reasons.ts';
import type { EpochMs } from './time.ts';

/** A link, seed, redirect target or sitemap entry that passed the finder's rules and goes to the shard that owns its host. */
export interface Find {
  /** As found: absolute, serialised, without fragment and user info. */
  readonly url: string;
  readonly keyHi: number;
  readonly keyLo: number;
  readonly kind: FindKind;
  /** Links from a seed; redirects do not add to it. */
  readonly depth: number;
  /** The page it was found on; '' for a seed. */
  readonly via: string;
  readonly foundAtS: number;
  readonly chain: RedirectChain | undefined;
}

/** What a redirect carries along (A6): a chain ends at fetch.maxRedirects or when it comes back unchanged. */
export interface RedirectChain {
  /** Redirects so far, 1 for the first target. */
  readonly hops: number;
  /** The chain began at a seed: its target joins the scope. */
  readonly fromSeed: boolean;
  /** `name=value; …` set by the hops for this host's registrable domain; '' when none. */
  readonly cookies: string;
  /** URLs requested so far, as found. */
  readonly urls: readonly string[];
}

/** One URL of a host's queue. */
export interface QueueEntry {
  readonly https: boolean;
  readonly pathQuery: string;
  readonly keyHi: number;
  readonly keyLo: number;
  readonly kind: FindKind;
  readonly depth: number;
  readonly via: string;
  readonly foundAtS: number;
  /** Fetches that ended transiently so far. */
  readonly attempts: number;
  /** Not before this time; 0 for at once. */
  readonly notBeforeMs: EpochMs;
  readonly chain: RedirectChain | undefined;
}

export interface PageRow {
  readonly hostId: number;
  readonly keyHi: number;
  readonly keyLo: number;
  readonly url: string;
  readonly status: number;
  readonly outcome: OutcomeCode;
  readonly fetchedAtMs: EpochMs;
  readonly etag: string;
  readonly lastModified: string;
  /** SHA-256 of the decoded body, 32 bytes; undefined without body. */
  readonly contentHash: Uint8Array | undefined;
  readonly simhashHi: number;
  readonly simhashLo: number;
  /** Words behind the SimHash; 0 when none was made. */
  readonly words: number;
  /** '' or the URL this page is a copy of, with the kind of the verdict. */
  readonly duplicateOf: string;
  readonly duplicateKind: '' | 'exact' | 'text' | 'near';
  readonly changeRate: number;
  readonly nextFetchMs: EpochMs;
  /** WARC segment, offset, length; '' when the body is not stored. */
  readonly segment: string;
  readonly offset: number;
  readonly length: number;
  readonly via: string;
  readonly depth: number;
  readonly foundAtS: number;
  readonly attempts: number;
  readonly bodyBytes: number;
  readonly durationMs: number;
}

export interface FateRow {
  readonly hostId: number;
  readonly keyHi: number;
  readonly keyLo: number;
  readonly reason: DropReason;
  readonly atMs: EpochMs;
  readonly url: string;
  readonly via: string;
  readonly depth: number;
}

const FLAG_HTTPS = 1;
const FLAG_SAME_VIA = 2;
const FLAG_RETRY = 4;
const FLAG_CHAIN = 8;
const KIND_SHIFT = 4;

/** Appends one queue entry. `previousVia` is the via of the entry before it in the same piece, undefined for the first. */
export function writeQueueEntry(out: ByteWriter, entry: QueueEntry, previousVia: string | undefined): void {
  const sameVia = previousVia !== undefined && previousVia === entry.via;
  const retry = entry.attempts > 0 || entry.notBeforeMs > 0;
  out.byte(
    (entry.https ? FLAG_HTTPS : 0) |
      (sameVia ? FLAG_SAME_VIA : 0) |
      (retry ? FLAG_RETRY : 0) |
      (entry.chain ? FLAG_CHAIN : 0) |
      (FIND_KINDS.indexOf(entry.kind) << KIND_SHIFT),
  );
  out.uint32(entry.keyHi).uint32(entry.keyLo).latin1(entry.pathQuery).varint(entry.depth).varint(entry.foundAtS);
  if (!sameVia) out.latin1(entry.via);
  if (retry) out.varint(entry.attempts).varint(Math.ceil(entry.notBeforeMs));
  if (entry.chain) writeChain(out, entry.chain);
}

/** Reads the entries of a chunk, skipping the first `skip` and stopping after `limit` more. */
export function readQueueEntries(bytes: Uint8Array, skip: number, limit: number): QueueEntry[] {
  const reader = new ByteReader(bytes);
  const entries: QueueEntry[] = [];
  let via = '';
  for (let index = 0; !reader.done && entries.length < limit; index++) {
    const flags = reader.byte();
    const keyHi = reader.uint32();
    const keyLo = reader.uint32();
    const pathQuery = reader.latin1();
    const depth = reader.varint();
    const foundAtS = reader.varint();
    if ((flags & FLAG_SAME_VIA) === 0) via = reader.latin1();
    const attempts = flags & FLAG_RETRY ? reader.varint() : 0;
    const notBeforeMs = flags & FLAG_RETRY ? reader.varint() : 0;
    const chain = flags & FLAG_CHAIN ? readChain(reader) : undefined;
    if (index < skip) continue;
    entries.push({
      https: (flags & FLAG_HTTPS) !== 0,
      pathQuery,
      keyHi,
      keyLo,
      kind: FIND_KINDS[flags >> KIND_SHIFT] ?? 'link',
      depth,
      via,
      foundAtS,
      attempts,
      notBeforeMs,
      chain,
    });
  }
  return entries;
}

export function writeFind(out: ByteWriter, find: Find, previousVia: string | undefined): void {
  const sameVia = previousVia !== undefined && previousVia === find.via;
  out.byte((sameVia ? FLAG_SAME_VIA : 0) | (find.chain ? FLAG_CHAIN : 0) | (FIND_KINDS.indexOf(find.kind) << KIND_SHIFT));
  out.uint32(find.keyHi).uint32(find.keyLo).latin1(find.url).varint(find.depth).varint(find.foundAtS);
  if (!sameVia) out.latin1(find.via);
  if (find.chain) writeChain(out, find.chain);
}

export function readFinds(bytes: Uint8Array): Find[] {
  const reader = new ByteReader(bytes);
  const finds: Find[] = [];
  let via = '';
  while (!reader.done) {
    const flags = reader.byte();
    const keyHi = reader.uint32();
    const keyLo = reader.uint32();
    const url = reader.latin1();
    const depth = reader.varint();
    const foundAtS = reader.varint();
    if ((flags & FLAG_SAME_VIA) === 0) via = reader.latin1();
    const chain = flags & FLAG_CHAIN ? readChain(reader) : undefined;
    finds.push({ url, keyHi, keyLo, kind: FIND_KINDS[flags >> KIND_SHIFT] ?? 'link', depth, via, foundAtS, chain });
  }
  return finds;
}

function writeChain(out: ByteWriter, chain: RedirectChain): void {
  out
    .varint(chain.hops)
    .byte(chain.fromSeed ? 1 : 0)
    .utf8(chain.cookies)
    .varint(chain.urls.length);
  for (const url of chain.urls) out.latin1(url);
}

function readChain(reader: ByteReader): RedirectChain {
  const hops = reader.varint();
  const fromSeed = reader.byte() === 1;
  const cookies = reader.utf8();
  const urls: string[] = [];
  for (let count = reader.varint(); count > 0; count--) urls.push(reader.latin1());
  return { hops, fromSeed, cookies, urls };
}
