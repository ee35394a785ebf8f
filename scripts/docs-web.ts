/**
 * Real documentation on loopback: the HTML of Debian's -doc packages, unpacked and not installed, served by nginx, one address and one name per site.
 *
 *   node scripts/docs-web.ts [--sites python,postgresql,…|all] [--cache DIR] [--port 18380] [--run DIR]
 *
 * Packages are fetched with apt-get once and kept in DIR (default $PORTOLAN_CACHE, else below the system's temporary directory). Directories without
 * an index.html are listed (nginx autoindex), so that nearly every page can be reached from "/". robots.txt closes /_static/ and /_sources/.
 * Prints one line per site and serves until it is told to stop. Needs apt-get, dpkg-deb and nginx.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Nginx, startNginx } from '../test/support/nginx.ts';

/** Site, package, folder in it that becomes "/". */
const TABLE = [
  ['python', 'python3.11-doc', 'usr/share/doc/python3.11/html'],
  ['postgresql', 'postgresql-doc-15', 'usr/share/doc/postgresql-doc-15/html'],
  ['git', 'git-doc', 'usr/share/doc/git-doc'],
  ['cmake', 'cmake-doc', 'usr/share/doc/cmake-data/html'],
  ['sqlite', 'sqlite3-doc', 'usr/share/doc/sqlite3'],
  ['django', 'python-django-doc', 'usr/share/doc/python-django-doc/html'],
  ['apache', 'apache2-doc', 'usr/share/doc/apache2-doc/manual'],
  ['erlang', 'erlang-doc', 'usr/share/doc/erlang-doc'],
  ['handbook', 'debian-handbook', 'usr/share/doc/debian-handbook/html'],
  ['jdk', 'openjdk-17-doc', 'usr/share/doc/openjdk-17-jre-headless/api'],
  ['boost', 'libboost1.81-doc', 'usr/share/doc/libboost1.81-doc'],
  ['linux', 'linux-doc-6.1', 'usr/share/doc/linux-doc-6.1/html'],
  ['node', 'nodejs-doc', 'usr/share/doc/nodejs/api'],
  ['qt', 'qtbase5-doc-html', 'usr/share/qt5/doc'],
] as const;

export const ALL_SITES: readonly string[] = TABLE.map(([name]) => name);
/** About 4,600 pages and 40 MB of downloads. */
export const SMALL_SITES: readonly string[] = ['python', 'postgresql', 'git', 'cmake', 'sqlite'];
export const CLOSED_PREFIXES: readonly string[] = ['/_static/', '/_sources/'];
const ROBOTS = `User-agent: *\\n${CLOSED_PREFIXES.map((prefix) => `Disallow: ${prefix}\\n`).join('')}`;

export interface DocsSite {
  readonly name: string;
  readonly host: string;
  readonly address: string;
  /** Directory that is served as "/". */
  readonly root: string;
}

export interface DocsWeb {
  readonly sites: readonly DocsSite[];
  readonly port: number;
  readonly nginx: Nginx;
}

export function cacheDir(): string {
  return process.env['PORTOLAN_CACHE'] ?? join(tmpdir(), 'portolan-cache');
}

/** Fetches and unpacks what the cache does not have. */
export function unpackSites(names: readonly string[], cache: string): readonly DocsSite[] {
  return names.map((name) => {
    const index = ALL_SITES.indexOf(name);
    const entry = TABLE[index];
    if (entry === undefined) throw new Error(`no site ${name}; there are ${ALL_SITES.join(', ')}`);
    const [, packageName, folder] = entry;
    const unpacked = join(cache, 'docs', packageName);
    if (!existsSync(unpacked)) unpack(packageName, unpacked);
    const root = join(unpacked, folder);
    if (!existsSync(root)) throw new Error(`${packageName} has no ${folder}`);
    return { name, host: `docs-${name}.test`, address: `127.54.0.${1 + index}`, root };
  });
}

function unpack(packageName: string, into: string): void {
  const parent = join(into, '..');
  mkdirSync(parent, { recursive: true });
  const scratch = mkdtempSync(join(parent, '.new-'));
  chmodSync(scratch, 0o755);
  try {
    download(packageName, scratch);
    const [deb = ''] = readdirSync(scratch).filter((file) => file.endsWith('.deb'));
    execFileSync('dpkg-deb', ['-x', join(scratch, deb), join(scratch, 'tree')]);
    renameSync(join(scratch, 'tree'), into);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function download(packageName: string, dir: string): void {
  const apt = (...args: readonly string[]): void => {
    execFileSync('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=300', '-o', 'APT::Sandbox::User=root', ...args], { cwd: dir, stdio: 'pipe' });
  };
  try {
    apt('download', packageName);
  } catch {
    apt('update'); // the lists are too old, or there are none yet
    apt('download', packageName);
  }
}

export async function serveDocs(options: {
  readonly names: readonly string[];
  readonly cache: string;
  readonly port: number;
  readonly runDir: string;
}): Promise<DocsWeb> {
  const sites = unpackSites(options.names, options.cache);
  const [first] = sites;
  if (first === undefined) throw new Error('no site');
  const servers = sites.map(
    (site) => `  server {
    listen ${site.address}:${options.port} backlog=1024;
    server_name ${site.host};
    root ${site.root};
    index index.html;
    autoindex on;
    gzip on; gzip_types text/plain text/css application/javascript application/xml;
    location = /robots.txt { default_type text/plain; return 200 "${ROBOTS}"; }
  }`,
  );
  const nginx = await startNginx({
    runDir: options.runDir,
    servers: servers.join('\n'),
    probe: { address: first.address, port: options.port },
  });
  return { sites, port: options.port, nginx };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      sites: { type: 'string', default: SMALL_SITES.join(',') },
      cache: { type: 'string', default: cacheDir() },
      port: { type: 'string', default: '18380' },
      run: { type: 'string' },
    },
  });
  const runDir = values.run ?? mkdtempSync(join(tmpdir(), 'portolan-docs-'));
  const names = values.sites === 'all' ? ALL_SITES : values.sites.split(',');
  const web = await serveDocs({ names, cache: values.cache, port: Number(values.port), runDir });
  for (const site of web.sites) process.stdout.write(`${site.host} http://${site.address}:${web.port}/\n`);
  await new Promise<void>((done) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => done());
  });
  await web.nginx.stop();
  if (values.run === undefined) rmSync(runDir, { recursive: true, force: true });
}

if (import.meta.main) await main();
