import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { lockCrawl } from '../../../src/adapters/sqlite/crawl-lock.ts';
import { capture, type RunningProcess, start } from '../../support/process.ts';

const HOLDER = fileURLToPath(new URL('./holder.ts', import.meta.url));

async function withLockFile(body: (file: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-lock-'));
  try {
    await body(join(dir, 'state', 'lock.db'));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function hold(file: string): Promise<RunningProcess> {
  const { promise, resolve, reject } = Promise.withResolvers<RunningProcess>();
  const running = start(process.execPath, [HOLDER, file], {
    onLine: (line) => (line === 'held' ? resolve(running) : reject(new Error(line))),
  });
  running.ended.then(() => reject(new Error(running.complaints())), reject);
  return promise;
}

test('R-L1 a second process on one crawl directory is told so, and the first goes on', () =>
  withLockFile(async (file) => {
    const first = await hold(file);
    try {
      assert.throws(() => lockCrawl(file), { code: 'PORTOLAN_STATE_LOCKED' });
      assert.equal((await capture(process.execPath, [HOLDER, file])).stdout, 'PORTOLAN_STATE_LOCKED');
      assert.throws(() => lockCrawl(file), { code: 'PORTOLAN_STATE_LOCKED' }, 'the refusals did not loosen it');
    } finally {
      first.killGroup();
      await first.ended;
    }
  }));

test('R-L1 R-L2 the lock of a process that was killed is free', () =>
  withLockFile(async (file) => {
    const first = await hold(file);
    first.killGroup();
    await first.ended;
    const unlock = lockCrawl(file);
    unlock();
  }));

test('R-L2 a lock that was let go can be taken again, and letting go twice is letting go once', () =>
  withLockFile(async (file) => {
    const unlock = lockCrawl(file);
    unlock();
    unlock();
    const again = await hold(file);
    again.killGroup();
    await again.ended;
  }));

test('a path that cannot be a directory is no lock', () =>
  withLockFile(async (file) => {
    const dir = join(file, '..', '..');
    writeFileSync(join(dir, 'state'), 'a file in the way');
    assert.throws(() => lockCrawl(file), { code: 'PORTOLAN_DISK_READ_ONLY' });
  }));
