/**
 * What a crawl that was killed again and again owes, judged from the server's record and from the output files; pure.
 *
 * - Nothing is missing: every URL that an unkilled crawl fetches was fetched, and stands in pages.jsonl exactly once.
 * - Little is repeated: a URL is asked for again only when a kill lies between the two requests and the first one ended within the last two commit
 *   intervals before that kill; what is older had been committed.
 * - Politeness survives: each request to a host begins a whole gap after the end of the one before, whether or not a kill lies between; what the
 *   server asked for beyond the configured gap (Retry-After, Crawl-delay, the time it took) counts as known when the kill came a moment later.
 * - Nothing forbidden and nothing unknown is fetched.
 */
import { type Access, AccessLog, CLOCK_SLACK_MS, urlOf } from '../support/access-log.ts';

export interface Kill {
  /** Epoch ms just before the signal was sent, and when the whole group was known to be gone. */
  readonly sentMs: number;
  readonly goneMs: number;
  /** Whether the signal was sent within 50 ms after the line of a commit or a rotation. */
  readonly nearEvent: boolean;
  /** When the process was started. */
  readonly bornMs: number;
  /** Epoch ms at which the lines of this life's commits were read, oldest first, by shard. */
  readonly commitsMs: Readonly<Record<string, readonly number[]>>;
}

export interface KillEvidence {
  readonly accesses: readonly Access[];
  readonly kills: readonly Kill[];
  readonly expected: readonly string[];
  readonly forbidden: readonly string[];
  /** The url of every row of pages.jsonl. */
  readonly rows: readonly string[];
  /** Pause owed to a host (host:port), in ms. */
  readonly gapMs: (host: string) => number;
  /** The configured one, which holds whatever is known; per host and per address. */
  readonly baseGapMs: number;
  /** The pause is at least so many times what the server took for the answer. */
  readonly delayFactor: number;
  /** What this answer asks for beyond the host's pause. */
  readonly askedMs: (access: Access) => number;
  /** A URL that was answered so is rightly asked for again. */
  readonly mayRepeat: (access: Access) => boolean;
  /** Planned time between two commits of a shard. */
  readonly commitIntervalMs: number;
  readonly shards: number;
}

export interface KillJudgement {
  readonly fetches: number;
  readonly kills: number;
  /** Kills within 50 ms after a commit or a rotation. */
  readonly triggered: number;
  /** URLs fetched again, robots.txt apart, all of them rightly; and the most of them after one kill. */
  readonly repeats: number;
  readonly repeatsPerKillMax: number;
  readonly missing: number;
  readonly inexcusable: number;
  readonly gapViolations: number;
  readonly robotsRepeats: number;
  /** Pairs of requests to one host with a kill between them: what the gap rule was really tried on. */
  readonly pausesAcrossKills: number;
  /** Smallest surplus of such a pause over what was owed, in ms. */
  readonly surplusMsMin: number | null;
  /** Each broken promise in words; empty is a pass. */
  readonly broken: readonly string[];
}

/** A request may still be read from a socket's buffer when its sender is gone. */
const BUFFERED_MS = 50;
const COMMITS_AT_RISK = 2;
/** From the last byte of an answer to the record that the crawler makes of it, on a busy machine. */
const KNOWN_MS = 400;
const TOLD_MAX = 5;

export function judgeKills(evidence: KillEvidence): KillJudgement {
  const log = new AccessLog();
  for (const access of evidence.accesses) log.add(access);
  const broken: string[] = [];
  const tell = (promise: string, cases: readonly string[]): void => {
    if (cases.length > 0) broken.push(`${promise}: ${cases.length} (${cases.slice(0, TOLD_MAX).join(', ')})`);
  };
  const forbidden = new Set(evidence.forbidden);
  const missing = log.missing(evidence.expected);
  tell('missing at the server', missing);
  tell(
    'forbidden by robots.txt',
    [...new Set(log.pages().map(urlOf))].filter((url) => forbidden.has(url)),
  );
  tell('asked for without a link', log.extra([...evidence.expected, ...evidence.forbidden]));
  const repeats = judgeRepeats(log, evidence);
  tell('repeated without a kill to excuse it', repeats.inexcusable);
  const pauses = judgePauses(log, evidence);
  tell('pause too short', pauses.short);
  tell('two requests in flight', pauses.overlapping);
  for (const [promise, cases] of judgeRows(evidence)) tell(promise, cases);
  return {
    fetches: evidence.accesses.length,
    kills: evidence.kills.length,
    triggered: evidence.kills.filter((kill) => kill.nearEvent).length,
    repeats: repeats.pages,
    repeatsPerKillMax: Math.max(0, ...repeats.perKill.values()),
    missing: missing.length,
    inexcusable: repeats.inexcusable.length,
    gapViolations: pauses.short.length + pauses.overlapping.length,
    robotsRepeats: repeats.robots,
    pausesAcrossKills: pauses.acrossKills.length,
    surplusMsMin: pauses.acrossKills.length === 0 ? null : Math.round(Math.min(...pauses.acrossKills)),
    broken,
  };
}

/**
 * What ended before this may not be asked for again: two planned intervals, or two real ones of the slowest shard when the machine is busy. An answer
 * that ended just before a commit was told may not have been read when that commit was made.
 */
function safeBeforeMs(kill: Kill, evidence: KillEvidence): number {
  const planned = kill.sentMs - COMMITS_AT_RISK * evidence.commitIntervalMs;
  const real = Array.from({ length: evidence.shards }, (_, shard) => kill.commitsMs[shard]?.at(-COMMITS_AT_RISK) ?? kill.bornMs);
  return Math.min(planned, Math.min(...real) - KNOWN_MS);
}

function judgeRepeats(log: AccessLog, evidence: KillEvidence) {
  const byUrl = new Map<string, Access[]>();
  for (const access of log.entries()) {
    const known = byUrl.get(urlOf(access));
    if (known === undefined) byUrl.set(urlOf(access), [access]);
    else known.push(access);
  }
  const perKill = new Map<Kill, number>();
  const inexcusable: string[] = [];
  let pages = 0;
  let robots = 0;
  for (const [url, accesses] of byUrl) {
    for (let i = 1; i < accesses.length; i++) {
      const [first, again] = [accesses[i - 1], accesses[i]];
      if (first === undefined || again === undefined || evidence.mayRepeat(first)) continue;
      const kill = evidence.kills.find(
        (one) => first.startMs < one.goneMs + BUFFERED_MS && one.goneMs <= again.startMs && first.endMs >= safeBeforeMs(one, evidence),
      );
      if (kill === undefined) inexcusable.push(describeRepeat(url, first, again, evidence.kills));
      else if (again.path === '/robots.txt') robots++;
      else {
        pages++;
        perKill.set(kill, (perKill.get(kill) ?? 0) + 1);
      }
    }
  }
  return { inexcusable, pages, robots, perKill };
}

function describeRepeat(url: string, first: Access, again: Access, kills: readonly Kill[]): string {
  const between = kills.filter((kill) => kill.goneMs > first.startMs && kill.goneMs <= again.startMs);
  const told = between.map((kill) => {
    const commits = Object.entries(kill.commitsMs).map(
      ([shard, times]) => `${shard}: ${times.map((ms) => (ms - first.endMs).toFixed(0)).join(' ')}`,
    );
    return `kill ${(kill.sentMs - first.endMs).toFixed(0)} ms after it, commits ${commits.join(', ')}`;
  });
  return `${url} after ${(again.startMs - first.endMs).toFixed(0)} ms, status ${first.status}, ${told.join('; ') || 'no kill between'}`;
}

/** What is owed from the end of `before` on: the configured gap in any case, the rest when the crawler can have known of it. */
function owedAfter(before: Access, across: Kill | undefined, evidence: KillEvidence): number {
  const known = across === undefined || before.endMs < across.sentMs - KNOWN_MS;
  const crawlDelayKnown = known || before.path !== '/robots.txt';
  const gapMs = crawlDelayKnown ? evidence.gapMs(before.host) : evidence.baseGapMs;
  if (!known || !before.whole) return gapMs;
  return Math.max(gapMs, evidence.delayFactor * (before.endMs - before.startMs), evidence.askedMs(before));
}

function judgePauses(log: AccessLog, evidence: KillEvidence) {
  const short: string[] = [];
  const overlapping: string[] = [];
  const acrossKills: number[] = [];
  for (const host of log.hosts()) {
    for (const { before, after, ms } of log.pauses('host', host)) {
      const across = evidence.kills.find((kill) => before.startMs < kill.goneMs + BUFFERED_MS && kill.goneMs <= after.startMs);
      const owedMs = owedAfter(before, across, evidence);
      if (across !== undefined) acrossKills.push(ms - owedMs);
      if (ms < 0) overlapping.push(`${urlOf(before)} and ${after.path}`);
      else if (ms < owedMs - CLOCK_SLACK_MS) {
        const kill = across === undefined ? '' : ` across a kill ${(across.sentMs - before.endMs).toFixed(0)} ms after it`;
        short.push(`${urlOf(before)} → ${after.path} ${ms.toFixed(1)} of ${owedMs.toFixed(0)} ms${kill}`);
      }
    }
  }
  for (const address of new Set(evidence.accesses.map((access) => access.address))) {
    for (const { before, after, ms } of log.pauses('address', address)) {
      if (ms < evidence.baseGapMs - CLOCK_SLACK_MS)
        short.push(`${address}: ${urlOf(before)} → ${urlOf(after)} ${ms.toFixed(1)} of ${evidence.baseGapMs} ms`);
    }
  }
  return { short, overlapping, acrossKills };
}

function judgeRows(evidence: KillEvidence): readonly (readonly [string, readonly string[]])[] {
  const counts = new Map<string, number>();
  for (const url of evidence.rows) counts.set(url, (counts.get(url) ?? 0) + 1);
  const known = new Set([...evidence.expected, ...evidence.forbidden]);
  return [
    ['no row in pages.jsonl', evidence.expected.filter((url) => !counts.has(url))],
    ['more than one row in pages.jsonl', [...counts].filter(([, count]) => count > 1).map(([url]) => url)],
    ['a row for what is not there', [...counts.keys()].filter((url) => !known.has(url))],
  ];
}
