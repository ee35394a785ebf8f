/**
 * Name look-ups over Node's c-ares binding: UDP questions to name servers, never getaddrinfo and its four threads (R-E1).
 *
 * One look-up is two questions, A and AAAA, sent together. `maxInFlight` bounds the questions that this instance has under way (about 256
 * per process: at 1,000 the UDP buffer overflows and answers wait for a resend); further look-ups wait in a queue, first come first
 * served, and beyond `maxQueued` they are answered `failed` at once, so that a stalled name server fills no memory.
 * c-ares keeps its own, longer timetable of resends, so each look-up has a deadline of its own, from the moment its questions are sent.
 *
 * It caches nothing and judges no address.
 */

import dns from 'node:dns';
import { readFileSync } from 'node:fs';
import { isIP, SocketAddress } from 'node:net';
import { PortolanError } from '../../core/errors.ts';
import type { ResolveAnswer, Resolver } from '../../ports/resolver.ts';

export interface NodeResolverOptions {
  /** Name servers as ADDR or ADDR:PORT, IPv6 as [ADDR]:PORT. Without them: those of the system, and the names of its hosts file. */
  readonly servers?: readonly string[];
  /** Deadline of one look-up in milliseconds, from sending; waiting in the queue does not count. Default 5,000. */
  readonly timeoutMs?: number;
  /** Questions under way at most; a look-up is two. Default 256: share it among the instances of a process. */
  readonly maxInFlight?: number;
  /** Look-ups waiting at most; further ones are answered `failed` at once. Default 10,000. */
  readonly maxQueued?: number;
  /** Read once, only when `servers` is not given. Default: the system's. */
  readonly hostsFile?: string;
}

/** TTL reported for names of the hosts file, in seconds. */
const HOSTS_FILE_TTL_S = 86_400;
const QUESTIONS_PER_LOOKUP = 2;

/** What one question came to. */
type Answer =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[]; readonly ttlS: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'failed'; readonly detail: string }
  | { readonly kind: 'timeout' };

interface Waiting {
  readonly host: string;
  readonly settle: (answer: ResolveAnswer) => void;
}

/** Throws PORTOLAN_CONFIG_INVALID when a server cannot be read. */
export function createNodeResolver(options: NodeResolverOptions = {}): Resolver {
  return new NodeResolver(options);
}

class NodeResolver implements Resolver {
  readonly #resolver: dns.Resolver;
  readonly #timeoutMs: number;
  readonly #lookupsMax: number;
  readonly #queuedMax: number;
  readonly #hosts: ReadonlyMap<string, readonly string[]>;
  #queue: Waiting[] = [];
  /** Index of the first one still waiting in #queue. */
  #queueHead = 0;
  #lookups = 0;
  #closed = false;
  readonly #open = new Set<(answer: ResolveAnswer) => void>();

  constructor(options: NodeResolverOptions) {
    this.#timeoutMs = options.timeoutMs ?? 5_000;
    this.#lookupsMax = Math.max(1, Math.floor((options.maxInFlight ?? 256) / QUESTIONS_PER_LOOKUP));
    this.#queuedMax = options.maxQueued ?? 10_000;
    // Resends at a quarter and at about half of the deadline; c-ares itself gives up well after it.
    this.#resolver = new dns.Resolver({ timeout: Math.max(50, this.#timeoutMs >> 2), tries: 3, maxTimeout: this.#timeoutMs });
    this.#hosts = options.servers === undefined ? readHostsFile(options.hostsFile ?? systemHostsFile()) : new Map();
    if (options.servers !== undefined) this.#setServers(options.servers);
  }

  resolve(host: string): Promise<ResolveAnswer> {
    const fixed = this.#hosts.get(host);
    if (fixed !== undefined) return Promise.resolve({ kind: 'addresses', addresses: fixed, ttlS: HOSTS_FILE_TTL_S });
    if (this.#closed) return Promise.resolve({ kind: 'failed', detail: 'the resolver is closed' });
    if (this.#lookups >= this.#lookupsMax && this.#queue.length - this.#queueHead >= this.#queuedMax) {
      return Promise.resolve({ kind: 'failed', detail: `${this.#queuedMax} look-ups are waiting already` });
    }
    return new Promise((settle) => {
      if (this.#lookups < this.#lookupsMax) this.#ask(host, settle);
      else this.#queue.push({ host, settle });
    });
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const waiting = this.#queue.slice(this.#queueHead);
    this.#queue = [];
    this.#queueHead = 0;
    const closed: ResolveAnswer = { kind: 'failed', detail: 'the resolver is closed' };
    for (const { settle } of waiting) settle(closed);
    for (const finish of [...this.#open]) finish(closed);
    this.#resolver.cancel();
  }

  #setServers(servers: readonly string[]): void {
    try {
      this.#resolver.setServers(servers);
    } catch (cause) {
      throw new PortolanError('PORTOLAN_CONFIG_INVALID', `"${servers.join(', ')}" are no name servers`, {
        remedy: 'Write each as an IP address with an optional port, for example 127.0.0.1:5353 or [::1]:53.',
        cause,
      });
    }
  }

  #ask(host: string, settle: (answer: ResolveAnswer) => void): void {
    this.#lookups += 1;
    let ipv4: Answer | undefined;
    let ipv6: Answer | undefined;

    const finish = (answer: ResolveAnswer): void => {
      if (!this.#open.delete(finish)) return;
      clearTimeout(deadline);
      this.#lookups -= 1;
      settle(answer);
      this.#askNext();
    };
    const finishWhenBoth = (): void => {
      if (ipv4 !== undefined && ipv6 !== undefined) finish(combine(ipv4, ipv6));
    };
    const deadline = setTimeout(() => finish(combine(ipv4 ?? { kind: 'timeout' }, ipv6 ?? { kind: 'timeout' })), this.#timeoutMs);

    this.#open.add(finish);
    this.#resolver.resolve4(host, { ttl: true }, (error, records) => {
      ipv4 = error === null ? toAnswer(records) : toFailure(error);
      finishWhenBoth();
    });
    this.#resolver.resolve6(host, { ttl: true }, (error, records) => {
      ipv6 = error === null ? toAnswer(records) : toFailure(error);
      finishWhenBoth();
    });
  }

  #askNext(): void {
    if (this.#closed || this.#lookups >= this.#lookupsMax) return;
    const next = this.#queue[this.#queueHead];
    if (next === undefined) return;
    this.#queueHead += 1;
    if (this.#queueHead === this.#queue.length || this.#queueHead === 1_024) {
      this.#queue = this.#queue.slice(this.#queueHead);
      this.#queueHead = 0;
    }
    this.#ask(next.host, next.settle);
  }
}

function toAnswer(records: readonly dns.RecordWithTtl[]): Answer {
  if (records.length === 0) return { kind: 'none' };
  const ttlS = records.reduce((least, record) => Math.min(least, record.ttl), Number.POSITIVE_INFINITY);
  return { kind: 'addresses', addresses: records.map((record) => record.address), ttlS };
}

function toFailure(error: NodeJS.ErrnoException): Answer {
  switch (error.code) {
    case dns.NOTFOUND: // NXDOMAIN
    case dns.NODATA: // no record of this family
    case dns.BADNAME: // no server could ever know it
      return { kind: 'none' };
    case dns.TIMEOUT:
      return { kind: 'timeout' };
    default:
      return { kind: 'failed', detail: error.code ?? error.message };
  }
}

/** Addresses of one family are enough; without any, the worse of the two says what to believe. */
function combine(ipv4: Answer, ipv6: Answer): ResolveAnswer {
  const found = [ipv4, ipv6].filter((answer) => answer.kind === 'addresses');
  if (found.length > 0) {
    return {
      kind: 'addresses',
      addresses: found.flatMap((answer) => answer.addresses),
      ttlS: Math.min(...found.map((answer) => answer.ttlS)),
    };
  }
  for (const answer of [ipv4, ipv6]) if (answer.kind === 'failed') return answer;
  return ipv4.kind === 'timeout' || ipv6.kind === 'timeout' ? { kind: 'timeout' } : { kind: 'not-found' };
}

function systemHostsFile(): string {
  return process.platform === 'win32' ? `${process.env['SystemRoot'] ?? 'C:\\Windows'}\\System32\\drivers\\etc\\hosts` : '/etc/hosts';
}

/** hosts(5): an address and its names a line, `#` begins a comment. `localhost` is known in any case (RFC 6761 section 6.3). */
function readHostsFile(path: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of readText(path).split(/\r?\n/)) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    const text = standardText(address);
    if (text === undefined) continue;
    for (const name of names.map((spelt) => spelt.toLowerCase())) hosts.set(name, addAddress(hosts.get(name) ?? [], text));
  }
  if (!hosts.has('localhost')) hosts.set('localhost', ['127.0.0.1', '::1']);
  return hosts;
}

/** A host without a hosts file is no error: then there are no such names. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** IPv4 first, each once. */
function addAddress(addresses: readonly string[], address: string): string[] {
  const all = addresses.includes(address) ? addresses : [...addresses, address];
  return [...all.filter((known) => isIP(known) === 4), ...all.filter((known) => isIP(known) === 6)];
}

function standardText(address: string): string | undefined {
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return undefined;
  return family === 4 ? address : new SocketAddress({ address, family: 'ipv6' }).address;
}
