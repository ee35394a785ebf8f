/**
 * Content seen (rows H1–H4) for one shard: exact copies by SHA-256 of the decoded body, copies that differ in markup by the hash of their visible
 * text, near-duplicates by SimHash. Verdicts are asked before the body is stored, so that a copy becomes a revisit record.
 *
 * Bodies of other shards of the process arrive after their commit and count for exact verdicts only. What is not committed yet is kept here,
 * so that two copies within one batch find each other.
 */

import type { OutcomeCode } from '../core/reasons.ts';
import type { NearIndex } from '../dedup/near-index.ts';
import { exactEligible, nearEligible } from '../dedup/policy.ts';
import type { SimHasher } from '../dedup/simhash.ts';
import type { ContentEntry } from '../ports/link-channel.ts';
import type { ContentRow, ShardStore } from '../ports/shard-store.ts';

export interface ContentInput {
  readonly url: string;
  readonly status: number;
  readonly outcome: OutcomeCode;
  readonly bodyBytes: number;
  readonly hash: Buffer;
  /** Text without navigation; '' when the type has none. */
  readonly mainText: string;
}

export interface ContentVerdict {
  readonly kind: '' | 'exact' | 'text' | 'near';
  /** The page it is a copy of. */
  readonly original: ContentEntry | undefined;
  readonly simhashHi: number;
  readonly simhashLo: number;
  readonly words: number;
  readonly textHash: Uint8Array | undefined;
}

const BODIES_UNCOMMITTED_MAX = 100_000;

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
    const words = input.mainText === '' ? 0 : this.#hasher.hash(input.mainText, this.#simhash);
    if (!nearEligible({ status, outcome, words, digitWords: this.#hasher.digitWords })) return NO_VERDICT;
    const found = { simhashHi: this.#simhash[0]!, simhashLo: this.#simhash[1]!, words, textHash: this.#hasher.textHash };
    const sameText = this.#findText(found.textHash);
    if (sameText !== undefined && sameText.url !== input.url) return { ...found, kind: 'text', original: sameText };
    const near = this.#near.find(found.simhashHi, found.simhashLo, this.#distance);
    const original = near === undefined ? undefined : (this.#byId.get(near.id) ?? this.#store.readContent(near.id));
    if (original !== undefined && original.url !== input.url) return { ...found, kind: 'near', original };
    return { ...found, kind: '', original: undefined };
  }

  #findHash(hash: Buffer): ContentRow | undefined {
    return this.#byHash.get(hash.toString('latin1')) ?? this.#store.findContent(hash);
  }

  #findText(hash: Buffer): ContentRow | undefined {
    return this.#byText.get(hash.toString('latin1')) ?? this.#store.findText(hash);
  }

  /** A body that is an original of its own. */
  add(entry: ContentEntry & { readonly hash: Buffer }, verdict: ContentVerdict): void {
    const { simhashHi, simhashLo, words } = verdict;
    const row: ContentRow = { ...entry, id: this.#nextId++, simhashHi, simhashLo, words, textHash: verdict.textHash };
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
      this.#keep({ ...entry, hash, id: this.#nextId++, simhashHi: 0, simhashLo: 0, words: 0, textHash: undefined });
    }
  }

  #keep(row: ContentRow): void {
    this.#fresh.push(row);
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

const NO_VERDICT: ContentVerdict = { kind: '', original: undefined, simhashHi: 0, simhashLo: 0, words: 0, textHash: undefined };

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
