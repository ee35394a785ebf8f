/** Exports that are ended in their middle, as real processes: what is left on disk, what is said, and that the same command again gives the whole. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { parquetMetadata } from 'hyparquet';
import { capture, portolan, type RunningProcess, start } from '../support/process.ts';
import { page } from '../support/web-server.ts';
import { crawl, scratch, webFor } from './crawl.ts';

const PAGES = 8;
/** Links of a page: several row groups in all, so that there is a middle. */
const LINKS = 10_000;
const ROWS = PAGES * LINKS + PAGES - 1;
const HANGS_MS = 90_000;

interface Crawled {
  readonly dir: string;
  readonly out: string;
}

async function crawled(t: TestContext): Promise<Crawled> {
  const dir = scratch(t);
  const out = join(dir, 'out');
  const web = await webFor(t, {
    name: 'many.test',
    address: '127.0.0.1',
    page: ({ path }) => {
      const n = Number(path.slice(2));
      const far = Array.from({ length: LINKS }, (_, at) => `http://far.example/${n}/${at}`);
      return page(`page ${n}`, n + 1 < PAGES ? [`/p${n + 1}`, ...far] : far);
    },
  });
  await crawl({ web, out, seeds: [`${web.origin('many.test')}/p0`], config: { politeness: { delay: 1 }, fetch: { maxLinks: 1 } } });
  return { dir, out };
}

const files = (dir: string, file: string): string[] => readdirSync(dir).filter((name) => name.startsWith(basename(file)));

/** An export of which a part is on disk and a part is not. */
async function exportInItsMiddle({ dir, out }: Crawled, file: string): Promise<RunningProcess> {
  const { command, args } = portolan('export', out, '--what', 'links', '--out', file);
  const running = start(command, args);
  const part = join(dir, `${basename(file)}.portolan-${hostname()}-${running.pid}.part`);
  for (const until = Date.now() + HANGS_MS; Date.now() < until; await wait(5)) {
    if ((statSync(part, { throwIfNoEntry: false })?.size ?? 0) > 0) return running;
  }
  running.killGroup();
  throw new Error(`nothing was written: ${running.complaints()}`);
}

/** Rows by the footer, which a reader looks at first. Throws when the file is not whole. */
function rowsOf(file: string): number {
  const { buffer, byteOffset, byteLength } = readFileSync(file);
  return Number(parquetMetadata(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer).num_rows);
}

test('exports that are ended before their end', { concurrency: false }, async (t) => {
  const web = await crawled(t);
  await t.test('R-J2 ended in its middle, Parquet leaves what was there before, and the same command again gives the whole', () =>
    parquet(web),
  );
  await t.test('an interrupt is heard while nothing is written yet', () => withoutRows(web));
  await t.test('a part on standard output is told of', () => standardOutput(web));
});

async function parquet(web: Crawled): Promise<void> {
  const file = join(web.dir, 'links.parquet');
  writeFileSync(file, 'an older one');

  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    const running = await exportInItsMiddle(web, file);
    running.signal(name);
    const { code, signal } = await running.ended;
    assert.deepEqual([code, signal, running.complaints()], [130, null, `interrupted: ${file} was not written\n`], name);
    assert.deepEqual(files(web.dir, file), ['links.parquet'], name);
    assert.equal(readFileSync(file, 'utf8'), 'an older one', name);
  }

  const killed = await exportInItsMiddle(web, file);
  killed.killGroup();
  assert.equal((await killed.ended).signal, 'SIGKILL');
  const part = `links.parquet.portolan-${hostname()}-${killed.pid}.part`;
  assert.deepEqual(files(web.dir, file), ['links.parquet', part]);
  assert.equal(readFileSync(file, 'utf8'), 'an older one');
  assert.throws(() => rowsOf(join(web.dir, part)), /footer/);
  // That of a process that is there is somebody's work: this test's own.
  writeFileSync(join(web.dir, `links.parquet.portolan-${hostname()}-${process.pid}.part`), 'not finished');

  const { command, args } = portolan('export', web.out, '--what', 'links', '--out', file);
  const { code, stderr } = await capture(command, args);
  assert.equal(code, 0, stderr);
  assert.deepEqual(files(web.dir, file), ['links.parquet', `links.parquet.portolan-${hostname()}-${process.pid}.part`]);
  assert.equal(rowsOf(file), ROWS);
}

/** All pages are read before the first row of this table. */
async function withoutRows(web: Crawled): Promise<void> {
  const file = join(web.dir, 'hosts.jsonl');
  const { command, args } = portolan('export', web.out, '--what', 'host-links', '--out', file);
  const running = start(command, args);
  for (const until = Date.now() + HANGS_MS; files(web.dir, file).length === 0 && Date.now() < until; ) await wait(1);
  running.signal('SIGTERM');
  const { code } = await running.ended;
  assert.deepEqual([code, running.complaints(), files(web.dir, file)], [130, `interrupted: ${file} was not written\n`, []]);
}

async function standardOutput(web: Crawled): Promise<void> {
  const { command, args } = portolan('export', web.out, '--what', 'links');
  let lines = 0;
  const running: RunningProcess = start(command, args, {
    onLine: () => {
      if (lines++ === 0) running.signal('SIGINT');
    },
  });
  const { code } = await running.ended;
  assert.deepEqual([code, running.complaints()], [130, 'interrupted: what was written to standard output is not the whole\n']);
  assert.ok(lines > 0 && lines < ROWS, `${lines} lines`);
}
