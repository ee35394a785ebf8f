/** What verify can find, as closed lists, and the bounded account of it: every finding is counted, the first ones are kept with their records. */

export const VIOLATIONS = {
  'host-overlap': 'two requests to one host were in flight at once',
  'address-overlap': 'two requests to one address were in flight at once',
  'host-gap': 'a request came sooner than its host was owed',
  'address-gap': 'a request came sooner than its address was owed',
  'restart-gap': 'after a restart a request came before its whole pause',
  rate: 'more requests per second than configured',
  'robots-missing': 'a page was asked for without a robots.txt in force',
  'robots-denied': 'a page was asked for that robots.txt forbids',
  'robots-version': 'a page was asked for by another robots.txt than the one in force',
  'robots-state': 'a robots.txt was put into force that its answer does not give',
  'robots-origin': 'a robots.txt was put into force for an origin that did not send it',
  'robots-stale': 'a page was asked for by a robots.txt that had expired',
  'crawl-delay-bound': 'a page was asked for although its host wants a longer Crawl-delay than the crawl can wait',
  'forbidden-address': 'an address was contacted that must not be',
  'other-address': 'the socket’s peer was not the address that was vetted',
  blocklisted: 'a host, address or URL was asked for that the blocklist names',
  'page-budget': 'more pages of a host than its budget',
  'max-pages': 'more pages than limits.maxPages',
  'no-lease': 'a request, or the end of one, without a lease of its own',
  'evidence-missing': 'bytes of the ledger are missing or changed',
} as const;
export type Violation = keyof typeof VIOLATIONS;

export const UNDECIDABLES = {
  'clock-step': 'pauses during which the clock was set or the machine slept',
  'another-boot': 'pauses over a reboot, short by nobody’s clock',
  'lost-end': 'requests to an address while another shard’s one had no end yet, which its ledger never got',
  'budget-window': 'pages at the turn of a budget cycle',
  'path-cut': 'paths that were too long for the ledger, against robots.txt',
  'robots-body': 'pages whose robots.txt body is not in the ledger',
  'blocklist-text': 'requests under a blocklist that is too long for the ledger',
  'no-peer': 'answers whose peer is not recorded',
  'old-format': 'requests recorded before the ledger held what judges them',
} as const;
export type Undecidable = keyof typeof UNDECIDABLES;

/** A frame of the ledger. */
export interface RecordPlace {
  readonly file: string;
  readonly offset: number;
}

export interface Finding {
  readonly kind: Violation;
  readonly shard: number;
  readonly hostKey: string;
  readonly address: string;
  /** Wall time of the record that breaks the rule. */
  readonly epochMs: number;
  readonly text: string;
  /** The records that prove it, the breaking one last. */
  readonly records: readonly RecordPlace[];
}

/** Findings kept; further ones are counted only. */
export const FINDINGS_MAX = 1_000;

export class Findings {
  readonly kept: Finding[] = [];
  readonly violations = new Map<Violation, number>();
  readonly undecidable = new Map<Undecidable, number>();

  add(finding: Finding): void {
    this.violations.set(finding.kind, (this.violations.get(finding.kind) ?? 0) + 1);
    if (this.kept.length < FINDINGS_MAX) this.kept.push(finding);
  }

  undecided(kind: Undecidable): void {
    this.undecidable.set(kind, (this.undecidable.get(kind) ?? 0) + 1);
  }

  get total(): number {
    let total = 0;
    for (const count of this.violations.values()) total += count;
    return total;
  }
}
