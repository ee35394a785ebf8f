/**
 * Transport over the simulated web: one exchange is one or two events, at most three when a limit of time cuts it off. What arrives is what the web
 * answers for that moment; the politeness watch sees every exchange begin and end. As the real one it keeps a connection to each origin until its
 * host gives its slot back, so that only the first exchange takes the time to connect.
 *
 * Faults: a connection that breaks off, a host that cannot be reached, a body that stalls.
 */
import type { Transport, TransportEnd, TransportHandler, TransportRequest } from '../ports/transport.ts';
import type { EventLog } from './event-log.ts';
import type { Faults } from './faults.ts';
import type { Incarnation } from './incarnation.ts';
import { hashOfText } from './mix.ts';
import type { PolitenessWatch, WatchedExchange, WatchedHost } from './politeness-watch.ts';
import type { VirtualEvent } from './virtual-time.ts';
import type { HostFacts } from './web/hosts.ts';
import type { SimWeb, WebAnswer } from './web/web.ts';

/** A body that comes within this is delivered with its head, in one event. */
const ONE_EVENT_MS = 50;
const SILENT_MS = Number.POSITIVE_INFINITY;
/** A connection idle for longer is closed. */
const KEEP_ALIVE_MS = 30_000;

/** What the process has of an origin until its host gives its slot back. */
interface Origin {
  readonly scheme: string;
  readonly hostKey: string;
  readonly facts: HostFacts | undefined;
  /** Peer of the connection that its last exchange left open, and until when it is; '' without one. */
  address: string;
  untilMs: number;
}

export interface NetworkCounts {
  exchanges: number;
  inFlight: number;
  inFlightMax: number;
  bytes: number;
}

export class SimTransport implements Transport {
  readonly #web: SimWeb;
  readonly #life: Incarnation;
  readonly #faults: Faults;
  readonly #watch: PolitenessWatch;
  readonly #log: EventLog;
  readonly #counts: NetworkCounts;
  readonly #origins = new Map<string, Origin>();

  constructor(web: SimWeb, life: Incarnation, faults: Faults, watch: PolitenessWatch, log: EventLog, counts: NetworkCounts) {
    this.#web = web;
    this.#life = life;
    this.#faults = faults;
    this.#watch = watch;
    this.#log = log;
    this.#counts = counts;
  }

  start(request: TransportRequest, handler: TransportHandler): () => void {
    const { nowMs } = this.#life.time;
    const origin = this.#originOf(request.origin);
    const { hostKey, facts } = origin;
    const host = this.#watch.hostOf(hostKey, nowMs);
    const answer = this.#answer(request, origin, host);
    const watched = this.#watch.begin(host, hostKey, facts, request.address, request.path, nowMs);
    this.#log.add('request', nowMs, hostKey, request.path, request.address);
    this.#counts.exchanges++;
    this.#counts.inFlight++;
    this.#counts.inFlightMax = Math.max(this.#counts.inFlightMax, this.#counts.inFlight);
    const isConnected = origin.address === request.address && origin.untilMs > nowMs;
    origin.address = '';
    const exchange = new SimExchange(this.#life, request, handler, answer, isConnected ? 0 : answer.connectMs, (end, status) => {
      this.#ended(watched, facts, answer, end, status);
      if (end.kind !== 'done') return;
      origin.address = request.address;
      origin.untilMs = this.#life.time.nowMs + KEEP_ALIVE_MS;
    });
    exchange.begin();
    return () => exchange.breakOff();
  }

  #originOf(text: string): Origin {
    let origin = this.#origins.get(text);
    if (origin === undefined) {
      const colon = text.indexOf('://');
      const hostKey = text.slice(colon + 3);
      origin = { scheme: text.slice(0, colon), hostKey, facts: this.#web.hosts.find(hostKey), address: '', untilMs: 0 };
      this.#origins.set(text, origin);
    }
    return origin;
  }

  #answer(request: TransportRequest, { facts, scheme }: Origin, host: WatchedHost): WebAnswer {
    const { time, wall } = this.#life;
    const { netReset, netUnreachable, netStall } = this.#faults.options;
    const nowMs = time.nowMs;
    if (facts === undefined || this.#faults.strikes('net-unreachable', netUnreachable)) return UNREACHABLE;
    if (this.#faults.message('request')) return UNREACHABLE;
    const answer = this.#web.answer({
      host: facts,
      scheme,
      path: request.path,
      cookie: headerOf(request, 'cookie'),
      ifNoneMatch: headerOf(request, 'if-none-match'),
      sinceLastMs: host.endMs < 0 ? Number.POSITIVE_INFINITY : nowMs - host.endMs,
      nowMs,
      epochMs: wall.offsetMs + nowMs,
    });
    if (this.#faults.message('answer') || this.#faults.strikes('net-reset', netReset)) return { ...answer, end: 'reset' };
    if (this.#faults.strikes('net-stall', netStall)) return { ...answer, end: 'stall' };
    return answer;
  }

  #ended(watched: WatchedExchange, facts: HostFacts | undefined, answer: WebAnswer, end: TransportEnd, status: number): void {
    if (!this.#life.alive) return;
    const { nowMs } = this.#life.time;
    this.#counts.inFlight--;
    this.#counts.bytes += answer.body.length * answer.repeats;
    const isRules = watched.path === '/robots.txt' && status === 200 && end.kind === 'done';
    const retryAfterMs = status === 429 || status === 503 ? retryAfterOf(answer, this.#life.wall.offsetMs + nowMs) : 0;
    const isAborted = end.kind === 'error' && end.code === 'aborted';
    this.#watch.end(watched, facts, { status, retryAfterMs, crawlDelayMs: isRules ? crawlDelayOf(answer) : -1, isAborted }, nowMs);
    this.#log.add('answer', nowMs, watched.hostKey, hashOfText(watched.path), status, end.kind === 'done' ? 'done' : end.code);
  }

  release(origin: string): void {
    this.#origins.delete(origin);
  }

  openConnections(): number {
    return this.#counts.inFlight;
  }

  async close(): Promise<void> {}
}

class SimExchange {
  readonly #life: Incarnation;
  readonly #request: TransportRequest;
  readonly #handler: TransportHandler;
  readonly #answer: WebAnswer;
  /** 0 over a connection that is open. */
  readonly #connectMs: number;
  readonly #ended: (end: TransportEnd, status: number) => void;
  #event: VirtualEvent | undefined;
  #status = 0;
  #isOver = false;

  constructor(
    life: Incarnation,
    request: TransportRequest,
    handler: TransportHandler,
    answer: WebAnswer,
    connectMs: number,
    ended: (end: TransportEnd, status: number) => void,
  ) {
    this.#life = life;
    this.#request = request;
    this.#handler = handler;
    this.#answer = answer;
    this.#connectMs = connectMs;
    this.#ended = ended;
  }

  begin(): void {
    const { connectTimeoutMs, firstByteTimeoutMs } = this.#request;
    const { headMs, refuses, end, status } = this.#answer;
    const connectMs = this.#connectMs;
    if (refuses === 'silent' || connectMs > connectTimeoutMs) this.#failAfter(connectTimeoutMs, 'timeout', 'no connection');
    else if (refuses === 'refused') this.#failAfter(connectMs, 'connect-failed', 'connection refused');
    else if (refuses === 'tls') this.#failAfter(connectMs, 'tls-failed', 'the handshake failed');
    else if (headMs > firstByteTimeoutMs) this.#failAfter(connectMs + firstByteTimeoutMs, 'timeout', 'no response head');
    else if (end === 'garbage') this.#failAfter(connectMs + headMs, 'protocol-error', 'no HTTP');
    else if (end === 'reset' && status !== 200) this.#failAfter(connectMs + headMs, 'reset', 'connection reset');
    else this.#deliver(connectMs + headMs);
  }

  breakOff(): void {
    this.#finish({ kind: 'error', code: 'aborted', detail: 'broken off by the caller' });
  }

  #deliver(headAtMs: number): void {
    const { bodyMs, end } = this.#answer;
    if (end === 'done' && bodyMs <= ONE_EVENT_MS) {
      this.#after(headAtMs + bodyMs, () => {
        this.#head();
        this.#body(1);
        this.#finish({ kind: 'done' });
      });
      return;
    }
    this.#after(headAtMs, () => {
      this.#head();
      if (!this.#isOver) this.#restOfBody(bodyMs, end);
    });
  }

  #restOfBody(bodyMs: number, end: WebAnswer['end']): void {
    const { stallTimeoutMs } = this.#request;
    if (end === 'stall') {
      this.#body(0.5);
      this.#failAfter(stallTimeoutMs, 'timeout', 'the body stalls');
      return;
    }
    this.#after(bodyMs, () => {
      this.#body(end === 'reset' ? 0.5 : 1);
      if (end === 'reset') this.#finish({ kind: 'error', code: 'reset', detail: 'connection reset' });
      else this.#finish({ kind: 'done' });
    });
  }

  #head(): void {
    const { status, headers } = this.#answer;
    this.#status = status;
    this.#handler.onHead(status, '', headers, this.#request.address);
  }

  /** A share of the body; a huge one comes piece by piece until it is broken off. */
  #body(share: number): void {
    const { body, repeats } = this.#answer;
    if (body.length === 0) return;
    if (repeats === 1) {
      if (!this.#isOver) this.#handler.onData(share === 1 ? body : body.subarray(0, Math.ceil(body.length * share)));
      return;
    }
    for (let piece = 0; piece < repeats * share && !this.#isOver; piece++) this.#handler.onData(body);
  }

  #failAfter(delayMs: number, code: Extract<TransportEnd, { kind: 'error' }>['code'], detail: string): void {
    if (delayMs === SILENT_MS) return;
    this.#after(delayMs, () => this.#finish({ kind: 'error', code, detail }));
  }

  #after(delayMs: number, fn: () => void): void {
    const { time } = this.#life;
    this.#event = time.after(
      delayMs,
      () => {
        if (this.#life.alive && !this.#isOver) fn();
      },
      true,
    );
  }

  #finish(end: TransportEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#event !== undefined) this.#life.time.cancel(this.#event);
    this.#ended(end, this.#status);
    this.#handler.onEnd(end);
  }
}

const UNREACHABLE: WebAnswer = {
  connectMs: 100,
  refuses: 'refused',
  headMs: 0,
  status: 0,
  headers: [],
  body: new Uint8Array(0),
  repeats: 1,
  bodyMs: 0,
  end: 'done',
};

function headerOf(request: TransportRequest, name: string): string {
  for (const [key, value] of request.headers) if (key.length === name.length && key.toLowerCase() === name) return value;
  return '';
}

/** The server's own wish in milliseconds; 0 without one. */
function retryAfterOf(answer: WebAnswer, nowEpochMs: number): number {
  const at = answer.headers.indexOf('Retry-After');
  const value = at < 0 ? undefined : answer.headers[at + 1];
  if (value === undefined) return 0;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const date = /^\w{3}, (\d\d) (\w{3}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT$/.exec(value);
  return date === null ? 0 : Math.max(0, secondsOfDay(date) * 1_000 - (nowEpochMs % 86_400_000));
}

/** A date in Retry-After lies within minutes: the time of day says enough, but for the turn of the day. */
function secondsOfDay(date: RegExpExecArray): number {
  return Number(date[4]) * 3_600 + Number(date[5]) * 60 + Number(date[6]);
}

function crawlDelayOf(answer: WebAnswer): number {
  const match = /Crawl-delay: (\d+)/.exec(Buffer.from(answer.body.subarray(-200)).toString('latin1'));
  return match === null ? -1 : Number(match[1]) * 1_000;
}
