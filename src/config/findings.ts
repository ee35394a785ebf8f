/** What is wrong with a configuration, in words: each finding with its key, what was given, what is possible, and what was probably meant. */
import type * as z from 'zod';
import { PortolanError } from '../core/errors.ts';
import { HostSchema, mayBeSecret } from './hosts.ts';
import { keyAdvice, nearest } from './suggest.ts';
import { shown } from './units.ts';

/** One thing that is wrong. `key` is dotted; '' is the configuration itself. */
export interface ConfigFinding {
  readonly key: string;
  readonly text: string;
}

/** For what zod refuses; `keys` are all there are. */
export function configError(
  issues: readonly z.core.$ZodIssue[],
  input: unknown,
  source: string,
  say: ((finding: ConfigFinding) => string) | undefined,
  keys: readonly string[],
): PortolanError {
  const unknown = issues.some((issue) => issue.code === 'unrecognized_keys');
  const findings = issues.flatMap((issue) => findingsOf(issue, input, keys));
  return configRefusal(unknown ? 'PORTOLAN_CONFIG_UNKNOWN_KEY' : 'PORTOLAN_CONFIG_INVALID', findings, source, say);
}

export function configRefusal(
  code: 'PORTOLAN_CONFIG_UNKNOWN_KEY' | 'PORTOLAN_CONFIG_INVALID',
  findings: readonly ConfigFinding[],
  source: string,
  say: ((finding: ConfigFinding) => string) | undefined,
): PortolanError {
  const plain = ({ key, text }: ConfigFinding): string => (key === '' || text.includes(`"${key}"`) ? text : `${key}: ${text}`);
  const message = say === undefined ? `${source}: ${findings.map(plain).join('; ')}` : asLines(findings.map(say));
  return new PortolanError(code, message, { remedy: 'see docs/CONFIG.md for the keys, their units and defaults' });
}

/** One finding is a sentence; several stand one below the other, by their place. */
function asLines(sentences: readonly string[]): string {
  if (sentences.length === 1) return sentences[0]!;
  const inOrder = sentences.toSorted(new Intl.Collator('en', { numeric: true }).compare);
  return `${sentences.length} things are wrong:${inOrder.map((sentence) => `\n  - ${sentence}`).join('')}`;
}

function findingsOf(issue: z.core.$ZodIssue, input: unknown, keys: readonly string[]): ConfigFinding[] {
  const key = issue.path.join('.');
  if (issue.code !== 'unrecognized_keys') return [{ key, text: findingText(issue, valueAt(input, issue.path)) }];
  return issue.keys.map((name) => {
    const full = key === '' ? name : `${key}.${name}`;
    return { key: full, text: `unknown key "${full}"${hostAdvice(issue.path, name) ?? keyAdvice(full, keys)}` };
  });
}

/** Within an entry of `hosts`: the key of a host that was probably meant. */
function hostAdvice(path: readonly PropertyKey[], name: string): string | undefined {
  const near = path[0] === 'hosts' && path.length === 2 ? nearest(name, Object.keys(HostSchema.shape)) : undefined;
  return near === undefined ? undefined : ` (did you mean "${near}"?)`;
}

/** In words of this project; `value` is what was given. */
function findingText(issue: z.core.$ZodIssue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      if (mayBeSecret(issue.path)) return EXPECTED[issue.expected] ?? issue.message;
      return `${EXPECTED[issue.expected] ?? issue.message}, not ${shown(value)}${issue.expected === 'string' && typeof value === 'number' ? ' (put it in quotes)' : ''}`;
    case 'too_small':
      return issue.origin === 'array' ? `${issue.minimum} values are expected` : `${shown(value)} is too small: at least ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'array' ? `${issue.maximum} values are expected` : `${shown(value)} is too large: at most ${issue.maximum}`;
    case 'invalid_value': {
      const words = issue.values.map(String);
      const near = nearest(String(value), words);
      return `${shown(value)} is none of ${words.join(', ')}${near === undefined ? '' : ` (did you mean "${near}"?)`}`;
    }
    default:
      return issue.message;
  }
}

const EXPECTED: Readonly<Record<string, string>> = {
  array: 'a list is expected, such as [a, b]',
  boolean: 'true or false is expected',
  int: 'a whole number is expected',
  number: 'a number is expected',
  object: 'a group of keys is expected',
  string: 'text is expected',
};

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, name) => (value as Record<PropertyKey, unknown> | null | undefined)?.[name], input);
}
