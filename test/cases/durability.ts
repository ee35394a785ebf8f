/**
 * durability: the steps of a case in order, on one data directory and one generated web: starts, kills at a moment the case names, damage to files,
 * a full disk. Judged when all is done: every page once, none lost, nothing asked of the servers more often than the case allows.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { WarcCheck } from '../durability/warc-check.ts';
import { damage } from './damage.ts';
import { type Case, type Fields, type Findings, fieldsListOf, fieldsOf, isFields, numberOf, show, textOf } from './format.ts';
import { QuotaDir } from './quota.ts';
import { openSession, type Run, type Session } from './session.ts';
import { SITE_FIELDS, type Site, siteOf } from './site.ts';

const STEP_MS_MAX = 120_000;
const POLL_MS = 20;
/** The crawl pauses when less than this is free of a quota. */
const QUOTA_RESERVE = '16MiB';
const WORDS = [
  ...['every_page_output_exactly_once', 'every_page_output_at_least_once', 'max_server_fetches_per_page', 'lost_pages', 'starts', 'state'],
  ...[
    'third_start_server_requests',
    'second_start_server_requests',
    'duplicate_output_records',
    'log_mentions',
    'process_alive_or_clean_exit',
  ],
  ...[
    'no_torn_records',
    'reported_queue_length_matches',
    'every_warc_file_valid_to_last_byte',
    'records_readable',
    'no_append_after_torn_member',
  ],
];
const WARC_WORDS = ['no_torn_records', 'every_warc_file_valid_to_last_byte', 'records_readable', 'no_append_after_torn_member'];

/** What happened on the way, for the judge. */
interface Course {
  readonly session: Session;
  readonly site: Site;
  /** Length of the listeners' log at each start. */
  readonly startedAt: number[];
  /** URLs with a line in the output at the moment of the damage; where in the log it happened. */
  damaged: { readonly urls: ReadonlySet<string>; readonly at: number; readonly run: number } | undefined;
  quota: QuotaDir | undefined;
}

export async function judgeDurability(one: Case, findings: Findings): Promise<void> {
  const { input, expected } = one;
  findings.onlyKnown('input', input, ['kind', 'site', 'steps', 'config']);
  findings.onlyKnown('input.site', fieldsOf(input, 'site'), SITE_FIELDS);
  findings.onlyKnown('expected', expected, WORDS);
  const steps = fieldsListOf(input, 'steps');
  const variants = steps.flatMap((step) => fieldsListOf(step, 'repeat_with'));
  const plain = steps.filter((step) => step['repeat_with'] === undefined);
  await runSteps(one, plain, findings);
  for (const variant of variants) {
    const before = findings.reasons.length;
    await runSteps(
      one,
      plain.map((step) => (isFields(step['damage']) ? { damage: { ...step['damage'], ...variant } } : step)),
      findings,
    );
    findings.reasons.splice(
      before,
      Number.POSITIVE_INFINITY,
      ...findings.reasons.slice(before).map((reason) => `with ${show(variant)}: ${reason}`),
    );
  }
}

async function runSteps({ input, expected }: Case, steps: readonly Fields[], findings: Findings): Promise<void> {
  const site = siteOf(input);
  const megabytes = steps.map((step) => numberOf(step, 'data_dir_quota_mb')).find((one) => one !== undefined);
  const quota = megabytes === undefined ? undefined : QuotaDir.create(megabytes);
  if (megabytes !== undefined && quota === undefined) return findings.fail('a quota needs the right to mount a tmpfs');
  const session = await openSession({
    answer: site.answer,
    seeds: site.seeds,
    input: { ...input, seeds: site.seeds, server_latency_ms: site.latencyMs },
    findings,
    ...(quota === undefined ? {} : { out: `${quota.path}/out`, config: { output: { text: false, reserve: QUOTA_RESERVE } } }),
  });
  const course: Course = { session, site, startedAt: [], damaged: undefined, quota };
  try {
    for (const step of steps) await play(course, step, expected, findings);
    await judgeCourse(course, expected, findings);
  } finally {
    await session.close();
    quota?.remove();
  }
}

async function play(course: Course, step: Fields, expected: Fields, findings: Findings): Promise<void> {
  const { session } = course;
  const [word = '', value] = Object.entries(step)[0] ?? [];
  findings.onlyKnown('step', step, [word, 'data_dir_quota_mb']);
  switch (word) {
    case 'start':
      return start(course, expected, findings);
    case 'resume':
      if (lastRun(course)?.end() !== undefined) await start(course, expected, findings);
      return;
    case 'kill':
      return kill(course, textOf(step, 'kill') as NodeJS.Signals, findings);
    case 'until_server_holds_open_requests':
      session.web.hold(true);
      return until(`${value} requests are open`, () => session.web.openRequests() >= Number(value), course, findings);
    case 'until_output_records':
      return until(`${value} records`, () => session.rows().length >= Number(value), course, findings);
    case 'until_queue_length':
      return untilQueue(course, Number(value), findings);
    case 'until':
      if (value === 'idle') return void (await session.finish(findings, lastRun(course)));
      if (value === 'quota reached')
        return until('the crawl pauses', () => pausedForDisk(lastRun(course)) || lastRun(course)?.end() !== undefined, course, findings);
      return findings.notUnderstood(`until ${show(value)}`);
    case 'wait_s':
      await sleep(Number(value) * 1_000);
      return judgeFullDisk(course, expected, findings);
    case 'raise_quota_mb':
      if (course.quota?.raise(Number(value)) !== true) findings.fail('the quota cannot be raised');
      return;
    case 'damage':
      course.damaged = { urls: new Set(session.rows().map((row) => row.url)), at: session.web.log.length, run: session.runs.length };
      return damage(session.out, fieldsOf(step, 'damage'), findings);
    default:
      findings.notUnderstood(`step ${show(step)}`);
  }
}

function lastRun({ session }: Course): Run | undefined {
  return session.runs.at(-1);
}

async function start(course: Course, expected: Fields, findings: Findings): Promise<void> {
  const { session, startedAt } = course;
  if (startedAt.length > 0 && expected['reported_queue_length_matches'] !== undefined) {
    const [reported, counted] = [await session.status(), await session.status('--recount')];
    findings.equal('queue length that is reported before a start', reported['queued'], counted['queued']);
    if (counted['unaccounted'] !== 0) findings.fail(`before a start the accounts do not add up: ${show(counted['findings'] ?? counted)}`);
  }
  startedAt.push(session.web.log.length);
  session.start();
}

async function kill(course: Course, signal: NodeJS.Signals, findings: Findings): Promise<void> {
  const run = lastRun(course);
  if (run === undefined || run.end() !== undefined)
    return findings.fail(`there was nothing left to kill: ${run?.child.complaints() ?? ''}`);
  if (signal === 'SIGKILL') run.child.killGroup();
  else run.child.signal(signal);
  if (signal === 'SIGKILL') await run.ended;
  course.session.web.hold(false);
  await run.ended;
}

async function until(what: string, isTrue: () => boolean, course: Course, findings: Findings): Promise<void> {
  const begun = performance.now();
  while (!isTrue()) {
    const end = lastRun(course)?.end();
    if (end !== undefined)
      return findings.fail(
        `the crawl ended (${end.signal ?? end.code}) before ${what}: ${lastRun(course)?.child.complaints().slice(0, 300)}`,
      );
    if (performance.now() - begun > STEP_MS_MAX) return findings.fail(`not reached: ${what}`);
    await sleep(POLL_MS);
  }
}

/** Up to the length when the queue is shorter, down to it when it is longer. */
async function untilQueue(course: Course, length: number, findings: Findings): Promise<void> {
  const queued = (): number | undefined => {
    const progress = lastRun(course)?.events.findLast((event) => event['event'] === 'progress' && typeof event['queued'] === 'number');
    return progress === undefined ? undefined : numberOf(progress, 'queued');
  };
  await until('a first report', () => queued() !== undefined, course, findings);
  const grows = (queued() ?? 0) < length;
  await until(`a queue of ${length}`, () => (grows ? (queued() ?? 0) >= length : (queued() ?? 0) <= length), course, findings);
}

function pausedForDisk(run: Run | undefined): boolean {
  return run?.notices.some((text) => /free|space/.test(text) && /paus/.test(text)) ?? false;
}

function judgeFullDisk(course: Course, expected: Fields, findings: Findings): void {
  const run = lastRun(course);
  if (course.quota === undefined || run === undefined) return;
  const end = run.end();
  if (expected['process_alive_or_clean_exit'] === true && end !== undefined && end.code !== 4 && end.code !== 0)
    findings.fail(`with a full disk it ended with ${end.signal ?? end.code}: ${run.child.complaints().slice(0, 300)}`);
  if (expected['state'] === undefined) return;
  if (expected['state'] !== 'paused, reason disk') findings.notUnderstood(`state ${show(expected['state'])}`);
  else if (!pausedForDisk(run)) findings.fail('it does not say that it has paused for want of space');
}

async function judgeCourse(course: Course, expected: Fields, findings: Findings): Promise<void> {
  const { session, site } = course;
  const rows = session.rows();
  const lines = new Map<string, number>();
  for (const row of rows) if (row.outcome === 'ok' || !site.pages.has(row.url)) lines.set(row.url, (lines.get(row.url) ?? 0) + 1);
  const lost = [...site.pages].filter((url) => !lines.has(url));
  const twice = [...lines].filter(([, n]) => n > 1).map(([url]) => url);
  const foreign = [...lines.keys()].filter((url) => !site.pages.has(url));
  const some = (urls: readonly string[]): string => `${urls.length} (${urls.slice(0, 3).join(', ')})`;
  if (lost.length > (numberOf(expected, 'lost_pages') ?? 0)) findings.fail(`pages lost: ${some(lost)}`);
  if (foreign.length > 0) findings.fail(`lines of what is no page: ${some(foreign)}`);
  if (expected['every_page_output_exactly_once'] === true && twice.length > 0) findings.fail(`pages with two lines: ${some(twice)}`);
  // A damaged record is cut off before it is written again, so that no page has two lines here either.
  if (expected['duplicate_output_records'] !== undefined && twice.length > 0) findings.fail(`pages with two lines: ${some(twice)}`);
  if (rows.some((row) => 'torn' in row)) findings.fail('pages.jsonl has a torn line');
  judgeFetches(course, expected, findings);
  judgeStarts(course, expected, findings);
  if (WARC_WORDS.some((word) => word in expected))
    for (const finding of await new WarcCheck(session.out).atEnd()) findings.fail(`WARC: ${finding}`);
  await session.audit(findings);
}

function judgeFetches({ session, site, startedAt }: Course, expected: Fields, findings: Findings): void {
  const most = numberOf(expected, 'max_server_fetches_per_page');
  const fetches = new Map<string, number>();
  for (const { url } of session.web.log) if (site.pages.has(url)) fetches.set(url, (fetches.get(url) ?? 0) + 1);
  const [url, times] = [...fetches].sort((a, b) => b[1] - a[1])[0] ?? ['', 0];
  if (most !== undefined && times > most) findings.fail(`${url} was fetched ${times} times, at most ${most}`);
  for (const [word, start] of [
    ['second_start_server_requests', 1],
    ['third_start_server_requests', 2],
  ] as const) {
    if (expected[word] === undefined) continue;
    const bounds = fieldsOf(expected, word);
    const asked = session.web.log.slice(startedAt[start] ?? 0, startedAt[start + 1]);
    const robots = asked.filter((request) => request.path === '/robots.txt').length;
    findings.onlyKnown(word, bounds, ['pages', 'max_pages', 'robots', 'max_robots']);
    if (asked.length - robots > (numberOf(bounds, 'pages') ?? numberOf(bounds, 'max_pages') ?? Number.POSITIVE_INFINITY))
      findings.fail(`start ${start + 1} fetched ${asked.length - robots} pages`);
    if (robots > (numberOf(bounds, 'robots') ?? numberOf(bounds, 'max_robots') ?? Number.POSITIVE_INFINITY))
      findings.fail(`start ${start + 1} fetched ${robots} robots.txt`);
  }
}

/** After damage: the run after it starts, and says so when records were dropped (their pages are fetched again although they had a line). */
function judgeStarts({ session, damaged }: Course, expected: Fields, findings: Findings): void {
  if (expected['starts'] === true)
    for (const run of session.runs)
      if (run.end()?.signal === null && ![0, 130].includes(run.end()?.code ?? 0))
        findings.fail(`a start failed: ${run.child.complaints().slice(0, 300)}`);
  if (expected['log_mentions'] === undefined || damaged === undefined) return;
  const dropped = session.web.log.slice(damaged.at).filter((request) => damaged.urls.has(request.url)).length;
  const run = session.runs[damaged.run];
  if (dropped > 0 && run !== undefined && run.notices.length === 0 && run.child.complaints() === '')
    findings.fail(`${dropped} records were dropped and nothing is said of it`);
}
