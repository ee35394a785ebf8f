/** FIFO of host ids over one growing Int32Array: 4 bytes per waiting host. */
export class IdRing {
  #ids = new Int32Array(64);
  #head = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(id: number): void {
    if (this.#size === this.#ids.length) this.#grow();
    this.#ids[(this.#head + this.#size) % this.#ids.length] = id;
    this.#size++;
  }

  /** Removes the oldest id; the ring must not be empty. */
  shift(): number {
    const id = this.#ids[this.#head]!;
    this.#head = (this.#head + 1) % this.#ids.length;
    this.#size--;
    return id;
  }

  #grow(): void {
    const larger = new Int32Array(this.#ids.length * 2);
    for (let i = 0; i < this.#size; i++) larger[i] = this.#ids[(this.#head + i) % this.#ids.length]!;
    this.#ids = larger;
    this.#head = 0;
  }
}
