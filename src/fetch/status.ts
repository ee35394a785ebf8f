/** Which outcome a whole answer has, by its status code (RFC 9110 section 15). */
import type { OutcomeCode } from '../core/reasons.ts';

/**
 * `isConditional`: the request carried validators, so 304 answers it; without them a 304 answers nothing.
 * Codes outside 200 … 599 are no HTTP. 300 counts like any other redirect: its Location is the server's own choice (section 15.4.1). 305 and 306
 * named a proxy (sections 15.4.6, 15.4.7): what their Location says is no page, so it is no target.
 */
export function outcomeOfStatus(status: number, location: string | undefined, isConditional: boolean): OutcomeCode {
  if (status >= 200 && status < 300) return 'ok';
  if (status === 304) return isConditional ? 'not-modified' : 'protocol-error';
  if (status === 305 || status === 306) return 'bad-redirect';
  if (status >= 300 && status < 400) return location === undefined ? 'bad-redirect' : 'redirect';
  if (status === 404 || status === 410) return 'not-found';
  if (status === 429) return 'rate-limited';
  if (status >= 400 && status < 500) return 'client-error';
  if (status === 503) return 'unavailable';
  if (status >= 500 && status < 600) return 'server-error';
  return 'protocol-error';
}
