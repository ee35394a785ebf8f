/**
 * Headless Chromium, spoken to over its DevTools protocol: one page of a local file, in a given width and colour scheme. No driver is needed: Node has
 * a WebSocket of its own.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const START_MS = 30_000;
const ANSWER_MS = 30_000;

/** The program's path; undefined when there is none. */
export function findChromium(): string | undefined {
  for (const name of NAMES) {
    const found = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
    if (found.status === 0) return found.stdout.trim();
  }
  return undefined;
}

type Message = Readonly<Record<string, unknown>>;

export class Chromium {
  readonly #child: ChildProcess;
  readonly #profile: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, { readonly done: (result: Message) => void; readonly failed: (error: Error) => void }>();
  readonly #listeners = new Set<(method: string, params: Message) => void>();
  #nextId = 1;

  private constructor(child: ChildProcess, profile: string, socket: WebSocket) {
    this.#child = child;
    this.#profile = profile;
    this.#socket = socket;
    socket.addEventListener('message', (event) => this.#receive(JSON.parse(String(event.data)) as Message));
  }

  static async start(program: string): Promise<Chromium> {
    const profile = mkdtempSync(join(tmpdir(), 'portolan-chromium-'));
    const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--disable-extensions'];
    const child = spawn(program, [...flags, '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'], {
      stdio: 'ignore',
      detached: true,
    });
    try {
      return new Chromium(child, profile, await connect(await addressOf(profile)));
    } catch (error) {
      end(child, profile);
      throw error;
    }
  }

  #receive(message: Message): void {
    const { id, method, params, result, error } = message as {
      id?: number;
      method?: string;
      params?: Message;
      result?: Message;
      error?: Message;
    };
    if (id === undefined) {
      for (const listener of this.#listeners) listener(method ?? '', params ?? {});
      return;
    }
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.done(result ?? {});
    else waiting?.failed(new Error(JSON.stringify(error)));
  }

  #call(method: string, params: Message = {}, sessionId?: string): Promise<Message> {
    const id = this.#nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    const timer = setTimeout(() => reject(new Error(`${method} has no answer after ${ANSWER_MS} ms`)), ANSWER_MS);
    this.#waiting.set(id, { done: resolve, failed: reject });
    this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId === undefined ? {} : { sessionId }) }));
    return promise.finally(() => clearTimeout(timer));
  }

  /** Opens a page and waits until it has loaded. */
  async open(
    url: string,
    view: { readonly width: number; readonly height: number; readonly scheme: 'light' | 'dark' },
  ): Promise<ChromiumPage> {
    const { targetId } = (await this.#call('Target.createTarget', { url: 'about:blank' })) as { targetId: string };
    const { sessionId } = (await this.#call('Target.attachToTarget', { targetId, flatten: true })) as { sessionId: string };
    const call = (method: string, params: Message = {}): Promise<Message> => this.#call(method, params, sessionId);
    const complaints: string[] = [];
    const requests: string[] = [];
    const { promise: loaded, resolve } = Promise.withResolvers<void>();
    const listener = (method: string, params: Message): void => {
      if (method === 'Page.loadEventFired') resolve();
      if (method === 'Runtime.exceptionThrown' || method === 'Runtime.consoleAPICalled') complaints.push(JSON.stringify(params));
      if (method === 'Log.entryAdded') complaints.push(JSON.stringify((params as { entry: unknown }).entry));
      if (method === 'Network.requestWillBeSent') requests.push((params as { request: { url: string } }).request.url);
    };
    this.#listeners.add(listener);
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await call(`${domain}.enable`);
    await call('Emulation.setDeviceMetricsOverride', { width: view.width, height: view.height, deviceScaleFactor: 1, mobile: false });
    await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: view.scheme }] });
    await call('Page.navigate', { url });
    await loaded;
    return {
      complaints,
      requests,
      evaluate: async <T>(expression: string): Promise<T> => {
        const { result, exceptionDetails } = (await call('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true })) as {
          result: { value: T };
          exceptionDetails?: unknown;
        };
        assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
        return result.value;
      },
      screenshot: async () => {
        const { data } = (await call('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true })) as { data: string };
        return Buffer.from(data, 'base64');
      },
      close: async () => {
        this.#listeners.delete(listener);
        await this.#call('Target.closeTarget', { targetId });
      },
    };
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => void this.#child.once('exit', resolve));
    this.#socket.close();
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      killGroup(this.#child);
      await ended;
    }
    end(this.#child, this.#profile);
  }
}

export interface ChromiumPage {
  /** Everything the page wrote to the console or was blamed for. */
  readonly complaints: readonly string[];
  /** URLs that were asked for. */
  readonly requests: readonly string[];
  evaluate<T>(expression: string): Promise<T>;
  /** PNG of the whole page. */
  screenshot(): Promise<Buffer>;
  close(): Promise<void>;
}

/** Chromium writes where it listens into its profile. */
async function addressOf(profile: string): Promise<string> {
  const file = join(profile, 'DevToolsActivePort');
  for (const until = Date.now() + START_MS; Date.now() < until; ) {
    const [port, path] = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    if (port !== undefined && path !== undefined) return `ws://127.0.0.1:${port}${path}`;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`Chromium does not listen after ${START_MS} ms`);
}

function connect(address: string): Promise<WebSocket> {
  const socket = new WebSocket(address);
  return new Promise((resolve, reject) => {
    socket.addEventListener('open', () => resolve(socket));
    socket.addEventListener('error', () => reject(new Error(`no connection to Chromium at ${address}`)));
  });
}

function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function end(child: ChildProcess, profile: string): void {
  killGroup(child);
  rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}
