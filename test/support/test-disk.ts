/** A Disk over real files below a directory, for tests. Minimal: no mapping of errors to codes, which the real adapter has. */
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Disk, DiskFile } from '../../src/ports/disk.ts';

export class TestDisk implements Disk {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  /** A disk in a new temporary directory, and how to remove it. */
  static temporary(): { readonly disk: TestDisk; readonly remove: () => void } {
    const root = fs.mkdtempSync(join(tmpdir(), 'portolan-test-'));
    return { disk: new TestDisk(root), remove: () => fs.rmSync(root, { recursive: true, force: true }) };
  }

  openAppend(path: string): DiskFile {
    fs.mkdirSync(dirname(this.#at(path)), { recursive: true });
    return new TestDiskFile(path, fs.openSync(this.#at(path), 'a+'));
  }

  openRead(path: string): DiskFile {
    return new TestDiskFile(path, fs.openSync(this.#at(path), 'r'));
  }

  exists(path: string): boolean {
    return fs.existsSync(this.#at(path));
  }

  list(path: string): readonly string[] {
    return this.exists(path) ? fs.readdirSync(this.#at(path)).sort() : [];
  }

  size(path: string): number {
    return fs.statSync(this.#at(path)).size;
  }

  readWhole(path: string): Uint8Array {
    return fs.readFileSync(this.#at(path));
  }

  async writeWhole(path: string, bytes: Uint8Array): Promise<void> {
    const draft = `${path}.draft`;
    this.remove(draft);
    const file = this.openAppend(draft);
    file.append(bytes);
    await file.sync();
    file.close();
    this.rename(draft, path);
    await this.syncDir(dirname(path));
  }

  truncate(path: string, length: number): void {
    fs.truncateSync(this.#at(path), length);
  }

  rename(from: string, to: string): void {
    fs.renameSync(this.#at(from), this.#at(to));
  }

  remove(path: string): void {
    fs.rmSync(this.#at(path), { force: true });
  }

  async syncDir(path: string): Promise<void> {
    const handle = await fs.promises.open(this.#at(path), 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  freeBytes(): number {
    const stats = fs.statfsSync(this.root);
    return stats.bavail * stats.bsize;
  }

  #at(path: string): string {
    return join(this.root, path);
  }
}

class TestDiskFile implements DiskFile {
  readonly path: string;
  #fd: number | undefined;

  constructor(path: string, fd: number) {
    this.path = path;
    this.#fd = fd;
  }

  append(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) at += fs.writeSync(this.#open(), bytes, at, bytes.length - at);
  }

  readAt(into: Uint8Array, offset: number, length: number): number {
    return fs.readSync(this.#open(), into, 0, length, offset);
  }

  size(): number {
    return fs.fstatSync(this.#open()).size;
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => fs.fdatasync(this.#open(), (error) => (error === null ? resolve() : reject(error))));
  }

  close(): void {
    if (this.#fd !== undefined) fs.closeSync(this.#fd);
    this.#fd = undefined;
  }

  #open(): number {
    if (this.#fd === undefined) throw new Error(`${this.path} is closed`);
    return this.#fd;
  }
}
