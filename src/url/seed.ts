/**
 * A seed as an operator types or pastes it: a URL, or a host with or without port and path.
 * It says what is wrong instead of guessing: a seed that is dropped silently would be a crawl of nothing. Only what can be meant in one way is
 * understood without being written: a scheme, and marks around a URL (`<…>`, quotes, a Markdown link).
 */
import { PortolanError } from '../core/errors.ts';
import { asFound, HREF_CHARS_MAX } from './resolve.ts';

const REMEDY = 'give an http or https URL such as https://example.com/, or a host name such as example.com';
const HAS_SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const HTTP_SCHEME = /^https?:/i;
/** `example.com:8080` and `localhost:3000/x` look like a scheme and are a host with its port. */
const HOST_AND_PORT = /^[^/?#:@]+:\d{1,5}(?:[/?#]|$)/;
/** RFC 3986 appendix C recommends the angle brackets; quotes and Markdown come with what is pasted. */
const WRAPPINGS = [/^<(?:URL:)?([^<>]+)>$/i, /^"([^"]+)"$/, /^'([^']+)'$/, /^`([^`]+)`$/, /^\[[^\]]*\]\(([^()]+)\)$/];
/** RFC 6761 section 6.3 and the addresses of the machine itself: nobody has a certificate for them. */
const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/;
/** A host name, an IPv4 address, or an IPv6 address in brackets, as the URL parser writes them. */
const HOST = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/;

/**
 * The seed as an absolute URL as found. Without a scheme https:// is understood, for loopback names and addresses http://. User info and fragment are
 * dropped (credentials belong into the configuration, URLs are logged). Throws PORTOLAN_SEED_INVALID.
 */
export function parseSeed(text: string): string {
  const trimmed = unwrapped(text.trim());
  if (trimmed === '') throw invalid(text, 'it is empty');
  if (trimmed.length > HREF_CHARS_MAX) throw invalid(text, `it is longer than ${HREF_CHARS_MAX} characters`);
  const mistake = mistakeOf(trimmed);
  if (mistake !== '') throw invalid(text, mistake);
  const hasScheme = HTTP_SCHEME.test(trimmed) && !HOST_AND_PORT.test(trimmed);
  const rest = hasScheme ? trimmed : trimmed.replace(/^[/\\]{2}/, '');
  let parsed = URL.parse(hasScheme ? rest : `https://${rest}`);
  if (parsed !== null && !hasScheme && LOOPBACK.test(parsed.hostname)) parsed = URL.parse(`http://${rest}`);
  if (parsed === null) throw invalid(text, whyUnparsed(rest));
  const url = asFound(parsed.href);
  if (url === '') throw invalid(text, 'it is not a valid URL');
  const host = new URL(url).hostname;
  if (!HOST.test(host) || host === 'www') throw invalid(text, whyNoHost(host));
  if (parsed.port === '0') throw invalid(text, 'port 0 cannot be connected to');
  return url;
}

/** Without the marks that stand around a URL in a text. */
function unwrapped(text: string): string {
  for (const wrapping of WRAPPINGS) {
    const inner = wrapping.exec(text)?.[1];
    if (inner !== undefined) return inner.trim();
  }
  return text;
}

/** What is wrong with the text before any parser sees it; '' when nothing is. */
function mistakeOf(text: string): string {
  if (/\s(?:https?:\/\/|www\.)/i.test(text)) return 'it holds several URLs; give each as an argument or on a line of its own';
  if (/^https?\/\//i.test(text)) return 'the colon after the scheme is missing';
  if (/^https?:\/*https?(?::|\/\/)/i.test(text) && !/^https?:\/\/https?:\d/i.test(text)) return 'the scheme stands twice';
  if (/^h?t{1,3}p{0,2}s{0,2}:\/\//i.test(text) && !/^https?:\/\//i.test(text))
    return 'the scheme is misspelt, http or https was probably meant';
  if (/^(?:[/\\](?![/\\])|[?#.])/.test(text)) return 'it names no host';
  if (/^[0-9a-f]{0,4}:(?:[0-9a-f]{0,4}:)+[0-9a-f.:]*$/i.test(text)) return `an IPv6 address stands in brackets: [${text}]`;
  if (HAS_SCHEME.test(text) && !HTTP_SCHEME.test(text) && !HOST_AND_PORT.test(text) && !/^[/\\]{2}/.test(text))
    return 'only http and https can be crawled';
  return '';
}

/** For a text that the URL parser refuses. */
function whyUnparsed(text: string): string {
  const authority = text
    .replace(/^https?:/i, '')
    .replace(/^[/\\]+/, '')
    .split(/[/\\?#]/, 1)[0]!;
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (host === '') return 'it names no host';
  const port = /:(\d+)$/.exec(host)?.[1];
  if (port !== undefined && Number(port) > 65_535) return `port ${port} is larger than 65535`;
  if (/\s/.test(host)) return 'there is a space in its host name';
  if (/\.\.|…/.test(host)) return 'a part of its host name is missing';
  return `"${host}" is not a host name`;
}

/** For a host that the URL parser lets through and no name server knows. */
function whyNoHost(host: string): string {
  if (host.includes('*')) return 'a wildcard is not understood; give the name alone, and --scope domain for its sub-domains';
  if (host.includes(',')) return 'it holds a comma; give each seed as an argument or on a line of its own';
  if (host === 'www') return 'the name after www. is missing';
  if (/\.\.|^\./.test(host)) return 'a part of its host name is missing';
  return `"${host}" is not a host name`;
}

function invalid(text: string, why: string): PortolanError {
  const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  return new PortolanError('PORTOLAN_SEED_INVALID', `seed "${shown}" cannot be used: ${why}`, { remedy: REMEDY });
}
