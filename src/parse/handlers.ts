/**
 * A handler per media type (chosen by content type and sniffing, never by file extension). HTML, XHTML and plain text are built in;
 * others are added in front of them. A type without a handler has no links and no text: the page is kept as it is.
 *
 * Handlers run within the page's own milliseconds, after the exchange has ended: they hold no fetch slot, do no I/O and do not wait.
 */
import { type Assets, cssAssets, htmlAssets } from './assets.ts';
import { decodeBody } from './charset.ts';
import { FoldedText } from './folded-text.ts';
import { HtmlParser } from './html.ts';
import { NO_UNITS, type ParsedPage, type ParseOptions } from './page.ts';

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
    { types: ['text/html'], handle: (page) => htmlPage(parser, page, 'html') },
    { types: ['application/xhtml+xml'], handle: (page) => htmlPage(parser, page, 'xhtml') },
    plainTextHandler(),
  ];
}

function htmlPage(parser: HtmlParser, page: HandlerInput, syntax: 'html' | 'xhtml'): ParsedPage {
  const text = textOf(page);
  const parsed = parser.parse(text, syntax === 'html' ? page.options : { ...page.options, syntax });
  return page.options.assets === true ? { ...parsed, assets: htmlAssets(text, page.options.maxLinks) } : parsed;
}

/** What a style sheet asks for. */
export function styleSheetAssets(bytes: Uint8Array, contentTypeHeader: string | undefined, max: number): Assets {
  return cssAssets(decodeBody(bytes, contentTypeHeader).text, max);
}

function plainTextHandler(): MediaHandler {
  const folded = new FoldedText();
  return {
    types: ['text/plain'],
    handle: (page) => {
      const wanted = page.options.text;
      if (wanted === 'none') return NO_FINDINGS;
      foldLines(folded, textOf(page));
      return { ...NO_FINDINGS, text: wanted === 'both' ? folded.text() : '', mainText: folded.mainUnits() };
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
  mainText: NO_UNITS,
  language: undefined,
};

function textOf(page: HandlerInput): string {
  return decodeBody(page.bytes, page.contentTypeHeader).text;
}

/** White space folded within lines, empty lines dropped. */
function foldLines(folded: FoldedText, text: string): void {
  folded.reset(text.length);
  let from = 0;
  while (from < text.length) {
    const newline = text.indexOf('\n', from);
    const end = newline === -1 ? text.length : newline;
    folded.writeString(text.slice(from, end));
    folded.breakLine();
    from = end + 1;
  }
}
