/** A process that takes the lock of a crawl directory, says so, and keeps it until it dies: `holder.ts FILE`. */
import { lockCrawl } from '../../../src/adapters/sqlite/crawl-lock.ts';
import { PortolanError } from '../../../src/core/errors.ts';

try {
  lockCrawl(process.argv[2] ?? '');
  console.log('held');
  setInterval(() => {}, 60_000);
} catch (error) {
  console.log(error instanceof PortolanError ? error.code : String(error));
}
