/**
 * The one canonical crawl: 400 hosts of 50 pages on loopback, without delays, Portolan against wget2 in alternation, medians. nginx (one worker) serves
 * on the same cores. CPU seconds per 1,000 useful pages come first; a page is useful once, so that fetches of a second spelling count against a crawler.
 *
 *   npm run bench -- [--runs 3] [--smoke] [--no-wget2] [--dir DIR] [--json FILE] [-- flag…]
 *
 * --smoke crawls 40 hosts of 12 pages once, without wget2. Portolan runs with the defaults it ships with, apart from the flags that are printed; both
 * write every page to disk. What the server's log shows is judged after each run of Portolan, and a broken rule makes the exit code 1.
 * It measures CPU per page on a network without latency, not politeness, TLS or DNS.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { portolan } from '../test/support/process.ts';
import { verified } from '../test/support/verified.ts';
import { type Cost, measure } from './measure.ts';
import { ensureWeb, type WebSummary } from './web/generate.ts';
import { type Judgement, judgeWeb } from './web/judge.ts';
import { WEB_DEFAULTS, type WebOptions } from './web/layout.ts';
import { serveWeb } from './web/serve.ts';

interface Run {
  readonly crawler: 'portolan' | 'wget2';
  readonly round: number;
  readonly cost: Cost;
  readonly judgement: Judgement;
  /** What `portolan verify` says of its ledger; nothing of a crawler without one. */
  readonly findings: readonly string[];
  /** (user + system) per 1,000 distinct expected pages. */
  readonly cpuSPer1000: number;
  /** Distinct expected pages over the wall time of the process, start-up included. */
  readonly pagesPerS: number;
}

interface Setting {
  readonly web: string;
  readonly summary: WebSummary;
  readonly dir: string;
  readonly extra: readonly string[];
}

const SMOKE_WEB: WebOptions = { ...WEB_DEFAULTS, hosts: 40, pages: 12, port: 18281, net: 33 };
const WGET2_THREADS = 16;
const TMPFS = 0x01021994;
const FLAGS = '--scope web --contact bench@example.org --allow-net 127.0.0.0/8 --delay 0 --delay-factor 0 --address-delay 0 --quiet'.split(
  ' ',
);

async function crawlOnce(crawler: Run['crawler'], round: number, setting: Setting): Promise<Run> {
  const out = join(setting.dir, 'out');
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  execFileSync('sync'); // so that a run does not pay for what the one before wrote
  const nginx = await serveWeb(setting.web, join(setting.dir, 'nginx'));
  try {
    const { command, args } = crawler === 'portolan' ? portolanCommand(setting, out) : wget2Command(setting, out);
    const cost = await measure(command, args, { outputFile: join(setting.dir, `${crawler}.out`) });
    await nginx.stop();
    const judgement = judgeWeb(setting.web, nginx.accessLog);
    const useful = judgement.fetchedDistinct;
    const findings = crawler === 'portolan' ? (await verified(out)).findings.map(({ kind, text }) => `${kind}: ${text}`) : [];
    return {
      ...{ crawler, round, cost, judgement, findings },
      cpuSPer1000: useful === 0 ? Number.NaN : ((cost.userS + cost.systemS) / useful) * 1_000,
      pagesPerS: useful / cost.wallS,
    };
  } finally {
    await nginx.stop();
    rmSync(out, { recursive: true, force: true });
  }
}

function portolanCommand(setting: Setting, out: string): { readonly command: string; readonly args: readonly string[] } {
  return portolan('crawl', '--seeds', join(setting.web, 'seeds.txt'), '--out', out, ...FLAGS, ...setting.extra);
}

function wget2Command(setting: Setting, out: string): { readonly command: string; readonly args: readonly string[] } {
  const crawl = ['--recursive', '--level=0', '--span-hosts', '--robots=on', `--max-threads=${WGET2_THREADS}`, '--tries=1'];
  return {
    command: 'wget2',
    args: [...crawl, '--quiet', '--progress=none', `--directory-prefix=${out}`, `--input-file=${join(setting.web, 'seeds.txt')}`],
  };
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? Number.NaN)
    : ((sorted[middle - 1] ?? Number.NaN) + (sorted[middle] ?? Number.NaN)) / 2;
}

function medians(runs: readonly Run[]) {
  const of = (value: (run: Run) => number): number => Math.round(median(runs.map(value)) * 1_000) / 1_000;
  return {
    runs: runs.length,
    cpuSPer1000: of((run) => run.cpuSPer1000),
    pagesPerS: of((run) => run.pagesPerS),
    rssMB: of((run) => run.cost.rssMB),
    cores: of((run) => (run.cost.userS + run.cost.systemS) / run.cost.wallS),
    useful: of((run) => run.judgement.fetchedDistinct),
    fetches: of((run) => run.judgement.fetches),
    aliasDup: of((run) => run.judgement.aliasDup),
  };
}

function table(runs: readonly Run[]): string {
  const head = ['crawler', 'CPU s/1k', 'pages/s', 'RSS MB', 'cores', 'useful', 'fetches', 'alias', 'runs'];
  const rows = [...new Set(runs.map((run) => run.crawler))].map((crawler) => {
    const m = medians(runs.filter((run) => run.crawler === crawler));
    return [
      crawler,
      m.cpuSPer1000.toFixed(3),
      m.pagesPerS.toFixed(0),
      m.rssMB,
      m.cores.toFixed(2),
      m.useful,
      m.fetches,
      m.aliasDup,
      m.runs,
    ].map(String);
  });
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  return [head, ...rows].map((row) => row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  ')).join('\n');
}

function provenance(dir: string) {
  const git = (...args: readonly string[]): string => {
    try {
      return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    } catch {
      return '';
    }
  };
  return {
    commit: git('rev-parse', 'HEAD'),
    changed: git('status', '--porcelain') !== '',
    date: new Date().toISOString(),
    node: process.version,
    machine: { cpu: cpus()[0]?.model ?? '', cores: cpus().length, memoryMB: Math.round(totalmem() / 1_048_576), kernel: release() },
    disk: statfsSync(dir).type === TMPFS ? 'tmpfs' : 'disk',
  };
}

/** What a run of Portolan did wrong; empty is a pass. */
function faultsOf(run: Run, output: string): readonly string[] {
  const { judgement, cost, findings } = run;
  const faults = judgement.broken.map((rule) => `round ${run.round}: ${rule} ${JSON.stringify(judgement.samples)}`);
  if (findings.length > 0) faults.push(`round ${run.round}: verify: ${findings.slice(0, 5).join('; ')}`);
  return cost.code === 0
    ? faults
    : [...faults, `round ${run.round}: exit code ${cost.code}: ${readFileSync(output, 'utf8').slice(-2_000)}`];
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    allowNegative: true,
    options: {
      runs: { type: 'string' },
      smoke: { type: 'boolean', default: false },
      wget2: { type: 'boolean' },
      dir: { type: 'string', default: join(tmpdir(), 'portolan-bench') },
      json: { type: 'string' },
    },
  });
  const dir = resolve(values.dir);
  mkdirSync(dir, { recursive: true });
  const web = join(dir, values.smoke ? 'web-smoke' : 'web');
  const summary = ensureWeb(web, values.smoke ? SMOKE_WEB : WEB_DEFAULTS);
  const setting: Setting = { web, summary, dir, extra: positionals };
  const about = provenance(dir);
  if (about.disk === 'tmpfs') process.stderr.write(`warning: ${dir} is memory, not a disk; figures are too good\n`);
  process.stdout.write(
    `flags: ${[...FLAGS, ...positionals].join(' ')}\nweb: ${summary.expected} pages, sha256 ${summary.sha256.slice(0, 16)}\n`,
  );
  const rounds = Number(values.runs ?? (values.smoke ? 1 : 3));
  const crawlers: readonly Run['crawler'][] = (values.wget2 ?? !values.smoke) ? ['portolan', 'wget2'] : ['portolan'];
  const runs: Run[] = [];
  const faults: string[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const crawler of round % 2 === 1 ? crawlers : crawlers.toReversed()) {
      const run = await crawlOnce(crawler, round, setting);
      runs.push(run);
      process.stderr.write(
        `${crawler} ${round}: ${run.cpuSPer1000.toFixed(3)} CPU s/1k, ${run.pagesPerS.toFixed(0)} pages/s, ${run.cost.rssMB} MB\n`,
      );
      if (crawler === 'portolan') faults.push(...faultsOf(run, join(dir, 'portolan.out')));
    }
  }
  process.stdout.write(`${table(runs)}\n`);
  const json = values.json ?? join(dir, `macro-${values.smoke ? 'smoke' : 'full'}.json`);
  const byCrawler = Object.fromEntries(crawlers.map((crawler) => [crawler, medians(runs.filter((run) => run.crawler === crawler))]));
  writeFileSync(
    json,
    `${JSON.stringify({ ...about, flags: [...FLAGS, ...positionals], web: summary, medians: byCrawler, faults, runs }, null, 2)}\n`,
  );
  process.stdout.write(`${json}\n`);
  for (const fault of faults) process.stdout.write(`BROKEN ${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
}

if (import.meta.main) await main();
