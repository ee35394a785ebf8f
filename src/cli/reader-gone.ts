/**
 * What happens when whoever reads standard output or standard error goes away (`| head`, a pager that is left): the program ends without a word. What a verb has found out
 * before is its exit code, else 0: a reader that has had enough is no failure. A verb that has something to bring to its end (an export, a crawl) listens itself.
 */
import { PortolanError } from '../core/errors.ts';
import { exitCodeOf } from './exit-codes.ts';
import { tellError } from './tell-error.ts';

/** Once for each stream; to name one makes it. */
export function endWithoutReader(streams: readonly NodeJS.WriteStream[] = [process.stdout, process.stderr]): void {
  for (const stream of streams) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_DESTROYED') process.exit(cannotWrite(stream, error));
      if (stream.listenerCount('error') === 1) process.exit();
    });
  }
}

/** As on a full disk. Answers with the exit code. */
function cannotWrite(stream: NodeJS.WriteStream, error: Error): number {
  const code = 'PORTOLAN_DISK_FAILED';
  if (stream === process.stderr) return exitCodeOf(code);
  return tellError(
    new PortolanError(code, `standard output cannot be written: ${error.message}`, {
      cause: error,
      remedy: 'make space where it goes, or send it elsewhere',
    }),
  );
}

/** Calls back once when a reader has gone, and the program goes on. Returns what takes that back. */
export function onReaderGone(gone: () => void): () => void {
  let isGone = false;
  const told = (): void => {
    if (!isGone) gone();
    isGone = true;
  };
  const streams = [process.stdout, process.stderr];
  for (const stream of streams) stream.on('error', told);
  return () => {
    for (const stream of streams) stream.off('error', told);
  };
}
