/**
 * The simulated machine's disk: files in memory that outlive processes, and what a power cut leaves of them.
 *
 * Each file knows how many of its bytes are durable and whether its name is. Appends land in the "page cache" at once; `sync` and `syncDir` make
 * them durable after a while. A killed process loses nothing of it. A power cut leaves the durable bytes and, of those beyond, nothing, a
 * part, or a part followed by zeros; files whose names were never synced may be gone; a cut or a removal that was not synced may be undone.
 * With `keepBytes` false the bytes of append-only output (WARC, pages, ledger) are counted and not kept: for long runs without kills.
 * Errors carry the codes that the real adapter gives them.
 */
import { PortolanError } from '../core/errors.ts';
import type { Disk, DiskFile } from '../ports/disk.ts';
import type { Faults } from './faults.ts';
import type { Incarnation } from './incarnation.ts';

const SYNC_MS = 4;
/** Zeros that a torn write may leave behind the bytes that arrived. */
const TORN_ZEROS_MAX = 512;
const FREE_BYTES = 2 ** 40;
const FIRST_BYTES = 1_024;
/** A low disk has space again after this. */
const LOW_MS = 20_000;

interface SimFile {
  bytes: Uint8Array;
  length: number;
  durable: number;
  isNameDurable: boolean;
  readonly isKept: boolean;
  /** What a cut took away and no sync has made final. */
  cutOff: Uint8Array | undefined;
  /** The file whose name it took; back after a power cut while its own name is not durable. */
  replaced: SimFile | undefined;
}

/** All files of one machine. */
export class SimMachineDisk {
  readonly #files = new Map<string, SimFile>();
  /** Removed, and the directory not yet synced. */
  readonly #removed = new Map<string, SimFile>();
  readonly #keepBytes: boolean;
  readonly #faults: Faults;
  /** Free space is under the reserve until this virtual time. */
  #lowUntilMs = 0;

  constructor(faults: Faults, keepBytes: boolean) {
    this.#faults = faults;
    this.#keepBytes = keepBytes;
  }

  /** What a process sees, below `root` ('' or a path that ends with '/'). */
  view(life: Incarnation, root: string): Disk {
    return new ProcessDisk(this, life, root, this.#faults);
  }

  find(path: string): SimFile | undefined {
    return this.#files.get(path);
  }

  create(path: string): SimFile {
    const isOutput = /^(?:warc|pages|ledger)\//.test(path);
    const file: SimFile = {
      bytes: new Uint8Array(0),
      length: 0,
      durable: 0,
      isNameDurable: false,
      isKept: this.#keepBytes || !isOutput,
      cutOff: undefined,
      replaced: undefined,
    };
    this.#files.set(path, file);
    return file;
  }

  put(path: string, file: SimFile): void {
    this.#files.set(path, file);
  }

  remove(path: string): void {
    const file = this.#files.get(path);
    if (file === undefined) return;
    this.#files.delete(path);
    if (file.isNameDurable) this.#removed.set(path, file);
  }

  forget(path: string): void {
    this.#files.delete(path);
  }

  /** Names directly below a directory (ends with '/', or '' for the root). */
  names(directory: string): string[] {
    const names: string[] = [];
    for (const path of this.#files.keys())
      if (path.startsWith(directory) && !path.slice(directory.length).includes('/')) names.push(path.slice(directory.length));
    return names.sort();
  }

  dirSynced(directory: string): void {
    for (const [path, file] of this.#files)
      if (path.startsWith(directory) && !path.slice(directory.length).includes('/')) nameIsDurable(file);
    for (const path of [...this.#removed.keys()])
      if (path.startsWith(directory) && !path.slice(directory.length).includes('/')) this.#removed.delete(path);
  }

  freeBytes(nowMs: number): number {
    if (nowMs >= this.#lowUntilMs && this.#faults.strikes('disk-low', this.#faults.options.diskLow)) this.#lowUntilMs = nowMs + LOW_MS;
    return nowMs < this.#lowUntilMs ? 0 : FREE_BYTES;
  }

  /** The power goes: only what is durable is sure to be there afterwards. */
  powerCut(): void {
    const { random } = this.#faults;
    for (const [path, file] of this.#removed) if (!this.#files.has(path) && random.int(2) === 0) this.#files.set(path, file);
    this.#removed.clear();
    for (const [path, file] of [...this.#files].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (!file.isNameDurable && random.int(2) === 0) {
        if (file.replaced === undefined) this.#files.delete(path);
        else this.#files.set(path, file.replaced);
        this.#faults.fired('lost-name');
        continue;
      }
      this.#tear(file);
      nameIsDurable(file);
    }
  }

  #tear(file: SimFile): void {
    const { random } = this.#faults;
    if (file.cutOff !== undefined && file.length === file.durable && random.int(2) === 0) {
      // The cut had not reached the disk.
      append(file, file.cutOff);
    }
    file.cutOff = undefined;
    const unsynced = file.length - file.durable;
    if (unsynced > 0) {
      const kept = random.int(3) === 0 ? 0 : random.int(unsynced + 1);
      this.#faults.fired(kept === 0 ? 'lost-unsynced' : 'torn-write');
      file.length = file.durable + kept;
      if (random.int(3) === 0) append(file, new Uint8Array(Math.min(unsynced - kept, random.int(TORN_ZEROS_MAX))));
    }
    file.durable = file.length;
  }

  /** Every file's name and length, sorted. */
  list(): { readonly path: string; readonly bytes: number }[] {
    return [...this.#files].map(([path, { length }]) => ({ path, bytes: length })).sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** The bytes of a file; empty when they are not kept. */
  read(path: string): Uint8Array {
    const file = this.#files.get(path);
    return file === undefined ? new Uint8Array(0) : file.bytes.subarray(0, file.isKept ? file.length : 0);
  }
}

function nameIsDurable(file: SimFile): void {
  file.isNameDurable = true;
  file.replaced = undefined;
}

function append(file: SimFile, bytes: Uint8Array): void {
  const length = file.length + bytes.length;
  if (file.isKept) {
    if (length > file.bytes.length) {
      const grown = new Uint8Array(Math.max(FIRST_BYTES, length, file.bytes.length * 2));
      grown.set(file.bytes.subarray(0, file.length));
      file.bytes = grown;
    }
    file.bytes.set(bytes, file.length);
  }
  file.length = length;
}

class ProcessDisk implements Disk {
  readonly #machine: SimMachineDisk;
  readonly #life: Incarnation;
  readonly #root: string;
  readonly #faults: Faults;

  constructor(machine: SimMachineDisk, life: Incarnation, root: string, faults: Faults) {
    this.#machine = machine;
    this.#life = life;
    this.#root = root;
    this.#faults = faults;
  }

  openAppend(path: string): DiskFile {
    const full = this.#full(path);
    let file = this.#machine.find(full);
    if (file === undefined) {
      file = this.#machine.create(full);
      this.#faults.nameGiven();
    }
    return new ProcessFile(path, file, this.#life, this.#faults);
  }

  openRead(path: string): DiskFile {
    return new ProcessFile(path, this.#must(path), this.#life, this.#faults);
  }

  exists(path: string): boolean {
    return this.#machine.find(this.#full(path)) !== undefined;
  }

  list(path: string): readonly string[] {
    return this.#machine.names(directoryOf(this.#full(path)));
  }

  size(path: string): number {
    return this.#must(path).length;
  }

  readWhole(path: string): Uint8Array {
    const file = this.#must(path);
    return file.bytes.slice(0, file.length);
  }

  /** As the real one: a draft beside it is written and synced, and renamed into place; then the name is synced. */
  async writeWhole(path: string, bytes: Uint8Array): Promise<void> {
    if (this.#faults.operation('write')) throw failure(path, 'write');
    await this.#sync(path, 'sync the draft of');
    if (this.#faults.operation('rename')) throw failure(path, 'rename into place');
    const full = this.#full(path);
    const replaced = this.#machine.find(full);
    const file = this.#machine.create(full);
    append(file, bytes);
    file.durable = file.length;
    // A name that was not durable itself has nothing to give back.
    file.replaced = replaced?.isNameDurable === true ? replaced : replaced?.replaced;
    await this.#sync(path, 'sync the directory of');
    nameIsDurable(file);
  }

  truncate(path: string, length: number): void {
    if (this.#faults.operation('cut')) throw failure(path, 'cut');
    const file = this.#must(path);
    if (length >= file.length) return;
    if (file.durable === file.length && file.isKept) file.cutOff = file.bytes.slice(length, file.length);
    file.length = length;
    file.durable = Math.min(file.durable, length);
  }

  rename(from: string, to: string): void {
    if (this.#faults.operation('rename')) throw failure(from, 'rename');
    const file = this.#must(from);
    this.#machine.forget(this.#full(from));
    file.isNameDurable = false;
    this.#machine.put(this.#full(to), file);
    this.#faults.nameGiven();
  }

  remove(path: string): void {
    if (this.#faults.operation('remove')) throw failure(path, 'remove');
    this.#machine.remove(this.#full(path));
  }

  async syncDir(path: string): Promise<void> {
    await this.#sync(path, 'sync the directory of');
    this.#machine.dirSynced(directoryOf(this.#full(path)));
  }

  async #sync(path: string, what: string): Promise<void> {
    const failing = this.#faults.operation('sync');
    await this.#life.wait(SYNC_MS + this.#faults.slowSyncMs(), () => (failing ? failure(path, what) : undefined));
  }

  freeBytes(): number {
    return this.#machine.freeBytes(this.#life.time.nowMs);
  }

  #full(path: string): string {
    return this.#root + path;
  }

  #must(path: string): SimFile {
    const file = this.#machine.find(this.#full(path));
    if (file === undefined) throw failure(path, 'find');
    return file;
  }
}

class ProcessFile implements DiskFile {
  readonly path: string;
  readonly #file: SimFile;
  readonly #life: Incarnation;
  readonly #faults: Faults;
  #isOpen = true;
  #syncFailed = false;

  constructor(path: string, file: SimFile, life: Incarnation, faults: Faults) {
    this.path = path;
    this.#file = file;
    this.#life = life;
    this.#faults = faults;
  }

  append(bytes: Uint8Array): void {
    if (!this.#isOpen) throw failure(this.path, 'write to closed');
    const { options } = this.#faults;
    const failing = this.#faults.operation('write') || this.#faults.strikes('append-failed', options.appendFailed);
    const full = !failing && this.#faults.strikes('disk-full', options.diskFull);
    if (!failing && !full) {
      append(this.#file, bytes);
      return;
    }
    append(this.#file, bytes.subarray(0, this.#faults.random.int(bytes.length + 1)));
    if (full) throw new PortolanError('PORTOLAN_DISK_FULL', `cannot write ${this.path}: no space left (simulated)`);
    throw failure(this.path, 'write');
  }

  readAt(into: Uint8Array, offset: number, length: number): number {
    const file = this.#file;
    const end = Math.min(offset + length, file.length);
    if (end <= offset) return 0;
    if (file.isKept) into.set(file.bytes.subarray(offset, end));
    return end - offset;
  }

  size(): number {
    return this.#file.length;
  }

  async sync(): Promise<void> {
    const file = this.#file;
    const { options } = this.#faults;
    const length = file.length;
    const slow = this.#faults.slowSyncMs();
    const failing = this.#faults.operation('sync') || this.#faults.strikes('sync-failed', options.syncFailed);
    await this.#life.wait(SYNC_MS + slow, () => {
      // A sync that failed once is never believed again, as in the real adapter.
      this.#syncFailed ||= failing;
      return this.#syncFailed ? failure(this.path, 'sync') : undefined;
    });
    file.durable = Math.max(file.durable, Math.min(length, file.length));
    file.cutOff = undefined;
  }

  close(): void {
    this.#isOpen = false;
  }
}

function failure(path: string, what: string): PortolanError {
  return new PortolanError('PORTOLAN_DISK_FAILED', `cannot ${what} ${path} (simulated)`);
}

/** '' or ends with '/'. */
function directoryOf(path: string): string {
  return path === '' || path.endsWith('/') ? path : `${path}/`;
}
