/** What the checkers of a run have found wrong: each kind counted, the first of each kept in words. */

export const CHECKS = [
  'two-on-host', // two exchanges at once with one host
  'two-on-address', // or with one gated address
  'gap', // a request before the host's pause was over
  'address-gap',
  'robots', // a path that robots.txt forbids, or a page before robots.txt was asked for
  'address-forbidden', // a private address was contacted
  'law-finder', // the accounting laws at a commit
  'law-owner',
  'law-urls',
  'law-host', // admitted = queued + fetched + dropped of one host
  'commit-order', // commits of a shard are numbered without gaps
  'unaccounted', // both laws over all shards at the end
  'recount', // rows of the store and totals differ
  'missing', // a link of a page that was kept is not among the admitted URLs
  'admitted-twice', // a URL stands in two rows
  'exchange-end', // an exchange ended twice or not at all
  'bound', // more hosts, exchanges or entries than the configuration allows
  'failed', // the crawl failed although nothing was injected
  'stalled', // URLs wait and nothing happens
  'unfinished', // phase two did not come to an end
  'verify', // the verifier of the ledger objects
] as const;
export type Check = (typeof CHECKS)[number];

const KEPT_OF_EACH = 5;

export class Findings {
  readonly #counts = new Map<Check, number>();
  readonly #kept: { readonly check: Check; readonly atMs: number; readonly text: string }[] = [];
  #checked = 0;

  report(check: Check, atMs: number, text: string): void {
    const count = (this.#counts.get(check) ?? 0) + 1;
    this.#counts.set(check, count);
    if (count <= KEPT_OF_EACH) this.#kept.push({ check, atMs, text });
  }

  /** Something was looked at and found right. */
  passed(count = 1): void {
    this.#checked += count;
  }

  /** Reports unless `ok`. `text` is made only then. */
  expect(ok: boolean, check: Check, atMs: number, text: () => string): void {
    if (ok) this.#checked++;
    else this.report(check, atMs, text());
  }

  get checked(): number {
    return this.#checked;
  }

  counts(): Partial<Record<Check, number>> {
    return Object.fromEntries(this.#counts);
  }

  lines(): string[] {
    return this.#kept.map(({ check, atMs, text }) => `${check} at ${(atMs / 1_000).toFixed(3)} s: ${text}`);
  }
}
