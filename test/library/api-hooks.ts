/** Hooks of a test: a small JSON API, a part of it that is not to be crawled, and links that are not followed. */
import type { Hooks, LinkFilter, ScopeFilter } from '../../src/index.ts';

export const handlers: Hooks['handlers'] = [
  {
    types: ['application/json'],
    handle: (page) => {
      const { name, next } = JSON.parse(page.text()) as { name: string; next: string[] };
      return { title: name, text: name, links: next };
    },
  },
];

export const scopeFilter: ScopeFilter = (url) => !new URL(url).pathname.startsWith('/private/');
export const linkFilter: LinkFilter = ({ href }) => !href.endsWith('?print=1');
