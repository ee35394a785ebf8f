/** Randomness, handed in. Contract: the same seed gives the same sequence; not for secrets. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer in [0, below); `below` in 1 … 2^31. */
  int(below: number): number;
  /** 16 random bytes in the text form of a version 4 UUID, for WARC record ids. */
  uuid(): string;
}
