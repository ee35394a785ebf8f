/**
 * Content seen (rows H1–H4) for one shard: exact copies by SHA-256 of the decoded body, copies that differ in markup by the hash of their visible
 * text, near-duplicates by SimHash. Verdicts are asked before the body is stored, so that a copy becomes a revisit record.
 *
 * Bodies of other shards of the process arrive after their commit and count for exact verdicts only. What is not committed yet is kept here,
 * so that two copies within one batch find each other.
 */

import type { OutcomeCode } from '../core/reasons.ts';
import type { NearIndex } from '../dedup/near-index.ts';
import { exactEligible, LIKENESS_MIN, nearEligible } from '../dedup/policy.ts';
import type { SimHasher } from '../dedup/simhash.ts';
import { likeness } from '../dedup/sketch.ts';
import type { ContentEntry } from '../ports/link-channel.ts';
import type { ContentPrint, ContentRow, ShardStore } from '../ports/shard-store.ts';
import { GrowingFilter } from '../seen/growing-filter.ts';

export interface ContentInput {
  readonly url: string;
  readonly status: number;
  readonly outcome: OutcomeCode;
  readonly bodyBytes: number;
  readonly hash: Buffer;
  /** Text without navigation, as UTF-16 code units; none when the type has none. */
  readonly mainText: Readonly<Uint16Array>;
}

export interface ContentVerdict {
  readonly kind: '' | 'exact' | 'text' | 'near';
  /** The page it is a copy of. */
  readonly original: ContentEntry | undefined;
  readonly simhashHi: number;
  readonly simhashLo: number;
  readonly words: number;
  readonly textHash: Uint8Array | undefined;
  readonly sketch: Uint8Array | undefined;
}

const BODIES_UNCOMMITTED_MAX = 100_000;
/** Bounds of the filters of the two hashes: about 1.4 M bodies each. Beyond that every body is asked of the store, as it was without them. */
const FILTER_BYTES_MAX = 4_194_304;

export class ContentDesk {
  readonly #store: ShardStore;
  readonly #near: NearIndex;
  readonly #hasher: SimHasher;
  readonly #distance: number;
  readonly #simhash = new Uint32Array(2);
  /** By hash and by text hash (latin-1): rows no batch has written yet, or that the present commit is writing. */
  readonly #byHash = new Map<string, ContentRow>();
  readonly #byText = new Map<string, ContentRow>();
  readonly #byId = new Map<number, ContentRow>();
  /** What the store may hold: nearly every body is new, and then the store need not be asked. */
  readonly #hashes = new GrowingFilter(FILTER_BYTES_MAX);
  readonly #texts = new GrowingFilter(FILTER_BYTES_MAX);
  #fresh: ContentRow[] = [];
  #own: ContentEntry[] = [];
  #frozen: ContentRow[] = [];
  #frozenOwn: ContentEntry[] = [];
  #nextId: number;

  constructor(store: ShardStore, near: NearIndex, hasher: SimHasher, distance: number, nextId: number) {
    this.#store = store;
    this.#near = near;
    this.#hasher = hasher;
    this.#distance = distance;
    this.#nextId = nextId;
  }

  get nextId(): number {
    return this.#nextId;
  }

  judge(input: ContentInput): ContentVerdict {
    const { status, outcome, bodyBytes } = input;
    if (exactEligible({ status, outcome, bodyBytes })) {
      const original = this.#findHash(input.hash);
      if (original !== undefined && original.url !== input.url) return { ...NO_VERDICT, kind: 'exact', original };
    }
    const words = input.mainText.length === 0 ? 0 : this.#hasher.hash(input.mainText, this.#simhash);
    if (!nearEligible({ status, outcome, words, digitWords: this.#hasher.digitWords })) return NO_VERDICT;
    const found = {
      simhashHi: this.#simhash[0]!,
      simhashLo: this.#simhash[1]!,
      words,
      textHash: this.#hasher.textHash,
      sketch: this.#hasher.sketch,
    };
    const sameText = this.#findText(found.textHash);
    if (sameText !== undefined && sameText.url !== input.url) return { ...found, kind: 'text', original: sameText };
    const near = this.#near.find(found.simhashHi, found.simhashLo, this.#distance);
    const original = near === undefined ? undefined : (this.#byId.get(near.id) ?? this.#store.readContent(near.id));
    if (original !== undefined && original.url !== input.url && isAlike(original.sketch, found.sketch))
      return { ...found, kind: 'near', original };
    return { ...found, kind: '', original: undefined };
  }

  #findHash(hash: Buffer): ContentRow | undefined {
    if (!mayHave(this.#hashes, hash)) return undefined;
    return this.#byHash.get(hash.toString('latin1')) ?? this.#store.findContent(hash);
  }

  #findText(hash: Buffer): ContentRow | undefined {
    if (!mayHave(this.#texts, hash)) return undefined;
    return this.#byText.get(hash.toString('latin1')) ?? this.#store.findText(hash);
  }

  /** A body that the store holds, told at open. */
  restore(print: ContentPrint): void {
    this.#note(print);
    if (print.words > 0) this.#near.add(print.simhashHi, print.simhashLo, print.id);
  }

  #note({ hash, textHash }: ContentPrint): void {
    addTo(this.#hashes, hash);
    if (textHash !== undefined) addTo(this.#texts, textHash);
  }

  /** A body that is an original of its own. */
  add(entry: ContentEntry & { readonly hash: Buffer }, verdict: ContentVerdict): void {
    const { simhashHi, simhashLo, words } = verdict;
    const row: ContentRow = {
      ...entry,
      id: this.#nextId++,
      simhashHi,
      simhashLo,
      words,
      textHash: verdict.textHash,
      sketch: verdict.sketch,
    };
    this.#keep(row);
    this.#own.push(entry);
    if (words > 0) this.#near.add(simhashHi, simhashLo, row.id);
  }

  /** Bodies of another shard, durable there. */
  learn(entries: readonly ContentEntry[]): void {
    for (const entry of entries) {
      if (this.#fresh.length >= BODIES_UNCOMMITTED_MAX) return;
      const hash = Buffer.from(entry.hash);
      if (this.#findHash(hash) !== undefined) continue;
      this.#keep({ ...entry, hash, id: this.#nextId++, simhashHi: 0, simhashLo: 0, words: 0, textHash: undefined, sketch: undefined });
    }
  }

  #keep(row: ContentRow): void {
    this.#fresh.push(row);
    this.#note(row);
    this.#byHash.set(latin1(row.hash), row);
    this.#byId.set(row.id, row);
    if (row.textHash !== undefined && !this.#byText.has(latin1(row.textHash))) this.#byText.set(latin1(row.textHash), row);
  }

  get isDirty(): boolean {
    return this.#fresh.length > 0;
  }

  freeze(): readonly ContentRow[] {
    this.#frozen = this.#fresh;
    this.#frozenOwn = this.#own;
    this.#fresh = [];
    this.#own = [];
    return this.#frozen;
  }

  /** The store answers for the frozen rows; returns this shard's own bodies, for the other shards. */
  thawed(): readonly ContentEntry[] {
    for (const row of this.#frozen) {
      if (this.#byHash.get(latin1(row.hash)) === row) this.#byHash.delete(latin1(row.hash));
      if (row.textHash !== undefined && this.#byText.get(latin1(row.textHash)) === row) this.#byText.delete(latin1(row.textHash));
      this.#byId.delete(row.id);
    }
    this.#frozen = [];
    const own = this.#frozenOwn;
    this.#frozenOwn = [];
    return own;
  }
}

const NO_VERDICT: ContentVerdict = {
  kind: '',
  original: undefined,
  simhashHi: 0,
  simhashLo: 0,
  words: 0,
  textHash: undefined,
  sketch: undefined,
};

/** The first 8 bytes of a hash are uniform. */
function mayHave(filter: GrowingFilter, hash: Uint8Array): boolean {
  return filter.mayHave(wordAt(hash, 0), wordAt(hash, 4));
}

function addTo(filter: GrowingFilter, hash: Uint8Array): void {
  filter.add(wordAt(hash, 0), wordAt(hash, 4));
}

function wordAt(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
}

/** SimHash finds candidates; whether one is alike the sketches say. */
function isAlike(a: Uint8Array | undefined, b: Uint8Array): boolean {
  return a !== undefined && likeness(a, b) >= LIKENESS_MIN;
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
