/**
 * What a shard waited for, as sums of time that grow from its opening on: the part of a status from which the binding constraint is computed
 * (measurements.ts). Each part of the shard adds what it alone knows; nothing here decides anything.
 */
import type { EpochMs } from '../core/time.ts';

export class LoadMeter {
  #gateWaitMs = 0;
  #rateWaitMs = 0;
  #heldBackMs = 0;
  #heldBackSinceMs: EpochMs | undefined;
  #commits = 0;
  #commitMs = 0;

  /** A turn was sent back by the address gate, to be asked again after so long. */
  waitsForGate(ms: number): void {
    this.#gateWaitMs += Math.max(0, ms);
  }

  /** A turn was sent back by the request rate. */
  waitsForRate(ms: number): void {
    this.#rateWaitMs += Math.max(0, ms);
  }

  /** Whether, from now on, nothing is leased because the oldest result waits for its commit. */
  setHeldBack(isHeldBack: boolean, now: EpochMs): void {
    this.#heldBackMs = this.heldBackMs(now);
    this.#heldBackSinceMs = isHeldBack ? now : undefined;
  }

  /** A commit became durable after so long. */
  committed(ms: number): void {
    this.#commits++;
    this.#commitMs += Math.max(0, ms);
  }

  /** That of now included. A clock that was set back adds nothing. */
  heldBackMs(now: EpochMs): number {
    return this.#heldBackMs + (this.#heldBackSinceMs === undefined ? 0 : Math.max(0, now - this.#heldBackSinceMs));
  }

  get gateWaitMs(): number {
    return this.#gateWaitMs;
  }

  get rateWaitMs(): number {
    return this.#rateWaitMs;
  }

  get commits(): number {
    return this.#commits;
  }

  get commitMs(): number {
    return this.#commitMs;
  }
}
