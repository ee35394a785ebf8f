/**
 * Rows as a Parquet file (Snappy), row group after row group.
 *
 * Memory is that of one row group: its columns are kept as bytes and numbers, not as values of the language, and become values one column at a time while the group is
 * written. Beyond it the writer keeps what the file's footer says of each row group, about 1 kB a column, so groups are as large as the bound allows.
 * Texts have no least and greatest value in the footer: those would be kept to the end as well, and rows do not come in their order.
 */
import { ByteWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import type { Encoder } from './formats.ts';
import type { Column, ColumnType, Value } from './tables.ts';

/** Rows of a row group, and its bytes before they are compressed, a number counted as 8: what bounds the memory of an export. One row may be longer. */
export const ROW_GROUP_ROWS_MAX = 30_000;
export const ROW_GROUP_BYTES_MAX = 16 << 20;
const TYPES: Readonly<Record<ColumnType, Omit<SchemaElement, 'name'>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  int: { type: 'INT64' },
  float: { type: 'DOUBLE' },
  time: { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
  bool: { type: 'BOOLEAN' },
};

/** Every column may be absent (NULL). */
export class ParquetEncoder implements Encoder {
  readonly #columns: readonly (ColumnValues & { readonly name: string })[];
  readonly #bytes = new ByteWriter(1 << 20);
  readonly #writer: ParquetWriter;
  #rows = 0;
  #size = 0;

  constructor(columns: readonly Column[]) {
    this.#columns = columns.map(({ name, type }) => Object.assign(type === 'text' ? new Texts() : new Numbers(type), { name }));
    const leaves = columns.map(({ name, type }): SchemaElement => ({ name, ...TYPES[type], repetition_type: 'OPTIONAL' }));
    this.#writer = new ParquetWriter({
      writer: this.#bytes,
      schema: [{ name: 'root', num_children: leaves.length }, ...leaves],
      createdBy: 'portolan',
    });
  }

  add(row: readonly Value[]): Uint8Array | undefined {
    for (let at = 0; at < this.#columns.length; at++) this.#size += this.#columns[at]!.add(row[at]);
    this.#rows++;
    if (this.#rows < ROW_GROUP_ROWS_MAX && this.#size < ROW_GROUP_BYTES_MAX) return undefined;
    this.#closeGroup();
    return this.#take();
  }

  end(): Uint8Array {
    this.#closeGroup();
    void this.#writer.finish();
    return this.#take();
  }

  /** The buffer begins again with what is written next; the bytes that are handed out lie there until then. */
  #take(): Uint8Array {
    const bytes = this.#bytes.getBytes();
    this.#bytes.index = 0;
    return bytes;
  }

  #closeGroup(): void {
    if (this.#rows === 0) return;
    const columnData = this.#columns.map((column) => ({
      name: column.name,
      offsetIndex: false,
      statistics: column.hasOrder,
      // Read by the writer when it comes to this column.
      get data() {
        return column.values();
      },
    }));
    void this.#writer.write({ columnData, rowGroupSize: this.#rows });
    for (const column of this.#columns) column.clear();
    this.#rows = 0;
    this.#size = 0;
  }
}

/** The values of one column in the present row group. */
interface ColumnValues {
  /** Whether the footer has its least and greatest value. */
  readonly hasOrder: boolean;
  /** Returns what it counts towards the bound. */
  add(value: Value): number;
  /** As the writer takes them; they are its own only until `clear`. */
  values(): unknown[];
  clear(): void;
}

/** UTF-8, end to end. */
class Texts implements ColumnValues {
  readonly hasOrder = false;
  #bytes: Buffer = Buffer.allocUnsafe(1 << 16);
  #length = 0;
  /** Where each text ends; −1: it is absent. */
  readonly #ends = new Growing();

  add(value: Value): number {
    if (value === undefined) {
      this.#ends.push(-1);
      return 4;
    }
    const text = String(value);
    this.#reserve(text.length * 3);
    const before = this.#length;
    this.#length += this.#bytes.write(text, before, 'utf8');
    this.#ends.push(this.#length);
    return 4 + this.#length - before;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + more));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  values(): (Uint8Array | null)[] {
    let start = 0;
    return this.#ends.map((end) => {
      if (end < 0) return null;
      const text = this.#bytes.subarray(start, end);
      start = end;
      return text;
    });
  }

  clear(): void {
    this.#length = 0;
    this.#ends.clear();
  }
}

/** Numbers, times and truth values; NaN: it is absent. */
class Numbers implements ColumnValues {
  readonly hasOrder = true;
  readonly #type: ColumnType;
  readonly #numbers = new Growing();

  constructor(type: ColumnType) {
    this.#type = type;
  }

  add(value: Value): number {
    const isAbsent = value === undefined || (this.#type === 'time' && Number(value) <= 0);
    this.#numbers.push(isAbsent ? Number.NaN : Number(value));
    return 8;
  }

  values(): (bigint | number | boolean | null)[] {
    const type = this.#type;
    return this.#numbers.map((number) => {
      if (Number.isNaN(number)) return null;
      if (type === 'float') return number;
      return type === 'bool' ? number === 1 : BigInt(Math.round(number));
    });
  }

  clear(): void {
    this.#numbers.clear();
  }
}

/** A list of numbers that keeps its space. */
class Growing {
  #numbers = new Float64Array(1_024);
  #length = 0;

  push(value: number): void {
    if (this.#length === this.#numbers.length) {
      const larger = new Float64Array(this.#length * 2);
      larger.set(this.#numbers);
      this.#numbers = larger;
    }
    this.#numbers[this.#length++] = value;
  }

  map<T>(of: (value: number) => T): T[] {
    const all = new Array<T>(this.#length);
    for (let at = 0; at < all.length; at++) all[at] = of(this.#numbers[at]!);
    return all;
  }

  clear(): void {
    this.#length = 0;
  }
}
