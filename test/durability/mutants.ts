/**
 * Mutation proof of the judges: the product is broken on purpose in one place, in a copy, runs a small crawl that was made to tempt it, and
 * `portolan verify` or `portolan status --recount` of the unbroken product must say so. The unbroken product itself must leave both silent.
 *
 *   node test/durability/mutants.ts [WORDS …]    all and the unbroken product, or those with such words in their names; prints a line each and the
 *                                                survivors, exits 1 when there are any
 *
 * A mutant is a text that stands exactly once in a file, and what stands there instead. A crawl that ends with an error, or hangs, has caught
 * nothing: the promise is that a broken crawler that goes on is found out.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createFileBlobStore } from '../../src/adapters/file/blob-store.ts';
import { openDisk } from '../../src/adapters/file/disk.ts';
import type { ConfigInput } from '../../src/config/schema.ts';
import { verifyLedger } from '../../src/verify/verify.ts';
import { capture, portolan, type RunningProcess, start } from '../support/process.ts';
import { page, startWebServer, unavailable, type WebHost, type WebRequest, type WebServer } from '../support/web-server.ts';

export interface Mutant {
  readonly name: string;
  readonly file: string;
  /** Stands there exactly once. */
  readonly from: string;
  readonly to: string;
  /** Which crawl tempts it: `many` kinds of hosts with a kill in the middle, or a fast one under a `rate` and a page limit. */
  readonly crawl: 'many' | 'rate';
}

const GAP = 'src/frontier/gap.ts';
const EXCHANGES = 'src/engine/exchanges.ts';
const TURNS = 'src/engine/turns.ts';
const GATE = 'src/adapters/node/address-gate.ts';
const DEBTS = 'src/engine/debts.ts';

const many = (name: string, file: string, from: string, to: string): Mutant => ({ name, file, from, to, crawl: 'many' });
const rate = (name: string, file: string, from: string, to: string): Mutant => ({ name, file, from, to, crawl: 'rate' });

export const MUTANTS: readonly Mutant[] = [
  many('the delay is a tenth shorter', GAP, 'let owedMs = options.delayMs;', 'let owedMs = options.delayMs * 0.9;'),
  many(
    'the delay factor is a tenth smaller',
    GAP,
    'options.delayFactor * input.durationMs',
    '0.9 * options.delayFactor * input.durationMs',
  ),
  many('Crawl-delay is a tenth shorter', GAP, 'owedMs = input.crawlDelayMs;', 'owedMs = 0.9 * input.crawlDelayMs;'),
  many('Crawl-delay is dropped', GAP, 'if (input.crawlDelayMs > owedMs) {', 'if (input.crawlDelayMs > owedMs * 1e9) {'),
  many('Crawl-delay counts from the second page on', 'src/engine/robots-turns.ts', 'raiseGap(this.#env.context, memory.record);', ''),
  many(
    'a 503 makes the pause a tenth less than twice as long',
    GAP,
    '* 2 ** Math.min(input.backoff, BACKOFF_MAX)',
    '* 1.8 ** Math.min(input.backoff, BACKOFF_MAX)',
  ),
  many('a 503 does not slow down', EXCHANGES, "|| result.outcome === 'unavailable';", ';'),
  many('Retry-After is a tenth shorter', GAP, 'owedMs = retryAfterMs;', 'owedMs = 0.9 * retryAfterMs;'),
  many('Retry-After is ignored', GAP, 'Math.min(input.retryAfterMs ?? 0, options.retryAfterMaxMs)', '0'),
  many(
    'the pause after a failed connection is a tenth shorter',
    GAP,
    'FAULT_PAUSE_MAX_MS) * (1 + 0.25 * jitter)',
    'FAULT_PAUSE_MAX_MS) * 0.9 * (1 + 0.25 * jitter)',
  ),
  many(
    'the address delay is a tenth shorter',
    EXCHANGES,
    'nextMs = now + rules.addressDelayMs;',
    'nextMs = now + rules.addressDelayMs * 0.9;',
  ),
  many(
    'the gap is counted from the start of an exchange',
    EXCHANGES,
    'record.lastEndMs = now;',
    'record.lastEndMs = now - result.durationMs;',
  ),
  many('the address gate is off', GATE, 'if (value < 0n) return nowEpochMs + heldPollMs;', "if (value < 0n) return 'held';"),
  many(
    'the address gate is released when the request leaves',
    EXCHANGES,
    'this.#activity.exchangeBegun();',
    'this.#activity.exchangeBegun();\n    this.#env.ports.gate.release(gateKey(this.#env.context.hostRules.of(task.memory.record.key), task.memory.record.key, task.address), clock.nowEpochMs());',
  ),
  many(
    'a host has two requests in flight',
    EXCHANGES,
    'const abort = runExchange(',
    'this.#writeStart(task, ledgerLease + 1_048_576);\n    runExchange(transport, clock, this.#request(task), () => {});\n    const abort = runExchange(',
  ),
  many(
    'two requests share a lease',
    EXCHANGES,
    'const ledgerLease = this.#firstLease + lease.id;',
    'const ledgerLease = this.#firstLease + Math.ceil(lease.id / 2);',
  ),
  many(
    'debts are forgotten with the slot',
    'src/frontier/frontier.ts',
    '    this.#idle.set(id, memory);\n    this.#unclaimAddress(memory);\n    this.#options.released',
    '    this.#idle.set(id, memory);\n    memory.record.owedMs = 0;\n    this.#unclaimAddress(memory);\n    this.#options.released',
  ),
  many('debts are forgotten at a restart', 'src/engine/restore.ts', 'replayDebts(env, state, now);', ''),
  many('after a restart a host waits a tenth less', DEBTS, 'wholeMs + jitter * gap.owedMs', '0.9 * wholeMs'),
  many(
    'after a restart an address owes nothing',
    DEBTS,
    'for (const address of debt.addresses) env.ports.gate.owe(',
    'for (const address of [] as string[]) env.ports.gate.owe(',
  ),
  many('robots.txt is ignored', TURNS, 'if (rules.isAllowed(parts.pathQuery)) {', 'if (rules.isAllowed(parts.pathQuery) || true) {'),
  many(
    'the group for the crawler’s own name is overlooked',
    'src/robots/parse.ts',
    'const found = this.#own.named ? this.#own : this.#any;',
    'const found = this.#any;',
  ),
  many(
    'the shortest rule of robots.txt wins',
    'src/robots/rules.ts',
    'b.pattern.text.length - a.pattern.text.length ||',
    'a.pattern.text.length - b.pattern.text.length ||',
  ),
  many(
    'the robots.txt of another origin is obeyed',
    'src/engine/robots-desk.ts',
    "return { kind: 'rules', robots: cached };",
    "return { kind: 'rules', robots: ((this as unknown as { first?: CachedRobots | undefined }).first ??= cached.record.body === undefined ? undefined : cached) ?? cached };",
  ),
  many(
    'a robots.txt that fails allows everything',
    'src/robots/policy.ts',
    'status >= 300 && status < 500 && status !== 429',
    'status >= 300 && status < 600 && status !== 429',
  ),
  many(
    'the blocklist is not looked at',
    TURNS,
    'const blocked = blocklist.size === 0 ? undefined :',
    'const blocked = blocklist.size >= 0 ? undefined :',
  ),
  many(
    'a new blocklist comes into force five seconds late',
    'src/engine/thread.ts',
    "blocklist.current = Blocklist.parse(blocklist.text, message.blocklist?.file ?? '');",
    "const late = Blocklist.parse(blocklist.text, message.blocklist?.file ?? '');\n        this.#context.clock.setTimer(5_000, () => void (blocklist.current = late));",
  ),
  many(
    'a private address is contacted',
    'src/net/dns-cache.ts',
    'if (!verdict.allowed) refused.push',
    "if (!verdict.allowed && address === '') refused.push",
  ),
  many('the page budget is off by one', TURNS, 'return record.cyclePages >= pageBudget;', 'return record.cyclePages > pageBudget;'),
  many('pages are not counted against the budget', 'src/engine/page-recorder.ts', 'memory.record.cyclePages++;', ''),
  rate('the page limit is off by one', GATE, 'if (left <= 0) return false;', 'if (left < 0) return false;'),
  rate('the request rate is ignored', GATE, "if (intervalUs === 0n) return 'go';", "return 'go';"),
  rate(
    'the request rate is a fifth higher',
    GATE,
    'BigInt(Math.ceil(1_000_000 / options.ratePerS))',
    'BigInt(Math.ceil(1_000_000 / options.ratePerS / 1.2))',
  ),
  many('a dropped URL is not counted', 'src/engine/drops.ts', 'bump(this.#totals.dropped, reason);', ''),
  many(
    'a fetched URL is counted twice',
    'src/engine/page-recorder.ts',
    'bump(this.#totals.fetched, outcome);',
    'bump(this.#totals.fetched, outcome);\n    bump(this.#totals.fetched, outcome);',
  ),
  many('the line of a dropped URL is missing', 'src/engine/drops.ts', 'this.#output.appendDrop(', 'void ('),
];

export interface Caught {
  /** What verify found, or the findings of the recount; empty when both were silent. */
  readonly verify: Readonly<Record<string, number>>;
  /** The first of them in words. */
  readonly found: readonly string[];
  readonly recount: readonly string[];
  /** The crawl ended by itself, as one that is whole does. */
  readonly finished: boolean;
  readonly complaints: string;
}

export function isCaught(caught: Caught): boolean {
  return Object.keys(caught.verify).length > 0 || caught.recount.length > 0;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LIFE_MS_MAX = 60_000;
const ACCESSES_BEFORE_KILL = 50;
const FOUND_MAX = 3;
const JUST_MS = 300;
const ACCESSES_BEFORE_BLOCK = 4;

/** Runs the crawl of a mutant, or of the unbroken product. `copy` must not be used by another one meanwhile. */
export async function tempt(copy: Copy, mutant: Mutant | undefined, kind: Mutant['crawl'] = mutant?.crawl ?? 'many'): Promise<Caught> {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-mutant-'));
  const out = join(dir, 'out');
  const blocklist = join(dir, 'blocklist.txt');
  writeFileSync(blocklist, '# nothing yet\n');
  const server = await startWebServer({ hosts: kind === 'many' ? manyHosts() : rateHosts() });
  try {
    const program = copy.broken(mutant);
    const config = join(dir, 'config.json');
    writeFileSync(config, JSON.stringify(kind === 'many' ? manyConfig(server, blocklist) : rateConfig(server)));
    const life = (): RunningProcess =>
      start(process.execPath, [program, 'crawl', ...seedsOf(server, kind), '--out', out, '--config', config, '--quiet']);
    if (kind === 'many') await killedOnce(life(), server, blocklist);
    const last = life();
    const watchdog = setTimeout(() => last.killGroup(), LIFE_MS_MAX);
    const end = await last.ended;
    clearTimeout(watchdog);
    const finished = end.code === 0;
    return { ...(await judged(out, last.complaints())), finished, complaints: last.complaints() };
  } finally {
    await server.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function judged(out: string, complaints: string): Promise<Pick<Caught, 'verify' | 'found' | 'recount'>> {
  const { command, args } = portolan('status', out, '--recount', '--json');
  const { stdout, stderr } = await capture(command, args);
  assert.ok(stdout.startsWith('{'), `the recount says nothing: ${stderr}; the crawl said: ${complaints}`);
  const { findings, unaccounted } = JSON.parse(stdout) as { findings: readonly string[]; unaccounted: number };
  const recount = findings.length > 0 || unaccounted === 0 ? findings : [`unaccounted ${unaccounted}`];
  const report = verifyLedger(createFileBlobStore(openDisk(out), ''));
  const found = report.findings.slice(0, FOUND_MAX).map(({ kind, hostKey, address, text }) => `${kind} ${hostKey} ${address}: ${text}`);
  return { verify: report.violations as Readonly<Record<string, number>>, found, recount };
}

/** A copy of the product, in which one text at a time is replaced. One for many mutants: what Node has compiled of it is used again. */
export class Copy {
  readonly #dir = mkdtempSync(join(tmpdir(), 'portolan-copy-'));
  #brokenFile = '';

  constructor() {
    for (const name of ['src', 'bin', 'package.json']) cpSync(join(ROOT, name), join(this.#dir, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(this.#dir, 'node_modules'));
  }

  /** The path of the program, with this mutant and no other. */
  broken(mutant: Mutant | undefined): string {
    if (this.#brokenFile !== '') cpSync(join(ROOT, this.#brokenFile), join(this.#dir, this.#brokenFile));
    this.#brokenFile = mutant?.file ?? '';
    if (mutant !== undefined) writeFileSync(join(this.#dir, mutant.file), mutated(mutant));
    return join(this.#dir, 'bin', 'portolan.js');
  }

  remove(): void {
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** The text of the broken file. Throws when the mutant does not fit the product any more. */
export function mutated(mutant: Mutant): string {
  const text = readFileSync(join(ROOT, mutant.file), 'utf8');
  const times = text.split(mutant.from).length - 1;
  assert.equal(times, 1, `"${mutant.name}": what it replaces stands ${times} times in ${mutant.file}: ${mutant.from}`);
  return text.replace(mutant.from, () => mutant.to);
}

/** Kills the first life in full work, once the blocklist has changed. */
async function killedOnce(running: RunningProcess, server: WebServer, blocklist: string): Promise<void> {
  const blocked = `blocked.test:${server.port}`;
  const patient = `told.test:${server.port}`;
  let isBlocked = false;
  let hasEnded = false;
  void running.ended.then(() => {
    hasEnded = true;
  });
  for (let waited = 0; waited < LIFE_MS_MAX && !hasEnded; waited += 5) {
    if (!isBlocked && server.log.pages(blocked).length >= ACCESSES_BEFORE_BLOCK) {
      isBlocked = true;
      writeFileSync(blocklist, 'blocked.test\n');
    }
    if (isBlocked && server.log.entries().length >= ACCESSES_BEFORE_KILL && hasJustAsked(server, patient)) break;
    await sleep(5);
  }
  running.killGroup();
  await running.ended;
}

/** The host that is owed most has ended a request a moment ago, so that a debt of it would be missed. */
function hasJustAsked(server: WebServer, host: string): boolean {
  const last = server.log.pages(host).at(-1);
  return last !== undefined && Date.now() - last.endMs < JUST_MS;
}

const DEAD = Array.from({ length: 12 }, (_, n) => `dead${n}.test`);
const SHARED = ['one', 'two', 'three', 'four'].map((name) => `${name}.shared.test`);
/** On the same address: while four of its hosts are worked on these wait, and are owed nothing of their own after a restart. */
const BEHIND = Array.from({ length: 6 }, (_, n) => `n${n}.shared.test`);
const numbered = (count: number): readonly string[] => Array.from({ length: count }, (_, n) => `/p${n}`);

function site(name: string, address: string, paths: readonly string[], rest: Partial<WebHost> = {}): WebHost {
  return { name, address, page: (request) => page(`${name} ${request.path}`, request.path === '/' ? paths : []), ...rest };
}

/** The first page, and one of many at the first attempt: what waits beside it is asked for as soon as the pause is over. */
function once(request: WebRequest): boolean {
  return request.nth === 1 && ['/', '/p1', '/p4'].includes(request.path);
}

/** One host for each rule that may be broken. */
function manyHosts(): readonly WebHost[] {
  const own =
    'User-agent: *\nAllow: /\n\nUser-agent: PortolanTest\nDisallow: /closed/\nAllow: /closed/open/\nDisallow: /*.pdf$\nAllow: /*.html$\nDisallow: /*secret*.html$\n';
  return [
    site('plain.test', '127.42.0.1', numbered(8)),
    ...SHARED.map((name) => site(name, '127.42.0.2', numbered(4), { delayMs: 10 })),
    ...BEHIND.map((name) => site(name, '127.42.0.2', [])),
    site('slow.test', '127.42.0.3', numbered(4), { delayMs: 250 }),
    site('told.test', '127.42.0.4', ['/closed/a', '/closed/open/b', '/c', '/d.pdf', '/e', '/a-secret.html', '/f'], {
      robots: `${own}Crawl-delay: 2.5\n`,
    }),
    site('busy.test', '127.42.0.5', numbered(6), {
      page: (request) => (once(request) ? unavailable() : page('busy', request.path === '/' ? numbered(6) : [])),
    }),
    site('later.test', '127.42.0.6', numbered(6), {
      page: (request) => (once(request) ? unavailable('3', 429) : page('later', request.path === '/' ? numbered(6) : [])),
    }),
    site('flaky.test', '127.42.0.7', numbered(3), {
      robots: (request) => (request.nth === 1 ? { status: 500, body: 'no' } : { body: 'User-agent: *\nDisallow: /p1\n' }),
    }),
    site('many.test', '127.42.0.8', numbered(16)),
    site('blocked.test', '127.42.0.9', numbered(50)),
  ];
}

function manyConfig(server: WebServer, blocklist: string): ConfigInput {
  return {
    ...BASE,
    politeness: {
      delay: 300,
      delayFactor: 2,
      delayFactorMax: 2_000,
      addressDelay: 260,
      faultPause: 600,
      faultLimit: 3,
      setAside: 600,
      setAsideLimit: 1,
      blocklist,
    },
    frontier: { pageBudget: 12, backQueues: 16, quantum: 3 },
    fetch: { retryDelay: 50 },
    robots: { retryMin: 300, retryMax: 600 },
    dns: {
      resolve: [...server.resolves(), ...DEAD.map((name, n) => `${name}:127.42.9.${n + 1}`), 'inside.test:127.99.0.1'],
      timeout: 1_000,
    },
    net: { allow: ['127.42.0.0/16'] },
  };
}

const FAST = Array.from({ length: 6 }, (_, n) => `fast${n}.test`);

function rateHosts(): readonly WebHost[] {
  return FAST.map((name, n) => site(name, `127.42.1.${n + 1}`, numbered(6)));
}

function rateConfig(server: WebServer): ConfigInput {
  return {
    ...BASE,
    politeness: { delay: 5, delayFactor: 0, addressDelay: 0, rate: 5 },
    limits: { maxPages: 24 },
    dns: { resolve: [...server.resolves()] },
    net: { allow: ['127.42.0.0/16'] },
  };
}

const BASE: ConfigInput = {
  agent: { token: 'PortolanTest', contact: 'https://example.org/bot' },
  run: { threads: 1, shards: 2, memory: '64MiB', commitInterval: '3s' },
  output: { warc: false },
};

function seedsOf(server: WebServer, kind: Mutant['crawl']): readonly string[] {
  const names = kind === 'rate' ? FAST : [...server.resolves().map((pair) => pair.split(':')[0]!), ...DEAD, 'inside.test'];
  return names.map((name) => `http://${name}:${server.port}/`);
}

async function main(): Promise<void> {
  const wanted = process.argv.slice(2);
  const survivors: string[] = [];
  const copy = new Copy();
  for (const kind of wanted.length > 0 ? [] : (['many', 'rate'] as const)) {
    const silent = await tempt(copy, undefined, kind);
    process.stdout.write(
      `${isCaught(silent) || !silent.finished ? 'NOT SILENT' : 'silent'}  the unbroken product, ${kind} ${JSON.stringify(silent)}\n`,
    );
    if (isCaught(silent) || !silent.finished) process.exitCode = 1;
  }
  for (const mutant of MUTANTS) {
    if (wanted.length > 0 && !wanted.some((words) => mutant.name.includes(words))) continue;
    const caught = await tempt(copy, mutant);
    if (!isCaught(caught)) survivors.push(mutant.name);
    process.stdout.write(
      `${isCaught(caught) ? 'caught' : 'SURVIVED'}  ${mutant.name}: ${JSON.stringify(isCaught(caught) ? { ...caught.verify, recount: caught.recount.length } : caught)}\n`,
    );
  }
  copy.remove();
  process.stdout.write(`survivors: ${survivors.length === 0 ? 'none' : survivors.join('; ')}\n`);
  if (survivors.length > 0) process.exitCode = 1;
}

if (import.meta.main) await main();
