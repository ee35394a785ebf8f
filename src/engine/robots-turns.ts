/**
 * Turns of a host that fetch a robots.txt: its own, or one that another host's is redirected to (an errand). What the answers mean is RobotsDesk's.
 *
 * A redirect is followed hop by hop, each under the lease of the host it leads to; a hop to another host leaves as an errand, and the host that
 * asked sleeps until the reply comes or its deadline passes.
 */
import type { EpochMs } from '../core/time.ts';
import type { ExchangeResult } from '../fetch/exchange.ts';
import type { Frontier, HostMemory } from '../frontier/frontier.ts';
import type { ErrandAnswer } from '../ports/link-channel.ts';
import { LinkResolver, type SplitUrl, splitUrl } from '../url/index.ts';
import { shardOfHost } from './context.ts';
import { ROBOTS_ENTRY, urlOf } from './entries.ts';
import type { ErrandJob, Errands } from './errands.ts';
import type { Exchanges } from './exchanges.ts';
import type { HostFaults } from './host-faults.ts';
import { raiseGap } from './host-gap.ts';
import { ROBOTS_HOPS_MAX, type RobotsDesk, robotsAnswerOf } from './robots-desk.ts';
import type { ShardEnv } from './shard-env.ts';
import type { ShardState } from './shard-state.ts';
import type { Unwritten } from './unwritten.ts';

const NO_BYTES = new Uint8Array(0);
/** A host whose robots.txt has moved on to another host looks again after this, when no reply has woken it. */
const HOP_SLEEP_MS = 1_000;
/** Status taken for a redirect that another shard has met. */
const REDIRECT_STATUS = 302;

/** What a robots.txt is fetched for. */
export interface RobotsQuestion {
  /** The file to fetch now. */
  readonly parts: SplitUrl;
  /** The origin that waits for it, after so many hops; '' and 0 for an errand. */
  readonly origin: string;
  readonly hops: number;
  readonly job: ErrandJob | undefined;
}

export class RobotsTurns {
  readonly #env: ShardEnv;
  readonly #errands: Errands;
  readonly #exchanges: Exchanges;
  readonly #faults: HostFaults;
  readonly #frontier: Frontier;
  readonly #robots: RobotsDesk;
  readonly #unwritten: Unwritten;

  constructor(
    env: ShardEnv,
    state: Pick<ShardState, 'frontier' | 'robots' | 'unwritten'>,
    errands: Errands,
    exchanges: Exchanges,
    faults: HostFaults,
  ) {
    this.#env = env;
    this.#errands = errands;
    this.#exchanges = exchanges;
    this.#faults = faults;
    this.#frontier = state.frontier;
    this.#robots = state.robots;
    this.#unwritten = state.unwritten;
  }

  start(memory: HostMemory, address: string, question: RobotsQuestion): void {
    const { parts } = question;
    const { sent } = this.#env.context.hostRules.of(parts.hostKey).headers(parts.scheme, 'robots', '');
    const task = { memory, entry: ROBOTS_ENTRY, parts, address, headers: sent, robotsSha: '' };
    this.#exchanges.run({ ...task, what: 'robots' }, (result) => {
      this.#end(memory, question, result);
      return undefined;
    });
  }

  #end(memory: HostMemory, question: RobotsQuestion, result: ExchangeResult): void {
    if (result.isAborted) return;
    const { parts, origin, hops, job } = question;
    const now = this.#env.context.clock.nowEpochMs();
    this.#faults.judge(memory, result, now);
    const target = result.outcome === 'redirect' ? new LinkResolver(urlOf(parts)).resolve(result.location ?? '') : '';
    if (job !== undefined) {
      this.#errands.end(memory, job, target === '' ? answerOf(result) : { kind: 'redirect', url: target });
      return;
    }
    if (target === '') {
      this.#learn(memory, origin, result, now);
      return;
    }
    this.#hop(origin, memory.record.key, target, hops + 1, result.status, now);
    if (this.#robots.verdict(origin, now).kind === 'wait') this.#frontier.sleep(memory, now + HOP_SLEEP_MS);
  }

  /** The end of the chain, on this host: its Crawl-delay counts from this exchange on. */
  #learn(memory: HostMemory, origin: string, result: ExchangeResult, now: EpochMs): void {
    const record = this.#robots.answer(origin, robotsAnswerOf(answerOf(result))!, now);
    this.#unwritten.mark();
    const verdict = this.#robots.verdict(origin, now);
    if (record.state === 'deny-all' || verdict.kind !== 'rules') return;
    const delay = verdict.robots.rules().crawlDelayMs ?? -1;
    memory.record.crawlDelayMs = delay;
    raiseGap(this.#env.context, memory.record);
  }

  #hop(origin: string, hostKey: string, target: string, hops: number, status: number, now: EpochMs): void {
    if (hops > ROBOTS_HOPS_MAX) {
      this.#robots.answer(origin, { kind: 'response', status, body: NO_BYTES }, now);
      return;
    }
    const parts = splitUrl(target);
    if (parts.hostKey === hostKey) {
      this.#robots.hopHere(origin, target, hops);
      return;
    }
    const { id: shard, context } = this.#env;
    const id = this.#robots.hopElsewhere(origin, hostKey, target, hops, now);
    context.channel.send({ kind: 'errand', from: shard, to: shardOfHost(context, parts.host), id, url: target, hops });
  }

  /** The answer to an errand of ours; one that is no longer waited for changes nothing. */
  receiveReply(id: number, answer: ErrandAnswer): void {
    const errand = this.#robots.endErrand(id);
    if (errand === undefined) return;
    const now = this.#env.context.clock.nowEpochMs();
    const memory = this.#frontier.host(errand.hostKey);
    const final = robotsAnswerOf(answer);
    if (final !== undefined) this.#robots.answer(errand.origin, final, now);
    else if (answer.kind === 'redirect') this.#hop(errand.origin, errand.hostKey, answer.url, errand.hops + 1, REDIRECT_STATUS, now);
    if (memory !== undefined) this.#frontier.wake(memory, now);
    this.#unwritten.mark();
  }
}

function answerOf(result: ExchangeResult): ErrandAnswer {
  // Rules that broke off half-way are no answer: the line that is missing may be the one that forbids. A cut at our own cap is no break.
  const isBroken = result.truncated === 'disconnect' || result.truncated === 'time';
  if (result.status === 0 || isBroken || result.outcome === 'decode-error' || result.outcome === 'timeout' || result.outcome === 'reset')
    return { kind: 'failed', code: result.outcome };
  return { kind: 'response', status: result.status, body: result.body, cacheControl: result.headers.first('cache-control') ?? '' };
}
