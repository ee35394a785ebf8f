/** What only the SQLite adapter can be asked: real kills, real faults of the disk, real locks. The rest is its contract suite. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSqliteStore } from '../../../src/adapters/sqlite/shard-store.ts';
import { batch, chunk, entry, host } from '../../contract/batches.ts';
import { capture, start } from '../../support/process.ts';
import { seeded } from '../../support/seeded.ts';
import { assertPrefix, historyBatch } from './history.ts';

const COMMITTER = fileURLToPath(new URL('./committer.ts', import.meta.url));
const OPTIONS = { cacheBytes: 1_048_576 };

async function withDirectory(body: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-sqlite-'));
  try {
    await body(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** A small file system in memory, or undefined where this user may not mount one. */
function mountSmall(dir: string, size: string): { readonly readOnly: () => void; readonly unmount: () => void } | undefined {
  mkdirSync(dir, { recursive: true });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  return {
    readOnly: () => execFileSync('mount', ['-o', 'remount,ro', dir], { stdio: 'ignore' }),
    unmount: () => execFileSync('umount', ['-l', dir], { stdio: 'ignore' }),
  };
}

function skipLoudly(t: TestContext, why: string): void {
  t.diagnostic(`SKIPPED, so this promise was not checked here: ${why}`);
  t.skip(why);
}

function hasStrace(): boolean {
  try {
    execFileSync('strace', ['-o', '/dev/null', '-e', 'inject=fdatasync:error=EIO:when=1', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

test('R-L1 a new database is empty whatever a crash or a lost database has left beside its place, and it is in its place when it is whole', () =>
  withDirectory(async (dir) => {
    const file = join(dir, 'state.db');
    const lost = createSqliteStore({ file, ...OPTIONS });
    assert.equal(lost.open(0).isNew, true);
    await lost.commit(batch(1, { hosts: [host(1)] }));
    const log = readFileSync(`${file}-wal`);
    lost.close();
    rmSync(file);
    writeFileSync(`${file}-wal`, log);
    for (const end of ['', '-wal', '-journal']) writeFileSync(`${file}.new${end}`, 'half a database');
    const store = createSqliteStore({ file, ...OPTIONS });
    const { commitSeq, isNew } = store.open(0);
    assert.deepEqual({ commitSeq, isNew }, { commitSeq: 0, isNew: true });
    assert.deepEqual(
      readdirSync(dir).filter((name) => name.includes('.new')),
      [],
    );
    await store.commit(batch(1, { hosts: [host(1)] }));
    store.close();
    const again = createSqliteStore({ file, ...OPTIONS });
    assert.equal(again.open(0).commitSeq, 1);
    again.close();
  }));

test('R-L1 after kill -9 in mid-commit, 20 times on one file, the state is a prefix and holds all that was called durable', () =>
  withDirectory(async (dir) => {
    const file = join(dir, 'state.db');
    const random = seeded(20_260_405);
    let stored = 0;
    let unclosed = 0;
    for (let kill = 0; kill < 20; kill++) {
      let durable = stored;
      let killed = false;
      const after = 1 + random.int(4);
      const running = start(process.execPath, [COMMITTER, file, '100000'], {
        onLine: (line) => {
          const [word, number] = line.split(' ');
          if (word === 'opened') assert.equal(Number(number), stored, 'it goes on from the state that was found');
          if (word !== 'durable') return;
          durable = Number(number);
          if (killed || durable < stored + after) return;
          killed = true;
          // Commits follow one another without pause, so any instant from here on lies in one.
          setTimeout(() => running.killGroup(), random.int(12));
        },
      });
      const end = await running.ended;
      assert.equal(end.signal, 'SIGKILL', running.complaints());
      if (existsSync(`${file}-wal`)) unclosed++;
      const found = assertPrefix(file);
      assert.ok(found >= durable, `commit ${durable} was durable, ${found} is there`);
      stored = found;
    }
    assert.ok(stored >= 20);
    assert.equal(unclosed, 20, 'no run ended by itself');
  }));

describe('when the disk fails', () => {
  test('R-L1 whichever sync of the log fails, its commit is rejected, the store is closed, and the state is a prefix', (t) =>
    withDirectory(async (dir) => {
      if (!hasStrace()) return skipLoudly(t, 'strace is not there or may not trace');
      for (let nth = 1; ; nth++) {
        assert.ok(nth < 12, 'a run without fault is reached');
        const file = join(dir, `${nth}.db`);
        const trace = ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=fdatasync', '-e', `inject=fdatasync:error=EIO:when=${nth}`];
        const { stdout, stderr } = await capture('strace', [...trace, process.execPath, COMMITTER, file, '4']);
        const lines = stdout.split('\n');
        const durable = lines.filter((line) => line.startsWith('durable')).length;
        assert.ok(assertPrefix(file) >= durable);
        if (durable === 4) break;
        assert.equal(durable, nth - 1, `${stdout}\n${stderr}`);
        assert.deepEqual(lines.slice(-2), ['rejected PORTOLAN_STORE_COMMIT_FAILED', 'again PORTOLAN_STORE_COMMIT_FAILED']);
      }
    }));

  test('R-L1 a failing write within a commit rejects it and leaves a prefix, whichever write it is', (t) =>
    withDirectory(async (dir) => {
      if (!hasStrace()) return skipLoudly(t, 'strace is not there or may not trace');
      // The first writes make the database and the rest belong to commits; where one ends and the other begins is SQLite's business.
      let rejected = 0;
      for (let nth = 50; nth <= 210; nth += 20) {
        const file = join(dir, `${nth}.db`);
        const trace = ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=pwrite64', '-e', `inject=pwrite64:error=EIO:when=${nth}`];
        const { stdout } = await capture('strace', [...trace, process.execPath, COMMITTER, file, '6']);
        if (!stdout.includes('opened 0')) continue;
        const durable = stdout.split('\n').filter((line) => line.startsWith('durable')).length;
        if (durable < 6) {
          assert.match(stdout, /rejected PORTOLAN_STORE_COMMIT_FAILED\nagain PORTOLAN_STORE_COMMIT_FAILED/);
          rejected++;
        }
        assert.equal(assertPrefix(file), durable);
      }
      assert.ok(rejected >= 3, `${rejected} of the faults met a commit`);
    }));

  test('R-L1 a commit is called durable only after the log was synced behind its last write', (t) =>
    withDirectory(async (dir) => {
      if (!hasStrace()) return skipLoudly(t, 'strace is not there or may not trace');
      const log = join(dir, 'trace');
      await capture('strace', [
        '-f',
        '-qq',
        '-y',
        '-o',
        log,
        '-e',
        'trace=pwrite64,fdatasync,write',
        process.execPath,
        COMMITTER,
        join(dir, 'state.db'),
        '5',
      ]);
      let unsynced = 0;
      let durable = 0;
      for (const line of readFileSync(log, 'utf8').split('\n')) {
        if (/pwrite64\(\d+<[^>]*state\.db-wal>/.test(line)) unsynced++;
        if (/fdatasync\(\d+<[^>]*state\.db-wal>/.test(line)) unsynced = 0;
        if (!/write\(1<.*"durable /.test(line)) continue;
        durable++;
        assert.equal(unsynced, 0, line);
      }
      assert.equal(durable, 5);
    }));

  test('R-L1 what a process that died has left in the log is written again and synced before anybody is told of it', (t) =>
    withDirectory(async (dir) => {
      if (!hasStrace()) return skipLoudly(t, 'strace is not there or may not trace');
      const [file, left, log] = ['state.db', 'left.db', 'trace'].map((name) => join(dir, name)) as [string, string, string];
      const store = createSqliteStore({ file, ...OPTIONS });
      store.open(0);
      for (let seq = 1; seq <= 3; seq++) await store.commit(historyBatch(seq));
      for (const end of ['', '-wal']) copyFileSync(file + end, left + end);
      store.close();
      const bytes = readFileSync(`${left}-wal`).length;
      const trace = ['-f', '-qq', '-y', '-o', log, '-e', 'trace=pwrite64,fsync,write'];
      const { stdout } = await capture('strace', [...trace, process.execPath, COMMITTER, left, '1']);
      assert.equal(stdout.trim(), 'opened 3\ndurable 4');
      let written = 0;
      let synced = 0;
      for (const line of readFileSync(log, 'utf8').split('\n')) {
        if (/write\(1<.*"opened /.test(line)) break;
        if (/pwrite64\(\d+<[^>]*left\.db-wal>/.test(line)) written += Number(/ = (\d+)$/.exec(line)?.[1]);
        if (/fsync\(\d+<[^>]*left\.db-wal>\) += 0/.test(line)) synced = written;
      }
      assert.ok(bytes > 0 && synced >= bytes, `${synced} of ${bytes} bytes`);
      assert.equal(assertPrefix(left), 4);
    }));

  test('R-L1 a full disk rejects the commit by its name, and with space again the crawl goes on from the last one', (t) =>
    withDirectory(async (dir) => {
      const small = join(dir, 'small');
      const mounted = mountSmall(small, '3m');
      if (mounted === undefined) return skipLoudly(t, 'this user may not mount a tmpfs');
      try {
        const file = join(small, 'state.db');
        const filler = join(small, 'filler');
        writeFileSync(filler, Buffer.alloc(1_500_000));
        const store = createSqliteStore({ file, ...OPTIONS });
        store.open(0);
        let durable = 0;
        await assert.rejects(
          async () => {
            for (;;) {
              await store.commit(historyBatch(durable + 1));
              durable++;
            }
          },
          { code: 'PORTOLAN_DISK_FULL' },
        );
        await assert.rejects(store.commit(historyBatch(durable + 1)), { code: 'PORTOLAN_STORE_COMMIT_FAILED' });
        store.close();
        assert.ok(durable > 3, `${durable} commits found room`);
        rmSync(filler);
        assert.equal(assertPrefix(file), durable);
        const again = createSqliteStore({ file, ...OPTIONS });
        again.open(0);
        await again.commit(historyBatch(durable + 1));
        again.close();
        assert.equal(assertPrefix(file), durable + 1);
      } finally {
        mounted.unmount();
      }
    }));

  test('R-L1 a disk that is full from the start is named when the state is opened', (t) =>
    withDirectory(async (dir) => {
      const small = join(dir, 'small');
      const mounted = mountSmall(small, '64k');
      if (mounted === undefined) return skipLoudly(t, 'this user may not mount a tmpfs');
      try {
        try {
          writeFileSync(join(small, 'filler'), Buffer.alloc(65_536));
        } catch {
          // full is what it should be
        }
        assert.throws(() => createSqliteStore({ file: join(small, 'state.db'), ...OPTIONS }).open(0), { code: 'PORTOLAN_DISK_FULL' });
      } finally {
        mounted.unmount();
      }
    }));

  test('a read-only file system is named when the state is opened', (t) =>
    withDirectory(async (dir) => {
      const small = join(dir, 'small');
      const mounted = mountSmall(small, '4m');
      if (mounted === undefined) return skipLoudly(t, 'this user may not mount a tmpfs');
      try {
        const file = join(small, 'state.db');
        const store = createSqliteStore({ file, ...OPTIONS });
        store.open(0);
        await store.commit(historyBatch(1));
        store.close();
        mounted.readOnly();
        assert.throws(() => createSqliteStore({ file, ...OPTIONS }).open(0), { code: 'PORTOLAN_DISK_READ_ONLY' });
      } finally {
        mounted.unmount();
      }
    }));

  test('a directory without the right to write is named when the state is opened', (t) =>
    withDirectory(async (dir) => {
      if (process.getuid?.() === 0) return skipLoudly(t, 'root may write everywhere');
      chmodSync(dir, 0o500);
      try {
        assert.throws(() => createSqliteStore({ file: join(dir, 'state.db'), ...OPTIONS }).open(0), { code: 'PORTOLAN_DISK_READ_ONLY' });
      } finally {
        chmodSync(dir, 0o700);
      }
    }));

  for (const [what, damage] of [
    [
      'is no database',
      (file: string) => writeFileSync(file, 'this is a text, and long enough to be taken for a header by nobody'.repeat(100)),
    ],
    [
      'is empty where its tables should be',
      (file: string) => writeFileSync(file, Buffer.concat([readFileSync(file).subarray(0, 100), Buffer.alloc(8_192)])),
    ],
  ] as const) {
    test(`R-L1 a file that ${what} is called damaged`, () =>
      withDirectory(async (dir) => {
        const file = join(dir, 'state.db');
        const store = createSqliteStore({ file, ...OPTIONS });
        store.open(0);
        store.close();
        damage(file);
        assert.throws(() => createSqliteStore({ file, ...OPTIONS }).open(0), { code: 'PORTOLAN_STATE_DAMAGED' });
      }));
  }
});

describe('beside a running crawl', () => {
  test('R-N1 a reader sees the last commit, and cannot write', () =>
    withDirectory(async (dir) => {
      const file = join(dir, 'state.db');
      const store = createSqliteStore({ file, ...OPTIONS });
      store.open(0);
      await store.commit(batch(1, { hosts: [host(1)] }));
      const reader = createSqliteStore({ file, ...OPTIONS, readOnly: true });
      assert.equal(reader.open(0).totals, 'totals 1');
      await store.commit(batch(2, { hosts: [host(2)] }));
      assert.equal(reader.readHost(2)?.key, 'h2.example', 'reads are not frozen at the opening');
      await assert.rejects(reader.commit(batch(2)), { code: 'PORTOLAN_DISK_READ_ONLY' });
      reader.close();
      await store.commit(batch(3));
      store.close();
      assert.throws(() => createSqliteStore({ file: join(dir, 'none.db'), ...OPTIONS, readOnly: true }).open(0), { name: 'PortolanError' });
    }));

  test('R-L1 closing while a commit is being synced lets the commit end, and keeps no descriptor', () =>
    withDirectory(async (dir) => {
      const file = join(dir, 'state.db');
      const openFiles = (): number => readdirSync('/proc/self/fd').filter((fd) => linkOf(fd).startsWith(dir)).length;
      const store = createSqliteStore({ file, ...OPTIONS });
      store.open(0);
      const pending = store.commit(historyBatch(1));
      store.close();
      await pending;
      if (existsSync('/proc/self/fd')) assert.equal(openFiles(), 0);
      assert.equal(assertPrefix(file), 1);
    }));
});

function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return '';
  }
}

test('R-B8 hosts and chunk numbers at the end of their ranges keep apart', () =>
  withDirectory(async (dir) => {
    const store = createSqliteStore({ file: join(dir, 'state.db'), ...OPTIONS });
    store.open(0);
    const last = 2 ** 22 - 1;
    await store.commit(
      batch(1, { chunks: [chunk(2 ** 28 - 1, 5, last, [entry(1)]), chunk(1, 0, last, [entry(2)]), chunk(1, 1, 1, [entry(3)])] }),
    );
    await store.commit(batch(2, { chunksDone: [{ hostId: 1, level: 0, fromSeq: 1, belowSeq: last + 1 }] }));
    assert.equal(store.readChunk(1, 0, last), undefined);
    assert.notEqual(store.readChunk(1, 1, 1), undefined);
    assert.notEqual(store.readChunk(2 ** 28 - 1, 5, last), undefined);
    store.close();
  }));
