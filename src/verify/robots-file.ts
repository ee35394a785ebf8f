/**
 * robots.txt read a second time, by other means than the crawler's own (RFC 9309), so that a defect of one is seen by the other: lines by
 * regular expressions, groups as plain lists, every rule tried, patterns by the two-pointer wildcard match.
 *
 * The readings that RFC 9309 leaves open are those documented for the crawler: groups of one agent are merged; only Allow and Disallow end a
 * list of User-agent lines; common misspellings count; 500 KiB are read; of several Crawl-delays the longest holds.
 */

/** RFC 9309 section 2.5: at least 500 KiB. */
const READ_BYTES_MAX = 512_000;
const LINE_BYTES_MAX = 16_663;
const CRAWL_DELAY_MS_MAX = 30 * 86_400_000;

const BLANK = '[ \\t\\v\\f]';
const WITH_COLON = new RegExp(`^([^: \\t\\v\\f]+)${BLANK}*:${BLANK}*(.*)$`, 's');
const TWO_WORD_NAME = new RegExp(`^(user)${BLANK}+([^: \\t\\v\\f]+)${BLANK}*:${BLANK}*(.*)$`, 'is');
const TWO_WORDS = new RegExp(`^([^: \\t\\v\\f]+)${BLANK}+([^ \\t\\v\\f]+)$`, 's');
const OUTER_BLANKS = new RegExp(`^${BLANK}+|${BLANK}+$`, 'g');

const USER_AGENT = /^(?:user-agent|useragent|user agent)$/;
const DISALLOW = /^(?:disallow|dissallow|dissalow|disalow|diasllow|disallaw)$/;

interface Rule {
  readonly allow: boolean;
  /** Normal form, `*` for any octets. */
  readonly text: string;
  readonly ends: boolean;
  /** Length of the pattern as written in normal form, the closing $ included: the longest match wins. */
  readonly rank: number;
}

interface Group {
  readonly agents: string[];
  readonly rules: Rule[];
  delayMs: number;
}

export interface RobotsFile {
  readonly rules: readonly Rule[];
  /** −1 when the groups that apply ask for none. */
  readonly crawlDelayMs: number;
}

export function readRobotsFile(body: Uint8Array, token: string): RobotsFile {
  const groups = readGroups(linesOf(body));
  const wanted = /^[a-z_-]+$/i.test(token) ? token.toLowerCase() : '';
  const own = groups.filter((group) => wanted !== '' && group.agents.includes(wanted));
  const applying = own.length > 0 ? own : groups.filter((group) => group.agents.includes('*'));
  return {
    rules: applying.flatMap((group) => group.rules),
    crawlDelayMs: Math.max(-1, ...applying.map((group) => group.delayMs)),
  };
}

/** RFC 9309 section 2.2.2: the longest match wins, Allow on a tie; no match is allowed, and so is /robots.txt. */
export function mayFetch(file: RobotsFile, pathQuery: string): boolean {
  const path = normalPath(pathQuery);
  if (path === '/robots.txt') return true;
  let best: Rule | undefined;
  for (const rule of file.rules) {
    if (best !== undefined && (rule.rank < best.rank || (rule.rank === best.rank && (best.allow || !rule.allow)))) continue;
    if (matches(rule, path)) best = rule;
  }
  return best === undefined || best.allow;
}

function linesOf(body: Uint8Array): readonly string[] {
  let text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, READ_BYTES_MAX)).toString('latin1');
  if (body.length > READ_BYTES_MAX) text = /^.*[\r\n]/s.exec(text)?.[0] ?? text;
  return text.replace(/^\u00ef\u00bb\u00bf|^\u00ef\u00bb|^\u00ef/, '').split(/\r\n|\n|\r/);
}

/** Agents in a row share what follows; a rule ends the row, for Crawl-delay another Crawl-delay does, too. So a row gives two kinds of groups. */
function readGroups(lines: readonly string[]): readonly Group[] {
  const groups: Group[] = [];
  let forRules: Group | undefined;
  let forDelay: Group | undefined;
  let ruleSeen = true;
  let delaySeen = true;
  const begin = (agents: readonly string[]): Group => {
    const group: Group = { agents: [...agents], rules: [], delayMs: -1 };
    groups.push(group);
    return group;
  };
  for (const raw of lines) {
    const [name, value] = fieldOf(raw);
    if (USER_AGENT.test(name)) {
      const agent = agentOf(value);
      forRules = begin(ruleSeen || forRules === undefined ? [agent] : [...forRules.agents, agent]);
      forDelay = begin(delaySeen || forDelay === undefined ? [agent] : [...forDelay.agents, agent]);
      ruleSeen = false;
      delaySeen = false;
    } else if (name === 'allow' || DISALLOW.test(name)) {
      ruleSeen = true;
      delaySeen = true;
      const rule = ruleOf(name === 'allow', value);
      if (rule !== undefined) forRules?.rules.push(rule);
    } else if (name === 'crawl-delay') {
      delaySeen = true;
      if (forDelay !== undefined) forDelay.delayMs = Math.max(forDelay.delayMs, delayOf(value));
    }
  }
  return groups;
}

function fieldOf(raw: string): readonly [name: string, value: string] {
  const line = raw.slice(0, LINE_BYTES_MAX).replace(/#.*$/s, '').replace(OUTER_BLANKS, '');
  const colon = WITH_COLON.exec(line);
  if (colon !== null) return [colon[1]!.toLowerCase(), colon[2]!];
  const words = TWO_WORD_NAME.exec(line);
  if (words !== null) return [`user ${words[2]!.toLowerCase()}`, words[3]!];
  const bare = TWO_WORDS.exec(line);
  return bare === null || bare[1]!.toLowerCase() === 'user' ? ['', ''] : [bare[1]!.toLowerCase(), bare[2]!];
}

function agentOf(value: string): string {
  if (/^\*(?:[ \t]|$)/.test(value)) return '*';
  return /^[a-z_-]*/i.exec(value)![0].toLowerCase();
}

function delayOf(value: string): number {
  const seconds = /^(\d+\.?\d*|\.\d+)(?:s?$|[ \t])/i.exec(value)?.[1];
  return seconds === undefined ? -1 : Math.min(Math.round(Number(seconds) * 1_000), CRAWL_DELAY_MS_MAX);
}

function ruleOf(allow: boolean, value: string): Rule | undefined {
  if (!/^[/*]/.test(value)) return undefined;
  const ends = value.endsWith('$');
  const text = (ends ? value.slice(0, -1) : value).split('*').map(normalOctets).join('*');
  return { allow, text, ends, rank: text.length + (ends ? 1 : 0) };
}

/** `*` in the pattern stands for any octets; without a closing $ anything may follow. */
function matches(rule: Rule, path: string): boolean {
  const pattern = rule.text;
  let p = 0;
  let at = 0;
  let star = -1;
  let starAt = 0;
  for (;;) {
    if (p === pattern.length && (!rule.ends || at === path.length)) return true;
    if (p < pattern.length && pattern[p] === '*') {
      star = p++;
      starAt = at;
    } else if (p < pattern.length && at < path.length && pattern[p] === path[at]) {
      p++;
      at++;
    } else {
      if (star < 0 || starAt >= path.length) return false;
      p = star + 1;
      at = ++starAt;
    }
  }
}

function normalPath(pathQuery: string): string {
  const path = pathQuery.replace(/#.*$/s, '');
  return normalOctets(Buffer.from(path.startsWith('/') ? path : `/${path}`, 'utf8').toString('latin1'));
}

/** RFC 9309 section 2.2.2 with RFC 3986: escapes of unreserved characters are undone, others are in upper case, all that may not stand raw is escaped. */
function normalOctets(octets: string): string {
  return octets.replace(/%([0-9a-f]{2})|[^a-z0-9+,\-./:;?@_=&()~!]/gi, (found, hex: string | undefined) => {
    if (hex === undefined) return `%${found.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
    const octet = String.fromCharCode(Number.parseInt(hex, 16));
    return /[a-z0-9\-._~]/i.test(octet) ? octet : `%${hex.toUpperCase()}`;
  });
}
