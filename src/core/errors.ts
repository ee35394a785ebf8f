/**
 * Errors are for misuse, configuration, broken invariants and broken storage; what the web does is an Outcome.
 * Each has a code from one list (docs/ERRORS.md, held together by a test), a message that says what happened, and what to do.
 */
export const ERROR_CODES = [
  'PORTOLAN_USAGE_INVALID',
  'PORTOLAN_CONFIG_INVALID',
  'PORTOLAN_CONFIG_UNKNOWN_KEY',
  'PORTOLAN_CONFIG_UNREADABLE',
  'PORTOLAN_SEED_INVALID',
  'PORTOLAN_SEED_NONE',
  'PORTOLAN_STATE_LOCKED',
  'PORTOLAN_STATE_MISMATCH',
  'PORTOLAN_STATE_DAMAGED',
  'PORTOLAN_STATE_NEWER',
  'PORTOLAN_STATE_MISSING',
  'PORTOLAN_DISK_FULL',
  'PORTOLAN_DISK_READ_ONLY',
  'PORTOLAN_DISK_FAILED',
  'PORTOLAN_STORE_COMMIT_FAILED',
  'PORTOLAN_ENGINE_INVARIANT',
  'PORTOLAN_ENGINE_WORKER_DIED',
  'PORTOLAN_RUNTIME_TOO_OLD',
  'PORTOLAN_BLOCKLIST_INVALID',
  'PORTOLAN_DEMO_UNSERVED',
  'PORTOLAN_LIBRARY_MISUSE',
  'PORTOLAN_HOOKS_INVALID',
  'PORTOLAN_HOOKS_FAILED',
  'PORTOLAN_CONTROL_INVALID',
  'PORTOLAN_CONTROL_NOT_RUNNING',
  'PORTOLAN_CONTROL_UNREACHABLE',
  'PORTOLAN_CONTROL_DENIED',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

export class PortolanError extends Error {
  readonly code: ErrorCode;
  /** What the reader can do about it, one sentence; empty when nothing sensible can be said. */
  readonly remedy: string;
  constructor(code: ErrorCode, message: string, options: { readonly remedy?: string; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'PortolanError';
    this.code = code;
    this.remedy = options.remedy ?? '';
  }
}

/** Throws PORTOLAN_ENGINE_INVARIANT when `condition` is false: the state is no longer what the code relies on. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new PortolanError('PORTOLAN_ENGINE_INVARIANT', `broken invariant: ${message}`);
}
