/**
 * `portolan verify` held against the server's own access log of the same crawl: the ledger says of every request what the server saw, and what verify
 * concludes of pauses is what the log shows. And what a user sees of it: exit codes, records, the report for a webmaster.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { LedgerEnd, LedgerStart } from '../../src/output/politeness-ledger.ts';
import type { HostReport } from '../../src/verify/host-report.ts';
import { type Access, CLOCK_SLACK_MS } from '../support/access-log.ts';
import { capture, portolan } from '../support/process.ts';
import { assertVerified, verified } from '../support/verified.ts';
import { page, redirect, unavailable, type WebServer } from '../support/web-server.ts';
import { crawl, readLedger, scratch, webFor } from './crawl.ts';

interface Exchange {
  readonly start: LedgerStart;
  readonly end: LedgerEnd | undefined;
}

function exchangesOf(out: string): readonly Exchange[] {
  const ends = new Map<string, LedgerEnd>();
  const starts: { key: string; start: LedgerStart }[] = [];
  let shard = 0;
  for (const record of readLedger(out)) {
    if (record.kind === 'header') shard = record.shard;
    if (record.kind === 'start') starts.push({ key: `${shard}/${record.lease}`, start: record });
    if (record.kind === 'end') ends.set(`${shard}/${record.lease}`, record);
  }
  return starts.map(({ key, start }) => ({ start, end: ends.get(key) })).sort((a, b) => a.start.monoMs - b.start.monoMs);
}

describe('R-C8: verify and the server’s access log of the same crawl', () => {
  const cleanups: (() => unknown)[] = [];
  const t = { after: (fn: () => unknown) => void cleanups.push(fn) };
  let web: WebServer;
  let out: string;
  const DELAY_MS = 120;
  const many = Array.from({ length: 6 }, (_, n) => `/p${n}`);

  before(async () => {
    out = join(scratch(t), 'out');
    const address = '127.41.1.1';
    web = await webFor(
      t,
      { name: 'plain.test', address, page: (request) => page(request.path, request.path === '/' ? many : []) },
      { name: 'shared.test', address, delayMs: 15, page: (request) => page(request.path, request.path === '/' ? many : []) },
      {
        name: 'told.test',
        address: '127.41.1.2',
        robots: 'User-agent: *\nDisallow: /closed\nCrawl-delay: 0.3\n',
        page: (request) => page(request.path, request.path === '/' ? ['/a', '/closed/b', '/c'] : []),
      },
      {
        name: 'busy.test',
        address: '127.41.1.3',
        page: (request) => (request.nth === 1 ? unavailable('1') : page(request.path)),
      },
      {
        name: 'moved.test',
        address: '127.41.1.4',
        robots: ({ authority }) => redirect(`http://told.test:${authority.split(':')[1]}/robots.txt`),
        page: () => page('moved'),
      },
      {
        name: 'broken.test',
        address: '127.41.1.5',
        page: (request) => (request.path === '/' ? page('b', ['/reset']) : { fault: { kind: 'reset' } }),
      },
    );
    const names = ['plain', 'shared', 'told', 'busy', 'moved', 'broken'];
    await crawl({
      web,
      out,
      seeds: names.map((name) => `${web.origin(`${name}.test`)}/`),
      config: { politeness: { delay: DELAY_MS, addressDelay: 60, delayFactor: 3, delayFactorMax: 400 }, fetch: { attempts: 2 } },
    });
    await web.idle();
  });
  after(async () => {
    for (const clean of cleanups.reverse()) await clean();
  });

  test('every request that the server saw is in the ledger, once, with its status, and within its times', () => {
    const left = [...web.log.entries()];
    for (const { start, end } of exchangesOf(out)) {
      const at = left.findIndex((access) => access.host === start.hostKey && access.path === start.path);
      assert.notEqual(at, -1, `${start.hostKey}${start.path} was not seen by the server`);
      const [access] = left.splice(at, 1) as [Access];
      assert.ok(end !== undefined, `${start.path} has an end`);
      assert.equal(end.status, access.status, start.path);
      assert.equal(access.address, `${start.address}:${web.port}`);
      assert.ok(
        access.startMs >= start.epochMs - CLOCK_SLACK_MS,
        `${start.path} was seen ${start.epochMs - access.startMs} ms before its start`,
      );
      // A reset is found gone by the server after the crawler has seen it.
      if (end.status !== 0) assert.ok(access.endMs <= start.epochMs + end.durationMs + CLOCK_SLACK_MS, `${start.path} ended after its end`);
    }
    assert.deepEqual(
      left.map(({ host, path }) => host + path),
      [],
      'seen by the server, not in the ledger',
    );
  });

  test('verify finds nothing, and the log shows no pause that is shorter than what verify has required', async () => {
    const report = await assertVerified(out);
    assert.equal(report.requests, web.log.entries().length);
    assert.deepEqual(report.undecidable, {});
    for (const host of web.log.hosts()) {
      web.log.assertNoOverlap(host);
      web.log.assertGap(host, DELAY_MS);
    }
    web.log.assertAddressGap(`127.41.1.1:${web.port}`, 60);
    web.log.assertGap(`told.test:${web.port}`, 300);
  });

  test('the report about one host tells what its log tells', async () => {
    const host = `told.test:${web.port}`;
    const { command, args } = portolan('verify', out, '--host', 'told.test', '--json');
    const report = JSON.parse((await capture(command, args)).stdout) as HostReport;
    const own = web.log.entries(host);
    assert.deepEqual(report.hostKeys, [host]);
    assert.equal(report.requests, own.length);
    assert.deepEqual(
      report.latest.map(({ path, status }) => `${status} ${path}`),
      own.map(({ path, status }) => `${status} ${path}`),
    );
    const pauses = web.log.pauses('host', host).map(({ ms }) => ms);
    assert.ok(
      report.pauses.minMs >= 298 && report.pauses.minMs <= Math.min(...pauses) + 2 * CLOCK_SLACK_MS,
      JSON.stringify({ ...report.pauses, pauses }),
    );
    assert.equal(report.pauses.count, pauses.length);
    assert.equal(report.robots[0]?.state, 'rules');
    const text = portolan('verify', out, '--host', host);
    const told = (await capture(text.command, text.args)).stdout;
    for (const words of ['Never two requests at once', 'its rules were followed', '/robots.txt', 'found no request'])
      assert.ok(told.includes(words), told);
  });

  test('a ledger that was touched afterwards, a directory without one, a host never asked: each ends with its own code', async () => {
    const run = async (...words: readonly string[]) => {
      const { command, args } = portolan('verify', ...words);
      return capture(command, args);
    };
    assert.equal((await run(join(out, 'pages'))).code, 3);
    assert.match((await run(join(out, 'nowhere'))).stderr, /PORTOLAN_STATE_MISSING/);
    assert.equal((await run(out, '--host', 'other.test')).code, 2);
    const file = join(out, 'ledger', readdirSync(join(out, 'ledger')).sort()[0]!);
    const whole = readFileSync(file);
    writeFileSync(file, whole.subarray(0, -10));
    assert.deepEqual((await verified(out)).violations, { 'evidence-missing': 1 });
    const { code, stdout } = await run(out);
    assert.equal(code, 6);
    assert.match(stdout, /evidence-missing 1: bytes of the ledger are missing or changed\n.*records: ledger\//s);
    writeFileSync(file, whole);
  });
});
