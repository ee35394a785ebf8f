/**
 * Starts a crawl's threads before its configuration is read: with the defaults, which most crawls keep. What loads here loads first, so this
 * file imports next to nothing.
 */
import { availableParallelism } from 'node:os';
import { type WarmThreads, warmThreads } from './adapters/node/threads.ts';
import { DEFAULT_MEMORY_BYTES } from './config/defaults.ts';

export function workerEntry(): URL {
  return new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
}

/** `threads` as given on the command line; anything but a whole number is left to the configuration to refuse. */
export function warmCrawl(threads: string | undefined): WarmThreads {
  const wanted = Number(threads ?? availableParallelism());
  return warmThreads(workerEntry(), Number.isInteger(wanted) && wanted >= 1 && wanted <= 64 ? wanted : 1, DEFAULT_MEMORY_BYTES);
}
