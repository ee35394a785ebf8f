/**
 * Rows as bytes, in bounded memory: JSONL (one object a line, absent values left out), CSV (RFC 4180, with a head line), Parquet (parquet.ts, loaded when it is
 * asked for).
 */
import type { Column, Value } from './tables.ts';

export const FORMATS = ['jsonl', 'csv', 'parquet'] as const;
export type Format = (typeof FORMATS)[number];

export interface Encoder {
  /** What can be written now; the bytes stay as they are until the next call. */
  add(row: readonly Value[]): Uint8Array | undefined;
  /** The rest. */
  end(): Uint8Array;
}

/** Bytes gathered before they are handed on. */
const PIECE_CHARS = 1 << 18;

export async function createEncoder(format: Format, columns: readonly Column[]): Promise<Encoder> {
  if (format === 'parquet') return new (await import('./parquet.ts')).ParquetEncoder(columns);
  return format === 'csv'
    ? new LineEncoder(csvHead(columns), (row) => csvLine(columns, row))
    : new LineEncoder('', (row) => jsonLine(columns, row));
}

class LineEncoder implements Encoder {
  readonly #line: (row: readonly Value[]) => string;
  #text: string;

  constructor(head: string, line: (row: readonly Value[]) => string) {
    this.#text = head;
    this.#line = line;
  }

  add(row: readonly Value[]): Uint8Array | undefined {
    this.#text += this.#line(row);
    return this.#text.length < PIECE_CHARS ? undefined : this.end();
  }

  end(): Uint8Array {
    const bytes = Buffer.from(this.#text, 'utf8');
    this.#text = '';
    return bytes;
  }
}

function jsonLine(columns: readonly Column[], row: readonly Value[]): string {
  const record: Record<string, Value> = {};
  for (let at = 0; at < columns.length; at++) record[columns[at]!.name] = shown(columns[at]!, row[at]);
  return `${JSON.stringify(record)}\n`;
}

function shown(column: Column, value: Value): Value {
  if (column.type !== 'time') return value;
  return typeof value === 'number' && value > 0 ? new Date(value).toISOString() : undefined;
}

function csvHead(columns: readonly Column[]): string {
  return `${columns.map(({ name }) => name).join(',')}\r\n`;
}

function csvLine(columns: readonly Column[], row: readonly Value[]): string {
  return `${columns.map((column, at) => csvCell(shown(column, row[at]))).join(',')}\r\n`;
}

/** Absent is empty without quotes; an empty text is two quotes. */
function csvCell(value: Value): string {
  if (value === undefined) return '';
  const text = String(value);
  return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
