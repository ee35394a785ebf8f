/** The room's doors: the scope of a crawl, and the blocklist. */
export { BLOCKLIST_ENTRIES_MAX, BLOCKLIST_PATTERNS_MAX, Blocklist } from './blocklist.ts';
export { createScope, type Scope, type ScopeOptions, type Verdict } from './scope.ts';
