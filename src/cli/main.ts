/** The command line. Each verb is a small function over compose.ts; errors leave with a code, a cause and what to do. */
import { Command, CommanderError } from 'commander';
import { PortolanError } from '../core/errors.ts';
import { VERSION } from '../version.ts';
import { addCrawlOptions, type CrawlFlags } from './crawl-options.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';

export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('portolan');
  program
    .description('A polite, durable web crawler')
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError('(portolan --help shows what there is)')
    .configureOutput({ outputError: (text, write) => write(`portolan: ${text}`) });
  addCrawlOptions(
    program
      .command('crawl')
      .argument('[seed...]', 'URLs to start from')
      .description('crawl from the seeds; the same command again resumes'),
  ).action(async (seeds: string[], flags: CrawlFlags) => {
    const { crawl } = await import('./crawl.ts');
    process.exitCode = await crawl(seeds, flags);
  });
  program
    .command('status')
    .argument('<dir>', 'directory of a crawl')
    .option('--recount', 'derive every count again from rows and outputs')
    .option('--json', 'as JSON')
    .description('what a crawl has done and what is left')
    .action(async (dir: string, flags: { recount?: boolean; json?: boolean }) => {
      const { status } = await import('./status.ts');
      process.exitCode = await status(dir, flags);
    });
  try {
    await program.parseAsync(argv as string[], { from: 'user' });
  } catch (error) {
    process.exitCode = report(error);
  }
}

function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.usage;
  if (error instanceof PortolanError) {
    process.stderr.write(`portolan: ${error.code}: ${error.message}${error.remedy === '' ? '' : `\n  what to do: ${error.remedy}`}\n`);
    return exitCodeOf(error.code);
  }
  process.stderr.write(`portolan: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return EXIT.internal;
}
