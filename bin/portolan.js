#!/usr/bin/env node
// Starts the command line: compiled code in a package, TypeScript (through Node's type stripping) in a checkout.
import { existsSync } from 'node:fs';
import module from 'node:module';

const OLDEST = 24;
const major = Number(process.versions.node.split('.')[0]);
const source = new URL('../src/cli/main.ts', import.meta.url);
const checkout = existsSync(source);

if (major < OLDEST) {
  const local = new URL('../node_modules/node/bin/node', import.meta.url);
  if (checkout && existsSync(local)) {
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
  module.enableCompileCache?.();
  const { main } = await import(checkout ? source.href : new URL('../dist/cli/main.js', import.meta.url).href);
  await main(process.argv.slice(2));
}
