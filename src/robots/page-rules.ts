/**
 * What a page says to robots about itself: X-Robots-Tag headers and meta robots. Not part of RFC 9309; read as the large search engines do.
 *
 * A value is a list of directives, split by commas (semicolons and blanks are forgiven), in any case. In a header a part `agent:` gives what
 * follows, up to the next one, to that agent alone. All that applies is added up, so the strictest holds: rules for all and rules for this
 * crawler together. Unknown directives, limits on snippets and dates have no say. rel=nofollow stands on links and is not read here.
 */
import { leadingProductToken } from './product-token.ts';

export interface PageRules {
  /** The page is not to be stored for others to find. */
  readonly noindex: boolean;
  /** Its links are not to be followed. */
  readonly nofollow: boolean;
  /** No copy of it is to be kept for showing (`nocache` is the older word). */
  readonly noarchive: boolean;
}

/** Directives that have a value behind a colon of their own, which is no agent. */
const WITH_VALUE: readonly string[] = ['unavailable_after', 'max-snippet', 'max-image-preview', 'max-video-preview'];

/**
 * Rules for this crawler from any number of values: X-Robots-Tag header values, contents of `<meta name=robots>` and of `<meta>` elements
 * that have the product token for their name.
 */
export function parseRobotsTags(values: readonly string[], productToken: string): PageRules {
  const found = { noindex: false, nofollow: false, noarchive: false };
  const token = productToken.toLowerCase();
  for (const value of values) readTag(value, token, found);
  return found;
}

function readTag(value: string, token: string, found: { noindex: boolean; nofollow: boolean; noarchive: boolean }): void {
  let applies = true;
  let before = '';
  for (const word of value.toLowerCase().split(/[,;\t\n\f\r ]+/)) {
    const parts = word.split(':');
    const directive = parts.pop()!;
    for (const part of parts) {
      // In `agent : noindex` the colon stands alone, and the name is the word before.
      const name = part === '' ? before : part;
      if (!WITH_VALUE.includes(name)) applies = agentApplies(name, token, applies);
    }
    // `max-image-preview:none` and `max-image-preview: none` are no `none`.
    const isValue =
      WITH_VALUE.includes(parts[0] ?? '') || (word !== '' && before.endsWith(':') && WITH_VALUE.includes(before.slice(0, -1)));
    if (applies && !isValue) addDirective(directive, found);
    before = word;
  }
}

/** Whether what follows `name:` applies; as before when the name can be that of no agent. */
function agentApplies(name: string, token: string, before: boolean): boolean {
  if (name === '*' || name === 'robots') return true;
  const agent = leadingProductToken(name);
  return agent === '' ? before : agent === token;
}

function addDirective(directive: string, found: { noindex: boolean; nofollow: boolean; noarchive: boolean }): void {
  switch (directive) {
    case 'none':
      found.noindex = true;
      found.nofollow = true;
      break;
    case 'noindex':
    case 'nofollow':
    case 'noarchive':
      found[directive] = true;
      break;
    case 'nocache':
      found.noarchive = true;
      break;
  }
}
