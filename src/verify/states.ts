/**
 * What the judge remembers: one object for each host key, each address, each origin with a robots.txt, and each shard. Nothing is kept of a request
 * once its host's next one has been judged, so memory grows with hosts and addresses (about 400 bytes each), never with requests.
 */
import type { LedgerConfig } from '../output/ledger-config.ts';
import type { LedgerHeader, LedgerRobots, LedgerStart } from '../output/politeness-ledger.ts';
import type { Address } from './addresses.ts';
import type { BlockedList } from './blocked.ts';
import type { RecordPlace } from './findings.ts';
import type { Rules, RulesInForce } from './host-config.ts';
import type { Moment } from './moments.ts';
import { type ExchangeFacts, type Owed, owedAfter } from './owed.ts';

/** An address as it is written in start records, read once. */
export interface NamedAddress {
  /** Undefined: the text is no address. */
  readonly address: Address | undefined;
  readonly state: AddressState;
  /** Rules under which it was found that it may be contacted. */
  allowedBy: Rules | undefined;
}

export interface OpenExchange {
  readonly start: LedgerStart;
  readonly at: Moment;
  readonly place: RecordPlace;
  readonly host: HostState;
  readonly address: AddressState;
  readonly named: NamedAddress;
  readonly shard: number;
  /** Requests of other shards that left for its address before its end was read: an end may be lost with its process, and then nothing is known. */
  overtakers: { readonly view: ShardView; readonly exchange: OpenExchange }[] | undefined;
}

/** What was done last to a host or an address, and what is therefore owed. */
class Owing {
  open: OpenExchange | undefined;
  endedAt: Moment | undefined;
  endedPlace: RecordPlace | undefined;
  /** The opening of a shard after which the whole pause had to be waited. */
  restartedAt: Moment | undefined;
  restartPlace: RecordPlace | undefined;
}

export class HostState extends Owing {
  readonly key: string;
  slowDowns = 0;
  facts: ExchangeFacts = { durationMs: 0, crawlDelayMs: -1, slowDowns: 0, retryAfterMs: 0, failed: false };
  /** Configuration at the end of the last exchange. */
  config: LedgerConfig | undefined;
  pages = 0;
  cycleFromMs = Number.NEGATIVE_INFINITY;
  /** Stands in for an address behind a proxy, which nobody knows: the host is the unit. */
  behindProxy: AddressState | undefined;

  constructor(key: string) {
    super();
    this.key = key;
  }

  /** When the configuration has changed since, the lesser of both pauses is required: either may be kept. */
  owed(now: LedgerConfig): Owed {
    const owed = owedAfter(this.facts, now, this.key);
    if (this.config === undefined || this.config === now) return owed;
    const before = owedAfter(this.facts, this.config, this.key);
    return before.ms < owed.ms ? before : owed;
  }
}

export class AddressState extends Owing {
  readonly server: string;
  config: LedgerConfig | undefined;

  constructor(server: string) {
    super();
    this.server = server;
  }

  owedMs(now: LedgerConfig): number {
    return Math.min(now.addressDelayMs, this.config?.addressDelayMs ?? now.addressDelayMs);
  }
}

/** A robots.txt that was put into force and waits for the end record of the exchange that sent it. */
export interface PendingRobots {
  readonly record: LedgerRobots;
  readonly place: RecordPlace;
  readonly before: LedgerRobots | undefined;
}

/** A host's count before a page, or before a new cycle of its budget, so that an opening can take back what no commit covered. */
export interface CountBefore {
  readonly host: HostState;
  readonly commitSeq: number;
  readonly pages: number;
  readonly cycleFromMs: number;
  readonly isPage: boolean;
}

export class ShardView {
  readonly shard: number;
  header: LedgerHeader | undefined;
  openedAt: Moment | undefined;
  openedPlace: RecordPlace | undefined;
  rules: RulesInForce | undefined;
  /** Undefined: the list is too long for the ledger, or there was none recorded. */
  blocked: BlockedList | undefined;
  /** The last mark: what follows is beyond it. */
  commitSeq = 0;
  lastLease = 0;
  readonly open = new Map<number, OpenExchange>();
  pending: PendingRobots | undefined;
  /** Hosts and addresses with the last commit before their last record; those that a commit has covered for sure leave. */
  readonly recent = new Map<HostState | AddressState, number>();
  recentPages: CountBefore[] = [];
  /** What a robots.txt replaced, so that an opening can take back what no commit covered. */
  recentRobots: { readonly origin: string; readonly before: LedgerRobots | undefined; readonly commitSeq: number }[] = [];

  constructor(shard: number) {
    this.shard = shard;
  }

  /** A commit was begun: the one before it is durable, so nothing from before that can be lost any more. */
  marked(commitSeq: number): void {
    this.commitSeq = commitSeq;
    for (const [owing, seq] of this.recent) if (seq < commitSeq - 1) this.recent.delete(owing);
    this.recentPages = this.recentPages.filter((page) => page.commitSeq >= commitSeq - 1);
    this.recentRobots = this.recentRobots.filter((robots) => robots.commitSeq >= commitSeq - 1);
  }

  touch(host: HostState, address: AddressState): void {
    this.recent.set(host, this.commitSeq);
    this.recent.set(address, this.commitSeq);
  }
}
