/** crawl and schedule: the real program on a scripted web, judged by what its listeners saw and by what it wrote. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readWarcs } from '../integration/warc-files.ts';
import { type Case, type Fields, type Findings, fieldsListOf, fieldsOf, numberOf, textsOf } from './format.ts';
import { judgeRecords, RECORD_WORDS } from './records.ts';
import { judgeRetryAfter } from './retry-after.ts';
import { openSession, type Run, type Session } from './session.ts';
import { judgeTraffic, TRAFFIC_WORDS } from './traffic.ts';
import { type Answer, scripted } from './web.ts';
import { madeBeforehand } from './web-bodies.ts';

const INPUT = ['kind', 'seeds', 'server', 'config', 'dns', 'server_latency_ms', 'agent'];
const WORDS = [...TRAFFIC_WORDS, ...RECORD_WORDS, 'output_must_not_contain', 'max_rss_growth_mb', 'max_seconds', 'delay_s'];

export async function judgeCrawl(one: Case, findings: Findings): Promise<void> {
  const { input, expected } = one;
  findings.onlyKnown('input', input, INPUT);
  findings.onlyKnown('expected', expected, WORDS);
  judgeRetryAfter(fieldsOf(expected, 'delay_s'), findings);
  const seeds = textsOf(input, 'seeds');
  const session = await openSession({ answer: await answerOf(input, findings), seeds, input, findings });
  try {
    const run = await session.finish(findings);
    await session.audit(findings);
    judgeTraffic(session.web, fieldsOf(input, 'dns'), expected, findings);
    judgeRecords({ rows: session.rows(), report: session.report(), web: session.web, seeds }, expected, findings);
    judgeCost(run, expected, findings);
    await judgeSecrets(session, run, textsOf(expected, 'output_must_not_contain'), findings);
  } finally {
    await session.close();
  }
}

/** A case without a script has a page of its own at every path and no robots.txt. */
async function answerOf(input: Fields, findings: Findings): Promise<Answer> {
  if (input['server'] !== undefined) return scripted(await madeBeforehand(fieldsListOf(input, 'server'), findings), findings);
  return ({ path, url }) =>
    path === '/robots.txt'
      ? undefined
      : { status: 200, headers: [['Content-Type', 'text/html']], body: `<title>${url}</title><p>this is ${url}</p>` };
}

function judgeCost(run: Run, expected: Fields, findings: Findings): void {
  const megabytes = numberOf(expected, 'max_rss_growth_mb');
  const grown = run.rssGrowth() / 1_048_576;
  if (megabytes !== undefined && grown > megabytes) findings.fail(`memory grew by ${Math.round(grown)} MB, at most ${megabytes}`);
  const seconds = numberOf(expected, 'max_seconds');
  const took = (run.endedMs() - run.startedMs) / 1_000;
  if (seconds !== undefined && took > seconds) findings.fail(`it took ${Math.round(took)} s, at most ${seconds}`);
}

/** Everything the crawl wrote, but for the bodies in the WARC, which stand as the server sent them. */
async function judgeSecrets(session: Session, run: Run, secrets: readonly string[], findings: Findings): Promise<void> {
  if (secrets.length === 0) return;
  const places: [string, Buffer][] = [
    ['events', Buffer.from(JSON.stringify(run.events))],
    ['standard error', Buffer.from(run.child.complaints())],
    ...filesBelow(session.out).filter(([name]) => !name.startsWith('warc/')),
  ];
  for (const record of await readWarcs(session.out)) {
    const head = record.type === 'response' ? record.block.subarray(0, record.block.indexOf('\r\n\r\n')) : record.block;
    // The configuration is written down in warcinfo; seeds are not part of it.
    places.push([`${record.type} of ${record.url}`, Buffer.concat([Buffer.from([...record.fields].join('\n')), head])]);
  }
  for (const secret of secrets) for (const [name, bytes] of places) if (bytes.includes(secret)) findings.fail(`${name} has ${secret}`);
}

function filesBelow(dir: string): [string, Buffer][] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(dir, name)).isFile())
    .map((name) => [name, readFileSync(join(dir, name))]);
}
