/**
 * Rows as bytes: JSONL (one object a line, absent values left out), CSV (RFC 4180, with a head line), Parquet (Snappy, a row group for every so many rows).
 * `add` gives what can be written now, in bounded memory; `end` gives the rest.
 */
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { Column, ColumnType, Value } from './tables.ts';

export const FORMATS = ['jsonl', 'csv', 'parquet'] as const;
export type Format = (typeof FORMATS)[number];

export interface Encoder {
  add(row: readonly Value[]): Uint8Array | undefined;
  end(): Uint8Array;
}

/** Bytes gathered before they are handed on. */
const PIECE_CHARS = 1 << 18;
/** Rows, and characters of their texts, of a row group: what bounds the memory of a Parquet export. */
export const ROW_GROUP_ROWS_MAX = 20_000;
const ROW_GROUP_CHARS_MAX = 16 << 20;

export function createEncoder(format: Format, columns: readonly Column[]): Encoder {
  if (format === 'parquet') return new ParquetEncoder(columns);
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

const PARQUET_TYPES: Readonly<Record<ColumnType, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  int: { type: 'INT64' },
  float: { type: 'DOUBLE' },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
  bool: { type: 'BOOLEAN' },
};

/** Every column may be absent (NULL). */
class ParquetEncoder implements Encoder {
  readonly #columns: readonly Column[];
  readonly #bytes = new ByteWriter(PIECE_CHARS);
  readonly #writer: ParquetWriter;
  #data: unknown[][];
  #rows = 0;
  #chars = 0;

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
    this.#data = columns.map(() => []);
    const leaves = columns.map(({ name, type }): SchemaElement => ({ name, ...PARQUET_TYPES[type], repetition_type: 'OPTIONAL' }));
    this.#writer = new ParquetWriter({
      writer: this.#bytes,
      schema: [{ name: 'root', num_children: leaves.length }, ...leaves],
      createdBy: 'portolan',
    });
  }

  add(row: readonly Value[]): Uint8Array | undefined {
    for (let at = 0; at < this.#columns.length; at++) {
      const value = row[at];
      if (typeof value === 'string') this.#chars += value.length;
      this.#data[at]!.push(parquetValue(this.#columns[at]!.type, value));
    }
    this.#rows++;
    if (this.#rows < ROW_GROUP_ROWS_MAX && this.#chars < ROW_GROUP_CHARS_MAX) return undefined;
    this.#closeGroup();
    return this.#take();
  }

  end(): Uint8Array {
    this.#closeGroup();
    void this.#writer.finish();
    return this.#take();
  }

  #closeGroup(): void {
    if (this.#rows === 0) return;
    const columnData = this.#columns.map(({ name }, at) => ({ name, data: this.#data[at]!, offsetIndex: false }));
    void this.#writer.write({ columnData, rowGroupSize: this.#rows });
    this.#data = this.#columns.map(() => []);
    this.#rows = 0;
    this.#chars = 0;
  }

  /** What was written since the last time; the writer goes on at the same offset of the file. */
  #take(): Uint8Array {
    const bytes = Uint8Array.from(this.#bytes.getBytes());
    this.#bytes.index = 0;
    return bytes;
  }
}

function parquetValue(type: ColumnType, value: Value): unknown {
  if (value === undefined) return null;
  if (type === 'int') return BigInt(Math.round(Number(value)));
  if (type === 'time') return Number(value) > 0 ? new Date(Number(value)) : null;
  return value;
}
