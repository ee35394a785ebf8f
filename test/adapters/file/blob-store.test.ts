import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { createFileBlobStore } from '../../../src/adapters/file/blob-store.ts';
import { openDisk } from '../../../src/adapters/file/disk.ts';
import { PortolanError } from '../../../src/core/errors.ts';
import type { BlobStore } from '../../../src/ports/blob-store.ts';
import type { Disk } from '../../../src/ports/disk.ts';

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

function newDisk(): Disk {
  const root = mkdtempSync(join(tmpdir(), 'portolan-blobs-'));
  roots.push(root);
  return openDisk(root);
}

const text = (store: BlobStore, name: string): string => Buffer.from(store.read(name, 0, 1_000)).toString();

test('bytes stand in the order of append, across a reopen', async () => {
  const store = createFileBlobStore(newDisk(), 'out');
  for (const part of ['one ', 'two ', 'three']) {
    const writer = store.open('d/blob');
    writer.append(Buffer.from(part));
    await writer.sync();
    writer.close();
  }
  assert.equal(text(store, 'd/blob'), 'one two three');
  assert.equal(store.length('d/blob'), 13);
  assert.equal(Buffer.from(store.read('d/blob', 4, 3)).toString(), 'two');
  assert.equal(store.read('d/blob', 20, 3).length, 0);
});

test('a cut removes what lies beyond, and what is appended then follows it', () => {
  const store = createFileBlobStore(newDisk(), '');
  const writer = store.open('blob');
  writer.append(Buffer.from('keep lose'));
  writer.close();
  store.cut('blob', 5);
  const again = store.open('blob');
  assert.equal(again.length(), 5);
  again.append(Buffer.from('new'));
  assert.equal(again.length(), 8);
  again.close();
  assert.equal(text(store, 'blob'), 'keep new');
  assert.throws(() => store.cut('blob', 9), PortolanError);
});

test('what does not exist has no length, and removing it is no error', () => {
  const store = createFileBlobStore(newDisk(), '');
  assert.equal(store.length('nothing'), undefined);
  store.remove('nothing');
  store.open('blob').close();
  assert.equal(store.length('blob'), 0);
  store.remove('blob');
  assert.equal(store.length('blob'), undefined);
});

test('a prefix lists the objects that begin with it, sorted', () => {
  const store = createFileBlobStore(newDisk(), 'out');
  for (const name of ['warc/a-2', 'warc/a-1', 'warc/b-1', 'pages/a-1', 'top']) store.open(name).close();
  assert.deepEqual(store.list('warc/a-'), ['warc/a-1', 'warc/a-2']);
  assert.deepEqual(store.list('warc/'), ['warc/a-1', 'warc/a-2', 'warc/b-1']);
  assert.deepEqual(store.list('to'), ['top']);
  assert.deepEqual(store.list('none/x'), []);
});

test('the first sync makes the name durable, with every directory above it; later ones only the bytes', async () => {
  const disk = newDisk();
  const synced: string[] = [];
  const watching = new Proxy(disk, {
    get(target, key) {
      if (key === 'syncDir')
        return (path: string) => {
          synced.push(path);
          return target.syncDir(path);
        };
      const value = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const writer = createFileBlobStore(watching, 'out').open('warc/blob');
  writer.append(Buffer.from('x'));
  await writer.sync();
  assert.deepEqual(synced, ['out/warc', 'out', '']);
  writer.append(Buffer.from('y'));
  await writer.sync();
  assert.equal(synced.length, 3);
  writer.close();
});
