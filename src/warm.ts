/**
 * Starts a thread of a crawl before its command line and configuration are read. What loads here loads first, so this file imports next to nothing.
 */
import { type WarmThread, warmThread } from './adapters/node/threads.ts';
import { DEFAULT_MEMORY_BYTES } from './config/defaults.ts';

export function workerEntry(): URL {
  return new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url);
}

/** With the default memory, which most crawls keep. */
export function warmCrawl(): WarmThread {
  return warmThread(workerEntry(), DEFAULT_MEMORY_BYTES);
}
