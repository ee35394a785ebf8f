/**
 * BlobStore over a Disk: each object is a file below one directory, '/' in a name is a subdirectory.
 *
 * Invariant: after `sync` resolves the bytes are durable and so is the name: the first sync of a writer also syncs every directory from the
 * object's own up to the root of the disk, since opening may have created any of them.
 * `append` writes to the file at once (no buffer here; SegmentWriter batches). `list` names the objects of one directory and does not go
 * into subdirectories: `list('warc/a-')` are the files of warc/ that begin with 'a-'.
 */
import { assert } from '../../core/errors.ts';
import type { BlobStore, BlobWriter } from '../../ports/blob-store.ts';
import type { Disk, DiskFile } from '../../ports/disk.ts';

/** Objects below `dir` of `disk` ('' = its root). The disk is borrowed. Throws PORTOLAN_DISK_* from every call. */
export function createFileBlobStore(disk: Disk, dir: string): BlobStore {
  return new FileBlobStore(disk, dir === '' ? '' : `${dir}/`);
}

class FileBlobStore implements BlobStore {
  readonly #disk: Disk;
  readonly #base: string;

  constructor(disk: Disk, base: string) {
    this.#disk = disk;
    this.#base = base;
  }

  open(name: string): BlobWriter {
    return new FileBlobWriter(this.#disk, name, this.#disk.openAppend(this.#base + name));
  }

  length(name: string): number | undefined {
    const path = this.#base + name;
    return this.#disk.exists(path) ? this.#disk.size(path) : undefined;
  }

  cut(name: string, length: number): void {
    const path = this.#base + name;
    assert(length <= this.#disk.size(path), `${name} is not shorter than what it is cut to`);
    this.#disk.truncate(path, length);
  }

  remove(name: string): void {
    this.#disk.remove(this.#base + name);
  }

  list(prefix: string): readonly string[] {
    const directory = prefix.slice(0, prefix.lastIndexOf('/') + 1);
    const path = (this.#base + directory).replace(/\/$/, '');
    const names: string[] = [];
    for (const file of this.#disk.list(path)) {
      if ((directory + file).startsWith(prefix)) names.push(directory + file);
    }
    return names;
  }

  read(name: string, offset: number, length: number): Uint8Array {
    const file = this.#disk.openRead(this.#base + name);
    try {
      const into = new Uint8Array(length);
      return into.subarray(0, file.readAt(into, offset, length));
    } finally {
      file.close();
    }
  }
}

class FileBlobWriter implements BlobWriter {
  readonly name: string;
  readonly #disk: Disk;
  readonly #file: DiskFile;
  #length: number;
  #namesDurable: Promise<void> | undefined;

  constructor(disk: Disk, name: string, file: DiskFile) {
    this.name = name;
    this.#disk = disk;
    this.#file = file;
    this.#length = file.size();
  }

  length(): number {
    return this.#length;
  }

  append(bytes: Uint8Array): void {
    try {
      this.#file.append(bytes);
      this.#length += bytes.length;
    } catch (error) {
      this.#length = this.#file.size(); // a part of them may have arrived
      throw error;
    }
  }

  async sync(): Promise<void> {
    this.#namesDurable ??= syncDirectoriesAbove(this.#disk, this.#file.path);
    await Promise.all([this.#file.sync(), this.#namesDurable]);
  }

  close(): void {
    this.#file.close();
  }
}

async function syncDirectoriesAbove(disk: Disk, path: string): Promise<void> {
  let end = path.length;
  do {
    end = path.lastIndexOf('/', end - 1);
    await disk.syncDir(end < 0 ? '' : path.slice(0, end));
  } while (end >= 0);
}
