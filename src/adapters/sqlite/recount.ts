/**
 * Every count of a shard derived again from its rows, in one read transaction (also while a crawl runs): queue entries are decoded, pages and
 * fates counted, per host and overall. Nothing here trusts a stored total.
 */
import Database from 'better-sqlite3';
import { readQueueEntries } from '../../core/records.ts';
import { hasTables, storeError } from './shard-store.ts';

export interface RowCounts {
  readonly commitSeq: number;
  readonly totals: string;
  readonly marks: string;
  readonly queued: readonly number[];
  readonly fetched: Readonly<Record<string, number>>;
  readonly dropped: Readonly<Record<string, number>>;
  readonly seenKeys: number;
  readonly outboxFinds: number;
  /** One line per host whose counts and rows do not agree, at most 20. */
  readonly hostFindings: readonly string[];
  readonly hostsWrong: number;
  readonly hosts: number;
}

interface HostRow {
  readonly id: number;
  readonly key: string;
  readonly admitted: number;
  readonly queued: number;
  readonly fetched: number;
  readonly dropped: number;
  readonly queues: string;
}

const FINDINGS_MAX = 20;

/** Undefined when the shard has not committed anything. */
export function recountRows(file: string): RowCounts | undefined {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    const open = db;
    return hasTables(open) ? db.transaction(() => countAll(open))() : undefined;
  } catch (error) {
    throw storeError(error, `${file} cannot be counted`);
  } finally {
    db?.close();
  }
}

function countAll(db: Database.Database): RowCounts {
  const meta = new Map(
    (db.prepare('SELECT key, value FROM meta').all() as { key: string; value: unknown }[]).map((row) => [row.key, row.value]),
  );
  const entries = countEntries(db);
  const pages = new Map(
    (db.prepare('SELECT host_id, count(*) AS n FROM page GROUP BY host_id').all() as { host_id: number; n: number }[]).map((r) => [
      r.host_id,
      r.n,
    ]),
  );
  const fates = new Map(
    (db.prepare('SELECT host_id, count(*) AS n FROM fate GROUP BY host_id').all() as { host_id: number; n: number }[]).map((r) => [
      r.host_id,
      r.n,
    ]),
  );
  const findings: string[] = [];
  let hostsWrong = 0;
  let hosts = 0;
  for (const host of db
    .prepare('SELECT id, key, admitted, queued, fetched, dropped, queues FROM host')
    .iterate() as IterableIterator<HostRow>) {
    hosts++;
    const rows = { queued: entries.perHost.get(host.id) ?? 0, fetched: pages.get(host.id) ?? 0, dropped: fates.get(host.id) ?? 0 };
    const agrees =
      host.queued === rows.queued &&
      host.fetched === rows.fetched &&
      host.dropped === rows.dropped &&
      host.admitted === rows.queued + rows.fetched + rows.dropped;
    if (agrees) continue;
    hostsWrong++;
    if (findings.length < FINDINGS_MAX) {
      findings.push(
        `${host.key}: admitted ${host.admitted}, queued ${host.queued}/${rows.queued}, fetched ${host.fetched}/${rows.fetched}, dropped ${host.dropped}/${rows.dropped} (count/rows)`,
      );
    }
  }
  return {
    commitSeq: Number(meta.get('commit_seq')),
    totals: String(meta.get('totals')),
    marks: String(meta.get('marks')),
    queued: entries.perLevel,
    fetched: grouped(db, 'SELECT outcome AS name, count(*) AS n FROM page GROUP BY outcome'),
    dropped: grouped(db, 'SELECT reason AS name, count(*) AS n FROM fate GROUP BY reason'),
    seenKeys: countSeen(db, String(meta.get('seen_manifest'))),
    outboxFinds: (db.prepare('SELECT coalesce(sum(n), 0) AS n FROM outbox').get() as { n: number }).n,
    hostFindings: findings,
    hostsWrong,
    hosts,
  };
}

function countEntries(db: Database.Database): { perHost: Map<number, number>; perLevel: number[] } {
  const perHost = new Map<number, number>();
  const perLevel = [0, 0, 0, 0, 0, 0];
  const rows = db
    .prepare(
      'SELECT c.host_id AS host_id, c.level AS level, c.seq AS seq, c.blob AS blob, h.queues AS queues FROM chunk c LEFT JOIN host h ON h.id = c.host_id',
    )
    .iterate();
  for (const row of rows as IterableIterator<{ host_id: number; level: number; seq: number; blob: Buffer; queues: string | null }>) {
    const [headSeq = 1, headOffset = 0] = (row.queues?.split(' ')[row.level] ?? '').split(':').map(Number);
    if (row.seq < headSeq) continue;
    const count = readQueueEntries(row.blob, row.seq === headSeq ? headOffset : 0, Number.POSITIVE_INFINITY).length;
    perHost.set(row.host_id, (perHost.get(row.host_id) ?? 0) + count);
    perLevel[row.level] = (perLevel[row.level] ?? 0) + count;
  }
  return { perHost, perLevel };
}

function countSeen(db: Database.Database, manifest: string): number {
  const deltas = (db.prepare('SELECT coalesce(sum(length(keys)), 0) AS bytes FROM seen_delta').get() as { bytes: number }).bytes / 8;
  if (manifest === '') return deltas;
  const { runs } = JSON.parse(manifest) as { runs: readonly { keys: number }[] };
  return runs.reduce((a, run) => a + run.keys, deltas);
}

function grouped(db: Database.Database, sql: string): Record<string, number> {
  return Object.fromEntries((db.prepare(sql).all() as { name: string; n: number }[]).map((row) => [row.name, row.n]));
}
