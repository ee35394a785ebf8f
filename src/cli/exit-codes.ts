/** What the process ends with; README.md lists them. */
import type { ErrorCode } from '../core/errors.ts';

export const EXIT = {
  finished: 0,
  internal: 1,
  usage: 2,
  state: 3,
  disk: 4,
  unaccounted: 5,
  /** `verify` has found a violation. */
  impolite: 6,
  /** --max-time or --max-pages ended the run before the crawl was finished. */
  limit: 0,
  interrupted: 130,
} as const;

export function exitCodeOf(code: ErrorCode | 'PORTOLAN_INTERNAL'): number {
  if (
    code.startsWith('PORTOLAN_USAGE') ||
    code.startsWith('PORTOLAN_CONFIG') ||
    code.startsWith('PORTOLAN_SEED') ||
    code.startsWith('PORTOLAN_BLOCKLIST') ||
    code.startsWith('PORTOLAN_DEMO') ||
    code === 'PORTOLAN_CONTROL_INVALID' ||
    code === 'PORTOLAN_RUNTIME_TOO_OLD' ||
    code === 'PORTOLAN_LIBRARY_MISUSE' ||
    code === 'PORTOLAN_HOOKS_INVALID' ||
    code === 'PORTOLAN_HOOKS_FAILED'
  )
    return EXIT.usage;
  // Of a crawl that is there, and cannot be reached.
  if (code.startsWith('PORTOLAN_STATE') || code.startsWith('PORTOLAN_CONTROL')) return EXIT.state;
  if (code.startsWith('PORTOLAN_DISK') || code === 'PORTOLAN_STORE_COMMIT_FAILED') return EXIT.disk;
  return EXIT.internal;
}
