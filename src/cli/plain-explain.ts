/** `explain DIR URL`, with --json or --requests: what needs no parser of command lines. */
import type { ExplainFlags } from './explain.ts';

const FLAGS = ['--json', '--requests'];

/** Anything else is for the whole command line to read, or to refuse. */
export function isPlainExplain([verb, ...words]: readonly string[]): boolean {
  const named = words.filter((word) => !word.startsWith('-'));
  return verb === 'explain' && named.length === 2 && words.every((word) => !word.startsWith('-') || FLAGS.includes(word));
}

export function plainExplain([, ...words]: readonly string[]): { readonly args: readonly string[]; readonly flags: ExplainFlags } {
  return {
    args: words.filter((word) => !word.startsWith('-')),
    flags: { json: words.includes('--json'), requests: words.includes('--requests') },
  };
}
