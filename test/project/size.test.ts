/**
 * How much is installed, watched: the number of production packages and their size stand in docs/FIRST-RUN.md (and wherever else they are repeated), and must be
 * true. Over the bounds here a new dependency is a decision that changes this file.
 */
import assert from 'node:assert/strict';
import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { files, ROOT, read } from './source.ts';

const PACKAGES_MAX = 20;
const MEGABYTES_MAX = 60;
/** Share by which the size may differ from what is stated: file systems and platforms differ a little. */
const TOLERANCE = 0.1;

interface LockedPackage {
  readonly version: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

/** Folders below node_modules that `npm ci --omit=dev` installs. */
function productionPackages(): string[] {
  const lock = JSON.parse(read('package-lock.json')) as { packages: Record<string, LockedPackage> };
  return Object.entries(lock.packages).flatMap(([folder, { dev, devOptional }]) =>
    folder === '' || dev === true || devOptional === true || !existsSync(join(ROOT, folder)) ? [] : [folder],
  );
}

/** Bytes of the files of a package, without packages inside it. */
function bytesOf(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += entry.name === 'node_modules' ? 0 : bytesOf(path);
    else bytes += lstatSync(path).size;
  }
  return bytes;
}

/** Each place in the documents that says "N packages, M MB". */
function statements(): { readonly file: string; readonly packages: number; readonly megabytes: number }[] {
  return files('*.md', 'docs/**/*.md')
    .filter((file) => file !== 'CHANGELOG.md')
    .flatMap((file) =>
      [...read(file).matchAll(/\b(\d+) packages, (\d+) MB\b/g)].map(([, packages, megabytes]) => ({
        file,
        packages: Number(packages),
        megabytes: Number(megabytes),
      })),
    );
}

test('the production packages are as many and as large as the documents say, and within their bounds', () => {
  const packages = productionPackages();
  const megabytes = packages.reduce((sum, folder) => sum + bytesOf(join(ROOT, folder)), 0) / 1e6;
  assert.ok(packages.length <= PACKAGES_MAX, `${packages.length} packages: ${packages.join(', ')}`);
  assert.ok(megabytes <= MEGABYTES_MAX, `${megabytes.toFixed(1)} MB`);
  const told = statements();
  assert.ok(
    told.some(({ file }) => file === 'docs/FIRST-RUN.md'),
    'docs/FIRST-RUN.md states it',
  );
  for (const { file, packages: count, megabytes: size } of told) {
    assert.equal(count, packages.length, `${file}: packages`);
    assert.ok(Math.abs(size - megabytes) <= size * TOLERANCE, `${file}: ${size} MB stated, ${megabytes.toFixed(1)} MB installed`);
  }
});

test('every production package is one that package.json names or one that those need', () => {
  const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> };
  const needed = new Set<string>();
  const need = (name: string): void => {
    if (needed.has(name)) return;
    needed.add(name);
    const { dependencies: inner = {} } = JSON.parse(read(`node_modules/${name}/package.json`)) as { dependencies?: Record<string, string> };
    for (const one of Object.keys(inner)) if (existsSync(join(ROOT, 'node_modules', one))) need(one);
  };
  for (const name of Object.keys(dependencies)) need(name);
  assert.deepEqual(
    productionPackages()
      .map((folder) => folder.slice(folder.lastIndexOf('node_modules/') + 'node_modules/'.length))
      .sort(),
    [...needed].sort(),
  );
});
