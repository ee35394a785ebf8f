/** `portolan explain DIR URL` by itself, without the description of the other verbs. */
import { writeSync } from 'node:fs';
import { explain } from './explain.ts';
import { plainExplain } from './plain-explain.ts';
import { endWithoutReader } from './reader-gone.ts';
import { tellError } from './tell-error.ts';

/** `argv`: as isPlainExplain has it. */
export async function explainMain(argv: readonly string[]): Promise<void> {
  const { args, flags } = plainExplain(argv);
  try {
    process.exitCode = await explain(args, flags, answer);
  } catch (error) {
    endWithoutReader([process.stderr]);
    process.exitCode = tellError(error);
  }
}

/** To standard output past its stream, which takes 3 ms to make. */
function answer(text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  try {
    while (written < bytes.length) written += writeSync(1, bytes, written);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EPIPE') return; // nobody reads it any more
    // A pipe that does not block and is full, or something that a stream says better.
    endWithoutReader([process.stdout]);
    process.stdout.write(bytes.subarray(written));
  }
}
