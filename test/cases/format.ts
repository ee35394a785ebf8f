/**
 * The format of a file of cases: what crawlers were reported to get wrong, as inputs with what is expected of any crawler. Files come from
 * elsewhere, so nothing in them is trusted: a kind, a field or a word that is not understood makes its case fail and never stops the run.
 */
import { readFileSync } from 'node:fs';

export type Fields = Readonly<Record<string, unknown>>;

export interface Case {
  readonly id: string;
  readonly group: string;
  readonly kind: string;
  readonly input: Fields;
  readonly expected: Fields;
}

/** What a case found: reasons why it fails. A case without any has passed. */
export class Findings {
  readonly reasons: string[] = [];

  fail(reason: string): void {
    this.reasons.push(reason);
  }

  /** A field, word or value that this program cannot judge; passing over it would be a false pass. */
  notUnderstood(what: string): void {
    this.reasons.push(`not understood: ${what}`);
  }

  equal(what: string, found: unknown, expected: unknown): void {
    if (JSON.stringify(found) !== JSON.stringify(expected)) this.fail(`${what}: ${show(found)} instead of ${show(expected)}`);
  }

  /** Every key of `fields` must be one of `known`; keys of one kind that begin alike may be given as `prefix*`. */
  onlyKnown(where: string, fields: Fields, known: readonly string[]): void {
    for (const name of Object.keys(fields)) {
      const isKnown = known.some((word) => (word.endsWith('*') ? name.startsWith(word.slice(0, -1)) : name === word));
      if (!isKnown) this.notUnderstood(`${where}.${name}`);
    }
  }
}

export type Judge = (one: Case, findings: Findings) => void | Promise<void>;

const SHOWN_CHARS_MAX = 300;

export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= SHOWN_CHARS_MAX ? text : `${text.slice(0, SHOWN_CHARS_MAX)}…`;
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The field as text, '' when it is missing or something else. */
export function textOf(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === 'string' ? value : '';
}

export function numberOf(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  return typeof value === 'number' ? value : undefined;
}

export function fieldsOf(fields: Fields, name: string): Fields {
  const value = fields[name];
  return isFields(value) ? value : {};
}

export function listOf(fields: Fields, name: string): readonly unknown[] {
  const value = fields[name];
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

export function textsOf(fields: Fields, name: string): readonly string[] {
  return listOf(fields, name).filter((entry) => typeof entry === 'string');
}

export function fieldsListOf(fields: Fields, name: string): readonly Fields[] {
  return listOf(fields, name).filter(isFields);
}

/** The bytes of `name` (text as UTF-8) or of `name_b64`; undefined when the fields have neither. */
export function bytesOf(fields: Fields, name: string): Buffer | undefined {
  const packed = fields[`${name}_b64`];
  if (typeof packed === 'string') return Buffer.from(packed, 'base64');
  const value = fields[name];
  return typeof value === 'string' ? Buffer.from(value, 'utf8') : undefined;
}

/** Header lines as name and latin-1 value. A name that ends in _b64 has its value in base64; {repeat} is a text many times. */
export function headersOf(fields: Fields, findings: Findings): readonly (readonly [string, string])[] {
  return listOf(fields, 'headers').flatMap((line) => {
    if (!Array.isArray(line) || typeof line[0] !== 'string') {
      findings.notUnderstood(`header ${show(line)}`);
      return [];
    }
    const [name, value] = line as [string, unknown];
    if (name.endsWith('_b64')) return [[name.slice(0, -4), Buffer.from(String(value), 'base64').toString('latin1')] as const];
    if (typeof value === 'string') return [[name, Buffer.from(value, 'utf8').toString('latin1')] as const];
    if (isFields(value) && isFields(value['repeat'])) return [[name, repeated(value['repeat'])] as const];
    findings.notUnderstood(`value of header ${name}`);
    return [];
  });
}

export function repeated(repeat: Fields): string {
  return textOf(repeat, 'text').repeat(Math.min(numberOf(repeat, 'times') ?? 0, 1 << 24));
}

/** Throws when the file is no list of cases at all. */
export function readCases(file: string): readonly Case[] {
  const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const list = Array.isArray(content) ? content : isFields(content) ? content['cases'] : undefined;
  if (!Array.isArray(list)) throw new Error(`${file} has no list of cases`);
  return list.map((entry: unknown, index) => {
    const one = isFields(entry) ? entry : {};
    const input = fieldsOf(one, 'input');
    return {
      id: textOf(one, 'id') || `#${index + 1}`,
      group: textOf(one, 'group') || 'without group',
      kind: textOf(input, 'kind') || textOf(one, 'kind'),
      input,
      expected: fieldsOf(one, 'expected'),
    };
  });
}
