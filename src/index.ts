/**
 * The library: the same crawl as the command line's, started from a program. Everything here is named one by one; what is not named may change
 * without notice.
 *
 *   const config = parseConfig({ seeds: ['https://site.example/'] }, 'my program');
 *   const crawl = await runCrawl(config, { force: false, events: { committed() {}, notice() {}, progress() {} } });
 *   const report = await crawl.ended;
 */
export { type CrawlHandle, type CrawlReport, type RunOptions, runCrawl } from './compose.ts';
export { type Config, type ConfigInput, parseConfig } from './config/schema.ts';
export { ERROR_CODES, type ErrorCode, PortolanError } from './core/errors.ts';
export {
  DROP_REASONS,
  type DropReason,
  OUTCOME_CODES,
  type OutcomeClass,
  type OutcomeCode,
  REJECT_REASONS,
  type RejectReason,
} from './core/reasons.ts';
export type { TotalsSnapshot } from './engine/accounting.ts';
export type { CoordinatorEvents, EndReason, EndReport } from './engine/coordinator.ts';
export type { ShardStatus } from './engine/shard.ts';
export { VERSION } from './version.ts';
