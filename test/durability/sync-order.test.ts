/**
 * The order in which a real run makes things durable, read from its system calls (strace): what a commit's marks speak of was synced before the first
 * byte of the commit was written; a commit is told only after its -wal was synced; a request leaves only after its start record was written.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, test } from 'node:test';
import { assertWhole, crawlToEnd, withoutStrace, withSmallWeb } from './small-crawl.ts';

interface Call {
  readonly name: string;
  /** Path of the file behind the first argument, or what strace calls it. */
  readonly file: string;
  /** The string argument with its escapes, '' when there is none. */
  readonly data: string;
}

interface Step {
  readonly kind: 'enter' | 'leave';
  readonly call: Call;
  /** Of a call that has ended. */
  readonly result: number;
}

/** The lines of `strace -f -y` in their order: each call is entered and left, with other threads' calls in between. */
function* stepsOf(trace: string): Iterable<Step> {
  const open = new Map<string, Call>();
  for (const line of trace.split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>.*= (-?\d+)/.exec(rest);
    if (resumed !== null) {
      const call = open.get(thread);
      open.delete(thread);
      if (call !== undefined) yield { kind: 'leave', call, result: Number(resumed[1]) };
      continue;
    }
    const entered =
      /^(\w+)\(\d+<([^>]*)>(?:, "((?:[^"\\]|\\.)*)")?/.exec(rest) ?? /^(\w+)\(\d+<([^>]*)>, \[\{iov_base="((?:[^"\\]|\\.)*)"/.exec(rest);
    if (entered === null) continue;
    const call = { name: entered[1] ?? '', file: entered[2] ?? '', data: entered[3] ?? '' };
    yield { kind: 'enter', call, result: 0 };
    const ended = / = (-?\d+)(?: |$)/.exec(rest.slice(rest.lastIndexOf(')')));
    if (rest.includes('<unfinished ...>')) open.set(thread, call);
    else if (ended !== null) yield { kind: 'leave', call, result: Number(ended[1]) };
  }
}

interface FileState {
  written: number;
  synced: number;
  /** `written` when the sync in flight was entered. */
  syncing: number[];
}

interface Findings {
  readonly problems: string[];
  commits: number;
  marks: number;
  told: number;
  requests: number;
}

/** Follows the steps of one run whose directory is `out`. */
function follow(trace: string, out: string): Findings {
  const findings: Findings = { problems: [], commits: 0, marks: 0, told: 0, requests: 0 };
  const files = new Map<string, FileState>();
  const walDirty = new Map<string, boolean>();
  const walSyncs = new Map<string, number>();
  const told = new Map<string, number>();
  let ledger = '';
  const stateOf = (file: string): FileState => {
    const state = files.get(file) ?? { written: 0, synced: 0, syncing: [] };
    files.set(file, state);
    return state;
  };
  for (const { kind, call, result } of stepsOf(trace)) {
    const file = call.file.startsWith('/') ? relative(out, call.file) : call.file;
    const isOutput = /^(warc|pages|ledger)\//.test(file);
    const isWal = file.endsWith('-wal');
    if (isOutput && call.name === 'write' && kind === 'leave') stateOf(file).written += result;
    if (file.startsWith('ledger/') && call.name === 'write' && kind === 'enter') ledger += call.data;
    if (isOutput && call.name === 'fdatasync') {
      const state = stateOf(file);
      if (kind === 'enter') state.syncing.push(state.written);
      else if (result === 0) state.synced = Math.max(state.synced, state.syncing.shift() ?? 0);
    }
    if (isWal && call.name === 'pwrite64' && kind === 'enter') {
      if (walDirty.get(file) !== true) findings.commits++;
      walDirty.set(file, true);
      for (const [, name = '', length = ''] of call.data.matchAll(/\\"name\\":\\"([^"\\]+)\\",\\"length\\":(\d+)/g)) {
        findings.marks++;
        const { synced, written } = stateOf(name);
        if (Number(length) > synced)
          findings.problems.push(`${file} speaks of ${length} bytes of ${name}, ${synced} of ${written} are synced`);
      }
    }
    if (isWal && call.name === 'fdatasync' && kind === 'leave' && result === 0) {
      walDirty.set(file, false);
      walSyncs.set(file, (walSyncs.get(file) ?? 0) + 1);
    }
    if (call.name === 'write' && kind === 'enter' && call.data.includes('\\"event\\":\\"commit\\"')) {
      for (const [, shard = ''] of call.data.matchAll(/\\"event\\":\\"commit\\",\\"shard\\":(\d+)/g)) {
        findings.told++;
        told.set(shard, (told.get(shard) ?? 0) + 1);
        const syncs = walSyncs.get(`state/shard-${shard}/state.db-wal`) ?? 0;
        if (syncs < told.get(shard)!)
          findings.problems.push(`commit ${told.get(shard)} of shard ${shard} is told after ${syncs} syncs of its -wal`);
      }
    }
    if (kind === 'enter' && call.data.startsWith('GET ')) {
      findings.requests++;
      const path = call.data.slice(4, call.data.indexOf(' ', 4));
      const host = /[Hh]ost: ([^\\]+)/.exec(call.data)?.[1] ?? '';
      if (!ledger.includes(host + textPrefix(path) + path)) findings.problems.push(`GET ${host}${path} leaves before its start record`);
    }
  }
  return findings;
}

/** A path stands in the ledger behind its length in two bytes, which strace writes as an octal escape or a sign. */
function textPrefix(path: string): string {
  const low = path.length;
  const named: Readonly<Record<number, string>> = { 9: '\\t', 10: '\\n', 11: '\\v', 12: '\\f', 13: '\\r' };
  return `${named[low] ?? (low < 32 ? `\\${low.toString(8)}` : String.fromCharCode(low))}\\0`;
}

const skip = await withoutStrace();

describe('the order of a commit', { skip }, () => {
  test('R-L1 R-C8 files are synced before the commit that names them, a commit before it is told, a start record is written before its request', async () => {
    await withSmallWeb({ hosts: 4, pages: 14, net: 150 }, async (web, dir) => {
      const out = join(dir, 'out');
      const trace = join(dir, 'trace');
      const strace = ['strace', '-f', '-y', '-s', '65536', '-o', trace, '-e', 'trace=write,writev,pwrite64,fsync,fdatasync,sendto,sendmsg'];
      const config = join(dir, 'config.json');
      writeFileSync(config, JSON.stringify({ run: { commitInterval: '200ms' }, output: { warcSize: 8_000 } }));
      const run = await crawlToEnd(web, out, ['--config', config], strace);
      assert.equal(run.code, 0, run.stderr);
      const findings = follow(readFileSync(trace, 'latin1'), out);
      assert.deepEqual(findings.problems.slice(0, 5), []);
      assert.ok(findings.commits >= 8, `only ${findings.commits} commits were seen`);
      assert.ok(findings.marks >= 3 * 4, `only ${findings.marks} marks were seen`);
      assert.ok(findings.told >= 8, `only ${findings.told} commits were told`);
      assert.ok(findings.requests >= web.expected.length + 4, `only ${findings.requests} requests were seen`);
      await assertWhole(web, out);
    });
  });

  test('the check itself finds a commit that came before the sync, and a request before its record', () => {
    const wal = '7 pwrite64(9</o/state/shard-0/state.db-wal>, "{\\"warc\\":{\\"name\\":\\"warc/a\\",\\"length\\":5}", 4096, 0) = 4096';
    const good = ['7 write(8</o/warc/a>, "12345", 5) = 5', '8 fdatasync(8</o/warc/a>) = 0', wal].join('\n');
    const bad = [
      '7 write(8</o/warc/a>, "12345", 5) = 5',
      '8 fdatasync(8</o/warc/a> <unfinished ...>',
      wal,
      '8 <... fdatasync resumed>) = 0',
    ].join('\n');
    const written = [
      '8 fdatasync(8</o/warc/a> <unfinished ...>',
      '7 write(8</o/warc/a>, "12345", 5) = 5',
      '8 <... fdatasync resumed>) = 0',
      wal,
    ].join('\n');
    const early = '7 write(20<socket:[1]>, "GET /p/1 HTTP/1.1\\r\\nhost: a:1\\r\\n", 30) = 30';
    assert.deepEqual(follow(good, '/o').problems, []);
    assert.equal(follow(bad, '/o').problems.length, 1);
    assert.equal(follow(written, '/o').problems.length, 1);
    assert.equal(follow(early, '/o').problems.length, 1);
  });
});
