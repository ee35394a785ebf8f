/**
 * The web that a crawl is killed on: small pages with text of their own on many loopback addresses, some slow, with redirects, missing pages and a
 * forbidden folder. What a crawl that is never killed fetches follows from the options alone, so the judge needs no run to compare with.
 *
 * Run as a program it is a server in a process of its own, which outlives every crawler:
 *   node test/durability/kill-web.ts --hosts 24 --pages 40 --slowHosts 2 --slowPages 8 --crawlDelayS 2 --troubledHosts 0 --wide 0 --shared 0 --seed 1 --net 61 --log FILE
 * It prints {"port":N} when it listens, and appends one JSON object per request to FILE.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Seeded, seeded } from '../support/seeded.ts';
import {
  page,
  redirect,
  redirectUntilCookie,
  startWebServer,
  unavailable,
  type WebHost,
  type WebReply,
  type WebRequest,
} from '../support/web-server.ts';

export interface KillWebOptions {
  readonly hosts: number;
  /** Pages of each host, front page included, without redirects and missing pages. */
  readonly pages: number;
  readonly seed: number;
  /** The first hosts of the web, seeds among them, ask for this Crawl-delay, longer than a restart takes, so that a pause across a kill is really owed; they have fewer pages. */
  readonly slowHosts: number;
  readonly slowPages: number;
  readonly crawlDelayS: number;
  /** So many hosts after the slow ones answer 429, 503 with Retry-After and resets at the first request, ask for cookies, loop and lead away. */
  readonly troubledHosts: number;
  /** Links of each page to URLs that robots.txt closes, each its own: many keys for little time. */
  readonly wide: number;
  /** 1: all hosts have names and one address. */
  readonly shared: number;
  /** Second byte of the addresses. */
  readonly net: number;
}

export interface KillWeb {
  readonly options: KillWebOptions;
  addresses(): readonly string[];
  /** Every URL that is fetched exactly once, robots.txt apart, in no order. */
  expected(port: number): readonly string[];
  /** Linked, and closed by robots.txt. */
  forbidden(port: number): readonly string[];
  seeds(port: number): readonly string[];
  /** Arguments for --resolve. */
  resolves(): readonly string[];
  /** host:port → the pause that robots.txt asks for, in ms; 0 for the others. */
  crawlDelayMs(port: number): (host: string) => number;
}

const SEEDS = 3;
const TREE_WIDTH = 3;
const WORDS_PER_PAGE = 90;
const SLOW_SHARE = 0.1;
const SLOW_MS_MAX = 150;
/** One page in so many leads to a redirect, or to a page that does not exist. */
const REDIRECT_EVERY = 5;
const MISSING_EVERY = 11;

export function killWeb(options: KillWebOptions): KillWeb {
  const address = (host: number): string => addressOf(options, host);
  const all = (port: number, paths: (host: number) => readonly string[]): string[] =>
    Array.from({ length: options.hosts }, (_, host) => paths(host).map((path) => `http://${nameOf(options, host)}:${port}${path}`)).flat();
  return {
    options,
    addresses: () => Array.from({ length: options.hosts }, (_, host) => address(host)),
    expected: (port) => all(port, (host) => expectedPaths(options, host)),
    forbidden: (port) => all(port, (host) => ['/closed/a', ...widePaths(options, host)]),
    seeds: (port) => Array.from({ length: Math.min(SEEDS, options.hosts) }, (_, host) => `http://${nameOf(options, host)}:${port}/`),
    resolves: () => (options.shared ? Array.from({ length: options.hosts }, (_, host) => `${nameOf(options, host)}:${address(host)}`) : []),
    crawlDelayMs: (port) => {
      const slow = new Set(Array.from({ length: options.slowHosts }, (_, host) => `${nameOf(options, host)}:${port}`));
      return (host) => (slow.has(host) ? options.crawlDelayS * 1_000 : 0);
    },
  };
}

function nameOf(options: KillWebOptions, host: number): string {
  return options.shared ? `host${host}.test` : addressOf(options, host);
}

function addressOf(options: KillWebOptions, host: number): string {
  if (options.shared) return `127.${options.net}.0.1`;
  return `127.${options.net}.${Math.floor(host / 250)}.${1 + (host % 250)}`;
}

function isSlow(options: KillWebOptions, host: number): boolean {
  return host < options.slowHosts;
}

function isTroubled(options: KillWebOptions, host: number): boolean {
  return host >= options.slowHosts && host < options.slowHosts + options.troubledHosts;
}

function pagesOf(options: KillWebOptions, host: number): number {
  return isSlow(options, host) ? options.slowPages : options.pages;
}

function pathOf(index: number): string {
  return index === 0 ? '/' : `/p/${index}`;
}

function expectedPaths(options: KillWebOptions, host: number): readonly string[] {
  const paths: string[] = [];
  for (let index = 0; index < pagesOf(options, host); index++) {
    paths.push(pathOf(index));
    if (index % REDIRECT_EVERY === 1) paths.push(`/moved/${index}`);
    if (index % MISSING_EVERY === 2) paths.push(`/gone/${index}`);
    if (!isTroubled(options, host)) continue;
    for (const path of troublesOf(index)) paths.push(path, ...(path.startsWith('/loop/') ? [`${path}?b=1`] : []));
  }
  return paths;
}

/** Paths that a page of a troubled host leads to. */
function troublesOf(index: number): readonly string[] {
  const paths: string[] = [];
  if (index % 8 === 3) paths.push(`/busy/${index}`);
  if (index % 5 === 4) paths.push(`/flaky/${index}`);
  if (index % 5 === 0) paths.push(`/cookie/${index}`);
  if (index % 9 === 8) paths.push(`/loop/${index}`);
  if (index % 7 === 6) paths.push(`/away/${index}`);
  return paths;
}

function widePaths(options: KillWebOptions, host: number): readonly string[] {
  return Array.from({ length: pagesOf(options, host) }, (_, index) => closedPaths(options, index)).flat();
}

function closedPaths(options: KillWebOptions, index: number): readonly string[] {
  return Array.from({ length: options.wide }, (_, n) => `/closed/${index}/${n}`);
}

/** A tree over the host's pages, a tree over the front pages, and some links across. */
function linksOf(options: KillWebOptions, port: number, host: number, index: number, r: Seeded): readonly string[] {
  const links: string[] = [];
  const other = (to: number, path: string): string => `http://${nameOf(options, to)}:${port}${path}`;
  for (let child = TREE_WIDTH * index + 1; child <= TREE_WIDTH * index + TREE_WIDTH && child < pagesOf(options, host); child++)
    links.push(pathOf(child));
  for (let child = TREE_WIDTH * host + 1; index === 0 && child <= TREE_WIDTH * host + TREE_WIDTH && child < options.hosts; child++) {
    links.push(other(child, '/'));
  }
  if (index === 0 && host !== 0) links.push(other(0, '/'));
  if (index % REDIRECT_EVERY === 1) links.push(`/moved/${index}`);
  if (index % MISSING_EVERY === 2) links.push(`/gone/${index}`);
  if (r.chance(0.1)) links.push('/closed/a');
  links.push(...closedPaths(options, index));
  if (isTroubled(options, host)) links.push(...troublesOf(index));
  for (let i = 0; i < 4; i++) {
    const to = r.int(options.hosts);
    links.push(other(to, pathOf(r.int(pagesOf(options, to)))));
  }
  return links;
}

function answer(options: KillWebOptions, words: readonly string[], port: number, host: number, request: WebRequest): WebReply | undefined {
  const { path } = request;
  const [, kind = '', tail = ''] = path.split('/');
  const index = Number(tail.split('?')[0]);
  if (kind === 'moved') return redirect(pathOf(index));
  if (isTroubled(options, host)) {
    const trouble = troubleOf(options, words, port, host, kind, index, request);
    if (trouble !== undefined) return trouble;
  }
  if (path !== '/' && kind !== 'p') return kind === 'closed' ? page('closed') : undefined;
  if (index >= pagesOf(options, host)) return undefined;
  const r = seeded(options.seed, host, index);
  const text = Array.from({ length: WORDS_PER_PAGE }, () => r.pick(words)).join(' ');
  const reply = page(`${r.pick(words)} ${r.pick(words)}`, linksOf(options, port, host, index, r), text);
  return r.chance(SLOW_SHARE) ? { ...reply, delayMs: 1 + r.int(SLOW_MS_MAX) } : reply;
}

function troubleOf(
  options: KillWebOptions,
  words: readonly string[],
  port: number,
  host: number,
  kind: string,
  index: number,
  request: WebRequest,
): WebReply | undefined {
  const r = seeded(options.seed, host, index, kind.length);
  const text = Array.from({ length: WORDS_PER_PAGE }, () => r.pick(words)).join(' ');
  const behind = page(kind, [], text);
  switch (kind) {
    case 'busy':
      if (request.nth > 1) return behind;
      return index % 16 === 3 ? unavailable('3') : unavailable(undefined, 429);
    case 'flaky':
      return request.nth > 1 ? behind : { fault: { kind: 'reset' } };
    case 'cookie':
      return redirectUntilCookie(request, behind);
    case 'loop':
      return redirect(request.path.includes('?') ? `/loop/${index}` : `/loop/${index}?b=1`);
    case 'away':
      return redirect(`http://${nameOf(options, (host + 1) % options.hosts)}:${port}/`);
    default:
      return undefined;
  }
}

function inventWords(seed: number): readonly string[] {
  const r = seeded(seed, 4711);
  const letter = (from: string): string => from.charAt(r.int(from.length));
  return Array.from(
    { length: 5_000 },
    () => letter('bdfgklmnprst') + letter('aeiou') + letter('lmnrst') + letter('aeiou') + letter('bdgkmnt'),
  );
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: {
      ...{ hosts: text, pages: text, slowHosts: text, slowPages: text, crawlDelayS: text, seed: text, net: text, log: text },
      ...{ troubledHosts: text, wide: text, shared: text },
    },
  });
  const options: KillWebOptions = {
    hosts: Number(values.hosts),
    pages: Number(values.pages),
    slowHosts: Number(values.slowHosts),
    slowPages: Number(values.slowPages),
    crawlDelayS: Number(values.crawlDelayS),
    seed: Number(values.seed),
    net: Number(values.net),
    troubledHosts: Number(values.troubledHosts ?? 0),
    wide: Number(values.wide ?? 0),
    shared: Number(values.shared ?? 0),
  };
  const log = openSync(values.log ?? 'access.jsonl', 'a');
  const words = inventWords(options.seed);
  let port = 0;
  const hosts: WebHost[] = killWeb(options)
    .addresses()
    .map((address, host) => ({
      ...(options.shared ? { name: nameOf(options, host) } : {}),
      address,
      robots: `User-agent: *\nDisallow: /closed/\n${isSlow(options, host) ? `Crawl-delay: ${options.crawlDelayS}\n` : ''}`,
      page: (request) => answer(options, words, port, host, request),
    }));
  const server = await startWebServer({
    hosts,
    onAccess: ({ headers: _, ...access }) => {
      writeSync(log, `${JSON.stringify(access)}\n`);
    },
  });
  port = server.port;
  process.stdout.write(`${JSON.stringify({ port })}\n`);
  await new Promise<void>((done) => process.once('SIGTERM', () => done()));
  await server.close();
  await server.idle();
  closeSync(log);
}

if (import.meta.main) await main();
