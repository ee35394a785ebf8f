/**
 * Product tokens (RFC 9309 section 2.2.1): letters, '_' and '-', compared without regard to case, always whole, never as a prefix.
 */

function isTokenCode(code: number): boolean {
  const lower = code | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || code === 0x5f || code === 0x2d;
}

/** The product token that a text begins with, in lower case: `ExampleBot/1.0 (x)` gives `examplebot`; '' when there is none. */
export function leadingProductToken(text: string): string {
  let end = 0;
  while (end < text.length && isTokenCode(text.charCodeAt(end))) end++;
  return text.slice(0, end).toLowerCase();
}

/** Whether a text is a product token as a whole. Only such a token can be named by a User-agent line; any other gets the rules for `*`. */
export function isProductToken(text: string): boolean {
  return text.length > 0 && leadingProductToken(text).length === text.length;
}
