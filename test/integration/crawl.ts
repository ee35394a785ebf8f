/**
 * One crawl of the real program against servers of the test: writes a configuration file, starts `bin/portolan.js crawl --json` as a child, and
 * reads back everything it left: events, report.json, pages.jsonl, `status --recount --json`, which must find nothing unaccounted for, and `verify`,
 * which must find nothing that was not allowed.
 *
 * Unless a test says otherwise the crawl waits 50 ms per host, not at all per address, and may contact loopback addresses.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ConfigInput } from '../../src/config/schema.ts';
import { LedgerReader, type LedgerRecord, type LedgerStart } from '../../src/output/politeness-ledger.ts';
import { capture, portolan, type RunningProcess, start } from '../support/process.ts';
import { assertVerified } from '../support/verified.ts';
import { startWebServer, type WebHost, type WebServer } from '../support/web-server.ts';

export interface Row {
  readonly url: string;
  readonly key: string;
  readonly host: string;
  readonly outcome: string;
  readonly status?: number;
  readonly class?: string;
  readonly reason?: string;
  readonly detail?: string;
  readonly via?: string;
  readonly kind?: string;
  readonly depth: number;
  readonly attempts?: number;
  readonly address?: string;
  readonly title?: string;
  readonly contentType?: string;
  readonly bytesWire?: number;
  readonly bytesBody?: number;
  readonly contentHash?: string;
  readonly duplicateOf?: string;
  readonly nearDuplicateOf?: string;
  readonly redirectTo?: string;
  readonly robots?: readonly string[];
  readonly links?: {
    readonly found: number;
    readonly rejected: Readonly<Record<string, number>>;
    readonly known: number;
    readonly sent: number;
  };
  readonly warc?: { readonly file: string; readonly offset: number; readonly length: number };
  readonly text?: string;
}

export interface Report {
  readonly reason: string;
  /** ISO 8601. */
  readonly endedAt: string;
  readonly found: number;
  readonly known: number;
  readonly rejected: Readonly<Record<string, number>>;
  readonly admitted: number;
  readonly queued: number;
  readonly fetched: Readonly<Record<string, number>>;
  readonly dropped: Readonly<Record<string, number>>;
  readonly unaccounted: number;
  readonly pages: number;
  readonly requests: number;
  readonly robotsRequests: number;
  readonly exactDuplicates: number;
  readonly nearDuplicates: number;
  readonly storedPages: number;
  readonly hosts: number;
  readonly hostsApart: number;
}

export type Event = Readonly<Record<string, unknown>> & { readonly event: string };

export interface CrawlOptions {
  /** Resolves the names of these servers to their addresses. */
  readonly web?: WebServer | readonly WebServer[];
  readonly out: string;
  readonly seeds?: readonly string[];
  readonly config?: ConfigInput;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Exit code that is right; 0 unless given. */
  readonly code?: number;
  readonly onEvent?: (event: Event, running: RunningProcess) => void;
  /** False for a directory in which no crawl can have begun. */
  readonly recount?: boolean;
}

export interface Crawl {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
  readonly events: readonly Event[];
  readonly notices: readonly string[];
  /** report.json; the empty report when there is none. */
  readonly report: Report;
  /** Lines of pages.jsonl over all runs. */
  readonly rows: readonly Row[];
  /** The one line of a URL; fails when there is not exactly one. */
  row(url: string): Row;
}

const POLITE: ConfigInput['politeness'] = { delay: 50, delayFactor: 0, addressDelay: 0, faultPause: 50 };
/** A crawl that takes longer hangs: it is killed and the test fails. */
const HANGS_MS = 90_000;

/** A directory that goes with the test. */
export function scratch(t: Pick<TestContext, 'after'>): string {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-it-'));
  t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }));
  return dir;
}

/** A web that goes with the test. */
export async function webFor(t: Pick<TestContext, 'after'>, ...hosts: readonly WebHost[]): Promise<WebServer> {
  const web = await startWebServer({ hosts });
  t.after(() => web.close());
  return web;
}

/** Configuration of a test crawl as it is written to the file. */
export function configOf(options: Pick<CrawlOptions, 'web' | 'config'>): ConfigInput {
  const { config = {} } = options;
  const webs = options.web === undefined ? [] : 'port' in options.web ? [options.web] : options.web;
  return {
    ...config,
    agent: { token: 'PortolanTest', contact: 'https://example.org/bot', ...config.agent },
    politeness: { ...POLITE, ...config.politeness },
    fetch: { retryDelay: 50, ...config.fetch },
    robots: { retryMin: 300, retryMax: 600, ...config.robots },
    dns: { resolve: [...webs.flatMap((web) => [...web.resolves()]), ...(config.dns?.resolve ?? [])], ...without(config.dns, 'resolve') },
    net: { allow: ['127.0.0.0/8'], ...config.net },
    run: { threads: 2, shards: 4, memory: '64MiB', ...config.run },
  };
}

function without<T extends object>(value: T | undefined, key: string): Partial<T> {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([name]) => name !== key)) as Partial<T>;
}

let configs = 0;

export async function crawl(options: CrawlOptions): Promise<Crawl> {
  const { out, seeds = [], flags = [] } = options;
  const file = join(tmpdir(), `portolan-it-${process.pid}-${configs++}.yaml`);
  writeFileSync(file, JSON.stringify(configOf(options)));
  try {
    return await run(options, portolan('crawl', ...seeds, '--out', out, '--config', file, '--json', ...flags));
  } finally {
    rmSync(file, { force: true });
  }
}

async function run(options: CrawlOptions, program: ReturnType<typeof portolan>): Promise<Crawl> {
  const events: Event[] = [];
  let running: RunningProcess | undefined;
  running = start(program.command, program.args, {
    ...(options.env === undefined ? {} : { env: options.env }),
    onLine: (line) => {
      const event = JSON.parse(line) as Event;
      events.push(event);
      if (running !== undefined) options.onEvent?.(event, running);
    },
  });
  const child = running;
  let hangs = false;
  const watchdog = setTimeout(() => {
    hangs = true;
    child.killGroup();
  }, HANGS_MS);
  const end = await child.ended;
  clearTimeout(watchdog);
  const last = JSON.stringify(events.findLast((event) => event.event === 'progress'));
  assert.ok(!hangs, `the crawl did not end within ${HANGS_MS} ms: ${last} ${JSON.stringify(noticesOf(events))} ${child.complaints()}`);
  if (end.signal === null) assert.equal(end.code, options.code ?? 0, `exit code; standard error: ${child.complaints()}`);
  if (options.recount !== false) {
    await recount(options.out);
    await assertVerified(options.out);
  }
  const rows = readRows(options.out);
  return {
    code: end.code,
    signal: end.signal,
    stderr: child.complaints(),
    events,
    notices: noticesOf(events),
    report: readReport(options.out),
    rows,
    row: (url) => {
      const found = rows.filter((row) => row.url === url);
      assert.equal(
        found.length,
        1,
        `lines of ${url} in pages.jsonl; there are ${rows.map((row) => `${row.url} ${row.outcome}`).join(', ')}`,
      );
      return found[0]!;
    },
  };
}

function noticesOf(events: readonly Event[]): readonly string[] {
  return events.flatMap((event) => (event.event === 'notice' ? [String(event['text'])] : []));
}

export interface Recount {
  readonly admitted: number;
  readonly queued: number;
  readonly fetched: Readonly<Record<string, number>>;
  readonly dropped: Readonly<Record<string, number>>;
  readonly unaccounted: number;
  readonly findings: readonly string[];
}

/** Derives every count again from rows and outputs; fails when anything is unaccounted for. */
export async function recount(out: string): Promise<Recount> {
  const { command, args } = portolan('status', out, '--recount', '--json');
  const { code, stdout, stderr } = await capture(command, args);
  assert.notEqual(stdout, '', `status says nothing, exit code ${code}: ${stderr}`);
  const counts = JSON.parse(stdout) as Recount;
  assert.deepEqual(counts.findings, []);
  assert.equal(counts.unaccounted, 0, stdout);
  assert.equal(code, 0, stderr);
  return counts;
}

export function readRows(out: string): readonly Row[] {
  const dir = join(out, 'pages');
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .sort()
    .flatMap((name) => readFileSync(join(dir, name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);
}

const NO_REPORT: Report = {
  ...{
    reason: '',
    endedAt: '',
    found: 0,
    known: 0,
    rejected: {},
    admitted: 0,
    queued: 0,
    fetched: {},
    dropped: {},
    unaccounted: 0,
    pages: 0,
    requests: 0,
  },
  ...{ robotsRequests: 0, exactDuplicates: 0, nearDuplicates: 0, storedPages: 0, hosts: 0, hostsApart: 0 },
};

function readReport(out: string): Report {
  const file = join(out, 'report.json');
  if (!existsSync(file)) return NO_REPORT;
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
  assert.equal(report.unaccounted, 0, 'unaccounted in report.json');
  return report;
}

/** url → outcome (or the reason of a drop), for comparing a whole crawl at once. */
export function endings(rows: readonly Row[]): Readonly<Record<string, string>> {
  return Object.fromEntries(rows.map((row) => [row.url, row.reason ?? row.outcome]).sort());
}

/** The politeness ledger of a crawl, all shards, in the order of its files. */
export function readLedger(out: string): readonly LedgerRecord[] {
  const dir = join(out, 'ledger');
  return readdirSync(dir)
    .sort()
    .flatMap((name) => [...new LedgerReader(readFileSync(join(dir, name)))]);
}

/** Starts of exchanges with a host, in order. */
export function startsOf(out: string, hostKey: string): readonly LedgerStart[] {
  return readLedger(out).flatMap((record) => (record.kind === 'start' && record.hostKey === hostKey ? [record] : []));
}
