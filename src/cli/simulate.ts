/**
 * `portolan simulate`: the real engine with a configuration, on a web that is made up, in virtual time; and what that configuration would do, as a table,
 * as JSON or as a page with plots. Nothing is fetched and nothing is written but the page that --html names.
 *
 * Assumed: the simulated web is like the real one, and work takes no time: what a processor or a disk would slow down is not seen here.
 */
import { writeFileSync } from 'node:fs';
import { simulate as runSimulation } from '../compose-sim.ts';
import { type Config, parseConfig } from '../config/schema.ts';
import { parseDuration } from '../config/units.ts';
import { PortolanError } from '../core/errors.ts';
import type { LoggedEvent } from '../sim/event-log.ts';
import type { SimulationResult } from '../sim/run.ts';
import { parseWebOptions, WEB_PRESETS, type WebOptions } from '../sim/web/options.ts';
import { readConfigFile } from './config-file.ts';
import { EXIT } from './exit-codes.ts';
import { count, kinds, pause, rate } from './numbers.ts';
import { simulationHtml } from './simulate-html.ts';

export interface SimulateFlags {
  readonly config?: string;
  readonly against?: string;
  readonly web?: string;
  readonly for?: string;
  readonly seed?: string;
  readonly hosts?: string;
  readonly json?: boolean;
  readonly html?: string;
}

/** One configuration and what it did. */
export interface SimulatedRun {
  readonly name: string;
  readonly config: Config;
  readonly result: SimulationResult;
  readonly cpuS: number;
  readonly plan: Plan;
}

/** What people ask of a configuration, in figures per day of virtual time. */
export interface Plan {
  readonly days: number;
  /** Pages fetched whole or cut (ok, truncated), per day. */
  readonly pagesPerDay: number;
  readonly requestsPerDay: number;
  /** Mean and most hosts with an exchange under way. */
  readonly hostsInFlight: number;
  readonly hostsInFlightMax: number;
  readonly hostsActive: number;
  readonly hosts: number;
  /** URLs that waited at the end, and by how many their number grew each day over the second half. */
  readonly queued: number;
  readonly queueGrowthPerDay: number;
  readonly budgetDrops: number;
  readonly constraint: string;
  readonly constraintWords: string;
}

const DAY_MS = 86_400_000;
const DEFAULT_FOR = '1d';
const DEFAULT_SEED = 1;
const DEFAULT_SEED_HOSTS = 100;
const PROGRESS_MS = 1_000;

export async function simulate(flags: SimulateFlags): Promise<number> {
  const web = readWeb(flags.web ?? 'small');
  const forMs = durationOf(flags.for ?? DEFAULT_FOR);
  const seed = wholeNumber('--seed', flags.seed ?? String(DEFAULT_SEED));
  const hosts = wholeNumber('--hosts', flags.hosts ?? String(DEFAULT_SEED_HOSTS));
  const files = [flags.config, ...(flags.against === undefined ? [] : [flags.against])];
  const configs = files.map((file) => ({ name: file ?? 'defaults', config: readSimConfig(file) }));
  const runs: SimulatedRun[] = [];
  for (const { name, config } of configs) runs.push(await runOne(name, config, web, seed, hosts, forMs));
  if (flags.json === true) for (const run of runs) process.stdout.write(`${JSON.stringify(asJson(run))}\n`);
  else process.stdout.write(`${describe(runs, flags.web ?? 'small', forMs, seed)}\n`);
  if (flags.html !== undefined) writePage(flags.html, simulationHtml(runs, flags.web ?? 'small', seed));
  return runs.every(({ result }) => Object.keys(result.findings).length === 0) ? EXIT.finished : EXIT.internal;
}

async function runOne(name: string, config: Config, web: WebOptions, seed: number, hosts: number, forMs: number): Promise<SimulatedRun> {
  const before = process.cpuUsage();
  // The seeds of a real crawl are not in a made-up web: it begins at the first hosts of that one.
  const result = await runSimulation({
    config: { ...config, seeds: [], scope: { ...config.scope, mode: 'web' }, output: { ...config.output, warc: false, pages: false } },
    web,
    seed,
    seedCount: hosts,
    forMs,
    keepOutput: false,
    checkRows: false,
    threads: config.run.threads ?? 1,
    ...(process.stderr.isTTY ? { onEvent: progressOf(name, forMs) } : {}),
  });
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  const { user, system } = process.cpuUsage(before);
  return { name, config, result, cpuS: (user + system) / 1e6, plan: planOf(result) };
}

/** One line on a terminal, rewritten: a broad web for a day takes minutes. */
function progressOf(name: string, forMs: number): (event: LoggedEvent) => void {
  let lastMs = performance.now();
  return ([, atMs = 0]) => {
    const nowMs = performance.now();
    if (nowMs - lastMs < PROGRESS_MS) return;
    lastMs = nowMs;
    process.stderr.write(`\r\u001b[Ksimulating ${name}: ${pause(Number(atMs))} of ${pause(forMs)}`);
  };
}

export function planOf(result: SimulationResult): Plan {
  const { series, overall, last, tookMs, inFlightMax, constraints } = result;
  const days = Math.max(tookMs, 1) / DAY_MS;
  const pages = (overall.fetched['ok'] ?? 0) + (overall.fetched['truncated'] ?? 0);
  const middle = series[Math.floor(series.length / 2)] ?? last;
  const half = Math.max(1, last.atMs - middle.atMs) / DAY_MS;
  const mean = (pick: (sample: (typeof series)[number]) => number): number =>
    series.reduce((sum, one) => sum + pick(one), 0) / Math.max(1, series.length);
  return {
    days,
    pagesPerDay: pages / days,
    requestsPerDay: result.exchanges / days,
    hostsInFlight: mean((one) => one.inFlight),
    hostsInFlightMax: inFlightMax,
    hostsActive: mean((one) => one.active),
    hosts: last.hosts,
    queued: overall.queued,
    queueGrowthPerDay: (last.queued - middle.queued) / half,
    budgetDrops: overall.dropped['page-budget'] ?? 0,
    constraint: constraints[0]?.constraint ?? 'nothing',
    constraintWords: constraints[0]?.words ?? 'nothing was measured',
  };
}

function asJson({ name, result, cpuS, plan }: SimulatedRun): unknown {
  const {
    eventHash,
    events,
    reason,
    seed,
    tookMs,
    exchanges,
    commits,
    shards,
    overall,
    series,
    tail,
    constraints,
    findings,
    findingLines,
  } = result;
  return {
    config: name,
    seed,
    eventHash,
    events,
    reason,
    tookMs,
    cpuS,
    exchanges,
    commits,
    shards,
    plan,
    overall,
    constraints,
    tail,
    findings,
    findingLines,
    series,
  };
}

function describe(runs: readonly SimulatedRun[], web: string, forMs: number, seed: number): string {
  const rows: [string, (run: SimulatedRun) => string][] = [
    ['ended', ({ result, plan }) => `${result.reason} after ${days(plan.days)}`],
    ['pages per day', ({ plan }) => count(plan.pagesPerDay)],
    ['pages per second', ({ plan }) => rate(plan.pagesPerDay / 86_400)],
    ['requests per day', ({ plan }) => count(plan.requestsPerDay)],
    ['hosts met', ({ plan }) => count(plan.hosts)],
    ['hosts in flight, mean', ({ plan }) => rate(plan.hostsInFlight)],
    ['hosts in flight, most', ({ plan }) => count(plan.hostsInFlightMax)],
    ['hosts with a back queue, mean', ({ plan }) => rate(plan.hostsActive)],
    ['URLs waiting at the end', ({ plan }) => count(plan.queued)],
    ['queue growth per day', ({ plan }) => count(plan.queueGrowthPerDay)],
    ['dropped by page budgets', ({ plan }) => count(plan.budgetDrops)],
    ['binding constraint', ({ plan }) => plan.constraint],
    ['events, hash', ({ result }) => `${count(result.events)}, ${result.eventHash}`],
  ];
  const wide = Math.max(...rows.map(([label]) => label.length));
  const cells = rows.map(([label, of]) => [label, ...runs.map(of)]);
  const columns = runs.map((run, at) => Math.max(run.name.length, ...cells.map((row) => row[at + 1]!.length)));
  const line = (label: string, values: readonly string[]): string =>
    `  ${label.padEnd(wide)}  ${values.map((value, at) => value.padStart(columns[at]!)).join('  ')}`;
  const lines = [
    `simulated ${days(forMs / DAY_MS)} of the web "${web}", seed ${seed}`,
    line(
      '',
      runs.map(({ name }) => name),
    ),
  ];
  for (const [label = '', ...values] of cells) lines.push(line(label, values));
  for (const run of runs) lines.push('', ...describeOne(run, runs.length > 1));
  return lines.join('\n');
}

function describeOne({ name, result, plan }: SimulatedRun, named: boolean): string[] {
  const lines = [`${named ? `${name}: ` : ''}held back by ${plan.constraintWords}`];
  for (const { share, words } of result.constraints.slice(1, 4)) lines.push(`  ${Math.round(share * 100)} % of the time: ${words}`);
  lines.push(`fetched: ${kinds(result.overall.fetched, 8)}`);
  if (Object.keys(result.overall.dropped).length > 0) lines.push(`dropped: ${kinds(result.overall.dropped)}`);
  if (Object.keys(result.overall.rejected).length > 0) lines.push(`rejected: ${kinds(result.overall.rejected, 6)}`);
  if (result.tail.length > 0) {
    lines.push('hosts with the most URLs left:');
    for (const { host, queued, fetched, gapMs, gapRule } of result.tail)
      lines.push(
        `  ${host}  ${count(queued)} left, ${count(fetched)} fetched, pause ${pause(gapMs)} (${gapRule}), ${days((queued * gapMs) / DAY_MS)} at that pace`,
      );
  }
  for (const finding of result.findingLines) lines.push(`FOUND ${finding}`);
  return lines;
}

export function days(value: number): string {
  const hours = value * 24;
  if (hours < 1) return `${Math.round(hours * 60)} min`;
  return hours < 48 ? `${rate(hours)} h` : `${rate(value)} d`;
}

/** The name of a preset, or a YAML file with `preset` and the keys that differ from it. */
function readWeb(name: string): WebOptions {
  if (Object.hasOwn(WEB_PRESETS, name)) return WEB_PRESETS[name as keyof typeof WEB_PRESETS];
  return parseWebOptions(readConfigFile(name).values, name);
}

function readSimConfig(file: string | undefined): Config {
  const values = file === undefined ? {} : readConfigFile(file).values;
  const agent = { contact: 'https://example.org/simulated', ...(values['agent'] as Record<string, unknown> | undefined) };
  return parseConfig({ ...values, agent }, file ?? 'defaults');
}

function durationOf(text: string): number {
  const parsed = parseDuration(text);
  if (parsed !== undefined && parsed > 0) return parsed;
  throw usage(`--for takes a length of time, not "${text}"`, 'write it as 12h or 30d');
}

function wholeNumber(flag: string, text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  throw usage(`${flag} takes a whole number, not "${text}"`, 'give digits alone');
}

function usage(message: string, remedy: string): PortolanError {
  return new PortolanError('PORTOLAN_USAGE_INVALID', message, { remedy });
}

function writePage(file: string, html: string): void {
  try {
    writeFileSync(file, html);
  } catch (error) {
    const full = (error as NodeJS.ErrnoException).code === 'ENOSPC';
    throw new PortolanError(
      full ? 'PORTOLAN_DISK_FULL' : 'PORTOLAN_DISK_FAILED',
      `${file} cannot be written: ${(error as Error).message}`,
      {
        cause: error,
        remedy: 'name a file in a directory that exists and can be written',
      },
    );
  }
}
