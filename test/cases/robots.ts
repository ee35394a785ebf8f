/**
 * robots: paths and URLs for one or more agents, verdicts on one answer of /robots.txt each, or, with seeds and a server, a real crawl in both
 * orders of its seeds.
 */
import type { Random } from '../../src/ports/random.ts';
import { pathQueryOf } from '../../src/robots/normal-form.ts';
import { parseRobots } from '../../src/robots/parse.ts';
import { nextRobotsRecord, ROBOTS_DEFAULTS, type RobotsAnswer, rulesOfRecord } from '../../src/robots/policy.ts';
import { bytesOf, type Case, type Fields, type Findings, fieldsListOf, listOf, numberOf, textOf, textsOf } from './format.ts';
import { crawlRobots } from './robots-crawl.ts';

const WHO = ['', 'other_', 'third_', 'fourth_'];
const NOW = 1_800_000_000_000;
const RANDOM: Random = { next: () => 0.5, int: () => 0, uuid: () => '' };

export async function judgeRobots(one: Case, findings: Findings): Promise<void> {
  if (one.input['server'] !== undefined || one.input['seeds'] !== undefined) return crawlRobots(one, findings);
  if (one.input['answers'] !== undefined) return judgeAnswers(one, findings);
  judgeAgents(one, findings);
}

function judgeAgents({ input, expected }: Case, findings: Findings): void {
  const agents = WHO.map((who) => `${who}agent`);
  const words = WHO.flatMap((who) => ['allowed', 'disallowed', 'crawl_delay', 'crawl_delay_s', 'crawl_delay_ms'].map((word) => who + word));
  findings.onlyKnown('input', input, ['kind', 'robots', 'robots_b64', 'content_type', ...agents]);
  findings.onlyKnown('expected', expected, [...words, 'sitemaps']);
  const body = bytesOf(input, 'robots') ?? Buffer.alloc(0);
  if (bytesOf(input, 'robots') === undefined) findings.notUnderstood('a case without robots.txt');
  for (const who of WHO) {
    const agent = textOf(input, `${who}agent`);
    if (agent === '') continue;
    const rules = parseRobots(body, agent);
    for (const path of textsOf(expected, `${who}allowed`))
      if (!rules.isAllowed(pathQueryOf(path))) findings.fail(`${path} is closed to ${agent}`);
    for (const path of textsOf(expected, `${who}disallowed`))
      if (rules.isAllowed(pathQueryOf(path))) findings.fail(`${path} is open to ${agent}`);
    const delay = numberOf(expected, `${who}crawl_delay_ms`) ?? seconds(expected[`${who}crawl_delay_s`] ?? expected[`${who}crawl_delay`]);
    if (delay !== undefined) findings.equal(`Crawl-delay of ${agent} in ms`, rules.crawlDelayMs ?? null, delay);
  }
  if (expected['sitemaps'] !== undefined)
    findings.equal('sitemaps', [...parseRobots(body, textOf(input, 'agent')).sitemaps].sort(), [...textsOf(expected, 'sitemaps')].sort());
}

function seconds(value: unknown): number | null | undefined {
  if (value === null) return null;
  return typeof value === 'number' ? value * 1_000 : undefined;
}

function judgeAnswers({ input, expected }: Case, findings: Findings): void {
  findings.onlyKnown('input', input, ['kind', 'agent', 'answers']);
  findings.onlyKnown('expected', expected, ['allowed', 'disallowed']);
  const open = new Map<string, boolean>();
  for (const answer of fieldsListOf(input, 'answers')) {
    findings.onlyKnown('answer', answer, ['id', 'status', 'body', 'body_b64', 'error']);
    const record = nextRobotsRecord('http://a.test', undefined, answerOf(answer), NOW, RANDOM, ROBOTS_DEFAULTS);
    open.set(textOf(answer, 'id'), rulesOfRecord(record, textOf(input, 'agent')).isAllowed('/some/page'));
  }
  for (const [word, verdict] of [
    ['allowed', true],
    ['disallowed', false],
  ] as const)
    for (const id of listOf(expected, word).map(String))
      if (open.get(id) !== verdict) findings.fail(`with answer ${id} the site is ${open.get(id) ? 'open' : 'closed'}`);
}

function answerOf(answer: Fields): RobotsAnswer {
  const status = numberOf(answer, 'status');
  if (status === undefined) return { kind: 'failed', code: textOf(answer, 'error') || 'no answer' };
  return { kind: 'response', status, body: bytesOf(answer, 'body') ?? Buffer.alloc(0) };
}
