/** An explanation as text for people (one fact a line, the answer first) and as JSON for programs (the same facts, times in ISO 8601). */
import type { Explanation } from './explain.ts';
import type { HostFacts, RobotsFacts, UrlFacts } from './explain-state.ts';
import type { WordList, Words } from './explain-words.ts';
import { counted, isPace, printable } from './numbers.ts';

const NAME_WIDTH = 11;

export function explainText(explanation: Explanation, words: WordList): string {
  const { named, scope, facts, robots, nowMs } = explanation;
  const lines: (readonly [name: string, text: string])[] = [['answer', answerText(explanation, words)]];
  if (named === undefined) lines.push(['because', scope?.rule ?? '']);
  else {
    lines.push(['url', named.url]);
    lines.push(['canonical', `${named.canonical === named.url ? 'the same' : named.canonical} (key ${named.key})`]);
    lines.push(['host', hostLine(explanation)]);
    if (scope !== undefined) lines.push(['scope', `${scope.allowed ? 'in' : `not admitted: ${scope.reason}`}: ${scope.rule}`]);
    if (robots !== undefined) lines.push(['robots.txt', robotsText(robots, nowMs)]);
  }
  if (facts !== undefined) lines.push(...factLines(facts, words, nowMs));
  for (const request of explanation.requests ?? []) lines.push(['request', requestText(request, nowMs)]);
  if (explanation.requests?.length === 0) lines.push(['request', 'none was made']);
  for (const note of explanation.notes) lines.push(['note', note]);
  return `${lines.map(([name, text]) => `${name.padEnd(NAME_WIDTH)} ${printable(text)}`).join('\n')}\n`;
}

function answerText({ verdict: { state, name } }: Explanation, words: WordList): string {
  if (name === '') return state;
  const meaning = wordsOf(name, state, words);
  if (meaning === undefined) return `${state}: ${name}`;
  const key = meaning.key === '' ? '' : ` [${meaning.key}]`;
  return `${state}: ${name}. ${meaning.when}${key}${meaning.advice === '' ? '' : ` What you can do: ${meaning.advice}`}`;
}

function wordsOf(name: string, state: string, words: WordList): Words | undefined {
  if (state === 'rejected') return words.rejected.get(name);
  return state === 'fetched' ? words.outcomes.get(name) : words.dropped.get(name);
}

function hostLine({ named, shard }: Explanation): string {
  const domain = named!.domain === named!.parts.host ? '' : `, registrable domain ${named!.domain}`;
  return `${named!.parts.hostKey}${domain}${shard === undefined ? '' : `, shard ${shard.number} of ${shard.of}`}`;
}

function robotsText(robots: RobotsFacts, nowMs: number): string {
  const verdict = robots.line === 0 ? (robots.rule === '' ? '' : `: ${robots.rule}`) : ` by line ${robots.line}: ${robots.text}`;
  const age =
    robots.source === 'live' ? `asked now (${robots.status === 0 ? 'no answer' : robots.status})` : `of ${when(robots.fetchedAtMs, nowMs)}`;
  const until = robots.source === 'live' ? '' : `, asked again ${when(robots.expiresAtMs, nowMs)}`;
  const delay = robots.crawlDelayMs === undefined ? '' : `, Crawl-delay ${duration(robots.crawlDelayMs)}`;
  return `${robots.allowed ? 'allowed' : 'not allowed'}${verdict} (${STATES[robots.state] ?? robots.state}, ${age}${until}${delay})`;
}

const STATES: Readonly<Record<string, string>> = {
  rules: 'rules in force',
  'allow-all': 'there is none',
  'deny-all': 'failing, no copy',
  'last-good': 'failing, the last good copy is in force',
};

function factLines(facts: UrlFacts, words: WordList, nowMs: number): (readonly [string, string])[] {
  const lines: (readonly [string, string])[] = [['seen', seenText(facts)]];
  const { page, fate, queue, host } = facts;
  if (page !== undefined) {
    const status = page.status === 0 ? 'no response' : `status ${page.status}`;
    lines.push([
      'outcome',
      `${page.outcome}, ${status}, ${when(page.fetchedAtMs, nowMs)}, attempt ${page.attempts}, ${counted(page.bodyBytes, 'byte')} in ${duration(page.durationMs)}`,
    ]);
    if (page.duplicateOf !== '') lines.push(['duplicate', `${page.duplicateKind} copy of ${page.duplicateOf}`]);
    if (page.segment !== '') lines.push(['stored', `${page.segment} at ${page.offset}, ${counted(page.length, 'byte')}`]);
  }
  if (fate !== undefined) lines.push(['dropped', `${fate.reason}, ${when(fate.atMs, nowMs)}`]);
  if (queue !== undefined) {
    const level = queue.level === 5 ? 'among those that wait for another attempt' : `on level ${queue.level} (0 is best)`;
    lines.push([
      'queue',
      `place ${queue.ahead + 1} ${level}, ${counted(queue.hostQueued, 'waits', 'wait')} for this host, ${counted(queue.attempts, 'attempt')} so far`,
    ]);
    lines.push(['its turn', `${when(queue.earliestMs, nowMs)} at the earliest, if nothing else comes before`]);
    if (queue.chain !== undefined) lines.push(['redirects', queue.chain.urls.join(' → ')]);
  }
  if (host !== undefined) {
    lines.push(['next fetch', nextFetch(host, words, nowMs)]);
    lines.push([
      'host state',
      `${host.state}: ${host.admitted} admitted = ${host.queued} queued + ${host.fetched} fetched + ${host.dropped} dropped`,
    ]);
  }
  if (facts.via.length > 0) {
    lines.push([
      'via',
      facts.via.map((step) => `${step.url}${step.outcome === '' || step.outcome === 'ok' ? '' : ` (${step.outcome})`}`).join(' ← '),
    ]);
  }
  if (facts.depth !== undefined)
    lines.push(['depth', facts.depth < 0 ? `an asset, ${-facts.depth} from its page` : `${counted(facts.depth, 'link')} from a seed`]);
  return lines;
}

function seenText(facts: UrlFacts): string {
  switch (facts.state) {
    case 'not known':
      return `no: it was never admitted (as of commit ${facts.commitSeq} of its shard)`;
    case 'in transit':
      return 'found by another shard, on its way to its own';
    default:
      return `yes, ${facts.state} (as of commit ${facts.commitSeq} of its shard)`;
  }
}

function nextFetch(host: HostFacts, words: WordList, nowMs: number): string {
  const rule = words.gapRules.get(host.gapRule);
  const why = `${host.gapRule}${rule === undefined ? '' : `: ${rule.when}${rule.key === '' ? '' : ` [${rule.key}]`}`}`;
  if (host.state !== 'open') return `never: the host is ${host.state}`;
  const gap = !isPace(host.gapRule) ? '' : host.gapMs > 0 ? `gap ${duration(host.gapMs)}, ` : 'no gap, ';
  if (host.queued === 0) return `nothing waits for this host (${gap}rule ${why})`;
  const at = host.nextFetchMs <= nowMs ? 'now, with the next turn of the host' : when(host.nextFetchMs, nowMs);
  return `${at} (${gap}rule ${why})`;
}

function requestText(request: NonNullable<Explanation['requests']>[number], nowMs: number): string {
  const end =
    request.outcome === undefined
      ? 'no end recorded'
      : `${request.outcome}${request.status === 0 ? '' : ` ${request.status}`} in ${duration(request.durationMs ?? 0)}`;
  return `${when(request.atMs, nowMs)} to ${request.address}: ${end} (${request.gapMs > 0 ? `gap owed before it ${duration(request.gapMs)}` : 'no gap owed before it'}, rule ${request.gapRule})`;
}

/** ISO 8601, and how far from now. */
export function when(ms: number, nowMs: number): string {
  if (ms <= 0) return 'at once';
  const distance = duration(Math.abs(ms - nowMs));
  return `${new Date(ms).toISOString()} (${ms <= nowMs ? `${distance} ago` : `in ${distance}`})`;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 7_200_000) return `${(ms / 60_000).toFixed(1)} min`;
  return ms < 172_800_000 ? `${(ms / 3_600_000).toFixed(1)} h` : `${(ms / 86_400_000).toFixed(1)} d`;
}

export function explainJson(explanation: Explanation, words: WordList): Record<string, unknown> {
  const { asked, named, shard, verdict, scope, facts, robots, requests, notes } = explanation;
  const meaning = wordsOf(verdict.name, verdict.state, words);
  return {
    url: named?.url ?? asked,
    state: verdict.state,
    reason: verdict.name === '' ? undefined : verdict.name,
    meaning: meaning?.when,
    key: named?.key,
    canonical: named?.canonical,
    host: named?.parts.hostKey,
    domain: named?.domain,
    shard: shard?.number,
    scope: scope && { allowed: scope.allowed, reason: scope.reason, rule: scope.rule },
    robots: robots && robotsJson(robots),
    known: facts && { state: facts.state, depth: facts.depth, commitSeq: facts.commitSeq },
    outcome: facts?.page && pageJson(facts.page),
    dropped: facts?.fate && { reason: facts.fate.reason, at: iso(facts.fate.atMs) },
    queue: facts?.queue && {
      ...{ level: facts.queue.level, place: facts.queue.ahead + 1, hostQueued: facts.queue.hostQueued, attempts: facts.queue.attempts },
      ...{ notBefore: iso(facts.queue.notBeforeMs), earliest: iso(facts.queue.earliestMs), kind: facts.queue.kind },
      ...{ foundAt: iso(facts.queue.foundAtS * 1_000), redirects: facts.queue.chain?.urls },
    },
    nextFetch: facts?.host && hostJson(facts.host),
    via: facts?.via,
    requests: requests?.map(({ atMs, ...request }) => ({ at: iso(atMs), ...request })),
    notes,
  };
}

function pageJson(page: NonNullable<UrlFacts['page']>): Record<string, unknown> {
  return {
    ...{ outcome: page.outcome, status: page.status, fetchedAt: iso(page.fetchedAtMs), attempts: page.attempts, bytesBody: page.bodyBytes },
    ...{ durationMs: page.durationMs, duplicateOf: page.duplicateOf || undefined, duplicateKind: page.duplicateKind || undefined },
    warc: page.segment === '' ? undefined : { file: page.segment, offset: page.offset, length: page.length },
  };
}

function robotsJson(robots: RobotsFacts): Record<string, unknown> {
  const { origin, source, state, status, allowed, line, text, rule, crawlDelayMs } = robots;
  const times = { fetchedAt: iso(robots.fetchedAtMs), expiresAt: iso(robots.expiresAtMs), failingSince: iso(robots.failingSinceMs) };
  return { origin, source, state, status, allowed, line, text, rule, crawlDelayMs, ...times };
}

export function hostJson(host: HostFacts): Record<string, unknown> {
  const { nextFetchMs, lastEndMs, waitUntilMs, ...facts } = host;
  return { ...facts, at: iso(nextFetchMs), lastEnd: iso(lastEndMs), waitUntil: iso(waitUntilMs) };
}

export function iso(ms: number): string | undefined {
  return ms <= 0 ? undefined : new Date(ms).toISOString();
}
