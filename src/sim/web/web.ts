/**
 * What the simulated web answers: DNS, robots.txt and pages, with how long it takes and how it breaks. A pure function of (seed, options), the
 * request and the time; a rate-limiting server is told when it was last asked.
 */
import { hashOfText, mix, unit } from '../mix.ts';
import { GENERATED_TYPE } from './generated.ts';
import { type HostFacts, SimHosts } from './hosts.ts';
import type { PageKind, WebOptions } from './options.ts';
import { type Place, SimPages } from './pages.ts';

export type NameAnswer =
  | { readonly kind: 'addresses'; readonly addresses: readonly string[]; readonly ttlS: number; readonly delayMs: number }
  | { readonly kind: 'not-found' | 'failed' | 'timeout'; readonly delayMs: number };

/** What is asked for, as the server sees it. */
export interface WebRequest {
  readonly host: HostFacts;
  readonly scheme: string;
  /** Path and query. */
  readonly path: string;
  readonly cookie: string;
  readonly ifNoneMatch: string;
  /** Since the server finished its last answer to anybody; Infinity for the first. */
  readonly sinceLastMs: number;
  readonly nowMs: number;
  /** Wall time, for dates in headers. */
  readonly epochMs: number;
}

export interface WebAnswer {
  /** Until the connection stands. */
  readonly connectMs: number;
  /** Why it never does; 'silent': nothing comes. */
  readonly refuses: '' | 'refused' | 'tls' | 'silent';
  /** From then to the head; Infinity: it never comes. */
  readonly headMs: number;
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Uint8Array;
  /** `body` comes so many times. */
  readonly repeats: number;
  /** From the head to the last byte. */
  readonly bodyMs: number;
  /** `reset`: breaks off after half of the body; `stall`: goes silent there; `garbage`: is no HTTP. */
  readonly end: 'done' | 'reset' | 'stall' | 'garbage';
}

const NO_BYTES = new Uint8Array(0);
/** What follows it is no deflate stream. */
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
const HUGE_PIECES = 96;
const LARGE_ROBOTS_BYTES = 500_000;
const SPELL_MS = 900_000;
/** Robots.txt that fails at first does so for up to this. */
const FAILS_AT_FIRST_MS = 6 * 3_600_000;
const DRAW = { jitter: 41, spell: 42, limit: 43, retry: 44, delay: 45, flaky: 46, stall: 47, target: 48, fails: 49 } as const;

export class SimWeb {
  readonly seed: number;
  readonly options: WebOptions;
  readonly hosts: SimHosts;
  readonly pages: SimPages;
  #huge: Uint8Array | undefined;
  #largeRobots: Uint8Array | undefined;

  constructor(seed: number, options: WebOptions) {
    this.seed = seed;
    this.options = options;
    this.hosts = new SimHosts(seed, options);
    this.pages = new SimPages(this.hosts);
  }

  /** First pages of the first sites. */
  seeds(count: number): string[] {
    const seeds: string[] = [];
    for (let site = 0; site < Math.min(count, this.options.sites); site++) {
      seeds.push(`${this.hosts.find(this.hosts.nameOf(site, 0))!.origin}/`);
    }
    return seeds;
  }

  resolve(name: string, nowMs: number): NameAnswer {
    const host = this.hosts.find(name);
    const { dnsMs, dnsTtlS } = this.options;
    const delayMs = Math.ceil(dnsMs * (0.5 + unit(this.seed, hashOfText(name), DRAW.jitter)));
    if (host === undefined || host.kind === 'dead-name') return { kind: 'not-found', delayMs };
    if (host.kind === 'dead-dns') return (host.seed & 1) === 0 ? { kind: 'timeout', delayMs: 5_000 } : { kind: 'failed', delayMs };
    if (this.hosts.dnsFails(host, nowMs)) return { kind: 'failed', delayMs };
    return { kind: 'addresses', addresses: this.hosts.addresses(host, nowMs), ttlS: dnsTtlS, delayMs };
  }

  answer(request: WebRequest): WebAnswer {
    const { host, path, nowMs } = request;
    const jitter = 0.7 + 0.6 * unit(host.seed, DRAW.jitter, hashOfText(path), Math.floor(nowMs));
    const headMs = host.latencyMs * jitter;
    const connectMs = headMs / 3;
    if (host.kind === 'refusing') return { ...EMPTY, connectMs, headMs, refuses: 'refused' };
    if (host.kind === 'black-hole') return { ...EMPTY, connectMs, headMs, refuses: 'silent' };
    if (host.kind === 'bad-tls' && request.scheme === 'https') return { ...EMPTY, connectMs, headMs, refuses: 'tls' };
    const { status, headers = EMPTY.headers, body = NO_BYTES, repeats = 1, bodyMs = 0, end = 'done' } = this.#served(request);
    return { connectMs, refuses: '', headMs, status, headers, body, repeats, bodyMs, end };
  }

  #served(request: WebRequest): Partial<WebAnswer> & { readonly status: number } {
    const { host, path, scheme, nowMs } = request;
    const refusal = this.#slowDown(request);
    if (refusal !== undefined) return refusal;
    if (path === '/robots.txt') return this.#robots(host, nowMs);
    if (host.kind === 'failing') return page(500, 'failing');
    if (scheme !== host.scheme) return redirect(301, host.origin + path);
    const place = this.pages.find(host, path);
    if (place === undefined) return page(404, 'nothing here');
    if (place.at !== 'page') return this.#elsewhere(host, place, path);
    return this.#page(request, place.page);
  }

  /** 429 and 503 of servers that want to be left alone for a while. */
  #slowDown(request: WebRequest): (Partial<WebAnswer> & { readonly status: number }) | undefined {
    const { host, nowMs, sinceLastMs } = request;
    if (host.kind === 'down-at-times') {
      const spell = Math.floor(nowMs / SPELL_MS);
      if (unit(host.seed, DRAW.spell, spell) < 0.15) return page(503, 'maintenance', ['Retry-After', '120']);
    }
    if (host.kind !== 'rate-limiting') return undefined;
    const leastMs = 500 + 3_500 * unit(host.seed, DRAW.limit);
    if (sinceLastMs >= leastMs) return undefined;
    const seconds = 5 + (mix(host.seed, DRAW.retry, Math.floor(nowMs)) % 55);
    const asDate = (host.seed & 1) === 1;
    return page(429, 'slow down', ['Retry-After', asDate ? httpDate(request.epochMs + seconds * 1_000) : String(seconds)]);
  }

  #robots(host: HostFacts, nowMs: number): Partial<WebAnswer> & { readonly status: number } {
    const rules = 'User-agent: *\nDisallow: /private/\nAllow: /private/p/16.html\n';
    switch (host.robots) {
      case 'rules':
        return text(rules);
      case 'crawl-delay':
        return text(`${rules}Crawl-delay: ${2 + Math.floor(19 * unit(host.seed, DRAW.delay) ** 2)}\n`);
      case 'long-delay':
        return text(`${rules}Crawl-delay: ${4_000 + (host.seed % 80_000)}\n`);
      case 'deny-all':
        return text('User-agent: *\nDisallow: /\n');
      case 'failing':
        return page(500, 'failing');
      case 'failing-at-first':
        return nowMs < FAILS_AT_FIRST_MS * unit(host.seed, DRAW.fails) ? page(502, 'failing') : text(rules);
      case 'redirect': {
        const target = this.hosts.find(this.hosts.popular(unit(host.seed, DRAW.target), unit(host.seed, DRAW.target, 1)))!;
        return redirect(301, `${target.origin}/robots.txt`);
      }
      case 'redirect-loop':
        return redirect(302, `${host.origin}/robots.txt`);
      case 'forbidden':
        return page(403, 'forbidden');
      case 'large':
        this.#largeRobots ??= Buffer.from(`${'# nothing\n'.repeat(LARGE_ROBOTS_BYTES / 10)}\n${rules}`);
        return { status: 200, headers: TEXT_PLAIN, body: this.#largeRobots };
      default:
        return page(404, 'no rules');
    }
  }

  #elsewhere(host: HostFacts, place: Place, path: string): Partial<WebAnswer> & { readonly status: number } {
    if (place.at === 'hop') {
      if (place.hop >= 12) return redirect(302, this.pages.path(host, place.page % host.pages));
      return redirect(302, `/hop/${place.page}/${place.hop + 1}`);
    }
    if (place.at === 'loop') return redirect(302, `/loop/${place.page}/${place.hop === 1 ? 2 : 1}`);
    return { status: 200, headers: HTML, body: Buffer.from(this.pages.trap(place, path), 'latin1') };
  }

  #page(request: WebRequest, number: number): Partial<WebAnswer> & { readonly status: number } {
    const { host, nowMs, cookie } = request;
    const kind = this.pages.kind(host, number);
    switch (kind) {
      case 'missing':
        return page(404, 'missing');
      case 'gone':
        return page(410, 'gone');
      case 'denied':
        return page(403, 'denied');
      case 'broken':
        return page(500, 'broken');
      case 'flaky':
        if (mix(host.seed, DRAW.flaky, number, Math.floor(nowMs / 5_000)) % 2 === 0) return page(500, 'flaky');
        break;
      case 'bad-redirect':
        return { status: 302, headers: HTML };
      case 'cookie-wall':
        if (!cookie.includes('seen=1')) return redirect(302, this.pages.path(host, number), ['Set-Cookie', 'seen=1; Path=/']);
        break;
      case 'redirect':
      case 'redirect-away':
      case 'redirect-chain':
      case 'redirect-loop':
        return redirect(kind === 'redirect' ? 301 : 302, this.pages.redirect(host, number, kind));
      case 'other-type':
        return { status: 200, headers: ['Content-Type', 'application/pdf'], body: Buffer.from('%PDF-1.4 simulated') };
      case 'empty':
        return { status: 200, headers: HTML };
      case 'huge':
        this.#huge ??= Buffer.from('<p>so much text '.repeat(4_096));
        return { status: 200, headers: HTML, body: this.#huge, repeats: HUGE_PIECES, bodyMs: 4_000 };
      case 'not-http':
        return { status: 0, end: 'garbage' };
      default:
        break;
    }
    return this.#content(request, number, kind);
  }

  #content(request: WebRequest, number: number, kind: PageKind): Partial<WebAnswer> & { readonly status: number } {
    const { host, nowMs } = request;
    const etag = `"${(host.contentSeed ^ number).toString(36)}-${this.pages.version(host, number, nowMs)}"`;
    if (request.ifNoneMatch === etag) return { status: 304, headers: ['ETag', etag] };
    const body = Buffer.from(this.pages.body(host, number, nowMs), 'latin1');
    const bodyMs = Math.min(20_000, Math.max(body.length, this.pages.transferBytes(host, number)) / this.options.bandwidth);
    const headers = ['Content-Type', this.options.body === 'generated' ? GENERATED_TYPE : 'text/html; charset=utf-8', 'ETag', etag];
    const whole = { status: 200, headers, body, bodyMs };
    if (kind === 'cut-off') return { ...whole, end: 'reset' };
    if (kind === 'bad-coding')
      return { ...whole, headers: [...headers, 'Content-Encoding', 'gzip'], body: Buffer.concat([GZIP_HEAD, body]) };
    if (host.kind === 'stalling' && mix(host.seed, DRAW.stall, number, Math.floor(nowMs / 60_000)) % 4 === 0)
      return { ...whole, end: 'stall' };
    return whole;
  }
}

const HTML: readonly string[] = ['Content-Type', 'text/html; charset=utf-8'];
const TEXT_PLAIN: readonly string[] = ['Content-Type', 'text/plain'];
const EMPTY: WebAnswer = {
  connectMs: 0,
  refuses: '',
  headMs: 0,
  status: 0,
  headers: [],
  body: NO_BYTES,
  repeats: 1,
  bodyMs: 0,
  end: 'done',
};

function page(status: number, what: string, more: readonly string[] = []): Partial<WebAnswer> & { readonly status: number } {
  return { status, headers: [...HTML, ...more], body: Buffer.from(`<title>${status}</title>${what}`) };
}

function text(body: string): Partial<WebAnswer> & { readonly status: number } {
  return { status: 200, headers: TEXT_PLAIN, body: Buffer.from(body) };
}

function redirect(status: number, target: string, more: readonly string[] = []): Partial<WebAnswer> & { readonly status: number } {
  return { status, headers: [...HTML, 'Location', target, ...more], body: NO_BYTES };
}

const DAYS = ['Thu', 'Fri', 'Sat', 'Sun', 'Mon', 'Tue', 'Wed'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** IMF-fixdate (RFC 9110 section 5.6.7). */
export function httpDate(epochMs: number): string {
  const days = Math.floor(epochMs / 86_400_000);
  const { year, month, day } = civil(days);
  const seconds = Math.floor(epochMs / 1_000) % 86_400;
  const two = (n: number): string => String(n).padStart(2, '0');
  const time = `${two(Math.floor(seconds / 3_600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return `${DAYS[days % 7]}, ${two(day)} ${MONTHS[month - 1]} ${year} ${time} GMT`;
}

/** Date of a day since 1970 in the proleptic Gregorian calendar, for days ≥ 0: years of 365.2425 days that begin in March. */
function civil(days: number): { readonly year: number; readonly month: number; readonly day: number } {
  const shifted = days + 719_468; // days since 0000-03-01
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const yearOfEra = Math.floor((ofEra - Math.floor(ofEra / 1_460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365);
  const ofYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const fromMarch = Math.floor((5 * ofYear + 2) / 153);
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day: ofYear - Math.floor((153 * fromMarch + 2) / 5) + 1 };
}
