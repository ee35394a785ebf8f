/**
 * The URL of a meta refresh (HTML Living Standard, "shared declarative refresh steps").
 * Undefined when the content has no time, no URL, or an empty one (the page itself); the delay is not judged.
 */
export function refreshUrl(content: string): string | undefined {
  const end = content.length;
  let at = skipSpace(content, 0);
  const timeStart = at;
  while (at < end && isDigitOrDot(content.charCodeAt(at))) at++;
  if (at === timeStart) return undefined;
  const separator = content.charAt(at);
  if (separator !== ';' && separator !== ',' && !isSpace(content.charCodeAt(at))) return undefined;
  at = skipSpace(content, at);
  if (content.charAt(at) === ';' || content.charAt(at) === ',') at = skipSpace(content, at + 1);
  return unquoted(content, skipUrlPrefix(content, at));
}

/** Behind `url =`, or the same place when it is not there: then the rest is the URL as it stands. */
function skipUrlPrefix(content: string, start: number): number {
  if (content.slice(start, start + 3).toLowerCase() !== 'url') return start;
  const at = skipSpace(content, start + 3);
  return content.charAt(at) === '=' ? skipSpace(content, at + 1) : start;
}

function unquoted(content: string, start: number): string | undefined {
  const quote = content.charAt(start);
  if (quote !== '"' && quote !== "'") return content.slice(start).trim() || undefined;
  const close = content.indexOf(quote, start + 1);
  return content.slice(start + 1, close === -1 ? content.length : close).trim() || undefined;
}

function isDigitOrDot(unit: number): boolean {
  return (unit >= 48 && unit <= 57) || unit === 46;
}

function isSpace(unit: number): boolean {
  return unit === 32 || unit === 10 || unit === 9 || unit === 12 || unit === 13;
}

function skipSpace(content: string, start: number): number {
  let at = start;
  while (isSpace(content.charCodeAt(at))) at++;
  return at;
}
