/**
 * Compact binary records: varints, latin-1 and UTF-8 strings, fixed words. The writer grows and is reused; the reader checks every bound.
 * Varints are little-endian base 128 for integers 0 … 2^53 − 1. A damaged record throws PORTOLAN_STATE_DAMAGED.
 */
import { PortolanError } from './errors.ts';

export class ByteWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(capacityBytes = 1024) {
    this.#buffer = Buffer.allocUnsafeSlow(capacityBytes);
  }

  get length(): number {
    return this.#length;
  }

  reset(): void {
    this.#length = 0;
  }

  byte(value: number): this {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
    return this;
  }

  varint(value: number): this {
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#buffer[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#buffer[this.#length++] = rest;
    return this;
  }

  uint32(value: number): this {
    this.#reserve(4);
    this.#buffer.writeUInt32BE(value >>> 0, this.#length);
    this.#length += 4;
    return this;
  }

  /** Text whose code units are all below 256 (URLs are ASCII once serialised). */
  latin1(text: string): this {
    this.varint(text.length);
    this.#reserve(text.length);
    this.#buffer.write(text, this.#length, 'latin1');
    this.#length += text.length;
    return this;
  }

  utf8(text: string): this {
    const bytes = Buffer.byteLength(text, 'utf8');
    this.varint(bytes);
    this.#reserve(bytes);
    this.#buffer.write(text, this.#length, 'utf8');
    this.#length += bytes;
    return this;
  }

  bytes(value: Uint8Array): this {
    this.#reserve(value.length);
    this.#buffer.set(value, this.#length);
    this.#length += value.length;
    return this;
  }

  /** A copy of what was written. */
  take(): Buffer {
    const copy = Buffer.allocUnsafeSlow(this.#length);
    this.#buffer.copy(copy, 0, 0, this.#length);
    return copy;
  }

  #reserve(more: number): void {
    const need = this.#length + more;
    if (need <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(need, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

export class ByteReader {
  readonly #buffer: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get done(): boolean {
    return this.#at >= this.#buffer.length;
  }

  byte(): number {
    this.#need(1);
    return this.#buffer[this.#at++]!;
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 8; i++) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
    throw damaged('a number is longer than 8 bytes');
  }

  uint32(): number {
    this.#need(4);
    const value = this.#buffer.readUInt32BE(this.#at);
    this.#at += 4;
    return value;
  }

  latin1(): string {
    const length = this.varint();
    this.#need(length);
    const text = this.#buffer.toString('latin1', this.#at, this.#at + length);
    this.#at += length;
    return text;
  }

  utf8(): string {
    const length = this.varint();
    this.#need(length);
    const text = this.#buffer.toString('utf8', this.#at, this.#at + length);
    this.#at += length;
    return text;
  }

  #need(count: number): void {
    if (this.#at + count > this.#buffer.length) throw damaged('a record ends in its middle');
  }
}

function damaged(what: string): PortolanError {
  return new PortolanError('PORTOLAN_STATE_DAMAGED', `a stored record cannot be read: ${what}`, {
    remedy: 'restore the crawl directory from a backup, or start a new crawl in another directory',
  });
}
