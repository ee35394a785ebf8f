/**
 * Serves the demo's small web on loopback addresses, one for each host, all on one free port, and keeps a log of its own: how many requests a host had, how
 * many at once at most, and the pauses between them. It listens nowhere else.
 *
 * Linux answers on all of 127.0.0.0/8. Where a system does not (macOS), every host has 127.0.0.1.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PortolanError } from '../../core/errors.ts';
import { ADDRESSES, answer, SERVED } from './site.ts';

const ONE_ADDRESS = '127.0.0.1';
/** A port that is free on one address may be taken on another. */
const PORT_ATTEMPTS = 8;

export interface HostLog {
  requests: number;
  atOnceMax: number;
  /** From the end of an answer to the next request: the shortest and the longest, in ms; undefined with fewer than two requests. */
  pausesMs: readonly [shortest: number, longest: number] | undefined;
}

export interface DemoServer {
  readonly port: number;
  /** Name → address for dns.resolve, those that are not served included. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly log: ReadonlyMap<string, Readonly<HostLog>>;
  close(): Promise<void>;
}

/** `wanted`: name → address. Throws PORTOLAN_DEMO_UNSERVED when nothing on loopback can be listened on. */
export async function serveDemo(wanted: Readonly<Record<string, string>> = ADDRESSES): Promise<DemoServer> {
  const site = new Site();
  try {
    try {
      return await site.open(wanted);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRNOTAVAIL') throw error;
      return await site.open({ ...wanted, ...Object.fromEntries(SERVED.map((name) => [name, ONE_ADDRESS])) });
    }
  } catch (error) {
    throw unserved(error);
  }
}

function unserved(cause: unknown): PortolanError {
  return new PortolanError('PORTOLAN_DEMO_UNSERVED', `the demo cannot listen on loopback: ${(cause as Error).message}`, {
    remedy: 'allow programs to listen on 127.0.0.1, or crawl a site of your own: portolan crawl URL',
    cause,
  });
}

interface Log extends HostLog {
  open: number;
  lastEndMs: number;
}

class Site {
  readonly #log = new Map<string, Log>();
  readonly #counts = new Map<string, number>();
  #port = 0;

  async open(addresses: Readonly<Record<string, string>>): Promise<DemoServer> {
    const { servers, port } = await listenAll([...new Set(SERVED.map((name) => addresses[name]!))], this);
    this.#port = port;
    return {
      port,
      addresses,
      log: this.#log,
      close: async () => {
        for (const server of servers) server.closeAllConnections();
        await Promise.all(servers.map((server) => new Promise<void>((done) => server.close(() => done()))));
      },
    };
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    const host = (request.headers.host ?? '').replace(/:\d+$/, '').toLowerCase();
    const path = request.url ?? '/';
    const nth = (this.#counts.get(host + path) ?? 0) + 1;
    this.#counts.set(host + path, nth);
    const log = this.#begin(host);
    const end = (): void => {
      log.lastEndMs = performance.now();
    };
    const reply = answer({ host, path, port: this.#port, nth, nowMs: Date.now() });
    response.once('close', () => {
      log.open--;
      if (reply.isSilent) end();
    });
    if (reply.isSilent) return;
    const send = (): void => {
      response.writeHead(reply.status, { ...reply.headers, 'content-length': Buffer.byteLength(reply.body) });
      // Before the last byte leaves: no client can have seen the end sooner, so no pause is measured too short.
      end();
      response.end(reply.body);
    };
    if (reply.delayMs === 0) send();
    else setTimeout(send, reply.delayMs);
  };

  #begin(host: string): Log {
    let log = this.#log.get(host);
    if (log === undefined) {
      log = { requests: 0, atOnceMax: 0, pausesMs: undefined, open: 0, lastEndMs: 0 };
      this.#log.set(host, log);
    } else {
      const pauseMs = performance.now() - log.lastEndMs;
      const [shortest, longest] = log.pausesMs ?? [pauseMs, pauseMs];
      log.pausesMs = [Math.min(shortest, pauseMs), Math.max(longest, pauseMs)];
    }
    log.requests++;
    log.open++;
    log.atOnceMax = Math.max(log.atOnceMax, log.open);
    return log;
  }
}

async function listenAll(
  addresses: readonly string[],
  site: Site,
): Promise<{ readonly servers: readonly Server[]; readonly port: number }> {
  for (let attempt = 1; ; attempt++) {
    const servers: Server[] = [];
    let port = 0;
    try {
      for (const address of addresses) {
        const server = createServer(site.handle);
        port = await listen(server, address, port);
        servers.push(server);
      }
      return { servers, port };
    } catch (error) {
      for (const server of servers) server.close();
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

function listen(server: Server, address: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: address, port }, () => resolve((server.address() as AddressInfo).port));
  });
}
