/**
 * Opens connections to exactly one literal address, and proves it before a byte of a request is written.
 *
 * The name of the origin decides SNI and the certificate's name; the address decides where the packets go. After the connection stands,
 * the socket's peer is compared with the address: another peer means `address-changed`, and the socket is destroyed unused.
 *
 * Through a proxy the address is the proxy's: TLS to it when it wants that, then CONNECT to the origin's host and port and TLS to the origin inside
 * (RFC 9110 section 9.3.6); for an http origin the connection to the proxy is the connection, and requests name the whole URL (RFC 9112 section 3.2.2).
 */
import net from 'node:net';
import tls from 'node:tls';
import type { TransportEnd } from '../../ports/transport.ts';
import type { SiteProxy } from './sites.ts';
import { openTunnel } from './tunnel.ts';

type FailureCode = Extract<TransportEnd, { kind: 'error' }>['code'];

/** Why there is no connection, already in the words of the port. */
export class ConnectFailure extends Error {
  readonly code = 'PORTOLAN_CONNECT';
  readonly end: FailureCode;
  constructor(end: FailureCode, detail: string) {
    super(detail);
    this.end = end;
  }
}

/** Opens a TCP connection; replaced only by tests that play a network which leads elsewhere. */
export type Dial = (options: { readonly host: string; readonly port: number }) => net.Socket;

export interface TlsOptions {
  /** Accepts certificates that prove nothing (self-signed, expired, of another name). */
  readonly insecure: boolean;
  /** Certificate authorities in PEM, in place of the built-in ones. */
  readonly ca?: string | readonly string[];
  /** Stands in for `ca`: made once, since the reading of a hundred authorities takes milliseconds. */
  readonly secureContext?: tls.SecureContext;
}

/** Sessions kept for resumption, so that a host visited again needs half a handshake; the oldest leaves first. */
export class TlsSessions {
  readonly #sessions = new Map<string, Buffer>();
  readonly #max: number;
  constructor(max: number) {
    this.#max = max;
  }
  get(key: string): Buffer | undefined {
    return this.#sessions.get(key);
  }
  set(key: string, session: Buffer): void {
    this.#sessions.delete(key);
    this.#sessions.set(key, session);
    if (this.#sessions.size <= this.#max) return;
    for (const oldest of this.#sessions.keys()) {
      this.#sessions.delete(oldest);
      return;
    }
  }
}

export interface ConnectRequest {
  readonly origin: string;
  readonly address: string;
  readonly dial: Dial;
  readonly tls: TlsOptions;
  readonly sessions: TlsSessions;
  /** `address` is then the proxy's. */
  readonly proxy?: SiteProxy | undefined;
}

export type Connected = (failure: ConnectFailure | undefined, socket: net.Socket | undefined) => void;

export function dialTcp(options: { readonly host: string; readonly port: number }): net.Socket {
  // highWaterMark: as much as one read of libuv brings, so that a page arrives in few pieces.
  const all = { ...options, highWaterMark: 64 * 1024, noDelay: true, autoSelectFamily: false };
  return net.connect(all);
}

/** Calls `connected` once. Returns a function that gives up (idempotent): `connected` then gets `aborted` with the reason. */
export function connectTo(request: ConnectRequest, connected: Connected): (failure: ConnectFailure) => void {
  const url = new URL(request.origin);
  const { proxy } = request;
  const secure = url.protocol === 'https:';
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port);
  const tcp = request.dial({ host: request.address, port: proxy?.port ?? port });
  let socket: net.Socket = tcp;
  let settled = false;

  const fail = (failure: ConnectFailure): void => {
    if (settled) return;
    settled = true;
    socket.destroy();
    connected(failure, undefined);
  };
  const succeed = (): void => {
    if (settled) return;
    settled = true;
    connected(undefined, socket);
  };
  const onError = (error: NodeJS.ErrnoException): void => fail(describe(error, socket !== tcp));
  const onTcp = (): void => {
    if (settled) return;
    const peer = tcp.remoteAddress ?? '';
    if (!isSameAddress(peer, request.address)) {
      fail(new ConnectFailure('address-changed', `connected to ${peer}, not to ${request.address}`));
      return;
    }
    if (proxy?.secure === true) {
      socket = startTls(request, tcp, proxy.host, `proxy ${proxy.host}:${proxy.port}`);
      socket.once('secureConnect', onHop).on('error', onError);
    } else onHop();
  };
  /** To the server itself, or to the proxy in front of it. */
  const onHop = (): void => {
    if (settled) return;
    if (!secure) succeed();
    else if (proxy === undefined) onTunnel();
    else
      openTunnel(socket, `${url.hostname}:${port}`, proxy.authorization, (refused) => (refused === undefined ? onTunnel() : fail(refused)));
  };
  const onTunnel = (): void => {
    if (settled) return;
    socket = startTls(request, socket, url.hostname, `${request.origin} ${request.address}`);
    socket.once('secureConnect', succeed).on('error', onError);
  };

  tcp.once('connect', onTcp).on('error', onError);
  return fail;
}

/** The handshake begins only once the peer's address is proven. */
function startTls(request: ConnectRequest, under: net.Socket, hostname: string, key: string): tls.TLSSocket {
  const session = request.sessions.get(key);
  const name = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  const socket = tls.connect({
    socket: under,
    host: name,
    // No SNI for an IP literal (RFC 6066 section 3); the certificate is then checked for the address.
    ...(net.isIP(name) === 0 ? { servername: name.endsWith('.') ? name.slice(0, -1) : name } : {}),
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: !request.tls.insecure,
    ...(request.tls.secureContext === undefined ? {} : { secureContext: request.tls.secureContext }),
    ...(request.tls.ca === undefined ? {} : { ca: typeof request.tls.ca === 'string' ? request.tls.ca : [...request.tls.ca] }),
    ...(session === undefined ? {} : { session }),
  });
  socket.on('session', (fresh) => request.sessions.set(key, fresh));
  return socket;
}

function describe(error: NodeJS.ErrnoException, duringTls: boolean): ConnectFailure {
  const detail = error.code === undefined || error.message.includes(error.code) ? error.message : `${error.code}: ${error.message}`;
  if (duringTls) return new ConnectFailure('tls-failed', detail);
  return new ConnectFailure(error.code === 'ETIMEDOUT' ? 'timeout' : 'connect-failed', detail);
}

function isSameAddress(a: string, b: string): boolean {
  return a === b || (a !== '' && standardText(a) === standardText(b));
}

function standardText(address: string): string {
  const family = net.isIP(address);
  if (family !== 6) return address;
  return new net.SocketAddress({ address, family: 'ipv6' }).address;
}
