/** Cases of test/cases/data as named tests: the name is the promise, with the case's id and the report it comes from in the file. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readCases } from './format.ts';
import { runCase } from './runner.ts';

interface Told {
  readonly id: string;
  readonly promise: string;
  readonly source: string;
}

/** One test for each case of the file that `wanted` takes. */
export function testCases(file: string, wanted: (id: string) => boolean = () => true): void {
  const path = new URL(`./data/${file}`, import.meta.url);
  const told = (JSON.parse(readFileSync(path, 'utf8')) as { cases: Told[] }).cases;
  for (const [index, one] of readCases(path.pathname).entries()) {
    const { promise = '', source = '' } = told[index] ?? {};
    if (!wanted(one.id)) continue;
    test(`${one.id}: ${promise}`, async () => {
      assert.match(source, /^https:/, 'the report is named');
      const { verdict, why } = await runCase(one);
      assert.equal(verdict, 'passed', why);
    });
  }
}
