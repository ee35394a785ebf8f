// Bundles the command line, the thread and the library into dist/: a process then loads some twenty files instead of three hundred, which halves the
// time to the first request and to every answer. Run by `npm ci` in a checkout and by `npm run build`; plain JavaScript, since `npm ci` may run on an old Node.js.
//
//   node scripts/bundle.js [--if-possible] [DIR]       DIR: where to (default dist/ beside src/); --if-possible: without a bundler nothing is made, and said
//
// Bundled with our own sources are the packages they import, native ones excepted; THIRD-PARTY.txt has their licences. sources.json lists the files that the
// bundle was made from, with size and time: bin/portolan.js runs the bundle only while they are as they were, and the sources otherwise.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const ENTRIES = { main: 'src/cli/main.ts', worker: 'src/worker.ts', index: 'src/index.ts' };
/** Packages with machine code of their own. */
const NATIVE = ['better-sqlite3'];

/** undici asks for it on loading and does without where it is missing; a crawl speaks HTTP/1.1 alone. */
const UNUSED = ['node:http2'];

const { values: options, positionals } = parseArgs({ options: { 'if-possible': { type: 'boolean' } }, allowPositionals: true });
const out = resolve(positionals[0] ?? join(ROOT, 'dist'));

/** Names that our sources import from each built-in module. */
function builtinNames() {
  const names = new Map();
  for (const file of sourceFiles('src')) {
    for (const [, what = '', module = ''] of readFileSync(join(ROOT, file), 'utf8').matchAll(
      /^import (?!type )([^;]*?) from '(node:[^']+)';/gm,
    )) {
      const of = names.get(module) ?? new Set();
      names.set(module, of);
      const [, list = ''] = /\{([^}]*)\}/.exec(what) ?? [];
      for (const one of list.split(',').map((name) => name.trim()))
        if (one !== '' && !one.startsWith('type ')) of.add(one.split(' as ')[0]);
      if (/^\w/.test(what)) of.add('default');
    }
  }
  return names;
}

function sourceFiles(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? sourceFiles(`${folder}/${entry.name}`) : entry.name.endsWith('.ts') ? [`${folder}/${entry.name}`] : [],
  );
}

/**
 * Built-in and native modules are taken as `require` would take them. Node's ES module loader reads every property of a built-in module that is imported,
 * and some are getters that load a lot (webcrypto, fs.promises).
 */
function quickModules() {
  const names = builtinNames();
  return {
    name: 'quick-modules',
    setup({ onResolve, onLoad }) {
      // Some packages leave the prefix away.
      onResolve({ filter: new RegExp(`^(?:node:.*|${builtinModules.join('|')})$`) }, ({ path: written, kind, importer }) => {
        const path = written.startsWith('node:') ? written : `node:${written}`;
        if (kind === 'require-call') return { path, namespace: 'builtin-all' };
        if (kind === 'import-statement' && importer.startsWith(join(ROOT, 'src'))) return { path, namespace: 'builtin' };
        return { path, external: true };
      });
      onLoad({ filter: /.*/, namespace: 'builtin-all' }, ({ path }) => ({
        contents: UNUSED.includes(path)
          ? `throw new Error('${path} is not used');`
          : `module.exports = process.getBuiltinModule('${path}');`,
      }));
      onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({ contents: namedExports(path, names.get(path) ?? []) }));
      onResolve({ filter: new RegExp(`^(?:${NATIVE.join('|')})$`) }, ({ path }) => ({ path, namespace: 'native' }));
      onLoad({ filter: /.*/, namespace: 'native' }, ({ path }) => ({
        contents: `export default process.getBuiltinModule('node:module').createRequire(import.meta.url)('${path}');`,
      }));
    },
  };
}

function namedExports(path, names) {
  const lines = [...names].map((name) => (name === 'default' ? 'export default all;' : `export const ${name} = all.${name};`));
  return [`const all = process.getBuiltinModule('${path}');`, ...lines].join('\n');
}

/** The licences of the packages whose code is in the bundle, one after the other. */
function thirdParty(inputs) {
  const folders = new Set(inputs.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const parts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
    const file = readdirSync(join(ROOT, folder)).find((one) => /^licen[cs]e/i.test(one));
    if (file === undefined) throw new Error(`${name} has no licence file`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(ROOT, folder, file), 'utf8').trim()}\n`;
  });
  return `The files in this folder hold code of the packages below, under these licences.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/** What bin/portolan.js compares: [path, bytes, modified at ms]. */
function stamps(inputs) {
  const own = inputs.filter((file) => file.startsWith('src/'));
  return [...own, 'node_modules/.package-lock.json']
    .filter((file) => existsSync(join(ROOT, file)))
    .map((file) => {
      const { size, mtimeMs } = statSync(join(ROOT, file));
      return [file, size, mtimeMs];
    });
}

/** Everything that an earlier bundle left; declarations (*.d.ts) and their folders stay. */
function clear() {
  if (!existsSync(out)) return;
  for (const name of readdirSync(out)) if (/\.js$|^sources\.json$|^THIRD-PARTY\.txt$/.test(name)) rmSync(join(out, name));
}

async function bundle() {
  const { build } = await import('esbuild');
  return build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES,
    outdir: out,
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    metafile: true,
    legalComments: 'none',
    logLevel: 'warning',
    plugins: [quickModules()],
  });
}

function write({ metafile, outputFiles }) {
  const inputs = Object.keys(metafile.inputs);
  const licences = thirdParty(inputs);
  clear();
  mkdirSync(out, { recursive: true });
  for (const { path, contents } of outputFiles) writeFileSync(path, contents);
  writeFileSync(join(out, 'THIRD-PARTY.txt'), licences);
  // Last: without it there is no bundle.
  writeFileSync(join(out, 'sources.json'), JSON.stringify(stamps(inputs)));
}

try {
  write(await bundle());
} catch (error) {
  if (options['if-possible'] !== true) throw error;
  process.stdout.write(`no bundle was made, the sources run without: ${error.message}\n`);
}
