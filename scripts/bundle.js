// Bundles the command line, the thread and the library into dist/: a process then loads some twenty files instead of three hundred, which halves the
// time to the first request and to every answer. Run by `npm ci` in a checkout and by `npm run build`; plain JavaScript, since `npm ci` may run on an old Node.js.
//
//   node scripts/bundle.js [--if-possible] [DIR]       DIR: where to (default dist/ beside src/); --if-possible: without a bundler nothing is made, and said
//
// Bundled with our own sources are the packages they import, native ones excepted; THIRD-PARTY.txt has their licences. sources.json lists the files that the
// bundle was made from, with size and time: bin/portolan.js runs the bundle only while they are as they were, and the sources otherwise.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** One file each, with all that it imports: these are to start quickly, and each file costs about a millisecond. */
const ALONE = {
  main: 'src/cli/main.ts',
  warm: 'src/warm.ts',
  crawl: 'src/cli/crawl-main.ts',
  explain: 'src/cli/explain-main.ts',
  worker: 'src/worker.ts',
  thread: 'src/compose-thread.ts',
};
/** Everything else, in files that share what they have in common; what a file of the first kind imports later is an entry as well. */
const SHARED = { index: 'src/index.ts' };
/** A package with machine code of its own, which stays where it is installed. Its JavaScript is fifteen small files: to load them takes 4 ms in each thread. */
const NATIVE = 'better-sqlite3';

/** undici asks for it on loading and does without where it is missing; a crawl speaks HTTP/1.1 alone. */
const UNUSED = ['node:http2'];
/** commander asks for it on loading, and uses it for programs of other files alone. */
const LATE = ['node:child_process'];

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
        if (kind === 'import-statement' && importer.startsWith(join(ROOT, 'src')))
          return { path, namespace: 'builtin', sideEffects: false };
        if (kind === 'require-call' || kind === 'import-statement') return { path, namespace: 'builtin-all' };
        return { path, external: true };
      });
      onLoad({ filter: /.*/, namespace: 'builtin-all' }, ({ path }) => ({ contents: allExports(path) }));
      onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({ contents: namedExports(path, names.get(path) ?? []) }));
      onResolve({ filter: new RegExp(`^${NATIVE}$`) }, ({ path }) => ({ path, namespace: 'native' }));
      onLoad({ filter: /.*/, namespace: 'native' }, () => ({ contents: nativePackage(), resolveDir: ROOT }));
    },
  };
}

/** JavaScript and machine code belong together: where another version is installed than the one that was bundled, all of that one is taken. */
function nativePackage() {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'node_modules', NATIVE, 'package.json'), 'utf8'));
  return `
    import createDatabase from './node_modules/${NATIVE}/lib/database.js';
    const { createRequire } = process.getBuiltinModule('node:module');
    const require = createRequire(import.meta.url);
    const description = require.resolve('${NATIVE}/package.json');
    export default require(description).version === '${version}'
      ? createDatabase(createRequire(description)('./lib/binding.js').getBinding, true)
      : require('${NATIVE}');`;
}

function allExports(path) {
  if (UNUSED.includes(path)) return `throw new Error('${path} is not used');`;
  const module = `process.getBuiltinModule('${path}')`;
  return LATE.includes(path) ? `module.exports = new Proxy({}, { get: (_, name) => ${module}[name] });` : `module.exports = ${module};`;
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

/** In a file that stands alone, what is imported later (`import()`) is another file of the bundle: one that stands alone too, or an entry of the shared ones. */
function laterModules(shared) {
  const names = new Map(Object.entries(ALONE).map(([name, file]) => [join(ROOT, file), name]));
  return {
    name: 'later-modules',
    setup({ onResolve }) {
      onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, ({ path: written, kind, resolveDir }) => {
        if (kind !== 'dynamic-import') return undefined;
        const file = join(resolveDir, written);
        const name = names.get(file) ?? basename(file, '.ts');
        if (!names.has(file)) shared[name] = file;
        return { path: `./${name}.js`, external: true };
      });
    },
  };
}

async function bundle() {
  const { build } = await import('esbuild');
  const shared = Object.fromEntries(Object.entries(SHARED).map(([name, file]) => [name, join(ROOT, file)]));
  const options = {
    absWorkingDir: ROOT,
    outdir: out,
    write: false,
    bundle: true,
    format: 'esm',
    platform: 'node',
    // The modules of a package where it has both kinds: V8 keeps compiled what stands at the top of a module, and not what stands in a function around it.
    mainFields: ['module', 'main'],
    target: 'node24',
    metafile: true,
    legalComments: 'none',
    logLevel: 'warning',
  };
  const alone = await build({ ...options, entryPoints: ALONE, plugins: [laterModules(shared), quickModules()] });
  const rest = await build({ ...options, entryPoints: shared, splitting: true, plugins: [quickModules()] });
  return { inputs: { ...alone.metafile.inputs, ...rest.metafile.inputs }, outputFiles: [...alone.outputFiles, ...rest.outputFiles] };
}

function write({ inputs: read, outputFiles }) {
  const inputs = Object.keys(read);
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
