/**
 * Exports held against other people's readers: Parquet against DuckDB, WACZ against py-wacz, CDXJ against cdxj-indexer. The tools are installed by
 * scripts/install-python-tools.sh; without them these promises are skipped, said loudly, and never in CI.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cdxj } from '../../src/cli/cdxj.ts';
import { exportTable, TABLE_NAMES } from '../../src/cli/export/export.ts';
import { wacz } from '../../src/cli/wacz.ts';
import { capture } from '../support/process.ts';
import { page } from '../support/web-server.ts';
import { crawl, scratch, webFor } from './crawl.ts';

const TOOLS = fileURLToPath(new URL('../../.python/bin/', import.meta.url));
const READ = `
import duckdb, json, sys
print(json.dumps([duckdb.sql(sql).fetchall() for sql in json.load(open(sys.argv[1]))], default=str))
`;

const COMPARED = {
  pages: 'url, host, status, via',
  urls: 'url, state, outcome',
  text: 'url, title, text',
  links: '"from", "to", text, nofollow',
};

/** True when the tool is missing and this is not CI; the test is then skipped. */
function isMissing(t: TestContext, tool: string): boolean {
  if (existsSync(join(TOOLS, tool))) return false;
  assert.equal(process.env['CI'], undefined, `${tool} is missing: scripts/install-python-tools.sh`);
  t.diagnostic(`SKIPPED, so this promise was not checked here: ${tool} is missing; scripts/install-python-tools.sh installs it`);
  t.skip(`${tool} is missing`);
  return true;
}

async function tool(name: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await capture(join(TOOLS, name), args);
  assert.equal(code, 0, `${name}: ${stdout} ${stderr}`);
  return stdout;
}

async function crawled(t: TestContext): Promise<{ readonly dir: string; readonly out: string; readonly origin: string }> {
  const dir = scratch(t);
  const out = join(dir, 'out');
  const words = Array.from({ length: 90 }, (_, n) => `Wörter${n % 7} ${String.fromCharCode(97 + (n % 26))}`).join(' ');
  const web = await webFor(t, {
    name: 'www.one.test',
    address: '127.0.0.1',
    robots: 'User-agent: *\nDisallow: /no/\n',
    page: ({ path }) => {
      if (path === '/')
        return page('Anfang "1"', [
          '/a/?b=2&a=1',
          '/Copy',
          '/copy',
          '/no/x',
          '/lost',
          '/x%20y',
          '/?PHPSESSID=0123456789abcdef0123456789abcdef',
          ...numbers,
        ]);
      if (path === '/lost') return undefined;
      return page(/copy/i.test(path) ? 'copy' : path, ['/'], words);
    },
  });
  await crawl({ web, out, seeds: [`${web.origin('www.one.test')}/`], config: { output: { warcSize: 20_000 }, politeness: { delay: 1 } } });
  return { dir, out, origin: web.origin('www.one.test') };
}

const numbers = Array.from({ length: 60 }, (_, n) => `/page-${n}.html`);

test('R-J2 DuckDB reads every table that is exported as Parquet, value for value', async (t) => {
  if (isMissing(t, 'python')) return;
  const { dir, out, origin } = await crawled(t);
  const file = (what: string, format: string) => join(dir, `${what}.${format}`);
  for (const what of TABLE_NAMES) {
    for (const format of ['parquet', 'jsonl', 'csv']) assert.equal(await exportTable(out, { what, out: file(what, format) }), 0);
  }
  const queries = TABLE_NAMES.map((what) => `SELECT count(*) FROM '${file(what, 'parquet')}'`);
  // What DuckDB reads from JSONL and what it reads from Parquet: no row of either is missing in the other.
  for (const [what, columns] of Object.entries(COMPARED)) {
    const rows = (format: string) => `SELECT ${columns} FROM '${file(what, format)}'`;
    queries.push(`SELECT count(*) FROM (${rows('parquet')} EXCEPT ALL ${rows('jsonl')})`);
  }
  queries.push(`SELECT url, status, fetchedAt FROM '${file('pages', 'parquet')}' WHERE url = '${origin}/'`);
  queries.push(`SELECT count(*) FROM read_csv('${file('text', 'csv')}', all_varchar = true)`);
  const list = join(dir, 'queries.json');
  writeFileSync(list, JSON.stringify(queries));
  const answers = JSON.parse(await tool('python', '-c', READ, list)) as (readonly (readonly unknown[])[])[];
  const counts = TABLE_NAMES.map((what) => readFileSync(file(what, 'jsonl'), 'utf8').split('\n').length - 1);
  assert.deepEqual(
    answers.slice(0, TABLE_NAMES.length).map((rows) => rows[0]?.[0]),
    counts,
  );
  assert.ok(counts[0]! > 60);
  for (const rows of answers.slice(TABLE_NAMES.length, -2)) assert.deepEqual(rows, [[0]]);
  const [first] = answers.at(-2)!;
  assert.deepEqual(first?.slice(0, 2), [`${origin}/`, 200]);
  assert.match(String(first?.[2]), /^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\.\d+$/);
  assert.equal(answers.at(-1)?.[0]?.[0], counts[TABLE_NAMES.indexOf('text')]);
});

test('R-J1 py-wacz finds a WACZ file valid', async (t) => {
  if (isMissing(t, 'wacz')) return;
  const { dir, out } = await crawled(t);
  const file = join(dir, 'crawl.wacz');
  assert.equal(await wacz(out, { out: file, title: 'Über ein Netz' }), 0);
  const said = await tool('wacz', 'validate', '-f', file);
  assert.match(said, /Validation succeeded, the passed WACZ is valid/);
});

test('R-J1 the CDXJ index is the one that cdxj-indexer makes', async (t) => {
  if (isMissing(t, 'cdxj-indexer')) return;
  const { out } = await crawled(t);
  assert.equal(await cdxj(out, {}), 0);
  const parsed = (text: string) =>
    text
      .trimEnd()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(' {')), JSON.parse(line.slice(line.indexOf('{'))) as unknown]);
  const files = readdirSync(join(out, 'warc')).filter((name) => name.endsWith('.warc.gz'));
  assert.ok(files.length > 1, 'several files');
  const theirs = await tool('cdxj-indexer', '--sort', ...files.map((name) => join(out, 'warc', name)));
  assert.deepEqual(parsed(readFileSync(join(out, 'warc', 'index.cdxj'), 'utf8')), parsed(theirs));
});
