/**
 * Where segments of output (WARC, pages.jsonl, ledger) go: append-only objects with a name, cut back at open to what a commit recorded.
 * Contract: `append` order is the order of the bytes; `sync` resolves when every byte appended so far is durable, the name included;
 * `cut(name, length)` removes what lies beyond `length`. A file adapter works over Disk; an object store adapter stages parts.
 */
export interface BlobStore {
  open(name: string): BlobWriter;
  length(name: string): number | undefined;
  cut(name: string, length: number): void;
  remove(name: string): void;
  list(prefix: string): readonly string[];
  read(name: string, offset: number, length: number): Uint8Array;
}
export interface BlobWriter {
  readonly name: string;
  /** Bytes appended so far, durable or not. */
  length(): number;
  append(bytes: Uint8Array): void;
  sync(): Promise<void>;
  close(): void;
}
