#!/usr/bin/env node
// Starts the command line: the bundle in dist/ (scripts/bundle.js), or in a checkout whose sources are newer than it, TypeScript through Node's type stripping.
// Built-in modules are not imported: Node's ES module loader would load all that they can load (fs alone 10 ms).
const OLDEST = 24;
const major = Number(process.versions.node.split('.')[0]);
const source = new URL('../src/cli/main.ts', import.meta.url);

if (major < OLDEST) {
  const { existsSync } = await import('node:fs');
  const local = new URL('../node_modules/node/bin/node', import.meta.url);
  if (existsSync(source) && existsSync(local)) {
    const { spawn } = await import('node:child_process');
    const { fileURLToPath } = await import('node:url');
    const child = spawn(fileURLToPath(local), process.argv.slice(1), { stdio: 'inherit' });
    // Ctrl-C in a terminal reaches the child by itself; what is sent to this process alone is handed on.
    process.on('SIGINT', () => {});
    for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
    child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)));
  } else {
    process.stderr.write(
      `portolan: PORTOLAN_RUNTIME_TOO_OLD: Node.js ${process.versions.node} is too old, ${OLDEST} or newer is needed. Install a current Node.js and run the command again.\n`,
    );
    process.exitCode = 2;
  }
} else {
  process.getBuiltinModule('node:module').enableCompileCache();
  const { main } = await import(isBundleWanted() ? new URL('../dist/main.js', import.meta.url).href : source.href);
  await main(process.argv.slice(2));
}

/** In a package always; in a checkout while every file that the bundle was made from is as it was. To ask takes 3 ms, to load the files one by one 150. */
function isBundleWanted() {
  const { existsSync, readFileSync, statSync } = process.getBuiltinModule('node:fs');
  if (!existsSync(source)) return true;
  const root = process.getBuiltinModule('node:url').fileURLToPath(new URL('..', import.meta.url));
  try {
    const stamps = JSON.parse(readFileSync(`${root}dist/sources.json`, 'utf8'));
    return stamps.every(([file, bytes, modifiedMs]) => {
      const stat = statSync(root + file, { throwIfNoEntry: false });
      return stat?.size === bytes && stat.mtimeMs === modifiedMs;
    });
  } catch {
    return false; // no bundle
  }
}
