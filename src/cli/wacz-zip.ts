/**
 * A ZIP file with stored entries only (APPNOTE 6.3.10; WACZ wants WARC files stored), written in one pass: the head of an entry is written over at its end, when
 * size and CRC are known. ZIP64 where sizes or offsets need it. Entries are never compressed here, names are ASCII.
 */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { FileSink } from './export/sink.ts';

export interface ZipEntry {
  readonly name: string;
  readonly bytes: number;
  /** `sha256:<hex>` of its content. */
  readonly hash: string;
}

interface Written extends ZipEntry {
  readonly crc: number;
  readonly offset: number;
}

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const FULL = 0xffffffff;
const VERSION = 20;
const VERSION_64 = 45;
/** Every local head has room for 64-bit sizes: they are not known when it is written. */
const EXTRA_64_BYTES = 20;

export class ZipWriter {
  readonly #sink: FileSink;
  readonly #time: number;
  readonly #date: number;
  readonly #entries: Written[] = [];

  /** `at`: time of every entry (UTC). The sink is the caller's to finish. */
  constructor(sink: FileSink, at: Date) {
    this.#sink = sink;
    this.#time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
    this.#date = (Math.max(0, at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  }

  get entries(): readonly ZipEntry[] {
    return this.#entries;
  }

  /** `pieces` are valid until the next one is asked for. */
  async add(name: string, pieces: Iterable<Uint8Array>): Promise<ZipEntry> {
    const offset = this.#sink.length;
    await this.#sink.write(this.#localHead(name, 0, 0));
    const sha = createHash('sha256');
    let crc = 0;
    let bytes = 0;
    for (const piece of pieces) {
      sha.update(piece);
      crc = crc32(piece, crc);
      bytes += piece.length;
      await this.#sink.write(piece);
    }
    this.#sink.patch(offset, this.#localHead(name, crc, bytes));
    const entry: Written = { name, bytes, hash: `sha256:${sha.digest('hex')}`, crc, offset };
    this.#entries.push(entry);
    return entry;
  }

  async finish(): Promise<void> {
    const start = this.#sink.length;
    for (const entry of this.#entries) await this.#sink.write(this.#centralHead(entry));
    await this.#sink.write(this.#ending(start, this.#sink.length - start));
  }

  #localHead(name: string, crc: number, bytes: number): Buffer {
    const text = Buffer.from(name, 'latin1');
    const head = Buffer.alloc(30 + text.length + EXTRA_64_BYTES);
    head.writeUInt32LE(LOCAL, 0);
    head.writeUInt16LE(VERSION_64, 4);
    this.#common(head, 8, crc, FULL, FULL, text.length, EXTRA_64_BYTES);
    text.copy(head, 30);
    const extra = 30 + text.length;
    head.writeUInt16LE(1, extra);
    head.writeUInt16LE(EXTRA_64_BYTES - 4, extra + 2);
    head.writeBigUInt64LE(BigInt(bytes), extra + 4);
    head.writeBigUInt64LE(BigInt(bytes), extra + 12);
    return head;
  }

  /** Method (stored), time, date, CRC, two sizes, lengths of name and extra field. */
  #common(head: Buffer, at: number, crc: number, stored: number, whole: number, nameBytes: number, extraBytes: number): void {
    head.writeUInt16LE(0, at);
    head.writeUInt16LE(this.#time, at + 2);
    head.writeUInt16LE(this.#date, at + 4);
    head.writeUInt32LE(crc, at + 6);
    head.writeUInt32LE(stored, at + 10);
    head.writeUInt32LE(whole, at + 14);
    head.writeUInt16LE(nameBytes, at + 18);
    head.writeUInt16LE(extraBytes, at + 20);
  }

  #centralHead({ name, crc, bytes, offset }: Written): Buffer {
    const wide = bytes >= FULL ? [bytes, bytes] : [];
    if (offset >= FULL) wide.push(offset);
    const extraBytes = wide.length === 0 ? 0 : 4 + 8 * wide.length;
    const text = Buffer.from(name, 'latin1');
    const head = Buffer.alloc(46 + text.length + extraBytes);
    head.writeUInt32LE(CENTRAL, 0);
    head.writeUInt16LE(VERSION_64, 4);
    head.writeUInt16LE(wide.length === 0 ? VERSION : VERSION_64, 6);
    const size = Math.min(bytes, FULL);
    this.#common(head, 10, crc, size, size, text.length, extraBytes);
    head.writeUInt32LE(Math.min(offset, FULL), 42);
    text.copy(head, 46);
    if (wide.length > 0) {
      const extra = 46 + text.length;
      head.writeUInt16LE(1, extra);
      head.writeUInt16LE(8 * wide.length, extra + 2);
      wide.forEach((value, nth) => {
        head.writeBigUInt64LE(BigInt(value), extra + 4 + 8 * nth);
      });
    }
    return head;
  }

  #ending(start: number, bytes: number): Buffer {
    const count = this.#entries.length;
    const end = Buffer.alloc(22);
    end.writeUInt32LE(END, 0);
    end.writeUInt16LE(Math.min(count, 0xffff), 8);
    end.writeUInt16LE(Math.min(count, 0xffff), 10);
    end.writeUInt32LE(Math.min(bytes, FULL), 12);
    end.writeUInt32LE(Math.min(start, FULL), 16);
    if (count < 0xffff && bytes < FULL && start < FULL) return end;
    const wide = Buffer.alloc(56);
    wide.writeUInt32LE(END_64, 0);
    wide.writeBigUInt64LE(44n, 4);
    wide.writeUInt16LE(VERSION_64, 12);
    wide.writeUInt16LE(VERSION_64, 14);
    wide.writeBigUInt64LE(BigInt(count), 24);
    wide.writeBigUInt64LE(BigInt(count), 32);
    wide.writeBigUInt64LE(BigInt(bytes), 40);
    wide.writeBigUInt64LE(BigInt(start), 48);
    const locator = Buffer.alloc(20);
    locator.writeUInt32LE(LOCATOR_64, 0);
    locator.writeBigUInt64LE(BigInt(start + bytes), 8);
    locator.writeUInt32LE(1, 16);
    return Buffer.concat([wide, locator, end]);
  }
}
