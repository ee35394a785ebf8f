import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { openDisk } from '../../../src/adapters/file/disk.ts';
import { PortolanError } from '../../../src/core/errors.ts';

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

function newRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'portolan-disk-'));
  roots.push(root);
  return root;
}

test('opening creates the root and its parents, appending creates the directories of a file', async () => {
  const root = join(newRoot(), 'a', 'b');
  const disk = openDisk(root);
  const file = disk.openAppend('c/d/file');
  file.append(Buffer.from('one '));
  file.append(Buffer.from('two'));
  await file.sync();
  assert.equal(readFileSync(join(root, 'c/d/file'), 'utf8'), 'one two');
  assert.equal(file.size(), 7);
  file.close();
});

test('an append is with the operating system when it returns: it survives SIGKILL', () => {
  const root = newRoot();
  const module = new URL('../../../src/adapters/file/disk.ts', import.meta.url).href;
  const script = `import { openDisk } from ${JSON.stringify(module)};
    openDisk(process.argv[1]).openAppend('file').append(Buffer.from('written'));
    process.kill(process.pid, 'SIGKILL');`;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script, root]);
  assert.equal(child.signal, 'SIGKILL');
  assert.equal(readFileSync(join(root, 'file'), 'utf8'), 'written');
});

test('appending goes to the end after a reopen, and after a cut', () => {
  const disk = openDisk(newRoot());
  for (const text of ['abc', 'def']) {
    const file = disk.openAppend('file');
    file.append(Buffer.from(text));
    file.close();
  }
  disk.truncate('file', 4);
  const file = disk.openAppend('file');
  file.append(Buffer.from('X'));
  const into = new Uint8Array(10);
  assert.equal(file.readAt(into, 1, 10), 4);
  assert.equal(Buffer.from(into.subarray(0, 4)).toString(), 'bcdX');
  assert.equal(file.readAt(into, 5, 10), 0);
  file.close();
});

test('names are listed sorted, a missing directory is empty, removing what is not there is no error', () => {
  const disk = openDisk(newRoot());
  for (const name of ['d/b', 'd/a', 'd/c']) disk.openAppend(name).close();
  assert.deepEqual(disk.list('d'), ['a', 'b', 'c']);
  assert.deepEqual(disk.list('nothing'), []);
  disk.remove('d/b');
  disk.remove('d/b');
  disk.rename('d/a', 'd/z');
  assert.deepEqual(disk.list('d'), ['c', 'z']);
  assert.equal(disk.exists('d/z'), true);
  assert.equal(disk.exists('d/a'), false);
});

test('a whole file is replaced as one, and leaves no draft behind', async () => {
  const root = newRoot();
  const disk = openDisk(root);
  await disk.writeWhole('d/file', Buffer.from('old and longer'));
  await disk.writeWhole('d/file', Buffer.from('new'));
  assert.equal(Buffer.from(disk.readWhole('d/file')).toString(), 'new');
  assert.equal(disk.size('d/file'), 3);
  assert.deepEqual(readdirSync(join(root, 'd')), ['file']);
});

test('a path that leaves the root is refused before anything is touched', async () => {
  const disk = openDisk(newRoot());
  for (const path of ['../x', 'a/../../x', '/etc/x', 'a\0b']) {
    assert.throws(() => disk.openAppend(path), PortolanError);
    assert.throws(() => disk.remove(path), PortolanError);
    await assert.rejects(disk.writeWhole(path, new Uint8Array()), PortolanError);
  }
});

test('closing is idempotent, and waits for a sync in flight', async () => {
  const disk = openDisk(newRoot());
  const file = disk.openAppend('file');
  file.append(Buffer.from('x'));
  const syncs = [file.sync(), file.sync()];
  file.close();
  file.close();
  const others = Array.from({ length: 20 }, (_, i) => disk.openAppend(`other-${i}`)); // would take the number of a descriptor closed too early
  await Promise.all(syncs);
  for (const other of others) other.append(Buffer.from('y'));
  for (const other of others) other.close();
  assert.throws(() => file.append(Buffer.from('z')), PortolanError);
  await assert.rejects(file.sync(), PortolanError);
});

test('free bytes are those of the file system of the root', () => {
  assert.ok(openDisk(newRoot()).freeBytes() > 0);
});

test('a full disk is PORTOLAN_DISK_FULL, with the file, the cause and what to do', {
  skip: !existsSync('/dev/full') && 'no /dev/full here',
}, () => {
  const file = openDisk('/dev').openAppend('full');
  assert.throws(
    () => file.append(Buffer.from('x')),
    (error) => {
      assert.ok(error instanceof PortolanError);
      assert.equal(error.code, 'PORTOLAN_DISK_FULL');
      assert.equal(error.message, 'cannot append to full: no space left on the file system (ENOSPC)');
      assert.match(error.remedy, /Free some space/);
      assert.equal((error.cause as NodeJS.ErrnoException).code, 'ENOSPC');
      return true;
    },
  );
  file.close();
});

test('a file whose sync failed fails every later sync with the same error', {
  skip: !existsSync('/dev/full') && 'no /dev/full here',
}, async () => {
  const file = openDisk('/dev').openAppend('full'); // a character device refuses fdatasync: EINVAL
  const first = await file.sync().then(
    () => assert.fail('a device cannot be synced'),
    (error: unknown) => error,
  );
  assert.ok(first instanceof PortolanError);
  assert.equal(first.code, 'PORTOLAN_DISK_FAILED');
  await assert.rejects(file.sync(), (error) => error === first);
  file.close();
});

test('a directory without write permission is PORTOLAN_DISK_READ_ONLY', () => {
  const root = newRoot();
  chmodSync(root, 0o555);
  const module = new URL('../../../src/adapters/file/disk.ts', import.meta.url).href;
  const script = `import { openDisk } from ${JSON.stringify(module)};
    if (process.getuid() === 0) process.seteuid(65534);
    try { openDisk(process.argv[1]).openAppend('file'); } catch (error) { console.log(error.code, error.message); }`;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', script, root], { encoding: 'utf8' });
  assert.equal(child.stdout, 'PORTOLAN_DISK_READ_ONLY cannot open file: permission denied (EACCES)\n', child.stderr);
});

test('what is not there and what is in the way are PORTOLAN_DISK_FAILED', async () => {
  const root = newRoot();
  const disk = openDisk(root);
  writeFileSync(join(root, 'file'), 'x');
  assert.throws(() => disk.openRead('nothing'), { code: 'PORTOLAN_DISK_FAILED', message: /nothing.*ENOENT/ });
  assert.throws(() => disk.size('nothing'), { code: 'PORTOLAN_DISK_FAILED' });
  assert.throws(() => disk.openAppend('file/below'), { code: 'PORTOLAN_DISK_FAILED' });
  await assert.rejects(disk.syncDir('nothing'), { code: 'PORTOLAN_DISK_FAILED' });
});
