/** docs/REPORT.md against what a crawl writes: every constraint, every event with its fields, every field of report.json, and none that there is not. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CONSTRAINTS } from '../../src/engine/binding-constraint.ts';
import { SERIES_COLUMNS } from '../../src/engine/series.ts';
import { capture, portolan } from '../support/process.ts';
import { page, startWebServer, type WebServer } from '../support/web-server.ts';
import { read, section, tableRows } from './source.ts';

const DOC = read('docs/REPORT.md');

type Fields = Readonly<Record<string, unknown>>;

/** Names in the first column of the tables under a heading. */
function told(heading: string): string[] {
  return tableRows(section(DOC, heading)).flatMap(([name = '']) => name.match(/[\w.-]+/g) ?? []);
}

describe('docs/REPORT.md', () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-report-doc-'));
  const out = join(dir, 'out');
  let web: WebServer;
  let events: readonly Fields[];
  let report: Fields;

  before(async () => {
    web = await startWebServer({
      hosts: [{ name: 'one.test', address: '127.0.0.1', page: ({ path }) => (path === '/' ? page('home', ['/a', '/b']) : page(path, [])) }],
    });
    const flags = '--delay 5ms --delay-factor 0 --allow-net 127.0.0.0/8 --json'.split(' ');
    const { command, args } = portolan('crawl', web.origin('one.test'), '--out', out, '--resolve', 'one.test:127.0.0.1', ...flags);
    const end = await capture(command, args);
    assert.equal(end.code, 0, end.stderr);
    events = end.stdout.split('\n').map((line) => JSON.parse(line) as Fields);
    report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')) as Fields;
  });
  after(async () => {
    await web.close();
    rmSync(dir, { recursive: true, force: true });
  });

  test('each constraint has its row', () => {
    assert.deepEqual(told('### What limits it').sort(), [...CONSTRAINTS].sort());
  });

  test('each event is one object with name and time, and its fields are documented', () => {
    const rows = new Map(tableRows(section(DOC, '## Events')).map(([name = '', , fields = '']) => [name, fields]));
    for (const event of events) {
      const { event: name, atMs, ...fields } = event;
      assert.ok(Number(atMs) > 1_600_000_000_000, String(name));
      assert.ok(rows.has(String(name)), `event ${String(name)}`);
      if (name === 'progress' || name === 'end') continue;
      assert.deepEqual(
        [...(rows.get(String(name)) ?? '').matchAll(/(?:^|, )(\w+)/g)].map(([, field]) => field),
        Object.keys(fields),
        String(name),
      );
    }
    assert.equal(events.at(-1)?.['event'], 'end');
  });

  test('each field of a progress event is documented, and each that is documented is there', () => {
    const progress = events.find(({ event }) => event === 'progress');
    assert.ok(progress !== undefined);
    const { event, atMs, ...fields } = progress;
    assert.ok(event !== undefined && atMs !== undefined);
    const table = tableRows(section(DOC, '## Events')).filter(([, , third]) => third === undefined);
    assert.deepEqual(
      table
        .flatMap(([name = '']) => name.match(/\w+/g) ?? [])
        .filter((name) => name !== 'field')
        .sort(),
      Object.keys(fields).sort(),
    );
    const measures = table.find(([name]) => name === 'measures')?.[1] ?? '';
    for (const name of Object.keys(fields['measures'] as Fields)) assert.match(measures, new RegExp(`\\b${name}\\b`));
  });

  test('each field of report.json is documented, and each that is documented is there', () => {
    const absent = ['error'];
    const heading = section(DOC, '## report.json').split('### rows')[0] ?? '';
    const names = tableRows(heading).flatMap(([name = '']) => name.match(/\w+/g) ?? []);
    const found = [...Object.keys(report), ...absent].filter((name) => name !== 'format');
    assert.deepEqual([...new Set(names)].sort(), found.sort());
  });

  test('rows and series too', () => {
    const { hosts, coverage, note, ...rows } = report['rows'] as Fields;
    assert.deepEqual([coverage, note], ['all', '']);
    const names = [...Object.keys(rows), ...Object.keys(hosts as Fields).map((name) => `hosts.${name}`)];
    assert.deepEqual(told('### rows').sort(), names.sort());
    const columns = told('### series');
    assert.deepEqual(columns.sort(), [...SERIES_COLUMNS].sort());
    for (const name of Object.keys(report['series'] as Fields))
      if (name !== 'format') assert.match(section(DOC, '### series'), new RegExp(`\`${name}\``));
  });
});
