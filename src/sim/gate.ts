/**
 * AddressGate of one simulated process: 2^20 words without keys as in the shared one, word = hash(address), so that collisions are simulated too.
 * A word is free (≥ 0: the EpochMs from which it may be taken) or held (−holder). It dies with its process.
 */
import type { AddressGate } from '../ports/address-gate.ts';
import { hashOfText } from './mix.ts';

const WORDS = 2 ** 20;
/** A held gate is asked again after this, or after the least pause that its release will owe. */
const HELD_POLL_MS = 20;
const CLOCK_STEP_MS = 1_000;

export interface GateBounds {
  readonly slots: number;
  /** Requests per second; 0 = no limit. */
  readonly ratePerS: number;
  /** −1 = no limit. */
  readonly pagesLeft: number;
  readonly owedMsMax: number;
  readonly owedMsMin: number;
}

/** The gate as each shard of the process sees it. */
export class SimGate {
  readonly #bounds: GateBounds;
  readonly #words = new Float64Array(WORDS);
  readonly #intervalMs: number;
  #slots = 0;
  #pagesLeft: number;
  /** When the next request may go if all came in time. */
  #rateDueMs = 0;

  constructor(bounds: GateBounds) {
    this.#bounds = bounds;
    this.#pagesLeft = bounds.pagesLeft;
    this.#intervalMs = bounds.ratePerS > 0 ? 1_000 / bounds.ratePerS : 0;
  }

  /** `holder`: one number for each shard, from 1. */
  of(holder: number): AddressGate {
    const words = this.#words;
    return {
      tryAcquire: (key, now) => this.#acquire(wordOf(key), holder, now),
      release(key, nextMs) {
        const at = wordOf(key);
        if (words[at] === -holder) words[at] = Math.ceil(nextMs);
      },
      owe(key, nextMs) {
        const at = wordOf(key);
        const value = words[at]!;
        if (value >= 0 && value < nextMs) words[at] = Math.ceil(nextMs);
      },
      tryTakeSlot: () => {
        if (this.#slots >= this.#bounds.slots) return false;
        this.#slots++;
        return true;
      },
      giveSlot: () => {
        this.#slots--;
      },
      slotsInUse: () => this.#slots,
      slotsTotal: () => this.#bounds.slots,
      tryTakeRate: (now) => this.#takeRate(now),
      tryTakePage: () => {
        if (this.#bounds.pagesLeft < 0) return true;
        if (this.#pagesLeft <= 0) return false;
        this.#pagesLeft--;
        return true;
      },
      givePage: () => {
        if (this.#bounds.pagesLeft >= 0) this.#pagesLeft++;
      },
    };
  }

  #acquire(at: number, holder: number, now: number): 'held' | number {
    const value = this.#words[at]!;
    if (value < 0) return now + Math.max(HELD_POLL_MS, this.#bounds.owedMsMin);
    if (value > now) {
      const latest = Math.ceil(now + this.#bounds.owedMsMax);
      if (value <= latest + CLOCK_STEP_MS) return value;
      this.#words[at] = latest; // nobody is owed that much: the clock was set back
      return latest;
    }
    this.#words[at] = -holder;
    return 'held';
  }

  #takeRate(now: number): 'go' | number {
    if (this.#intervalMs === 0) return 'go';
    if (this.#rateDueMs > now + this.#intervalMs + CLOCK_STEP_MS) this.#rateDueMs = now + this.#intervalMs;
    if (this.#rateDueMs > now) return Math.ceil(this.#rateDueMs);
    // Times are whole milliseconds: half an interval of credit, 1 … 10 ms, keeps the rate.
    const credit = Math.max(1, Math.min(10, this.#intervalMs / 2));
    this.#rateDueMs = Math.max(this.#rateDueMs, now - credit) + this.#intervalMs;
    return 'go';
  }
}

function wordOf(key: string): number {
  let hash = hashOfText(key);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return hash & (WORDS - 1);
}
