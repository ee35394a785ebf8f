/**
 * The library: the same crawl as the command line's, run by a program (docs/LIBRARY.md). Everything here is named one by one; what is not named may
 * change without notice. docs/PUBLIC-API.md is a picture of it, held by a test.
 *
 *   const crawl = createCrawl({ seeds: ['https://site.example/'], output: { dir: 'crawl' } });
 *   for await (const page of crawl) console.log(page.outcome, page.url, page.title);
 */
export { ERROR_CODES, type ErrorCode, PortolanError } from './core/errors.ts';
export {
  DROP_REASONS,
  type DropReason,
  type FindKind,
  OUTCOME_CODES,
  type OutcomeClass,
  type OutcomeCode,
  REJECT_REASONS,
  type RejectReason,
} from './core/reasons.ts';
export type { EndReason } from './engine/coordinator.ts';
export { type Crawl, type CrawlConfig, type CrawlEvents, type CrawlOptions, createCrawl, type PagePart } from './library/crawl.ts';
export type {
  FilteredLink,
  FoundContext,
  FoundLink,
  HandledPage,
  Hooks,
  LinkFilter,
  PageFindings,
  PageHandler,
  ScopeFilter,
} from './library/hooks.ts';
export type { CrawledLink, CrawledPage, DroppedUrl, WarcPlace } from './library/page.ts';
export type { CrawlCounts, CrawlProgress, CrawlResult } from './library/result.ts';
export type { LinkKind } from './parse/page.ts';
export { VERSION } from './version.ts';
