/**
 * The closed lists: why a find was rejected, why an admitted URL was dropped, and how a fetch ended.
 *
 * Every `return` in the product that lets a URL go takes one of these. docs/REASONS.md documents each one; a test holds the two
 * together in both directions and another reaches each. Order matters: counters are stored by name, never by index.
 */

/** Why a find (link, seed, redirect target, sitemap entry) was not admitted. Rejected URLs are not remembered: the rule runs again. */
export const REJECT_REASONS = [
  'invalid-url', // the text is not a URL, even with its base
  'not-http', // mailto:, javascript:, data: and every other scheme but http and https
  'url-too-long', // over scope.maxUrlBytes
  'too-many-parameters', // over scope.maxParameters query parameters
  'out-of-scope', // outside the scope chosen by --scope
  'not-included', // no --include pattern matches
  'excluded', // an --exclude pattern matches
  'blocklisted', // a line of the blocklist matches
  'forbidden-address', // the host is an IP literal that the address guard refuses
  'too-deep', // over scope.maxDepth links from a seed
  'trap-repeating-path', // path segments repeat over scope.maxSegmentRepeats
  'trap-calendar', // a date in the URL lies beyond the window in which calendars are believed
  'trap-facets', // too many combinations of query parameters under one path
  'nofollow', // rel=nofollow on the link, or nofollow in meta robots or X-Robots-Tag of the page
  'near-duplicate', // a link of a page that is skipped as a near-duplicate
  'too-many-links', // the page has more links than fetch.maxLinks
  'too-many-redirects', // the chain is longer than fetch.maxRedirects
  'redirect-loop', // the target has been in this chain, and nothing (cookie, spelling) changed
  'too-many-subdomains', // the registrable domain already has scope.maxSubdomains hosts
  'filtered', // the scope or link filter of the program that runs the crawl said no
  'host-queue-full', // the host's queue has reached frontier.maxQueuedPerHost
] as const;
export type RejectReason = (typeof REJECT_REASONS)[number];

/** Why an admitted URL was let go without a fetch of its own. Each leaves a fate row. */
export const DROP_REASONS = [
  'robots-disallowed', // robots.txt of its origin forbids the path
  'robots-unreachable', // robots.txt of its origin failed for 30 days
  'blocklisted', // blocked after it was admitted
  'forbidden-address', // the guard refuses every address of its host
  'page-budget', // the host's page budget of this cycle is spent
  'host-retired', // the host failed too often and was given up
] as const;
export type DropReason = (typeof DROP_REASONS)[number];

/**
 * How a fetch ended for good. `permanent` and `success` end the URL; a `transient` code ends it only after the last attempt. A `host` code is a fault of
 * the whole host and uses up no attempt of the URL, unless the host had just answered: then it is the URL's own and counts like a transient one.
 */
export const OUTCOME_CODES = {
  ok: 'success', // 2xx, whole body
  truncated: 'success', // 2xx, body cut at a cap or broken off by the server; kept and marked
  'not-modified': 'success', // 304 to a conditional request
  redirect: 'permanent', // 3xx with a usable target, which became a find
  'bad-redirect': 'permanent', // 3xx without a usable Location
  'redirect-loop': 'permanent', // the chain came back to itself and nothing changed
  'too-many-redirects': 'permanent', // the chain is longer than fetch.maxRedirects
  'not-found': 'permanent', // 404 or 410
  'client-error': 'permanent', // any other 4xx but 429
  'server-error': 'transient', // 5xx but 503
  'unwanted-type': 'permanent', // the media type is not in fetch.accept; body broken off
  'decode-error': 'permanent', // the content coding cannot be undone
  'protocol-error': 'transient', // not HTTP, headers too large, contradicting lengths
  timeout: 'transient', // connect, first byte, stall or whole exchange
  reset: 'transient', // the connection broke off before the response was whole
  'dns-failed': 'host', // the name has no address, or the servers do not answer
  'connect-failed': 'host', // refused, unreachable
  'tls-failed': 'host', // handshake or certificate
  'rate-limited': 'host', // 429
  unavailable: 'host', // 503
} as const;
export type OutcomeCode = keyof typeof OUTCOME_CODES;
export type OutcomeClass = (typeof OUTCOME_CODES)[OutcomeCode];
export const OUTCOME_NAMES = Object.keys(OUTCOME_CODES) as readonly OutcomeCode[];

export const FIND_KINDS = ['seed', 'link', 'redirect', 'sitemap', 'asset'] as const;
export type FindKind = (typeof FIND_KINDS)[number];
