/**
 * Crawls real documentation, served on loopback under names of its own that unbound answers, and holds the server's log against the closure of links
 * that test/integration/docs-judge.ts works out from the files.
 *
 *   node test/integration/docs-crawl.ts [--sites python,git,…|all] [--cache DIR] [--keep] [--wget2] [-- flag…]
 *
 * --wget2 lets wget2 crawl the same sites by address, to see the judge at work on a crawler that is not ours. Prints one JSON object, exits 1 when
 * a page is missing, extra, forbidden or fetched twice.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ALL_SITES, CLOSED_PREFIXES, cacheDir, type DocsWeb, SMALL_SITES, serveDocs } from '../../scripts/docs-web.ts';
import { readNginxLog } from '../support/nginx-log.ts';
import { capture, portolan } from '../support/process.ts';
import { startUnbound } from '../support/unbound.ts';
import { assertVerified } from '../support/verified.ts';
import { type DocsJudgement, judgeDocs } from './docs-judge.ts';

export interface DocsCrawlOptions {
  readonly sites: readonly string[];
  readonly cache?: string;
  readonly ports: { readonly web: number; readonly dns: number };
  /** Working directory. */
  readonly dir: string;
  readonly crawler?: 'portolan' | 'wget2';
  readonly extraFlags?: readonly string[];
}

const WGET2_THREADS = 5;
const WGET2_SERVER_ERROR = 8;

export async function docsCrawl(options: DocsCrawlOptions): Promise<DocsJudgement & { readonly wallS: number }> {
  const { ports, dir } = options;
  const web = await serveDocs({ names: options.sites, cache: options.cache ?? cacheDir(), port: ports.web, runDir: join(dir, 'nginx') });
  const dns = await startUnbound({
    dir: join(dir, 'dns'),
    port: ports.dns,
    names: web.sites.map((site) => [site.host, site.address] as const),
  });
  const startMs = Date.now();
  try {
    if (options.crawler === 'wget2') await crawlByWget2(web, dir);
    else await crawlByPortolan(web, dns.server, dir, options.extraFlags ?? []);
  } finally {
    await Promise.all([web.nginx.stop(), dns.stop()]);
  }
  const wallS = (Date.now() - startMs) / 1_000;
  return { ...judgeDocs(web.sites, ports.web, CLOSED_PREFIXES, readNginxLog(web.nginx.accessLog)), wallS };
}

async function crawlByPortolan(web: DocsWeb, dns: string, dir: string, extra: readonly string[]): Promise<void> {
  const seeds = web.sites.map((site) => `http://${site.host}:${web.port}/`);
  const politeness = ['--delay', '0', '--delay-factor', '0', '--address-delay', '0', '--allow-net', '127.0.0.0/8'];
  const { command, args } = portolan(
    ...['crawl', ...seeds, '--out', join(dir, 'out'), '--scope', 'host', '--dns', dns, '--contact', 'test@example.org', '--quiet'],
    ...politeness,
    ...extra,
  );
  const { code, stderr } = await capture(command, args);
  assert.equal(code, 0, `the crawl ended with ${code}: ${stderr}`);
  await assertVerified(join(dir, 'out'));
}

async function crawlByWget2(web: DocsWeb, dir: string): Promise<void> {
  const seeds = web.sites.map((site) => `http://${site.address}:${web.port}/`);
  const quiet = ['-q', '--progress=none', '--tries=1'];
  const { code } = await capture('wget2', [
    '-r',
    '-l',
    '0',
    '--robots=on',
    `--max-threads=${WGET2_THREADS}`,
    ...quiet,
    '-P',
    join(dir, 'wget2'),
    ...seeds,
  ]);
  assert.ok(code === 0 || code === WGET2_SERVER_ERROR, `wget2 ended with ${code}`);
}

/** Names of the promises that a crawl broke. */
export function brokenPromises(result: DocsJudgement): readonly string[] {
  const lists = { missing: result.missing, extra: result.extra, forbidden: result.forbidden, repeated: result.repeated };
  const broken = Object.entries(lists).flatMap(([name, cases]) =>
    cases.length > 0 ? [`${name} ${cases.length}: ${cases.slice(0, 8).join(' ')}`] : [],
  );
  return result.overlaps > 0 ? [...broken, `overlaps ${result.overlaps}`] : broken;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      sites: { type: 'string', default: SMALL_SITES.join(',') },
      cache: { type: 'string', default: cacheDir() },
      keep: { type: 'boolean', default: false },
      wget2: { type: 'boolean', default: false },
    },
  });
  const dir = mkdtempSync(join(tmpdir(), 'portolan-docs-'));
  const result = await docsCrawl({
    sites: values.sites === 'all' ? ALL_SITES : values.sites.split(','),
    cache: values.cache,
    ports: { web: 18_380, dns: 18_353 },
    dir,
    crawler: values.wget2 ? 'wget2' : 'portolan',
    extraFlags: positionals,
  });
  const broken = brokenPromises(result);
  const { missing, extra, forbidden, repeated, ...counts } = result;
  process.stdout.write(`${JSON.stringify({ ...counts, broken }, null, 2)}\n`);
  if (broken.length > 0) process.exitCode = 1;
  if (values.keep) process.stderr.write(`kept ${dir}\n`);
  else rmSync(dir, { recursive: true, force: true });
}

if (import.meta.main) await main();
