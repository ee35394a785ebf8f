/**
 * What spans shards and threads: one exchange in flight per gated address, the pool of back-queue slots, the request rate and the page budget.
 * In one process it is shared memory; across nodes a server with atomic scripts stands behind it, so acquisition is asynchronous in form.
 *
 * Contract: times are EpochMs (they must mean the same to every holder). `tryAcquire` is atomic; two keys may share a word, which is merely
 * too polite. `release` writes the next time in the same step that frees the word. A holder that dies is released by the coordinator with now + the largest gap.
 */
export interface AddressGate {
  /** 'held' → taken by this holder; otherwise the EpochMs before which asking again is useless (a held gate: now + the least pause that its release will owe, or a short poll). */
  tryAcquire(addressKey: string, nowEpochMs: number): 'held' | number;
  release(addressKey: string, nextEpochMs: number): void;
  /** Sets an earliest time without holding (replay of debts at open). Never lowers. */
  owe(addressKey: string, nextEpochMs: number): void;
  /** Takes one of the process's back-queue slots; false when all are taken. */
  tryTakeSlot(): boolean;
  giveSlot(): void;
  slotsInUse(): number;
  slotsTotal(): number;
  /** Global request rate: 'go' and the token is taken, or the EpochMs to ask again. */
  tryTakeRate(nowEpochMs: number): 'go' | number;
  /** Reserves one page of the crawl's budget (--max-pages); false when it is spent. A reservation that did not end as a fetched page is given back. */
  tryTakePage(): boolean;
  givePage(): void;
}
