/**
 * Writes the benchmark web to a directory. The same options give the same bytes; `summary.json` holds their SHA-256.
 *
 *   node bench/web/generate.ts --out DIR --hosts 400 --pages 50 [--port 18280] [--net 31] [--seed 1] [--links 100] [--kb-min 30] [--kb-max 60]
 *
 * DIR/root/<address>/…  pages, each with a .gz twin; robots.txt
 * DIR/expected.txt      each URL that a complete crawl which keeps robots.txt fetches exactly once
 * DIR/forbidden.txt     URLs that exist, are linked and must not be fetched
 * DIR/seeds.txt         up to 8 seeds; each of them alone leads to every expected page
 * DIR/summary.json      options, counts, hash; written last, so that a directory without it is not whole
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { CLOSED_PAGES, fileOf, layoutWeb, WEB_DEFAULTS, WEB_FORMAT, type WebLayout, type WebOptions } from './layout.ts';
import { frameOf, type LinkCounts, noCounts, pageOf } from './page.ts';
import { vocabulary } from './prose.ts';

export interface WebSummary {
  readonly format: number;
  readonly options: WebOptions;
  /** Options once more, where other judges look for it. */
  readonly port: number;
  readonly expected: number;
  readonly forbidden: number;
  readonly htmlBytes: number;
  readonly gzipBytes: number;
  readonly counts: LinkCounts;
  readonly sha256: string;
}

const SEEDS_MAX = 8;
const GZIP_LEVEL = 5;
const CLOSED_PAGE = '<!DOCTYPE html><title>closed</title><p>Closed to robots. <a href="/">Home</a>\n';

/** Generates unless a whole web of the same options is there already. */
export function ensureWeb(dir: string, options: WebOptions): WebSummary {
  const path = join(dir, 'summary.json');
  if (existsSync(path)) {
    const known = readSummary(dir);
    if (known.format === WEB_FORMAT && JSON.stringify(known.options) === JSON.stringify(options)) return known;
  }
  return generateWeb(dir, options);
}

export function readSummary(dir: string): WebSummary {
  return JSON.parse(readFileSync(join(dir, 'summary.json'), 'utf8')) as WebSummary;
}

export function generateWeb(dir: string, options: WebOptions): WebSummary {
  rmSync(join(dir, 'root'), { recursive: true, force: true });
  rmSync(join(dir, 'summary.json'), { force: true });
  mkdirSync(dir, { recursive: true });
  const web = layoutWeb(options);
  const words = vocabulary(options.seed);
  const counts = noCounts();
  const hash = createHash('sha256');
  const expected: string[] = [];
  const forbidden: string[] = [];
  let htmlBytes = 0;
  let gzipBytes = 0;
  const put = (file: string, text: string): void => {
    mkdirSync(dirname(file), { recursive: true });
    const bytes = Buffer.from(text);
    const packed = gzipSync(bytes, { level: GZIP_LEVEL });
    writeFileSync(file, bytes);
    writeFileSync(`${file}.gz`, packed);
    hash.update(bytes);
    htmlBytes += bytes.length;
    gzipBytes += packed.length;
  };
  for (let host = 0; host < options.hosts; host++) {
    const root = join(dir, 'root', web.address(host));
    const frame = frameOf(web, words, host);
    for (let page = 0; page < options.pages; page++) {
      put(join(root, fileOf(web.path(host, page))), pageOf(web, words, frame, host, page, counts));
      expected.push(web.origin(host) + web.path(host, page));
    }
    for (const path of closedPaths(web, host)) {
      put(join(root, fileOf(path)), CLOSED_PAGE);
      forbidden.push(web.origin(host) + path);
    }
    writeFileSync(join(root, 'robots.txt'), `User-agent: *\nDisallow:${web.closesPrivate(host) ? ' /private/' : ''}\n`);
  }
  const seeds = Array.from({ length: Math.min(SEEDS_MAX, options.hosts) }, (_, host) => `${web.origin(host)}/`);
  writeLines(join(dir, 'expected.txt'), expected);
  writeLines(join(dir, 'forbidden.txt'), forbidden);
  writeLines(join(dir, 'seeds.txt'), seeds);
  const summary: WebSummary = {
    format: WEB_FORMAT,
    options,
    port: options.port,
    expected: expected.length,
    forbidden: forbidden.length,
    htmlBytes,
    gzipBytes,
    counts,
    sha256: hash.digest('hex'),
  };
  writeFileSync(join(dir, 'summary.json'), `${JSON.stringify(summary, null, 2)}\n`);
  return summary;
}

export function closedPaths(web: WebLayout, host: number): readonly string[] {
  return web.closesPrivate(host) ? Array.from({ length: CLOSED_PAGES }, (_, index) => web.closedPath(host, index)) : [];
}

function writeLines(path: string, lines: readonly string[]): void {
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
}

function main(): void {
  const { values } = parseArgs({
    options: {
      out: { type: 'string', default: join(tmpdir(), 'portolan-bench-web') },
      hosts: { type: 'string' },
      pages: { type: 'string' },
      port: { type: 'string' },
      net: { type: 'string' },
      seed: { type: 'string' },
      links: { type: 'string' },
      'kb-min': { type: 'string' },
      'kb-max': { type: 'string' },
    },
  });
  const number = (text: string | undefined, otherwise: number): number => (text === undefined ? otherwise : Number(text));
  const summary = generateWeb(values.out, {
    hosts: number(values.hosts, WEB_DEFAULTS.hosts),
    pages: number(values.pages, WEB_DEFAULTS.pages),
    port: number(values.port, WEB_DEFAULTS.port),
    net: number(values.net, WEB_DEFAULTS.net),
    seed: number(values.seed, WEB_DEFAULTS.seed),
    links: number(values.links, WEB_DEFAULTS.links),
    kbMin: number(values['kb-min'], WEB_DEFAULTS.kbMin),
    kbMax: number(values['kb-max'], WEB_DEFAULTS.kbMax),
  });
  process.stdout.write(`${JSON.stringify(summary)}\n`);
}

if (import.meta.main) main();
