/** How a verb that has failed says so: a code, a cause and what to do. */
import { PortolanError } from '../core/errors.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';

/** Answers with the exit code. */
export function tellError(error: unknown): number {
  if (isPortolanError(error)) {
    process.stderr.write(`portolan: ${error.code}: ${error.message}${error.remedy === '' ? '' : `\n  what to do: ${error.remedy}`}\n`);
    return exitCodeOf(error.code);
  }
  process.stderr.write(`portolan: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return EXIT.internal;
}

/** In a bundle, what is loaded later has the class from another file. */
function isPortolanError(error: unknown): error is PortolanError {
  return error instanceof PortolanError || (error instanceof Error && error.name === 'PortolanError' && 'code' in error);
}
