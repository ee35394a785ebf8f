/** `portolan crawl` by itself, without the description of the other verbs, so that its first request leaves soon. */
import { Command, CommanderError } from 'commander';
import type { WarmThread } from '../adapters/node/threads.ts';
import { crawl } from './crawl.ts';
import { addCrawlVerb } from './crawl-verb.ts';
import { endWithoutReader } from './reader-gone.ts';
import { tellError } from './tell-error.ts';

/** False when the command line is not one of a crawl: then nothing was done or said. */
export async function crawlMain(argv: readonly string[], warm: WarmThread): Promise<boolean> {
  endWithoutReader();
  const silent = (): void => {};
  const program = new Command('portolan').exitOverride().configureOutput({ writeOut: silent, writeErr: silent, outputError: silent });
  addCrawlVerb(program, '', async (seeds, flags) => {
    process.exitCode = await crawl(seeds, flags, warm);
  });
  try {
    await program.parseAsync(argv as string[], { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return false;
    process.exitCode = tellError(error);
  }
  return true;
}
