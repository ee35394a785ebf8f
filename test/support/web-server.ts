/**
 * A scriptable web on loopback addresses: any number of hosts on one port, told apart by the address that was connected to and by the Host header.
 * Pages are functions of the request, so that a test can say what happens on the first, second and third fetch. Every exchange ends in the access log,
 * whatever became of it.
 *
 * It listens on the addresses it is given and on nothing else. It does not speak TLS or HTTP/2.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type Access, AccessLog } from './access-log.ts';

export interface WebHost {
  /** Host name without port. A host without a name answers to its address. */
  readonly name?: string;
  /** 127.x.y.z; several hosts may share one. */
  readonly address: string;
  /** Body of robots.txt, a reply of its own, or undefined for 404. */
  readonly robots?: string | WebReply | ((request: WebRequest) => WebReply);
  /** Answers everything else; undefined is 404. */
  readonly page: (request: WebRequest) => WebReply | undefined;
  /** Time before each response begins, in ms. */
  readonly delayMs?: number;
}

export interface WebRequest {
  /** Path and query as sent. */
  readonly path: string;
  readonly host: string;
  readonly headers: IncomingMessage['headers'];
  /** How often this path of this host has been asked for, this time included. */
  readonly nth: number;
  /** Number of the request on its connection, from 1. */
  readonly nthOnConnection: number;
  /** host:port of this server, for absolute links. */
  readonly authority: string;
}

export interface WebReply {
  readonly status?: number;
  /** With transfer-encoding: chunked the body has no Content-Length. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Uint8Array;
  readonly delayMs?: number;
  /** What goes wrong; without it the reply is sent whole. */
  readonly fault?:
    | { readonly kind: 'reset'; readonly afterBytes?: number } // RST; without afterBytes before the status line
    | { readonly kind: 'close'; readonly afterBytes: number } // FIN in the middle of the body
    | { readonly kind: 'stall'; readonly afterBytes?: number } // nothing more, until the client goes; without afterBytes not even a status line
    | { readonly kind: 'endless'; readonly piece: string } // a chunked body that never ends
    | { readonly kind: 'wrong-length'; readonly length: number } // Content-Length that the body does not have
    | { readonly kind: 'raw'; readonly bytes: string | Uint8Array }; // these bytes instead of an HTTP response, then FIN
}

export interface WebServer {
  readonly port: number;
  readonly log: AccessLog;
  /** http://name:port of a host. */
  origin(name: string): string;
  /** Arguments for --resolve, one per named host. */
  resolves(): readonly string[];
  /** Connections open now. */
  connections(): number;
  /** Resolves when no exchange is open, so that the log holds all that clients have seen. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export interface WebServerOptions {
  readonly hosts: readonly WebHost[];
  /** 0 takes a free one. */
  readonly port?: number;
  /** Called with each access as it ends, beside the log. */
  readonly onAccess?: (access: Access) => void;
}

interface Connection {
  readonly id: number;
  requests: number;
}

interface Sent {
  status: number;
  whole: boolean;
  /** We broke the connection off, at endMs. */
  wasReset: boolean;
  /** Just before the last byte was handed over: no client can have ended the exchange sooner, so no pause is measured too short. */
  endMs: number;
}

export async function startWebServer(options: WebServerOptions): Promise<WebServer> {
  const log = new AccessLog();
  const sockets = new Map<Socket, Connection>();
  const counts = new Map<string, number>();
  const byName = new Map(options.hosts.map((host) => [host.name ?? host.address, host]));
  const waiting: (() => void)[] = [];
  let open = 0;
  let connectionIds = 0;
  let port = options.port ?? 0;

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const connection = sockets.get(request.socket);
    if (connection === undefined) return;
    connection.requests++;
    const hostHeader = (request.headers.host ?? '').toLowerCase();
    const name = hostHeader.replace(/:\d+$/, '');
    const path = request.url ?? '/';
    const key = `${hostHeader}${path}`;
    const nth = (counts.get(key) ?? 0) + 1;
    counts.set(key, nth);
    const startMs = preciseNow();
    const { remotePort = 0, localAddress = '' } = request.socket;
    const seen = {
      host: hostHeader,
      address: `${localAddress}:${port}`,
      method: request.method ?? '',
      path,
      startMs,
      remotePort,
      headers: request.headers,
    };
    const place = { connection: connection.id, nth: connection.requests };
    const sent: Sent = { status: 0, whole: false, wasReset: false, endMs: 0 };
    open++;
    onceDone(response, request.socket, () => {
      const access: Access = { ...seen, ...place, ...sent, endMs: sent.whole || sent.wasReset ? sent.endMs : preciseNow() };
      log.add(access);
      options.onAccess?.(access);
      if (--open === 0) for (const wake of waiting.splice(0)) wake();
    });
    const host = byName.get(name);
    const asked = { path, host: hostHeader, headers: request.headers, nth, nthOnConnection: place.nth, authority: `${name}:${port}` };
    const reply = replyOf(host, asked);
    const delayMs = reply.delayMs ?? host?.delayMs ?? 0;
    if (delayMs === 0) send(response, request.socket, reply, sent);
    else setTimeout(() => send(response, request.socket, reply, sent), delayMs).unref();
  };

  const servers: Server[] = [];
  for (const address of new Set(options.hosts.map((host) => host.address))) {
    const server = createServer({ keepAliveTimeout: 60_000 }, answer);
    server.on('connection', (socket) => {
      sockets.set(socket, { id: ++connectionIds, requests: 0 });
      socket.on('error', () => {}); // clients that are killed reset their connections
      socket.once('close', () => sockets.delete(socket));
    });
    port = await listen(server, address, port);
    servers.push(server);
  }
  return {
    port,
    log,
    origin: (name) => `http://${name}:${port}`,
    resolves: () => options.hosts.flatMap((host) => (host.name === undefined ? [] : [`${host.name}:${host.address}`])),
    connections: () => sockets.size,
    idle: () => (open === 0 ? Promise.resolve() : new Promise((done) => waiting.push(done))),
    close: async () => {
      for (const socket of sockets.keys()) socket.destroy();
      await Promise.all(servers.map((server) => new Promise<void>((done) => server.close(() => done()))));
    },
  };
}

function listen(server: Server, address: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: address, port, backlog: 1_024 }, () => resolve((server.address() as AddressInfo).port));
  });
}

function replyOf(host: WebHost | undefined, request: WebRequest): WebReply {
  if (host === undefined) return { status: 421, body: 'no such host here' };
  if (request.path !== '/robots.txt') return host.page(request) ?? notFound();
  if (host.robots === undefined) return notFound();
  if (typeof host.robots === 'function') return host.robots(request);
  return typeof host.robots === 'string' ? { headers: { 'content-type': 'text/plain' }, body: host.robots } : host.robots;
}

function send(response: ServerResponse, socket: Socket, reply: WebReply, sent: Sent): void {
  if (socket.destroyed) return;
  const { fault } = reply;
  const body = Buffer.from(reply.body ?? '');
  const status = reply.status ?? 200;
  const headers: Record<string, string | string[]> = { 'content-type': 'text/html; charset=utf-8', ...reply.headers };
  if (fault === undefined) {
    sent.status = status;
    response.once('finish', () => {
      sent.whole = true;
    });
    if (headers['transfer-encoding'] === undefined) headers['content-length'] = String(body.length);
    response.writeHead(status, headers);
    sent.endMs = preciseNow();
    response.end(body);
    return;
  }
  if (fault.kind === 'raw') {
    socket.end(fault.bytes);
    return;
  }
  if ((fault.kind === 'reset' || fault.kind === 'stall') && fault.afterBytes === undefined) {
    if (fault.kind === 'reset') breakOff(socket, sent);
    return;
  }
  sent.status = status;
  if (fault.kind === 'endless') {
    response.writeHead(status, headers);
    pour(response, fault.piece);
    return;
  }
  const length = fault.kind === 'wrong-length' ? fault.length : body.length;
  const cut = fault.kind === 'wrong-length' ? body : body.subarray(0, fault.afterBytes ?? 0);
  // The bytes go to the socket by hand: http.ServerResponse corrects or refuses what is wrong on purpose.
  const lines = Object.entries({ ...headers, 'content-length': String(length) }).flatMap(([name, value]) =>
    (typeof value === 'string' ? [value] : value).map((one) => `${name}: ${one}\r\n`),
  );
  socket.write(`HTTP/1.1 ${status} Told\r\n${lines.join('')}\r\n`);
  socket.write(cut, () => {
    if (fault.kind === 'reset') breakOff(socket, sent);
    if (fault.kind === 'close' || fault.kind === 'wrong-length') socket.end();
  });
}

function breakOff(socket: Socket, sent: Sent): void {
  sent.endMs = preciseNow();
  sent.wasReset = true;
  socket.resetAndDestroy();
}

/** Writes the piece for as long as the client reads. */
function pour(response: ServerResponse, piece: string): void {
  while (!response.destroyed) {
    if (!response.write(piece)) {
      response.once('drain', () => pour(response, piece));
      return;
    }
  }
}

/** Calls once, when the response has been handed over whole or its connection is gone. */
function onceDone(response: ServerResponse, socket: Socket, done: () => void): void {
  let called = false;
  const once = (): void => {
    if (called) return;
    called = true;
    socket.off('close', once);
    done();
  };
  response.once('finish', () => setImmediate(once)); // after the listener that marks it whole
  socket.once('close', once);
}

/** Epoch ms with fractions of a millisecond, monotonic within the process. */
function preciseNow(): number {
  return performance.timeOrigin + performance.now();
}

// Replies that many tests use.

export function notFound(): WebReply {
  return { status: 404, body: '<!DOCTYPE html><title>not found</title>' };
}

/** A page with links, a title and text of its own. */
export function page(title: string, links: readonly string[] = [], text = ''): WebReply {
  const items = links.map((href) => `<li><a href="${href.replaceAll('&', '&amp;')}">${title} leads on</a></li>`);
  return { body: `<!DOCTYPE html><title>${title}</title><h1>${title}</h1><p>${text}</p><ul>\n${items.join('\n')}\n</ul>` };
}

export function redirect(to: string, status = 302): WebReply {
  return { status, headers: { location: to } };
}

/** Sends the client to the same URL with a cookie until it comes back with it. */
export function redirectUntilCookie(request: WebRequest, behind: WebReply): WebReply {
  if (request.headers.cookie?.includes('been=here') === true) return behind;
  return { status: 302, headers: { location: request.path, 'set-cookie': 'been=here; Path=/' } };
}

/** 503, or 429 with that status; Retry-After as seconds or as an HTTP date. */
export function unavailable(retryAfter?: string, status = 503): WebReply {
  return { status, headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter } };
}

export function gzipped(reply: WebReply): WebReply {
  return { ...reply, body: gzipSync(reply.body ?? ''), headers: { ...reply.headers, 'content-encoding': 'gzip' } };
}
