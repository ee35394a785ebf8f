/** What is shipped, and what the repository says of itself. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { renderConfigDoc } from '../../scripts/config-doc.ts';
import { FLAGS } from '../../src/cli/crawl-options.ts';
import { createProgram } from '../../src/cli/program.ts';
import { hostKeyDocs } from '../../src/config/key-docs.ts';
import { configKeys } from '../../src/config/schema.ts';
import { VERSION } from '../../src/version.ts';
import { capture } from '../support/process.ts';
import { page, startWebServer } from '../support/web-server.ts';
import { files, ROOT, read, section, tableRows } from './source.ts';

const DOCUMENTS = files('*.md', 'docs/**/*.md');
const CODE = files('src/**/*.ts', 'bin/*', 'scripts/*', 'test/**/*.ts', 'bench/**/*.ts', '.ci/*');

test('version.ts says the version of package.json', () => {
  assert.equal(VERSION, (JSON.parse(read('package.json')) as { version: string }).version);
});

test('docs/CONFIG.md is what the schema says, each key included', () => {
  const doc = read('docs/CONFIG.md');
  assert.equal(doc, renderConfigDoc(), 'run node scripts/config-doc.ts');
  assert.deepEqual(
    tableRows(doc).map(([key]) => key),
    configKeys().flatMap((key) => (key === 'hosts' ? ['hosts', ...hostKeyDocs().map((one) => one.key)] : [key])),
  );
  for (const row of tableRows(doc)) assert.notEqual(row[4], '', `${row[0]} has no meaning`);
});

test('each flag is in README.md', () => {
  const told = tableRows(section(read('README.md'), '### Flags of crawl')).map(([flag = '']) => flag.split(' ')[0]);
  assert.deepEqual(told, [
    '--seeds',
    '--out',
    '--config',
    ...FLAGS.slice(1).map(({ flag }) => flag.split(' ')[0]),
    '--dry-run',
    '--live-robots',
    '--json',
    '--quiet',
    '--force',
  ]);
});

test('each verb is in README.md', () => {
  const told = tableRows(section(read('README.md'), '### Verbs')).map(([verb = '']) => verb.split(' ')[0]);
  assert.deepEqual(
    told.sort(),
    createProgram()
      .commands.map((command) => command.name())
      .sort(),
  );
});

test('links between documents lead somewhere', () => {
  const broken: string[] = [];
  for (const file of DOCUMENTS) {
    for (const [, target = ''] of read(file).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (!/^https?:/.test(target) && !existsSync(join(ROOT, dirname(file), target))) broken.push(`${file}: ${target}`);
    }
    for (const [path] of read(file).matchAll(/\b(?:src|test|scripts|docs)\/[\w/-]+\.(?:ts|js|sh|md)\b/g)) {
      if (!existsSync(join(ROOT, path))) broken.push(`${file}: ${path}`);
    }
  }
  assert.deepEqual(broken, []);
});

test('the package has what it needs and nothing else', () => {
  const listed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [packed] = Object.values(JSON.parse(listed) as Record<string, { files: { path: string }[] }>);
  const paths = packed!.files.map(({ path }) => path);
  for (const path of paths)
    assert.match(
      path,
      /^(?:bin\/portolan\.js|dist\/.+\.(?:js|d\.ts)|dist\/THIRD-PARTY\.txt|docs\/[\w-]+\.md|README\.md|CHANGELOG\.md|LICENSE|package\.json)$/,
    );
  for (const path of ['bin/portolan.js', 'README.md', 'CHANGELOG.md', 'LICENSE', 'docs/CONFIG.md']) assert.ok(paths.includes(path), path);
});

test('package-lock.json names no registry', () => {
  assert.doesNotMatch(read('package-lock.json'), /"resolved"|registry|npmjs/);
});

test('nothing is exported as default, and the library exports by name', () => {
  for (const file of files('src/**/*.ts', 'scripts/*.ts', 'bench/**/*.ts', 'test/**/*.ts'))
    assert.doesNotMatch(read(file), /^export default\b/m, file);
  assert.doesNotMatch(read('src/index.ts'), /export \*/);
});

test('the library exports exactly what is listed here', async () => {
  const library = await import('../../src/index.ts');
  assert.deepEqual(Object.keys(library).sort(), [
    'DROP_REASONS',
    'ERROR_CODES',
    'OUTCOME_CODES',
    'PortolanError',
    'REJECT_REASONS',
    'VERSION',
    'createCrawl',
  ]);
});

test('no path of one machine and no private host stands in code or documents', () => {
  const places = /(?:^|[\s'"`(=:])(?:\/(?:home|Users|root|work|workspace|mnt|opt)\/[\w.-]+|[A-Z]:\\\\Users)/m;
  for (const file of [...CODE, ...DOCUMENTS, 'package.json', 'biome.json', 'tsconfig.json']) {
    if (file === 'test/project/package.test.ts') continue;
    assert.doesNotMatch(read(file), places, file);
  }
});

test('an old Node.js without a newer one beside it gets one clear sentence and exit code 2', () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-old-'));
  try {
    cpSync(join(ROOT, 'bin'), join(dir, 'bin'), { recursive: true });
    const { status, stderr, stdout } = onNode('20.19.0', join(dir, 'bin/portolan.js'));
    assert.equal(status, 2);
    assert.equal(stdout, '');
    assert.match(stderr, /^portolan: PORTOLAN_RUNTIME_TOO_OLD: Node\.js 20\.19\.0 is too old, 24 or newer is needed\. [^\n]+\n$/);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

test('an old Node.js in a checkout hands over to the one that the checkout brings', () => {
  const { status, stdout, stderr } = onNode('20.19.0', join(ROOT, 'bin/portolan.js'));
  assert.equal(stdout, `${VERSION}\n`, stderr);
  assert.equal(status, 0);
});

test('these tests run on the Node.js that the checkout brings, which is new enough for the package', () => {
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
  assert.ok(Number(process.versions.node.split('.')[0]) >= Number(/\d+/.exec(engines.node)?.[0]));
  assert.match(read('bin/portolan.js'), new RegExp(`OLDEST = ${/\d+/.exec(engines.node)?.[0]};`));
});

test('R-A1 the compiled package crawls', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-built-'));
  const web = await startWebServer({
    hosts: [{ address: '127.0.0.1', page: ({ path }) => (path === '/' ? page('home', ['/a']) : page(path)) }],
  });
  try {
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    execFileSync(process.execPath, [compiler, '-p', join(ROOT, 'tsconfig.build.json'), '--outDir', join(dir, 'dist')]);
    execFileSync(process.execPath, [join(ROOT, 'scripts/bundle.js'), join(dir, 'dist')]);
    cpSync(join(ROOT, 'bin'), join(dir, 'bin'), { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(dir, 'package.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
    const args = ['crawl', web.origin('127.0.0.1'), '--out', join(dir, 'out'), '--delay', '5ms', '--allow-net', '127.0.0.0/8'];
    const end = await capture(process.execPath, [join(dir, 'bin/portolan.js'), ...args]);
    assert.equal(end.code, 0, end.stderr);
    assert.match(end.stderr, /fetched {4}ok 2\n/);
    // What is to start quickly is one file each.
    for (const name of ['main', 'warm', 'crawl', 'explain', 'worker', 'thread'])
      assert.doesNotMatch(readFileSync(join(dir, 'dist', `${name}.js`), 'utf8'), /^(?:import|export)\b[^;]*\bfrom\b/m, name);
    const asked = await capture(process.execPath, [
      join(dir, 'bin/portolan.js'),
      'explain',
      join(dir, 'out'),
      `${web.origin('127.0.0.1')}/a`,
    ]);
    assert.match(asked.stdout, /^answer {6}fetched: ok\n/, asked.stderr);
    const library = (await import(`file://${join(dir, 'dist/index.js')}`)) as { VERSION: string };
    assert.equal(library.VERSION, VERSION);
    assert.ok(existsSync(join(dir, 'dist/index.d.ts')));
    const licences = readFileSync(join(dir, 'dist/THIRD-PARTY.txt'), 'utf8');
    for (const name of ['undici', 'zod', 'commander', 'yaml', 'tldts']) assert.match(licences, new RegExp(`^${name} \\d.* \\(`, 'm'));
  } finally {
    await web.close();
    rmSync(dir, { recursive: true, force: true });
  }
});

test('a checkout runs its bundle while the sources are those it was made from, and the sources as soon as one has changed', () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-stale-'));
  const runs = (): string => spawnSync(process.execPath, [join(dir, 'bin/portolan.js')], { encoding: 'utf8' }).stdout;
  try {
    cpSync(join(ROOT, 'bin'), join(dir, 'bin'), { recursive: true });
    for (const folder of ['src/cli', 'dist']) mkdirSync(join(dir, folder), { recursive: true });
    writeFileSync(join(dir, 'package.json'), JSON.stringify({ type: 'module' }));
    const source = join(dir, 'src/cli/main.ts');
    writeFileSync(source, "export function main(): void {\n  process.stdout.write('sources');\n}\n");
    assert.equal(runs(), 'sources', 'there is no bundle');
    writeFileSync(join(dir, 'dist/main.js'), "export function main() {\n  process.stdout.write('bundle');\n}\n");
    const { size, mtimeMs } = statSync(source);
    writeFileSync(join(dir, 'dist/sources.json'), JSON.stringify([['src/cli/main.ts', size, mtimeMs]]));
    assert.equal(runs(), 'bundle');
    // Of the same size, and older: a file that was put back.
    utimesSync(source, 1_000, 1_000);
    assert.equal(runs(), 'sources', 'another time');
    writeFileSync(join(dir, 'dist/sources.json'), JSON.stringify([['src/cli/gone.ts', size, mtimeMs]]));
    assert.equal(runs(), 'sources', 'a file is gone');
    rmSync(join(dir, 'src'), { recursive: true });
    assert.equal(runs(), 'bundle', 'a package has no sources');
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});

/** Runs a script with --version on a Node.js that says it is another version. */
function onNode(version: string, script: string): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`;
  const { NODE_OPTIONS: _, ...env } = process.env;
  return spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, fileURLToPath(new URL(`file://${script}`)), '--version'],
    { encoding: 'utf8', env },
  );
}
