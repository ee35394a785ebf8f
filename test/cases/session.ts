/**
 * The real program on a case's web: its configuration from the words of the case, its runs as child processes (several on one directory, killed in
 * between when the case wants that), and everything it leaves: lines, report, notices, complaints.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfigInput } from '../../src/config/schema.ts';
import type { Report, Row } from '../integration/crawl.ts';
import { makeCertificate } from '../integration/secure-web.ts';
import { capture, type ProcessEnd, portolan, type RunningProcess, start } from '../support/process.ts';
import { type Fields, type Findings, fieldsOf, numberOf, show, textOf } from './format.ts';
import { PRODUCT_TOKEN } from './pages.ts';
import { type Answer, addressesOf, type CaseWeb, namesIn, portsIn, startWeb } from './web.ts';

/** A run that takes longer hangs. */
const HANGS_MS = 180_000;

// Configuration

type Sections = { [Name in keyof ConfigInput]?: Record<string, unknown> };
type Setting = (value: number) => Sections;

/** Words of a case's config, each with the keys it stands for. */
const SETTINGS: Readonly<Record<string, Setting>> = {
  per_host_delay_ms: (value) => ({ politeness: { delay: value } }),
  per_ip_delay_ms: (value) => ({ politeness: { addressDelay: value } }),
  workers: (value) => ({ fetch: { connections: Math.max(1, value) } }),
  retries: (value) => ({ fetch: { attempts: value + 1 } }),
  request_total_timeout_ms: (value) => ({ fetch: { totalTimeout: value } }),
  idle_timeout_ms: (value) => ({ fetch: { stallTimeout: value } }),
  connect_timeout_ms: (value) => ({ fetch: { connectTimeout: value } }),
  header_timeout_ms: (value) => ({ fetch: { firstByteTimeout: value } }),
  first_byte_timeout_ms: (value) => ({ fetch: { firstByteTimeout: value } }),
  max_body_bytes: (value) => ({ fetch: { maxBody: value } }),
  max_decoded_bytes: (value) => ({ fetch: { maxBody: value } }),
  max_redirects: (value) => ({ fetch: { maxRedirects: value } }),
  max_links: (value) => ({ fetch: { maxLinks: value } }),
  max_depth: (value) => ({ scope: { maxDepth: value } }),
  max_url_bytes: (value) => ({ scope: { maxUrlBytes: value } }),
  max_url_length: (value) => ({ scope: { maxUrlBytes: value } }),
  max_pages: (value) => ({ limits: { maxPages: value } }),
  max_pages_per_host: (value) => ({ frontier: { pageBudget: value } }),
};
const HOST_SCOPE = 'same host, www counts as the same';

/** Scope "the hosts named by the case": everything is in scope that its web plays, and nothing else. */
function baseConfig(web: CaseWeb, names: Iterable<string>, agent: string): Sections {
  // Addresses in URLs are in scope too: it is the address guard that must refuse them.
  const hosts = [...[...names].map((name) => name.replaceAll('.', '\\.')), '\\d+(?:\\.\\d+){3}', '\\[[0-9a-f:.]+\\]'].join('|');
  return {
    agent: { token: agent, contact: 'https://example.org/bot' },
    scope: { mode: 'web', include: [`^https?://(?:${hosts})(?::\\d+)?(?:/|$)`] },
    politeness: { delay: 20, delayFactor: 0, addressDelay: 0, faultPause: 50, faultLimit: 3, setAside: 300, setAsideLimit: 2 },
    fetch: { retryDelay: 50 },
    robots: { retryMin: 200, retryMax: 400, giveUp: 2_000 },
    dns: { resolve: [...web.resolves], servers: ['127.0.0.1:9'], timeout: 500 },
    net: { allow: web.addresses.filter((address) => address.startsWith('127.77.')).map((address) => `${address}/32`) },
    dedup: { nearDuplicates: 'keep' },
    output: { text: true },
    run: { threads: 2, shards: 4, memory: '64MiB' },
  };
}

function withSettings(config: Sections, settings: Fields, findings: Findings): Sections {
  let all = config;
  for (const [word, value] of Object.entries(settings)) {
    if (word === 'scope') {
      if (value === HOST_SCOPE || value === 'same host') all = { ...all, scope: { mode: 'host' } };
      else if (value === 'same domain') all = { ...all, scope: { mode: 'domain' } };
      else findings.notUnderstood(`config.scope ${show(value)}`);
    } else if (typeof value === 'number' && SETTINGS[word] !== undefined) all = merged(all, SETTINGS[word](value));
    else findings.notUnderstood(`config.${word} ${show(value)}`);
  }
  return all;
}

function merged(one: Sections, other: Sections): Sections {
  const names = [...Object.keys(one), ...Object.keys(other)] as (keyof ConfigInput)[];
  return Object.fromEntries(names.map((name) => [name, { ...one[name], ...other[name] }]));
}

// Sessions

export interface Run {
  readonly child: RunningProcess;
  readonly events: readonly Fields[];
  readonly notices: readonly string[];
  /** Set once it has ended. */
  readonly end: () => ProcessEnd | undefined;
  readonly ended: Promise<ProcessEnd>;
  /** It was killed because it would not end. */
  readonly hangs: () => boolean;
  /** Greatest resident set after the first request, less that before it, in bytes. */
  readonly rssGrowth: () => number;
  readonly startedMs: number;
  readonly endedMs: () => number;
}

export class Session {
  readonly web: CaseWeb;
  readonly out: string;
  readonly seeds: readonly string[];
  readonly #dir: string;
  readonly #configFile: string;
  readonly runs: Run[] = [];

  constructor(dir: string, web: CaseWeb, seeds: readonly string[], config: Sections, out: string) {
    this.#dir = dir;
    this.web = web;
    this.seeds = seeds;
    this.out = out;
    this.#configFile = join(dir, 'portolan.yaml');
    writeFileSync(this.#configFile, JSON.stringify({ ...config, seeds: [...seeds] }));
  }

  start(): Run {
    const { command, args } = portolan('crawl', '--out', this.out, '--config', this.#configFile, '--json');
    const events: Fields[] = [];
    const notices: string[] = [];
    const child = start(command, args, {
      env: this.web.env,
      onLine: (line) => {
        const event = parsed(line);
        events.push(event);
        if (event['event'] === 'notice') notices.push(textOf(event, 'text'));
      },
    });
    const state = { end: undefined as ProcessEnd | undefined, hangs: false, endedMs: 0, base: 0, peak: 0 };
    const before = this.web.log.length;
    const watchdog = setTimeout(() => {
      state.hangs = true;
      child.killGroup();
    }, HANGS_MS);
    const meter = setInterval(() => {
      const rss = residentBytes(child.pid);
      if (this.web.log.length === before || state.base === 0) state.base = Math.max(state.base, rss);
      state.peak = Math.max(state.peak, rss);
    }, 25);
    const ended = child.ended.then((end) => {
      clearTimeout(watchdog);
      clearInterval(meter);
      state.end = end;
      state.endedMs = performance.now();
      return end;
    });
    const run: Run = {
      child,
      events,
      notices,
      ended,
      startedMs: performance.now(),
      end: () => state.end,
      endedMs: () => state.endedMs,
      hangs: () => state.hangs,
      rssGrowth: () => Math.max(0, state.peak - state.base),
    };
    this.runs.push(run);
    return run;
  }

  /** Runs to the end; anything but an orderly end is a finding. */
  async finish(findings: Findings, run = this.start()): Promise<Run> {
    const end = await run.ended;
    if (run.hangs())
      findings.fail(
        `the crawl did not end within ${HANGS_MS / 1_000} s; ${show(run.events.findLast((event) => event['event'] === 'progress'))}`,
      );
    else if (end.code !== 0)
      findings.fail(`the crawl ended with ${end.signal ?? `code ${end.code}`}: ${run.child.complaints().slice(0, 400)}`);
    return run;
  }

  rows(): readonly Row[] {
    const dir = join(this.out, 'pages');
    if (!existsSync(dir)) return [];
    return readdirSync(dir)
      .sort()
      .flatMap((name) => readFileSync(join(dir, name), 'utf8').split('\n'))
      .filter((line) => line !== '')
      .map((line) => parsed(line) as unknown as Row);
  }

  report(): Report | undefined {
    const file = join(this.out, 'report.json');
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined;
  }

  async status(...flags: readonly string[]): Promise<Fields> {
    const { command, args } = portolan('status', this.out, '--json', ...flags);
    const { stdout } = await capture(command, args);
    return stdout === '' ? {} : parsed(stdout);
  }

  /** Both accounting laws, derived again from rows and outputs, and the politeness ledger, replayed by the verifier. */
  async audit(findings: Findings): Promise<void> {
    const counts = await this.status('--recount');
    if (counts['unaccounted'] !== 0) findings.fail(`the accounts do not add up: ${show(counts['findings'] ?? counts)}`);
    const { command, args } = portolan('verify', this.out, '--json');
    const { code, stdout, stderr } = await capture(command, args);
    if (code !== 0) findings.fail(`the politeness ledger does not bear it out: ${(stdout || stderr).slice(0, 600)}`);
  }

  async close(): Promise<void> {
    for (const run of this.runs) {
      if (run.end() === undefined) run.child.killGroup();
      await run.ended;
    }
    await this.web.close();
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

export interface SessionOptions {
  readonly answer: Answer;
  readonly seeds: readonly string[];
  /** The case's input: names, ports, name table, config and agent are read from it. */
  readonly input: Fields;
  readonly findings: Findings;
  readonly config?: Sections;
  /** Directory of the crawl in place of one of the session's own. */
  readonly out?: string;
}

export async function openSession(options: SessionOptions): Promise<Session> {
  const { input, findings, seeds } = options;
  const dir = mkdtempSync(join(tmpdir(), 'portolan-case-'));
  const names = new Set([...namesIn(input), ...namesIn(seeds)]);
  const ports = portsIn({ ...input, seeds });
  const certificate = [...ports.values()].includes('https') ? makeCertificate(dir, [...names].join(',DNS:')) : undefined;
  const web = await startWeb({
    hosts: addressesOf(names, fieldsOf(input, 'dns'), findings),
    ports,
    answer: options.answer,
    latencyMs: numberOf(input, 'server_latency_ms') ?? 0,
    certificate,
    findings,
  });
  const base = baseConfig(web, names, textOf(input, 'agent') || PRODUCT_TOKEN);
  const config = merged(withSettings(base, fieldsOf(input, 'config'), findings), options.config ?? {});
  return new Session(dir, web, seeds, config, options.out ?? join(dir, 'out'));
}

/** A line that is no JSON is one without fields; the judge of the output finds what is missing. */
function parsed(line: string): Fields {
  try {
    return JSON.parse(line) as Fields;
  } catch {
    return { torn: line };
  }
}

function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * 4_096;
  } catch {
    return 0; // it has ended, or there is no /proc
  }
}
