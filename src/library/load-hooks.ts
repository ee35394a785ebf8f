/**
 * Within a thread: imports a module of hooks, checks what it exports, and makes of it what the engine calls.
 *
 * Invariant: nothing that a hook does reaches the engine unchecked. A filter that throws, or answers with anything but a boolean (the promise of an
 * async function would count as yes), ends the crawl: to guess would admit or lose URLs. A handler that throws costs its page its links and text, and is said.
 */
import { PortolanError } from '../core/errors.ts';
import { unitsOf } from '../core/text.ts';
import { isWantedType } from '../engine/exchanges.ts';
import type { EngineHooks } from '../engine/hooks.ts';
import { decodeBody } from '../parse/charset.ts';
import type { HandlerInput, MediaHandler } from '../parse/handlers.ts';
import { MAX_ANCHOR_CHARS, MAX_LANGUAGE_CHARS, MAX_TITLE_CHARS, NO_UNITS, type PageLink, type ParsedPage } from '../parse/page.ts';
import type { Hooks, LinkFilter, PageFindings, PageHandler, ScopeFilter } from './hooks.ts';

const EXPORTS = ['handlers', 'scopeFilter', 'linkFilter'];
const MEDIA_TYPE = /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/;
/** Failures of handlers that are said, per thread. */
const FAILURES_SAID_MAX = 10;

/** `module`: a URL. `accept`: fetch.accept. Throws PORTOLAN_HOOKS_INVALID. */
export async function loadHooks(module: string, accept: readonly string[], notice: (text: string) => void): Promise<EngineHooks> {
  const hooks = checked(module, await imported(module), accept);
  const { scopeFilter, linkFilter } = hooks;
  return {
    handlers: (hooks.handlers ?? []).map((handler) => mediaHandler(handler, notice)),
    ...(scopeFilter === undefined ? {} : { admits: (url, found) => verdict('scopeFilter', url, () => scopeFilter(url, found)) }),
    ...(linkFilter === undefined ? {} : { follows: (link, page) => verdict('linkFilter', link.href, () => linkFilter(link, page)) }),
  };
}

async function imported(module: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    return (await import(module)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    throw invalid(module, `cannot be imported: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
}

function checked(module: string, exported: Readonly<Record<string, unknown>>, accept: readonly string[]): Hooks {
  if (!EXPORTS.some((name) => name in exported)) throw invalid(module, `exports none of ${EXPORTS.join(', ')}`);
  for (const name of ['scopeFilter', 'linkFilter']) {
    if (exported[name] !== undefined && typeof exported[name] !== 'function')
      throw invalid(module, `exports ${name}, which is not a function`);
  }
  const handlers = exported['handlers'] ?? [];
  if (!Array.isArray(handlers)) throw invalid(module, 'exports handlers, which is not an array');
  for (const [at, handler] of (handlers as unknown[]).entries()) checkHandler(module, at, handler, accept);
  return {
    handlers: handlers as readonly PageHandler[],
    ...(exported['scopeFilter'] === undefined ? {} : { scopeFilter: exported['scopeFilter'] as ScopeFilter }),
    ...(exported['linkFilter'] === undefined ? {} : { linkFilter: exported['linkFilter'] as LinkFilter }),
  };
}

function checkHandler(module: string, at: number, handler: unknown, accept: readonly string[]): void {
  const { types, handle } = (handler ?? {}) as Partial<Record<keyof PageHandler, unknown>>;
  if (typeof handle !== 'function') throw invalid(module, `handlers[${at}] has no function handle`);
  if (!Array.isArray(types) || types.length === 0) throw invalid(module, `handlers[${at}] has no list of types`);
  for (const type of types as unknown[]) {
    if (typeof type !== 'string' || !MEDIA_TYPE.test(type)) {
      throw invalid(module, `handlers[${at}].types: ${JSON.stringify(type)} is not a media type in lower case without parameters`);
    }
    if (!isWantedType(accept, type))
      throw invalid(module, `handlers[${at}] is for ${type}, which fetch.accept does not have: no such page would be read`);
  }
}

function invalid(module: string, what: string, cause?: unknown): PortolanError {
  return new PortolanError('PORTOLAN_HOOKS_INVALID', `the module of hooks ${module} ${what}`, {
    cause,
    remedy: 'docs/LIBRARY.md says what it exports; it is named by an absolute path or new URL(…, import.meta.url)',
  });
}

function verdict(hook: string, subject: string, ask: () => unknown): boolean {
  let answer: unknown;
  try {
    answer = ask();
  } catch (cause) {
    throw failed(`${hook} has thrown for ${subject}: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
  if (typeof answer === 'boolean') return answer;
  throw failed(`${hook} must answer true or false; for ${subject} it answered ${answer instanceof Promise ? 'a promise' : typeof answer}`);
}

function failed(message: string, cause?: unknown): PortolanError {
  return new PortolanError('PORTOLAN_HOOKS_FAILED', message, {
    cause,
    remedy: 'mend the hook and run again: the crawl goes on from its last commit',
  });
}

function mediaHandler(handler: PageHandler, notice: (text: string) => void): MediaHandler {
  let failures = 0;
  return {
    types: handler.types,
    handle: (page) => {
      try {
        return parsedPage(handler.handle(handledPage(page)), page.options.maxLinks, page.options.text === 'both');
      } catch (error) {
        if (failures++ < FAILURES_SAID_MAX) {
          const last = failures === FAILURES_SAID_MAX ? '; further failures of this handler are not said' : '';
          notice(
            `a handler for ${page.mediaType} has failed, its page is kept without links and text: ${(error as Error)?.message ?? String(error)}${last}`,
          );
        }
        return parsedPage({}, 0, false);
      }
    },
  };
}

function handledPage(page: HandlerInput) {
  const { bytes, contentTypeHeader, mediaType } = page;
  return { bytes, contentType: contentTypeHeader, mediaType, text: () => decodeBody(bytes, contentTypeHeader).text };
}

/** Throws when a handler has found something of the wrong kind. */
function parsedPage(found: PageFindings, maxLinks: number, wantsText: boolean): ParsedPage {
  const { title, text, mainText = text, baseHref, canonical, language } = Object(found) as PageFindings;
  for (const [name, value] of Object.entries({ title, text, mainText, baseHref, canonical, language })) {
    if (value !== undefined && typeof value !== 'string') throw new TypeError(`${name} is not a string`);
  }
  return {
    ...linksOf(found.links ?? [], maxLinks),
    baseHref,
    title: (title ?? '').slice(0, MAX_TITLE_CHARS),
    canonicalHref: canonical,
    metaRobots: [],
    text: wantsText ? (text ?? '') : '',
    mainText: mainText === undefined || mainText === '' ? NO_UNITS : unitsOf(mainText),
    language: language?.slice(0, MAX_LANGUAGE_CHARS),
  };
}

function linksOf(found: NonNullable<PageFindings['links']>, maxLinks: number): Pick<ParsedPage, 'links' | 'linksFound' | 'linksOverBound'> {
  const links = new Map<string, PageLink>();
  let linksOverBound = 0;
  for (const one of found) {
    const { href, text, nofollow = false } = typeof one === 'string' ? { href: one } : one;
    if (typeof href !== 'string') throw new TypeError('a link has no href');
    const hash = href.indexOf('#');
    const key = `${nofollow === true}${hash < 0 ? href : href.slice(0, hash)}`;
    if (links.has(key)) continue;
    if (links.size >= maxLinks) linksOverBound++;
    else
      links.set(key, {
        href: href.trim(),
        kind: 'a',
        nofollow: nofollow === true,
        ...(text === undefined ? {} : { text: String(text).slice(0, MAX_ANCHOR_CHARS) }),
      });
  }
  return { links: [...links.values()], linksFound: found.length, linksOverBound };
}
