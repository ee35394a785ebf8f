/**
 * Where the command line begins: it loads what the verb needs and nothing else. `crawl` and `explain DIR URL` are to be quick, so each has a way of its own past
 * the description of all verbs; whatever that way does not know (help, a mistake, a rare flag) goes the long one, program.ts, which answers the same.
 */
import { isPlainExplain } from './plain-explain.ts';

export async function main(argv: readonly string[]): Promise<void> {
  if (argv[0] === 'crawl' && !argv.some((word) => NO_CRAWL.includes(word))) {
    const { warmCrawl } = await import('../warm.ts');
    const warm = warmCrawl();
    try {
      const { crawlMain } = await import('./crawl-main.ts');
      if (await crawlMain(argv, warm)) return;
    } finally {
      warm.discard();
    }
  } else if (isPlainExplain(argv)) {
    const { explainMain } = await import('./explain-main.ts');
    await explainMain(argv);
    return;
  }
  const { programMain } = await import('./program.ts');
  await programMain(argv);
}

/** With these, `crawl` runs no crawl. */
const NO_CRAWL = ['--dry-run', '--help', '-h'];
