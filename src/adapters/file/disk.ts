/**
 * Disk over node:fs: files below one root directory.
 *
 * Reads, appends and renames are synchronous (they end in the page cache); fdatasync and fsync run on libuv's pool, off the caller's thread.
 * Every error leaves here as a PortolanError that names the file, what was being done and what to do about it.
 * Invariant: a file whose sync failed once fails every later sync. The kernel drops the dirty pages of a failed write-back, so a second
 * fsync would report a success that is none (Rebello et al., "Can Applications Recover from fsync Failures?", USENIX ATC 2020).
 * Not here: locks, buffering, any knowledge of what the bytes mean.
 */
import {
  closeSync,
  fdatasync,
  fstatSync,
  fsync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  statfsSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { assert, type ErrorCode, PortolanError } from '../../core/errors.ts';
import type { Disk, DiskFile } from '../../ports/disk.ts';

const TEMPORARY_SUFFIX = '.tmp';

/** Opens a Disk on `root` (relative to the working directory, created with its parents when missing). Throws PORTOLAN_DISK_*. */
export function openDisk(root: string): Disk {
  const absolute = resolve(root);
  attempt(CREATE_DIRECTORY, absolute, () => createDirectory(absolute));
  return new FileDisk(absolute);
}

class FileDisk implements Disk {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  openAppend(path: string): DiskFile {
    const full = this.#full(path);
    return attempt('open', path, () => {
      mkdirSync(dirname(full), { recursive: true });
      return new AppendFile(path, openSync(full, 'a+'));
    });
  }

  openRead(path: string): DiskFile {
    const full = this.#full(path);
    return attempt('open', path, () => new AppendFile(path, openSync(full, 'r')));
  }

  exists(path: string): boolean {
    return attempt('examine', path, () => statSync(this.#full(path), { throwIfNoEntry: false }) !== undefined);
  }

  list(path: string): readonly string[] {
    const full = this.#full(path);
    return attempt('list', path, () => {
      try {
        return readdirSync(full).sort();
      } catch (error) {
        if (systemCode(error) === 'ENOENT') return [];
        throw error;
      }
    });
  }

  size(path: string): number {
    return attempt('examine', path, () => statSync(this.#full(path)).size);
  }

  readWhole(path: string): Uint8Array {
    return attempt('read', path, () => readFileSync(this.#full(path)));
  }

  async writeWhole(path: string, bytes: Uint8Array): Promise<void> {
    const full = this.#full(path);
    const temporary = full + TEMPORARY_SUFFIX;
    const fd = attempt('open', path, () => {
      mkdirSync(dirname(full), { recursive: true });
      return openSync(temporary, 'w');
    });
    try {
      attempt('write', path, () => writeAll(fd, bytes));
      await syncFd(fsync, fd, path);
    } catch (error) {
      removeDraft(temporary);
      throw error;
    } finally {
      closeSync(fd);
    }
    attempt('rename into place', path, () => renameSync(temporary, full));
    await this.syncDir(parentOf(path));
  }

  truncate(path: string, length: number): void {
    attempt('cut', path, () => truncateSync(this.#full(path), length));
  }

  rename(from: string, to: string): void {
    attempt('rename', from, () => renameSync(this.#full(from), this.#full(to)));
  }

  remove(path: string): void {
    attempt('remove', path, () => unlinkIfThere(this.#full(path)));
  }

  async syncDir(path: string): Promise<void> {
    const fd = attempt('open directory', path, () => openSync(this.#full(path), 'r'));
    try {
      await syncFd(fsync, fd, path);
    } finally {
      closeSync(fd);
    }
  }

  freeBytes(): number {
    const stat = attempt('examine the file system of', this.#root, () => statfsSync(this.#root));
    return stat.bavail * stat.bsize;
  }

  #full(path: string): string {
    assert(!path.startsWith('/') && !path.includes('\0'), `a path is relative to the root: ${JSON.stringify(path)}`);
    assert(!path.split('/').includes('..'), `a path stays below the root: ${JSON.stringify(path)}`);
    return join(this.#root, path);
  }
}

/** An open file. The descriptor is closed only after the syncs in flight have ended: a reused number would sync another file. */
class AppendFile implements DiskFile {
  readonly path: string;
  readonly #fd: number;
  #open = true;
  #syncsInFlight = 0;
  #syncFailure: PortolanError | undefined;

  constructor(path: string, fd: number) {
    this.path = path;
    this.#fd = fd;
  }

  append(bytes: Uint8Array): void {
    assert(this.#open, `append to closed file ${this.path}`);
    attempt('append to', this.path, () => writeAll(this.#fd, bytes));
  }

  readAt(into: Uint8Array, offset: number, length: number): number {
    assert(this.#open, `read from closed file ${this.path}`);
    assert(length <= into.length, 'the read fits its buffer');
    return attempt('read', this.path, () => {
      let done = 0;
      while (done < length) {
        const count = readSync(this.#fd, into, done, length - done, offset + done);
        if (count === 0) break;
        done += count;
      }
      return done;
    });
  }

  size(): number {
    assert(this.#open, `size of closed file ${this.path}`);
    return attempt('examine', this.path, () => fstatSync(this.#fd).size);
  }

  async sync(): Promise<void> {
    assert(this.#open, `sync of closed file ${this.path}`);
    if (this.#syncFailure !== undefined) throw this.#syncFailure;
    this.#syncsInFlight += 1;
    try {
      await syncFd(fdatasync, this.#fd, this.path);
    } catch (error) {
      if (error instanceof PortolanError) this.#syncFailure = error;
      throw error;
    } finally {
      this.#syncsInFlight -= 1;
      this.#closeWhenIdle();
    }
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (!this.#open && this.#syncsInFlight === 0) closeSync(this.#fd);
  }
}

type SyncCall = (fd: number, done: (error: NodeJS.ErrnoException | null) => void) => void;

function syncFd(call: SyncCall, fd: number, path: string): Promise<void> {
  return new Promise((fulfil, reject) => {
    call(fd, (error) => (error === null ? fulfil() : reject(diskError('sync', path, error))));
  });
}

/** write(2) may take a part only (a signal, a nearly full disk): go on until it took all or says why not. */
function writeAll(fd: number, bytes: Uint8Array): void {
  let done = 0;
  while (done < bytes.length) done += writeSync(fd, bytes, done, bytes.length - done);
}

/** Not rmSync with `force`: on a read-only file system that throws an error without a code (Node 24). */
function unlinkIfThere(full: string): void {
  try {
    unlinkSync(full);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}

/** A draft that did not fit would take the last space. The error that is on its way counts, not one of this removal. */
function removeDraft(full: string): void {
  try {
    unlinkIfThere(full);
  } catch {
    // the next writeWhole of this file overwrites it
  }
}

/** Creates a directory with its parents and makes the new names durable; syncs nothing when it was there. */
function createDirectory(absolute: string): void {
  const first = mkdirSync(absolute, { recursive: true });
  if (first === undefined) return;
  const top = dirname(first);
  for (let directory = dirname(absolute); directory.length >= top.length; directory = dirname(directory)) {
    const fd = openSync(directory, 'r');
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    if (directory === top) break;
  }
}

function parentOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash < 0 ? '' : path.slice(0, slash);
}

function attempt<T>(what: string, path: string, fn: () => T): T {
  try {
    return fn();
  } catch (error) {
    throw diskError(what, path, error);
  }
}

const CREATE_DIRECTORY = 'create directory';

/** The PortolanError for a failed system call: `what` was being done to `path`. */
function diskError(what: string, path: string, cause: unknown): PortolanError {
  if (cause instanceof PortolanError) return cause;
  const code = systemCode(cause);
  // A recursive mkdir on a read-only file system says ENOENT (Node 24).
  const known = SYSTEM_CODES[code === 'ENOENT' && what === CREATE_DIRECTORY ? 'EROFS' : code] ?? DISK_FAILED;
  const name = path === '' ? 'the root directory' : path;
  const detail = code === '' ? String(cause) : code;
  return new PortolanError(known.code, `cannot ${what} ${name}: ${known.text} (${detail})`, { remedy: known.remedy, cause });
}

function systemCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

interface KnownFailure {
  readonly code: ErrorCode;
  readonly text: string;
  readonly remedy: string;
}

const DISK_FAILED: KnownFailure = {
  code: 'PORTOLAN_DISK_FAILED',
  text: 'the operating system refused',
  remedy: 'Look at the system log and the health of the disk, then start the crawl again: it goes on from its last commit.',
};
const NOT_ALLOWED_REMEDY =
  'Give the user of this process write access to the output directory, or choose another with --out; then start the crawl again.';

const SYSTEM_CODES: Readonly<Record<string, KnownFailure>> = {
  ENOSPC: {
    code: 'PORTOLAN_DISK_FULL',
    text: 'no space left on the file system',
    remedy: 'Free some space or move the output directory, then start the crawl again: it goes on from its last commit.',
  },
  EDQUOT: {
    code: 'PORTOLAN_DISK_FULL',
    text: 'the disk quota of this user is used up',
    remedy: 'Free some space or raise the quota, then start the crawl again: it goes on from its last commit.',
  },
  EROFS: {
    code: 'PORTOLAN_DISK_READ_ONLY',
    text: 'the file system is mounted read-only',
    remedy: 'Remount it writable (a disk with errors often goes read-only: look at the system log), then start the crawl again.',
  },
  EACCES: { code: 'PORTOLAN_DISK_READ_ONLY', text: 'permission denied', remedy: NOT_ALLOWED_REMEDY },
  EPERM: { code: 'PORTOLAN_DISK_READ_ONLY', text: 'operation not permitted', remedy: NOT_ALLOWED_REMEDY },
  EIO: {
    code: 'PORTOLAN_DISK_FAILED',
    text: 'input/output error of the device',
    remedy: 'The disk or its connection is failing: look at the system log, copy the output directory to a sound disk, start again there.',
  },
  EMFILE: {
    code: 'PORTOLAN_DISK_FAILED',
    text: 'this process has too many open files',
    remedy: 'Raise the limit of open files (ulimit -n) or lower the number of shards and connections.',
  },
  ENFILE: {
    code: 'PORTOLAN_DISK_FAILED',
    text: 'the system has too many open files',
    remedy: 'Raise the limit of open files of the system (fs.file-max).',
  },
  ENOENT: {
    code: 'PORTOLAN_DISK_FAILED',
    text: 'no such file or directory',
    remedy: 'A file of the crawl is missing: was the output directory moved or cleaned while the crawl ran?',
  },
  EFBIG: {
    code: 'PORTOLAN_DISK_FAILED',
    text: 'the file is larger than the file system or the limit of this process allows',
    remedy: 'Lower the segment size (output.segmentBytes) or raise the file size limit (ulimit -f).',
  },
  ENOTDIR: {
    code: 'PORTOLAN_DISK_FAILED',
    text: 'a part of the path is a file',
    remedy: 'Choose an output directory that is not below a file (--out).',
  },
};
