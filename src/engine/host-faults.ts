/**
 * What failures mean for a host as a whole (row C5): a pause that grows with each fault in a row, being set aside, at last being retired.
 * The pause after an answer is exchanges.ts; what a failure means for its URL is page-turns.ts.
 */
import { counted } from '../core/counted.ts';
import { queuedTotal } from '../core/host.ts';
import { OUTCOME_CODES, type OutcomeCode } from '../core/reasons.ts';
import type { EpochMs } from '../core/time.ts';
import type { ExchangeResult } from '../fetch/exchange.ts';
import type { Frontier, HostMemory } from '../frontier/frontier.ts';
import { afterFault } from '../frontier/gap.ts';
import type { DnsEntry } from '../net/dns-cache.ts';
import { durationInWords } from './eta.ts';
import type { ShardEnv } from './shard-env.ts';
import type { ShardState } from './shard-state.ts';
import type { Unwritten } from './unwritten.ts';

/** What keeps a host from being reached at all. */
const UNREACHED: readonly OutcomeCode[] = ['dns-failed', 'connect-failed', 'tls-failed'];

/** Hosts that are told of at their first fault, per shard and run: enough for a seed that was mistyped, no flood in a broad crawl. */
const UNREACHED_TOLD_MAX = 5;

/** NXDOMAIN so often in a row retires a host: the name does not exist. */
const NOT_FOUND_LIMIT = 2;

export class HostFaults {
  readonly #env: ShardEnv;
  readonly #frontier: Frontier;
  readonly #unwritten: Unwritten;
  #told = 0;

  constructor(env: ShardEnv, state: Pick<ShardState, 'frontier' | 'unwritten'>) {
    this.#env = env;
    this.#frontier = state.frontier;
    this.#unwritten = state.unwritten;
  }

  /** What a result means for its host beyond the gap. Returns true when the fault is the whole host's, so that the URL's attempt does not count. */
  judge(memory: HostMemory, result: ExchangeResult, now: EpochMs): boolean {
    const { record } = memory;
    const hostWide = OUTCOME_CODES[result.outcome] === 'host';
    if (!hostWide && result.outcome !== 'timeout') return false;
    const { setAside, gapRule, waitUntilMs } = record;
    this.#fault(memory, now, result.outcome, undefined);
    const answered = result.outcome === 'rate-limited' || result.outcome === 'unavailable' || result.outcome === 'timeout';
    // The server's own word (doubled gap, Retry-After) is enough until the limit is reached; a timeout has used up its time already.
    if (answered && record.setAside === setAside && record.state === 'open') {
      record.waitUntilMs = waitUntilMs;
      record.gapRule = gapRule;
    }
    return hostWide;
  }

  /** Its name has no address: it is looked up again before it counts again. */
  lookupFailed(memory: HostMemory, lookup: DnsEntry, now: EpochMs): void {
    this.#fault(memory, now, 'dns-failed', lookup);
  }

  #fault(memory: HostMemory, now: EpochMs, what: OutcomeCode, lookup: DnsEntry | undefined): void {
    const { clock, config, random } = this.#env.context;
    const { record } = memory;
    const { faultLimit, faultPause, setAside, setAsideLimit } = config.politeness;
    const fault = afterFault(record.faults, record.setAside, random.next(), {
      faultLimit,
      faultPauseMs: faultPause,
      setAsideMs: setAside,
      setAsideLimit,
    });
    record.faults = fault.faults;
    record.setAside = fault.setAside;
    record.waitUntilMs = now + Math.max(fault.pauseMs, lookup === undefined ? 0 : lookup.expiresAt - clock.nowMonoMs());
    record.gapRule = fault.rule;
    this.#frontier.touch(memory);
    this.#unwritten.mark();
    if (fault.retire || (lookup?.kind === 'not-found' && record.faults >= NOT_FOUND_LIMIT)) {
      // The server that failed is owed the pause all the same: after a kill no commit may know that its host was retired.
      record.waitUntilMs = lookup === undefined ? Math.min(record.waitUntilMs, now + faultPause) : now;
      this.#retire(memory, what);
    } else if (record.fetched === 0 && record.faults === 1 && record.setAside === 0 && UNREACHED.includes(what))
      this.#tell(memory, now, what, lookup);
  }

  /** Who waits for a host that cannot be reached at all should know what for. */
  #tell({ record }: HostMemory, now: EpochMs, what: OutcomeCode, lookup: DnsEntry | undefined): void {
    if (++this.#told > UNREACHED_TOLD_MAX) return;
    const { id, events } = this.#env;
    const why = lookup?.kind === 'not-found' ? 'the name does not exist' : what;
    events.notice(id, `${record.key} cannot be reached (${why}); the next try is in ${durationInWords(record.waitUntilMs - now)}`);
  }

  #retire(memory: HostMemory, what: OutcomeCode): void {
    const { record } = memory;
    record.state = 'retired';
    const { id, events } = this.#env;
    events.notice(
      id,
      `${record.key} is retired after failing too often, at last with ${what}; ${counted(queuedTotal(record), 'URL is', 'URLs are')} dropped`,
    );
  }
}
