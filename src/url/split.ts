/**
 * The parts of a URL that the crawler works with, by slicing.
 *
 * It does not parse: the text must be what `LinkResolver.resolve` or `parseSeed` returned, so scheme and host are in lower case, and
 * user info, fragment and default port are gone.
 */
export interface SplitUrl {
  readonly scheme: 'http' | 'https';
  /** Lower case, ASCII (punycode), no trailing dot; an IPv6 address with its brackets. */
  readonly host: string;
  readonly port: number;
  /** host, with `:port` when the port is not the default of the scheme: the unit of back queues, so http and https share one. */
  readonly hostKey: string;
  /** scheme://hostKey, without a slash at the end: the unit of robots.txt. */
  readonly origin: string;
  /** Path and query; begins with `/`. */
  readonly pathQuery: string;
}

const COLON = 0x3a;
const SLASH = 0x2f;
const BRACKET_CLOSE = 0x5d;

/** `like`: the parts of another URL, say the page's; when the origin is the same its strings are shared, which is faster and keeps less. */
export function splitUrl(url: string, like?: SplitUrl): SplitUrl {
  if (like !== undefined && url.charCodeAt(like.origin.length) === SLASH && url.startsWith(like.origin)) {
    const { scheme, host, port, hostKey, origin } = like;
    return { scheme, host, port, hostKey, origin, pathQuery: url.slice(origin.length) };
  }
  const secure = url.charCodeAt(4) !== COLON;
  const hostStart = secure ? 8 : 7;
  const hostEnd = url.indexOf('/', hostStart);
  const hostKey = url.slice(hostStart, hostEnd);
  const colon = portColon(hostKey);
  return {
    scheme: secure ? 'https' : 'http',
    host: colon < 0 ? hostKey : hostKey.slice(0, colon),
    port: colon < 0 ? (secure ? 443 : 80) : Number(hostKey.slice(colon + 1)),
    hostKey,
    origin: url.slice(0, hostEnd),
    pathQuery: url.slice(hostEnd),
  };
}

/** Where the port's colon stands in a host key; −1 without a port. */
function portColon(hostKey: string): number {
  if (hostKey.charCodeAt(hostKey.length - 1) === BRACKET_CLOSE) return -1;
  return hostKey.lastIndexOf(':');
}
