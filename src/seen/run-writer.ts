/**
 * Writes one run: keys pushed in ascending order become blocks, filter and fences; `finish` makes file and directory durable.
 *
 * Life: push … push, then finish or abandon, once. Equal neighbours are written once. Until `finish` has resolved nothing may refer to the file.
 */
import { crc32 } from 'node:zlib';
import { assert } from '../core/errors.ts';
import type { Disk, DiskFile } from '../ports/disk.ts';
import { BloomFilter } from './bloom.ts';
import type { RunEntry } from './manifest.ts';
import { BLOCK_BYTES, BLOCK_KEYS, BLOCK_WORDS, bytesOf, compareKeys, encodeFooter, footerCrc, runBytes } from './run-format.ts';

/** Blocks handed to the file in one append: 64 KB. */
const APPEND_BLOCKS = 16;
/** Bytes of the filter per append and turn. */
const APPEND_BYTES = 262_144;

/** Hands the thread back for one turn of the loop. Rejects when the work is to stop. */
export type Turn = () => Promise<void>;

export interface RunWriterOptions {
  readonly disk: Disk;
  readonly dir: string;
  readonly name: string;
  readonly level: number;
  /** Upper bound; the filter is sized from it. */
  readonly keysMax: number;
  readonly bitsPerKey: number;
  readonly hashes: number;
}

export interface WrittenRun {
  readonly entry: RunEntry;
  readonly filter: BloomFilter;
  /** First key of each block as (lo, hi) words. */
  readonly fences: Uint32Array;
}

export class RunWriter {
  readonly #options: RunWriterOptions;
  readonly #file: DiskFile;
  readonly #filter: BloomFilter;
  readonly #fences: Uint32Array;
  readonly #buffer = new Uint32Array(APPEND_BLOCKS * BLOCK_WORDS);
  #blocks = 0;
  #blockInBuffer = 0;
  #keysInBlock = 0;
  #keys = 0;
  #lastHi = 0;
  #lastLo = 0;

  constructor(options: RunWriterOptions) {
    this.#options = options;
    this.#filter = BloomFilter.forKeys(options.keysMax, options.bitsPerKey, options.hashes);
    this.#fences = new Uint32Array(Math.ceil(options.keysMax / BLOCK_KEYS) * 2);
    this.#file = options.disk.openAppend(`${options.dir}/${options.name}`);
  }

  /** Halves unsigned. */
  push(hi: number, lo: number): void {
    if (this.#keys > 0) {
      const order = compareKeys(this.#lastHi, this.#lastLo, hi, lo);
      if (order === 0) return;
      assert(order < 0, 'keys of a run are pushed in ascending order');
    }
    this.#lastHi = hi;
    this.#lastLo = lo;
    if (this.#keysInBlock === BLOCK_KEYS) this.#endBlock();
    if (this.#keysInBlock === 0) {
      this.#fences[this.#blocks * 2] = lo;
      this.#fences[this.#blocks * 2 + 1] = hi;
    }
    const at = this.#blockInBuffer * BLOCK_WORDS + 2 + this.#keysInBlock * 2;
    this.#buffer[at] = lo;
    this.#buffer[at + 1] = hi;
    this.#keysInBlock++;
    this.#keys++;
    this.#filter.add(hi, lo);
  }

  async finish(turn: Turn): Promise<WrittenRun> {
    if (this.#keysInBlock > 0) this.#endBlock();
    this.#appendBlocks();
    const fences = this.#fences.slice(0, this.#blocks * 2);
    const filterCrc = await this.#appendFilter(turn);
    this.#file.append(bytesOf(fences));
    const footer = {
      level: this.#options.level,
      keys: this.#keys,
      blocks: this.#blocks,
      filterWords: this.#filter.words.length,
      hashes: this.#filter.hashes,
      filterCrc,
      fencesCrc: crc32(bytesOf(fences)),
    };
    const encoded = encodeFooter(footer);
    this.#file.append(encoded);
    await this.#file.sync();
    await this.#options.disk.syncDir(this.#options.dir);
    this.#file.close();
    const { name, level } = this.#options;
    return {
      entry: { name, level, keys: this.#keys, bytes: runBytes(footer), crc: footerCrc(encoded) },
      filter: this.#filter,
      fences,
    };
  }

  /** Gives the file up. What could not be removed is removed at the next open. */
  abandon(): void {
    this.#file.close();
    this.#options.disk.remove(this.#file.path);
  }

  #endBlock(): void {
    const start = this.#blockInBuffer * BLOCK_WORDS;
    this.#buffer[start + 1] = this.#keysInBlock;
    this.#buffer.fill(0, start + 2 + this.#keysInBlock * 2, start + BLOCK_WORDS);
    this.#buffer[start] = crc32(bytesOf(this.#buffer.subarray(start + 1, start + BLOCK_WORDS)));
    this.#blocks++;
    this.#blockInBuffer++;
    this.#keysInBlock = 0;
    if (this.#blockInBuffer === APPEND_BLOCKS) this.#appendBlocks();
  }

  #appendBlocks(): void {
    if (this.#blockInBuffer === 0) return;
    this.#file.append(bytesOf(this.#buffer).subarray(0, this.#blockInBuffer * BLOCK_BYTES));
    this.#blockInBuffer = 0;
  }

  async #appendFilter(turn: Turn): Promise<number> {
    const bytes = bytesOf(this.#filter.words);
    let crc = 0;
    for (let at = 0; at < bytes.length; at += APPEND_BYTES) {
      const piece = bytes.subarray(at, at + APPEND_BYTES);
      crc = crc32(piece, crc);
      this.#file.append(piece);
      await turn();
    }
    return crc;
  }
}
