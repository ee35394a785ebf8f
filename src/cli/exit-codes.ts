/** What the process ends with; README.md lists them. */
import type { ErrorCode } from '../core/errors.ts';

export const EXIT = {
  finished: 0,
  internal: 1,
  usage: 2,
  state: 3,
  disk: 4,
  unaccounted: 5,
  /** --max-time or --max-pages ended the run before the crawl was finished. */
  limit: 0,
  interrupted: 130,
} as const;

export function exitCodeOf(code: ErrorCode | 'PORTOLAN_INTERNAL'): number {
  if (
    code.startsWith('PORTOLAN_CONFIG') ||
    code.startsWith('PORTOLAN_SEED') ||
    code.startsWith('PORTOLAN_BLOCKLIST') ||
    code === 'PORTOLAN_RUNTIME_TOO_OLD'
  )
    return EXIT.usage;
  if (code.startsWith('PORTOLAN_STATE')) return EXIT.state;
  if (code.startsWith('PORTOLAN_DISK') || code === 'PORTOLAN_STORE_COMMIT_FAILED') return EXIT.disk;
  return EXIT.internal;
}
