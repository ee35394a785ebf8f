/**
 * A handler per media type (chosen by content type and sniffing, never by file extension). HTML, XHTML and plain text are built in;
 * others are added in front of them. A type without a handler has no links and no text: the page is kept as it is.
 *
 * Handlers run within the page's own milliseconds, after the exchange has ended: they hold no fetch slot, do no I/O and do not wait.
 */
import { decodeBody } from './charset.ts';
import { FoldedText } from './folded-text.ts';
import { HtmlParser } from './html.ts';
import type { ParsedPage, ParseOptions } from './page.ts';

export interface HandlerInput {
  /** The body, content coding removed. */
  readonly bytes: Uint8Array;
  readonly contentTypeHeader: string | undefined;
  /** What mediaTypeOf said. */
  readonly mediaType: string;
  readonly options: Omit<ParseOptions, 'syntax'>;
}

export interface MediaHandler {
  /** Media types in lower case, without parameters. */
  readonly types: readonly string[];
  /** Never throws for anything the web may send. */
  handle(page: HandlerInput): ParsedPage;
}

export interface Handlers {
  readonly types: readonly string[];
  /** The handler for a media type; undefined when there is none. */
  find(mediaType: string): MediaHandler | undefined;
}

/** The built-in handlers and `added` ones, which win over them. One registry per thread: handlers keep buffers between pages. */
export function createHandlers(added: readonly MediaHandler[] = []): Handlers {
  const byType = new Map<string, MediaHandler>();
  for (const handler of [...builtIn(), ...added]) for (const type of handler.types) byType.set(type, handler);
  return { types: [...byType.keys()], find: (mediaType) => byType.get(mediaType) };
}

function builtIn(): readonly MediaHandler[] {
  const parser = new HtmlParser();
  return [
    { types: ['text/html'], handle: (page) => parser.parse(textOf(page), page.options) },
    { types: ['application/xhtml+xml'], handle: (page) => parser.parse(textOf(page), { ...page.options, syntax: 'xhtml' }) },
    plainTextHandler(),
  ];
}

function plainTextHandler(): MediaHandler {
  const folded = new FoldedText();
  return {
    types: ['text/plain'],
    handle: (page) => {
      const wanted = page.options.text;
      const text = wanted === 'none' ? '' : foldLines(folded, textOf(page));
      return { ...NO_FINDINGS, text: wanted === 'both' ? text : '', mainText: text };
    },
  };
}

const NO_FINDINGS: ParsedPage = {
  links: [],
  linksFound: 0,
  linksOverBound: 0,
  baseHref: undefined,
  title: '',
  canonicalHref: undefined,
  metaRobots: [],
  text: '',
  mainText: '',
  language: undefined,
};

function textOf(page: HandlerInput): string {
  return decodeBody(page.bytes, page.contentTypeHeader).text;
}

/** White space folded within lines, empty lines dropped. */
function foldLines(folded: FoldedText, text: string): string {
  folded.reset(text.length);
  let from = 0;
  while (from < text.length) {
    const newline = text.indexOf('\n', from);
    const end = newline === -1 ? text.length : newline;
    folded.writeString(text.slice(from, end));
    folded.breakLine();
    from = end + 1;
  }
  return folded.text();
}
