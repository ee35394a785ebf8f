/**
 * Records and their parsed rules in memory, by origin; the least recently used go first when the bytes pass the bound. What is evicted is not
 * lost: the owner of the cache has the record on disk and puts it back.
 *
 * Invariant: `bytes` is the sum of the estimates of what is held, and at most the bound after every call. A record is parsed when its rules
 * are first asked for, once. The cache knows no time: the holder looks at `expiresAtMs`.
 */
import { assert } from '../core/errors.ts';
import { Recency, type Used } from '../core/recency.ts';
import { type RobotsRecord, rulesOfRecord } from './policy.ts';
import type { RobotsRules } from './rules.ts';

export interface CachedRobots {
  readonly record: RobotsRecord;
  /** Parsed at the first call and kept. */
  rules(): RobotsRules;
}

/** Estimated heap of an entry beyond its origin, body and rules, in bytes. */
const ENTRY_OVERHEAD_BYTES = 600;

export class RobotsCache {
  readonly #productToken: string;
  readonly #bytesMax: number;
  readonly #entries = new Map<string, Entry>();
  readonly #used = new Recency<Entry>();
  #bytes = 0;
  #evictions = 0;

  /** @param bytesMax Bound of the estimated heap; an entry that is larger alone is not held. */
  constructor(productToken: string, bytesMax: number) {
    assert(bytesMax > 0, 'the robots cache needs a positive bound');
    this.#productToken = productToken;
    this.#bytesMax = bytesMax;
  }

  get(origin: string): CachedRobots | undefined {
    const { newest } = this.#used;
    if (newest?.record.origin === origin) return newest;
    const entry = this.#entries.get(origin);
    if (entry !== undefined) this.#used.use(entry);
    return entry;
  }

  /** Holds the record in place of any other of its origin. */
  put(record: RobotsRecord): CachedRobots {
    const known = this.#entries.get(record.origin);
    const entry = new Entry(record, this.#productToken, (grown, byBytes) => this.#grow(grown, byBytes));
    // A renewed record with the same body has the same rules: do not parse them again.
    if (known !== undefined && known.record.bodySha256 === record.bodySha256 && record.body !== undefined) entry.adopt(known);
    this.delete(record.origin);
    this.#entries.set(record.origin, entry);
    this.#used.add(entry);
    this.#bytes += entry.bytes;
    this.#evict();
    return entry;
  }

  delete(origin: string): boolean {
    const entry = this.#entries.get(origin);
    if (entry === undefined) return false;
    this.#entries.delete(origin);
    this.#used.remove(entry);
    this.#bytes -= entry.bytes;
    return true;
  }

  get count(): number {
    return this.#entries.size;
  }

  /** Estimated heap of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Entries let go for want of room since the start; not those deleted or replaced. */
  get evictions(): number {
    return this.#evictions;
  }

  /** An entry has grown by its parsed rules. It may have been let go before, and then counts no more. */
  #grow(entry: Entry, byBytes: number): void {
    if (this.#entries.get(entry.record.origin) !== entry) return;
    this.#bytes += byBytes;
    this.#evict();
  }

  #evict(): void {
    while (this.#bytes > this.#bytesMax && this.#used.oldest !== undefined) {
      this.delete(this.#used.oldest.record.origin);
      this.#evictions++;
    }
  }
}

class Entry implements CachedRobots, Used<Entry> {
  readonly record: RobotsRecord;
  bytes: number;
  usedBefore: Entry | undefined;
  usedAfter: Entry | undefined;
  readonly #productToken: string;
  readonly #grown: (entry: Entry, byBytes: number) => void;
  #rules: RobotsRules | undefined;

  constructor(record: RobotsRecord, productToken: string, grown: (entry: Entry, byBytes: number) => void) {
    this.record = record;
    this.bytes = ENTRY_OVERHEAD_BYTES + 2 * record.origin.length + (record.body?.byteLength ?? 0);
    this.#productToken = productToken;
    this.#grown = grown;
  }

  rules(): RobotsRules {
    if (this.#rules === undefined) {
      this.#rules = rulesOfRecord(this.record, this.#productToken);
      this.bytes += this.#rules.sizeBytes;
      this.#grown(this, this.#rules.sizeBytes);
    }
    return this.#rules;
  }

  /** Takes over the rules that another entry has parsed from the same body; before this one is counted. */
  adopt(other: Entry): void {
    if (other.#rules === undefined) return;
    this.#rules = other.#rules;
    this.bytes += other.#rules.sizeBytes;
  }
}
