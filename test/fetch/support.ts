/** Real sockets for the tests of exchanges: a server that answers with scripted bytes, and a clock of the machine. */
import net from 'node:net';
import type { ExchangeRequest, ExchangeResult } from '../../src/fetch/exchange.ts';
import { runExchange } from '../../src/fetch/exchange.ts';
import { requestHeaders } from '../../src/fetch/headers.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Transport } from '../../src/ports/transport.ts';

export const realClock: Clock = {
  nowEpochMs: () => Date.now(),
  nowMonoMs: () => performance.now(),
  setTimer: (delayMs, fn) => {
    const timer = setTimeout(fn, delayMs);
    return () => clearTimeout(timer);
  },
};

export type Step =
  | { readonly send: string | Uint8Array }
  | { readonly waitMs: number }
  | { readonly drip: string; readonly everyMs: number }
  | { readonly flood: Uint8Array; readonly times: number }
  | { readonly end: 'fin' | 'rst' };

export interface RawServer {
  readonly port: number;
  readonly origin: string;
  /** Request heads as they came, per connection in order. */
  readonly requests: string[];
  /** Connections accepted so far. */
  connections(): number;
  /** Sockets open now. */
  open(): number;
  /** Bytes written to sockets, as far as the kernel took them. */
  sentBytes(): number;
  close(): Promise<void>;
}

const latin1 = (data: string | Uint8Array): Buffer => (typeof data === 'string' ? Buffer.from(data, 'latin1') : Buffer.from(data));

/** Answers each request head with the steps that `script` names for its path. */
export async function startRawServer(script: (path: string, nth: number) => readonly Step[], host = '127.0.0.1'): Promise<RawServer> {
  const requests: string[] = [];
  const sockets = new Set<net.Socket>();
  let connections = 0;
  let sent = 0;
  const server = net.createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('close', () => {
      sent += socket.bytesWritten;
      sockets.delete(socket);
    });
    socket.on('error', () => {});
    let head = '';
    socket.on('data', (data) => {
      head += data.toString('latin1');
      for (let end = head.indexOf('\r\n\r\n'); end !== -1; end = head.indexOf('\r\n\r\n')) {
        requests.push(head.slice(0, end + 4));
        const path = head.split(' ', 2)[1] ?? '';
        head = head.slice(end + 4);
        void play(socket, script(path, requests.length));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as net.AddressInfo;
  return {
    port,
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    requests,
    connections: () => connections,
    open: () => sockets.size,
    sentBytes: () => sent + [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, 0),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

async function play(socket: net.Socket, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if (socket.destroyed) return;
    if ('send' in step) socket.write(latin1(step.send));
    else if ('waitMs' in step) await new Promise((resolve) => setTimeout(resolve, step.waitMs));
    else if ('drip' in step) await drip(socket, step.drip, step.everyMs);
    else if ('flood' in step) await flood(socket, step.flood, step.times);
    else if (step.end === 'fin') socket.end();
    else socket.resetAndDestroy();
  }
}

async function drip(socket: net.Socket, text: string, everyMs: number): Promise<void> {
  for (const char of text) {
    if (socket.destroyed) return;
    socket.write(char);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** Writes as the peer takes it, and stops when the peer has gone. */
async function flood(socket: net.Socket, piece: Uint8Array, times: number): Promise<void> {
  for (let index = 0; index < times && !socket.destroyed; index += 1) {
    if (socket.write(piece)) continue;
    await new Promise<void>((resolve) => {
      socket.once('drain', resolve);
      socket.once('close', resolve);
    });
  }
}

export const LIMITS: ExchangeRequest['limits'] = {
  maxBodyBytes: 5_000_000,
  maxWireBytes: 5_000_000,
  connectTimeoutMs: 5_000,
  firstByteTimeoutMs: 10_000,
  stallTimeoutMs: 10_000,
  totalTimeoutMs: 30_000,
};

export interface FetchOptions extends Partial<Omit<ExchangeRequest, 'limits'>> {
  readonly limits?: Partial<ExchangeRequest['limits']>;
  readonly clock?: Clock;
}

export function makeRequest(origin: string, pathQuery: string, options: FetchOptions = {}): ExchangeRequest {
  return {
    origin,
    pathQuery,
    address: options.address ?? '127.0.0.1',
    headers: options.headers ?? requestHeaders({ userAgent: 'PortolanTest/1.0' }),
    isConditional: options.isConditional ?? false,
    limits: { ...LIMITS, ...options.limits },
    accept: options.accept ?? (() => true),
  };
}

export function fetchOnce(transport: Transport, origin: string, pathQuery: string, options: FetchOptions = {}): Promise<ExchangeResult> {
  return new Promise((resolve) => {
    runExchange(transport, options.clock ?? realClock, makeRequest(origin, pathQuery, options), resolve);
  });
}

export const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
