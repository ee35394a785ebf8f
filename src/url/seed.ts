/**
 * A seed as an operator types it: a URL, or a host with or without port and path.
 * It says what is wrong instead of guessing: a seed that is dropped silently would be a crawl of nothing.
 */
import { PortolanError } from '../core/errors.ts';
import { asFound, HREF_CHARS_MAX } from './resolve.ts';

const REMEDY = 'give an http or https URL such as https://example.com/, or a host name such as example.com';
const HAS_SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const HTTP_SCHEME = /^https?:/i;
/** `example.com:8080` and `localhost:3000/x` look like a scheme and are a host with its port. */
const HOST_AND_PORT = /^[^/?#:@]+:\d{1,5}(?:[/?#]|$)/;

/**
 * The seed as an absolute URL as found; without a scheme https:// is understood. User info and fragment are dropped (credentials belong
 * into the configuration, URLs are logged). Throws PORTOLAN_SEED_INVALID.
 */
export function parseSeed(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') throw invalid(text, 'it is empty');
  if (trimmed.length > HREF_CHARS_MAX) throw invalid(text, `it is longer than ${HREF_CHARS_MAX} characters`);
  const parsed = URL.parse(withScheme(trimmed, text));
  const url = parsed === null ? '' : asFound(parsed.href);
  if (url === '') throw invalid(text, 'it is not a valid URL');
  return url;
}

function withScheme(trimmed: string, text: string): string {
  if (HTTP_SCHEME.test(trimmed) && !HOST_AND_PORT.test(trimmed)) return trimmed;
  if (/^[/\\]{2}/.test(trimmed)) return `https:${trimmed}`;
  if (/^[/\\?#.]/.test(trimmed)) throw invalid(text, 'it names no host');
  if (HAS_SCHEME.test(trimmed) && !HOST_AND_PORT.test(trimmed)) throw invalid(text, 'only http and https can be crawled');
  return `https://${trimmed}`;
}

function invalid(text: string, why: string): PortolanError {
  const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  return new PortolanError('PORTOLAN_SEED_INVALID', `seed "${shown}" cannot be used: ${why}`, { remedy: REMEDY });
}
