/** A seed that cannot be reached is said at once, not when its host is given up after minutes. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { portolan, start } from '../support/process.ts';

/** A port of loopback at which nobody listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}

test('a seed that nobody answers is said with the time of the next try, and the run can be stopped meanwhile', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-unreached-'));
  try {
    const host = `127.0.0.1:${await closedPort()}`;
    const { command, args } = portolan('crawl', host, '--out', join(dir, 'out'), '--allow-net', '127.0.0.0/8');
    const running = start(command, args);
    const said = new RegExp(`^portolan: ${host} cannot be reached \\(connect-failed\\); the next try is in \\d+ s$`, 'm');
    while (!said.test(running.complaints())) {
      const ended = await Promise.race([running.ended, new Promise<undefined>((later) => setTimeout(() => later(undefined), 50))]);
      assert.equal(ended, undefined, running.complaints());
    }
    running.signal('SIGINT');
    assert.equal((await running.ended).code, 130, running.complaints());
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
