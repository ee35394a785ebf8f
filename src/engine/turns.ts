/**
 * One turn of a host: the first of its entries that may be fetched now is handed to a page turn, or its robots.txt to a robots turn; entries that
 * must not be fetched are dropped on the way.
 *
 * Every turn ends with a lease, with the host asleep, parked or set apart, or with `endTurn`. Robots rules, blocklist and budget are asked here, at
 * the last moment before the request, whatever was known when the URL was queued.
 */
import { counted } from '../core/counted.ts';
import { queuedTotal } from '../core/host.ts';
import type { QueueEntry } from '../core/records.ts';
import type { EpochMs } from '../core/time.ts';
import type { Frontier, HostMemory } from '../frontier/frontier.ts';
import type { CachedRobots } from '../robots/cache.ts';
import { type SplitUrl, splitUrl } from '../url/index.ts';
import { DROPS_PER_TURN, type Drops } from './drops.ts';
import { partsOf, urlOf } from './entries.ts';
import type { ErrandJob, Errands } from './errands.ts';
import { raiseGap } from './host-gap.ts';
import type { PageTurns } from './page-turns.ts';
import type { RobotsDesk } from './robots-desk.ts';
import type { RobotsQuestion, RobotsTurns } from './robots-turns.ts';
import type { ShardEnv } from './shard-env.ts';
import type { ShardState } from './shard-state.ts';
import type { Targets } from './targets.ts';

export class Turns {
  readonly #env: ShardEnv;
  readonly #errands: Errands;
  readonly #drops: Drops;
  readonly #targets: Targets;
  readonly #robotsTurns: RobotsTurns;
  readonly #pageTurns: PageTurns;
  readonly #frontier: Frontier;
  readonly #robots: RobotsDesk;

  constructor(
    env: ShardEnv,
    state: Pick<ShardState, 'frontier' | 'robots'>,
    errands: Errands,
    drops: Drops,
    targets: Targets,
    robotsTurns: RobotsTurns,
    pageTurns: PageTurns,
  ) {
    this.#env = env;
    this.#errands = errands;
    this.#drops = drops;
    this.#targets = targets;
    this.#robotsTurns = robotsTurns;
    this.#pageTurns = pageTurns;
    this.#frontier = state.frontier;
    this.#robots = state.robots;
  }

  take(memory: HostMemory, now: EpochMs): void {
    const { record } = memory;
    if (record.state !== 'open') {
      this.#drops.dropClosed(memory, record.state, now);
      return;
    }
    if (this.#isSetLonger(memory, now)) return;
    const job = this.#errands.first(memory);
    if (job !== undefined) {
      this.#tryErrand(memory, job, now);
      return;
    }
    for (let drops = 0; drops < DROPS_PER_TURN; drops++) {
      const entry = this.#frontier.peek(memory, now);
      if (entry === undefined) break;
      if (!this.#tryEntry(memory, entry, now)) return;
    }
    this.#frontier.endTurn(memory, now);
  }

  /** A longer delay that was set after the last exchange counts from its end as well; true when it is not over and the turn has ended. */
  #isSetLonger(memory: HostMemory, now: EpochMs): boolean {
    const { record } = memory;
    const { context } = this.#env;
    if (context.hostDelays.current.of(record.key) === undefined || !raiseGap(context, record)) return false;
    this.#frontier.touch(memory);
    if (record.lastEndMs + record.owedMs <= now) return false;
    this.#frontier.endTurn(memory, now);
    return true;
  }

  /** A robots.txt that was redirected to a blocked host stays unknown. */
  #tryErrand(memory: HostMemory, job: ErrandJob, now: EpochMs): void {
    const parts = splitUrl(job.url);
    if (this.#env.context.blocklist.current.matchesUrl(job.url, parts) === undefined) {
      this.#askRobots(memory, { parts, origin: '', hops: 0, job }, now);
      return;
    }
    this.#errands.end(memory, job, { kind: 'failed', code: 'host-closed' });
    this.#frontier.endTurn(memory, now);
  }

  /** True when the entry was dropped and the turn goes on; otherwise the turn has ended or goes its way. */
  #tryEntry(memory: HostMemory, entry: QueueEntry, now: EpochMs): boolean {
    const parts = partsOf(memory, entry);
    const blocklist = this.#env.context.blocklist.current;
    const blocked = blocklist.size === 0 ? undefined : blocklist.matchesUrl(urlOf(parts), parts);
    if (blocked !== undefined) {
      this.#drops.drop(memory, entry, parts, 'blocklisted', blocked, now);
      return true;
    }
    if (this.#isOverBudget(memory, now)) {
      this.#drops.closeHost(memory, 'over-budget', now);
      return false;
    }
    if (this.#env.context.hostRules.of(memory.record.key).robotsIgnored !== undefined) {
      this.#ignoreRobots(memory, entry, parts, now);
      return false;
    }
    const verdict = this.#robots.verdict(parts.origin, now);
    switch (verdict.kind) {
      case 'rules':
        return this.#obey(memory, entry, parts, verdict.robots, now);
      case 'ask':
        this.#askRobots(memory, { parts: splitUrl(verdict.url), origin: parts.origin, hops: verdict.hops, job: undefined }, now);
        return false;
      case 'wait':
        this.#frontier.sleep(memory, Math.max(verdict.untilMs, now + 1));
        return false;
      case 'given-up':
        this.#drops.closeHost(memory, 'robots-given-up', now);
        return false;
    }
  }

  #askRobots(memory: HostMemory, question: RobotsQuestion, now: EpochMs): void {
    this.#targets.find(memory, question.parts.host, now, (address) => this.#robotsTurns.start(memory, address, question));
  }

  /** The operator's stated exception: a Crawl-delay that was read before it does not count either. */
  #ignoreRobots(memory: HostMemory, entry: QueueEntry, parts: SplitUrl, now: EpochMs): void {
    const { record } = memory;
    if (record.crawlDelayMs !== -1) {
      record.crawlDelayMs = -1;
      this.#frontier.touch(memory);
    }
    this.#targets.find(memory, parts.host, now, (address) => this.#pageTurns.start(memory, entry, parts, address, ''));
  }

  /** With the rules of the entry's origin at hand. True when they forbid it and it was dropped. */
  #obey(memory: HostMemory, entry: QueueEntry, parts: SplitUrl, robots: CachedRobots, now: EpochMs): boolean {
    if (this.#isTooSlow(memory, robots)) return false;
    const rules = robots.rules();
    if (rules.isAllowed(parts.pathQuery)) {
      this.#targets.find(memory, parts.host, now, (address) => {
        this.#robots.served(parts.origin);
        this.#pageTurns.start(memory, entry, parts, address, robots.record.bodySha256);
      });
      return false;
    }
    const { line, rule } = rules.explain(parts.pathQuery);
    this.#drops.drop(memory, entry, parts, 'robots-disallowed', `line ${line}: ${rule}`, now);
    return true;
  }

  /** Takes over the origin's Crawl-delay; true when it is so long that the host is set apart. */
  #isTooSlow(memory: HostMemory, robots: CachedRobots): boolean {
    const { record } = memory;
    const { id, context, events } = this.#env;
    const delay = robots.rules().crawlDelayMs ?? -1;
    if (delay !== record.crawlDelayMs) {
      record.crawlDelayMs = delay;
      this.#frontier.touch(memory);
    }
    const max = context.config.politeness.crawlDelayMax;
    if (delay <= max) return false;
    events.notice(
      id,
      `${record.key} asks for a Crawl-delay of ${delay / 1_000} s, over the bound of ${max / 1_000} s: it is set apart with ${counted(queuedTotal(record), 'URL')}`,
    );
    context.metrics.count('portolan_hosts_apart_total');
    record.gapRule = 'parked';
    this.#frontier.setApart(memory);
    return true;
  }

  /** A new cycle begins with its first request (page-turns.ts). */
  #isOverBudget({ record }: HostMemory, now: EpochMs): boolean {
    const { hostRules, config } = this.#env.context;
    const { pageBudget } = hostRules.of(record.key);
    if (pageBudget === 0 || now - record.cycleStartMs >= config.frontier.budgetCycle) return false;
    return record.cyclePages >= pageBudget;
  }
}
