/**
 * `portolan demo [DIR]`: serves a small web on loopback, crawls it with the engine that crawls the real one, and shows what was met and why it ended as it
 * did. No network is needed. It begins anew each time: the web's port is part of every URL, so an older demo cannot be resumed; a directory is replaced
 * only when it was made by a demo (it holds MARK), and anything else in the way is an error.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, parseConfig } from '../../config/schema.ts';
import { PortolanError } from '../../core/errors.ts';
import { crawlWith } from '../crawl.ts';
import { EXIT } from '../exit-codes.ts';
import { readWords } from '../explain-words.ts';
import { counted, numbered } from '../numbers.ts';
import type { Report } from '../report.ts';
import { type Lesson, lessonsOf, type ResultLine } from './lesson.ts';
import { type DemoServer, type HostLog, serveDemo } from './server.ts';
import { START } from './site.ts';

const MARK = 'demo.json';

export interface DemoFlags {
  readonly serve?: boolean;
  readonly json?: boolean;
}

/** `verbs`: those there are, so that only commands that exist are proposed. */
export async function demo(dir: string, flags: DemoFlags, verbs: readonly string[]): Promise<number> {
  makeRoom(dir);
  const server = await serveDemo();
  try {
    const isQuiet = flags.json === true;
    if (!isQuiet) process.stderr.write(introduction(server, dir));
    const config = demoConfig(server, dir);
    markAsDemo(dir, server);
    const { code, report, release } = await crawlWith(config, {
      mode: isQuiet ? 'quiet' : 'human',
      force: false,
      notices: [],
      tellsEnd: false,
    });
    release();
    if (code !== EXIT.finished) return code;
    const lessons = lessonsOf(readLines(dir), server.port);
    process.stdout.write(
      isQuiet
        ? `${JSON.stringify({ report, lessons, hosts: Object.fromEntries(server.log) })}\n`
        : told(report, lessons, server, dir, verbs),
    );
    if (flags.serve === true) await servedUntilInterrupt(server);
    return code;
  } finally {
    await server.close();
  }
}

/** Throws PORTOLAN_USAGE_INVALID when something else than a demo is in the way. */
function makeRoom(dir: string): void {
  if (!existsSync(dir)) return;
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch (error) {
    throw inTheWay(dir, `it cannot be listed: ${(error as Error).message}`);
  }
  if (names.length === 0) return;
  if (!names.includes(MARK)) throw inTheWay(dir, 'it holds something that no demo made');
  rmSync(dir, { recursive: true });
}

function inTheWay(dir: string, why: string): PortolanError {
  return new PortolanError('PORTOLAN_USAGE_INVALID', `the demo does not touch ${dir}: ${why}`, {
    remedy: 'name another directory: portolan demo DIR',
  });
}

function markAsDemo(dir: string, server: DemoServer): void {
  try {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, MARK), `${JSON.stringify({ port: server.port, addresses: server.addresses }, undefined, 2)}\n`);
  } catch (error) {
    throw new PortolanError('PORTOLAN_DISK_FAILED', `${dir} cannot be written: ${(error as Error).message}`, {
      remedy: 'name a directory that this user may write: portolan demo DIR',
      cause: error,
    });
  }
}

/** Small gaps and short patience, since the servers are ours; what is shown works the same with the defaults. */
function demoConfig(server: DemoServer, dir: string): Config {
  return parseConfig(
    {
      seeds: [`http://${START}:${server.port}/`],
      agent: { token: 'Portolan', contact: 'demo@example.org' },
      scope: { mode: 'domain' },
      politeness: {
        ...{ delay: '15ms', addressDelay: '15ms', delayFactorMax: '600ms' },
        ...{ faultLimit: 2, faultPause: '100ms', setAside: '150ms', setAsideLimit: 2 },
      },
      fetch: { attempts: 2, retryDelay: '100ms', connectTimeout: '400ms', firstByteTimeout: '400ms', maxBody: '200KB' },
      // No name of this crawl is looked up; if one were, nobody would be asked.
      dns: {
        resolve: Object.entries(server.addresses).map(([name, address]) => `${name}:${address}`),
        servers: ['127.0.0.1:9'],
        timeout: '200ms',
      },
      net: { allow: ['127.0.0.0/8'] },
      robots: { retryMin: '200ms', retryMax: '500ms' },
      output: { dir, reserve: 0, text: true },
      run: { threads: 1, shards: 2, memory: '32MiB', commitInterval: '250ms' },
    },
    'demo',
  );
}

function readLines(dir: string): ResultLine[] {
  return readdirSync(join(dir, 'pages'))
    .sort()
    .flatMap((name) => readFileSync(join(dir, 'pages', name), 'utf8').split('\n'))
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as ResultLine);
}

function introduction(server: DemoServer, dir: string): string {
  const names = Object.keys(server.addresses).map((name) => name.split('.')[0]);
  return [
    `A small web is served on this machine, port ${server.port}: ${names.join(', ')} (all of harbour.test).`,
    `It is crawled into ${dir} with gaps of 15 ms where a real crawl leaves a second; nothing leaves this machine.`,
    '',
  ].join('\n');
}

function told(report: Report, lessons: readonly Lesson[], server: DemoServer, dir: string, verbs: readonly string[]): string {
  return [
    ...counts(report),
    ...metAndEnded(lessons),
    ...notFollowed(report),
    ...howPolite(server.log),
    ...whereToLook(server.port, dir, verbs),
    '',
  ].join('\n');
}

function counts(report: Report): string[] {
  const total = (of: Readonly<Record<string, number>>): number => Object.values(of).reduce((a, b) => a + b, 0);
  return [
    `Crawled in ${report.seconds.toFixed(1)} s with ${counted(report.requests, 'request')}. Nothing is lost without a reason:`,
    `  ${counted(report.found, 'find')} (links, redirects, the seed) = ${report.known} known already + ${total(report.rejected)} rejected + ${report.admitted} admitted`,
    `  ${counted(report.admitted, 'URL')} admitted = ${total(report.fetched)} fetched + ${total(report.dropped)} dropped + ${report.queued} queued`,
    `  unaccounted: ${report.unaccounted}`,
    '',
  ];
}

function metAndEnded(lessons: readonly Lesson[]): string[] {
  const width = (of: (lesson: Lesson) => string): number => Math.max(...lessons.map((lesson) => of(lesson).length));
  const place = ({ url }: Lesson): string =>
    url
      .replace(`http://${START}`, '')
      .replace(/^http:\/\//, '')
      .replace(/:\d+/, '')
      .replace('.harbour.test', '');
  const [nameWidth, placeWidth, endedWidth] = [width(({ name }) => name), width(place), width(({ ended }) => ended)];
  return [
    'What it met, how that ended, and why',
    ...lessons.map((lesson) => {
      const { name, ended, facts, why } = lesson;
      return `  ${name.padEnd(nameWidth)}  ${place(lesson).padEnd(placeWidth)}  ${ended.padEnd(endedWidth)}  ${facts}\n  ${' '.repeat(nameWidth)}  ${why}`;
    }),
    '',
  ];
}

/** With the words of docs/REASONS.md. */
function notFollowed(report: Report): string[] {
  const { rejected } = readWords();
  const entries = Object.entries(report.rejected)
    .filter(([, n]) => n > 0)
    .sort(([, a], [, b]) => b - a);
  const width = Math.max(...entries.map(([reason]) => reason.length));
  return [
    'Links it did not follow, by reason',
    ...entries.map(([reason, n]) =>
      `  ${String(n).padStart(3)}  ${reason.padEnd(width)}  ${firstPart(rejected.get(reason)?.when ?? '')}`.trimEnd(),
    ),
    '',
  ];
}

/** The words before the first semicolon or full stop. */
function firstPart(text: string): string {
  return /^.*?[.;](?= |$)/.exec(text)?.[0].replace(/;$/, '.') ?? text;
}

function howPolite(log: ReadonlyMap<string, Readonly<HostLog>>): string[] {
  const width = Math.max(...[...log.keys()].map((host) => host.length));
  return [
    "How polite it was, from the servers' own log",
    ...[...log].map(
      ([host, { requests, atOnceMax, pausesMs }]) =>
        `  ${host.padEnd(width)}  ${String(requests).padStart(3)} ${numbered(requests, 'request')}, at most ${atOnceMax} at once${pausesMs === undefined ? '' : `, pauses of ${Math.floor(pausesMs[0])} to ${Math.ceil(pausesMs[1])} ms between them`}`,
    ),
    '',
  ];
}

function whereToLook(port: number, dir: string, verbs: readonly string[]): string[] {
  const commands: readonly (readonly [verb: string, command: string, what: string])[] = [
    ['status', `portolan status ${dir}`, 'the counts; with --recount derived again from rows and files'],
    ['explain', `portolan explain ${dir} http://${START}:${port}/private/ledger`, 'why a URL ended as it did'],
    ['verify', `portolan verify ${dir}`, 'prove from the ledger that it was polite'],
    ['export', `portolan export ${dir} --what drops`, 'results as JSON Lines, CSV or Parquet'],
  ];
  const known = commands.filter(([verb]) => verbs.includes(verb));
  const files: readonly (readonly [string, string])[] = [
    [`${join(dir, 'pages')}/*.jsonl`, 'one line for each URL that ended: docs/PAGES-JSONL.md'],
    [`${join(dir, 'warc')}/*.warc.gz`, 'requests and responses as they came over the wire'],
    [join(dir, 'report.html'), 'the report with plots'],
  ];
  const rows = [
    ...known.map(([, command, what]) => [command, what] as const),
    ...files.filter(([path]) => path.includes('*') || existsSync(path)),
  ];
  const width = Math.max(...rows.map(([first]) => first.length));
  return [
    'Where to look further',
    ...rows.map(([first, what]) => `  ${first.padEnd(width)}  ${what}`),
    '',
    'Then a site of your own: portolan crawl example.com --dry-run',
  ];
}

/** Until SIGINT or SIGTERM; the crawl's own handlers leave the process alive after the first one. */
function servedUntilInterrupt(server: DemoServer): Promise<void> {
  const pairs = Object.entries(server.addresses).map(([name, address]) => `--resolve ${name}:${address}`);
  process.stdout.write(
    [
      '',
      'The small web goes on until Ctrl-C. To crawl it yourself, in another terminal:',
      `  portolan crawl http://${START}:${server.port}/ --scope domain --out mine --allow-net 127.0.0.0/8 --delay 20ms \\`,
      `    ${pairs.join(' ')}`,
      '',
    ].join('\n'),
  );
  return new Promise((done) => {
    process.once('SIGINT', () => done());
    process.once('SIGTERM', () => done());
  });
}
