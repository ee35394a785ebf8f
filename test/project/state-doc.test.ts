/** docs/STATE.md against a real crawl directory: its files, each table and column, and its queries, which must run and find what the crawl has done. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { capture, portolan } from '../support/process.ts';
import { notFound, page, startWebServer, type WebServer } from '../support/web-server.ts';
import { read, section, tableRows } from './source.ts';

const DOC = read('docs/STATE.md');
const LONG = Array.from({ length: 120 }, (_, n) => `word${String.fromCharCode(97 + (n % 26), 97 + ((n * 7) % 26))}`).join(' ');

type Rows = readonly Readonly<Record<string, unknown>>[];

describe('a crawl directory is what docs/STATE.md says', () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-state-'));
  const out = join(dir, 'out');
  let web: WebServer;

  before(async () => {
    web = await startWebServer({
      hosts: [
        {
          name: 'one.test',
          address: '127.0.0.1',
          robots: 'User-agent: *\nDisallow: /private/\n',
          page: ({ path }) => {
            if (path === '/') return page('home', ['/a', '/copy', '/gone', '/private/x']);
            return path === '/a' || path === '/copy' ? page('a', ['/'], LONG) : notFound();
          },
        },
      ],
    });
    const flags = '--delay 5ms --delay-factor 0 --allow-net 127.0.0.0/8 --quiet'.split(' ');
    const { command, args } = portolan('crawl', web.origin('one.test'), '--out', out, '--resolve', 'one.test:127.0.0.1', ...flags);
    const end = await capture(command, args);
    assert.equal(end.code, 0, end.stderr);
  });
  after(async () => {
    await web.close();
    rmSync(dir, { recursive: true, force: true });
  });

  /** Rows of one statement over the databases of all shards. */
  function query(sql: string): Rows {
    return databases().flatMap((file) => {
      const db = new Database(file, { readonly: true });
      try {
        return db.prepare(sql).all() as Rows;
      } finally {
        db.close();
      }
    });
  }

  function databases(): string[] {
    return readdirSync(join(out, 'state'))
      .filter((name) => name.startsWith('shard-'))
      .map((name) => join(out, 'state', name, 'state.db'));
  }

  test('R-J2 each table and column is documented, and none other', () => {
    const db = new Database(databases()[0]!, { readonly: true });
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all() as {
      name: string;
    }[];
    const documented = [...section(DOC, '## Tables').matchAll(/^### (\w+)$/gm)].map(([, name = '']) => name);
    assert.deepEqual(documented.sort(), tables.map(({ name }) => name).sort());
    for (const table of documented) {
      const columns = (db.prepare(`SELECT name FROM pragma_table_xinfo('${table}')`).all() as { name: string }[]).map(({ name }) => name);
      const told = tableRows(section(DOC, `### ${table}`)).map(([column]) => column);
      assert.deepEqual(told, columns, table);
    }
    db.close();
  });

  test('each row of meta is documented', () => {
    const text = section(DOC, '### meta');
    for (const { key } of query('SELECT key FROM meta')) assert.ok(text.includes(`\`${key}\``), String(key));
  });

  test('each file is documented', () => {
    const patterns = tableRows(DOC)
      .map(([path = '']) => path)
      .filter((path) => path.includes('/') || /\.(?:json|html)$/.test(path))
      .map(
        (path) =>
          new RegExp(
            `^${path
              .replace(/ \(.*\)$/, '')
              .replaceAll('.', '\\.')
              .replace(/<\w+>/g, '[\\w.]+')
              .replace(/\/$/, '/.+')}(?:-wal|-shm)?$`,
          ),
      );
    const found = readdirSync(out, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(out.length + 1));
    assert.ok(found.length > 8);
    for (const file of found)
      assert.ok(
        patterns.some((pattern) => pattern.test(file)),
        file,
      );
  });

  test('its ten queries answer for a real crawl', () => {
    const queries = [...section(DOC, '## Ten queries').matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = '']) =>
      sql.replace('http://one.test/a', `${web.origin('one.test')}/a`),
    );
    assert.equal(queries.length, 10);
    const [outcomes, fates, law, held, failing, broken, one, copies, stored, robots] = queries.map(query) as [
      Rows,
      Rows,
      Rows,
      Rows,
      Rows,
      Rows,
      Rows,
      Rows,
      Rows,
      Rows,
    ];
    assert.deepEqual(Object.fromEntries(outcomes.map(({ outcome, urls }) => [outcome, urls])), { ok: 3, 'not-found': 1 });
    assert.deepEqual(
      fates.map(({ reason, urls }) => [reason, urls]),
      [['robots-disallowed', 1]],
    );
    assert.deepEqual([...law, ...held, ...failing], []);
    assert.deepEqual(
      broken.map(({ status, url, via }) => [status, url, via]),
      [[404, `${web.origin('one.test')}/gone`, `${web.origin('one.test')}/`]],
    );
    assert.equal(one[0]?.['outcome'], 'ok');
    assert.deepEqual(
      copies.map(({ duplicate_kind }) => duplicate_kind),
      ['exact'],
    );
    assert.equal(stored.length, 3);
    assert.equal(robots[0]?.['text'], 'User-agent: *\nDisallow: /private/\n');
  });

  test('the lines of pages.jsonl have documented keys alone', () => {
    const doc = read('docs/PAGES-JSONL.md');
    const known = { fetched: keysOf(doc, '## Fetched'), dropped: keysOf(doc, '## Dropped') };
    const lines = readdirSync(join(out, 'pages')).flatMap((name) =>
      readFileSync(join(out, 'pages', name), 'utf8')
        .trimEnd()
        .split('\n'),
    );
    assert.equal(lines.length, 5);
    for (const line of lines) {
      const record = JSON.parse(line) as Record<string, unknown>;
      const keys = record['outcome'] === 'dropped' ? known.dropped : known.fetched;
      for (const key of Object.keys(record)) assert.ok(keys.has(key), `${key} in ${line}`);
    }
  });
});

function keysOf(doc: string, heading: string): Set<string> {
  return new Set(tableRows(section(doc, heading)).map(([key = '']) => key));
}
