/**
 * One exchange: one request, one closed result (R-I1, R-I2, R-A6).
 *
 * Invariant: `done` is called exactly once, whatever the server, the network or the caller does; afterwards nothing of the exchange runs.
 * Caps hold while the body arrives, on the wire and inflated; the total deadline holds over everything, so that a server that drips one
 * byte now and then gains nothing. A redirect is an outcome with its target's text, never followed here.
 *
 * Life: start → head (media type judged; unwanted bodies are broken off) → body (kept as it came) → end → decoded → result.
 * Not done here: choice of address, retries, robots, politeness, charset.
 */
import type { OutcomeCode } from '../core/reasons.ts';
import type { EpochMs, MonoMs } from '../core/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Transport, TransportEnd, TransportHandler } from '../ports/transport.ts';
import type { Decoded, QuickGunzip } from './content-coding.ts';
import { decodeBody, isCoded } from './content-coding.ts';
import type { HeaderList } from './headers.ts';
import { HeaderView, locationText, mediaTypeOf } from './headers.ts';
import { parseRetryAfter } from './retry-after.ts';
import { outcomeOfStatus } from './status.ts';

/** Milliseconds and bytes; all greater than 0. */
export interface ExchangeLimits {
  /** Bytes of the decoded body kept; the rest is left off and the page marked truncated. */
  readonly maxBodyBytes: number;
  /** Bytes of the body on the wire read, coded or not. */
  readonly maxWireBytes: number;
  readonly connectTimeoutMs: number;
  /** From the request to the end of the response head. */
  readonly firstByteTimeoutMs: number;
  /** Longest pause between two pieces of the body. */
  readonly stallTimeoutMs: number;
  /** The whole exchange, connecting included. */
  readonly totalTimeoutMs: number;
}

export interface ExchangeRequest {
  /** scheme://host[:port] */
  readonly origin: string;
  readonly pathQuery: string;
  /** Vetted address to connect to. */
  readonly address: string;
  /** All headers but Host and Connection (requestHeaders). */
  readonly headers: HeaderList;
  /** The headers carry validators: 304 is then `not-modified`. */
  readonly isConditional: boolean;
  readonly limits: ExchangeLimits;
  /** Judges the media type of a 2xx answer: type/subtype in lower case, or empty when the server names none. */
  readonly accept: (mediaType: string) => boolean;
  /** Kept between exchanges: spares most gzip bodies an engine of their own. */
  readonly gunzip?: QuickGunzip | undefined;
}

export interface ExchangeResult {
  readonly outcome: OutcomeCode;
  /** We broke it off, or our own bound refused it: not what the web did. `outcome` is then `reset` and must not be counted against the URL. */
  readonly isAborted: boolean;
  /** 0 when no head arrived. */
  readonly status: number;
  readonly statusText: string;
  readonly headers: HeaderView;
  /** Names and values alternating as they came, latin-1. */
  readonly rawHeaders: readonly string[];
  /** The body as it came, without chunk frames, with its content coding; what had arrived when it was cut or broken off. */
  readonly wireBody: Uint8Array;
  /** The decoded body of `ok` and `truncated`; otherwise empty. May be the same bytes as wireBody. */
  readonly body: Uint8Array;
  /** Why the body is not whole: a cap; a timeout; the server's end of it (also a coded stream that ends early). */
  readonly truncated: undefined | 'length' | 'time' | 'disconnect';
  /** Peer of the connection; empty when no head arrived. */
  readonly remoteAddress: string;
  readonly startedAtMono: MonoMs;
  readonly startedAtEpoch: EpochMs;
  /** From the start to the end of the head; undefined when none arrived. */
  readonly firstByteMs: number | undefined;
  readonly durationMs: number;
  readonly retryAfterMs: number | undefined;
  /** Text of Location, not resolved; of any answer that has one. */
  readonly location: string | undefined;
  readonly contentType: string | undefined;
  readonly mediaType: string;
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  /** What went wrong, in words; empty when nothing did. */
  readonly detail: string;
}

/** Starts it. The returned function breaks it off (idempotent); `done` follows before it returns, with `isAborted`. */
export function runExchange(
  transport: Transport,
  clock: Clock,
  request: ExchangeRequest,
  done: (result: ExchangeResult) => void,
): () => void {
  const exchange = new Exchange(clock, request, done);
  exchange.start(transport);
  return () => exchange.abort();
}

/** Coded bytes on the wire after which a body is inflated on trial, to break off a bomb; then after four times as many. */
const TRIAL_BYTES = 256 * 1024;
const TRIAL_FACTOR = 4;
const NO_BYTES = new Uint8Array(0);
const NO_HEADERS = new HeaderView([]);

/** Why we broke the transport off ourselves. */
type Cut = 'unwanted-type' | 'length' | 'time' | 'abort';

class Exchange implements TransportHandler {
  readonly #clock: Clock;
  readonly #request: ExchangeRequest;
  readonly #done: (result: ExchangeResult) => void;
  readonly #startedAtMono: MonoMs;
  readonly #startedAtEpoch: EpochMs;
  #breakOff: (() => void) | undefined;
  #cancelDeadline: (() => void) | undefined;
  #cut: Cut | undefined;
  #isEnded = false;
  #status = 0;
  #statusText = '';
  #headers = NO_HEADERS;
  #codings: readonly string[] = [];
  #isCoded = false;
  #remoteAddress = '';
  #firstByteMs: number | undefined;
  #pieces: Uint8Array[] = [];
  #wireBytes = 0;
  #nextTrialBytes = TRIAL_BYTES;
  /** What a trial has inflated up to the cap. */
  #inflated: Decoded | undefined;

  constructor(clock: Clock, request: ExchangeRequest, done: (result: ExchangeResult) => void) {
    this.#clock = clock;
    this.#request = request;
    this.#done = done;
    this.#startedAtMono = clock.nowMonoMs();
    this.#startedAtEpoch = clock.nowEpochMs();
  }

  start(transport: Transport): void {
    const { origin, pathQuery, address, headers, limits } = this.#request;
    this.#cancelDeadline = this.#clock.setTimer(limits.totalTimeoutMs, () => this.#stop('time'));
    const { connectTimeoutMs, firstByteTimeoutMs, stallTimeoutMs } = limits;
    const wire = {
      method: 'GET',
      origin,
      path: pathQuery,
      address,
      headers,
      connectTimeoutMs,
      firstByteTimeoutMs,
      stallTimeoutMs,
    } as const;
    this.#breakOff = transport.start(wire, this);
  }

  abort(): void {
    this.#stop('abort');
  }

  onHead(status: number, statusText: string, rawHeaders: readonly string[], remoteAddress: string): void {
    this.#status = status;
    this.#statusText = statusText;
    this.#headers = new HeaderView(rawHeaders);
    this.#remoteAddress = remoteAddress;
    this.#firstByteMs = this.#clock.nowMonoMs() - this.#startedAtMono;
    this.#codings = this.#headers.all('content-encoding');
    this.#isCoded = isCoded(this.#codings);
    if (this.#isSuccess() && status !== 204 && status !== 205 && !this.#request.accept(mediaTypeOf(this.#headers.first('content-type')))) {
      this.#stop('unwanted-type');
    }
  }

  onData(bytes: Uint8Array): void {
    if (this.#cut !== undefined) return;
    const { maxBodyBytes, maxWireBytes } = this.#request.limits;
    const room = (this.#isCoded ? maxWireBytes : Math.min(maxBodyBytes, maxWireBytes)) - this.#wireBytes;
    const kept = bytes.length <= room ? bytes : bytes.subarray(0, room);
    this.#pieces.push(kept);
    this.#wireBytes += kept.length;
    if (bytes.length > room || (this.#isCoded && this.#isBomb())) this.#stop('length');
  }

  onEnd(end: TransportEnd): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#cancelDeadline?.();
    const result = this.#result(end);
    this.#release();
    this.#done(result);
  }

  /**
   * Lets go of what the result holds now. An exchange lasts for many collections of young objects and so is an old one; what an old object points to, dead or
   * not, outlives the next of them and ages with it.
   */
  #release(): void {
    this.#pieces = [];
    this.#inflated = undefined;
    this.#headers = NO_HEADERS;
    this.#breakOff = undefined;
    this.#cancelDeadline = undefined;
  }

  #stop(cut: Cut): void {
    if (this.#isEnded || this.#cut !== undefined) return;
    this.#cut = cut;
    this.#breakOff?.();
  }

  #isSuccess(): boolean {
    return this.#status >= 200 && this.#status < 300;
  }

  /** Inflates what is there on trial, now and then; true when it has reached the cap already. */
  #isBomb(): boolean {
    if (this.#wireBytes < this.#nextTrialBytes || !this.#isSuccess()) return false;
    this.#nextTrialBytes *= TRIAL_FACTOR;
    const trial = decodeBody(this.#wireBody(), this.#codings, false, this.#request.limits);
    if (trial.state !== 'cut') return false;
    this.#inflated = trial;
    return true;
  }

  #wireBody(): Uint8Array {
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces, this.#wireBytes)];
    return this.#pieces[0] ?? NO_BYTES;
  }

  #result(end: TransportEnd): ExchangeResult {
    const nowEpoch = this.#clock.nowEpochMs();
    const headers = this.#headers;
    const location = locationText(headers.first('location'));
    const contentType = headers.first('content-type');
    const retryAfter = headers.first('retry-after');
    return {
      ...this.#verdict(end, location),
      status: this.#status,
      statusText: this.#statusText,
      headers,
      rawHeaders: headers.raw,
      wireBody: this.#wireBody(),
      remoteAddress: this.#remoteAddress,
      startedAtMono: this.#startedAtMono,
      startedAtEpoch: this.#startedAtEpoch,
      firstByteMs: this.#firstByteMs,
      durationMs: this.#clock.nowMonoMs() - this.#startedAtMono,
      retryAfterMs: retryAfter === undefined ? undefined : parseRetryAfter(retryAfter, nowEpoch),
      location,
      contentType,
      mediaType: mediaTypeOf(contentType),
      etag: headers.first('etag'),
      lastModified: headers.first('last-modified'),
    };
  }

  #verdict(end: TransportEnd, location: string | undefined): Verdict {
    if (this.#cut === 'abort' || (this.#cut === undefined && end.kind === 'error' && end.code === 'aborted')) {
      return verdict('reset', { isAborted: true, detail: end.kind === 'error' ? end.detail : 'broken off by the caller' });
    }
    const broken = this.#brokenBy(end);
    if (this.#status === 0) return verdict(broken?.outcome ?? 'protocol-error', { detail: broken?.detail ?? 'no response head' });
    if (this.#cut === 'unwanted-type') return verdict('unwanted-type');
    const outcome = outcomeOfStatus(this.#status, location, this.#request.isConditional);
    if (outcome === 'ok') return this.#pageVerdict(broken);
    const detail = broken?.detail ?? (outcome === 'protocol-error' ? `status ${this.#status} answers nothing that was asked` : '');
    return verdict(outcome, { truncated: broken?.truncated, detail });
  }

  /** A 2xx answer: the page is what could be had of it. */
  #pageVerdict(broken: Broken | undefined): Verdict {
    const isWhole = broken === undefined;
    if (broken !== undefined && broken.truncated !== 'length' && this.#wireBytes === 0)
      return verdict(broken.outcome, { detail: broken.detail });
    const decoded = this.#inflated ?? decodeBody(this.#wireBody(), this.#codings, isWhole, this.#request.limits, this.#request.gunzip);
    if (decoded.state === 'damaged') return verdict('decode-error', { truncated: broken?.truncated, detail: decoded.detail });
    const truncated = broken?.truncated ?? truncationOf(decoded, this.#status);
    const detail = broken?.detail ?? detailOfTruncation(decoded, this.#status);
    return verdict(truncated === undefined ? 'ok' : 'truncated', { body: decoded.bytes, truncated, detail });
  }

  /** How the answer was kept from being whole; undefined when it is. */
  #brokenBy(end: TransportEnd): Broken | undefined {
    if (this.#cut === 'length') return { outcome: 'ok', truncated: 'length', detail: 'a size cap was reached' };
    if (this.#cut === 'time') {
      return { outcome: 'timeout', truncated: 'time', detail: `not done after ${this.#request.limits.totalTimeoutMs} ms` };
    }
    if (end.kind === 'done') return undefined;
    return { outcome: outcomeOfFailure(end.code), truncated: end.code === 'timeout' ? 'time' : 'disconnect', detail: end.detail };
  }
}

interface Broken {
  readonly outcome: OutcomeCode;
  readonly truncated: NonNullable<ExchangeResult['truncated']>;
  readonly detail: string;
}

type Verdict = Pick<ExchangeResult, 'outcome' | 'isAborted' | 'body' | 'truncated' | 'detail'>;

function verdict(outcome: OutcomeCode, rest: Partial<Omit<Verdict, 'outcome'>> = {}): Verdict {
  return { outcome, isAborted: rest.isAborted ?? false, body: rest.body ?? NO_BYTES, truncated: rest.truncated, detail: rest.detail ?? '' };
}

/** 206 to a request without Range is a part of something (RFC 9110 section 15.3.7), so it is never taken for the whole. */
function truncationOf(decoded: Decoded, status: number): ExchangeResult['truncated'] {
  if (decoded.state === 'cut' || status === 206) return 'length';
  return decoded.state === 'short' ? 'disconnect' : undefined;
}

function detailOfTruncation({ state }: Decoded, status: number): string {
  if (state === 'cut') return 'a size cap was reached while decoding';
  if (state === 'short') return 'the coded stream ends early';
  return status === 206 ? 'status 206: a part of the whole' : '';
}

function outcomeOfFailure(code: Extract<TransportEnd, { kind: 'error' }>['code']): OutcomeCode {
  switch (code) {
    case 'timeout':
    case 'reset':
    case 'connect-failed':
    case 'tls-failed':
    case 'protocol-error':
      return code;
    case 'address-changed': // the peer is not the one that was vetted; as good as no connection
      return 'connect-failed';
    case 'aborted':
      return 'reset';
  }
}
