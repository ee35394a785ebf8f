/**
 * `portolan export DIR --what …`: takes what a crawl knows elsewhere, as JSONL, CSV or Parquet, in bounded memory, also while the crawl runs (each shard as of one
 * commit). An interrupt leaves no half file.
 */

import { parseDuration } from '../../config/units.ts';
import { PortolanError } from '../../core/errors.ts';
import { DROP_REASONS, OUTCOME_NAMES } from '../../core/reasons.ts';
import { type CrawlDir, openCrawlDir } from '../crawl-dir.ts';
import { EXIT } from '../exit-codes.ts';
import { HOST_LINKS, LINKS, TEXTS } from './derived.ts';
import { createEncoder, FORMATS, type Format } from './formats.ts';
import { openSink, type Sink, untilDone } from './sink.ts';
import { type Column, DROPS, type ExportFilter, HOSTS, PAGES, type Table, URLS } from './tables.ts';

export interface ExportFlags {
  readonly what: string;
  readonly format?: string;
  readonly since?: string;
  readonly outcome?: string;
  readonly with?: string;
  readonly out?: string;
}

const TABLES: Readonly<Record<string, Table>> = {
  pages: PAGES,
  urls: URLS,
  drops: DROPS,
  hosts: HOSTS,
  links: LINKS,
  'host-links': HOST_LINKS,
  text: TEXTS,
};
export const TABLE_NAMES = Object.keys(TABLES);
/** What --outcome may name for each table; no entry: it does not apply. */
const OUTCOMES: Readonly<Record<string, readonly string[]>> = {
  pages: OUTCOME_NAMES,
  urls: [...OUTCOME_NAMES, ...DROP_REASONS, 'queued'],
  drops: DROP_REASONS,
};
/** Between two looks at signals. */
const TURN_MS = 50;

export async function exportTable(dir: string, flags: ExportFlags): Promise<number> {
  const table = TABLES[flags.what];
  if (table === undefined) throw usage(`--what takes ${TABLE_NAMES.join(', ')}, not "${flags.what}"`);
  const format = formatOf(flags);
  const filter = filterOf(flags, Date.now());
  const chosen = chooseColumns(table.columns, flags);
  const crawl = openCrawlDir(dir);
  const open = () => openSink(flags.out ?? '-');
  return untilDone(open, EXIT, async (sink) => {
    try {
      await write(table, crawl, filter, chosen, format, sink);
    } finally {
      crawl.close();
    }
  });
}

async function write(
  table: Table,
  crawl: CrawlDir,
  filter: ExportFilter,
  chosen: readonly number[],
  format: Format,
  sink: Sink,
): Promise<void> {
  const encoder = await createEncoder(
    format,
    chosen.map((at) => table.columns[at]!),
  );
  const isWhole = chosen.length === table.columns.length;
  let turnMs = performance.now();
  for (const row of table.rows(crawl, filter)) {
    const piece = row && encoder.add(isWhole ? row : chosen.map((at) => row[at]));
    if (piece !== undefined) await sink.write(piece);
    else if (performance.now() - turnMs < TURN_MS) continue;
    else await new Promise((turn) => setImmediate(turn));
    turnMs = performance.now();
  }
  await sink.write(encoder.end());
}

function formatOf(flags: ExportFlags): Format {
  const byName = FORMATS.find((format) => flags.out?.endsWith(`.${format}`));
  const format = flags.format ?? byName ?? 'jsonl';
  if (!(FORMATS as readonly string[]).includes(format)) throw usage(`--format takes ${FORMATS.join(', ')}, not "${format}"`);
  if (format === 'parquet' && (flags.out ?? '-') === '-' && process.stdout.isTTY)
    throw usage('Parquet is not for a terminal: name a file with --out');
  return format as Format;
}

function filterOf(flags: ExportFlags, nowMs: number): ExportFilter {
  const allowed = OUTCOMES[flags.what];
  const outcomes = flags.outcome?.split(',').map((name) => name.trim());
  if (outcomes !== undefined && allowed === undefined) throw usage(`--outcome does not apply to --what ${flags.what}`);
  const unknown = outcomes?.find((name) => !allowed?.includes(name));
  if (unknown !== undefined) throw usage(`--outcome takes ${allowed?.join(', ')}; "${unknown}" is none of them`);
  return { sinceMs: flags.since === undefined ? 0 : sinceOf(flags.since, nowMs), outcomes };
}

/** A date (ISO 8601), or how long ago (`24h`). */
function sinceOf(text: string, nowMs: number): number {
  const ago = /^\d+(?:\.\d+)?[a-z]+$/i.test(text) ? parseDuration(text) : undefined;
  const at = ago === undefined ? Date.parse(text) : nowMs - ago;
  if (Number.isFinite(at)) return at;
  throw usage(`--since takes a date such as 2026-11-30 or 2026-11-30T12:00:00Z, or a time ago such as 24h, not "${text}"`);
}

/** Places of the columns that are written: all that are no extra, and the extras that --with names, alone or by their group. */
function chooseColumns(columns: readonly Column[], flags: ExportFlags): number[] {
  const named = new Set(flags.with?.split(',').map((name) => name.trim()));
  const extras = columns.filter(({ extra }) => extra !== undefined);
  const known = new Set(columns.flatMap(({ name, extra }) => [name, ...(extra === undefined ? [] : [extra])]));
  const unknown = [...named].find((name) => !known.has(name));
  if (unknown !== undefined) {
    const names = [...new Set(extras.flatMap(({ name, extra }) => [name, extra!]))];
    throw usage(
      `--with ${unknown}: --what ${flags.what} has ${names.length === 0 ? 'no further columns' : `the further columns ${names.join(', ')}`}`,
    );
  }
  return columns.flatMap(({ name, extra }, at) => (extra === undefined || named.has(extra) || named.has(name) ? [at] : []));
}

function usage(message: string): PortolanError {
  return new PortolanError('PORTOLAN_USAGE_INVALID', message, { remedy: 'see portolan export --help, and docs/EXPORT.md for the columns' });
}
