/**
 * The rows that ended URLs leave until a batch takes them, and how long the oldest change of the shard has waited for its commit.
 *
 * Life: rows are added → `freeze` hands them to a batch → `committed` once that batch is durable. Between the two, changes gather for the next
 * batch. Other parts keep what they change themselves (frontier, outbox, seen set); they only `mark` here that there is something to commit.
 */
import type { FateRow, PageRow } from '../core/records.ts';
import type { EpochMs } from '../core/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Batch } from '../ports/shard-store.ts';
import { keyHex } from '../url/index.ts';
import type { Activity } from './activity.ts';

type PageKey = Pick<PageRow, 'hostId' | 'keyHi' | 'keyLo'>;

export class Unwritten {
  readonly #clock: Clock;
  readonly #activity: Activity;
  #pages: PageRow[] = [];
  #pagesGone: PageKey[] = [];
  #fates: FateRow[] = [];
  #scopeHosts: string[] = [];
  /** Keys of redirects among the pages, and of those in the batch on its way: the store does not answer for them yet. */
  #redirects = new Set<string>();
  #frozenRedirects = new Set<string>();
  #dirty = false;
  #dirtySinceMs: EpochMs = 0;
  #frozenSinceMs: EpochMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, activity: Activity) {
    this.#clock = clock;
    this.#activity = activity;
  }

  /** Something changed that the next batch must carry. */
  mark(): void {
    this.#activity.moved();
    if (this.#dirty) return;
    this.#dirty = true;
    this.#dirtySinceMs = this.#clock.nowEpochMs();
  }

  get isDirty(): boolean {
    return this.#dirty;
  }

  /** Since when the oldest change that no batch has taken waits; has no meaning unless isDirty. */
  get dirtySinceMs(): EpochMs {
    return this.#dirtySinceMs;
  }

  /** Since when the oldest change that is not durable waits; Infinity when everything is. */
  get oldestMs(): EpochMs {
    return Math.min(this.#frozenSinceMs, this.#dirty ? this.#dirtySinceMs : Number.POSITIVE_INFINITY);
  }

  get pageCount(): number {
    return this.#pages.length;
  }

  addPage(page: PageRow): void {
    if (page.outcome === 'redirect') this.#redirects.add(keyHex(page.keyHi, page.keyLo));
    this.#pages.push(page);
  }

  addFate(fate: FateRow): void {
    this.#fates.push(fate);
  }

  addScopeHost(hostKey: string): void {
    this.#scopeHosts.push(hostKey);
  }

  /** A page of the store that is queued again: its row goes. */
  removePage(page: PageKey): void {
    this.#pagesGone.push(page);
  }

  /** Whether the key ended as a redirect and the store does not know it yet. */
  hasRedirect(keyHi: number, keyLo: number): boolean {
    const key = keyHex(keyHi, keyLo);
    return this.#redirects.has(key) || this.#frozenRedirects.has(key);
  }

  /** Takes the redirect's row back, wherever it stands. */
  removeRedirect(page: PageKey): void {
    const key = keyHex(page.keyHi, page.keyLo);
    this.#redirects.delete(key);
    this.#frozenRedirects.delete(key);
    const at = this.#pages.findIndex((one) => one.keyHi === page.keyHi && one.keyLo === page.keyLo && one.hostId === page.hostId);
    if (at >= 0) this.#pages.splice(at, 1);
    this.#pagesGone.push(page);
  }

  freeze(): Pick<Batch, 'pages' | 'pagesGone' | 'fates' | 'scopeHosts'> {
    const rows = { pages: this.#pages, pagesGone: this.#pagesGone, fates: this.#fates, scopeHosts: this.#scopeHosts };
    this.#frozenSinceMs = this.#dirty ? this.#dirtySinceMs : Number.POSITIVE_INFINITY;
    this.#dirty = false;
    this.#pages = [];
    this.#pagesGone = [];
    this.#fates = [];
    this.#scopeHosts = [];
    this.#frozenRedirects = this.#redirects;
    this.#redirects = new Set();
    return rows;
  }

  /** The batch of the last freeze is durable. */
  committed(): void {
    this.#frozenSinceMs = Number.POSITIVE_INFINITY;
    this.#frozenRedirects = new Set();
  }
}
