/** What a shard has under way, as counts: exchanges and look-ups that have not ended, and a version that tells two moments apart. */
export class Activity {
  #version = 0;
  #inFlight = 0;
  #resolving = 0;

  /** Changes whenever the shard did anything. */
  get version(): number {
    return this.#version;
  }

  /** Exchanges that have not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Look-ups of names that have not ended. */
  get resolving(): number {
    return this.#resolving;
  }

  /** Exchanges and look-ups of names that have not ended. */
  get busy(): number {
    return this.#inFlight + this.#resolving;
  }

  moved(): void {
    this.#version++;
  }

  exchangeBegun(): void {
    this.#inFlight++;
  }

  exchangeEnded(): void {
    this.#inFlight--;
    this.#version++;
  }

  lookupBegun(): void {
    this.#resolving++;
  }

  lookupEnded(): void {
    this.#resolving--;
  }
}
