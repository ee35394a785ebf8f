/**
 * Steering, the pure part (docs/STEERING.md): what an operator may ask of a crawl, what of it outlives the run, and what follows from all that was
 * ever asked. Who carries it out is steering-desk.ts; what is written down, steering-log.ts.
 *
 * A request is one line of JSON; it is parsed once, here, into a closed union, and everything in it has a bound. A state is a value: a record either makes
 * the next one or changes nothing, and the records of the log, one after the other, give the state in force.
 */
import { type ErrorCode, PortolanError } from '../core/errors.ts';
import { DAY_MS, type EpochMs } from '../core/time.ts';
import { isoDate } from '../output/iso-date.ts';
import { Blocklist } from '../scope/blocklist.ts';
import { parseSeed } from '../url/index.ts';

export const STEERING_VERSION = 1;
/** Bytes of a request with its line feed. */
export const STEERING_LINE_BYTES_MAX = 1_048_576;
/** Entries, seeds or delays in one request. */
export const STEERING_ITEMS_MAX = 1_000;
const BLOCKS_MAX = 10_000;
const ENTRY_CHARS_MAX = 1_000;
/** They stand in the ledger with the configuration, which must fit into one body there. */
const DELAYS_MAX = 1_000;
const SEEDS_MAX = 1_000_000;
const ID_CHARS_MAX = 100;
const UID_MAX = 2 ** 32 - 1;
const HOST_CHARS_MAX = 300;

const VERBS = ['pause', 'resume', 'stop', 'show', 'block', 'unblock', 'seeds', 'set'] as const;

export type SteeringCommand =
  | { readonly verb: 'pause' | 'resume' | 'stop' | 'show' }
  /** As in a blocklist file, one entry each. */
  | { readonly verb: 'block' | 'unblock'; readonly entries: readonly string[] }
  /** As from parseSeed. */
  | { readonly verb: 'seeds'; readonly urls: readonly string[] }
  /** Milliseconds by host pattern, as from parseDelayHost; null: what the configuration says again. */
  | { readonly verb: 'set'; readonly delays: Readonly<Record<string, number | null>> };

export type SteeringRequest = SteeringCommand & {
  /** User who asks, by his own account; −1 when he does not say. The permissions of the socket decide who may ask at all. */
  readonly uid: number;
};

/** One line of the log: what was changed, by whom and when. */
export type SteeringRecord = SteeringRequest & { readonly atMs: EpochMs };

/** Seeds of one request; their order and the requests' order number them for good. */
export interface AddedSeeds {
  readonly atMs: EpochMs;
  readonly urls: readonly string[];
}

/** What outlives the run. */
export interface SteeringState {
  readonly blocks: readonly string[];
  readonly delays: Readonly<Record<string, number>>;
  readonly seeds: readonly AddedSeeds[];
}

export const NOTHING_STEERED: SteeringState = { blocks: [], delays: {}, seeds: [] };

export interface SteeringAnswer {
  readonly ok: boolean;
  readonly [key: string]: unknown;
}

// ── requests ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** `id` comes back with the answer; undefined when the line holds none that could be read. Throws PortolanError. */
export function parseRequest(line: string): SteeringRequest {
  const value = parseObject(line);
  if (value['v'] !== STEERING_VERSION)
    throw refused(`version ${shown(value['v'])} is not understood, this crawl speaks ${STEERING_VERSION}`);
  const { v: _version, id: _id, verb, uid = -1, ...rest } = value;
  if (verb === 'retry') {
    throw new PortolanError('PORTOLAN_STATE_LOCKED', 'a crawl is running, and retry needs it stopped', {
      remedy: 'stop the crawl first (portolan stop DIR), then retry, then run it again',
    });
  }
  if (!VERBS.includes(verb as (typeof VERBS)[number])) throw refused(`the verb ${shown(verb)} is none of ${VERBS.join(', ')}`);
  if (!Number.isInteger(uid) || (uid as number) < -1 || (uid as number) > UID_MAX) throw refused('uid is not a user number');
  return { ...commandOf(verb as (typeof VERBS)[number], rest), uid: uid as number };
}

/** The id of a request, for its answer, also of one that is refused. */
export function requestId(line: string): string | number | undefined {
  try {
    const { id } = parseObject(line);
    return Number.isSafeInteger(id) || (typeof id === 'string' && id.length <= ID_CHARS_MAX) ? (id as string | number) : undefined;
  } catch {
    return undefined;
  }
}

/** One line, its line feed included. */
export function encodeRequest(request: SteeringRequest): string {
  return `${JSON.stringify({ v: STEERING_VERSION, ...request })}\n`;
}

export function encodeAnswer(answer: SteeringAnswer, id?: string | number): string {
  return `${JSON.stringify({ v: STEERING_VERSION, ...(id === undefined ? {} : { id }), ...answer })}\n`;
}

export function refusalOf(error: unknown): SteeringAnswer & { readonly code: ErrorCode | 'PORTOLAN_INTERNAL' } {
  if (error instanceof PortolanError) return { ok: false, code: error.code, message: error.message, remedy: error.remedy };
  return { ok: false, code: 'PORTOLAN_INTERNAL', message: error instanceof Error ? error.message : String(error), remedy: '' };
}

function parseObject(line: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw refused('the request is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused('the request is not an object');
  return value as Record<string, unknown>;
}

function commandOf(verb: (typeof VERBS)[number], rest: Readonly<Record<string, unknown>>): SteeringCommand {
  switch (verb) {
    case 'pause':
    case 'resume':
    case 'stop':
    case 'show':
      onlyKeys(verb, rest, []);
      return { verb };
    case 'block':
    case 'unblock':
      onlyKeys(verb, rest, ['entries']);
      return { verb, entries: unique(texts(rest['entries'], 'entries').map(parseBlockEntry)) };
    case 'seeds':
      onlyKeys(verb, rest, ['urls']);
      return { verb, urls: unique(texts(rest['urls'], 'urls').map(parseSeed)) };
    case 'set':
      onlyKeys(verb, rest, ['delays']);
      return { verb, delays: delaysOf(rest['delays']) };
  }
}

function onlyKeys(verb: string, rest: Readonly<Record<string, unknown>>, keys: readonly string[]): void {
  const unknown = Object.keys(rest).find((key) => !keys.includes(key));
  if (unknown !== undefined) throw refused(`${verb} has no ${shown(unknown)}`);
}

function texts(value: unknown, key: string): readonly string[] {
  const isList = Array.isArray(value) && value.every((one) => typeof one === 'string');
  if (!isList || value.length === 0) throw refused(`${key} is not a list of texts with at least one in it`);
  if (value.length > STEERING_ITEMS_MAX) throw refused(`${key} has ${value.length} entries, ${STEERING_ITEMS_MAX} are possible at once`);
  return value as readonly string[];
}

function unique(all: readonly string[]): readonly string[] {
  return [...new Set(all)];
}

/** An entry as it would stand in a blocklist file. Throws PORTOLAN_BLOCKLIST_INVALID. */
export function parseBlockEntry(text: string): string {
  const entry = text.trim();
  const wrong = (why: string): PortolanError =>
    new PortolanError('PORTOLAN_BLOCKLIST_INVALID', `${shown(entry)} ${why}`, {
      remedy:
        'give a host (example.com, which includes its sub-domains), an address or range (192.0.2.0/24), or a pattern between slashes (/\\/private\\//)',
    });
  if (entry.length > ENTRY_CHARS_MAX) throw wrong(`is longer than ${ENTRY_CHARS_MAX} characters`);
  if (/[\x00-\x1f\x7f]/.test(entry)) throw wrong('holds a control character');
  if (/^https?:\/\//i.test(entry)) throw wrong('is a URL; give its host, or a pattern between slashes');
  let list: Blocklist;
  try {
    list = Blocklist.parse(entry, '');
  } catch (error) {
    throw wrong(/" (.*)$/s.exec((error as Error).message)?.[1] ?? (error as Error).message);
  }
  if (list.size === 0) throw wrong('names nothing');
  return entry.startsWith('/')
    ? entry
    : entry
        .replace(/\s+#.*$/, '')
        .replace(/^\*?\./, '')
        .toLowerCase();
}

function delaysOf(value: unknown): Readonly<Record<string, number | null>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused('delays is not an object');
  const all = Object.entries(value);
  if (all.length === 0) throw refused('delays names no host');
  if (all.length > STEERING_ITEMS_MAX) throw refused(`delays has ${all.length} entries, ${STEERING_ITEMS_MAX} are possible at once`);
  return Object.fromEntries(all.map(([host, ms]) => [parseDelayHost(host), checkedDelay(host, ms)]));
}

/** A key of `delay`, in the forms and the spelling of the keys of `hosts`: HOST, HOST:PORT or *.DOMAIN. Throws PORTOLAN_CONFIG_INVALID. */
export function parseDelayHost(text: string): string {
  const wrong = (why: string): PortolanError =>
    new PortolanError('PORTOLAN_CONFIG_INVALID', `delay.${text}: ${why}`, {
      remedy: 'give a host, such as delay.example.org=10s, or a domain with its sub-domains: delay.*.example.org=10s',
    });
  const wild = text.startsWith('*.') ? '*.' : '';
  const bare = text.slice(wild.length);
  const url = bare === '' || bare.length > HOST_CHARS_MAX || /[\s/?#@\\%*]/.test(bare) ? null : URL.parse(`http://${bare}/`);
  const name = url?.hostname.replace(/\.$/, '') ?? '';
  if (url === null || name === '' || name.includes('..')) throw wrong('HOST, HOST:PORT or *.DOMAIN is expected');
  if (wild !== '' && url.port !== '') throw wrong('a domain has no port');
  if (wild !== '' && (name.startsWith('[') || /\.\d+$/.test(name))) throw wrong('an address has no sub-domains');
  if (url.port === '443' || (url.port === '' && /:\d*$/.test(bare) && !bare.endsWith(']'))) throw wrong('leave a default port out');
  return url.port === '' ? wild + name : `${name}:${url.port}`;
}

function checkedDelay(host: string, value: unknown): number | null {
  if (value === null || (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= DAY_MS)) return value;
  throw new PortolanError('PORTOLAN_CONFIG_INVALID', `delay.${host}: ${shown(value)} is not a delay of 0 … ${DAY_MS} ms`, {
    remedy: 'give a duration of at most a day, such as 10s, or default',
  });
}

function refused(message: string): PortolanError {
  return new PortolanError('PORTOLAN_CONTROL_INVALID', message, { remedy: 'docs/STEERING.md has the protocol' });
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

// ── what follows ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * What of a request is new; undefined when it changes nothing that outlives the run. Throws PortolanError when it goes over a bound, or
 * takes back what is not there.
 */
export function changeOf(state: SteeringState, request: SteeringRequest): SteeringRequest | undefined {
  switch (request.verb) {
    case 'block':
      return newBlocks(state, request);
    case 'unblock':
      return knownBlocks(state, request);
    case 'seeds':
      return newSeeds(state, request);
    case 'set':
      return newDelays(state, request);
    default:
      return undefined;
  }
}

function newBlocks(state: SteeringState, request: SteeringRequest & { verb: 'block' | 'unblock' }): SteeringRequest | undefined {
  const known = new Set(state.blocks);
  const entries = request.entries.filter((entry) => !known.has(entry));
  if (known.size + entries.length > BLOCKS_MAX)
    throw overBound(
      `${known.size + entries.length} blocked entries`,
      BLOCKS_MAX,
      'put them into a file and name it with politeness.blocklist',
    );
  return entries.length === 0 ? undefined : { ...request, entries };
}

function knownBlocks(state: SteeringState, request: SteeringRequest & { verb: 'block' | 'unblock' }): SteeringRequest {
  const missing = request.entries.find((entry) => !state.blocks.includes(entry));
  if (missing === undefined) return request;
  throw new PortolanError('PORTOLAN_CONTROL_INVALID', `${shown(missing)} was not blocked by portolan block`, {
    remedy: 'portolan block DIR lists what was; an entry of the blocklist file is taken out of that file',
  });
}

function newSeeds(state: SteeringState, request: SteeringRequest & { verb: 'seeds' }): SteeringRequest {
  const all = state.seeds.reduce((sum, { urls }) => sum + urls.length, 0) + request.urls.length;
  if (all > SEEDS_MAX) throw overBound(`${all} added seeds`, SEEDS_MAX, 'give them to the next run with --seeds FILE');
  return request;
}

function newDelays(state: SteeringState, request: SteeringRequest & { verb: 'set' }): SteeringRequest | undefined {
  const changed = Object.entries(request.delays).filter(([host, ms]) => (state.delays[host] ?? null) !== ms);
  if (changed.length === 0) return undefined;
  const { delays } = applyRecord(state, { ...request, delays: Object.fromEntries(changed), atMs: 0 });
  const count = Object.keys(delays).length;
  if (count > DELAYS_MAX) throw overBound(`delays of ${count} hosts`, DELAYS_MAX, 'set some of them to default');
  return { ...request, delays: Object.fromEntries(changed) };
}

function overBound(what: string, max: number, remedy: string): PortolanError {
  return new PortolanError('PORTOLAN_CONTROL_INVALID', `${what} are over the bound of ${max}`, { remedy });
}

/** The state after a record of changeOf, or of the log. */
export function applyRecord(state: SteeringState, record: SteeringRecord): SteeringState {
  switch (record.verb) {
    case 'block':
      return { ...state, blocks: [...state.blocks, ...record.entries] };
    case 'unblock':
      return { ...state, blocks: state.blocks.filter((entry) => !record.entries.includes(entry)) };
    case 'seeds':
      return { ...state, seeds: [...state.seeds, { atMs: record.atMs, urls: record.urls }] };
    case 'set': {
      const delays: Record<string, number> = { ...state.delays };
      for (const [host, ms] of Object.entries(record.delays)) {
        if (ms === null) delete delays[host];
        else delays[host] = ms;
      }
      return { ...state, delays };
    }
    default:
      return state;
  }
}

/** The blocklist in force: the file's text, then what was blocked by hand. */
export function blocklistWith(file: { readonly text: string; readonly file: string } | undefined, blocks: readonly string[]) {
  if (file === undefined && blocks.length === 0) return undefined;
  const text = file?.text ?? '';
  const gap = text === '' || text.endsWith('\n') || blocks.length === 0 ? '' : '\n';
  return { text: `${text}${gap}${blocks.map((entry) => `${entry}\n`).join('')}`, file: file?.file ?? 'portolan block' };
}

// ── the log ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export function encodeRecord(record: SteeringRecord): string {
  const { atMs, uid, ...command } = record;
  return `${JSON.stringify({ v: STEERING_VERSION, time: isoDate(atMs), atMs, uid, ...command })}\n`;
}

/** Throws PORTOLAN_STATE_DAMAGED or PORTOLAN_STATE_NEWER. `place` is named in errors. */
export function decodeRecord(line: string, place: string): SteeringRecord {
  try {
    const { v, time: _time, atMs, ...request } = parseObject(line);
    if (typeof v === 'number' && v > STEERING_VERSION) throw newer(place);
    if (typeof atMs !== 'number') throw refused('atMs is missing');
    return { ...parseRequest(JSON.stringify({ v, ...request })), atMs };
  } catch (error) {
    if (error instanceof PortolanError && error.code === 'PORTOLAN_STATE_NEWER') throw error;
    throw new PortolanError('PORTOLAN_STATE_DAMAGED', `${place} cannot be read: ${(error as Error).message}`, {
      cause: error,
      remedy: 'restore the file from a backup, or take out that line',
    });
  }
}

function newer(place: string): PortolanError {
  return new PortolanError('PORTOLAN_STATE_NEWER', `${place} was written by a newer version`, {
    remedy: 'use the version that wrote it, or a newer one',
  });
}
