/** `portolan crawl` on the command line: its argument, flags and examples, for the description of all verbs and for the quick start alike. */
import type { Command } from 'commander';
import { addCrawlOptions, type CrawlFlags } from './crawl-options.ts';

const CRAWL_EXAMPLES = `
Examples:
  portolan crawl example.com                       the host, with and without www, one page a second at most
  portolan crawl example.com/docs/ --scope prefix  the pages below /docs/ alone
  portolan crawl --seeds hosts.txt --scope domain --out survey --contact https://example.org/bot
  portolan crawl localhost:8080 --allow-net 127.0.0.0/8 --delay 50ms
  portolan crawl example.com --dry-run --live-robots

A seed without a scheme is https (a loopback name: http). Ctrl-C stops in an orderly way; the same command again goes on.
Every key of the configuration file is in docs/CONFIG.md; portolan init writes one with all of them.`;

export function addCrawlVerb(program: Command, group: string, run: (seeds: string[], flags: CrawlFlags) => Promise<void>): void {
  addCrawlOptions(
    program
      .command('crawl')
      .helpGroup(group)
      .argument('[seed...]', 'URLs or host names to start from')
      .description('crawl from the seeds; the same command again resumes')
      .addHelpText('after', CRAWL_EXAMPLES),
  ).action(run);
}
