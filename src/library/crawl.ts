/**
 * A crawl as a program runs it: configured at once, begun by `run()` or by the first step of a loop over its pages, and closed when either ends.
 *
 * Invariants: a page is handed over only after the commit that holds it, and counts as taken when the next one is asked for, so each is handed over
 * at least once, over all runs of its directory. What waits is bounded, and a program that is slow slows the crawl. Nothing here touches signals or
 * the exit code of the process; threads, files and the lock are closed when the loop or `run()` is over.
 */
import { EventEmitter } from 'node:events';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { WarmThread } from '../adapters/node/threads.ts';
import { type CrawlHandle, type CrawlReport, runCrawl } from '../compose.ts';
import { type Config, type ConfigInput, type DeepReadonly, parseConfig } from '../config/schema.ts';
import { PortolanError } from '../core/errors.ts';
import type { CoordinatorEvents } from '../engine/coordinator.ts';
import type { DeliveryItem, DeliveryPlan } from '../engine/delivery.ts';
import { type CrawledPage, type DroppedUrl, deliveredOf } from './page.ts';
import { type CrawlProgress, type CrawlResult, errorOf, progressOf, resultOf } from './result.ts';

/** The keys of the configuration file (docs/CONFIG.md); what is left out has its default. */
export type CrawlConfig = DeepReadonly<ConfigInput>;

const PAGE_PARTS = ['body', 'text', 'links', 'headers'] as const;
export type PagePart = (typeof PAGE_PARTS)[number];

export interface CrawlOptions {
  /** What a page brings beside its figures; each part costs memory and time. Default: none. */
  readonly parts?: readonly PagePart[];
  /** Module of hooks (see Hooks): an absolute path, or `new URL('./hooks.ts', import.meta.url)`. Every thread imports it. */
  readonly hooks?: URL | string;
  /** Pages that may wait for the program until the crawl waits for it; what is in flight then comes on top. At least 1, default 1,000. */
  readonly window?: number;
  /** Stops the crawl in an orderly way; the loop or `run()` then throws its reason. */
  readonly signal?: AbortSignal;
  /** Goes on in a directory that was begun with another scope. Default false. */
  readonly force?: boolean;
}

export interface CrawlEvents {
  /** A page, when it is handed to the loop; or without a loop. The listener is not waited for: use a loop where that matters. */
  page: [page: CrawledPage];
  dropped: [drop: DroppedUrl];
  /** Something that an operator should know, in words. */
  notice: [text: string];
  /** About four times a second. */
  progress: [progress: CrawlProgress];
  /** The last event of a run that has begun, a failed one included. */
  end: [result: CrawlResult];
}

const WINDOW = 1_000;

/** What only the command line needs. */
export interface CrawlInternals {
  readonly warm?: WarmThread | undefined;
  readonly events?: CoordinatorEvents;
  /** With the whole report, before `run()` resolves or throws. */
  readonly ended?: (report: CrawlReport) => void;
}

/**
 * A crawl into config.output.dir, which goes on where an earlier one in it has ended. Nothing is opened or fetched before `run()` or a loop. Throws
 * PORTOLAN_CONFIG_* for a configuration that is not right and PORTOLAN_LIBRARY_MISUSE or PORTOLAN_HOOKS_INVALID for such options.
 */
export function createCrawl(config: CrawlConfig, options: CrawlOptions = {}): Crawl {
  return new Crawl(parseConfig(config, 'createCrawl'), options);
}

interface Waiting {
  readonly shard: number;
  readonly item: DeliveryItem;
}

export class Crawl extends EventEmitter<CrawlEvents> implements AsyncIterable<CrawledPage> {
  readonly #config: Config;
  readonly #options: CrawlOptions;
  readonly #internals: CrawlInternals;
  readonly #hooks: string | undefined;
  readonly #queue: Waiting[] = [];
  #handle: CrawlHandle | undefined;
  #ended: Promise<CrawlResult> | undefined;
  #isLooping = false;
  /** The run is over, or the program has left: nothing more is handed over. */
  #isOver = false;
  #isPaused = false;
  #stops: 'no' | 'drained' | 'at-once' = 'no';
  #wake = (): void => {};

  /** @internal Use createCrawl. */
  constructor(config: Config, options: CrawlOptions, internals: CrawlInternals = {}) {
    super();
    checkOptions(options);
    this.#config = config;
    this.#options = options;
    this.#internals = internals;
    this.#hooks = options.hooks === undefined ? undefined : moduleUrl(options.hooks);
  }

  /**
   * Runs the crawl unless it runs already, and resolves when it has ended and everything is closed. Pages are made for listeners of `page` that are
   * there now, and for no one else. Not to be awaited within the loop, which it waits for. Throws PortolanError when the crawl cannot begin or has
   * failed, and the reason of the signal after an abort.
   */
  run(): Promise<CrawlResult> {
    // A promise of its own for each caller: one that nobody looks at is noticed.
    return this.#begin(this.listenerCount('page') > 0).then((result) => result);
  }

  /**
   * Runs the crawl page by page. A page counts as taken when the next one is asked for. Leaving the loop stops the crawl in an orderly way; the page at
   * which it was left and those that waited come again in the next run. Throws as `run()` does.
   */
  [Symbol.asyncIterator](): AsyncGenerator<CrawledPage, void, undefined> {
    this.#refuseIfBegun();
    return this.#pages();
  }

  #refuseIfBegun(): void {
    if (this.#ended === undefined) return;
    throw misuse('the crawl has begun already', 'loop over a crawl once, instead of run(); make another one with createCrawl');
  }

  async *#pages(): AsyncGenerator<CrawledPage, void, undefined> {
    this.#refuseIfBegun();
    this.#isLooping = true;
    const ended = this.#begin(true);
    try {
      for (let waiting = await this.#next(); waiting !== undefined; waiting = await this.#next()) {
        const delivered = deliveredOf(waiting.item.json, waiting.item.body);
        if (delivered.kind === 'drop') this.emit('dropped', delivered.drop);
        else {
          this.emit('page', delivered.page);
          yield delivered.page;
        }
        this.#handle?.given(waiting.shard, waiting.item.seq);
      }
    } finally {
      this.#leave();
      await ended.catch(() => {});
    }
    await ended;
  }

  /** Undefined when nothing more comes. */
  async #next(): Promise<Waiting | undefined> {
    while (!this.#isOver && this.#stops !== 'at-once') {
      const waiting = this.#handle === undefined ? undefined : this.#queue.shift();
      if (waiting !== undefined) return waiting;
      await new Promise<void>((wake) => {
        this.#wake = wake;
      });
    }
    return undefined;
  }

  /** Ends fetching in an orderly way: exchanges in flight end, and what was fetched is still handed over before the crawl is over. Idempotent. */
  stop(): void {
    if (this.#stops === 'no') this.#stops = 'drained';
    this.#handle?.stop();
  }

  /** Nothing new is fetched until `resume()`. */
  pause(): void {
    this.#isPaused = true;
    this.#handle?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#handle?.resume();
  }

  #begin(pages: boolean): Promise<CrawlResult> {
    if (this.#ended === undefined) {
      this.#ended = this.#go(this.#plan(pages));
      this.#ended.catch(() => {});
    }
    return this.#ended;
  }

  #plan(pages: boolean): DeliveryPlan | undefined {
    const drops = this.listenerCount('dropped') > 0;
    if (!pages && !drops) return undefined;
    const { parts = [], window = WINDOW } = this.#options;
    const has = (part: PagePart): boolean => pages && parts.includes(part);
    return { pages, drops, body: has('body'), text: has('text'), links: has('links'), headers: has('headers'), window };
  }

  async #go(delivery: DeliveryPlan | undefined): Promise<CrawlResult> {
    const { signal, force = false } = this.#options;
    const abort = (): void => this.#leave();
    try {
      signal?.throwIfAborted();
      const handle = await runCrawl(this.#config, {
        force,
        events: this.#internals.events ?? this.#events(),
        hooks: this.#hooks,
        delivery,
        items: (shard, items) => this.#receive(shard, items),
        ...(this.#internals.warm === undefined ? {} : { warm: this.#internals.warm }),
      });
      this.#handle = handle;
      if (signal?.aborted === true) this.#leave();
      signal?.addEventListener('abort', abort, { once: true });
      this.#catchUp(handle);
      const report = await handle.ended;
      this.#internals.ended?.(report);
      const result = resultOf(report);
      this.emit('end', result);
      if (report.error !== undefined) throw errorOf(report.error);
      signal?.throwIfAborted();
      return result;
    } finally {
      signal?.removeEventListener('abort', abort);
      this.#isOver = true;
      this.#wake();
    }
  }

  /** What was asked for while the threads started. */
  #catchUp(handle: CrawlHandle): void {
    if (this.#stops === 'at-once') handle.abandon();
    if (this.#stops !== 'no') handle.stop();
    if (this.#isPaused) handle.pause();
    this.#handOver();
  }

  /** The program takes nothing more. */
  #leave(): void {
    if (this.#isOver || this.#stops === 'at-once') return;
    this.#stops = 'at-once';
    this.#handle?.abandon();
    this.#handle?.stop();
    this.#wake();
  }

  #receive(shard: number, items: readonly DeliveryItem[]): void {
    for (const item of items) this.#queue.push({ shard, item });
    if (this.#handle !== undefined) this.#handOver();
  }

  /** To the loop, which asks for it; without one to the listeners, at once. */
  #handOver(): void {
    if (this.#isLooping) {
      this.#wake();
      return;
    }
    for (const { shard, item } of this.#queue.splice(0)) {
      if (this.#stops === 'at-once') return;
      const delivered = deliveredOf(item.json, item.body);
      if (delivered.kind === 'drop') this.emit('dropped', delivered.drop);
      else this.emit('page', delivered.page);
      this.#handle?.given(shard, item.seq);
    }
  }

  #events(): CoordinatorEvents {
    return {
      committed: () => {},
      notice: (_shard, text) => void this.emit('notice', text),
      progress: (_statuses, view) => {
        if (this.listenerCount('progress') > 0) this.emit('progress', progressOf(view));
      },
    };
  }
}

function checkOptions({ parts = [], window = WINDOW }: CrawlOptions): void {
  for (const part of parts) {
    if (!PAGE_PARTS.includes(part)) throw misuse(`a page has no part ${JSON.stringify(part)}`, `parts are ${PAGE_PARTS.join(', ')}`);
  }
  if (!Number.isInteger(window) || window < 1) throw misuse(`window is ${window}`, 'give a whole number of pages, at least 1');
}

function moduleUrl(module: URL | string): string {
  const text = String(module);
  if (/^file:\/\//.test(text)) return text;
  if (isAbsolute(text)) return pathToFileURL(text).href;
  throw new PortolanError('PORTOLAN_HOOKS_INVALID', `hooks: ${JSON.stringify(text)} is neither an absolute path nor a file: URL`, {
    remedy: "write new URL('./hooks.ts', import.meta.url)",
  });
}

function misuse(message: string, remedy: string): PortolanError {
  return new PortolanError('PORTOLAN_LIBRARY_MISUSE', message, { remedy });
}
