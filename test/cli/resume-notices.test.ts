/** A crawl that goes on says so, and names seeds that only join it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { capture, portolan, start } from '../support/process.ts';

test('a second run says what the directory holds, and which seed is new to it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-resume-'));
  const server = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<title>one</title>'));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const run = async (seed: string) => {
    const { command, args } = portolan('crawl', seed, '--out', join(dir, 'out'), '--allow-net', '127.0.0.0/8', '--delay', '10ms');
    const running = start(command, [...args, '--resolve', 'a.test:127.0.0.1', '--resolve', 'b.test:127.0.0.1']);
    assert.equal((await running.ended).code, 0, running.complaints());
    return running.complaints();
  };
  try {
    const first = await run(`http://a.test:${port}/`);
    assert.doesNotMatch(first, /goes on/);
    const second = await run(`http://a.test:${port}/`);
    assert.match(second, /out holds a crawl, which goes on: fetched 1, waiting 0/);
    assert.doesNotMatch(second, /new to it/);
    const third = await run(`http://b.test:${port}/`);
    assert.match(third, new RegExp(`new to it: http://b\\.test:${port}/; a crawl of its own wants another directory, with --out`));
  } finally {
    server.close();
    rmSync(dir, { recursive: true, force: true });
  }
});

test('who was refused and has allowed the range since is told how to go on, and that way works', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-resume-'));
  const server = createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<title>one</title>'));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const out = join(dir, 'out');
  const run = async (...words: readonly string[]) => {
    const { command, args } = portolan(...words);
    const { code, stdout, stderr } = await capture(command, args);
    assert.equal(code, 0, stderr);
    return `${stdout}\n${stderr}`;
  };
  const crawl = ['crawl', `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, '--out', out, '--delay', '10ms'];
  try {
    const first = await run(...crawl);
    assert.match(first, /allow it with --allow-net/);
    assert.doesNotMatch(first, /portolan retry/);
    const second = await run(...crawl, '--allow-net', '127.0.0.0/8');
    const told = /1 dropped as forbidden-address before; when their range is allowed now: portolan (.*)/.exec(second);
    assert.deepEqual(told?.[1]?.trim().split(' '), ['retry', out, '--reason', 'forbidden-address'], second);
    await run(...(told?.[1]?.trim().split(' ') ?? []));
    assert.match(await run(...crawl, '--allow-net', '127.0.0.0/8'), /finished: 1 page from 1 host/);
    assert.doesNotMatch(await run(...crawl, '--allow-net', '127.0.0.0/8'), /forbidden-address/);
  } finally {
    server.close();
    rmSync(dir, { recursive: true, force: true });
  }
});
