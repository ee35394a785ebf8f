/**
 * A web of the simulator behind real sockets: its names are answered by a name server, its hosts by servers on loopback addresses, and every answer is
 * the one that the simulator would give, with its latencies kept by real timers. So one web can be crawled twice, in virtual time and in real time.
 *
 * What differs: URLs carry the server's port, and the addresses are others; each of the simulated ones has one of its own on loopback.
 * Not served: TLS, servers that never answer a connection, private addresses (they are refused before anybody is asked).
 */
import type { HostFacts } from '../../src/sim/web/hosts.ts';
import type { SimWeb, WebAnswer } from '../../src/sim/web/web.ts';
import { type DnsReply, type DnsServer, startDnsServer } from './dns-server.ts';
import { startWebServer, type WebHost, type WebReply, type WebRequest, type WebServer } from './web-server.ts';

export interface SimulatedWebServer {
  readonly web: WebServer;
  /** ADDR:PORT of the name server that knows this web and nothing else. */
  readonly nameServer: string;
  /** A URL of the simulated web as it is here. */
  here(url: string): string;
  /** And back. */
  there(url: string): string;
  close(): Promise<void>;
}

const HOST_IN_URL = /\bhttp:\/\/((?:www|w\d+)\.site\d+\.[a-z.]*[a-z])/gi;
const PRIVATE = /^(?:10|127|192\.168)\./;
/** Where nobody listens and the address guard lets nobody go. */
const NOWHERE = '10.255.255.1';
const HOSTS_MAX = 250;

/** `net`: second byte of the loopback addresses. Throws for a web that cannot be served. */
export async function serveSimulatedWeb(web: SimWeb, net: number): Promise<SimulatedWebServer> {
  const beganMs = performance.now();
  const nowMs = (): number => performance.now() - beganMs;
  const addresses = new AddressBook(net);
  const lastEndMs = new Map<string, number>();
  let port = 0;
  const here = (text: string): string => text.replaceAll(HOST_IN_URL, (origin) => `${origin}:${port}`);
  const facts = hostsOf(web);
  const hosts: WebHost[] = facts.map((host) => {
    const page = (request: WebRequest): WebReply => {
      const sinceLastMs = nowMs() - (lastEndMs.get(host.name) ?? Number.NEGATIVE_INFINITY);
      return replyOf(answerOf(web, host, request, nowMs(), sinceLastMs), request, here);
    };
    return { name: host.name, address: addresses.of(web.hosts.addresses(host, 0)[0] ?? NOWHERE), robots: page, page };
  });
  // Other addresses of the same hosts: the name in the request says which host is meant.
  const more = facts.flatMap((host) => web.hosts.addresses(host, 0).slice(1));
  const listeners = [...new Set(more)].map((address): WebHost => ({ address: addresses.of(address), page: () => undefined }));
  const listening = [...hosts.filter((host) => web.hosts.find(host.name ?? '')?.kind !== 'refusing'), ...listeners];
  const server = await startWebServer({
    hosts: listening.filter(({ address }) => address.startsWith('127.')),
    onAccess: ({ host }) => lastEndMs.set(host.replace(/:\d+$/, ''), nowMs()),
  });
  port = server.port;
  const names = await startDnsServer((name) => nameReply(web, addresses, name, nowMs()));
  return {
    web: server,
    nameServer: names.server,
    here,
    there: (url) => url.replace(`:${port}/`, '/'),
    close: () => closeBoth(server, names),
  };
}

async function closeBoth(server: WebServer, names: DnsServer): Promise<void> {
  await Promise.all([server.close(), names.close()]);
}

function hostsOf(web: SimWeb): readonly HostFacts[] {
  const found: HostFacts[] = [];
  for (let site = 0; site < web.options.sites; site++) {
    for (let sub = 0; sub < web.hosts.hostsOfSite(site); sub++) {
      const host = web.hosts.find(web.hosts.nameOf(site, sub));
      if (host === undefined || host.scheme !== 'http' || host.kind === 'black-hole')
        throw new Error(`${web.hosts.nameOf(site, sub)} (${host?.scheme} ${host?.kind}) cannot be served here`);
      found.push(host);
    }
  }
  if (found.length > HOSTS_MAX) throw new Error(`${found.length} hosts are more than the ${HOSTS_MAX} that can be served`);
  return found;
}

/** Each address of the simulated web has one on loopback; those that nobody may go to stay so. */
class AddressBook {
  readonly #net: number;
  readonly #known = new Map<string, string>();

  constructor(net: number) {
    this.#net = net;
  }

  of(address: string): string {
    if (PRIVATE.test(address)) return NOWHERE;
    const known = this.#known.get(address) ?? `127.${this.#net}.0.${this.#known.size + 1}`;
    this.#known.set(address, known);
    return known;
  }
}

function nameReply(web: SimWeb, addresses: AddressBook, name: string, nowMs: number): DnsReply {
  const answer = web.resolve(name, nowMs);
  if (answer.kind === 'not-found') return { kind: 'nxdomain' };
  if (answer.kind === 'failed') return { kind: 'servfail' };
  if (answer.kind !== 'addresses') return { kind: 'silence' };
  const { ttlS, delayMs } = answer;
  return { kind: 'answer', addresses: answer.addresses.map((address) => addresses.of(address)), ttlS, delayMs };
}

function answerOf(web: SimWeb, host: HostFacts, request: WebRequest, nowMs: number, sinceLastMs: number): WebAnswer {
  return web.answer({
    host,
    scheme: 'http',
    path: request.path,
    cookie: request.headers.cookie ?? '',
    ifNoneMatch: request.headers['if-none-match'] ?? '',
    sinceLastMs,
    nowMs,
    epochMs: Date.now(),
  });
}

/** The whole time of an exchange lies before its head: on loopback a connection stands at once. */
function replyOf(answer: WebAnswer, request: WebRequest, here: (text: string) => string): WebReply {
  const { connectMs, headMs, bodyMs, status, end } = answer;
  const delayMs = Math.round((request.nthOnConnection === 1 ? connectMs : 0) + headMs + bodyMs);
  if (end === 'garbage') return { delayMs, fault: { kind: 'raw', bytes: 'no HTTP at all\n\n' } };
  const headers: Record<string, string> = {};
  for (let at = 0; at + 1 < answer.headers.length; at += 2) headers[answer.headers[at]!.toLowerCase()] = here(answer.headers[at + 1]!);
  const one = Buffer.from(here(Buffer.from(answer.body).toString('latin1')), 'latin1');
  const body = answer.repeats === 1 ? one : Buffer.concat(Array.from({ length: answer.repeats }, () => one));
  const reply = { status, headers, body, delayMs };
  if (end === 'done') return reply;
  if (end === 'reset' && status !== 200) return { ...reply, fault: { kind: 'reset' } };
  return { ...reply, fault: { kind: end, afterBytes: Math.ceil(body.length / 2) } };
}
