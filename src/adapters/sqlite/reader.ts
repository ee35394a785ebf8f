/**
 * A read-only view of one shard's database, also while a crawl writes it: WAL lets readers in, and a reader never makes the writer wait.
 *
 * Invariants: everything that is read between two calls of `snapshot` belongs to one commit (the first is taken at open). No statement writes, and no call holds more than one
 * row or one chunk of a queue in memory. While a snapshot is held the log cannot be taken over into the database from beyond it, so it grows with what
 * the crawl writes meanwhile: hold it for an export, not for days.
 * What it does not do: decide anything. Which URL belongs to which shard and key is the caller's knowledge (url/shard.ts).
 */
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { PortolanError } from '../../core/errors.ts';
import { type HostRecord, QUEUES } from '../../core/host.ts';
import { type FateRow, type Find, type PageRow, type QueueEntry, readFinds, readQueueEntries } from '../../core/records.ts';
import type { RobotsRow } from '../../ports/shard-store.ts';
import { chunkId, FORMAT_VERSION, SEQ_LIMIT } from './schema.ts';
import { fateFromRow, hasTables, hostFromRow, keyBlob, pageFromRow, type Row, robotsFromRow, storeError } from './shard-store.ts';

/** Bytes of the page cache: a look-up touches a few dozen pages, a scan each page once. */
const CACHE_KB = 4_096;
/** Entries decoded at once in a scan of queues. */
const SCAN_ENTRIES = 1_024;

export interface QueuePlace {
  readonly entry: QueueEntry;
  /** 0 (best) … 4; 5 is the queue of URLs that wait for another attempt. */
  readonly level: number;
  /** Entries before it in that queue of its host. */
  readonly ahead: number;
}

export interface HostRow {
  readonly record: HostRecord;
  readonly queued: number;
  readonly level: number;
  readonly dueMs: number;
}

/** How `topHosts` orders; the greatest first, only hosts with waiting URLs. */
export type HostOrder = 'queued' | 'gap' | 'left';

export interface PageFilter {
  /** Only these outcomes; undefined for all. */
  readonly outcomes?: readonly string[] | undefined;
  /** Fetched (dropped) at or after it, epoch milliseconds; 0 for all. */
  readonly sinceMs?: number;
}

export interface ShardReader {
  readonly shard: number;
  /** Number of the commit that is seen. */
  readonly commitSeq: number;
  /** JSON as in the rows of `meta`; '' before the first commit. */
  readonly totals: string;
  readonly marks: string;
  /** Sees the last commit from now on, and that one alone. */
  snapshot(): void;
  /** Holds no snapshot any more: each look-up sees what is the last commit then. */
  release(): void;
  host(key: string): HostRecord | undefined;
  hostById(id: number): HostRecord | undefined;
  page(hostId: number, keyHi: number, keyLo: number): PageRow | undefined;
  fate(hostId: number, keyHi: number, keyLo: number): FateRow | undefined;
  /** Searches the host's queues; reads every chunk of the host in the worst case. */
  findEntry(host: HostRecord, keyHi: number, keyLo: number): QueuePlace | undefined;
  /** robots.txt in force for an origin, with its body. */
  robots(origin: string): RobotsRow | undefined;
  /** Whether finds for `receiver` wait here, and among them this URL. */
  findInTransit(receiver: number, keyHi: number, keyLo: number): Find | undefined;
  /** Last message taken from each sender (−1: the seed list), with its number of finds. */
  taken(): readonly { readonly sender: number; readonly seq: number; readonly finds: number }[];
  /** Hosts to which seeds redirected. */
  scopeHosts(): readonly string[];
  /** At most `limit` hosts. One pass over the host rows. */
  topHosts(order: HostOrder, limit: number, nowMs: number): readonly HostRow[];
  /** Each in the order of its key in the database; one row in memory. No other iteration may be under way. */
  hosts(): Iterable<HostRow>;
  pages(filter?: PageFilter): Iterable<PageRow & { readonly host: string }>;
  fates(filter?: PageFilter): Iterable<FateRow & { readonly host: string }>;
  /** Every entry that waits, with its host key. */
  entries(): Iterable<{ readonly host: string; readonly level: number; readonly entry: QueueEntry }>;
  /** Idempotent. */
  close(): void;
}

/** Undefined when the shard has not committed anything. Throws PORTOLAN_STATE_NEWER, PORTOLAN_STATE_DAMAGED, PORTOLAN_DISK_*. */
export function openShardReader(file: string, shard: number): ShardReader | undefined {
  if (!existsSync(file)) return undefined;
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    db.pragma(`cache_size = -${CACHE_KB}`);
    // A sort of millions of rows goes to a file, not to memory.
    db.pragma('temp_store = FILE');
    if (hasTables(db)) return new SqliteReader(db, file, shard);
    db.close();
    return undefined;
  } catch (error) {
    db?.close();
    throw storeError(error, `${file} cannot be read`);
  }
}

const HOST_SELECT = 'SELECT * FROM host';
/** Time until the queue would be empty: what the host waits now, and for each URL its gap and the length of the last exchange. */
const TIME_LEFT = 'max(due_ms - @now, 0) + queued * (owed_ms + last_duration_ms)';
const ORDERS: Readonly<Record<HostOrder, string>> = { queued: 'queued', gap: 'owed_ms + last_duration_ms', left: TIME_LEFT };

class SqliteReader implements ShardReader {
  readonly shard: number;
  readonly #db: Database.Database;
  readonly #file: string;
  readonly #statements = new Map<string, Database.Statement<unknown[], Row>>();

  constructor(db: Database.Database, file: string, shard: number) {
    this.#db = db;
    this.#file = file;
    this.shard = shard;
    const format = Number(this.#meta('format'));
    if (format > FORMAT_VERSION) {
      throw new PortolanError('PORTOLAN_STATE_NEWER', `${file} was written by a newer version (format ${format})`, {
        remedy: 'use the version that wrote it, or a newer one',
      });
    }
    this.snapshot();
  }

  get commitSeq(): number {
    return Number(this.#meta('commit_seq'));
  }

  get totals(): string {
    return this.#meta('totals');
  }

  get marks(): string {
    return this.#meta('marks');
  }

  snapshot(): void {
    this.#guarded(() => {
      if (this.#db.inTransaction) this.#db.exec('COMMIT');
      this.#db.exec('BEGIN');
      this.#meta('commit_seq'); // the first read takes the snapshot
    });
  }

  release(): void {
    if (this.#db.inTransaction) this.#db.exec('COMMIT');
  }

  host(key: string): HostRecord | undefined {
    const row = this.#get(`${HOST_SELECT} WHERE key = ?`, key);
    return row === undefined ? undefined : hostFromRow(row);
  }

  hostById(id: number): HostRecord | undefined {
    const row = this.#get(`${HOST_SELECT} WHERE id = ?`, id);
    return row === undefined ? undefined : hostFromRow(row);
  }

  page(hostId: number, keyHi: number, keyLo: number): PageRow | undefined {
    const row = this.#get('SELECT * FROM page WHERE host_id = ? AND key = ?', hostId, keyBlob(keyHi, keyLo));
    return row === undefined ? undefined : pageFromRow(row);
  }

  fate(hostId: number, keyHi: number, keyLo: number): FateRow | undefined {
    const row = this.#get('SELECT * FROM fate WHERE host_id = ? AND key = ?', hostId, keyBlob(keyHi, keyLo));
    return row === undefined ? undefined : fateFromRow(row);
  }

  findEntry(host: HostRecord, keyHi: number, keyLo: number): QueuePlace | undefined {
    const key = keyBlob(keyHi, keyLo);
    for (let level = 0; level < QUEUES; level++) {
      const queue = host.queues[level]!;
      if (queue.queued === 0) continue;
      const found = this.#searchQueue(host.id, level, queue, key);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The bytes of the key are looked for first (0.05 s for 660,000 entries); only a chunk that has them is decoded. */
  #searchQueue(hostId: number, level: number, queue: HostRecord['queues'][number], key: Buffer): QueuePlace | undefined {
    const [keyHi, keyLo] = [key.readUInt32BE(0), key.readUInt32BE(4)];
    const head = chunkId(hostId, level, queue.headSeq);
    let ahead = -queue.headOffset;
    const sql = 'SELECT id, n, blob FROM chunk WHERE id >= ? AND id < ? ORDER BY id';
    for (const row of this.#iterate(sql, head, chunkId(hostId, level, SEQ_LIMIT))) {
      const blob = row['blob'] as Buffer;
      if (blob.includes(key)) {
        const consumed = row['id'] === head ? queue.headOffset : 0;
        const entries = readQueueEntries(blob, consumed, Number.POSITIVE_INFINITY);
        const at = entries.findIndex((entry) => entry.keyHi === keyHi && entry.keyLo === keyLo);
        if (at >= 0) return { entry: entries[at]!, level, ahead: ahead + consumed + at };
      }
      ahead += row['n'] as number;
    }
    return undefined;
  }

  robots(origin: string): RobotsRow | undefined {
    const row = this.#get(
      'SELECT r.*, b.body FROM robots r LEFT JOIN robots_body b ON b.sha256 = r.body_sha256 WHERE r.origin = ?',
      origin,
    );
    return row === undefined ? undefined : robotsFromRow(row);
  }

  findInTransit(receiver: number, keyHi: number, keyLo: number): Find | undefined {
    const key = keyBlob(keyHi, keyLo);
    for (const row of this.#iterate('SELECT blob FROM outbox WHERE receiver = ? AND instr(blob, ?) > 0 ORDER BY seq', receiver, key)) {
      const find = readFinds(row['blob'] as Buffer).find((one) => one.keyHi === keyHi && one.keyLo === keyLo);
      if (find !== undefined) return find;
    }
    return undefined;
  }

  taken(): readonly { readonly sender: number; readonly seq: number; readonly finds: number }[] {
    return this.#guarded(() => this.#prepare('SELECT sender, seq, finds FROM taken ORDER BY sender').all()) as unknown as {
      sender: number;
      seq: number;
      finds: number;
    }[];
  }

  scopeHosts(): readonly string[] {
    return this.#guarded(() => this.#prepare('SELECT host_key FROM scope_host').all()).map((row) => row['host_key'] as string);
  }

  topHosts(order: HostOrder, limit: number, nowMs: number): readonly HostRow[] {
    const sql = `${HOST_SELECT} WHERE queued > 0 ORDER BY ${ORDERS[order]} DESC, id LIMIT @limit`;
    const values = order === 'left' ? { limit, now: Math.round(nowMs) } : { limit };
    return this.#guarded(() => this.#prepare(sql).all(values)).map(hostRow);
  }

  *hosts(): Iterable<HostRow> {
    for (const row of this.#iterate(`${HOST_SELECT} ORDER BY id`)) yield hostRow(row);
  }

  *pages(filter: PageFilter = {}): Iterable<PageRow & { readonly host: string }> {
    const { where, values } = conditions('fetched_at_ms', 'outcome', filter);
    const sql = `SELECT page.*, host.key AS host_key FROM page JOIN host ON host.id = page.host_id${where} ORDER BY page.host_id, page.key`;
    for (const row of this.#iterate(sql, ...values)) yield { ...pageFromRow(row), host: row['host_key'] as string };
  }

  *fates(filter: PageFilter = {}): Iterable<FateRow & { readonly host: string }> {
    const { where, values } = conditions('at_ms', 'reason', filter);
    const sql = `SELECT fate.*, host.key AS host_key FROM fate JOIN host ON host.id = fate.host_id${where} ORDER BY fate.host_id, fate.key`;
    for (const row of this.#iterate(sql, ...values)) yield { ...fateFromRow(row), host: row['host_key'] as string };
  }

  *entries(): Iterable<{ readonly host: string; readonly level: number; readonly entry: QueueEntry }> {
    const sql = 'SELECT c.level, c.seq, c.blob, h.key AS host_key, h.queues FROM chunk c JOIN host h ON h.id = c.id >> 25 ORDER BY c.id';
    for (const row of this.#iterate(sql)) {
      const level = row['level'] as number;
      const [headSeq = 1, headOffset = 0] = ((row['queues'] as string).split(' ')[level] ?? '').split(':').map(Number);
      if ((row['seq'] as number) < headSeq) continue;
      let skip = row['seq'] === headSeq ? headOffset : 0;
      for (;;) {
        const entries = readQueueEntries(row['blob'] as Buffer, skip, SCAN_ENTRIES);
        for (const entry of entries) yield { host: row['host_key'] as string, level, entry };
        if (entries.length < SCAN_ENTRIES) break;
        skip += SCAN_ENTRIES;
      }
    }
  }

  close(): void {
    if (this.#db.open) this.#db.close();
  }

  #meta(key: string): string {
    const row = this.#get('SELECT value FROM meta WHERE key = ?', key);
    return String(row?.['value'] ?? '');
  }

  #prepare(sql: string): Database.Statement<unknown[], Row> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql) as unknown as Database.Statement<unknown[], Row>;
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #get(sql: string, ...values: unknown[]): Row | undefined {
    return this.#guarded(() => this.#prepare(sql).get(...values));
  }

  *#iterate(sql: string, ...values: unknown[]): Iterable<Row> {
    try {
      yield* this.#prepare(sql).iterate(...values);
    } catch (error) {
      throw storeError(error, `${this.#file} cannot be read`);
    }
  }

  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw storeError(error, `${this.#file} cannot be read`);
    }
  }
}

function hostRow(row: Row): HostRow {
  return { record: hostFromRow(row), queued: row['queued'] as number, level: row['level'] as number, dueMs: row['due_ms'] as number };
}

function conditions(time: string, name: string, filter: PageFilter): { readonly where: string; readonly values: readonly unknown[] } {
  const parts: string[] = [];
  const values: unknown[] = [];
  if (filter.sinceMs !== undefined && filter.sinceMs > 0) {
    parts.push(`${time} >= ?`);
    values.push(Math.round(filter.sinceMs));
  }
  if (filter.outcomes !== undefined) {
    parts.push(`${name} IN (${filter.outcomes.map(() => '?').join(', ')})`);
    values.push(...filter.outcomes);
  }
  return { where: parts.length === 0 ? '' : ` WHERE ${parts.join(' AND ')}`, values };
}
