/**
 * The web of a case: hosts on loopback addresses, answers by script, to the byte where the script says so. Each name has an address of its
 * own unless the case gives several names one address; every port that the case speaks of is played (see dial-shim.ts).
 *
 * It reads GET requests and nothing else, one at a time on a connection, and writes down each with its moment. An answer that does not end by
 * itself ends with its connection.
 */

import { STATUS_CODES } from 'node:http';
import net, { type AddressInfo, type Socket } from 'node:net';
import tls from 'node:tls';
import type { Certificate } from '../integration/secure-web.ts';
import {
  bytesOf,
  type Fields,
  type Findings,
  fieldsListOf,
  fieldsOf,
  headersOf,
  isFields,
  listOf,
  numberOf,
  repeated,
  show,
  textOf,
} from './format.ts';
import { bodyOf, GENERATED } from './web-bodies.ts';

export interface Request {
  /** scheme://host[:port]/path?query as asked for, the default port left out. */
  readonly url: string;
  /** Host name of the Host header, lower case, without port and root dot. */
  readonly host: string;
  readonly port: number;
  readonly scheme: 'http' | 'https';
  /** Path and query as sent. */
  readonly path: string;
  readonly address: string;
  /** Lower-case names; of several lines of a name the last. */
  readonly headers: ReadonlyMap<string, string>;
  /** Milliseconds, monotonic, when the request's head was read. */
  readonly startMs: number;
}

/** What is sent; `undefined` in place of one is 404. */
export type Answer = (request: Request) => Fields | undefined;

export interface WebOptions {
  /** name → address of the loopback range. */
  readonly hosts: ReadonlyMap<string, string>;
  /** port → scheme */
  readonly ports: ReadonlyMap<number, 'http' | 'https'>;
  readonly answer: Answer;
  readonly latencyMs: number;
  readonly certificate: Certificate | undefined;
  readonly findings: Findings;
}

export interface CaseWeb {
  readonly log: readonly Request[];
  /** Requests whose answer has not been sent whole. */
  openRequests(): number;
  /** While true, answers (robots.txt aside) wait. Setting it to false lets them go. */
  hold(held: boolean): void;
  /** Environment of a crawler that is to see this web. */
  readonly env: Readonly<Record<string, string>>;
  readonly resolves: readonly string[];
  readonly addresses: readonly string[];
  close(): Promise<void>;
}

const HEAD_BYTES_MAX = 65_536;

export async function startWeb(options: WebOptions): Promise<CaseWeb> {
  const web = new Web(options);
  await web.listen();
  return web;
}

class Web implements CaseWeb {
  readonly log: Request[] = [];
  readonly #options: WebOptions;
  readonly #servers: net.Server[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #played: Record<string, number> = {};
  #open = 0;
  #held: (() => void)[] | undefined;

  constructor(options: WebOptions) {
    this.#options = options;
  }

  get env(): Readonly<Record<string, string>> {
    const { certificate } = this.#options;
    return {
      NODE_OPTIONS: `--import=${new URL('./dial-shim.ts', import.meta.url).href}`,
      CASE_PORTS: JSON.stringify(this.#played),
      ...(certificate === undefined ? {} : { NODE_EXTRA_CA_CERTS: certificate.file }),
    };
  }

  get resolves(): readonly string[] {
    return [...this.#options.hosts].map(([name, address]) => `${name}:${address}`);
  }

  get addresses(): readonly string[] {
    return [...new Set(this.#options.hosts.values())].filter((address) => address.startsWith('127.77.'));
  }

  openRequests(): number {
    return this.#open;
  }

  hold(held: boolean): void {
    const waiting = this.#held ?? [];
    this.#held = held ? waiting : undefined;
    if (!held) for (const go of waiting) go();
  }

  async listen(): Promise<void> {
    for (const [port, scheme] of this.#options.ports) {
      for (const address of this.addresses) {
        const server = this.#serverFor(port, scheme, address);
        await new Promise<void>((done, failed) => {
          server.once('error', failed);
          server.listen({ host: address, port: this.#played[port] ?? 0, backlog: 1_024 }, done);
        });
        this.#played[port] ??= (server.address() as AddressInfo).port;
        this.#servers.push(server);
      }
    }
  }

  async close(): Promise<void> {
    this.hold(false);
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => new Promise<void>((done) => server.close(() => done()))));
  }

  #serverFor(port: number, scheme: 'http' | 'https', address: string): net.Server {
    const serve = (socket: Socket): void => this.#serve(socket, { port, scheme, address });
    const { certificate } = this.#options;
    if (scheme === 'http' || certificate === undefined) return net.createServer({ noDelay: true }, serve);
    const server = tls.createServer({ key: certificate.key, cert: certificate.cert }, serve);
    server.on('tlsClientError', () => {});
    return server;
  }

  #serve(socket: Socket, at: Pick<Request, 'port' | 'scheme' | 'address'>): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
    let read = Buffer.alloc(0);
    let busy = false;
    const next = async (): Promise<void> => {
      const end = read.indexOf('\r\n\r\n');
      if (busy || socket.destroyed || (end < 0 && read.length < HEAD_BYTES_MAX)) return;
      busy = true;
      const head = read.subarray(0, Math.max(end, 0)).toString('latin1');
      read = read.subarray(end < 0 ? read.length : end + 4);
      await this.#answer(socket, requestOf(head, at));
      busy = false;
      await next();
    };
    socket.on('data', (bytes: Buffer) => {
      read = Buffer.concat([read, bytes]);
      void next();
    });
  }

  async #answer(socket: Socket, request: Request): Promise<void> {
    this.log.push(request);
    this.#open++;
    try {
      if (this.#held !== undefined && request.path !== '/robots.txt') {
        const waiting = this.#held;
        await new Promise<void>((go) => void waiting.push(go));
      }
      await send(socket, this.#options.answer(request) ?? { status: 404, body: 'not found' }, this.#options);
    } catch (error) {
      this.#options.findings.fail(`the script of ${request.url} cannot be played: ${String(error)}`);
      socket.destroy();
    } finally {
      this.#open--;
    }
  }
}

function requestOf(head: string, at: Pick<Request, 'port' | 'scheme' | 'address'>): Request {
  const [first = '', ...lines] = head.split('\r\n');
  const path = first.split(' ')[1] ?? '/';
  const headers = new Map(lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]));
  const host = (headers.get('host') ?? at.address).toLowerCase().replace(/:\d+$/, '').replace(/\.$/, '');
  const usual = at.port === (at.scheme === 'https' ? 443 : 80);
  const url = `${at.scheme}://${host}${usual ? '' : `:${at.port}`}${path}`;
  return { ...at, url, host, path, headers, startMs: performance.now() };
}

// Answers

async function send(socket: Socket, reply: Fields, { latencyMs, findings }: WebOptions): Promise<void> {
  await pause((numberOf(reply, 'delay_ms') ?? 0) + latencyMs);
  if (reply['raw'] !== undefined) {
    findings.onlyKnown('reply', reply, ['raw', 'delay_ms']);
    for (const step of fieldsListOf(reply, 'raw')) await playStep(socket, step, findings);
    return;
  }
  findings.onlyKnown('reply', reply, ['status', 'reason', 'headers', 'body', 'body_b64', 'body_gen', GENERATED, 'delay_ms', 'chunked']);
  const status = numberOf(reply, 'status') ?? 200;
  const headers = headersOf(reply, findings);
  const body = bodyOf(reply, findings);
  const isBodiless = status === 204 || status === 304 || (status >= 100 && status < 200);
  const named = (name: string): boolean => headers.some(([one]) => one.toLowerCase() === name);
  const isChunked = reply['chunked'] === true || (!isBodiless && !('length' in body));
  const lines = [...headers];
  if (isChunked && !named('transfer-encoding')) lines.push(['Transfer-Encoding', 'chunked']);
  if (!isChunked && !isBodiless && 'length' in body && !named('content-length')) lines.push(['Content-Length', String(body.length)]);
  const reason = Buffer.from(textOf(reply, 'reason') || STATUS_CODES[status] || 'Told', 'utf8').toString('latin1');
  await write(socket, Buffer.from(`HTTP/1.1 ${status} ${reason}\r\n${lines.map(([n, v]) => `${n}: ${v}\r\n`).join('')}\r\n`, 'latin1'));
  if (isBodiless) return;
  for await (const piece of 'length' in body ? [body] : body) {
    if (socket.destroyed) return;
    if (piece.length > 0)
      await write(socket, isChunked ? Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]) : piece);
  }
  if (isChunked) await write(socket, Buffer.from('0\r\n\r\n'));
}

async function playStep(socket: Socket, step: Fields, findings: Findings): Promise<void> {
  if (socket.destroyed) return;
  if (typeof step['send'] === 'string') return write(socket, Buffer.from(step['send'], 'latin1'));
  const bytes = bytesOf(step, 'send');
  if (bytes !== undefined) return write(socket, bytes);
  if (isFields(step['repeat'])) return playRepeat(socket, step['repeat']);
  if (typeof step['wait_ms'] === 'number') return pause(step['wait_ms']);
  if (step['end'] === 'fin') return void socket.end();
  if (step['end'] === 'rst') return void socket.resetAndDestroy();
  if (step['end'] !== 'keep') findings.notUnderstood(`step ${show(step)}`);
}

async function playRepeat(socket: Socket, repeat: Fields): Promise<void> {
  const every = numberOf(repeat, 'every_ms') ?? 0;
  if (every === 0) return write(socket, Buffer.from(repeated(repeat), 'latin1'));
  for (let n = numberOf(repeat, 'times') ?? 0; n > 0 && !socket.destroyed; n--) {
    await write(socket, Buffer.from(textOf(repeat, 'text'), 'latin1'));
    await pause(every);
  }
}

/** Resolves when the client has taken it, or is gone. */
function write(socket: Socket, bytes: Uint8Array): Promise<void> {
  if (socket.destroyed || socket.writableEnded) return Promise.resolve();
  if (socket.write(bytes)) return Promise.resolve();
  return new Promise((done) => {
    const finish = (): void => {
      socket.off('drain', finish).off('close', finish);
      done();
    };
    socket.on('drain', finish).on('close', finish);
  });
}

function pause(ms: number): Promise<void> {
  return ms <= 0 ? Promise.resolve() : new Promise((done) => setTimeout(done, ms));
}

// Scripts

/** Answers by the entries of a script: the first that matches and has not served often enough. */
export function scripted(entries: readonly Fields[], findings: Findings): Answer {
  const served = new Map<Fields, number>();
  for (const entry of entries)
    findings.onlyKnown('server entry', entry, ['host', 'port', 'scheme', 'path', 'path_re', 'times', 'when', 'reply']);
  return (request) => {
    for (const entry of entries) {
      const groups = matchOf(entry, request);
      const times = served.get(entry) ?? 0;
      if (groups === undefined || times >= (numberOf(entry, 'times') ?? Number.POSITIVE_INFINITY)) continue;
      served.set(entry, times + 1);
      const reply = fieldsOf(entry, 'reply');
      return entry['path_re'] === undefined ? reply : filled(reply, groups, request);
    }
    return undefined;
  };
}

function matchOf(entry: Fields, request: Request): readonly string[] | undefined {
  if (textOf(entry, 'host') !== '' && textOf(entry, 'host').toLowerCase() !== request.host) return undefined;
  if (entry['port'] !== undefined && numberOf(entry, 'port') !== request.port) return undefined;
  if (entry['scheme'] !== undefined && textOf(entry, 'scheme') !== request.scheme) return undefined;
  if (!cookieMatches(fieldsOf(entry, 'when'), request.headers.get('cookie') ?? '')) return undefined;
  if (entry['path'] !== undefined) return textOf(entry, 'path') === request.path ? [] : undefined;
  return new RegExp(textOf(entry, 'path_re')).exec(request.path) ?? undefined;
}

function cookieMatches(when: Fields, header: string): boolean {
  const has = (wanted: string): boolean =>
    header.split(/;\s*/).some((pair) => pair === wanted || (!wanted.includes('=') && pair.startsWith(`${wanted}=`)));
  if (typeof when['cookie'] === 'string' && !has(when['cookie'])) return false;
  return typeof when['no_cookie'] !== 'string' || !has(when['no_cookie']);
}

/** The reply with {1}, {1+1}, {path}, {path_encoded} and {host} filled in, in every text of it. */
function filled(reply: Fields, groups: readonly string[], request: Request): Fields {
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string')
      return value.replace(/\{(?:(\d)(?:\+(\d+))?|(path_encoded|path|host))\}/g, (_, group: string, plus: string, word: string) => {
        if (word === 'path') return request.path;
        if (word === 'path_encoded') return encodeURIComponent(request.path);
        if (word === 'host') return request.host;
        const text = groups[Number(group)] ?? '';
        return plus === undefined ? text : String(Number(text) + Number(plus));
      });
    if (Array.isArray(value)) return value.map(fill);
    if (value instanceof Uint8Array) return value;
    return isFields(value) ? Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, fill(inner)])) : value;
  };
  return fill(reply) as Fields;
}

// Names and ports

/** A loopback address for each name, by the case's own name table where it has one; addresses that the crawler must refuse stay as they are. */
export function addressesOf(names: Iterable<string>, dns: Fields, findings: Findings): ReadonlyMap<string, string> {
  const byAddress = new Map<string, string>();
  let last = 0;
  const fresh = (): string => `127.77.${Math.floor(++last / 250)}.${(last % 250) + 1}`;
  const hosts = new Map<string, string>();
  for (const name of names) {
    const [address] = listOf(dns, name).map(String);
    if (address === undefined) hosts.set(name, fresh());
    else if (!/^(?:192\.0\.2|198\.51\.100|203\.0\.113)\.|^2001:db8:/i.test(address)) hosts.set(name, address);
    else {
      if (!byAddress.has(address)) byAddress.set(address, fresh());
      hosts.set(name, byAddress.get(address)!);
    }
    if (listOf(dns, name).length > 1) findings.notUnderstood(`several addresses of ${name}`);
  }
  return hosts;
}

/** Host names of the reserved top-level names that a text speaks of, in URLs, `host` fields and the name table. */
export function namesIn(value: unknown): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (part: unknown, key: string): void => {
    if (typeof part === 'string') {
      if (key === 'host') names.add(part.toLowerCase());
      for (const [, name] of part.matchAll(/\/\/(?:[^/@\s"'<>]*@)?([\p{L}\p{N}%._-]+)/gu)) addName(names, name!);
    } else if (Array.isArray(part)) for (const inner of part) visit(inner, key);
    else if (isFields(part))
      for (const [name, inner] of Object.entries(part)) {
        if (key === 'dns' || key === 'hosts') addName(names, name);
        visit(inner, name);
      }
  };
  visit(value, '');
  return names;
}

function addName(names: Set<string>, found: string): void {
  const name = URL.parse(`http://${found}/`)?.hostname.replace(/\.$/, '') ?? '';
  if (/\.(?:example|test|invalid|localhost)$/.test(name)) names.add(name);
}

/** Ports with their schemes: 80 always, others as URLs and entries name them. */
export function portsIn(input: Fields): ReadonlyMap<number, 'http' | 'https'> {
  const ports = new Map<number, 'http' | 'https'>([[80, 'http']]);
  const text = JSON.stringify(input);
  if (text.includes('https:') || /"(?:port":443|scheme":"https)/.test(text)) ports.set(443, 'https');
  for (const [, scheme, port] of text.matchAll(/(https?):\/\/[^/"\s<>]+?:(\d{1,5})(?=[/"\s?#'<]|\\)/g))
    if (Number(port) > 0 && Number(port) < 65_536 && !ports.has(Number(port))) ports.set(Number(port), scheme as 'http' | 'https');
  for (const entry of fieldsListOf(input, 'server')) {
    const port = numberOf(entry, 'port');
    if (port !== undefined && !ports.has(port)) ports.set(port, textOf(entry, 'scheme') === 'https' ? 'https' : 'http');
  }
  return ports;
}
