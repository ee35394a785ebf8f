/**
 * Kills a crawl with SIGKILL to its whole process group, again and again, and starts the same command again, until it has ended by itself.
 * The server is a process of its own and remembers everything; test/durability/judge.ts says what the crawl owes. After every kill
 * `portolan status DIR --recount` must find nothing unaccounted for.
 *
 *   node test/durability/kill.ts [--kills 100] [--kills-per-crawl 25] [--seed 1] [--gap-ms 250] [--hosts 24] [--pages 120] [--keep] [-- flag…]
 *
 * About half the kills come within 50 ms after a line with "event":"commit" (or a rotation) of the crawler's --json output, the others at any moment
 * from the start of the process on. Flags after -- go to every crawl command. Prints the seed first and one JSON object at the end; exits 1 when a promise is broken.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { AccessLog } from '../support/access-log.ts';
import { capture, type ProcessEnd, portolan, type RunningProcess, start } from '../support/process.ts';
import { type Seeded, seeded } from '../support/seeded.ts';
import { judgeKills, type Kill, type KillJudgement } from './judge.ts';
import { type KillWeb, type KillWebOptions, killWeb } from './kill-web.ts';

export interface KillCrawlOptions {
  readonly web: KillWebOptions;
  readonly kills: number;
  readonly gapMs: number;
  /** Working directory of this crawl: out, log, seeds. */
  readonly dir: string;
  /** Program under test; the product when undefined. It is called with `crawl …` and `status …`. */
  readonly program?: (...args: readonly string[]) => { readonly command: string; readonly args: readonly string[] };
  readonly extraFlags?: readonly string[];
  /** Planned time between two commits of a shard; 1,000 ms unless the program differs. */
  readonly commitIntervalMs?: number;
  readonly onKill?: (kill: Kill, number: number) => void;
}

/** Sized so that a crawl is alive for about 25 kills; the three slow hosts owe more than a restart takes. */
export const KILL_WEB: Omit<KillWebOptions, 'seed'> = { hosts: 24, pages: 90, slowHosts: 3, slowPages: 8, crawlDelayS: 3, net: 61 };

export interface KillCrawlResult extends KillJudgement {
  readonly lives: number;
  readonly statusChecks: number;
}

const COMMIT_INTERVAL_MS = 1_000;
/** Longest wait between an event and the kill that it sets off. */
const AFTER_EVENT_MS = 50;
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
const EVENTS = new Set(['commit', 'rotate', 'rotation']);

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
  const crawl = program(...crawlFlags(seedsFile, out, options.gapMs), ...(options.extraFlags ?? []));
  const r = seeded(options.web.seed, 99);
  const kills: Kill[] = [];
  let lives = 0;
  let statusChecks = 0;
  let failures = 0;
  const complaints: string[] = [];
  for (let done = false; !done; lives++) {
    const life = await liveOnce(crawl, r, kills.length < options.kills);
    if (life.kill === undefined) {
      done = life.end.code === 0 || ++failures > FAILURES_MAX;
      if (life.end.code !== 0)
        complaints.push(`life ${lives + 1}: the crawler ended with ${life.end.code ?? life.end.signal}: ${life.complaints}`);
    } else {
      kills.push(life.kill);
      options.onKill?.(life.kill, kills.length);
    }
    const complaint = await complaintOfRecount(program, out, life.begun || done);
    if (complaint !== undefined) statusChecks++;
    if (complaint) complaints.push(`life ${lives + 1}: ${complaint}`);
  }
  writeFileSync(join(options.dir, 'kills.json'), JSON.stringify(kills, null, 1));
  await sleep(100); // the server notices closed connections
  const crawlDelayMs = web.crawlDelayMs(port);
  const judgement = judgeKills({
    accesses: AccessLog.read(join(options.dir, 'access.jsonl')).entries(),
    kills,
    expected: web.expected(port),
    forbidden: web.forbidden(port),
    rows: readRows(join(out, 'pages')),
    gapMs: (host) => Math.max(options.gapMs, crawlDelayMs(host)),
    commitIntervalMs: options.commitIntervalMs ?? COMMIT_INTERVAL_MS,
  });
  return { ...judgement, broken: [...judgement.broken, ...complaints.slice(0, COMPLAINTS_MAX)], lives, statusChecks };
}

function crawlFlags(seedsFile: string, out: string, gapMs: number): readonly string[] {
  const gap = `${gapMs}ms`;
  const politeness = ['--delay', gap, '--delay-factor', '0', '--address-delay', gap, '--allow-net', '127.0.0.0/8'];
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

async function liveOnce(crawl: { readonly command: string; readonly args: readonly string[] }, r: Seeded, mayKill: boolean): Promise<Life> {
  const commitsMs: number[] = [];
  const afterEvents = r.chance(0.5) ? 1 + r.int(EVENT_COMMITS_MAX) : undefined;
  const delayMs = afterEvents === undefined ? r.int(RANDOM_LIFE_MS) : r.int(AFTER_EVENT_MS);
  let events = 0;
  let toldOf: (event: string) => void = () => {};
  const seen = new Promise<string>((resolve) => {
    toldOf = resolve;
  });
  const running = start(crawl.command, crawl.args, {
    onLine: (line) => {
      const event = eventOf(line);
      if (event === 'commit') commitsMs.push(Date.now());
      if (event !== undefined && EVENTS.has(event) && ++events === afterEvents) toldOf(event);
    },
  });
  const moment = mayKill
    ? momentOfDeath(afterEvents === undefined ? undefined : seen, delayMs)
    : sleep(LAST_LIFE_MS_MAX, 'too long', { ref: false });
  const trigger = await Promise.race([moment, running.ended.then(() => undefined)]);
  const sentMs = Date.now();
  if (trigger === 'too long') {
    running.killGroup();
    throw new Error(`the crawl did not end within ${LAST_LIFE_MS_MAX} ms: ${running.complaints()}`);
  }
  running.killGroup();
  const end = await running.ended;
  return {
    kill: end.signal === 'SIGKILL' ? { sentMs, goneMs: end.atMs, trigger: trigger ?? 'random', commitsMs } : undefined,
    ...told(running, end, events),
  };
}

function told(running: RunningProcess, end: ProcessEnd, events: number): Omit<Life, 'kill'> {
  return { end, begun: events > 0, complaints: running.complaints() };
}

async function momentOfDeath(event: Promise<string> | undefined, delayMs: number): Promise<string> {
  const trigger = event === undefined ? 'random' : await Promise.race([event, sleep(LIFE_MS_MAX, 'random', { ref: false })]);
  await sleep(delayMs);
  return trigger;
}

function eventOf(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  const { event } = JSON.parse(line) as { readonly event?: unknown };
  return typeof event === 'string' ? event : undefined;
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

/** The url of each row of pages/*.jsonl. A line that is no JSON is an error: a torn line must not be left standing. */
export function readRows(dir: string): readonly string[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(dir, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { readonly url: string }).url);
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

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      kills: { type: 'string', default: '100' },
      'kills-per-crawl': { type: 'string', default: '25' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      'gap-ms': { type: 'string', default: '250' },
      hosts: { type: 'string', default: String(KILL_WEB.hosts) },
      pages: { type: 'string', default: String(KILL_WEB.pages) },
      keep: { type: 'boolean', default: false },
    },
  });
  process.stderr.write(`seed ${values.seed}\n`);
  const root = mkdtempSync(join(tmpdir(), 'portolan-kill-'));
  const results: KillCrawlResult[] = [];
  let killed = 0;
  for (let crawl = 0; killed < Number(values.kills); crawl++) {
    const result = await killCrawl({
      web: { ...KILL_WEB, hosts: Number(values.hosts), pages: Number(values.pages), seed: Number(values.seed) + crawl },
      kills: Math.min(Number(values['kills-per-crawl']), Number(values.kills) - killed),
      gapMs: Number(values['gap-ms']),
      dir: join(root, `crawl-${crawl}`),
      extraFlags: positionals,
    });
    results.push(result);
    killed += result.kills;
    process.stderr.write(`${JSON.stringify(result)}\n`);
    if (result.kills === 0) throw new Error('the crawl ended before it could be killed: more pages are needed');
  }
  const broken = results.flatMap((result) => result.broken);
  const triggered = results.reduce((sum, result) => sum + result.triggered, 0);
  process.stdout.write(`${JSON.stringify({ seed: Number(values.seed), crawls: results.length, kills: killed, triggered, broken })}\n`);
  if (broken.length > 0) process.exitCode = 1;
  if (values.keep || broken.length > 0) process.stderr.write(`kept ${root}\n`);
  else rmSync(root, { recursive: true, force: true });
}

if (import.meta.main) await main();
