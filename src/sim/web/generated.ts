/**
 * Pages that are handed to the crawler as generated: a title and links, one to a line, instead of HTML that is written here only to be parsed there. They come
 * with a media type of their own and are read by a handler of the engine's usual port, so everything before and after the parser is as ever; what is not
 * exercised is charset, HTML scanner and near-duplicates by text.
 *
 * A line is one letter and its text up to \n: T title, R content of meta robots, L a link, N a link with nofollow. A last line without its end was cut off
 * on the way and is left out, as an unfinished tag is.
 */
import type { EngineHooks } from '../../engine/hooks.ts';

export type MediaHandler = EngineHooks['handlers'][number];
type ParsedPage = ReturnType<MediaHandler['handle']>;
type PageLink = ParsedPage['links'][number];

export const GENERATED_TYPE = 'application/x-simulated-links';

const NO_UNITS = new Uint16Array(0);
const LETTER = { title: 0x54, robots: 0x52, link: 0x4c, nofollow: 0x4e } as const;

export function createGeneratedHandler(): MediaHandler {
  return { types: [GENERATED_TYPE], handle: ({ bytes, options }) => pageOf(bytes, options.maxLinks) };
}

function pageOf(bytes: Uint8Array, maxLinks: number): ParsedPage {
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1').split('\n');
  const seen = new Set<string>();
  const links: PageLink[] = [];
  const metaRobots: { readonly name: string; readonly content: string }[] = [];
  let title = '';
  let linksFound = 0;
  let linksOverBound = 0;
  for (let at = 0; at < lines.length - 1; at++) {
    const line = lines[at]!;
    const letter = line.charCodeAt(0);
    const text = line.slice(1);
    if (letter === LETTER.title) title = text;
    else if (letter === LETTER.robots) metaRobots.push({ name: 'robots', content: text });
    else {
      linksFound++;
      if (seen.has(line)) continue;
      if (links.length >= maxLinks) {
        linksOverBound++;
        continue;
      }
      seen.add(line);
      links.push({ href: text, kind: 'a', nofollow: letter === LETTER.nofollow });
    }
  }
  return {
    links,
    linksFound,
    linksOverBound,
    baseHref: undefined,
    title,
    canonicalHref: undefined,
    metaRobots,
    text: '',
    mainText: NO_UNITS,
    language: undefined,
  };
}
