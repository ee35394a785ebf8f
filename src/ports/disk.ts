/**
 * Files, handed in. Paths are relative to the root the adapter was opened with, with '/' between parts.
 *
 * Contract: `append` hands the bytes to the operating system before it returns (they survive SIGKILL of this process, not a power cut);
 * `sync` makes everything appended so far and the file's length survive a power cut; `syncDir` does so for names created, renamed or
 * removed in a directory. Synchronous calls are short; `sync` and `syncDir` never block the caller's thread.
 * Errors are PortolanError with PORTOLAN_DISK_FULL (ENOSPC, EDQUOT), PORTOLAN_DISK_READ_ONLY (EROFS, EACCES, EPERM) or PORTOLAN_DISK_FAILED.
 * After a failed `sync` a file must not be synced again and believed: the caller closes the shard.
 */
export interface Disk {
  /** Opens for appending and reading, creates it (and its directories) when missing. */
  openAppend(path: string): DiskFile;
  openRead(path: string): DiskFile;
  exists(path: string): boolean;
  /** Names in a directory, sorted; empty when it does not exist. */
  list(path: string): readonly string[];
  size(path: string): number;
  readWhole(path: string): Uint8Array;
  /** Writes a whole file, syncs it and renames it into place, so that a reader finds the old or the new one. */
  writeWhole(path: string, bytes: Uint8Array): Promise<void>;
  truncate(path: string, length: number): void;
  rename(from: string, to: string): void;
  /** Removing what is not there is no error. */
  remove(path: string): void;
  syncDir(path: string): Promise<void>;
  /** Bytes free for this user on the file system of the root. */
  freeBytes(): number;
}

export interface DiskFile {
  readonly path: string;
  /** Appends all of `bytes`; on an error the file may hold a part of them. */
  append(bytes: Uint8Array): void;
  /** Reads up to `length` bytes at `offset` into `into`; returns how many (0 at the end). */
  readAt(into: Uint8Array, offset: number, length: number): number;
  size(): number;
  sync(): Promise<void>;
  /** Idempotent. */
  close(): void;
}
