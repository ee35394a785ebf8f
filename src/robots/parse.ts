/**
 * robots.txt (RFC 9309) from bytes to the rules of the one group that applies to a product token.
 *
 * Where the RFC leaves room, the reading is that of Google's published parser:
 * - groups of the same token are merged, those of `*` too; `*` applies when no line names the token, even if the named group has no rule;
 * - only Allow and Disallow lines end a list of User-agent lines: blank, unknown, Sitemap and Crawl-delay lines do not;
 * - common misspellings of the field names and a blank in place of the colon (two words) are understood;
 * - a byte order mark, whole or its first bytes, is skipped at the start; lines end with LF, CR LF or CR; lines are cut at LINE_BYTES_MAX.
 * Not taken over: `index.html` in an Allow line does not allow the directory.
 *
 * Crawl-delay is no part of the RFC. It counts for the agents listed above it since the last rule or the last Crawl-delay, so that
 * `User-agent: a, Crawl-delay: 1, User-agent: b, Crawl-delay: 9` gives each its own although rules below would be for both; of several for the
 * groups that apply the longest holds.
 *
 * Invariant: any bytes give rules; nothing throws. What is parsed is bounded by PARSE_BYTES_MAX, and `truncated` says that more was there.
 * Lines are read as octets; only what is kept becomes text, so that rules hold no reference to the body.
 */
import { compilePattern } from './pattern.ts';
import { isProductToken, leadingProductToken } from './product-token.ts';
import { type RobotsRules, type Rule, RuleSet } from './rules.ts';

/** Bytes of a body that are parsed: 500 KiB, the least that RFC 9309 section 2.5 allows. The cut is made at a line end. */
export const PARSE_BYTES_MAX = 512_000;
/** Bytes of a line that are read, as in Google's parser: eight times the longest URL of old browsers. */
export const LINE_BYTES_MAX = 8 * 2083 - 1;
export const SITEMAPS_MAX = 1_000;
export const SITEMAP_BYTES_MAX = 2_048;
/** Longer wishes are taken as this one, 30 days: an unbounded number helps nobody. */
export const CRAWL_DELAY_MS_MAX = 2_592_000_000;

const LF = 0x0a;
const CR = 0x0d;
const HASH = 0x23;
const COLON = 0x3a;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

type Field = 'user-agent' | 'allow' | 'disallow' | 'sitemap' | 'crawl-delay';

/** Rules, pauses and sitemaps of a body for one product token (letters, '_', '-'; for any other text only the groups of `*` apply). */
export function parseRobots(bytes: Uint8Array, productToken: string): RobotsRules {
  const end = parsedLength(bytes);
  const reader = new GroupReader(bytes, productToken);
  readLines(bytes, end, reader);
  return reader.rules(end < bytes.length);
}

/** How many bytes are parsed: all, or up to the last line end within the bound (to the bound itself when there is none). */
function parsedLength(bytes: Uint8Array): number {
  if (bytes.length <= PARSE_BYTES_MAX) return bytes.length;
  let end = PARSE_BYTES_MAX;
  while (end > 0 && bytes[end - 1] !== LF && bytes[end - 1] !== CR) end--;
  return end === 0 ? PARSE_BYTES_MAX : end;
}

function readLines(bytes: Uint8Array, end: number, reader: GroupReader): void {
  let start = 0;
  while (start < BYTE_ORDER_MARK.length && bytes[start] === BYTE_ORDER_MARK[start]) start++;
  let line = 0;
  while (start < end) {
    let stop = start;
    while (stop < end && bytes[stop] !== LF && bytes[stop] !== CR) stop++;
    line++;
    reader.readLine(line, start, Math.min(stop, start + LINE_BYTES_MAX));
    start = bytes[stop] === CR && bytes[stop + 1] === LF ? stop + 2 : stop + 1;
  }
}

/** Where the rules of a kind of group stand in the body: four numbers for each (line, 1 for Allow, start, stop of the pattern). */
interface Found {
  named: boolean;
  readonly places: number[];
  crawlDelayMs: number | undefined;
}

/** The agents of User-agent lines in a row, as far as they matter: whether the token is among them, and whether `*` is. */
interface AgentList {
  own: boolean;
  any: boolean;
  /** The next User-agent line begins a new list. */
  ended: boolean;
}

function addAgent(list: AgentList, own: boolean, any: boolean): void {
  list.own = own || (list.own && !list.ended);
  list.any = any || (list.any && !list.ended);
  list.ended = false;
}

/** Takes the lines in order and keeps what may apply: the groups that name the token, and those of `*`. */
class GroupReader {
  readonly #bytes: Buffer;
  readonly #token: string;
  readonly #own: Found = { named: false, places: [], crawlDelayMs: undefined };
  readonly #any: Found = { named: false, places: [], crawlDelayMs: undefined };
  readonly #sitemaps = new Set<string>();
  #sitemapsDropped = 0;
  /** Whose the current group is: it may be both. A rule ends the list of agents. */
  readonly #group: AgentList = { own: false, any: false, ended: false };
  /** The same for Crawl-delay, which ends this list as well. */
  readonly #delayed: AgentList = { own: false, any: false, ended: false };

  constructor(bytes: Uint8Array, productToken: string) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#token = isProductToken(productToken) ? productToken.toLowerCase() : '';
  }

  readLine(line: number, lineStart: number, lineStop: number): void {
    const bytes = this.#bytes;
    const start = skipBlanks(bytes, lineStart, lineStop);
    if (start === lineStop || bytes[start] === HASH) return;
    const stop = endOfText(bytes, start, lineStop);
    const nameStop = endOfName(bytes, start, stop);
    const valueStart = skipBlanks(bytes, nameStop, stop);
    const name = this.#text(start, Math.min(nameStop, start + 12)).toLowerCase();
    if (bytes[valueStart] === COLON && valueStart < stop) this.#take(fieldOf(name), line, skipBlanks(bytes, valueStart + 1, stop), stop);
    else if (name === 'user') this.#takeTwoWordName(line, valueStart, stop);
    else if (endOfWord(bytes, valueStart, stop) === stop) this.#take(fieldOf(name), line, valueStart, stop);
  }

  rules(truncated: boolean): RobotsRules {
    const found = this.#own.named ? this.#own : this.#any;
    return new RuleSet({
      rules: this.#compile(found.places),
      crawlDelayMs: found.crawlDelayMs,
      sitemaps: [...this.#sitemaps],
      sitemapsDropped: this.#sitemapsDropped,
      truncated,
    });
  }

  /** `user agent: x`, one of the misspellings. */
  #takeTwoWordName(line: number, start: number, stop: number): void {
    const nameStop = endOfName(this.#bytes, start, stop);
    const colon = skipBlanks(this.#bytes, nameStop, stop);
    if (colon >= stop || this.#bytes[colon] !== COLON) return;
    const name = this.#text(start, Math.min(nameStop, start + 12)).toLowerCase();
    this.#take(fieldOf(`user ${name}`), line, skipBlanks(this.#bytes, colon + 1, stop), stop);
  }

  #take(field: Field | undefined, line: number, start: number, stop: number): void {
    switch (field) {
      case 'user-agent':
        this.#takeAgent(this.#text(start, stop));
        break;
      case 'allow':
      case 'disallow':
        this.#takeRule(line, field === 'allow', start, stop);
        break;
      case 'crawl-delay':
        this.#takeCrawlDelay(this.#text(start, stop));
        break;
      case 'sitemap':
        this.#takeSitemap(start, stop);
        break;
      case undefined:
        break;
    }
  }

  #takeAgent(value: string): void {
    const any = value === '*' || value.startsWith('* ') || value.startsWith('*\t');
    const own = !any && this.#token !== '' && leadingProductToken(value) === this.#token;
    addAgent(this.#group, own, any);
    addAgent(this.#delayed, own, any);
    if (any) this.#any.named = true;
    if (own) this.#own.named = true;
  }

  #takeRule(line: number, allow: boolean, start: number, stop: number): void {
    this.#group.ended = true;
    this.#delayed.ended = true;
    if (start === stop) return;
    if (this.#group.own) this.#own.places.push(line, allow ? 1 : 0, start, stop);
    if (this.#group.any && !this.#own.named) this.#any.places.push(line, allow ? 1 : 0, start, stop);
  }

  #takeCrawlDelay(value: string): void {
    this.#delayed.ended = true;
    const delayMs = parseDelayMs(value);
    if (delayMs === undefined) return;
    if (this.#delayed.own) this.#own.crawlDelayMs = Math.max(delayMs, this.#own.crawlDelayMs ?? 0);
    if (this.#delayed.any) this.#any.crawlDelayMs = Math.max(delayMs, this.#any.crawlDelayMs ?? 0);
  }

  #takeSitemap(start: number, stop: number): void {
    if (start === stop) return;
    const text = stop - start > SITEMAP_BYTES_MAX ? undefined : this.#bytes.toString('utf8', start, stop);
    if (text !== undefined && this.#sitemaps.has(text)) return;
    if (text === undefined || this.#sitemaps.size >= SITEMAPS_MAX) this.#sitemapsDropped++;
    else this.#sitemaps.add(text);
  }

  #compile(places: readonly number[]): Rule[] {
    const rules: Rule[] = [];
    for (let index = 0; index < places.length; index += 4) {
      const pattern = compilePattern(this.#text(places[index + 2]!, places[index + 3]!));
      if (pattern !== undefined) rules.push({ pattern, allow: places[index + 1] === 1, line: places[index]! });
    }
    return rules;
  }

  #text(start: number, stop: number): string {
    return this.#bytes.toString('latin1', start, stop);
  }
}

/** Field of a name in lower case, with the misspellings that Google's parser understands. */
function fieldOf(name: string): Field | undefined {
  switch (name) {
    case 'user-agent':
    case 'useragent':
    case 'user agent':
      return 'user-agent';
    case 'allow':
      return 'allow';
    case 'disallow':
    case 'dissallow':
    case 'dissalow':
    case 'disalow':
    case 'diasllow':
    case 'disallaw':
      return 'disallow';
    case 'sitemap':
    case 'site-map':
      return 'sitemap';
    case 'crawl-delay':
      return 'crawl-delay';
    default:
      return undefined;
  }
}

/**
 * Milliseconds of a Crawl-delay value: decimal seconds, a fraction allowed, then nothing, a blank or the unit `s`. Undefined for all else
 * (`abc`, `-1`, `1e3`, `10ms`), which asks for nothing.
 */
function parseDelayMs(value: string): number | undefined {
  let end = 0;
  let points = 0;
  let digits = 0;
  for (; end < value.length; end++) {
    const char = value[end]!;
    if (char >= '0' && char <= '9') digits++;
    else if (char === '.') points++;
    else break;
  }
  if (digits === 0 || points > 1) return undefined;
  const rest = value.slice(end).toLowerCase();
  if (rest !== '' && rest !== 's' && !rest.startsWith(' ') && !rest.startsWith('\t')) return undefined;
  return Math.min(Math.round(Number(value.slice(0, end)) * 1_000), CRAWL_DELAY_MS_MAX);
}

// Blanks are single octets: taking Unicode blanks would take U+FEFF, which is only a mark at the very start.
function isBlank(octet: number | undefined): boolean {
  return octet === 0x20 || octet === 0x09 || octet === 0x0b || octet === 0x0c;
}

function skipBlanks(bytes: Uint8Array, start: number, stop: number): number {
  let index = start;
  while (index < stop && isBlank(bytes[index])) index++;
  return index;
}

/** End of what stands before a comment and the blanks in front of it. */
function endOfText(bytes: Uint8Array, start: number, stop: number): number {
  let end = start;
  while (end < stop && bytes[end] !== HASH) end++;
  while (end > start && isBlank(bytes[end - 1])) end--;
  return end;
}

function endOfName(bytes: Uint8Array, start: number, stop: number): number {
  let end = start;
  while (end < stop && bytes[end] !== COLON && !isBlank(bytes[end])) end++;
  return end;
}

function endOfWord(bytes: Uint8Array, start: number, stop: number): number {
  let end = start;
  while (end < stop && !isBlank(bytes[end])) end++;
  return end;
}
