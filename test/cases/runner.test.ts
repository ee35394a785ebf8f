/** The runner itself: it must not take for passed what it does not understand, nor stop at it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { capture } from '../support/process.ts';
import { readCases } from './format.ts';
import { runCase, summaryOf } from './runner.ts';
import { runVectors } from './vectors.ts';

async function verdictOf(input: object, expected: object): Promise<string> {
  const [one] = casesOf([{ id: 'x', group: 'g', input, expected }]);
  const { verdict, why } = await runCase(one!);
  return verdict === 'passed' ? verdict : `${verdict}: ${why}`;
}

function casesOf(list: readonly unknown[]) {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-cases-'));
  try {
    const file = join(dir, 'cases.json');
    writeFileSync(file, JSON.stringify({ conventions: {}, cases: list }));
    return readCases(file);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const RESOLVE = { kind: 'resolve', base: 'http://a.test/d/', refs: ['x'] };
const LINKS = { kind: 'html_links', page_url: 'http://a.test/d/', content_type: 'text/html' };

test('a case passes when every word of it holds, and fails with the reason when one does not', async () => {
  assert.equal(await verdictOf(RESOLVE, { resolved: ['http://a.test/d/x'] }), 'passed');
  assert.match(await verdictOf(RESOLVE, { resolved: ['http://a.test/x'] }), /^failed: reference "x": .*instead of/);
  assert.match(await verdictOf(RESOLVE, { resolved: [] }), /1 references, 0 answers/);
});

test('an unknown kind, field, word or value fails its case as not understood', async () => {
  const cases: readonly (readonly [object, object])[] = [
    [{ kind: 'telepathy' }, { seen: true }],
    [{ kind: 'toString' }, { seen: true }],
    [{ ...RESOLVE, mood: 'good' }, { resolved: ['http://a.test/d/x'] }],
    [RESOLVE, { resolved: ['http://a.test/d/x'], tasted: true }],
    [RESOLVE, {}],
    [{ kind: 'robots', agent: 'Bot', robots: 'User-agent: *' }, { allowed: [5] }],
    [{ kind: 'robots', agent: 'Bot' }, { allowed: ['/'] }],
    [{ kind: 'dedup', docs: [{ id: 'a', url: 'http://a.test/', body: 'x' }] }, { exact_duplicate: [['a', 'b']] }],
  ];
  for (const [input, expected] of cases) assert.match(await verdictOf(input, expected), /^failed: .*not understood/, JSON.stringify(input));
});

test('what is no case at all fails and stops nothing', async () => {
  const results = await Promise.all(casesOf([null, 7, 'text', [], { id: 'y' }]).map(runCase));
  assert.deepEqual(
    results.map((result) => result.verdict),
    new Array(5).fill('failed'),
  );
});

test('sitemaps and trap patterns are counted apart, never as passed', async () => {
  const results = await Promise.all(
    casesOf([
      { id: 's', group: 'sitemap', input: { kind: 'sitemap' } },
      { id: 't', group: 'trap', input: { kind: 'site' } },
    ]).map(runCase),
  );
  const { total, passed, failed, notYet } = summaryOf(results);
  assert.deepEqual([total, passed, failed], [2, 0, 0]);
  assert.deepEqual(Object.values(notYet).flat(), ['s', 't']);
});

test('a variant may be a head or a response header, and page rules hold for its links', async () => {
  const page = { ...LINKS, html: '<head><title>t</title></head><a href=/x>x</a>' };
  const variants = [
    '<meta name=robots content=nofollow>',
    'HEADER X-Robots-Tag: examplebot: nofollow',
    'HEADER Refresh: 1; url=more',
    '<base href=/b/>',
  ];
  const answers = [null, null, ['http://a.test/x', 'http://a.test/d/more'], 'http://a.test/x'];
  assert.equal(await verdictOf({ ...page, variants }, { follow: ['http://a.test/x'], variants: answers }), 'passed');
});

test('robots vectors that only Google demands are counted apart, and what is not understood fails', async () => {
  const access = { body: 'User-agent: *\nDisallow: /a', agent: 'Bot', url: 'http://x.test/a' };
  const results = await runVectors({
    about: 'x',
    access: [{ ...access, allowed: false }, { ...access, allowed: true }, { ...access, allowed: true, kind: 'google-only' }, { url: 5 }],
    horoscopes: [{}],
  });
  assert.deepEqual(
    results.map((result) => result.verdict),
    ['passed', 'failed', 'optional', 'failed', 'failed'],
  );
});

test('the exit code is 1 when a case fails, 0 when none does, 2 when the file is none of cases', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-cases-'));
  try {
    const run = async (content: string): Promise<number | null> => {
      const file = join(dir, 'cases.json');
      writeFileSync(file, content);
      return (await capture(process.execPath, [new URL('./runner.ts', import.meta.url).pathname, file])).code;
    };
    const one = { id: 'x', group: 'g', input: RESOLVE, expected: { resolved: ['http://a.test/d/x'] } };
    assert.equal(await run(JSON.stringify([one])), 0);
    assert.equal(await run(JSON.stringify([one, { ...one, expected: { resolved: ['http://b.test/'] } }])), 1);
    assert.equal(await run('{}'), 2);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
