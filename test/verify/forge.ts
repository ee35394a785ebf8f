/**
 * Forges ledgers: what a crawl would have written that did this and that, well-formed to the last checksum, so that only the deed itself can be found
 * fault with. Time stands until it is moved. What is not said is right: leases count up, robots.txt is asked for, pauses must be waited for by hand.
 */
import type { OutcomeCode } from '../../src/core/reasons.ts';
import type { LedgerConfig } from '../../src/output/ledger-config.ts';
import {
  LedgerEncoder,
  type LedgerEnd,
  type LedgerPrior,
  type LedgerRecord,
  type LedgerRobotsState,
  type LedgerStart,
  ledgerBodyParts,
  ledgerHash,
  PEER_IS_ADDRESS,
} from '../../src/output/politeness-ledger.ts';
import { chainOf } from '../../src/output/segment-chain.ts';
import { type LedgerSource, type VerifyOptions, type VerifyReport, verifyLedger } from '../../src/verify/verify.ts';

const CONFIG: LedgerConfig = {
  token: 'TestBot',
  contact: '',
  delayMs: 1_000,
  delayFactor: 5,
  delayFactorMaxMs: 30_000,
  addressDelayMs: 1_000,
  crawlDelayMaxMs: 300_000,
  retryAfterMaxMs: 86_400_000,
  faultPauseMs: 10_000,
  setAsideMs: 3_600_000,
  ratePerS: 0,
  pageBudget: 0,
  budgetCycleMs: 30 * 86_400_000,
  maxPages: 0,
  robotsTtlMs: 86_400_000,
  robotsTtlMaxMs: 7 * 86_400_000,
  netAllow: [],
};
const LEASES = 2 ** 22;
export const HOST = 'site.example';
const ADDRESS = '93.184.216.34';

export interface Deed {
  readonly shard?: number;
  readonly host?: string;
  readonly scheme?: 'http' | 'https';
  readonly address?: string;
  readonly path?: string;
  readonly durationMs?: number;
  readonly status?: number;
  readonly outcome?: OutcomeCode | 'aborted';
  readonly retryAfterMs?: number;
  readonly peer?: string;
  readonly isFinal?: boolean;
  readonly lease?: number;
  /** undefined: of the robots.txt in force. */
  readonly robotsHash?: string | 'none';
}

export interface RobotsDeed extends Deed {
  readonly state?: LedgerRobotsState;
  readonly hops?: number;
  readonly validMs?: number;
  /** Origin that it is put into force for; by default the one that was asked. */
  readonly origin?: string;
  /** Whether the body stands in the ledger. */
  readonly stored?: boolean;
}

interface Shard {
  /** Frames of each segment; joined when they are looked at. */
  readonly segments: Buffer[][];
  opens: number;
  leases: number;
  commitSeq: number;
  mark: LedgerPrior | undefined;
}

export class Forge {
  monoMs = 5_000_000;
  epochMs = 1_767_000_000_000;
  boot = 'boot-1';
  config: LedgerConfig;
  blocklist = '';
  readonly #encoder = new LedgerEncoder();
  readonly #shards = new Map<number, Shard>();
  readonly #inForce = new Map<string, string | undefined>();

  constructor(config: Partial<LedgerConfig> = {}) {
    this.config = { ...CONFIG, ...config };
  }

  /** A shard of a new crawl, opened. */
  static begun(config: Partial<LedgerConfig> = {}): Forge {
    const forge = new Forge(config);
    forge.open();
    return forge;
  }

  wait(ms: number): this {
    this.monoMs += ms;
    this.epochMs += ms;
    return this;
  }

  /** Opens a shard, again or for the first time. `opensAt`: the commit that it goes on from. */
  open(shard = 0, opensAt?: number): this {
    const state = this.#shardOf(shard);
    state.opens = opensAt ?? state.commitSeq;
    state.leases = 0;
    if (this.bytes(shard, state.segments.length - 1).length === 0) this.#header(shard, false, undefined);
    this.#header(shard, true, state.mark);
    this.#rules(shard);
    return this;
  }

  #header(shard: number, opens: boolean, prior: LedgerPrior | undefined): void {
    const state = this.#shardOf(shard);
    const { boot: bootId, monoMs, epochMs } = this;
    const rest = { shard, bootId, monoMs, epochMs, configVersion: 'c', agent: 'TestBot/1' };
    this.append(shard, { kind: 'header', opens, commitSeq: state.opens, prior, ...rest });
  }

  #rules(shard: number): void {
    for (const part of ledgerBodyParts('config', Buffer.from(JSON.stringify(this.config)))) this.append(shard, part);
    this.writeBlocklist(shard);
  }

  /** Configuration and blocklist have changed while the crawl runs. */
  writeRules(shard = 0): this {
    this.#rules(shard);
    return this;
  }

  writeBlocklist(shard = 0): this {
    for (const part of ledgerBodyParts('blocklist', Buffer.from(this.blocklist))) this.append(shard, part);
    return this;
  }

  /** A commit: everything before it is durable. */
  mark(shard = 0): this {
    const state = this.#shardOf(shard);
    const segment = state.segments.length - 1;
    const chain = chainOfBytes(this.bytes(shard, segment));
    state.commitSeq++;
    this.append(shard, { kind: 'mark', commitSeq: state.commitSeq, monoMs: this.monoMs, epochMs: this.epochMs, chain });
    const bytes = this.bytes(shard, segment);
    state.mark = { segment, length: bytes.length, chain: chainOfBytes(bytes) };
    return this;
  }

  /** The process died before this commit's batch was durable: its mark stands there, and the next opening names the one before. */
  markOfLostCommit(shard = 0): this {
    const state = this.#shardOf(shard);
    const { commitSeq, mark } = state;
    this.mark(shard);
    state.commitSeq = commitSeq;
    state.mark = mark;
    return this;
  }

  /** The next segment begins. */
  rotate(shard = 0): this {
    const state = this.#shardOf(shard);
    const bytes = this.bytes(shard, state.segments.length - 1);
    const prior = { segment: state.segments.length - 1, length: bytes.length, chain: chainOfBytes(bytes) };
    state.segments.push([]);
    this.#header(shard, false, prior);
    this.#rules(shard);
    return this;
  }

  /** A request; `end` with what it returns. */
  start(deed: Deed & { readonly what?: 'page' | 'robots' } = {}): () => void {
    const { shard = 0, host = HOST, scheme = 'http', address = ADDRESS, path = '/', what = 'page' } = deed;
    const state = this.#shardOf(shard);
    state.leases++;
    const lease = deed.lease ?? state.opens * LEASES + state.leases;
    const inForce = this.#inForce.get(`${scheme}://${host}`);
    const robotsHash = what === 'robots' || deed.robotsHash === 'none' ? undefined : (deed.robotsHash ?? inForce);
    const start: LedgerStart = {
      ...{ kind: 'start', lease, what, scheme, hostKey: host, path, address, gapOwedMs: 0, gapRule: 'none', robotsHash },
      ...{ monoMs: this.monoMs, epochMs: this.epochMs },
    };
    this.append(shard, start);
    const begunMs = this.monoMs;
    return () => {
      const { status = 200, outcome = 'ok', retryAfterMs, peer = PEER_IS_ADDRESS, isFinal = true } = deed;
      const end: LedgerEnd = {
        ...{ kind: 'end', lease, durationMs: this.monoMs - begunMs, status, retryAfterMs, outcome, bodyBytes: 1 },
        peer: peer === '' ? undefined : peer,
        isFinal,
      };
      this.append(shard, end);
    };
  }

  /** A page, 10 ms long unless said otherwise. */
  page(deed: Deed = {}): this {
    const end = this.start(deed);
    this.wait(deed.durationMs ?? 10);
    end();
    return this;
  }

  /** robots.txt is asked for and comes into force. */
  robots(text: string, deed: RobotsDeed = {}): this {
    const { shard = 0, host = HOST, scheme = 'http', status = 200, hops = 0, validMs = 86_400_000 } = deed;
    const state = deed.state ?? (status < 300 ? 'rules' : status < 500 && status !== 429 ? 'allow-all' : 'deny-all');
    const origin = deed.origin ?? `${scheme}://${host}`;
    const hasBody = state === 'rules' || state === 'last-good';
    const hash = hasBody ? ledgerHash(text) : undefined;
    const end = this.start({ path: '/robots.txt', ...deed, what: 'robots' });
    this.wait(deed.durationMs ?? 10);
    if (hasBody && deed.stored !== false) for (const part of ledgerBodyParts('robots', Buffer.from(text))) this.append(shard, part);
    this.append(shard, {
      kind: 'robots',
      origin,
      state,
      hops,
      status,
      epochMs: this.epochMs,
      validMs,
      ...(hash === undefined ? {} : { hash }),
    });
    this.#inForce.set(origin, hash);
    end();
    return this;
  }

  append(shard: number, record: LedgerRecord): void {
    this.#shardOf(shard)
      .segments.at(-1)!
      .push(Buffer.from(this.#encoder.encode(record)));
  }

  /** Bytes of a segment, to be spoilt. */
  bytes(shard = 0, segment = 0): Buffer {
    const { segments } = this.#shardOf(shard);
    const frames = segments[segment]!;
    if (frames.length !== 1) segments[segment] = [Buffer.concat(frames)];
    return segments[segment]![0]!;
  }

  setBytes(bytes: Buffer, shard = 0, segment = 0): this {
    this.#shardOf(shard).segments[segment] = [bytes];
    return this;
  }

  /** What the state of the crawl would say. */
  committed(shard = 0): ReadonlyMap<number, LedgerPrior> {
    const { mark } = this.#shardOf(shard);
    return new Map(mark === undefined ? [] : [[shard, mark]]);
  }

  #shardOf(shard: number): Shard {
    const known = this.#shards.get(shard);
    if (known !== undefined) return known;
    const state: Shard = { segments: [[]], opens: 0, leases: 0, commitSeq: 0, mark: undefined };
    this.#shards.set(shard, state);
    return state;
  }

  source(without: readonly string[] = []): LedgerSource {
    const files = new Map<string, Buffer>();
    for (const [shard, { segments }] of this.#shards)
      segments.forEach((_, segment) => {
        files.set(`ledger/ledger-s${shard}-${String(segment).padStart(5, '0')}.ledger`, this.bytes(shard, segment));
      });
    for (const name of without) files.delete(name);
    return {
      list: (prefix) => [...files.keys()].filter((name) => name.startsWith(prefix)),
      length: (name) => files.get(name)?.length,
      read: (name, offset, length) => Uint8Array.from(files.get(name)!.subarray(offset, offset + length)),
    };
  }

  verify(options: VerifyOptions = {}, without: readonly string[] = []): VerifyReport {
    return verifyLedger(this.source(without), options);
  }
}

function chainOfBytes(bytes: Buffer): string {
  return chainOf((offset, length) => bytes.subarray(offset, offset + length), bytes.length);
}
