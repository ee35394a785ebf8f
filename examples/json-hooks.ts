/**
 * Hooks of examples/json-handler.ts. Every thread of the crawl imports this module for itself: it shares no variable with the program or with the
 * other threads, so what it says depends on nothing but what it is handed.
 */
import type { PageHandler, ScopeFilter } from 'portolan';

/** JSON as an API gives it: a title, and links wherever a string looks like one. */
const json: PageHandler = {
  types: ['application/json'],
  handle: (page) => {
    const value: unknown = JSON.parse(page.text());
    const links: string[] = [];
    const texts: string[] = [];
    const visit = (part: unknown): void => {
      if (typeof part === 'string') (/^(?:https?:\/\/|\/)\S*$/.test(part) ? links : texts).push(part);
      else if (typeof part === 'object' && part !== null) Object.values(part).forEach(visit);
    };
    visit(value);
    return { title: texts[0] ?? '', links, text: texts.join('\n') };
  },
};

export const handlers = [json];

/** The API has a part that only its owner may see. */
export const scopeFilter: ScopeFilter = (url) => !new URL(url).pathname.startsWith('/private/');
