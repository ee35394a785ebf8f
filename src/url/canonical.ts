/**
 * The canonical form: the one spelling of a URL under which it is known (row F1).
 *
 * Input is a URL as found (`LinkResolver.resolve`, `parseSeed`), so scheme, host, default port, dot segments and fragment are done. Here:
 * - escapes of unreserved characters are decoded (`%7e` → `~`), the hex digits of every other escape become capitals; `%2F`, `%23` and all
 *   other reserved characters stay escaped, and so does a `%` that begins no escape (RFC 3986 section 6.2.2);
 * - characters that RFC 3986 does not know (`" < > \ ^ { | }` and the grave accent) are escaped: releases of URL parsers differ about them;
 * - the query is sorted by name, stably; tracking and session parameters, empty parameters and an empty query are dropped;
 * - session ids leave the path: `;jsessionid=…` and ASP.NET's `/(S(…))/`.
 *
 * Invariant: canonicalising twice changes nothing; a URL that needs nothing comes back as the same string.
 * It does not touch: trailing slashes, letter case of the path, `www.`, http against https, the order of values of one name.
 * Two pages may share a canonical URL only as far as the lists of CanonicalOptions say; what is fetched is always the URL as found.
 */
import { type CanonicalOptions, looksLikeSessionId, ParameterRules } from './canonical-options.ts';
import { CHARACTER_BITS, EXCLUDED, isHexDigit, PATH_WORK, UNRESERVED } from './character-classes.ts';

/** Stored with the state of a crawl: keys of two versions must not meet. */
export const CANONICALIZER_VERSION = 1;

const PERCENT = 0x25;
const PAREN_OPEN = 0x28;
const SLASH = 0x2f;
/** ASP.NET sessions without cookies: the whole segment is `(S(id))`, also with `A(…)`, `F(…)` and `X(1)` in it. */
const ASP_NET_SESSION = /^\((?:[SFAX]\([A-Za-z0-9_-]*\))+\)$/;

/** Throws PORTOLAN_CONFIG_INVALID when a list has a name that cannot be one. */
export function createCanonicalizer(options: CanonicalOptions): (url: string) => string {
  const rules = new ParameterRules(options);
  return (url) => canonicalized(url, rules);
}

function canonicalized(url: string, rules: ParameterRules): string {
  const pathStart = url.indexOf('/', 8);
  const mark = url.indexOf('?', pathStart);
  const pathEnd = mark < 0 ? url.length : mark;
  const pathWork = needsPathWork(url, pathStart, pathEnd);
  if (mark < 0) return pathWork ? url.slice(0, pathStart) + canonicalPath(url.slice(pathStart), rules) : url;
  const found = url.slice(mark + 1);
  const query = canonicalQuery(found, rules);
  if (!pathWork && query === found && found !== '') return url;
  const path = url.slice(pathStart, pathEnd);
  return url.slice(0, pathStart) + (pathWork ? canonicalPath(path, rules) : path) + (query === '' ? '' : `?${query}`);
}

function needsPathWork(url: string, start: number, end: number): boolean {
  for (let index = start; index < end; index++) {
    const code = url.charCodeAt(index);
    if (code >= 128) return true;
    if ((CHARACTER_BITS[code]! & PATH_WORK) === 0) continue;
    if (code !== PAREN_OPEN || url.charCodeAt(index - 1) === SLASH) return true;
  }
  return false;
}

function canonicalPath(path: string, rules: ParameterRules): string {
  const escaped = normalEscapes(path);
  if (!escaped.includes(';') && !escaped.includes('/(')) return escaped;
  const kept: string[] = [];
  for (const segment of escaped.split('/')) {
    const bare = withoutSession(segment, rules);
    if (!ASP_NET_SESSION.test(bare)) kept.push(bare);
  }
  return kept.length === 1 ? '/' : kept.join('/');
}

/** The segment without its session parameters; unchanged when a dot segment would be left, as that would name another directory. */
function withoutSession(segment: string, rules: ParameterRules): string {
  if (!segment.includes(';')) return segment;
  const [name, ...parameters] = segment.split(';');
  const kept = [name, ...parameters.filter((parameter) => !isDropped(parameter, rules.path!))].join(';');
  return kept === '.' || kept === '..' ? segment : kept;
}

function canonicalQuery(query: string, rules: ParameterRules): string {
  if (query === '') return '';
  const escaped = normalEscapes(query);
  if (!escaped.includes('&')) return isDropped(escaped, rules) ? '' : escaped;
  const found = escaped.split('&');
  const kept = found.filter((parameter) => parameter !== '' && !isDropped(parameter, rules));
  const sorted = sortByName(kept);
  return sorted && kept.length === found.length ? escaped : kept.join('&');
}

function isDropped(parameter: string, rules: ParameterRules): boolean {
  const equals = parameter.indexOf('=');
  const rule = rules.ruleFor(equals < 0 ? parameter : parameter.slice(0, equals));
  if (rule === undefined) return false;
  return rule === 'drop' || (equals >= 0 && looksLikeSessionId(parameter.slice(equals + 1)));
}

/** Sorts in place, stably, by code units of the name; true when it was sorted already. */
function sortByName(parameters: string[]): boolean {
  for (let index = 1; index < parameters.length; index++) {
    if (compareNames(parameters[index - 1]!, parameters[index]!) <= 0) continue;
    parameters.sort(compareNames);
    return false;
  }
  return true;
}

function compareNames(left: string, right: string): number {
  const a = nameOf(left);
  const b = nameOf(right);
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function nameOf(parameter: string): string {
  const equals = parameter.indexOf('=');
  return equals < 0 ? parameter : parameter.slice(0, equals);
}

/**
 * Path or query with its escapes in normal form; the same string when nothing changes.
 * Right after a `%` that begins no escape (and one hex digit at most), hex digits stay escaped: decoded, they would complete an escape (`%4%31` → `%41`).
 */
function normalEscapes(text: string): string {
  let out = '';
  let copied = 0;
  let guarded = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const isEscape = code === PERCENT && isHexDigit(text.charCodeAt(index + 1)) && isHexDigit(text.charCodeAt(index + 2));
    if (!isEscape && !isExcluded(code)) {
      guarded = code === PERCENT ? 2 : isHexDigit(code) ? guarded - 1 : 0;
      continue;
    }
    const length = isEscape ? 3 : 1;
    const spelling = isEscape ? normalEscape(text, index, guarded > 0) : escapeOf(code);
    guarded = 0;
    if (spelling.length !== length || !text.startsWith(spelling, index)) {
      out += text.slice(copied, index) + spelling;
      copied = index + length;
    }
    index += length - 1;
  }
  return copied === 0 ? text : out + text.slice(copied);
}

function normalEscape(text: string, index: number, guarded: boolean): string {
  const code = Number.parseInt(text.slice(index + 1, index + 3), 16);
  const decodes = code < 128 && (CHARACTER_BITS[code]! & UNRESERVED) !== 0 && !(guarded && isHexDigit(code));
  return decodes ? String.fromCharCode(code) : escapeOf(code);
}

function isExcluded(code: number): boolean {
  return code < 128 && (CHARACTER_BITS[code]! & EXCLUDED) !== 0;
}

function escapeOf(code: number): string {
  return `%${code < 16 ? '0' : ''}${code.toString(16).toUpperCase()}`;
}
