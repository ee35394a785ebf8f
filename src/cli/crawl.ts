/** `portolan crawl`: resolve the configuration, run, report. Ctrl-C once ends in an orderly way, twice at once (the state survives both). */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { WarmThread } from '../adapters/node/threads.ts';
import type { CrawlReport } from '../compose.ts';
import type { Config } from '../config/schema.ts';
import { PortolanError } from '../core/errors.ts';
import type { CoordinatorEvents } from '../engine/coordinator.ts';
import { Crawl } from '../library/crawl.ts';
import { requireSeeds, resolveCrawl } from './crawl-config.ts';
import type { CrawlFlags } from './crawl-options.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import { createProgress, type ProgressMode } from './progress.ts';
import { onReaderGone } from './reader-gone.ts';
import type { Report } from './report.ts';
import { resumeNotices } from './resume-notices.ts';

export async function crawl(seeds: readonly string[], flags: CrawlFlags, warm?: WarmThread): Promise<number> {
  const resolved = resolveCrawl(seeds, flags);
  requireSeeds(resolved, flags);
  const { config, notices } = resolved;
  const mode = flags.json === true ? 'json' : flags.quiet === true ? 'quiet' : 'human';
  return (await crawlWith(config, { mode, force: flags.force === true, notices, tellsEnd: true, ...(warm === undefined ? {} : { warm }) }))
    .code;
}

export interface CrawlRun {
  readonly mode: ProgressMode;
  readonly force: boolean;
  /** Said before anything begins, in mode human alone. */
  readonly notices: readonly string[];
  /** Whether mode human closes with the report in words. */
  readonly tellsEnd: boolean;
  /** A thread that was started ahead. */
  readonly warm?: WarmThread;
}

export interface CrawlEnd {
  readonly code: number;
  readonly report: Report;
  /** Gives SIGINT, SIGTERM and a reader's end back, for who goes on with something else. */
  release(): void;
}

/** One run with progress, interrupts and both report files. */
export async function crawlWith(config: Config, { mode, force, notices, tellsEnd, warm }: CrawlRun): Promise<CrawlEnd> {
  const progress = createProgress(mode);
  if (mode === 'human') for (const notice of [...notices, ...resumeNotices(config)]) progress.notice(-1, notice);
  let told: CrawlReport | undefined;
  let loading: ReturnType<typeof loadReporting> | undefined;
  const events: CoordinatorEvents = {
    ...progress,
    progress(statuses, view) {
      loading ??= loadReporting();
      loading.catch(() => {}); // told at the end, when it is needed
      progress.progress(statuses, view);
    },
  };
  const crawl = new Crawl(config, { force }, { warm, events, ended: (report) => (told = report) });
  let interrupts = 0;
  const interrupt = (): void => {
    interrupts++;
    if (interrupts > 1) process.exit(EXIT.interrupted);
    if (mode === 'human') progress.notice(-1, 'stopping: exchanges in flight end first; once more stops at once');
    crawl.stop();
  };
  process.on('SIGINT', interrupt);
  process.on('SIGTERM', interrupt);
  const keepReader = onReaderGone(() => crawl.stop());
  const release = (): void => {
    keepReader();
    process.off('SIGINT', interrupt);
    process.off('SIGTERM', interrupt);
  };
  // The handlers stay for good: a second signal that comes while the report is written ends with the exit code of an interrupt as well.
  try {
    await crawl.run();
  } catch (error) {
    // A crawl that has failed has a report all the same; one that could not begin has none.
    if (told === undefined) {
      release();
      throw error;
    }
  }
  const ended = told!;
  progress.end();
  const { describe, reportHtml, reportJson, reportOf } = await (loading ?? loadReporting());
  const report = reportOf(ended);
  if (ended.error === undefined) {
    writeReport(join(ended.dir, 'report.json'), reportJson(report));
    writeReport(join(ended.dir, 'report.html'), reportHtml(report));
  }
  if (ended.error === undefined && config.output.cdxj && config.output.warc) await (await import('./cdxj.ts')).cdxj(ended.dir, {});
  if (mode === 'json') process.stdout.write(`${JSON.stringify({ event: 'end', ...report, atMs: Date.now() })}\n`);
  if (ended.error !== undefined) {
    const { code, message, remedy, stack } = ended.error;
    process.stderr.write(`portolan: ${code}: ${message}${remedy === '' ? '' : `\n  what to do: ${remedy}`}\n`);
    if (code === 'PORTOLAN_INTERNAL' || code === 'PORTOLAN_ENGINE_INVARIANT') process.stderr.write(`${stack}\n`);
    return { code: exitCodeOf(code), report, release };
  }
  if (mode === 'human' && tellsEnd) process.stderr.write(`${describe(report, ended.dir)}\n`);
  if (report.unaccounted !== 0) return { code: EXIT.unaccounted, report, release };
  return { code: ended.reason === 'stopped' ? EXIT.interrupted : EXIT.finished, report, release };
}

/** Loaded when the crawl is under way, not before its first request; and not at its end either: the program may have been replaced by a newer one by then. */
async function loadReporting() {
  const [report, html] = await Promise.all([import('./report.ts'), import('./report-html.ts')]);
  return { ...report, ...html };
}

/** Whole or not at all: a reader never finds half a report. */
function writeReport(file: string, text: string): void {
  const draft = `${file}.draft`;
  try {
    writeFileSync(draft, text);
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    const full = (error as NodeJS.ErrnoException).code === 'ENOSPC';
    throw new PortolanError(
      full ? 'PORTOLAN_DISK_FULL' : 'PORTOLAN_DISK_FAILED',
      `${basename(file)} cannot be written: ${(error as Error).message}`,
      {
        cause: error,
        remedy: 'make space or make the directory writable; the crawl itself is safe',
      },
    );
  }
}
