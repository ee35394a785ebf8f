/**
 * The event log of a run as one number: every event goes into a running 64-bit hash (two 32-bit lanes) and is forgotten, unless somebody listens.
 * Two runs that did the same things at the same times have the same hash. Not for secrets.
 */

/** What happened, at which virtual millisecond, and its details. */
export type LoggedEvent = readonly (string | number)[];

export class EventLog {
  readonly #listen: ((event: LoggedEvent) => void) | undefined;
  #a = 0x9e3779b9 | 0;
  #b = 0x85ebca6b | 0;
  #count = 0;

  constructor(listen?: (event: LoggedEvent) => void) {
    this.#listen = listen;
  }

  add(...event: LoggedEvent): void {
    this.#count++;
    for (const part of event) {
      if (typeof part === 'number') this.#number(part);
      else this.#text(part);
    }
    this.#listen?.(event);
  }

  get count(): number {
    return this.#count;
  }

  /** 16 hexadecimal digits. */
  hash(): string {
    return word(this.#a) + word(this.#b);
  }

  #number(value: number): void {
    const low = value | 0;
    const high = Math.floor(value / 2 ** 32) | 0;
    this.#word(low);
    this.#word(high);
  }

  #text(text: string): void {
    this.#word(text.length);
    for (let i = 0; i < text.length; i++) this.#word(text.charCodeAt(i));
  }

  #word(word: number): void {
    this.#a = Math.imul(this.#a ^ word, 0x01000193);
    this.#a ^= this.#a >>> 15;
    this.#b = Math.imul((this.#b ^ word) + 0x7f4a7c15, 0x5bd1e995);
    this.#b ^= this.#b >>> 13;
  }
}

function word(value: number): string {
  return (value >>> 0).toString(16).padStart(8, '0');
}
