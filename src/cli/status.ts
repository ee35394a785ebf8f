/** `portolan status`: the counts of the last commits; with --recount every count derived again and compared with them; with --hosts lists of hosts. */
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { ShardReader } from '../adapters/sqlite/reader.ts';
import { type RowCounts, recountRows } from '../adapters/sqlite/recount.ts';
import { emptyTotals, lawGaps, merge, overall, sum, type TotalsSnapshot } from '../engine/accounting.ts';
import { shardFile } from '../thread-data.ts';
import { type CrawlDir, openCrawlDir } from './crawl-dir.ts';
import { EXIT } from './exit-codes.ts';
import { counted, kinds, numbered } from './numbers.ts';

export async function status(
  dirArgument: string,
  flags: { readonly hosts?: string | true; readonly recount?: boolean; readonly json?: boolean },
): Promise<number> {
  const dir = resolve(dirArgument);
  const crawl = openCrawlDir(dir);
  const isJson = flags.json === true;
  const code = flags.recount === true ? await recount(dir, crawl.meta.shards, isJson) : EXIT.finished;
  if (flags.hosts !== undefined) await hosts(crawl, flags.hosts, isJson);
  if (flags.hosts !== undefined || flags.recount === true) return code;
  const all = overall(Array.from({ length: crawl.meta.shards }, (_, shard) => totalsOf(crawl.reader(shard))));
  crawl.close();
  if (isJson) process.stdout.write(`${JSON.stringify(all)}\n`);
  else process.stdout.write(`${describe(all)}\n`);
  return all.unaccounted === 0 ? EXIT.finished : EXIT.unaccounted;
}

/** What a shard was sent stands under the numbers of the senders, so one that was never opened keeps its place. */
function totalsOf(reader: ShardReader | undefined): TotalsSnapshot {
  return reader === undefined || reader.totals === '' ? emptyTotals() : (JSON.parse(reader.totals) as TotalsSnapshot);
}

async function hosts(crawl: CrawlDir, wanted: string | true, json: boolean): Promise<void> {
  const { hostCount, hostLists, hostListsJson, hostListsText } = await import('./status-hosts.ts');
  const now = Date.now();
  const lists = hostLists(crawl, hostCount(wanted), now);
  process.stdout.write(json ? `${JSON.stringify(hostListsJson(lists))}\n` : hostListsText(lists, now));
}

async function recount(dir: string, shards: number, json: boolean): Promise<number> {
  const findings: string[] = [];
  const shardRows: RowCounts[] = [];
  const snapshots: TotalsSnapshot[] = [];
  for (let shard = 0; shard < shards; shard++) {
    const file = shardFile(dir, shard);
    const rows = existsSync(file) ? recountRows(file) : undefined;
    if (rows === undefined || rows.totals === '') {
      snapshots.push(emptyTotals());
      continue;
    }
    shardRows.push(rows);
    const totals = JSON.parse(rows.totals) as TotalsSnapshot;
    snapshots.push(totals);
    findings.push(...(await compareShard(dir, shard, rows, totals)).map((finding) => `shard ${shard}: ${finding}`));
  }
  const all = overall(snapshots);
  const outbox = shardRows.reduce((a, rows) => a + rows.outboxFinds, 0);
  if (outbox < all.inTransit) findings.push(`${counted(all.inTransit, 'find is', 'finds are')} in transit, ${outbox} in the outboxes`);
  const unaccounted = all.unaccounted + findings.length;
  if (json)
    process.stdout.write(`${JSON.stringify({ ...all, unaccounted, findings, hosts: shardRows.reduce((a, rows) => a + rows.hosts, 0) })}\n`);
  else process.stdout.write(`${describe({ ...all, unaccounted })}\n${findings.map((finding) => `- ${finding}\n`).join('')}`);
  return unaccounted === 0 ? EXIT.finished : EXIT.unaccounted;
}

async function compareShard(dir: string, shard: number, rows: RowCounts, totals: TotalsSnapshot): Promise<string[]> {
  const findings: string[] = [];
  const same = (what: string, counted: number, stored: number): void => {
    if (counted !== stored) findings.push(`${what}: ${stored} counted, ${counted} in rows and outputs`);
  };
  const gaps = lawGaps(totals);
  for (const [law, gap] of Object.entries(gaps)) if (gap !== 0) findings.push(`the ${law} law is off by ${gap}`);
  rows.queued.forEach((count, level) => {
    same(`queued at level ${level}`, count, totals.queued[level] ?? 0);
  });
  for (const name of Object.keys(merge([rows.fetched, totals.fetched])))
    same(`fetched(${name})`, rows.fetched[name] ?? 0, totals.fetched[name] ?? 0);
  for (const name of Object.keys(merge([rows.dropped, totals.dropped])))
    same(`dropped(${name})`, rows.dropped[name] ?? 0, totals.dropped[name] ?? 0);
  same('admitted', sum(rows.fetched) + sum(rows.dropped) + rows.queued.reduce((a, b) => a + b, 0), totals.admitted);
  same('seen keys', rows.seenKeys, totals.admitted);
  findings.push(...rows.hostFindings);
  if (rows.hostsWrong > rows.hostFindings.length)
    findings.push(`and ${rows.hostsWrong - rows.hostFindings.length} more ${numbered(rows.hostsWrong - rows.hostFindings.length, 'host')}`);
  findings.push(...(await comparePages(dir, shard, rows, totals)));
  return findings;
}

interface Mark {
  readonly segment: number;
  readonly name: string;
  readonly length: number;
}

/** Counts the lines of pages.jsonl up to the mark of the last commit: each outcome once, each link of each page once. */
async function comparePages(dir: string, shard: number, rows: RowCounts, totals: TotalsSnapshot): Promise<string[]> {
  const mark = rows.marks === '' ? undefined : ((JSON.parse(rows.marks) as { pages?: Mark }).pages ?? undefined);
  if (mark === undefined || totals.lostOutput > 0) return [];
  const findings: string[] = [];
  const counts: LineCounts = { fetched: 0, dropped: 0, found: 0, again: [], rejected: {} };
  const keys = new Set<string>();
  for (let segment = 0; segment <= mark.segment; segment++) {
    const name = mark.name.replace(/\d{5}(?=\.jsonl$)/, String(segment).padStart(5, '0'));
    const path = join(dir, name);
    if (!existsSync(path)) continue;
    const file = await open(path);
    let bytes = 0;
    for await (const line of file.readLines()) {
      bytes += Buffer.byteLength(line) + 1;
      if (segment === mark.segment && bytes > mark.length) break;
      countLine(JSON.parse(line) as PageLine, counts, keys);
    }
  }
  const same = (what: string, counted: number, stored: number): void => {
    if (counted !== stored) findings.push(`${what}: ${stored} counted, ${counted} in pages.jsonl of shard ${shard}`);
  };
  same('fetched', counts.fetched, sum(totals.fetched) + totals.reopened + (totals.putBackPages ?? 0));
  same('dropped', counts.dropped, sum(totals.dropped) + (totals.putBackDrops ?? 0));
  same('extracted', counts.found, totals.extracted);
  // What retry has put back may end once more.
  const putBack = (totals.putBackPages ?? 0) + (totals.putBackDrops ?? 0);
  for (const key of counts.again.slice(putBack)) findings.push(`${key} has two outcomes in pages.jsonl`);
  for (const reason of Object.keys(merge([counts.rejected, totals.finderRejected])))
    same(`rejected(${reason})`, counts.rejected[reason] ?? 0, totals.finderRejected[reason] ?? 0);
  return findings;
}

interface PageLine {
  readonly key: string;
  readonly outcome: string;
  readonly links?: { readonly found: number; readonly rejected: Readonly<Record<string, number>> };
}

interface LineCounts {
  fetched: number;
  dropped: number;
  found: number;
  /** Keys of lines that are not the first of their URL. */
  readonly again: string[];
  readonly rejected: Record<string, number>;
}

function countLine(line: PageLine, counts: LineCounts, keys: Set<string>): void {
  if (line.outcome === 'dropped') counts.dropped++;
  else counts.fetched++;
  // A redirect may be opened again by its own chain; any other outcome stands once.
  if (line.outcome !== 'redirect') {
    if (keys.has(line.key)) counts.again.push(line.key);
    keys.add(line.key);
  }
  counts.found += line.links?.found ?? 0;
  for (const [reason, n] of Object.entries(line.links?.rejected ?? {})) counts.rejected[reason] = (counts.rejected[reason] ?? 0) + n;
}

function describe(all: ReturnType<typeof overall>): string {
  return [
    `found ${all.found} = known ${all.known} + rejected ${sum(all.rejected)} + admitted ${all.admitted} + in transit ${all.inTransit}`,
    `admitted ${all.admitted} = queued ${all.queued} + fetched ${sum(all.fetched)} + dropped ${sum(all.dropped)}`,
    `unaccounted ${all.unaccounted}`,
    ...(['fetched', 'dropped', 'rejected'] as const).flatMap((ended) => (sum(all[ended]) === 0 ? [] : [`${ended}: ${kinds(all[ended])}`])),
  ].join('\n');
}
