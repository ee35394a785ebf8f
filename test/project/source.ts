/**
 * The project's own source as the project tests look at it: files, rooms, imports, and code without comments and text.
 * A room is the first folder below src (adapters: the first two, as in adapters/sqlite); a file directly in src is a room of its own.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');

export interface Import {
  readonly file: string;
  /** As written. */
  readonly target: string;
  /** A room, `node:…`, or the name of a package. */
  readonly to: string;
  readonly names: readonly string[];
}

export function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Paths relative to the root, sorted. */
export function files(...patterns: readonly string[]): string[] {
  return globSync(patterns, { cwd: ROOT, exclude: (path) => path.split('/').includes('node_modules') }).sort();
}

export function sourceFiles(): string[] {
  return files('src/**/*.ts');
}

export function roomOf(file: string): string {
  const [, first = '', second = ''] = file.split('/');
  return first === 'adapters' ? `adapters/${second}` : first;
}

const FROM = /\b(?:import|export)\s+(?:type\s+)?((?:[\w$]+\s*,\s*)?(?:\{[^}]*\}|\*(?:\s+as\s+[\w$]+)?)|[\w$]+)\s+from\s+'([^']+)'/g;
const BARE = /^\s*import\s+'([^']+)'/gm;
const CALL = /\bimport\(\s*'([^']+)'\s*\)/g;

/** Every import of a file: static, side effect, type-only, re-export, lazy, and types named as import('…').Name. */
export function importsOf(file: string, text = read(file)): Import[] {
  const code = withoutComments(text);
  const found: Import[] = [];
  const add = (target: string, names: string): void => {
    found.push({ file, target, to: targetRoom(file, target), names: namesOf(names) });
  };
  for (const [, names = '', target = ''] of code.matchAll(FROM)) add(target, names);
  for (const [, target = ''] of code.matchAll(BARE)) add(target, '');
  for (const [, target = ''] of code.matchAll(CALL)) add(target, '');
  return found;
}

function namesOf(text: string): string[] {
  return text
    .replace(/[{}]/g, ' ')
    .split(',')
    .map((name) =>
      name
        .trim()
        .replace(/^type\s+/, '')
        .replace(/\s+as\s+.*$/, ''),
    )
    .filter((name) => name !== '');
}

function targetRoom(file: string, target: string): string {
  if (target.startsWith('.')) return roomOf(posix.join(posix.dirname(file), target));
  if (target.startsWith('node:')) return target;
  const parts = target.split('/');
  return target.startsWith('@') ? parts.slice(0, 2).join('/') : parts[0]!;
}

/** The code with comments blanked; text in quotes stays, and so does the number of lines. */
export function withoutComments(text: string): string {
  return strip(text, false);
}

/** The code with comments and the inside of quotes and regular expressions blanked; what stands in ${…} of a template stays. */
export function codeOnly(text: string): string {
  return strip(text, true);
}

function strip(text: string, quotesToo: boolean): string {
  const out: string[] = [];
  const templates: number[] = [];
  let depth = 0;
  let at = 0;
  let last = '';
  const blank = (piece: string): string => piece.replace(/[^\n]/g, ' ');
  const put = (piece: string): void => void out.push(piece);
  while (at < text.length) {
    const char = text[at]!;
    const two = text.slice(at, at + 2);
    if (two === '//' || two === '/*') {
      const end = two === '//' ? text.indexOf('\n', at) : text.indexOf('*/', at + 2) + 2;
      const stop = end < (two === '//' ? 0 : 2) ? text.length : end;
      put(blank(text.slice(at, stop)));
      at = stop;
      continue;
    }
    if (char === "'" || char === '"') {
      const end = quoteEnd(text, at, char);
      put(quotesToo ? `${char}${blank(text.slice(at + 1, end - 1))}${char}` : text.slice(at, end));
      at = end;
      last = char;
      continue;
    }
    if (char === '/' && isRegExpPlace(last)) {
      const end = regExpEnd(text, at);
      put(quotesToo ? blank(text.slice(at, end)) : text.slice(at, end));
      at = end;
      last = '/';
      continue;
    }
    if (char === '`' || (char === '}' && templates.at(-1) === depth)) {
      if (char === '}') templates.pop();
      const { end, opens } = templateEnd(text, at + 1);
      const inside = text.slice(at + 1, end);
      put(char + (quotesToo ? blank(inside) : inside));
      at = end;
      if (opens) {
        put('${');
        at += 2;
        templates.push(depth);
        last = '{';
      } else {
        put('`');
        at++;
        last = '`';
      }
      continue;
    }
    if (char === '{') depth++;
    if (char === '}') depth--;
    put(char);
    if (!/\s/.test(char)) last = isWordEnd(text, at) ? wordBefore(text, at) : char;
    at++;
  }
  return out.join('');
}

function quoteEnd(text: string, from: number, quote: string): number {
  let at = from + 1;
  while (at < text.length && text[at] !== quote) at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function templateEnd(text: string, from: number): { readonly end: number; readonly opens: boolean } {
  let at = from;
  while (at < text.length) {
    if (text[at] === '`') return { end: at, opens: false };
    if (text[at] === '$' && text[at + 1] === '{') return { end: at, opens: true };
    at += text[at] === '\\' ? 2 : 1;
  }
  return { end: at, opens: false };
}

function regExpEnd(text: string, from: number): number {
  let at = from + 1;
  let inClass = false;
  while (at < text.length && text[at] !== '\n' && (inClass || text[at] !== '/')) {
    if (text[at] === '[') inClass = true;
    if (text[at] === ']') inClass = false;
    at += text[at] === '\\' ? 2 : 1;
  }
  return at + 1;
}

function isWordEnd(text: string, at: number): boolean {
  return /\w/.test(text[at]!) && !/\w/.test(text[at + 1] ?? ' ');
}

function wordBefore(text: string, at: number): string {
  return /\w+$/.exec(text.slice(Math.max(0, at - 20), at + 1))?.[0] ?? '';
}

/** A slash begins a regular expression after an operator, an opening bracket or a word that takes a value. */
function isRegExpPlace(last: string): boolean {
  return last === '' || '(,=:[!&|?{};+-*%<>~^'.includes(last) || ['return', 'typeof', 'case', 'of', 'in'].includes(last);
}

/** Rows of the Markdown tables of a text below one heading: the cells of each row, back-quotes removed; the head row is left out. */
export function tableRows(markdown: string): string[][] {
  const rows: string[][] = [];
  const lines = markdown.split('\n');
  lines.forEach((line, index) => {
    if (!line.startsWith('|') || /^\|[\s:|-]+\|$/.test(line) || /^\|[\s:|-]+\|$/.test(lines[index + 1] ?? '')) return;
    rows.push(
      line
        .slice(1, line.lastIndexOf('|'))
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim().replaceAll('`', '')),
    );
  });
  return rows;
}

/** The text below a heading (as written, with its #), up to the next heading of the same or a higher rank. */
export function section(markdown: string, heading: string): string {
  const start = `\n${markdown}`.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`no heading "${heading}"`);
  const rest = markdown.slice(start + heading.length + 1);
  const next = new RegExp(`^#{1,${heading.indexOf(' ')}} `, 'm').exec(rest);
  return rest.slice(0, next?.index);
}
