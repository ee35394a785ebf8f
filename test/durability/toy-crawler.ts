/**
 * A crawler of one page that keeps the promises which test/durability/judge.ts checks, and with --flaw breaks exactly one of them.
 * It exists so that the judge and the harness are tested themselves: one that passes everything proves nothing.
 * It speaks the part of the command line that the harness uses, rewrites its whole state at every commit, and is fit for nothing else.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

export const FLAWS = ['lose', 'forget-debts', 'keep-torn-rows', 'amnesia', 'miscount'] as const;

interface State {
  known: string[];
  done: string[];
  /** host → pause that its robots.txt asks for, in ms. */
  robots: Record<string, number>;
  rowsLength: number;
  leaked: number;
}

export const COMMIT_MS = 400;
const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    ...{ seeds: text, out: text, scope: text, agent: text, contact: text, delay: text, 'delay-factor': text, 'address-delay': text },
    ...{ 'allow-net': text, json: flag, recount: flag, flaw: text },
  },
});
const [verb, dir = values.out ?? ''] = positionals;
const statePath = join(dir, 'state.json');
const rowsPath = join(dir, 'pages', 'rows.jsonl');
const gapMs = Number.parseInt(values.delay ?? '0', 10);

function load(): State | undefined {
  return existsSync(statePath) ? (JSON.parse(readFileSync(statePath, 'utf8')) as State) : undefined;
}

function status(): void {
  const state = load();
  if (state === undefined) process.exit(3);
  process.stdout.write(`${JSON.stringify({ unaccounted: state.leaked })}\n`);
}

async function crawl(): Promise<void> {
  mkdirSync(join(dir, 'pages'), { recursive: true });
  const restarted = load();
  const state: State = restarted ?? {
    known: readFileSync(values.seeds ?? '', 'utf8').split('\n'),
    done: [],
    robots: {},
    rowsLength: 0,
    leaked: 0,
  };
  const pending = { done: [] as string[] };
  if (existsSync(rowsPath) && values.flaw !== 'keep-torn-rows') truncateSync(rowsPath, state.rowsLength);
  const known = new Set(state.known);
  const queues = new Map<string, string[]>();
  const workers = new Map<string, Promise<void>>();
  const done = new Set(state.done);

  const commit = (): void => {
    state.rowsLength = existsSync(rowsPath) ? statSync(rowsPath).size : 0;
    state.known = [...known];
    if (values.flaw !== 'amnesia') state.done.push(...pending.done);
    if (values.flaw === 'lose') state.done = state.known; // as a queue that is popped from and not leased from
    if (values.flaw === 'miscount') state.leaked = state.done.length > 0 ? 1 : 0;
    pending.done = [];
    writeFileSync(`${statePath}.new`, JSON.stringify(state));
    renameSync(`${statePath}.new`, statePath);
    process.stdout.write('{"event":"commit"}\n');
  };
  const admit = (url: string): void => {
    const { host, pathname } = new URL(url);
    if (pathname.startsWith('/closed/') || (known.has(url) && queues.get(host)?.includes(url))) return;
    known.add(url);
    queues.set(host, [...(queues.get(host) ?? []), url]);
    if (!workers.has(host)) workers.set(host, work(host));
  };
  const work = async (host: string): Promise<void> => {
    await sleep(0);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    let owedMs = Math.max(gapMs, state.robots[host] ?? 0) + 5;
    if (state.robots[host] === undefined) {
      const robots = await fetchText(`http://${host}/robots.txt`, agent);
      const crawlDelayMs = Number(/Crawl-delay: (\d+)/.exec(robots.body)?.[1] ?? 0) * 1_000;
      state.robots[host] = crawlDelayMs;
      owedMs = Math.max(gapMs, crawlDelayMs) + 5;
      await sleep(owedMs);
    } else if (restarted !== undefined && values.flaw !== 'forget-debts') await sleep(owedMs);
    for (let url = queues.get(host)?.shift(); url !== undefined; url = queues.get(host)?.shift()) {
      for (const found of await fetchOnce(url, agent)) if (!known.has(found)) admit(found);
      appendFileSync(rowsPath, `${JSON.stringify({ url })}\n`);
      pending.done.push(url);
      await sleep(owedMs);
    }
    agent.destroy();
    workers.delete(host);
  };

  const timer = setInterval(commit, COMMIT_MS);
  for (const url of known) if (!done.has(url)) admit(url);
  while (workers.size > 0) await Promise.all(workers.values());
  clearInterval(timer);
  commit();
}

async function fetchOnce(url: string, agent: Agent): Promise<string[]> {
  const { body, location } = await fetchText(url, agent);
  const hrefs = [...body.matchAll(/href="([^"]+)"/g)].map((match) => match[1] ?? '');
  return [...hrefs, ...(location === undefined ? [] : [location])].map((href) => new URL(href, url).href);
}

function fetchText(url: string, agent: Agent): Promise<{ readonly body: string; readonly location: string | undefined }> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        body += piece;
      });
      response.on('end', () => resolve({ body, location: response.headers.location }));
    }).on('error', reject);
  });
}

if (import.meta.main) {
  if (verb === 'status') status();
  else await crawl();
}
