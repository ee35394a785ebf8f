/**
 * HTML from strings, with everything escaped: text from the web (host names, URLs, reasons) reaches the page only through `text` or an attribute of
 * `element`, so that markup is made in one place and nothing else can become markup.
 */

/** Finished markup. Only this file makes it from text. */
export interface Html {
  readonly markup: string;
}

export type Content = Html | string | number | undefined | readonly Content[];

export type Attributes = Readonly<Record<string, string | number | undefined>>;

const VOID = new Set(['meta', 'link', 'br', 'col', 'rect', 'path', 'line', 'circle', 'polyline']);
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function escapeHtml(value: string): string {
  // Control characters have no place in a page; bidi controls would let a host name rearrange what stands beside it.
  return value
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd')
    .replace(/[&<>"']/g, (character) => ESCAPES[character]!);
}

/** Markup as it stands, for constants of the program alone. */
export function raw(markup: string): Html {
  return { markup };
}

/** One element. Attributes that are undefined are left out. */
export function element(name: string, attributes: Attributes, ...content: readonly Content[]): Html {
  const list = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}="${escapeHtml(String(value))}"`)
    .join('');
  if (VOID.has(name)) return { markup: `<${name}${list}/>` };
  return { markup: `<${name}${list}>${markupOf(content)}</${name}>` };
}

export function markupOf(content: Content): string {
  if (content === undefined) return '';
  if (typeof content === 'string') return escapeHtml(content);
  if (typeof content === 'number') return escapeHtml(String(content));
  if (Array.isArray(content)) return (content as readonly Content[]).map(markupOf).join('');
  return (content as Html).markup;
}
