/** Which room may import which: the table of ARCHITECTURE.md. Type-only imports count, since knots of types grow unseen otherwise. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importsOf, read, roomOf, section, sourceFiles, tableRows } from './source.ts';

const ANYTHING = '*';
const PARTS = ['scope', 'seen', 'frontier', 'net', 'robots', 'fetch', 'parse', 'dedup', 'output', 'schedule', 'cluster'] as const;
const OWN = ['core', 'ports', 'url', 'config'];

/** Rooms and packages that a room may import, itself aside. `node:` modules are judged by clean-rooms.test.ts. */
const TABLE: Readonly<Record<string, readonly string[]>> = {
  core: [],
  ports: ['core'],
  url: ['core', 'tldts'],
  config: ['core', 'zod'],
  ...Object.fromEntries(PARTS.map((part) => [part, [...OWN]])),
  net: [...OWN, 'ipaddr.js'],
  fetch: [...OWN, 'minizlib'],
  scope: [...OWN, 'ipaddr.js'],
  parse: [...OWN, 'entities', 'encoding-sniffer', '@exodus/bytes'],
  // Nothing of what it judges: only what the ledger is read with.
  verify: [...OWN, 'output'],
  sim: [...OWN, 'engine'],
  engine: [...OWN, ...PARTS.filter((part) => part !== 'cluster')],
  'adapters/memory': ['core', 'ports'],
  'adapters/file': ['core', 'ports'],
  'adapters/node': ['core', 'ports'],
  'adapters/sqlite': ['core', 'ports', 'better-sqlite3'],
  'adapters/undici': ['core', 'ports', 'undici'],
  'version.ts': [],
  'worker.ts': ['compose-thread.ts'],
  'thread-data.ts': [ANYTHING],
  'warm.ts': ['config', 'adapters/node'],
  'read-ranks.ts': ['core', 'config', 'frontier'],
  'compose-thread.ts': [ANYTHING],
  'compose.ts': [ANYTHING],
  'compose-sim.ts': [ANYTHING],
  library: [ANYTHING],
  'index.ts': [ANYTHING],
  cli: [ANYTHING],
};

/** Nobody is above these but each other. */
const TOPS = ['compose.ts', 'compose-thread.ts', 'compose-sim.ts', 'thread-data.ts', 'index.ts', 'worker.ts', 'library', 'cli'];

test('every import between rooms is one that the table allows', () => {
  const broken: string[] = [];
  for (const file of sourceFiles()) {
    const room = roomOf(file);
    const allowed = TABLE[room];
    if (allowed === undefined) {
      broken.push(`${file}: the room "${room}" is not in the table`);
      continue;
    }
    for (const { target, to } of importsOf(file)) {
      if (to === room || to.startsWith('node:') || allowed.includes(to) || allowed.includes(ANYTHING)) continue;
      broken.push(`${file}: ${room} imports ${to} ('${target}'); it may import ${allowed.join(', ') || 'nothing'}`);
    }
  }
  assert.deepEqual(broken, []);
});

test('rooms take only the option types of config, never its code', () => {
  const broken = sourceFiles()
    .filter((file) => !TOPS.includes(roomOf(file)) && roomOf(file) !== 'config')
    .flatMap((file) =>
      [...read(file).matchAll(/^(?:import|export)\s(?!type\s).*from '\.\.\/config\/.*$/gm)].map(([line]) => `${file}: ${line}`),
    );
  assert.deepEqual(broken, []);
});

test('every package that is imported is a dependency, and every dependency is imported', () => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
  const imported = new Set(
    sourceFiles().flatMap((file) =>
      importsOf(file).flatMap(({ target, to }) => (target.startsWith('.') || to.startsWith('node:') ? [] : [to])),
    ),
  );
  assert.deepEqual([...imported].sort(), Object.keys(dependencies).sort());
});

test('the table of ARCHITECTURE.md says the same', () => {
  const rows = tableRows(section(read('ARCHITECTURE.md'), '## Rooms'));
  const told = new Map(rows.map(([room = '', , imports = '']) => [room, imports.split(', ').sort()]));
  const rooms = [...new Set(sourceFiles().map(roomOf))].sort();
  assert.deepEqual([...told.keys()].sort(), rooms);
  for (const room of rooms) {
    const allowed = TABLE[room]!.includes(ANYTHING) ? ['anything'] : TABLE[room]!.filter((one) => one !== 'schedule' && one !== 'cluster');
    assert.deepEqual(told.get(room), allowed.length === 0 ? ['nothing'] : [...allowed].sort(), room);
  }
});

test('an import is found in each of its forms', () => {
  const text = [
    "import { a, type B } from '../url/index.ts';",
    "import type { C } from '../net/x.ts';",
    "export { d } from '../seen/x.ts';",
    "export * from '../dedup/x.ts';",
    "import 'side-effect';",
    "const lazy = await import('./near.ts');",
    "type E = import('@scope/package/deep').E;",
    "// import { no } from '../cluster/x.ts';",
    'import {\n  several,\n  lines,\n} from "not-single-quoted";'.replaceAll('"', "'"),
  ].join('\n');
  assert.deepEqual(
    importsOf('src/robots/rules.ts', text).map(({ to }) => to),
    ['url', 'net', 'seen', 'dedup', 'not-single-quoted', 'side-effect', 'robots', '@scope/package'],
  );
});
