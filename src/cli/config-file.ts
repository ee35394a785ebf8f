/**
 * portolan.yaml as it stands on the disk: its values, and the line of each key, so that whatever is wrong with a value is said with its place.
 * A section without keys (all of them are comments) is an empty section.
 */
import { readFileSync } from 'node:fs';
import { isMap, isScalar, isSeq, LineCounter, type Pair, parseDocument, visit } from 'yaml';
import { PortolanError } from '../core/errors.ts';

export interface ConfigFile {
  readonly values: Readonly<Record<string, unknown>>;
  /** Line (from 1) of a key by its dotted name; of list items as `seeds.0`. */
  readonly lines: ReadonlyMap<string, number>;
}

/** Throws PORTOLAN_CONFIG_UNREADABLE. */
export function readConfigFile(file: string): ConfigFile {
  return parseConfigFile(
    readText(file, `${file} cannot be read`, 'check the path given to --config; portolan init writes such a file'),
    file,
  );
}

/** Throws PORTOLAN_CONFIG_UNREADABLE with line and column when it is not YAML. */
export function parseConfigFile(text: string, file: string): ConfigFile {
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false });
  const [mistake] = document.errors;
  if (mistake !== undefined) {
    const { line, col } = counter.linePos(mistake.pos[0]);
    throw unreadable(`${file}:${line}:${col}: this is not YAML: ${sentence(mistake.message)}`, mistake, yamlRemedy(mistake.code));
  }
  visit(document, {
    Alias(_, node) {
      if (node.resolve(document) !== undefined) return;
      const { line, col } = counter.linePos(node.range?.[0] ?? 0);
      throw unreadable(
        `${file}:${line}:${col}: *${node.source} refers to nothing`,
        undefined,
        "a text that begins with * stands in quotes: '*…'",
      );
    },
  });
  const root = document.contents;
  if (root === null) return { values: {}, lines: new Map() };
  if (!isMap(root)) {
    throw unreadable(
      `${file}: the file holds no keys; it begins with a key such as "seeds:"`,
      undefined,
      'see docs/CONFIG.md, or let portolan init write one',
    );
  }
  const lines = new Map<string, number>();
  const lineOf = (node: unknown): number => counter.linePos((node as { range?: readonly number[] } | null)?.range?.[0] ?? 0).line;
  for (const pair of root.items) addLines(lines, '', pair, lineOf);
  return { values: withoutEmptySections(document.toJS() as Record<string, unknown>), lines };
}

function addLines(lines: Map<string, number>, prefix: string, pair: Pair, lineOf: (node: unknown) => number): void {
  const key = `${prefix}${isScalar(pair.key) ? String(pair.key.value) : String(pair.key)}`;
  lines.set(key, lineOf(pair.key));
  if (isMap(pair.value)) for (const inner of pair.value.items) addLines(lines, `${key}.`, inner, lineOf);
  if (isSeq(pair.value)) pair.value.items.forEach((item, index) => void lines.set(`${key}.${index}`, lineOf(item)));
}

function withoutEmptySections(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}

function yamlRemedy(code: string): string {
  if (code === 'TAB_AS_INDENT') return 'indent with spaces';
  if (code === 'DUPLICATE_KEY') return 'keep one of the two';
  if (code === 'MULTIPLE_DOCS') return 'keep one document: no line of --- between keys';
  return 'correct that line; a text with : # or quotes in it stands in quotes';
}

function sentence(text: string): string {
  return text === '' ? text : text[0]!.toLowerCase() + text.slice(1);
}

/** `file` - is standard input. Throws PORTOLAN_CONFIG_UNREADABLE, beginning with `what`. */
export function readText(file: string, what: string, remedy: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw unreadable(`${what}: ${inWords(error as NodeJS.ErrnoException)}`, error, remedy);
  }
}

function inWords(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return 'there is no such file';
  if (error.code === 'EISDIR') return 'it is a directory';
  if (error.code === 'EACCES' || error.code === 'EPERM') return 'this user may not read it';
  return error.message;
}

function unreadable(message: string, cause: unknown, remedy: string): PortolanError {
  return new PortolanError('PORTOLAN_CONFIG_UNREADABLE', message, { remedy, ...(cause === undefined ? {} : { cause }) });
}
