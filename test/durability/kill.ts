/**
 * Kills a crawl with SIGKILL to its whole process group, again and again, and starts the same command again, until it has ended by itself.
 * The server is a process of its own and remembers everything; test/durability/judge.ts says what the crawl owes. After every kill
 * `portolan status DIR --recount` must find nothing unaccounted for, and at the end `portolan verify DIR` nothing that was not allowed.
 *
 *   node test/durability/kill.ts [--kills 1000] [--seed 1] [--shape TEXT] [--jobs 2] [--keep] [-- flag…]
 *
 * About half the kills come within 50 ms after a line with "event":"commit" or "rotate" of the crawler's --json output, the others at any moment
 * from the start of the process on. A crawl that has ended is started once more and must ask for nothing. Flags after -- go to every crawl command.
 * Run as a program it goes through test/durability/shapes.ts again and again with new seeds until there were so many kills; it prints a line per
 * crawl and one JSON object at the end, and exits 1 when a promise is broken.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { AccessLog } from '../support/access-log.ts';
import { capture, type ProcessEnd, portolan, type RunningProcess, start } from '../support/process.ts';
import { type Seeded, seeded } from '../support/seeded.ts';
import { verified } from '../support/verified.ts';
import { judgeKills, type Kill, type KillJudgement } from './judge.ts';
import { type KillWeb, type KillWebOptions, killWeb } from './kill-web.ts';
import { SHAPES, type Shape } from './shapes.ts';
import { pageRows, WarcCheck } from './warc-check.ts';

export interface KillCrawlOptions {
  readonly web: KillWebOptions;
  readonly kills: number;
  readonly gapMs: number;
  readonly delayFactor?: number;
  /** Written to a file for --config. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Whether the WARC files are read after each kill; not for a program that writes none. */
  readonly warc?: boolean;
  /** Working directory of this crawl: out, log, seeds. */
  readonly dir: string;
  /** Program under test; the product when undefined. It is called with `crawl …` and `status …`. */
  readonly program?: (...args: readonly string[]) => { readonly command: string; readonly args: readonly string[] };
  readonly extraFlags?: readonly string[];
  /** Planned time between two commits of a shard; 1,000 ms unless the program differs. */
  readonly commitIntervalMs?: number;
  /** A kill that follows an event follows at least so many; default 1. */
  readonly eventsMin?: number;
  /** Shards of the crawl; default as the product has it. */
  readonly shards?: number;
  /** Awaited before anything else looks at what the crawl left. */
  readonly onKill?: (kill: Kill, number: number) => void | Promise<void>;
  /** Whether `portolan verify` looks at the end; by default only when the program is the product itself. */
  readonly verify?: boolean;
}

export interface KillCrawlResult extends KillJudgement {
  readonly lives: number;
  readonly statusChecks: number;
  readonly recountFailures: number;
  readonly warcBytesRead: number;
  readonly seconds: number;
}

const COMMIT_INTERVAL_MS = 1_000;
/** Longest wait between an event and the kill that it sets off. */
const AFTER_EVENT_MS = 50;
const TIMER_SLACK_MS = 5;
/** A kill at random comes within this time after the start of the process. */
const RANDOM_LIFE_MS = 2_500;
const EVENT_COMMITS_MAX = 3;
const COMPLAINTS_MAX = 3;
/** A crawler that ends by itself with an error is started again as a user would, this often. */
const FAILURES_MAX = 2;
/** A life without an event ends here; then the crawler makes no progress, or has no more to do. */
const LIFE_MS_MAX = 30_000;
/** The last life runs to its end. */
const LAST_LIFE_MS_MAX = 300_000;
const EVENTS = new Set(['commit', 'rotate']);

/** Runs one crawl to its end with at most `kills` kills in between; fewer when it ends sooner. */
export async function killCrawl(options: KillCrawlOptions): Promise<KillCrawlResult> {
  mkdirSync(options.dir, { recursive: true });
  const web = killWeb(options.web);
  const server = await startServer(options.web, join(options.dir, 'access.jsonl'));
  try {
    return await killUntilDone(options, web, server.port);
  } finally {
    server.process.signal('SIGTERM');
    await server.process.ended;
  }
}

async function killUntilDone(options: KillCrawlOptions, web: KillWeb, port: number): Promise<KillCrawlResult> {
  const program = options.program ?? portolan;
  const out = join(options.dir, 'out');
  const seedsFile = join(options.dir, 'seeds.txt');
  writeFileSync(seedsFile, web.seeds(port).join('\n'));
  const configFile = join(options.dir, 'config.json');
  if (options.config !== undefined) writeFileSync(configFile, JSON.stringify(options.config));
  const crawl = program(
    ...crawlFlags(seedsFile, out, options.gapMs, options.delayFactor ?? 0),
    ...web.resolves().flatMap((pair) => ['--resolve', pair]),
    ...(options.config === undefined ? [] : ['--config', configFile]),
    ...(options.extraFlags ?? []),
  );
  const startedMs = Date.now();
  const warc = new WarcCheck(out);
  const r = seeded(options.web.seed, 99);
  const kills: Kill[] = [];
  let lives = 0;
  let statusChecks = 0;
  let failures = 0;
  let recountFailures = 0;
  const complaints: string[] = [];
  for (let done = false; !done; lives++) {
    const life = await liveOnce(crawl, r, kills.length < options.kills, options.eventsMin ?? 1);
    if (life.kill === undefined) {
      done = life.end.code === 0 || ++failures > FAILURES_MAX;
      if (life.end.code !== 0)
        complaints.push(`life ${lives + 1}: the crawler ended with ${life.end.code ?? life.end.signal}: ${life.complaints}`);
    } else {
      kills.push(life.kill);
      await options.onKill?.(life.kill, kills.length);
    }
    const complaint = await complaintOfRecount(program, out, life.begun || done);
    if (complaint !== undefined) statusChecks++;
    if (complaint) {
      recountFailures++;
      complaints.push(`life ${lives + 1}: ${complaint}`);
    }
    if (options.warc !== false) complaints.push(...(await warc.afterKill()).map((finding) => `life ${lives + 1}: ${finding}`));
  }
  const logFile = join(options.dir, 'access.jsonl');
  if (options.warc !== false) {
    complaints.push(...(await warc.atEnd()));
    complaints.push(...(await complaintsOfNoMore(crawl, logFile)));
  }
  if (options.verify ?? options.program === undefined) complaints.push(...(await complaintsOfVerify(out)));
  writeFileSync(join(options.dir, 'kills.json'), JSON.stringify(kills, null, 1));
  await sleep(100); // the server notices closed connections
  const crawlDelayMs = web.crawlDelayMs(port);
  const accesses = AccessLog.read(logFile).entries();
  const judgement = judgeKills({
    accesses,
    kills,
    expected: web.expected(port),
    forbidden: web.forbidden(port),
    rows: pageRows(out).map((row) => row.url),
    gapMs: (host) => Math.max(options.gapMs, crawlDelayMs(host)),
    baseGapMs: options.gapMs,
    delayFactor: options.delayFactor ?? 0,
    askedMs: (access) => (access.status === 503 ? 3_000 : access.status === 429 ? 2_000 : 0),
    mayRepeat: ({ status, path }) =>
      status === 503 || status === 429 || (status === 0 && path.startsWith('/flaky/')) || (status === 302 && path.startsWith('/cookie/')),
    commitIntervalMs: options.commitIntervalMs ?? COMMIT_INTERVAL_MS,
    shards: options.shards ?? Math.max(4, availableParallelism()),
  });
  const seconds = Math.round((Date.now() - startedMs) / 1_000);
  const broken = [...judgement.broken, ...complaints.slice(0, COMPLAINTS_MAX)];
  return { ...judgement, broken, lives, statusChecks, recountFailures, warcBytesRead: warc.bytesRead, seconds };
}

/** A finished crawl that is started again ends by itself and asks for nothing. */
async function complaintsOfNoMore(
  crawl: { readonly command: string; readonly args: readonly string[] },
  logFile: string,
): Promise<readonly string[]> {
  const before = AccessLog.read(logFile).entries().length;
  const { code, stderr } = await capture(crawl.command, crawl.args);
  const after = AccessLog.read(logFile).entries().length;
  const complaints = code === 0 ? [] : [`started again after its end the crawl ended with ${code}: ${stderr}`];
  return after === before ? complaints : [...complaints, `started again after its end the crawl made ${after - before} requests`];
}

/** What the ledger of all lives together shows. */
async function complaintsOfVerify(out: string): Promise<readonly string[]> {
  const { findings } = await verified(out);
  return findings.map(({ kind, text }) => `verify: ${kind}: ${text}`);
}

function crawlFlags(seedsFile: string, out: string, gapMs: number, delayFactor: number): readonly string[] {
  const gap = `${gapMs}ms`;
  const politeness = ['--delay', gap, '--delay-factor', String(delayFactor), '--address-delay', gap, '--allow-net', '127.0.0.0/8'];
  const identity = ['--agent', 'PortolanTest', '--contact', 'test@example.org'];
  return ['crawl', '--seeds', seedsFile, '--out', out, '--scope', 'web', ...identity, ...politeness, '--json'];
}

interface Life {
  readonly kill: Kill | undefined;
  readonly end: ProcessEnd;
  /** A commit has been reported, so there is a state to speak of. */
  readonly begun: boolean;
  readonly complaints: string;
}

async function liveOnce(
  crawl: { readonly command: string; readonly args: readonly string[] },
  r: Seeded,
  mayKill: boolean,
  eventsMin: number,
): Promise<Life> {
  const commitsMs: Record<string, number[]> = {};
  const bornMs = Date.now();
  const afterEvents = r.chance(0.6) ? eventsMin + r.int(EVENT_COMMITS_MAX) : undefined;
  const delayMs = afterEvents === undefined ? r.int(RANDOM_LIFE_MS) : r.int(AFTER_EVENT_MS - TIMER_SLACK_MS);
  let events = 0;
  let lastEventMs = 0;
  let toldOf: () => void = () => {};
  const seen = new Promise<void>((resolve) => {
    toldOf = resolve;
  });
  const running = start(crawl.command, crawl.args, {
    onLine: (line) => {
      const { event, shard = 0 } = eventOf(line);
      if (event === undefined || !EVENTS.has(event)) return;
      lastEventMs = Date.now();
      if (event === 'commit') commitsMs[shard] = [...(commitsMs[shard] ?? []), lastEventMs];
      if (++events === afterEvents) toldOf();
    },
  });
  const moment = mayKill
    ? momentOfDeath(afterEvents === undefined ? undefined : seen, delayMs)
    : sleep(LAST_LIFE_MS_MAX, 'too long', { ref: false });
  const why = await Promise.race([moment, running.ended]);
  const sentMs = Date.now();
  if (why === 'too long') {
    running.killGroup();
    throw new Error(`the crawl did not end within ${LAST_LIFE_MS_MAX} ms: ${running.complaints()}`);
  }
  running.killGroup();
  const end = await running.ended;
  return {
    kill:
      end.signal === 'SIGKILL'
        ? { sentMs, goneMs: end.atMs, nearEvent: sentMs - lastEventMs <= AFTER_EVENT_MS, bornMs, commitsMs }
        : undefined,
    ...told(running, end, events),
  };
}

function told(running: RunningProcess, end: ProcessEnd, events: number): Omit<Life, 'kill'> {
  return { end, begun: events > 0, complaints: running.complaints() };
}

async function momentOfDeath(event: Promise<void> | undefined, delayMs: number): Promise<void> {
  if (event !== undefined) await Promise.race([event, sleep(LIFE_MS_MAX, undefined, { ref: false })]);
  await sleep(delayMs);
}

function eventOf(line: string): { readonly event?: string; readonly shard?: number } {
  return line.startsWith('{') ? (JSON.parse(line) as { event?: string; shard?: number }) : {};
}

/** What the recount says that is not good; '' when all is accounted for, undefined when the crawl was killed before there was any state. */
async function complaintOfRecount(
  program: NonNullable<KillCrawlOptions['program']>,
  out: string,
  mustExist: boolean,
): Promise<string | undefined> {
  const status = program('status', out, '--recount', '--json');
  const { code, stdout, stderr } = await capture(status.command, status.args);
  if (!stdout.startsWith('{')) return mustExist ? `status ended with ${code}: ${stderr}` : undefined;
  const { unaccounted } = JSON.parse(stdout) as { readonly unaccounted?: unknown };
  return unaccounted === 0 && code === 0 ? '' : `unaccounted after a kill: ${stdout}`;
}

async function startServer(web: KillWebOptions, log: string): Promise<{ readonly process: RunningProcess; readonly port: number }> {
  const program = fileURLToPath(new URL('./kill-web.ts', import.meta.url));
  let ready: (port: number) => void = () => {};
  const port = new Promise<number>((resolve) => {
    ready = resolve;
  });
  const args = [...Object.entries(web).flatMap(([name, value]) => [`--${name}`, String(value)]), '--log', log];
  const running = start(process.execPath, [program, ...args], { onLine: (line) => ready((JSON.parse(line) as { port: number }).port) });
  const early = running.ended.then((end) => {
    throw new Error(`the test web ended with ${end.code}: ${running.complaints()}`);
  });
  early.catch(() => {});
  return { process: running, port: await Promise.race([port, early]) };
}

/** One crawl of a shape with this seed and at most so many kills; `net` keeps the addresses of crawls at the same time apart. */
export function killShape(
  shape: Shape,
  seed: number,
  net: number,
  kills: number,
  dir: string,
  flags: readonly string[] = [],
): Promise<KillCrawlResult> {
  const { web, gapMs, delayFactor, config, commitIntervalMs, shards } = shape;
  return killCrawl({
    web: { ...web, seed, net },
    kills,
    gapMs,
    dir,
    extraFlags: [...(shape.flags ?? []), ...flags],
    ...(delayFactor === undefined ? {} : { delayFactor }),
    ...(config === undefined ? {} : { config }),
    ...(commitIntervalMs === undefined ? {} : { commitIntervalMs }),
    ...(shards === undefined ? {} : { shards }),
  });
}

interface Campaign {
  readonly kills: number;
  readonly shapes: readonly Shape[];
  readonly seed: number;
  readonly root: string;
  readonly flags: readonly string[];
  readonly keep: boolean;
}

/** Takes crawl after crawl until there were enough kills. */
async function campaignJob(campaign: Campaign, next: () => number, results: KillCrawlResult[]): Promise<void> {
  const killed = (): number => results.reduce((sum, result) => sum + result.kills, 0);
  while (killed() < campaign.kills) {
    const crawl = next();
    const shape = campaign.shapes[crawl % campaign.shapes.length];
    if (shape === undefined) return;
    const dir = join(campaign.root, `crawl-${crawl}`);
    const result = await killShape(shape, campaign.seed + crawl, 64 + (crawl % 64), shape.kills, dir, campaign.flags);
    results.push(result);
    process.stderr.write(`${JSON.stringify({ crawl, shape: shape.name, ...result })}\n`);
    if (result.broken.length === 0 && !campaign.keep) rmSync(dir, { recursive: true, force: true });
  }
}

function summaryOf(results: readonly KillCrawlResult[]) {
  const total = (of: (result: KillCrawlResult) => number): number => results.reduce((sum, result) => sum + of(result), 0);
  const kills = total((result) => result.kills);
  return {
    crawls: results.length,
    lives: total((result) => result.lives),
    kills,
    triggered: total((result) => result.triggered),
    fetches: total((result) => result.fetches),
    missing: total((result) => result.missing),
    repeats: total((result) => result.repeats),
    repeatsPerKillMean: Math.round((total((result) => result.repeats) / Math.max(1, kills)) * 100) / 100,
    repeatsPerKillMax: Math.max(0, ...results.map((result) => result.repeatsPerKillMax)),
    robotsRepeats: total((result) => result.robotsRepeats),
    inexcusableRepeats: total((result) => result.inexcusable),
    pausesAcrossKills: total((result) => result.pausesAcrossKills),
    surplusMsMin: Math.min(...results.map((result) => result.surplusMsMin ?? Number.POSITIVE_INFINITY)),
    gapViolations: total((result) => result.gapViolations),
    statusChecks: total((result) => result.statusChecks),
    recountFailures: total((result) => result.recountFailures),
    warcBytesRead: total((result) => result.warcBytesRead),
    broken: results.flatMap((result) => result.broken),
  };
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      kills: { type: 'string', default: '1000' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      shape: { type: 'string', default: '' },
      jobs: { type: 'string', default: '2' },
      keep: { type: 'boolean', default: false },
    },
  });
  const root = mkdtempSync(join(tmpdir(), 'portolan-kill-'));
  process.stderr.write(`seed ${values.seed}, ${root}\n`);
  const results: KillCrawlResult[] = [];
  let crawls = 0;
  const shapes = SHAPES.filter((shape) => shape.name.includes(values.shape));
  const campaign = { kills: Number(values.kills), shapes, seed: Number(values.seed), root, flags: positionals, keep: values.keep };
  await Promise.all(Array.from({ length: Number(values.jobs) }, () => campaignJob(campaign, () => crawls++, results)));
  const summary = summaryOf(results);
  process.stdout.write(`${JSON.stringify({ seed: Number(values.seed), ...summary })}\n`);
  if (summary.broken.length > 0) process.exitCode = 1;
  else if (!values.keep) rmSync(root, { recursive: true, force: true });
}

if (import.meta.main) await main();
