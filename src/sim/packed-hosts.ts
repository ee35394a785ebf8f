/**
 * Host rows as numbers in large arrays, for runs with hosts by the million: about 400 bytes a host and its name, where a record with its queues takes
 * 2 KB as objects. The fields are those of newHostRecord, whatever they are: numbers as they stand, texts by their number in a table of texts.
 */
import { assert } from '../core/errors.ts';
import { type HostQueue, type HostRecord, newHostRecord } from '../core/host.ts';

const BLOCK_HOSTS = 4_096;

type Field = number | string;

export class PackedHosts {
  readonly #numbers: readonly string[];
  readonly #texts: readonly string[];
  readonly #queueFields: readonly string[];
  readonly #queueCount: number;
  readonly #width: number;
  readonly #blocks: Float64Array[] = [];
  readonly #table: string[] = [];
  readonly #numberOfText = new Map<string, number>();
  readonly #idOfKey = new Map<string, number>();

  constructor() {
    const model = newHostRecord(0, '', '');
    const fields = Object.entries(model).filter(([name]) => name !== 'queues' && name !== 'id');
    this.#numbers = fields.filter(([, value]) => typeof value === 'number').map(([name]) => name);
    this.#texts = fields.filter(([, value]) => typeof value === 'string').map(([name]) => name);
    assert(this.#numbers.length + this.#texts.length === fields.length, 'a host record has numbers and texts beside its queues');
    this.#queueFields = Object.keys(model.queues[0] ?? {});
    this.#queueCount = model.queues.length;
    // One more in front says that the row is there.
    this.#width = 1 + this.#numbers.length + this.#texts.length + this.#queueCount * this.#queueFields.length;
  }

  get count(): number {
    return this.#idOfKey.size;
  }

  put(host: HostRecord): void {
    const block = this.#blockOf(host.id);
    let at = (host.id % BLOCK_HOSTS) * this.#width;
    block[at++] = 1;
    const record = host as unknown as Readonly<Record<string, Field>>;
    for (const name of this.#numbers) block[at++] = record[name] as number;
    for (const name of this.#texts) block[at++] = this.#numbered(record[name] as string);
    for (const queue of host.queues) {
      const fields = queue as unknown as Readonly<Record<string, number>>;
      for (const name of this.#queueFields) block[at++] = fields[name]!;
    }
    this.#idOfKey.set(host.key, host.id);
  }

  get(id: number): HostRecord | undefined {
    const block = this.#blocks[Math.floor(id / BLOCK_HOSTS)];
    let at = (id % BLOCK_HOSTS) * this.#width;
    if (block === undefined || block[at++] !== 1) return undefined;
    const record: Record<string, Field | HostQueue[]> = { id };
    for (const name of this.#numbers) record[name] = block[at++]!;
    for (const name of this.#texts) record[name] = this.#table[block[at++]!]!;
    record['queues'] = Array.from({ length: this.#queueCount }, () => {
      const queue: Record<string, number> = {};
      for (const name of this.#queueFields) queue[name] = block[at++]!;
      return queue as unknown as HostQueue;
    });
    return record as unknown as HostRecord;
  }

  idOf(key: string): number | undefined {
    return this.#idOfKey.get(key);
  }

  /** In the order of their ids. */
  *all(): Iterable<HostRecord> {
    for (let id = 0; id < this.#blocks.length * BLOCK_HOSTS; id++) {
      const host = this.get(id);
      if (host !== undefined) yield host;
    }
  }

  #blockOf(id: number): Float64Array {
    const number = Math.floor(id / BLOCK_HOSTS);
    while (this.#blocks.length <= number) this.#blocks.push(new Float64Array(BLOCK_HOSTS * this.#width));
    return this.#blocks[number]!;
  }

  #numbered(text: string): number {
    let number = this.#numberOfText.get(text);
    if (number === undefined) {
      number = this.#table.length;
      this.#table.push(text);
      this.#numberOfText.set(text, number);
    }
    return number;
  }
}
