/**
 * The address gate in shared memory, for all shards of one process (PROTOCOL: "The address gate").
 *
 * 2^20 words of 64 bits without keys: word = hash(address) mod 2^20, value ≥ 0 = free and the EpochMs from which it may be taken, value < 0 =
 * held by holder −value. Only compare-and-swap. A collision makes two addresses share a word: merely too polite. Beside the words: slots in
 * use, the rate limiter's theoretical arrival time (GCRA) and the pages left.
 */
import type { AddressGate } from '../../ports/address-gate.ts';

const WORDS = 2 ** 20;
/** A held gate is asked again after this, or after the least pause that its release will owe. */
const HELD_POLL_MS = 20;
/** Threads read the clock at slightly different moments; more than this is a step. */
const CLOCK_STEP_MS = 1_000;
/** How late a request may come, at most, without the next one being later for it. */
const CREDIT_US_MAX = 10_000n;
const CLOCK_TICK_US = 1_000n;
const SLOTS = 0;
const PAGES_HIGH = 1;

export interface SharedGateMemory {
  readonly words: SharedArrayBuffer;
  readonly counters: SharedArrayBuffer;
  readonly rate: SharedArrayBuffer;
}

export interface SharedGateOptions {
  readonly slots: number;
  /** Requests per second; 0 = no limit. */
  readonly ratePerS: number;
  /** −1 = no limit. */
  readonly pagesLeft: number;
  /** Longest pause that an address is ever owed; default no bound. */
  readonly owedMsMax?: number;
  /** Least pause that every release owes; default 0. */
  readonly owedMsMin?: number;
}

export function createGateMemory(options: SharedGateOptions): SharedGateMemory {
  const memory = { words: new SharedArrayBuffer(WORDS * 8), counters: new SharedArrayBuffer(16), rate: new SharedArrayBuffer(8) };
  new Int32Array(memory.counters)[PAGES_HIGH] = options.pagesLeft < 0 ? -1 : Math.min(options.pagesLeft, 0x7fffffff);
  return memory;
}

/** `holder`: 1 … 2^31, one per shard, so that a dead worker's words can be found. */
export function createSharedGate(memory: SharedGateMemory, options: SharedGateOptions, holder: number): AddressGate {
  const words = new BigInt64Array(memory.words);
  const counters = new Int32Array(memory.counters);
  const rate = new BigInt64Array(memory.rate);
  const held = BigInt(-holder);
  const limitedPages = options.pagesLeft >= 0;
  const owedMsMax = options.owedMsMax ?? Number.MAX_SAFE_INTEGER - 2 ** 52;
  const heldPollMs = Math.max(HELD_POLL_MS, options.owedMsMin ?? 0);
  const intervalUs = options.ratePerS > 0 ? BigInt(Math.ceil(1_000_000 / options.ratePerS)) : 0n;
  const creditUs = creditOf(intervalUs);

  const owe = (addressKey: string, nextEpochMs: number): void => {
    const at = wordOf(addressKey);
    const next = BigInt(Math.ceil(nextEpochMs));
    for (;;) {
      const value = Atomics.load(words, at);
      if (value < 0n || value >= next || Atomics.compareExchange(words, at, value, next) === value) return;
    }
  };

  return {
    tryAcquire(addressKey, nowEpochMs) {
      const at = wordOf(addressKey);
      const value = Atomics.load(words, at);
      if (value < 0n) return nowEpochMs + heldPollMs;
      if (value > 0n && Number(value) > nowEpochMs) {
        const latest = Math.ceil(nowEpochMs + owedMsMax);
        if (Number(value) <= latest + CLOCK_STEP_MS) return Number(value);
        // Nobody is owed that much: the clock was set back.
        Atomics.compareExchange(words, at, value, BigInt(latest));
        return latest;
      }
      return Atomics.compareExchange(words, at, value, held) === value ? 'held' : nowEpochMs + 1;
    },
    release(addressKey, nextEpochMs) {
      const at = wordOf(addressKey);
      if (Atomics.load(words, at) === held) Atomics.store(words, at, BigInt(Math.ceil(nextEpochMs)));
    },
    owe,
    tryTakeSlot() {
      if (Atomics.add(counters, SLOTS, 1) < options.slots) return true;
      Atomics.sub(counters, SLOTS, 1);
      return false;
    },
    giveSlot() {
      Atomics.sub(counters, SLOTS, 1);
    },
    slotsInUse: () => Atomics.load(counters, SLOTS),
    slotsTotal: () => options.slots,
    tryTakeRate(nowEpochMs) {
      if (intervalUs === 0n) return 'go';
      const nowUs = BigInt(Math.floor(nowEpochMs * 1_000));
      for (;;) {
        const due = Atomics.load(rate, 0);
        if (due > nowUs + intervalUs + BigInt(CLOCK_STEP_MS * 1_000)) {
          Atomics.compareExchange(rate, 0, due, nowUs + intervalUs); // the clock was set back
          continue;
        }
        if (due > nowUs) return Math.ceil(Number(due) / 1_000);
        const from = due > nowUs - creditUs ? due : nowUs - creditUs;
        if (Atomics.compareExchange(rate, 0, due, from + intervalUs) === due) return 'go';
      }
    },
    tryTakePage() {
      if (!limitedPages) return true;
      for (;;) {
        const left = Atomics.load(counters, PAGES_HIGH);
        if (left <= 0) return false;
        if (Atomics.compareExchange(counters, PAGES_HIGH, left, left - 1) === left) return true;
      }
    },
    givePage() {
      if (limitedPages) Atomics.add(counters, PAGES_HIGH, 1);
    },
  };
}

/** Frees the words of a holder that died; each may be taken again after `nextEpochMs`. */
export function releaseHolder(memory: SharedGateMemory, holder: number, nextEpochMs: number): void {
  const words = new BigInt64Array(memory.words);
  const held = BigInt(-holder);
  const next = BigInt(Math.ceil(nextEpochMs));
  for (let at = 0; at < WORDS; at++) Atomics.compareExchange(words, at, held, next);
}

/**
 * The clock counts whole milliseconds and timers are coarse, so a request comes a little after its due time; without credit each such delay
 * would add up, and 700/s become 500/s. In any span of t µs at most (t + credit) / interval + 1 requests go.
 */
function creditOf(intervalUs: bigint): bigint {
  const half = intervalUs / 2n;
  const credit = half < CREDIT_US_MAX ? half : CREDIT_US_MAX;
  return credit > CLOCK_TICK_US ? credit : CLOCK_TICK_US;
}

function wordOf(addressKey: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < addressKey.length; i++) hash = Math.imul(hash ^ addressKey.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  hash ^= hash >>> 12;
  return hash & (WORDS - 1);
}
