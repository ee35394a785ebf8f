/**
 * Leases and the requests made under them, alike for pages and robots.txt.
 *
 * Invariant: the ledger holds the start record before the request leaves, and the end record after everything that the result adds to the
 * host's pause is known. A lease ends once; its slot, its address and the host's gap end with it, before anything is done with the result.
 */
import { type HostRecord, hostDueMs } from '../core/host.ts';
import type { OutcomeCode } from '../core/reasons.ts';
import type { QueueEntry } from '../core/records.ts';
import type { EpochMs } from '../core/time.ts';
import { type ExchangeRequest, type ExchangeResult, runExchange } from '../fetch/exchange.ts';
import { BodyGunzip } from '../fetch/gunzip.ts';
import type { HeaderList } from '../fetch/headers.ts';
import type { Frontier, HostMemory, Lease } from '../frontier/frontier.ts';
import { PEER_IS_ADDRESS } from '../output/politeness-ledger.ts';
import { ROBOTS_DEFAULTS } from '../robots/policy.ts';
import type { SplitUrl } from '../url/index.ts';
import type { Totals } from './accounting.ts';
import type { Activity } from './activity.ts';
import { gapOwed } from './host-gap.ts';
import { gateKey } from './host-rules.ts';
import type { Loop } from './loop.ts';
import type { OpenRequest } from './saved-marks.ts';
import type { ShardEnv } from './shard-env.ts';
import type { ShardOutput } from './shard-output.ts';
import type { ShardState } from './shard-state.ts';
import type { Unwritten } from './unwritten.ts';

/** A lease lasts so much longer than its exchange may. */
const LEASE_MARGIN_MS = 15_000;
/** Numbers that the ledger sets apart for the leases of one incarnation; the next one has made a commit at least. */
const LEASE_NUMBERS = 2 ** 22;

/** What a result means for its URL: the outcome that it ends with, or undefined when its end is still to come. */
export type ExchangeDone = (result: ExchangeResult, lease: Lease) => OutcomeCode | undefined;

/** One request that is about to leave; the gate of its address is held. */
export interface ExchangeTask {
  readonly memory: HostMemory;
  /** What the lease is of; ROBOTS_ENTRY for a robots.txt. */
  readonly entry: QueueEntry;
  readonly parts: SplitUrl;
  readonly address: string;
  readonly headers: HeaderList;
  readonly what: 'page' | 'robots';
  /** Of the robots.txt that allows it; '' for a robots.txt itself. */
  readonly robotsSha: string;
}

export class Exchanges {
  readonly #env: ShardEnv;
  readonly #loop: Loop;
  readonly #frontier: Frontier;
  readonly #totals: Totals;
  readonly #output: ShardOutput;
  readonly #unwritten: Unwritten;
  readonly #activity: Activity;
  readonly #firstLease: number;
  readonly #aborts = new Map<number, () => void>();
  readonly #open = new Map<number, OpenRequest>();
  readonly #gunzip = new BodyGunzip();

  constructor(env: ShardEnv, state: Pick<ShardState, 'opened' | 'frontier' | 'totals' | 'output' | 'unwritten' | 'activity'>, loop: Loop) {
    this.#env = env;
    this.#loop = loop;
    this.#frontier = state.frontier;
    this.#totals = state.totals;
    this.#output = state.output;
    this.#unwritten = state.unwritten;
    this.#activity = state.activity;
    this.#firstLease = state.opened.commitSeq * LEASE_NUMBERS;
  }

  /** `done` gets the result once, unless the lease has expired by then. */
  run(task: ExchangeTask, done: ExchangeDone): void {
    const { clock, config, transport } = this.#env.context;
    const lease = this.#frontier.lease(task.memory, task.entry, clock.nowEpochMs() + config.fetch.totalTimeout + LEASE_MARGIN_MS);
    const ledgerLease = this.#firstLease + lease.id;
    this.#totals.requests++;
    if (task.what === 'robots') this.#totals.robotsRequests++;
    this.#frontier.countFetch(task.memory);
    this.#activity.exchangeBegun();
    this.#writeStart(task, ledgerLease);
    const abort = runExchange(transport, clock, this.#request(task), (result) => {
      this.#loop.guard(() => this.#end(task, lease, ledgerLease, result, done));
      this.#loop.pump();
    });
    if (!lease.ended) this.#aborts.set(lease.id, abort);
  }

  #writeStart(task: ExchangeTask, ledgerLease: number): void {
    const { clock } = this.#env.context;
    const { record } = task.memory;
    this.#output.ledgerStart({
      kind: 'start',
      lease: ledgerLease,
      what: task.what,
      scheme: task.parts.scheme,
      hostKey: record.key,
      path: task.parts.pathQuery,
      address: task.address,
      gapOwedMs: record.owedMs,
      gapRule: record.gapRule,
      robotsHash: task.robotsSha === '' ? undefined : task.robotsSha.slice(0, 16),
      monoMs: clock.nowMonoMs(),
      epochMs: clock.nowEpochMs(),
    });
    this.#open.set(ledgerLease, [ledgerLease, record.key, task.address]);
  }

  #request(task: ExchangeTask): ExchangeRequest {
    const { fetch } = this.#env.context.config;
    const maxBodyBytes = task.what === 'robots' ? ROBOTS_DEFAULTS.bodyBytesMax : fetch.maxBody;
    return {
      origin: task.parts.origin,
      pathQuery: task.parts.pathQuery,
      address: task.address,
      headers: task.headers,
      isConditional: false,
      limits: {
        maxBodyBytes,
        maxWireBytes: maxBodyBytes,
        connectTimeoutMs: fetch.connectTimeout,
        firstByteTimeoutMs: fetch.firstByteTimeout,
        stallTimeoutMs: fetch.stallTimeout,
        totalTimeoutMs: fetch.totalTimeout,
      },
      gunzip: task.what === 'robots' ? undefined : this.#gunzip,
      accept: task.what === 'robots' || task.entry.kind === 'asset' ? () => true : (type) => isWantedType(fetch.accept, type),
    };
  }

  #end(task: ExchangeTask, lease: Lease, ledgerLease: number, result: ExchangeResult, done: ExchangeDone): void {
    this.#aborts.delete(lease.id);
    if (!this.#frontier.endLease(lease)) return;
    const { clock, hostRules } = this.#env.context;
    const { memory } = task;
    const rules = hostRules.of(memory.record.key);
    const now = clock.nowEpochMs();
    this.#activity.exchangeEnded();
    const key = gateKey(rules, memory.record.key, task.address);
    const nextMs = now + rules.addressDelayMs;
    this.#env.ports.gate.release(key, nextMs);
    this.#frontier.addressFree(key, nextMs);
    this.#totals.wireBytes += result.wireBody.length;
    this.#setGap(memory.record, result, now);
    this.#frontier.touch(memory);
    this.#unwritten.mark();
    const final = done(result, lease);
    this.#writeEnd(task, ledgerLease, result, final, now);
    if (memory.onTurn) this.#frontier.endTurn(memory, now);
  }

  #setGap(record: HostRecord, result: ExchangeResult, now: EpochMs): void {
    record.lastEndMs = now;
    record.lastDurationMs = result.durationMs;
    const slowDown = result.outcome === 'rate-limited' || result.outcome === 'unavailable';
    if (slowDown) record.backoff++;
    else if (result.status > 0 && record.backoff > 0) record.backoff--;
    if (result.status > 0 && !slowDown) {
      record.faults = 0;
      record.setAside = 0;
    }
    const gap = gapOwed(this.#env.context, record, slowDown ? result.retryAfterMs : undefined);
    record.owedMs = gap.owedMs;
    record.gapRule = gap.rule;
  }

  /** Only now is known what a robots.txt or a fault adds to the pause. */
  #writeEnd(task: ExchangeTask, ledgerLease: number, result: ExchangeResult, final: OutcomeCode | undefined, now: EpochMs): void {
    const owedMs = Math.ceil(hostDueMs(task.memory.record) - now);
    const { remoteAddress } = result;
    this.#open.delete(ledgerLease);
    this.#output.ledgerEnd({
      kind: 'end',
      lease: ledgerLease,
      durationMs: result.durationMs,
      status: result.status,
      retryAfterMs: result.retryAfterMs,
      owedMs: owedMs > this.#env.context.hostRules.of(task.memory.record.key).gap.delayMs ? owedMs : undefined,
      outcome: result.isAborted ? 'aborted' : (final ?? result.outcome),
      bodyBytes: result.wireBody.length,
      peer: remoteAddress === task.address ? PEER_IS_ADDRESS : remoteAddress === '' ? undefined : remoteAddress,
      isFinal: final !== undefined,
    });
  }

  /** Breaks off what is past its deadline: the URL is still in its queue and is handed out again. */
  endExpired(): void {
    const { clock, metrics } = this.#env.context;
    for (const lease of this.#frontier.expiredLeases(clock.nowEpochMs())) {
      this.#env.events.notice(this.#env.id, `a lease of ${lease.host.record.key} expired; its URL is handed out again`);
      metrics.count('portolan_leases_expired_total');
      this.#aborts.get(lease.id)?.();
    }
  }

  /** Requests that have left and not ended, for the batch. */
  openRequests(): readonly OpenRequest[] {
    return [...this.#open.values()];
  }

  close(): void {
    for (const abort of this.#aborts.values()) abort();
    this.#aborts.clear();
  }
}

/** `wanted`: media types, ranges such as text/* or everything. A missing or generic type is judged by its first bytes, later. */
export function isWantedType(wanted: readonly string[], mediaType: string): boolean {
  if (mediaType === '' || mediaType === 'application/octet-stream') return true;
  return wanted.some((want) => want === '*/*' || want === mediaType || (want.endsWith('/*') && mediaType.startsWith(want.slice(0, -1))));
}
