/** `portolan crawl`: resolve the configuration, run, report. Ctrl-C once ends in an orderly way, twice at once (the state survives both). */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCrawl } from '../compose.ts';
import { PortolanError } from '../core/errors.ts';
import { type CrawlFlags, resolveConfig } from './crawl-options.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { createProgress } from './progress.ts';
import { describe, reportOf } from './report.ts';

export async function crawl(seeds: readonly string[], flags: CrawlFlags): Promise<number> {
  const config = resolveConfig(seeds, flags);
  const mode = flags.json === true ? 'json' : flags.quiet === true ? 'quiet' : 'human';
  const progress = createProgress(mode, () => performance.now());
  const handle = await runCrawl(config, { force: flags.force === true, events: progress });
  let interrupts = 0;
  const interrupt = (): void => {
    interrupts++;
    if (interrupts > 1) process.exit(EXIT.interrupted);
    progress.end();
    if (mode === 'human') process.stderr.write('portolan: stopping: exchanges in flight end first; once more stops at once\n');
    handle.stop();
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  const ended = await handle.ended;
  process.off('SIGINT', interrupt);
  process.off('SIGTERM', interrupt);
  progress.end();
  const report = reportOf(ended);
  if (ended.error === undefined) writeReport(join(ended.dir, 'report.json'), report);
  if (mode === 'json') process.stdout.write(`${JSON.stringify({ event: 'end', ...report })}\n`);
  if (ended.error !== undefined) {
    const { code, message, remedy, stack } = ended.error;
    process.stderr.write(`portolan: ${code}: ${message}${remedy === '' ? '' : `\n  what to do: ${remedy}`}\n`);
    if (code === 'PORTOLAN_INTERNAL' || code === 'PORTOLAN_ENGINE_INVARIANT') process.stderr.write(`${stack}\n`);
    return exitCodeOf(code);
  }
  if (mode === 'human') process.stderr.write(`${describe(report, ended.dir)}\n`);
  if (report.unaccounted !== 0) return EXIT.unaccounted;
  return ended.reason === 'stopped' ? EXIT.interrupted : EXIT.finished;
}

function writeReport(file: string, report: unknown): void {
  try {
    writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
  } catch (error) {
    const full = (error as NodeJS.ErrnoException).code === 'ENOSPC';
    throw new PortolanError(
      full ? 'PORTOLAN_DISK_FULL' : 'PORTOLAN_DISK_FAILED',
      `report.json cannot be written: ${(error as Error).message}`,
      {
        cause: error,
        remedy: 'make space or make the directory writable; the crawl itself is safe',
      },
    );
  }
}
