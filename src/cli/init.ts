/** `portolan init [FILE]`: the commented configuration file, `-` for standard output. An existing file is overwritten with --force alone. */
import { statSync, writeFileSync } from 'node:fs';
import { sampleConfig } from '../config/sample.ts';
import { PortolanError } from '../core/errors.ts';
import { EXIT } from './exit-codes.ts';

export function init(file: string, flags: { readonly force?: boolean }): number {
  if (file === '-') {
    process.stdout.write(sampleConfig());
    return EXIT.finished;
  }
  try {
    // wx: no moment between the question whether it exists and the answer.
    writeFileSync(file, sampleConfig(), { flag: flags.force === true ? 'w' : 'wx' });
  } catch (error) {
    throw refusal(file, error as NodeJS.ErrnoException);
  }
  process.stdout.write(
    [
      `${file} is written: every key with its default; put your seeds into it.`,
      `  portolan crawl --config ${file} --dry-run   what would be done`,
      `  portolan crawl --config ${file}             do it`,
      '',
    ].join('\n'),
  );
  return EXIT.finished;
}

function refusal(file: string, error: NodeJS.ErrnoException): PortolanError {
  if (error.code === 'EISDIR' || statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) {
    return new PortolanError('PORTOLAN_USAGE_INVALID', `${file} is a directory`, {
      remedy: 'name a file such as portolan.yaml',
      cause: error,
    });
  }
  if (error.code === 'EEXIST') {
    return new PortolanError('PORTOLAN_USAGE_INVALID', `${file} exists already`, {
      remedy: 'name another file, or overwrite it with --force',
      cause: error,
    });
  }
  const isFull = error.code === 'ENOSPC' || error.code === 'EDQUOT';
  const why = error.code === 'ENOENT' ? 'its directory does not exist' : error.message;
  return new PortolanError(isFull ? 'PORTOLAN_DISK_FULL' : 'PORTOLAN_DISK_FAILED', `${file} cannot be written: ${why}`, {
    remedy: isFull ? 'make space' : 'check the path and who may write there',
    cause: error,
  });
}
