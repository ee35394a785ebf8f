/**
 * `portolan pause|resume|stop|block|unblock|seeds add|set DIR …`: steers a crawl (docs/STEERING.md). A crawl that runs is asked over its control socket and
 * answers when the change is in force; what outlives a run is written for the next one when none runs, with the crawl's lock held meanwhile.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { openDisk } from '../adapters/file/disk.ts';
import { type ControlClient, connectControl } from '../adapters/node/control-socket.ts';
import { lockCrawl } from '../adapters/sqlite/crawl-lock.ts';
import type { Config } from '../config/schema.ts';
import { DURATION } from '../config/units.ts';
import { ERROR_CODES, type ErrorCode, PortolanError } from '../core/errors.ts';
import type { CrawlMeta } from '../engine/crawl-meta.ts';
import { openScopeSeeds } from '../engine/crawl-open.ts';
import {
  changeOf,
  encodeRequest,
  parseBlockEntry,
  parseDelayHost,
  parseRequest,
  STEERING_ITEMS_MAX,
  STEERING_LINE_BYTES_MAX,
  type SteeringAnswer,
  type SteeringCommand,
  type SteeringRequest,
} from '../engine/steering.ts';
import { itemsOf } from '../engine/steering-desk.ts';
import { SteeringLog } from '../engine/steering-log.ts';
import { EXIT } from './exit-codes.ts';
import { counted } from './numbers.ts';

/** A crawl that is just starting holds its lock for a moment before it listens; one that ends, after. */
const UNREACHABLE_MS = 5_000;
const AGAIN_MS = 100;
const ATTEMPTS = 3;
const ANSWER_BYTES_MAX = 8 * 1_048_576;
/** Room for the rest of a request. */
const ITEMS_BYTES_MAX = STEERING_LINE_BYTES_MAX / 2;

export interface SteerFlags {
  readonly json?: boolean;
  /** stop: false returns at once. */
  readonly wait?: boolean;
  /** seeds: a file of them. */
  readonly seeds?: string;
}

/** What a request, or several of one kind, have done. */
interface Steered {
  /** A crawl runs and was asked. */
  readonly running: boolean;
  /** In force in that run; false when it is ending. */
  readonly applied: boolean;
  readonly changed: number;
}

export async function drive(verb: 'pause' | 'resume' | 'stop', dirArgument: string, flags: SteerFlags): Promise<number> {
  const dir = resolve(dirArgument);
  const client = await reach(dir);
  if (client === undefined) {
    await metaOf(dir);
    throw new PortolanError('PORTOLAN_CONTROL_NOT_RUNNING', `no crawl runs in ${dir}`, {
      remedy: verb === 'resume' ? 'start it again with the command that began it' : 'there is nothing to do',
    });
  }
  try {
    const { applied } = await asked(client, { verb });
    const waits = verb === 'stop' && flags.wait !== false;
    if (waits) await client.closed;
    const words = {
      pause: applied ? `paused: nothing new is fetched; portolan resume ${dirArgument} goes on` : ENDING,
      resume: applied ? 'resumed' : ENDING,
      stop: waits ? `stopped; the same crawl command goes on from here` : 'stopping: exchanges in flight end first',
    };
    say(flags, { verb, running: !waits, applied }, words[verb]);
    return EXIT.finished;
  } finally {
    client.close();
  }
}

const ENDING = 'the run is ending by itself';

export async function block(
  verb: 'block' | 'unblock',
  dirArgument: string,
  entries: readonly string[],
  flags: SteerFlags,
): Promise<number> {
  if (entries.length === 0) return list(dirArgument, flags, ({ blocks }) => blocks);
  const commands = parted(entries.map(parseBlockEntry)).map((part) => ({ verb, entries: part }));
  const done = await change(dirArgument, commands);
  say(flags, { verb, ...done }, outcome(done, ['entry', 'entries'], verb === 'block' ? 'blocked' : 'no longer blocked'));
  return EXIT.finished;
}

export async function addSeeds(dirArgument: string, seeds: readonly string[], flags: SteerFlags): Promise<number> {
  const { givenSeeds } = await import('./crawl-config.ts');
  const urls = givenSeeds(seeds, flags.seeds).map(({ url }) => url);
  if (urls.length === 0)
    throw new PortolanError('PORTOLAN_SEED_NONE', 'there is nothing to add', { remedy: 'give a URL, or --seeds FILE' });
  const done = await change(
    dirArgument,
    parted(urls).map((part) => ({ verb: 'seeds', urls: part })),
  );
  say(flags, { verb: 'seeds', ...done }, outcome(done, ['seed', 'seeds'], 'added'));
  return EXIT.finished;
}

export async function set(dirArgument: string, assignments: readonly string[], flags: SteerFlags): Promise<number> {
  if (assignments.length === 0)
    return list(dirArgument, flags, ({ delays }) => Object.entries(delays).map(([host, ms]) => `delay.${host}=${DURATION.write(ms)}`));
  const delays = assignments.map(assignment);
  const commands = Array.from({ length: Math.ceil(delays.length / STEERING_ITEMS_MAX) }, (_, part) => ({
    ...{ verb: 'set' as const },
    delays: Object.fromEntries(delays.slice(part * STEERING_ITEMS_MAX, (part + 1) * STEERING_ITEMS_MAX)),
  }));
  const done = await change(dirArgument, commands);
  say(flags, { verb: 'set', ...done }, outcome(done, ['delay', 'delays'], 'set'));
  return EXIT.finished;
}

/** `delay.example.org=10s`; `default` takes it back. Throws PORTOLAN_CONFIG_*. */
function assignment(text: string): readonly [host: string, ms: number | null] {
  const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
  const host = /^delay\.(.+)$/.exec(key)?.[1];
  if (host === undefined) {
    throw new PortolanError('PORTOLAN_CONFIG_UNKNOWN_KEY', `"${text}" sets nothing that can be set while a crawl runs`, {
      remedy: 'delay.HOST can be set, such as delay.example.org=10s; everything else is read at the start of a run',
    });
  }
  const ms = value === 'default' ? null : DURATION.parse(/^\d+$/.test(value) ? Number(value) : value);
  if (ms !== undefined) return [parseDelayHost(host), ms];
  throw new PortolanError('PORTOLAN_CONFIG_INVALID', `${key}: ${DURATION.refusal(value)}`, {
    remedy: 'give a duration such as 10s, or default',
  });
}

/** What is in force by steering, one item a line. */
async function list(dirArgument: string, flags: SteerFlags, items: (state: Shown) => readonly string[]): Promise<number> {
  const shown = await show(resolve(dirArgument));
  process.stdout.write(
    flags.json === true
      ? `${JSON.stringify(shown)}\n`
      : items(shown)
          .map((item) => `${item}\n`)
          .join(''),
  );
  return EXIT.finished;
}

interface Shown {
  readonly running: boolean;
  readonly paused: boolean;
  readonly blocks: readonly string[];
  readonly delays: Readonly<Record<string, number>>;
  readonly addedSeeds: number;
}

async function show(dir: string): Promise<Shown> {
  const client = await reach(dir);
  if (client === undefined) {
    await metaOf(dir);
    return withLog(dir, async ({ state }) => {
      const { blocks, delays, seeds } = state;
      return { running: false, paused: false, blocks, delays, addedSeeds: seeds.reduce((sum, { urls }) => sum + urls.length, 0) };
    });
  }
  try {
    const { ok: _ok, v: _v, verb: _verb, ...shown } = await asked(client, { verb: 'show' });
    return shown as unknown as Shown;
  } finally {
    client.close();
  }
}

/** In requests that each are within the bounds of one. */
function parted(items: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const item of items) {
    const more = Buffer.byteLength(JSON.stringify(item)) + 1;
    if (bytes + more > ITEMS_BYTES_MAX || parts.at(-1)!.length >= STEERING_ITEMS_MAX) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(item);
    bytes += more;
  }
  return parts;
}

/** A run that ends before it has answered leaves the rest to the next one: what was done already is found to be so. */
async function change(dirArgument: string, commands: readonly SteeringCommand[], attempts = ATTEMPTS): Promise<Steered> {
  const dir = resolve(dirArgument);
  const client = await reach(dir);
  if (client === undefined) return changeAtRest(dir, commands);
  let done: Steered = { running: true, applied: true, changed: 0 };
  try {
    for (const [at, command] of commands.entries()) {
      const answer = await asked(client, command).catch((error: unknown) => {
        if (error instanceof PortolanError && error.code === 'PORTOLAN_CONTROL_UNREACHABLE' && attempts > 1) return undefined;
        throw error;
      });
      if (answer === undefined) {
        const rest = await change(dirArgument, commands.slice(at), attempts - 1);
        return { ...rest, changed: done.changed + rest.changed };
      }
      done = { ...done, applied: done.applied && answer['applied'] === true, changed: done.changed + Number(answer['changed']) };
    }
    return done;
  } finally {
    client.close();
  }
}

/** No crawl runs: what is asked is written for the next run. */
async function changeAtRest(dir: string, commands: readonly SteeringCommand[]): Promise<Steered> {
  const meta = await metaOf(dir);
  return withLog(dir, async (log) => {
    let changed = 0;
    for (const command of commands) {
      const request = changeOf(log.state, parseRequest(encodeRequest({ ...command, uid: ownUid() })));
      if (request === undefined) continue;
      await log.append({ ...request, atMs: Date.now() });
      if (request.verb === 'seeds') await openScopeSeeds(openDisk(dir), meta.scope.mode as Config['scope']['mode'], request.urls);
      changed += itemsOf(request);
    }
    return { running: false, applied: false, changed };
  });
}

/** Throws PORTOLAN_STATE_MISSING. Loaded when it is needed: a crawl that runs is asked without. */
async function metaOf(dir: string): Promise<CrawlMeta> {
  const crawl = (await import('./crawl-dir.ts')).openCrawlDir(dir);
  crawl.close();
  return crawl.meta;
}

async function withLog<T>(dir: string, work: (log: SteeringLog) => Promise<T>): Promise<T> {
  const unlock = lockCrawl(join(dir, 'state', 'lock.db'));
  try {
    const log = await SteeringLog.open(openDisk(dir));
    try {
      return await work(log);
    } finally {
      log.close();
    }
  } finally {
    unlock();
  }
}

/** The crawl that runs there; undefined when none does. Throws PORTOLAN_CONTROL_DENIED, PORTOLAN_CONTROL_UNREACHABLE. */
async function reach(dir: string): Promise<ControlClient | undefined> {
  const until = Date.now() + UNREACHABLE_MS;
  for (;;) {
    const client = await connectControl(dir, ANSWER_BYTES_MAX).catch((error: NodeJS.ErrnoException) => {
      throw denied(dir, error);
    });
    if (client !== undefined || !isLocked(dir)) return client;
    if (Date.now() > until) {
      throw new PortolanError('PORTOLAN_CONTROL_UNREACHABLE', `a process works on ${dir} and does not listen to commands`, {
        remedy: 'if it is a crawl, its first lines say why it has no control socket; Ctrl-C or SIGTERM stops it',
      });
    }
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

function denied(dir: string, error: NodeJS.ErrnoException): PortolanError {
  const isDenied = error.code === 'EACCES' || error.code === 'EPERM';
  return new PortolanError(
    isDenied ? 'PORTOLAN_CONTROL_DENIED' : 'PORTOLAN_CONTROL_UNREACHABLE',
    `the crawl in ${dir} cannot be reached: ${error.message}`,
    { cause: error, remedy: isDenied ? 'only the user who started the crawl may steer it' : 'look whether the crawl still runs' },
  );
}

function isLocked(dir: string): boolean {
  const file = join(dir, 'state', 'lock.db');
  if (!existsSync(file)) return false;
  try {
    lockCrawl(file)();
    return false;
  } catch (error) {
    if (error instanceof PortolanError && error.code === 'PORTOLAN_STATE_LOCKED') return true;
    throw error;
  }
}

/** The answer to a request that was accepted. Throws what was answered to one that was not. */
async function asked(client: ControlClient, command: SteeringCommand): Promise<SteeringAnswer> {
  const request: SteeringRequest = { ...command, uid: ownUid() };
  const line = await client.ask(encodeRequest(request)).catch((error: Error) => {
    throw new PortolanError('PORTOLAN_CONTROL_UNREACHABLE', `no answer came: ${error.message}`, {
      remedy: 'the run has ended meanwhile, or was killed; portolan status DIR says how it stands',
    });
  });
  const answer = JSON.parse(line) as SteeringAnswer;
  if (answer.ok) return answer;
  const { code, message, remedy } = answer as { code?: string; message?: string; remedy?: string };
  const known = ERROR_CODES.includes(code as ErrorCode) ? (code as ErrorCode) : 'PORTOLAN_CONTROL_INVALID';
  throw new PortolanError(known, String(message), { remedy: String(remedy ?? '') });
}

/** −1 where users have no numbers. */
function ownUid(): number {
  return process.getuid?.() ?? -1;
}

function outcome({ running, applied, changed }: Steered, [one, many]: readonly [string, string], done: string): string {
  if (changed === 0) return 'nothing changed: it was so already';
  const what = `${counted(changed, one, many)} ${done}`;
  if (!running) return `${what}, from the next run on (no crawl runs here)`;
  return `${what}${applied ? ', in force' : ', from the next run on: this one is ending'}`;
}

function say(flags: SteerFlags, facts: object, words: string): void {
  process.stdout.write(flags.json === true ? `${JSON.stringify(facts)}\n` : `${words}\n`);
}
