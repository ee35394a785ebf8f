/**
 * HTTP/1.1 over undici's dispatch: one `Client`, hence one connection, per (origin, address).
 *
 * Invariant: a request is written only to a socket whose peer is the address that was vetted (connector.ts), at most one at a time, and
 * never twice: HTTP/2 is off, nothing is retried, no redirect is followed. `onEnd` is called exactly once per exchange, and when it is
 * called the connection is idle or on its way to being closed.
 *
 * Life of a connection: opened by the first exchange, kept while its host holds a slot (`release` ends that), closed when idle longer
 * than `keepAliveMs` or than the server's own hint less a second, when it is the least recently used one and `maxConnections` is reached,
 * and after any answer whose end is in doubt (broken off, failed, bytes after a bodiless answer).
 *
 * undici's timers tick twice a second and miss by up to a second, so they are off and one timer of Node per exchange watches its phase:
 * connecting (TLS included), waiting for the head, pause in the body. The limit of a whole exchange is the caller's.
 *
 * Not done here: decoding, caps, DNS. An unasked-for `100 Continue` ends as protocol-error, since undici refuses it.
 */

import type net from 'node:net';
import type { Client, Dispatcher } from 'undici';
// The client alone: the package's index also loads fetch, WebSocket, caches and mocks, which doubles the time a thread takes to start. The version is
// pinned in package.json because of this path.
import UndiciClient from 'undici/lib/dispatcher/client.js';
import type { Transport, TransportEnd, TransportHandler, TransportRequest } from '../../ports/transport.ts';
import type { Dial, TlsOptions } from './connector.ts';
import { ConnectFailure, connectTo, dialTcp, TlsSessions } from './connector.ts';
import { type Site, SiteBook, type SiteProxy } from './sites.ts';

export interface UndiciTransportOptions {
  /** Connections at most, idle ones included; the least recently used idle one is closed for a new one. Default 10,000. */
  readonly maxConnections?: number;
  /** Longest idle life of a connection in milliseconds, when the server names none. Default 30,000. */
  readonly keepAliveMs?: number;
  /** Bytes of one response head at most; more is a protocol-error. Default 65,536 (undici: 16,384, which real cookies exceed). */
  readonly maxHeadBytes?: number;
  /** Accepts certificates that prove nothing. Default false. */
  readonly insecureTls?: boolean;
  /** Certificate authorities in PEM, in place of the built-in ones. */
  readonly ca?: string | readonly string[];
  /** What is another for single hosts; asked once for each connection. Undefined: nothing is. */
  readonly site?: (hostKey: string) => Site | undefined;
  /** Opens the TCP connection; tests play a lying network with it. */
  readonly dial?: Dial;
}

/** TLS sessions kept for resumption. */
const TLS_SESSIONS_MAX = 10_000;
/** 407 (RFC 9110 section 15.5.8): the proxy's own word, which says nothing of the host. */
const PROXY_REFUSES = 407;
/** A server that says it keeps a connection for n seconds is believed n - 1: its clock runs while our request travels. */
const KEEP_ALIVE_MARGIN_MS = 1_000;

export function createUndiciTransport(options: UndiciTransportOptions = {}): Transport {
  return new UndiciTransport(options);
}

class UndiciTransport implements Transport {
  readonly #connectionsMax: number;
  readonly #shared: Shared;
  /** origin → address → connection */
  readonly #connections = new Map<string, Map<string, Connection>>();
  #count = 0;
  /** In the order in which they became idle. */
  readonly #idle = new Set<Connection>();
  /** Dropped connections whose sockets are still closing. */
  readonly #closing = new Set<Promise<void>>();
  #closed = false;

  constructor(options: UndiciTransportOptions) {
    this.#connectionsMax = Math.max(1, options.maxConnections ?? 10_000);
    this.#shared = {
      keepAliveMs: options.keepAliveMs ?? 30_000,
      maxHeadBytes: options.maxHeadBytes ?? 65_536,
      dial: options.dial ?? dialTcp,
      tls: { insecure: options.insecureTls ?? false, ...(options.ca === undefined ? {} : { ca: options.ca }) },
      sessions: new TlsSessions(TLS_SESSIONS_MAX),
      sites: new SiteBook(options.site),
      openSockets: 0,
      idle: (connection) => this.#onIdle(connection),
      socketClosed: (connection) => this.#onSocketClosed(connection),
    };
  }

  start(request: TransportRequest, handler: TransportHandler): () => void {
    const connection = this.#closed ? undefined : this.#take(request.origin, request.address);
    if (connection === undefined) return refuse(handler, this.#closed ? 'the transport is closed' : this.#allBusy());
    return connection.run(request, handler);
  }

  release(origin: string): void {
    for (const connection of [...(this.#connections.get(origin)?.values() ?? [])]) {
      if (this.#idle.has(connection)) this.#drop(connection);
      else connection.closeWhenIdle = true;
    }
  }

  openConnections(): number {
    return this.#shared.openSockets;
  }

  /** Breaks off what is under way (`aborted`) and resolves when every socket is closed. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const ofOrigin of [...this.#connections.values()]) for (const connection of [...ofOrigin.values()]) this.#drop(connection);
    await Promise.all(this.#closing);
  }

  #allBusy(): string {
    return `all ${this.#connectionsMax} connections are busy`;
  }

  #take(origin: string, address: string): Connection | undefined {
    const known = this.#connections.get(origin)?.get(address);
    if (known !== undefined) {
      this.#idle.delete(known);
      known.closeWhenIdle = false;
      return known;
    }
    if (this.#count >= this.#connectionsMax && !this.#dropOldestIdle()) return undefined;
    const made = new Connection(origin, address, this.#shared);
    const ofOrigin = this.#connections.get(origin);
    if (ofOrigin === undefined) this.#connections.set(origin, new Map([[address, made]]));
    else ofOrigin.set(address, made);
    this.#count += 1;
    return made;
  }

  #dropOldestIdle(): boolean {
    for (const oldest of this.#idle) {
      this.#drop(oldest);
      return true;
    }
    return false;
  }

  #onIdle(connection: Connection): void {
    if (connection.dropped) return;
    if (connection.closeWhenIdle || !connection.hasSocket()) this.#drop(connection);
    else this.#idle.add(connection);
  }

  #onSocketClosed(connection: Connection): void {
    if (this.#idle.has(connection)) this.#drop(connection);
  }

  #drop(connection: Connection): void {
    if (connection.dropped) return;
    this.#idle.delete(connection);
    const ofOrigin = this.#connections.get(connection.origin);
    ofOrigin?.delete(connection.address);
    if (ofOrigin?.size === 0) this.#connections.delete(connection.origin);
    this.#count -= 1;
    const closing = connection.destroy().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}

/** What the connections of one transport have in common. */
interface Shared {
  readonly keepAliveMs: number;
  readonly maxHeadBytes: number;
  readonly dial: Dial;
  readonly tls: TlsOptions;
  readonly sessions: TlsSessions;
  readonly sites: SiteBook;
  openSockets: number;
  readonly idle: (connection: Connection) => void;
  readonly socketClosed: (connection: Connection) => void;
}

/** One undici client, bound to one address. */
class Connection {
  readonly origin: string;
  readonly address: string;
  closeWhenIdle = false;
  dropped = false;
  readonly #shared: Shared;
  readonly #client: Client;
  readonly #tls: TlsOptions;
  readonly #proxy: SiteProxy | undefined;
  readonly #exchanges = new Set<Exchange>();
  #socket: net.Socket | undefined;
  #remoteAddress = '';
  /** Answers received whole over the socket that is open now. */
  #answers = 0;
  #giveUpConnecting: ((failure: ConnectFailure) => void) | undefined;

  constructor(origin: string, address: string, shared: Shared) {
    this.origin = origin;
    this.address = address;
    this.#shared = shared;
    const site = shared.sites.of(origin);
    this.#tls = site?.tls ?? shared.tls;
    this.#proxy = site?.proxy;
    this.#client = new UndiciClient(origin, {
      pipelining: 1,
      allowH2: false,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: shared.keepAliveMs,
      keepAliveMaxTimeout: shared.keepAliveMs,
      keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
      maxHeaderSize: shared.maxHeadBytes,
      connect: (_options, callback) => this.#connect(callback),
    });
  }

  run(request: TransportRequest, handler: TransportHandler): () => void {
    const exchange = new Exchange(request, handler, this);
    this.#exchanges.add(exchange);
    exchange.dispatchTo(this.#client);
    return () => exchange.abort('aborted', 'broken off by the caller');
  }

  /** The proxy that requests are handed to as a whole, since they are not tunnelled through it. */
  get forwarder(): SiteProxy | undefined {
    return this.origin.startsWith('http:') ? this.#proxy : undefined;
  }

  get remoteAddress(): string {
    return this.#remoteAddress;
  }

  /** The socket has served an exchange before: a reset before any answer then tells of a server that closed it while idle. */
  isKept(): boolean {
    return this.#answers > 0;
  }

  answered(): void {
    this.#answers += 1;
  }

  hasSocket(): boolean {
    return this.#socket !== undefined && !this.#socket.destroyed;
  }

  /** Gives up an attempt to connect; undici then fails the exchanges that wait for it. */
  giveUpConnecting(failure: ConnectFailure): void {
    this.#giveUpConnecting?.(failure);
  }

  exchangeEnded(exchange: Exchange): void {
    this.#exchanges.delete(exchange);
    if (this.#exchanges.size === 0) this.#shared.idle(this);
  }

  destroy(): Promise<void> {
    this.dropped = true;
    for (const exchange of [...this.#exchanges]) exchange.abort('aborted', 'the transport is closed');
    this.giveUpConnecting(new ConnectFailure('aborted', 'the connection is given up'));
    return this.#client.destroy();
  }

  #connect(callback: (...outcome: [null, net.Socket] | [Error, null]) => void): void {
    const { dial, sessions } = this.#shared;
    const wanted = { origin: this.origin, address: this.address, dial, tls: this.#tls, sessions, proxy: this.#proxy };
    this.#giveUpConnecting = connectTo(wanted, (failure, socket) => {
      this.#giveUpConnecting = undefined;
      if (socket === undefined) callback(failure ?? new ConnectFailure('connect-failed', 'no socket'), null);
      else {
        this.#adopt(socket);
        callback(null, socket);
      }
    });
  }

  #adopt(socket: net.Socket): void {
    this.#socket = socket;
    this.#answers = 0;
    this.#remoteAddress = socket.remoteAddress ?? this.address;
    this.#shared.openSockets += 1;
    socket.once('close', () => {
      this.#shared.openSockets -= 1;
      if (this.#socket !== socket) return;
      this.#socket = undefined;
      // Not within the event: undici waits for it too, and a client destroyed before it has heard of it would wait for ever.
      process.nextTick(() => this.#shared.socketClosed(this));
    });
  }
}

type Phase = 'connect' | 'head' | 'body' | 'ended';
type FailureCode = Extract<TransportEnd, { kind: 'error' }>['code'];

/** One request with its answer: undici's handler on one side, the port's on the other. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #request: TransportRequest;
  readonly #handler: TransportHandler;
  readonly #connection: Connection;
  #phase: Phase = 'connect';
  #isDispatched = false;
  #timer: NodeJS.Timeout | undefined;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(request: TransportRequest, handler: TransportHandler, connection: Connection) {
    this.#request = request;
    this.#handler = handler;
    this.#connection = connection;
  }

  dispatchTo(client: Client): void {
    this.#watch(this.#request.connectTimeoutMs);
    const { path, headers, origin } = this.#request;
    const { forwarder } = this.#connection;
    const flat = flatten(headers);
    if (forwarder?.authorization !== undefined) flat.push('Proxy-Authorization', forwarder.authorization);
    client.dispatch({ method: 'GET', path: forwarder === undefined ? path : origin + path, headers: flat }, this);
    this.#isDispatched = true;
  }

  abort(code: FailureCode, detail: string): void {
    if (this.#phase === 'ended') return;
    const wasConnecting = this.#phase === 'connect' && this.#controller === undefined;
    this.#phase = 'ended';
    clearTimeout(this.#timer);
    if (wasConnecting) this.#connection.giveUpConnecting(new ConnectFailure(code, detail));
    else this.#controller?.abort(new ConnectFailure(code, detail));
    this.#settle({ kind: 'error', code, detail });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#phase === 'ended') {
      controller.abort(new ConnectFailure('aborted', 'broken off before it began'));
      return;
    }
    this.#phase = 'head';
    this.#watch(this.#request.firstByteTimeoutMs);
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _headers: unknown, statusText?: string): void {
    if (this.#phase !== 'head' || status < 200) return;
    if (status === PROXY_REFUSES && this.#connection.forwarder !== undefined) {
      this.abort('connect-failed', 'the proxy wants a user name and a password, or others');
      return;
    }
    this.#phase = 'body';
    this.#watch(this.#request.stallTimeoutMs);
    const headers = latin1Headers(controller);
    // They are views into what the socket read, and undici holds the controller for as long as the request.
    controller.rawHeaders = null;
    this.#call(() => this.#handler.onHead(status, latin1Text(statusText ?? ''), headers, this.#connection.remoteAddress));
  }

  onResponseData(_controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (this.#phase !== 'body') return;
    this.#timer?.refresh();
    this.#call(() => this.#handler.onData(bytes));
  }

  onResponseEnd(): void {
    if (this.#phase === 'ended') return;
    this.#connection.answered();
    this.#end({ kind: 'done' });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    // A request that undici will not write fails within dispatch(): onEnd waits until start() has returned.
    if (!this.#isDispatched) process.nextTick(() => this.onResponseError(null, error));
    else if (this.#phase !== 'ended') this.#end(this.#toEnd(error));
  }

  #toEnd(error: Error): TransportEnd {
    const end = toEnd(error, this.#phase);
    const isLateClose = end.kind === 'error' && end.code === 'reset' && this.#phase === 'head' && this.#connection.isKept();
    return isLateClose ? { ...end, detail: `${end.detail} (on a kept connection)` } : end;
  }

  #end(end: TransportEnd): void {
    this.#phase = 'ended';
    clearTimeout(this.#timer);
    this.#settle(end);
  }

  #settle(end: TransportEnd): void {
    this.#connection.exchangeEnded(this);
    this.#controller = undefined;
    this.#timer = undefined;
    this.#call(() => this.#handler.onEnd(end));
  }

  /** One timer per phase; `#timer.refresh()` starts it again. */
  #watch(timeoutMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#onTimeout(timeoutMs), timeoutMs);
  }

  #onTimeout(timeoutMs: number): void {
    const what = { connect: 'no connection', head: 'no response head', body: 'no byte of the body', ended: '' }[this.#phase];
    this.abort('timeout', `${what} for ${timeoutMs} ms`);
  }

  /** undici turns what a handler throws into a failed request; a broken invariant must not look like a fault of the web. */
  #call(fn: () => void): void {
    try {
      fn();
    } catch (error) {
      process.nextTick(() => {
        throw error;
      });
      this.abort('aborted', 'the handler threw');
    }
  }
}

function refuse(handler: TransportHandler, detail: string): () => void {
  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    handler.onEnd({ kind: 'error', code: 'aborted', detail });
  };
  process.nextTick(end);
  return end;
}

function flatten(headers: TransportRequest['headers']): string[] {
  const flat: string[] = [];
  for (const [name, value] of headers) flat.push(name, value);
  return flat;
}

/** The bytes of a reason phrase, which undici has read as UTF-8; bytes that are no UTF-8 are lost to it. */
function latin1Text(utf8: string): string {
  return /^[ -~]*$/.test(utf8) ? utf8 : Buffer.from(utf8, 'utf8').toString('latin1');
}

/** Names and values as they came; undici's own record of them is lower-cased, merged and read as UTF-8. */
function latin1Headers(controller: Dispatcher.DispatchController): string[] {
  const raw = controller.rawHeaders;
  if (!Array.isArray(raw)) return [];
  return raw.map((part: Buffer | string) => (typeof part === 'string' ? part : part.toString('latin1')));
}

function toEnd(error: Error, phase: Phase): TransportEnd {
  if (error instanceof ConnectFailure) return { kind: 'error', code: error.end, detail: error.message };
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const detail = code === '' || error.message.includes(code) ? error.message : `${code}: ${error.message}`;
  return { kind: 'error', code: toFailureCode(error, code, phase), detail };
}

function toFailureCode(error: Error, code: string, phase: Phase): FailureCode {
  // llhttp's refusal; a connection that ends inside a chunked body comes as one as well.
  if (error.name === 'HTTPParserError') return error.message.includes('EOF') ? 'reset' : 'protocol-error';
  switch (code) {
    case 'UND_ERR_HEADERS_OVERFLOW':
    case 'UND_ERR_INVALID_ARG': // a path or header that cannot be written
      return 'protocol-error';
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH': // in the body: closed before its end; in the head: lengths that contradict one another
      return phase === 'body' ? 'reset' : 'protocol-error';
    case 'UND_ERR_SOCKET':
      return error.message.startsWith('bad ') ? 'protocol-error' : 'reset';
    case 'UND_ERR_DESTROYED':
    case 'UND_ERR_CLOSED':
      return 'aborted';
    case 'ETIMEDOUT':
      return 'timeout';
    default:
      return code.startsWith('ERR_SSL') || code === 'EPROTO' ? 'tls-failed' : 'reset';
  }
}
