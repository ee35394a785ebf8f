/**
 * A small web on loopback addresses and the crawls of it, for tests of single faults: what is whole afterwards is known exactly.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccessLog } from '../support/access-log.ts';
import { capture, type ProcessEnd, portolan, type RunningProcess, start } from '../support/process.ts';
import { seeded } from '../support/seeded.ts';
import { page, startWebServer, type WebServer } from '../support/web-server.ts';
import { pageRows } from './warc-check.ts';

export interface SmallWebOptions {
  readonly hosts: number;
  readonly pages: number;
  /** Second byte of the addresses. */
  readonly net: number;
  /** Links of each page that robots.txt closes. */
  readonly wide?: number;
  /** Time that each answer takes, in ms. */
  readonly delayMs?: number;
}

export interface SmallWeb {
  readonly server: WebServer;
  readonly seed: string;
  /** Every URL that a whole crawl fetches, robots.txt apart. */
  readonly expected: readonly string[];
  readonly log: AccessLog;
}

export const GAP_MS = 40;

/** Each host is a tree of pages; the front page of the first host leads to the others. */
export async function startSmallWeb(options: SmallWebOptions): Promise<SmallWeb> {
  const { hosts, pages, net, wide = 0, delayMs = 0 } = options;
  const address = (host: number): string => `127.${net}.0.${host + 1}`;
  const path = (index: number): string => (index === 0 ? '/' : `/p/${index}`);
  const server = await startWebServer({
    hosts: Array.from({ length: hosts }, (_, host) => ({
      address: address(host),
      robots: 'User-agent: *\nDisallow: /closed/\n',
      delayMs,
      page: (request) => {
        const index = request.path === '/' ? 0 : Number(/^\/p\/(\d+)$/.exec(request.path)?.[1] ?? pages);
        if (index >= pages) return undefined;
        const r = seeded(net, host, index);
        const text = Array.from({ length: 60 }, () => r.int(2 ** 31).toString(36)).join(' ');
        const links = [1, 2, 3].map((child) => 3 * index + child).filter((child) => child < pages);
        const others =
          index === 0 && host === 0
            ? Array.from({ length: hosts - 1 }, (_, other) => `http://${address(other + 1)}:${request.authority.split(':')[1]}/`)
            : [];
        const closed = Array.from({ length: wide }, (_, n) => `/closed/${index}/${n}`);
        return page(`page ${host} ${index}`, ['/', ...links.map(path), ...others, ...closed], text);
      },
    })),
  });
  const all = Array.from({ length: hosts }, (_, host) =>
    Array.from({ length: pages }, (_, index) => `http://${address(host)}:${server.port}${path(index)}`),
  );
  return { server, seed: `http://${address(0)}:${server.port}/`, expected: all.flat(), log: server.log };
}

export function crawlArgs(web: SmallWeb, out: string, flags: readonly string[] = []): readonly string[] {
  const gap = `${GAP_MS}ms`;
  const politeness = ['--delay', gap, '--delay-factor', '0', '--allow-net', '127.0.0.0/8'];
  return ['crawl', web.seed, '--out', out, '--scope', 'web', '--contact', 'test@example.org', ...politeness, '--json', ...flags];
}

export type Run = ProcessEnd & { readonly stdout: string; readonly stderr: string };

/** Runs the crawl to its end; one that hangs is killed after a minute and ends with a signal. */
export async function crawlToEnd(web: SmallWeb, out: string, flags: readonly string[] = [], wrap: readonly string[] = []): Promise<Run> {
  const lines: string[] = [];
  const running = startCrawl(web, out, flags, (line) => lines.push(line), wrap);
  const timer = setTimeout(() => running.killGroup(), 60_000);
  const end = await running.ended;
  clearTimeout(timer);
  return { ...end, stdout: lines.join('\n'), stderr: running.complaints() };
}

/** `wrap`: a command that runs the crawl, such as strace with its arguments. */
export function startCrawl(
  web: SmallWeb,
  out: string,
  flags: readonly string[] = [],
  onLine: (line: string) => void = () => {},
  wrap: readonly string[] = [],
): RunningProcess {
  const { command, args } = portolan(...crawlArgs(web, out, flags));
  const [first = command, ...rest] = [...wrap, command, ...args];
  return start(first, rest, { onLine });
}

export interface Status {
  readonly unaccounted: number;
  readonly findings: readonly string[];
  readonly queued: number;
  readonly fetched: Readonly<Record<string, number>>;
}

export async function recount(out: string): Promise<Status> {
  const { command, args } = portolan('status', out, '--recount', '--json');
  const { code, stdout, stderr } = await capture(command, args);
  assert.equal(code, 0, `${stdout}${stderr}`);
  return JSON.parse(stdout) as Status;
}

/** The crawl has fetched everything, each outcome stands once, and every count agrees. */
export async function assertWhole(web: SmallWeb, out: string): Promise<void> {
  const { unaccounted, findings, queued } = await recount(out);
  assert.deepEqual({ unaccounted, findings, queued }, { unaccounted: 0, findings: [], queued: 0 });
  const rows = pageRows(out)
    .filter((row) => row.outcome !== 'dropped')
    .map((row) => row.url);
  assert.deepEqual(rows.sort(), [...web.expected].sort());
  assert.deepEqual(web.log.missing(web.expected), []);
}

export function events(run: Run, name: string): readonly Record<string, unknown>[] {
  const lines = run.stdout.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>).filter((line) => line['event'] === name);
}

export function notices(run: Run): string {
  return events(run, 'notice')
    .map((event) => String(event['text']))
    .join('\n');
}

export async function withSmallWeb<T>(options: SmallWebOptions, run: (web: SmallWeb, dir: string) => Promise<T>): Promise<T> {
  const web = await startSmallWeb(options);
  const dir = mkdtempSync(join(tmpdir(), 'portolan-fault-'));
  try {
    return await run(web, dir);
  } finally {
    await web.server.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The reason to skip when strace cannot trace here, or false. */
export async function withoutStrace(): Promise<string | false> {
  const found = ['/usr/bin/strace', '/bin/strace', '/usr/local/bin/strace'].some((path) => existsSync(path));
  if (!found) return 'NOT TESTED: strace is not installed';
  const { code, stderr } = await capture('strace', ['-f', '-o', '/dev/null', '-e', 'trace=fdatasync', 'true']);
  return code === 0 ? false : `NOT TESTED: strace cannot trace here: ${stderr.trim()}`;
}
