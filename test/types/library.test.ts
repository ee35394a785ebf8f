/** The types of the library, as a program's compiler sees them: library.ts beside this file holds what must be accepted and what must be refused. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../project/source.ts';

test('programs that use the library rightly compile, and each line marked as an error is one', (t) => {
  // Within the checkout, so that 'portolan' is found as in test/types; only these files are looked at.
  const dir = mkdtempSync(join(ROOT, 'test/types/.check-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(
    join(dir, 'tsconfig.json'),
    JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), include: [join(ROOT, 'test/types/library.ts'), join(ROOT, 'examples')] }),
  );
  const { status, stdout } = spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', dir], { encoding: 'utf8' });
  assert.equal(stdout, '');
  assert.equal(status, 0);
});
