/**
 * Turns of a host that fetch a page: the request, and what its end means for the URL — another attempt, a redirect, or its last outcome.
 *
 * Invariant: the entry stays the head of its queue while it is on lease, so that a result that never comes loses nothing. Each end consumes it,
 * and then it is either queued again or recorded once.
 */
import { assert } from '../core/errors.ts';
import { hostDueMs } from '../core/host.ts';
import { OUTCOME_CODES, type OutcomeCode } from '../core/reasons.ts';
import type { QueueEntry } from '../core/records.ts';
import type { EpochMs } from '../core/time.ts';
import type { ExchangeResult } from '../fetch/exchange.ts';
import type { HeaderList } from '../fetch/headers.ts';
import type { Frontier, HostMemory, Lease } from '../frontier/frontier.ts';
import { LinkResolver, type SplitUrl, splitUrl } from '../url/index.ts';
import type { Totals } from './accounting.ts';
import { urlOf } from './entries.ts';
import type { Exchanges } from './exchanges.ts';
import type { FindRouter, LinkTally } from './find-router.ts';
import type { HostFaults } from './host-faults.ts';
import { gateKey } from './host-rules.ts';
import type { Loop } from './loop.ts';
import type { Answer, PageRecorder } from './page-recorder.ts';
import { redirectStep } from './redirects.ts';
import type { ShardEnv } from './shard-env.ts';
import type { ShardState } from './shard-state.ts';
import type { Unwritten } from './unwritten.ts';

/** While the page budget is used up a host looks so often whether a page was given back. */
const STILL_FULL_POLL_MS = 250;
/** Share of a retry's pause that is added at random. */
const RETRY_JITTER = 0.25;

/** A redirect that is the end of its URL. `target`: '' when it names no place that it could lead to. */
interface RedirectEnd {
  readonly outcome: OutcomeCode;
  readonly target: string;
  readonly tally: LinkTally | undefined;
}

export class PageTurns {
  readonly #env: ShardEnv;
  readonly #loop: Loop;
  readonly #exchanges: Exchanges;
  readonly #faults: HostFaults;
  readonly #router: FindRouter;
  readonly #recorder: PageRecorder;
  readonly #frontier: Frontier;
  readonly #totals: Totals;
  readonly #unwritten: Unwritten;

  constructor(
    env: ShardEnv,
    state: Pick<ShardState, 'frontier' | 'totals' | 'unwritten'>,
    loop: Loop,
    exchanges: Exchanges,
    faults: HostFaults,
    router: FindRouter,
    recorder: PageRecorder,
  ) {
    this.#env = env;
    this.#loop = loop;
    this.#exchanges = exchanges;
    this.#faults = faults;
    this.#router = router;
    this.#recorder = recorder;
    this.#frontier = state.frontier;
    this.#totals = state.totals;
    this.#unwritten = state.unwritten;
  }

  /** A cycle of the page budget begins with the first request after the one before is over, which is also what the ledger shows. */
  #beginCycle(memory: HostMemory, now: EpochMs): void {
    const { record } = memory;
    if (now - record.cycleStartMs < this.#env.context.config.frontier.budgetCycle) return;
    record.cycleStartMs = now;
    record.cyclePages = 0;
    this.#frontier.touch(memory);
  }

  /** With the gate of `address` held. `robotsSha`: of the robots.txt that allows it, '' without one. */
  start(memory: HostMemory, entry: QueueEntry, parts: SplitUrl, address: string, robotsSha: string): void {
    const { gate } = this.#env.ports;
    const { clock, transport, hostRules } = this.#env.context;
    const rules = hostRules.of(parts.hostKey);
    if (!gate.tryTakePage()) {
      const now = clock.nowEpochMs();
      gate.release(gateKey(rules, parts.hostKey, address), now);
      this.#frontier.endTurn(memory, now, now + STILL_FULL_POLL_MS);
      this.#loop.pause('pages');
      return;
    }
    this.#beginCycle(memory, clock.nowEpochMs());
    // Another attempt gets a connection of its own: one that was kept may be closed by the server while the request travels.
    if (entry.attempts > 0) transport.release(parts.origin);
    const { sent, shown } = rules.headers(parts.scheme, entry.kind === 'asset' ? 'asset' : 'page', entry.chain?.cookies ?? '');
    this.#exchanges.run({ memory, entry, parts, address, headers: sent, what: 'page', robotsSha }, (result, lease) =>
      // The peer of a proxy's connection is not the server.
      this.#end(memory, lease, parts, shown, rules.proxy === undefined ? result : { ...result, remoteAddress: '' }),
    );
  }

  /** The outcome that the URL ends with; undefined when it goes back to its queue. */
  #end(memory: HostMemory, lease: Lease, parts: SplitUrl, headers: HeaderList, result: ExchangeResult): OutcomeCode | undefined {
    if (result.isAborted) {
      this.#env.ports.gate.givePage();
      return undefined;
    }
    const now = this.#env.context.clock.nowEpochMs();
    const { entry } = lease;
    assert(this.#frontier.peek(memory, now) === entry, `the entry on lease is the head of ${memory.record.key}`);
    const isOwnFault = entry.attempts > 0 || memory.record.faults + memory.record.setAside === 0;
    const hostWide = this.#faults.judge(memory, result, now);
    // A fault of the whole host uses up no attempt; of a host that has just answered it is the URL's own, then and later.
    const attempts = entry.attempts + (hostWide && !isOwnFault ? 0 : 1);
    this.#frontier.consume(memory);
    const retries = (hostWide || mayComeWhole(result)) && attempts < this.#env.context.config.fetch.attempts;
    if (retries || OUTCOME_CODES[result.outcome] !== 'success') this.#givePage();
    if (retries) {
      this.#retry(memory, entry, attempts, hostWide ? hostDueMs(memory.record) : now);
      return undefined;
    }
    return this.#finish({ memory, entry: { ...entry, attempts }, parts, url: urlOf(parts), headers, result, now });
  }

  #givePage(): void {
    this.#env.ports.gate.givePage();
    if (this.#loop.paused === 'pages') this.#loop.pause('');
  }

  #retry(memory: HostMemory, entry: QueueEntry, attempts: number, fromMs: EpochMs): void {
    const { config, random } = this.#env.context;
    const pause = config.fetch.retryDelay * 2 ** entry.attempts * (1 + RETRY_JITTER * random.next());
    this.#frontier.requeue(memory, { ...entry, attempts, notBeforeMs: fromMs + pause });
  }

  #finish(answer: Answer): OutcomeCode | undefined {
    const { outcome } = answer.result;
    if (outcome === 'redirect') {
      const end = this.#redirect(answer);
      return end === undefined ? undefined : this.#recorder.other(answer, end.outcome, end.target, end.tally);
    }
    return OUTCOME_CODES[outcome] === 'success' ? this.#recorder.page(answer) : this.#recorder.other(answer, outcome, '', undefined);
  }

  /** Undefined when the URL goes back to its queue: its end is still to come. */
  #redirect(answer: Answer): RedirectEnd | undefined {
    const { entry, parts, url, result, now } = answer;
    const { config, canonicalize } = this.#env.context;
    const resolver = new LinkResolver(url);
    const target = resolver.resolve(result.location ?? '');
    if (target === '') {
      const tally = result.location === undefined ? undefined : this.#router.refused(resolver.rejected);
      return { outcome: 'bad-redirect', target: '', tally };
    }
    const to = splitUrl(target);
    const cookies = result.headers.all('set-cookie');
    const step = redirectStep(entry, url, parts.host, target, to.host, cookies, config.fetch.maxRedirects);
    if (step.kind === 'loop') return { outcome: 'redirect-loop', target, tally: this.#router.refused('redirect-loop') };
    if (step.kind === 'too-many') return { outcome: 'too-many-redirects', target, tally: this.#router.refused('too-many-redirects') };
    const { chain } = step;
    const canonical = canonicalize(target);
    if (to.hostKey === parts.hostKey && canonical === canonicalize(url)) {
      // The same URL again, with a cookie or in another spelling.
      const { scheme, pathQuery } = to;
      this.#frontier.requeue(answer.memory, { ...entry, https: scheme === 'https', pathQuery, chain, notBeforeMs: 0 });
      this.#totals.interim++;
      return undefined;
    }
    const exempt =
      chain.fromSeed && entry.kind !== 'asset' && this.#env.context.scope.check(target, to, canonical, entry.depth, now) === 'out-of-scope';
    if (exempt) this.#addToScope(to.hostKey);
    return {
      outcome: 'redirect',
      target,
      tally: this.#router.single(target, entry.kind === 'asset' ? 'asset' : 'redirect', entry.depth, url, now, chain, exempt),
    };
  }

  #addToScope(hostKey: string): void {
    const { id, context, events } = this.#env;
    if (!context.scope.addHost(hostKey)) return;
    this.#unwritten.addScopeHost(hostKey);
    events.notice(id, `a seed redirects to ${hostKey}: it joins the scope`);
    events.scopeAdded(hostKey);
  }
}

/** A body that was broken off is kept as the last word only: it may come whole. */
function mayComeWhole(result: ExchangeResult): boolean {
  return OUTCOME_CODES[result.outcome] === 'transient' || result.truncated === 'disconnect' || result.truncated === 'time';
}
