/**
 * The robots.txt bodies of a ledger, found by their hash: where their parts lie, and the rules of those that were asked for lately. A body is read
 * from the ledger when a page is held against it, and held against its own hash.
 */
import { type LedgerBody, ledgerHash } from '../output/politeness-ledger.ts';
import { type RobotsFile, readRobotsFile } from './robots-file.ts';
import type { LedgerSource } from './shard-reader.ts';

/** Rules in memory are bounded by the bytes of their bodies. */
const SHELF_BYTES_MAX = 64 * 1_048_576;
const ENTRY_BYTES = 500;

interface Part {
  readonly file: string;
  readonly offset: number;
  readonly length: number;
}

export class RobotsShelf {
  readonly #source: LedgerSource;
  readonly #parts = new Map<string, Part[]>();
  /** In the order of use. */
  readonly #rules = new Map<string, { readonly file: RobotsFile; readonly bytes: number; readonly token: string }>();
  #bytes = 0;

  constructor(source: LedgerSource) {
    this.#source = source;
  }

  /** Bodies of which the ledger has all parts, or begins to. */
  get count(): number {
    return this.#parts.size;
  }

  /** `to`: end of the record's frame in the file; its bytes are the last of the payload, before the checksum. */
  put(body: LedgerBody, file: string, to: number): void {
    const parts = body.part === 0 ? [] : this.#parts.get(body.hash);
    if (parts === undefined || parts.length !== body.part) return;
    // Sites of one maker have the same body: the first copy is enough.
    if (body.part === 0 && this.#parts.get(body.hash)?.length === body.parts) return;
    if (body.part === 0) this.#parts.set(body.hash, parts);
    parts.push({ file, offset: to - CRC_BYTES - body.bytes.length, length: body.bytes.length });
  }

  /** Undefined when the ledger does not have the body, or not as its hash says. */
  rules(hash: string, token: string): RobotsFile | undefined {
    const known = this.#rules.get(hash);
    if (known !== undefined && known.token === token) {
      this.#rules.delete(hash);
      this.#rules.set(hash, known);
      return known.file;
    }
    const body = this.#read(hash);
    if (body === undefined) return undefined;
    const file = readRobotsFile(body, token);
    this.#keep(hash, file, body.length + ENTRY_BYTES, token);
    return file;
  }

  #read(hash: string): Uint8Array | undefined {
    const parts = this.#parts.get(hash);
    if (parts === undefined) return undefined;
    const body = Buffer.concat(parts.map(({ file, offset, length }) => this.#source.read(file, offset, length)));
    return ledgerHash(body) === hash ? body : undefined;
  }

  #keep(hash: string, file: RobotsFile, bytes: number, token: string): void {
    this.#bytes += bytes - (this.#rules.get(hash)?.bytes ?? 0);
    this.#rules.delete(hash);
    this.#rules.set(hash, { file, bytes, token });
    for (const [oldest, entry] of this.#rules) {
      if (this.#bytes <= SHELF_BYTES_MAX) return;
      this.#rules.delete(oldest);
      this.#bytes -= entry.bytes;
    }
  }
}

const CRC_BYTES = 4;
