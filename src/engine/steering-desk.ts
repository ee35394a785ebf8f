/**
 * Carries out what an operator asks of a running crawl, one request after the other: check → make durable → put into force in every thread → answer.
 *
 * Invariant: what outlives the run is durable before it is in force, and in force in all threads before it is answered. A pause, its end and a stop
 * are carried out first and written down afterwards: the brakes work with a full disk as well. A run that ends meanwhile answers
 * `applied: false`; what was asked is then the next run's.
 */

import type { Config } from '../config/schema.ts';
import { counted } from '../core/counted.ts';
import type { Clock } from '../ports/clock.ts';
import type { Disk } from '../ports/disk.ts';
import { Blocklist } from '../scope/blocklist.ts';
import type { SeedMessage } from './coordinator.ts';
import { openScopeSeeds } from './crawl-open.ts';
import type { Steer } from './messages.ts';
import type { AddedSeedNumbers } from './seed-messages.ts';
import {
  applyRecord,
  blocklistWith,
  changeOf,
  encodeAnswer,
  parseRequest,
  refusalOf,
  requestId,
  type SteeringAnswer,
  type SteeringRequest,
} from './steering.ts';
import type { SteeringLog } from './steering-log.ts';

/** Entries that `show` tells one by one. */
const SHOWN_MAX = 1_000;

/** The crawl as steering sees it. */
export interface SteeredCrawl {
  steer(message: Steer): Promise<boolean>;
  addSeeds(messages: readonly SeedMessage[]): boolean;
  stop(): void;
  notice(text: string): void;
}

export interface SteeringDeskOptions {
  readonly log: SteeringLog;
  /** Root of the crawl's directory. */
  readonly disk: Disk;
  readonly clock: Clock;
  readonly scopeMode: Config['scope']['mode'];
  /** Has numbered the seeds of the log already. */
  readonly numbers: AddedSeedNumbers;
  /** The blocklist file as it was read at the start. */
  readonly file: BlocklistFile | undefined;
  /** Told with `show`. */
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface BlocklistFile {
  readonly text: string;
  readonly file: string;
}

export class SteeringDesk {
  readonly #options: SteeringDeskOptions;
  readonly #crawl: SteeredCrawl;
  #file: BlocklistFile | undefined;
  #paused = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: SteeringDeskOptions, crawl: SteeredCrawl) {
    this.#options = options;
    this.#crawl = crawl;
    this.#file = options.file;
  }

  /** One line in, one line out; it never rejects. */
  answer(line: string): Promise<string> {
    return this.#inTurn(async () => {
      try {
        return encodeAnswer(await this.#carryOut(parseRequest(line)), requestId(line));
      } catch (error) {
        return encodeAnswer(refusalOf(error), requestId(line));
      }
    });
  }

  /** The blocklist file has another text. Rejects with PORTOLAN_BLOCKLIST_INVALID when both lists together go over a bound. */
  fileChanged(file: BlocklistFile): Promise<boolean> {
    return this.#inTurn(() => {
      const { blocks } = this.#options.log.state;
      checkBlocklist(file, blocks);
      this.#file = file;
      return this.#putRulesIntoForce();
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  async #carryOut(request: SteeringRequest): Promise<SteeringAnswer> {
    switch (request.verb) {
      case 'show':
        return this.#show();
      case 'pause':
      case 'resume':
      case 'stop':
        return this.#drive(request, request.verb);
      default:
        return this.#change(request);
    }
  }

  #show(): SteeringAnswer {
    const { blocks, delays, seeds } = this.#options.log.state;
    return {
      ...{ ok: true, verb: 'show', running: true, ...this.#options.facts, paused: this.#paused },
      ...{ blocks: blocks.slice(0, SHOWN_MAX), blocksTotal: blocks.length, delays },
      addedSeeds: seeds.reduce((sum, { urls }) => sum + urls.length, 0),
    };
  }

  async #drive(request: SteeringRequest, verb: 'pause' | 'resume' | 'stop'): Promise<SteeringAnswer> {
    let applied = true;
    if (verb === 'stop') this.#crawl.stop();
    else {
      this.#paused = verb === 'pause';
      applied = await this.#crawl.steer({ type: verb });
    }
    this.#crawl.notice(`${DRIVEN[verb]} by ${who(request)}`);
    await this.#write(request).catch((error: unknown) => {
      this.#crawl.notice(`${verb} is in force, and could not be written down: ${(error as Error).message}`);
    });
    return { ok: true, verb, applied };
  }

  async #change(request: SteeringRequest): Promise<SteeringAnswer> {
    const change = changeOf(this.#options.log.state, request);
    if (change === undefined) return { ok: true, verb: request.verb, applied: true, changed: 0 };
    const blocks = applyRecord(this.#options.log.state, { ...change, atMs: 0 }).blocks;
    if (change.verb === 'block') checkBlocklist(this.#file, blocks);
    const atMs = await this.#write(change);
    const applied = change.verb === 'seeds' ? await this.#addSeeds(change.urls, atMs) : await this.#putRulesIntoForce();
    this.#crawl.notice(`${words(change)} by ${who(change)}`);
    return { ok: true, verb: change.verb, applied, changed: itemsOf(change) };
  }

  async #write(request: SteeringRequest): Promise<number> {
    const atMs = this.#options.clock.nowEpochMs();
    await this.#options.log.append({ ...request, atMs });
    return atMs;
  }

  #putRulesIntoForce(): Promise<boolean> {
    const { blocks, delays } = this.#options.log.state;
    return this.#crawl.steer({ type: 'rules', blocklist: blocklistWith(this.#file, blocks), hostDelays: delays });
  }

  /** The scope is widened everywhere before the first of them is fetched, so that none of their links is refused. */
  async #addSeeds(urls: readonly string[], atMs: number): Promise<boolean> {
    const { disk, scopeMode, numbers } = this.#options;
    const messages = numbers.next(urls, atMs);
    await openScopeSeeds(disk, scopeMode, urls);
    const isWider = await this.#crawl.steer({ type: 'areas', seeds: urls });
    return isWider && this.#crawl.addSeeds(messages);
  }
}

const DRIVEN = { pause: 'paused', resume: 'resumed', stop: 'told to stop' } as const;

/** Throws PORTOLAN_BLOCKLIST_INVALID: each entry is right by itself, and all of them together may be too many. */
function checkBlocklist(file: BlocklistFile | undefined, blocks: readonly string[]): void {
  const list = blocklistWith(file, blocks);
  if (list !== undefined) Blocklist.parse(list.text, list.file);
}

export function itemsOf(request: SteeringRequest): number {
  if (request.verb === 'block' || request.verb === 'unblock') return request.entries.length;
  if (request.verb === 'seeds') return request.urls.length;
  return request.verb === 'set' ? Object.keys(request.delays).length : 0;
}

function who({ uid }: SteeringRequest): string {
  return uid < 0 ? 'an operator' : `user ${uid}`;
}

function words(change: SteeringRequest): string {
  switch (change.verb) {
    case 'block':
      return `${listed(change.entries)} blocked`;
    case 'unblock':
      return `${listed(change.entries)} no longer blocked`;
    case 'seeds':
      return `${counted(change.urls.length, 'seed')} added (${listed(change.urls)})`;
    case 'set':
      return listed(Object.entries(change.delays).map(([host, ms]) => `delay.${host} set to ${ms === null ? 'the default' : `${ms} ms`}`));
    default:
      return change.verb;
  }
}

function listed(items: readonly string[]): string {
  const [first = ''] = items;
  return items.length <= 1 ? first : `${first} and ${items.length - 1} more`;
}
