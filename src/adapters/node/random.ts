/**
 * Seeded randomness: sfc32 (Chris Doty-Humphrey, PractRand; 128 bits of state, period at least 2^32, about 2^127 on average).
 * The same seed gives the same sequence on every platform. Without a seed the whole state comes from the system's generator, so that record
 * ids of two crawls do not collide. Not for secrets.
 */
import { randomBytes } from 'node:crypto';
import { assert } from '../../core/errors.ts';
import type { Random } from '../../ports/random.ts';

const TWO_32 = 2 ** 32;
const INT_BELOW_MAX = 2 ** 31;
/** Draws thrown away after seeding from a number, until the state is mixed. */
const WARM_UP_COUNT = 12;

/** `seed`: any integer below 2^53; its low and high words both count. Undefined: a fresh, unpredictable state. */
export function createRandom(seed?: number): Random {
  if (seed === undefined) {
    const state = randomBytes(16);
    return new Sfc32(state.readInt32LE(0), state.readInt32LE(4), state.readInt32LE(8), state.readInt32LE(12));
  }
  assert(Number.isSafeInteger(seed), 'a seed is an integer');
  const random = new Sfc32(Math.floor(seed / TWO_32) | 0, seed | 0, 0x9e3779b9 | 0, 1);
  for (let i = 0; i < WARM_UP_COUNT; i++) random.uint32();
  return random;
}

class Sfc32 implements Random {
  #a: number;
  #b: number;
  #c: number;
  #counter: number;

  constructor(a: number, b: number, c: number, counter: number) {
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#counter = counter;
  }

  /** 53 random bits, of two draws. */
  next(): number {
    const high = this.uint32() >>> 5;
    const low = this.uint32() >>> 6;
    return (high * 2 ** 26 + low) / 2 ** 53;
  }

  int(below: number): number {
    assert(Number.isInteger(below) && below >= 1 && below <= INT_BELOW_MAX, 'int(below) takes 1 … 2^31');
    const limit = TWO_32 - (TWO_32 % below); // draws at or over it would favour the small numbers
    let drawn = this.uint32();
    while (drawn >= limit) drawn = this.uint32();
    return drawn % below;
  }

  /** RFC 9562 section 5.4: version 4 in bits 48–51, variant 10 in bits 64–65. */
  uuid(): string {
    const a = this.uint32();
    const b = ((this.uint32() & 0xffff0fff) | 0x4000) >>> 0;
    const c = ((this.uint32() & 0x3fffffff) | 0x80000000) >>> 0;
    const d = this.uint32();
    const middle = hex32(b);
    const variant = hex32(c);
    return `${hex32(a)}-${middle.slice(0, 4)}-${middle.slice(4)}-${variant.slice(0, 4)}-${variant.slice(4)}${hex32(d)}`;
  }

  uint32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}

const HEX_BYTES: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function hex32(value: number): string {
  return HEX_BYTES[value >>> 24]! + HEX_BYTES[(value >>> 16) & 255]! + HEX_BYTES[(value >>> 8) & 255]! + HEX_BYTES[value & 255]!;
}
