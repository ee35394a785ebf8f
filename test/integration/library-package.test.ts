/** The library as its users have it: packed, unpacked into a project of its own, imported by name from JavaScript and TypeScript; and the examples. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { VERSION } from '../../src/version.ts';
import { ROOT, read } from '../project/source.ts';
import { capture } from '../support/process.ts';
import { page, startWebServer, type WebReply, type WebServer } from '../support/web-server.ts';

const EXAMPLES = ['pages-to-array', 'json-handler', 'archive-site', 'link-checker', 'search-index'];
const json = (value: unknown): WebReply => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) });
const PAGES: Readonly<Record<string, WebReply>> = {
  '/': page('home', ['/harbour', '/gone']),
  '/harbour': page('harbour', ['/'], 'A pilot book for every harbour of the coast.'),
  '/api': json({ name: 'index', next: ['/api/1', '/private/1'] }),
  '/api/1': json({ name: 'first', next: [] }),
};

describe('the packed library', () => {
  let dir: string;
  let web: WebServer;
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'portolan-packed-'));
    web = await startWebServer({ hosts: [{ address: '127.0.0.1', page: ({ path }) => PAGES[path] }] });
    project();
  });
  after(async () => {
    await web.close();
    rmSync(dir, { recursive: true, force: true });
  });

  /** A project with the package in node_modules, as an install without network leaves it: our own dependencies stand beside it. */
  function project(): void {
    const source = join(dir, 'source');
    mkdirSync(source);
    for (const name of [
      'src',
      'bin',
      'scripts',
      'docs',
      'README.md',
      'CHANGELOG.md',
      'LICENSE',
      'package.json',
      'tsconfig.json',
      'tsconfig.build.json',
    ])
      cpSync(join(ROOT, name), join(source, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(source, 'node_modules'));
    execFileSync('npm', ['run', 'build'], { cwd: source, stdio: 'pipe' });
    execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', dir], { cwd: source, stdio: 'pipe' });
    rmSync(source, { recursive: true });
    execFileSync('tar', ['-xzf', join(dir, `portolan-${VERSION}.tgz`), '-C', dir]);
    const modules = join(dir, 'node_modules');
    mkdirSync(modules);
    for (const name of readdirSync(join(ROOT, 'node_modules'))) {
      if (name !== 'portolan' && !name.startsWith('.')) symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
    }
    renameSync(join(dir, 'package'), join(modules, 'portolan'));
    cpSync(join(ROOT, 'examples'), join(dir, 'examples'), { recursive: true });
    writeFileSync(join(dir, 'package.json'), JSON.stringify({ type: 'module', private: true }));
  }

  test('R-A1: it holds compiled code with declarations and no sources', () => {
    const module = join(dir, 'node_modules/portolan');
    assert.ok(existsSync(join(module, 'dist/index.d.ts')) && existsSync(join(module, 'dist/worker.js')));
    assert.ok(!existsSync(join(module, 'src')));
  });

  test('the examples compile against its declarations, with the strictest settings', () => {
    const options = {
      target: 'es2024',
      module: 'nodenext',
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
    };
    const compilerOptions = { ...options, noEmit: true, skipLibCheck: false, allowImportingTsExtensions: true };
    writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['examples'] }));
    const { stdout } = spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', dir], { encoding: 'utf8' });
    assert.deepEqual(
      stdout.split('\n').filter((line) => /portolan|examples/.test(line)),
      [],
    );
  });

  test('each example does what its head says, within 60 lines', async () => {
    const run = async (name: string, seed: string, ...more: string[]) => {
      const args = [join(dir, `examples/${name}.ts`), `${web.origin('127.0.0.1')}${seed}`, join(dir, name), ...more];
      return capture(process.execPath, ['--disable-warning=ExperimentalWarning', ...args]);
    };
    const [array, api, archive, links, index] = await Promise.all([
      run('pages-to-array', '/'),
      run('json-handler', '/api'),
      run('archive-site', '/'),
      run('link-checker', '/'),
      run('search-index', '/'),
    ]);
    const origin = web.origin('127.0.0.1');
    assert.deepEqual(
      [array.code, api.code, archive.code, links.code, index.code],
      [0, 0, 0, 1, 0],
      [array, api, archive, links, index].map((one) => one.stderr).join('\n'),
    );
    assert.match(array.stdout, new RegExp(`^200 ${origin}/harbour harbour \\d\\d characters$`, 'm'));
    assert.match(api.stdout, new RegExp(`^${origin}/api/1 first name,next\nfiltered: 1$`, 'm'));
    assert.match(archive.stdout, /^finished: 2 pages, \d+ bytes, 0 URLs unaccounted for/);
    assert.equal(readdirSync(join(dir, 'archive-site/warc')).filter((name) => name.startsWith('my-site-')).length > 0, true);
    assert.equal(links.stdout, `${origin}/gone not-found 404\n  linked from ${origin}/`);
    const asked = await run('search-index', '/', 'pilot', 'harbour');
    assert.match(asked.stdout, new RegExp(`^${origin}/harbour\n  harbour: .*\\[pilot\\].*\\[harbour\\]`, 's'));
    for (const name of EXAMPLES) assert.ok(read(`examples/${name}.ts`).split('\n').length <= 61, name);
    assert.deepEqual(readdirSync(join(ROOT, 'examples')).sort(), [...EXAMPLES, 'json-hooks'].map((name) => `${name}.ts`).sort());
  });

  test('it is imported by name from JavaScript too, and gives the names of docs/PUBLIC-API.md', async () => {
    const { stdout } = await capture(
      process.execPath,
      ['--input-type=module', '-e', "console.log(JSON.stringify(Object.keys(await import('portolan')).sort()))"],
      { cwd: dir },
    );
    const told = [...read('docs/PUBLIC-API.md').matchAll(/^(?:const|function|class) (\w+)/gm)].map(([, name]) => name);
    for (const name of JSON.parse(stdout) as string[]) assert.ok(told.includes(name), name);
  });
});
