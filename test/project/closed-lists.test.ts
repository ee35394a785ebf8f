/** The closed lists and their documents say the same, in both directions, and nothing stands in a list that no code takes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EXIT, exitCodeOf } from '../../src/cli/exit-codes.ts';
import { configKeys } from '../../src/config/schema.ts';
import { ERROR_CODES } from '../../src/core/errors.ts';
import { DROP_REASONS, OUTCOME_CODES, OUTCOME_NAMES, REJECT_REASONS } from '../../src/core/reasons.ts';
import { encodeDropLine } from '../../src/output/drop-line.ts';
import { encodePageLine } from '../../src/output/pages-jsonl.ts';
import { files, read, section, tableRows, withoutComments } from './source.ts';

const sources = new Map(files('src/**/*.ts', 'bin/*.js').map((file) => [file, withoutComments(read(file))]));

/** Documented, and not taken by anything yet; each is said so in docs/REASONS.md. */
const NOT_TAKEN_YET: readonly string[] = [];

function takenIn(word: string, exceptFile: string): boolean {
  return [...sources].some(([file, text]) => file !== exceptFile && text.includes(`'${word}'`));
}

test('each error code is in docs/ERRORS.md with its exit code, and none other is', () => {
  const rows = tableRows(section(read('docs/ERRORS.md'), '# Errors').split('## Exit codes')[0]!);
  assert.deepEqual(rows.map(([code]) => code).sort(), [...ERROR_CODES].sort());
  for (const [code, exit, ...cells] of rows) {
    assert.equal(Number(exit), exitCodeOf(code as (typeof ERROR_CODES)[number]), code);
    for (const cell of cells) assert.notEqual(cell, '', `${code} has an empty cell`);
  }
});

test('each exit code is documented', () => {
  const told = tableRows(section(read('docs/ERRORS.md'), '## Exit codes')).map(([code]) => Number(code));
  assert.deepEqual(
    told,
    [...new Set(Object.values(EXIT))].sort((a, b) => a - b),
  );
  const inReadme = tableRows(section(read('README.md'), '## Exit codes')).map(([code]) => Number(code));
  assert.deepEqual(inReadme, told);
});

test('each error code is thrown by some code, and no code throws another', () => {
  const used = new Set([...sources.values()].flatMap((text) => [...text.matchAll(/PORTOLAN_[A-Z_]+[A-Z]/g)].map(([code]) => code)));
  used.delete('PORTOLAN_INTERNAL');
  used.delete('PORTOLAN_CONNECT'); // never leaves the transport
  // Beginnings of codes that exit-codes.ts compares with.
  for (const part of [
    'PORTOLAN_USAGE',
    'PORTOLAN_DEMO',
    'PORTOLAN_CONFIG',
    'PORTOLAN_SEED',
    'PORTOLAN_BLOCKLIST',
    'PORTOLAN_STATE',
    'PORTOLAN_DISK',
    'PORTOLAN_CONTROL',
  ])
    used.delete(part);
  assert.deepEqual([...used].sort(), [...ERROR_CODES].sort());
  for (const code of ERROR_CODES)
    assert.ok(
      [...sources].some(([file, text]) => file !== 'src/core/errors.ts' && text.includes(code)) || code === 'PORTOLAN_ENGINE_INVARIANT',
      code,
    );
});

test('each reject reason, drop reason and outcome is in docs/REASONS.md once, and none other is', () => {
  const doc = read('docs/REASONS.md');
  const namesIn = (heading: string): string[] => tableRows(section(doc, heading)).map(([name = '']) => name);
  assert.deepEqual(namesIn('## Rejected'), [...REJECT_REASONS]);
  assert.deepEqual(namesIn('## Dropped'), [...DROP_REASONS]);
  assert.deepEqual(namesIn('## Outcomes'), [...OUTCOME_NAMES]);
  for (const [name, kind] of tableRows(section(doc, '## Outcomes')))
    assert.equal(kind, OUTCOME_CODES[name as keyof typeof OUTCOME_CODES], name);
});

test('each configuration key that docs/REASONS.md names exists', () => {
  const keys = new Set(configKeys());
  const doc = read('docs/REASONS.md');
  const named = [
    ...tableRows(section(doc, '## Rejected')).map((row) => row[2]),
    ...tableRows(section(doc, '## Dropped')).map((row) => row[2]),
    ...tableRows(section(doc, '## Outcomes')).map((row) => row[3]),
  ].flatMap((cell = '') => cell.split(', ').filter(Boolean));
  assert.ok(named.length > 20);
  for (const key of named) assert.ok(keys.has(key), key);
});

test('each reason and outcome is taken by some code', () => {
  for (const word of [...REJECT_REASONS, ...DROP_REASONS, ...OUTCOME_NAMES]) {
    assert.equal(takenIn(word, 'src/core/reasons.ts'), !NOT_TAKEN_YET.includes(word), word);
  }
});

test('docs/PAGES-JSONL.md has each key of both kinds of line, and none other', () => {
  const doc = read('docs/PAGES-JSONL.md');
  const keysIn = (heading: string): string[] => tableRows(section(doc, heading)).map(([key = '']) => key);
  const page = encodePageLine({
    ...{ url: '', canonical: '', key: '', host: '', status: 200, outcome: 'ok', class: 'success', via: '', kind: 'link', depth: 0 },
    ...{
      foundAtMs: 0,
      fetchedAtMs: 0,
      durationMs: 0,
      firstByteMs: 0,
      address: '',
      bytesWire: 0,
      bytesBody: 0,
      contentType: '',
      charset: '',
    },
    ...{
      title: '',
      contentHash: '',
      simhash: '',
      duplicateOf: '',
      nearDuplicateOf: '',
      etag: '',
      lastModified: '',
      robots: [],
      redirectTo: '',
    },
    ...{ attempts: 1, links: { found: 0, rejected: {}, known: 0, sent: 0 }, changeRate: 0, nextFetchAtMs: 0 },
    ...{ warc: { file: '', offset: 0, length: 0 }, detail: '', text: '' },
  });
  assert.deepEqual(keysIn('## Fetched'), Object.keys(JSON.parse(page)));
  const drop = encodeDropLine({ url: '', key: '', host: '', reason: 'page-budget', detail: 'x', via: 'x', depth: 0, atMs: 0 });
  assert.deepEqual(keysIn('## Dropped'), Object.keys(JSON.parse(drop)));
});
