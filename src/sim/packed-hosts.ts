/**
 * Host rows as bytes, for runs with hosts by the million: about 100 bytes for one that was found and never asked, where a record with its queues takes
 * 2 KB as objects. The fields are those of newHostRecord, whatever they are; what stands as in a new record is not written.
 *
 * A row: two words with a bit for each numeric field, the numbers (float64) whose bit is set, then each text: a length and latin-1. A domain that ends the key is a length alone.
 */
import { assert } from '../core/errors.ts';
import { type HostQueue, type HostRecord, newHostRecord } from '../core/host.ts';
import { PackedRows } from './packed-rows.ts';

type Field = number | string;
type Fields = Readonly<Record<string, Field>>;

const WORD_BITS = 32;
const MASK_BYTES = 8;
/** Instead of a length: the text ends the key. */
const ENDS_KEY = 255;
const ROW_BYTES_MAX = MASK_BYTES + 64 * 8 + 16 * 258;

export class PackedHosts {
  readonly #rows = new PackedRows();
  readonly #numbers: readonly string[];
  readonly #texts: readonly string[];
  readonly #queueFields: readonly string[];
  readonly #queueCount: number;
  /** Of a new record: the numbers, then those of each queue. */
  readonly #defaults: readonly number[];
  readonly #out = Buffer.allocUnsafeSlow(ROW_BYTES_MAX);

  constructor() {
    const model = newHostRecord(0, '', '');
    const fields = Object.entries(model).filter(([name]) => name !== 'queues' && name !== 'id' && name !== 'key');
    const numbers = fields.filter((field): field is [string, number] => typeof field[1] === 'number');
    this.#numbers = numbers.map(([name]) => name);
    this.#texts = fields.filter(([, value]) => typeof value === 'string').map(([name]) => name);
    assert(numbers.length + this.#texts.length === fields.length, 'a host record has numbers and texts beside its queues');
    const queues = model.queues as unknown as readonly Readonly<Record<string, number>>[];
    this.#queueFields = Object.keys(queues[0] ?? {});
    this.#queueCount = queues.length;
    this.#defaults = [...numbers.map(([, value]) => value), ...queues.flatMap((queue) => Object.values(queue))];
    assert(this.#defaults.length <= 2 * WORD_BITS, 'two words have a bit for each number');
  }

  get count(): number {
    return this.#rows.count;
  }

  put(host: HostRecord): void {
    const out = this.#out;
    const record = host as unknown as Fields;
    let at = MASK_BYTES;
    let bit = 0;
    let low = 0;
    let high = 0;
    const write = (value: number): void => {
      if (value !== this.#defaults[bit]) {
        if (bit < WORD_BITS) low |= 1 << bit;
        else high |= 1 << (bit - WORD_BITS);
        at = out.writeDoubleLE(value, at);
      }
      bit++;
    };
    for (const name of this.#numbers) write(record[name] as number);
    for (const queue of host.queues)
      for (const name of this.#queueFields) write((queue as unknown as Readonly<Record<string, number>>)[name]!);
    out.writeInt32LE(low, 0);
    out.writeInt32LE(high, 4);
    at = this.#writeText(host.key, at, '');
    for (const name of this.#texts) at = this.#writeText(record[name] as string, at, host.key);
    this.#rows.set(host.id, out.subarray(0, at));
  }

  #writeText(text: string, at: number, key: string): number {
    if (text.length > 2 && key.endsWith(text)) {
      this.#out[at] = ENDS_KEY;
      this.#out[at + 1] = text.length;
      return at + 2;
    }
    assert(text.length < ENDS_KEY, 'a text of a host row is shorter than 255 characters');
    this.#out[at] = text.length;
    return at + 1 + this.#out.write(text, at + 1, 'latin1');
  }

  get(id: number): HostRecord | undefined {
    const row = this.#rows.get(id);
    return row === undefined ? undefined : this.#read(id, row);
  }

  #read(id: number, row: Buffer): HostRecord {
    const record = newHostRecord(id, '', '') as unknown as Record<string, Field>;
    const low = row.readInt32LE(0);
    const high = row.readInt32LE(4);
    let at = MASK_BYTES;
    let bit = 0;
    const next = (): number => {
      const isWritten = bit < WORD_BITS ? (low >>> bit) & 1 : (high >>> (bit - WORD_BITS)) & 1;
      const value = isWritten === 1 ? row.readDoubleLE(at) : this.#defaults[bit]!;
      at += isWritten * 8;
      bit++;
      return value;
    };
    for (const name of this.#numbers) record[name] = next();
    const queues = (record as unknown as HostRecord).queues as readonly HostQueue[];
    for (let queue = 0; queue < this.#queueCount; queue++)
      for (const name of this.#queueFields) (queues[queue] as unknown as Record<string, number>)[name] = next();
    const text = (key: string): string => {
      const length = row[at]!;
      if (length === ENDS_KEY) {
        const tail = key.slice(key.length - row[at + 1]!);
        at += 2;
        return tail;
      }
      at += 1 + length;
      return row.toString('latin1', at - length, at);
    };
    const key = text('');
    record['key'] = key;
    for (const name of this.#texts) record[name] = text(key);
    return record as unknown as HostRecord;
  }

  /** Reads every row. */
  idOf(key: string): number | undefined {
    for (const host of this.all()) if (host.key === key) return host.id;
    return undefined;
  }

  /** In the order of their ids. */
  *all(): Iterable<HostRecord> {
    const ids = Float64Array.from(this.#rows.keys()).sort();
    for (const id of ids) yield this.get(id)!;
  }
}
