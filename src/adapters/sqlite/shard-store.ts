/**
 * ShardStore over one SQLite database per shard: WAL, synchronous NORMAL, and an fdatasync of the -wal after each COMMIT, so that a batch
 * survives a power cut when `commit` resolves. SQLite's own calls run on the caller's thread (they go to the page cache); the sync does not.
 * One connection, held in locking mode NORMAL so that `status` may read beside a running crawl.
 */
import { closeSync, existsSync, fdatasync, fsyncSync, mkdirSync, openSync, readSync, renameSync, unlinkSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { assert, PortolanError } from '../../core/errors.ts';
import { bestLevel, type GapRule, type HostQueue, type HostRecord, type HostState, hostDueMs, queuedTotal } from '../../core/host.ts';
import type { DropReason, OutcomeCode } from '../../core/reasons.ts';
import { type FateRow, type PageRow, type QueueEntry, readQueueEntries } from '../../core/records.ts';
import type {
  Batch,
  ChunkWrite,
  ContentPrint,
  ContentRow,
  HostScan,
  OpenedShard,
  OutboxRow,
  RobotsRow,
  SeenDelta,
  ShardStore,
  TakenRow,
} from '../../ports/shard-store.ts';
import { chunkId, FORMAT_VERSION, SCHEMA, SEQ_LIMIT } from './schema.ts';

export interface SqliteStoreOptions {
  /** Path of the database file. */
  readonly file: string;
  /** Page cache in bytes. */
  readonly cacheBytes: number;
  readonly readOnly?: boolean;
}

/** Read and written again at once. */
const LOG_PIECE_BYTES = 1_048_576;

export type Row = Record<string, unknown>;
type Statement = Database.Statement<unknown[], Row>;

/** A statement that only reads; what SQLite throws (a damaged page, a disk that fails) leaves as a PortolanError. */
class Reading {
  readonly #statement: Statement;

  constructor(statement: Statement) {
    this.#statement = statement;
  }

  get(...values: unknown[]): Row | undefined {
    try {
      return this.#statement.get(...values);
    } catch (error) {
      throw storeError(error, 'the state cannot be read');
    }
  }

  all(...values: unknown[]): Row[] {
    try {
      return this.#statement.all(...values);
    } catch (error) {
      throw storeError(error, 'the state cannot be read');
    }
  }

  *iterate(): Iterable<Row> {
    try {
      yield* this.#statement.iterate();
    } catch (error) {
      throw storeError(error, 'the state cannot be read');
    }
  }
}

export function createSqliteStore(options: SqliteStoreOptions): ShardStore {
  return new SqliteStore(options);
}

class SqliteStore implements ShardStore {
  readonly #options: SqliteStoreOptions;
  #db!: Database.Database;
  #statements!: Statements;
  #walFd: number | undefined;
  #commitSeq = 0;
  #failed = false;
  #unsyncedBatches = false;
  #isNew = false;

  constructor(options: SqliteStoreOptions) {
    this.#options = options;
  }

  open(shard: number): OpenedShard {
    const { file, readOnly = false } = this.#options;
    try {
      if (!readOnly) mkdirSync(dirname(file), { recursive: true });
      if (!readOnly && !existsSync(file)) {
        createDatabase(file, shard);
        this.#isNew = true;
      }
      if (!readOnly) keepLeftLog(`${file}-wal`);
      this.#db = new Database(file, { readonly: readOnly, fileMustExist: readOnly });
      if (!readOnly) this.#prepareDatabase(shard);
      else if (!hasTables(this.#db)) return NOTHING;
      this.#db.pragma(`cache_size = -${Math.max(512, Math.floor(this.#options.cacheBytes / 1024))}`);
      this.#db.pragma('temp_store = MEMORY');
      this.#checkVersion(shard);
      this.#statements = prepareStatements(this.#db);
      return this.#readOpened();
    } catch (error) {
      this.close();
      throw storeError(error, `the state of shard ${shard} (${file}) cannot be opened`);
    }
  }

  #prepareDatabase(shard: number): void {
    const db = this.#db;
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.pragma('wal_autocheckpoint = 4000');
    if (hasTables(db)) return;
    this.#isNew = true;
    addTables(db, shard);
    // Durable before any output file is made: output without a database then means that the database was lost.
    db.pragma('wal_checkpoint(TRUNCATE)');
  }

  #checkVersion(shard: number): void {
    const format = Number(this.#meta('format'));
    if (format > FORMAT_VERSION) {
      throw new PortolanError(
        'PORTOLAN_STATE_NEWER',
        `shard ${shard} was written by a newer version (format ${format}, this one reads ${FORMAT_VERSION})`,
        {
          remedy: 'use the version that wrote it, or a newer one',
        },
      );
    }
    if (Number(this.#meta('shard')) !== shard) {
      throw new PortolanError('PORTOLAN_STATE_DAMAGED', `the database of shard ${shard} says that it is shard ${this.#meta('shard')}`, {
        remedy: 'put the files of the crawl directory back where they were',
      });
    }
  }

  #meta(key: string): unknown {
    const row = this.#db.prepare('SELECT value FROM meta WHERE key = ?').get(key) as { value: unknown } | undefined;
    return row?.value ?? '';
  }

  #readOpened(): OpenedShard {
    const db = this.#db;
    this.#commitSeq = Number(this.#meta('commit_seq'));
    const deltas = db.prepare('SELECT seq, keys FROM seen_delta ORDER BY seq').all() as { seq: number; keys: Buffer }[];
    const outbox = db.prepare('SELECT receiver, seq, n, blob FROM outbox ORDER BY receiver, seq').all() as {
      receiver: number;
      seq: number;
      n: number;
      blob: Buffer;
    }[];
    const taken = db.prepare('SELECT sender, seq, finds, list FROM taken').all() as {
      sender: number;
      seq: number;
      finds: number;
      list: string;
    }[];
    const hosts = db.prepare('SELECT host_key FROM scope_host').all() as { host_key: string }[];
    return {
      commitSeq: this.#commitSeq,
      totals: String(this.#meta('totals')),
      marks: String(this.#meta('marks')),
      seenManifest: String(this.#meta('seen_manifest')),
      seenDeltas: deltas.map((row): SeenDelta => ({ seq: row.seq, keys: keysOf(row.keys) })),
      nextHostId: Number(this.#meta('next_host_id')),
      nextContentId: Number(this.#meta('next_content_id')),
      outbox: outbox.map((row): OutboxRow => ({ to: row.receiver, seq: row.seq, count: row.n, blob: row.blob })),
      taken: taken.map((row): TakenRow => ({ from: row.sender, seq: row.seq, finds: row.finds, list: row.list })),
      scopeHosts: hosts.map((row) => row.host_key),
      unclean: Number(this.#meta('clean')) !== 1,
      isNew: this.#isNew,
    };
  }

  readHost(id: number): HostRecord | undefined {
    const row = this.#statements.hostById.get(id);
    return row === undefined ? undefined : hostFromRow(row);
  }

  findHostId(key: string): number | undefined {
    return this.#statements.hostIdByKey.get(key)?.['id'] as number | undefined;
  }

  scanHosts(each: (host: HostScan) => void): void {
    for (const row of this.#statements.hostScan.iterate()) {
      each({
        id: row['id'] as number,
        key: row['key'] as string,
        domain: row['domain'] as string,
        level: row['level'] as number,
        dueMs: row['due_ms'] as number,
        queued: row['queued'] as number,
      });
    }
  }

  readChunk(hostId: number, level: number, seq: number): Uint8Array | undefined {
    return this.#statements.chunkById.get(chunkId(hostId, level, seq))?.['blob'] as Buffer | undefined;
  }

  readRobots(origin: string): RobotsRow | undefined {
    const row = this.#statements.robotsByOrigin.get(origin);
    return row === undefined ? undefined : robotsFromRow(row);
  }

  findContent(hash: Uint8Array): ContentRow | undefined {
    const row = this.#statements.contentByHash.get(hash);
    return row === undefined ? undefined : contentFromRow(row);
  }

  readContent(id: number): ContentRow | undefined {
    const row = this.#statements.contentById.get(id);
    return row === undefined ? undefined : contentFromRow(row);
  }

  findText(textHash: Uint8Array): ContentRow | undefined {
    const row = this.#statements.contentByText.get(textHash);
    return row === undefined ? undefined : contentFromRow(row);
  }

  pagesBeyond(segment: string, bytes: number): PageRow[] {
    return this.#statements.pagesBeyond.all(segment, segment, bytes).map(pageFromRow);
  }

  readPage(hostId: number, keyHi: number, keyLo: number): PageRow | undefined {
    const row = this.#statements.pageByKey.get(hostId, keyBlob(keyHi, keyLo));
    return row === undefined ? undefined : pageFromRow(row);
  }

  scanPages(each: (page: PageRow) => void): void {
    for (const row of this.#statements.pageScan.iterate()) each(pageFromRow(row));
  }

  scanFates(each: (fate: FateRow) => void): void {
    for (const row of this.#statements.fateScan.iterate()) each(fateFromRow(row));
  }

  scanKeys(each: (keyHi: number, keyLo: number) => void): void {
    for (const row of this.#statements.keyScan.iterate()) {
      const key = row['key'] as Buffer;
      each(key.readUInt32BE(0), key.readUInt32BE(4));
    }
  }

  scanContent(each: (print: ContentPrint) => void): void {
    for (const row of this.#statements.contentScan.iterate()) each(printFromRow(row));
  }

  scanEntries(each: (hostId: number, level: number, entry: QueueEntry) => void): void {
    for (const row of this.#statements.chunkScan.iterate()) {
      const hostId = row['host_id'] as number;
      const level = row['level'] as number;
      const queue = decodeQueues(row['queues'] as string)[level]!;
      const consumed = (row['seq'] as number) === queue.headSeq ? queue.headOffset : 0;
      for (const entry of readQueueEntries(row['blob'] as Buffer, consumed, Number.POSITIVE_INFINITY)) each(hostId, level, entry);
    }
  }

  async commit(batch: Batch): Promise<void> {
    if (this.#failed) throw new PortolanError('PORTOLAN_STORE_COMMIT_FAILED', 'the store was closed by an earlier failure');
    if (batch.commitSeq === this.#commitSeq) return;
    try {
      if (batch.commitSeq !== this.#commitSeq + 1) {
        throw new PortolanError('PORTOLAN_ENGINE_INVARIANT', `commit ${batch.commitSeq} follows ${this.#commitSeq}`);
      }
      this.#db.exec('BEGIN IMMEDIATE');
      try {
        applyBatch(this.#statements, batch);
        this.#db.exec('COMMIT');
      } catch (error) {
        if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
        throw error;
      }
      this.#commitSeq = batch.commitSeq;
      await this.#syncWal();
    } catch (error) {
      this.#failed = true;
      throw storeError(error, 'a batch could not be made durable');
    }
  }

  #syncWal(): Promise<void> {
    this.#walFd ??= openSync(`${this.#options.file}-wal`, 'r+');
    const fd = this.#walFd;
    this.#unsyncedBatches = true;
    return new Promise((resolve, reject) => {
      fdatasync(fd, (error) => {
        this.#unsyncedBatches = false;
        if (!this.#db.open) this.#closeWal();
        if (error) reject(error);
        else resolve();
      });
    });
  }

  /** A sync that is under way ends before the log's descriptor is closed. */
  close(): void {
    if (this.#db?.open) this.#db.close();
    if (!this.#unsyncedBatches) this.#closeWal();
  }

  #closeWal(): void {
    if (this.#walFd !== undefined) closeSync(this.#walFd);
    this.#walFd = undefined;
  }
}

/** False when a process died before it had made the tables. */
/**
 * The database of a new shard gets its name when it is whole and durable: two syncs, where SQLite's own way to a WAL database with tables takes eight. A
 * -wal without a database belongs to one that was lost, and SQLite would play it into this one.
 */
function createDatabase(file: string, shard: number): void {
  const draft = `${file}.new`;
  for (const left of ['', '-journal', '-wal', '-shm']) if (existsSync(draft + left)) unlinkSync(draft + left);
  const db = new Database(draft);
  try {
    db.pragma('synchronous = OFF');
    db.pragma('journal_mode = WAL');
    addTables(db, shard);
  } finally {
    db.close();
  }
  syncNow(draft);
  if (existsSync(`${file}-wal`)) {
    unlinkSync(`${file}-wal`);
    syncNow(dirname(file));
  }
  renameSync(draft, file);
  syncNow(dirname(file));
}

/**
 * Makes the log that a process left durable as it is read now. It may end with a batch that was not synced, or whose sync failed, and what is read at open is
 * told to others at once: after a power cut they would have let go of finds that this shard never had. Written again, since the kernel may hold what it failed
 * to write for clean, and a sync alone then does nothing. The bytes stay the same, so readers and a crash on the way are not harmed.
 */
function keepLeftLog(log: string): void {
  if (!existsSync(log)) return;
  const fd = openSync(log, 'r+');
  try {
    const bytes = Buffer.allocUnsafe(LOG_PIECE_BYTES);
    for (let at = 0, read = 1; read > 0; at += read) {
      read = readSync(fd, bytes, 0, bytes.length, at);
      for (let done = 0; done < read; ) done += writeSync(fd, bytes, done, read - done, at + done);
    }
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function addTables(db: Database.Database, shard: number): void {
  db.transaction(() => {
    db.exec(SCHEMA);
    const put = db.prepare('INSERT INTO meta(key, value) VALUES (?, ?)');
    put.run('format', FORMAT_VERSION);
    put.run('shard', shard);
    put.run('commit_seq', 0);
    put.run('clean', 1);
    put.run('next_host_id', 1);
    put.run('next_content_id', 1);
    put.run('totals', '');
    put.run('marks', '');
    put.run('seen_manifest', '');
  })();
}

/** A file, or the names in a directory. */
function syncNow(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

export function hasTables(db: Database.Database): boolean {
  return (db.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name = 'meta'").get() as { n: number }).n > 0;
}

const NOTHING: OpenedShard = {
  commitSeq: 0,
  totals: '',
  marks: '',
  seenManifest: '',
  seenDeltas: [],
  nextHostId: 1,
  nextContentId: 1,
  outbox: [],
  taken: [],
  scopeHosts: [],
  unclean: false,
};

interface Statements {
  readonly hostById: Reading;
  readonly hostIdByKey: Reading;
  readonly hostScan: Reading;
  readonly hostPut: Statement;
  readonly chunkById: Reading;
  readonly chunkScan: Reading;
  readonly chunkPut: Statement;
  readonly chunkAppend: Statement;
  readonly chunkDelete: Statement;
  readonly robotsByOrigin: Reading;
  readonly robotsPut: Statement;
  readonly robotsBodyPut: Statement;
  readonly contentByHash: Reading;
  readonly contentById: Reading;
  readonly contentByText: Reading;
  readonly pagesBeyond: Reading;
  readonly pageDelete: Statement;
  readonly contentPut: Statement;
  readonly pageByKey: Reading;
  readonly pagePut: Statement;
  readonly fatePut: Statement;
  readonly fateDelete: Statement;
  readonly pageScan: Reading;
  readonly fateScan: Reading;
  readonly keyScan: Reading;
  readonly contentScan: Reading;
  readonly deltaPut: Statement;
  readonly deltaDelete: Statement;
  readonly outboxPut: Statement;
  readonly outboxDelete: Statement;
  readonly takenPut: Statement;
  readonly scopeHostPut: Statement;
  readonly metaPut: Statement;
}

const HOST_COLUMNS =
  'id, key, domain, state, address, admitted, queued, fetched, dropped, level, last_end_ms, owed_ms, gap_rule, due_ms, wait_until_ms, last_duration_ms, crawl_delay_ms, backoff, faults, set_aside, cycle_pages, cycle_start_ms, judged, near_duplicates, queues';
const PAGE_COLUMNS =
  'host_id, key, url, status, outcome, fetched_at_ms, etag, last_modified, content_hash, simhash, words, duplicate_of, duplicate_kind, change_rate, next_fetch_ms, segment, offset, length, via, depth, found_at_s, attempts, body_bytes, duration_ms';

function marks(columns: string): string {
  return columns
    .split(',')
    .map(() => '?')
    .join(',');
}

function prepareStatements(db: Database.Database): Statements {
  const prepare = (sql: string): Statement => db.prepare(sql) as unknown as Statement;
  const reading = (sql: string): Reading => new Reading(prepare(sql));
  return {
    hostById: reading('SELECT * FROM host WHERE id = ?'),
    hostIdByKey: reading('SELECT id FROM host WHERE key = ?'),
    hostScan: reading('SELECT id, key, domain, level, due_ms, queued FROM host ORDER BY id'),
    hostPut: prepare(`INSERT OR REPLACE INTO host(${HOST_COLUMNS}) VALUES (${marks(HOST_COLUMNS)})`),
    chunkById: reading('SELECT blob FROM chunk WHERE id = ?'),
    chunkScan: reading('SELECT c.host_id, c.level, c.seq, c.blob, h.queues FROM chunk c JOIN host h ON h.id = c.id >> 25 ORDER BY c.id'),
    chunkPut: prepare('INSERT OR REPLACE INTO chunk(id, n, blob) VALUES (?, ?, ?)'),
    chunkAppend: prepare('UPDATE chunk SET n = n + ?, blob = CAST(blob || ? AS BLOB) WHERE id = ?'),
    chunkDelete: prepare('DELETE FROM chunk WHERE id >= ? AND id < ?'),
    robotsByOrigin: reading('SELECT r.*, b.body FROM robots r LEFT JOIN robots_body b ON b.sha256 = r.body_sha256 WHERE r.origin = ?'),
    robotsPut: prepare(
      'INSERT OR REPLACE INTO robots(origin, state, status, body_sha256, fetched_at_ms, expires_at_ms, failing_since_ms, failures) VALUES (?,?,?,?,?,?,?,?)',
    ),
    robotsBodyPut: prepare('INSERT OR IGNORE INTO robots_body(sha256, body) VALUES (?, ?)'),
    contentByHash: reading('SELECT * FROM content WHERE hash = ?'),
    contentById: reading('SELECT * FROM content WHERE id = ?'),
    contentByText: reading('SELECT * FROM content WHERE text_hash = ?'),
    pagesBeyond: reading('SELECT * FROM page WHERE segment > ? OR (segment = ? AND offset + length > ?)'),
    pageDelete: prepare('DELETE FROM page WHERE host_id = ? AND key = ?'),
    contentPut: prepare(
      'INSERT OR IGNORE INTO content(id, hash, url, fetched_at_ms, payload_sha1, text_hash, simhash, sketch, words) VALUES (?,?,?,?,?,?,?,?,?)',
    ),
    pageByKey: reading('SELECT * FROM page WHERE host_id = ? AND key = ?'),
    pagePut: prepare(`INSERT OR REPLACE INTO page(${PAGE_COLUMNS}) VALUES (${marks(PAGE_COLUMNS)})`),
    fateDelete: prepare('DELETE FROM fate WHERE host_id = ? AND key = ?'),
    fatePut: prepare('INSERT OR REPLACE INTO fate(host_id, key, reason, at_ms, url, via, depth) VALUES (?,?,?,?,?,?,?)'),
    pageScan: reading('SELECT * FROM page'),
    fateScan: reading('SELECT * FROM fate'),
    keyScan: reading('SELECT key FROM page UNION ALL SELECT key FROM fate'),
    contentScan: reading('SELECT id, hash, text_hash, simhash, words FROM content ORDER BY id'),
    deltaPut: prepare('INSERT OR REPLACE INTO seen_delta(seq, keys) VALUES (?, ?)'),
    deltaDelete: prepare('DELETE FROM seen_delta WHERE seq < ?'),
    outboxPut: prepare('INSERT OR REPLACE INTO outbox(receiver, seq, n, blob) VALUES (?,?,?,?)'),
    outboxDelete: prepare('DELETE FROM outbox WHERE receiver = ? AND seq <= ?'),
    takenPut: prepare('INSERT OR REPLACE INTO taken(sender, seq, finds, list) VALUES (?,?,?,?)'),
    scopeHostPut: prepare('INSERT OR IGNORE INTO scope_host(host_key) VALUES (?)'),
    metaPut: prepare('INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)'),
  };
}

function applyBatch(on: Statements, batch: Batch): void {
  for (const chunk of batch.chunks) putChunk(on, chunk);
  for (const done of batch.chunksDone)
    on.chunkDelete.run(chunkId(done.hostId, done.level, done.fromSeq), chunkId(done.hostId, done.level, done.belowSeq));
  for (const host of batch.hosts) putHost(on, host);
  for (const page of batch.pagesGone) on.pageDelete.run(page.hostId, keyBlob(page.keyHi, page.keyLo));
  for (const page of batch.pages) putPage(on, page);
  for (const fate of batch.fatesGone ?? []) on.fateDelete.run(fate.hostId, keyBlob(fate.keyHi, fate.keyLo));
  for (const fate of batch.fates) putFate(on, fate);
  for (const row of batch.robots) putRobots(on, row);
  for (const row of batch.content) putContent(on, row);
  for (const delta of batch.seenDeltas)
    on.deltaPut.run(delta.seq, Buffer.from(delta.keys.buffer, delta.keys.byteOffset, delta.keys.byteLength));
  if (batch.seenManifest !== undefined) on.metaPut.run('seen_manifest', batch.seenManifest);
  if (batch.seenDeltasBelow >= 0) on.deltaDelete.run(batch.seenDeltasBelow);
  for (const row of batch.outbox) on.outboxPut.run(row.to, row.seq, row.count, row.blob);
  for (const done of batch.outboxDone) on.outboxDelete.run(done.to, done.upTo);
  for (const row of batch.taken) on.takenPut.run(row.from, row.seq, row.finds, row.list);
  for (const host of batch.scopeHosts) on.scopeHostPut.run(host);
  on.metaPut.run('next_host_id', batch.nextHostId);
  on.metaPut.run('next_content_id', batch.nextContentId);
  on.metaPut.run('totals', batch.totals);
  on.metaPut.run('marks', batch.marks);
  on.metaPut.run('clean', batch.clean ? 1 : 0);
  on.metaPut.run('commit_seq', batch.commitSeq);
}

function putChunk(on: Statements, chunk: ChunkWrite): void {
  assert(chunk.seq < SEQ_LIMIT, `chunk ${chunk.seq} of host ${chunk.hostId} is within the range of the format`);
  const id = chunkId(chunk.hostId, chunk.level, chunk.seq);
  if (!chunk.append) {
    on.chunkPut.run(id, chunk.count, chunk.blob);
    return;
  }
  const { changes } = on.chunkAppend.run(chunk.count, chunk.blob, id);
  if (changes !== 1) throw new PortolanError('PORTOLAN_STATE_DAMAGED', `queue chunk ${id} is missing`);
}

function putHost(on: Statements, host: HostRecord): void {
  const level = bestLevel(host);
  on.hostPut.run(
    host.id,
    host.key,
    host.domain,
    host.state,
    host.address,
    host.admitted,
    queuedTotal(host),
    host.fetched,
    host.dropped,
    level,
    Math.round(host.lastEndMs),
    Math.round(host.owedMs),
    host.gapRule,
    Math.round(hostDueMs(host)),
    Math.round(host.waitUntilMs),
    Math.round(host.lastDurationMs),
    Math.round(host.crawlDelayMs),
    host.backoff,
    host.faults,
    host.setAside,
    host.cyclePages,
    Math.round(host.cycleStartMs),
    host.judged,
    host.nearDuplicates,
    encodeQueues(host.queues),
  );
}

function putPage(on: Statements, page: PageRow): void {
  on.pagePut.run(
    page.hostId,
    keyBlob(page.keyHi, page.keyLo),
    page.url,
    page.status,
    page.outcome,
    Math.round(page.fetchedAtMs),
    page.etag || null,
    page.lastModified || null,
    page.contentHash ?? null,
    page.words > 0 ? keyBlob(page.simhashHi, page.simhashLo) : null,
    page.words,
    page.duplicateOf || null,
    page.duplicateKind || null,
    page.changeRate,
    Math.round(page.nextFetchMs),
    page.segment || null,
    page.segment ? page.offset : null,
    page.segment ? page.length : null,
    page.via,
    page.depth,
    page.foundAtS,
    page.attempts,
    page.bodyBytes,
    Math.round(page.durationMs),
  );
}

function putFate(on: Statements, fate: FateRow): void {
  on.fatePut.run(fate.hostId, keyBlob(fate.keyHi, fate.keyLo), fate.reason, Math.round(fate.atMs), fate.url, fate.via, fate.depth);
}

function putRobots(on: Statements, row: RobotsRow): void {
  if (row.body !== undefined && row.bodySha256 !== '') on.robotsBodyPut.run(row.bodySha256, row.body);
  on.robotsPut.run(
    row.origin,
    row.state,
    row.status,
    row.bodySha256,
    Math.round(row.fetchedAtMs),
    Math.round(row.expiresAtMs),
    Math.round(row.failingSinceMs),
    row.failures,
  );
}

export function keyBlob(hi: number, lo: number): Buffer {
  const key = Buffer.allocUnsafe(8);
  key.writeUInt32BE(hi, 0);
  key.writeUInt32BE(lo, 4);
  return key;
}

function keysOf(bytes: Buffer): Uint32Array {
  const keys = new Uint32Array(bytes.length / 4);
  new Uint8Array(keys.buffer).set(bytes);
  return keys;
}

function putContent(on: Statements, row: ContentRow): void {
  const simhash = row.words > 0 ? keyBlob(row.simhashHi, row.simhashLo) : null;
  const { textHash = null, sketch = null } = row;
  on.contentPut.run(row.id, row.hash, row.url, Math.round(row.fetchedAtMs), row.payloadSha1, textHash, simhash, sketch, row.words);
}

function contentFromRow(row: Row): ContentRow {
  return {
    ...printFromRow(row),
    sketch: (row['sketch'] as Buffer | null) ?? undefined,
    url: row['url'] as string,
    fetchedAtMs: row['fetched_at_ms'] as number,
    payloadSha1: row['payload_sha1'] as string,
  };
}

function printFromRow(row: Row): ContentPrint {
  const simhash = row['simhash'] as Buffer | null;
  return {
    id: row['id'] as number,
    hash: row['hash'] as Buffer,
    textHash: (row['text_hash'] as Buffer | null) ?? undefined,
    simhashHi: simhash?.readUInt32BE(0) ?? 0,
    simhashLo: simhash?.readUInt32BE(4) ?? 0,
    words: row['words'] as number,
  };
}

/** Queues as text: six `headSeq:headOffset:tailSeq:tailBytes:queued` joined by blanks. */
function encodeQueues(queues: readonly HostQueue[]): string {
  let text = '';
  for (const queue of queues)
    text += `${text === '' ? '' : ' '}${queue.headSeq}:${queue.headOffset}:${queue.tailSeq}:${queue.tailBytes}:${queue.queued}`;
  return text;
}

function decodeQueues(text: string): HostQueue[] {
  return text.split(' ').map((part) => {
    const [headSeq = 1, headOffset = 0, tailSeq = 0, tailBytes = 0, queued = 0] = part.split(':').map(Number);
    return { headSeq, headOffset, tailSeq, tailBytes, queued };
  });
}

export function hostFromRow(row: Row): HostRecord {
  return {
    id: row['id'] as number,
    key: row['key'] as string,
    domain: row['domain'] as string,
    state: row['state'] as HostState,
    queues: decodeQueues(row['queues'] as string),
    admitted: row['admitted'] as number,
    fetched: row['fetched'] as number,
    dropped: row['dropped'] as number,
    lastEndMs: row['last_end_ms'] as number,
    owedMs: row['owed_ms'] as number,
    gapRule: row['gap_rule'] as GapRule,
    lastDurationMs: row['last_duration_ms'] as number,
    crawlDelayMs: row['crawl_delay_ms'] as number,
    backoff: row['backoff'] as number,
    faults: row['faults'] as number,
    setAside: row['set_aside'] as number,
    waitUntilMs: row['wait_until_ms'] as number,
    cyclePages: row['cycle_pages'] as number,
    cycleStartMs: row['cycle_start_ms'] as number,
    judged: row['judged'] as number,
    nearDuplicates: row['near_duplicates'] as number,
    address: row['address'] as string,
  };
}

export function pageFromRow(row: Row): PageRow {
  const key = row['key'] as Buffer;
  const simhash = row['simhash'] as Buffer | null;
  return {
    hostId: row['host_id'] as number,
    keyHi: key.readUInt32BE(0),
    keyLo: key.readUInt32BE(4),
    url: row['url'] as string,
    status: row['status'] as number,
    outcome: row['outcome'] as OutcomeCode,
    fetchedAtMs: row['fetched_at_ms'] as number,
    etag: (row['etag'] as string | null) ?? '',
    lastModified: (row['last_modified'] as string | null) ?? '',
    contentHash: (row['content_hash'] as Buffer | null) ?? undefined,
    simhashHi: simhash?.readUInt32BE(0) ?? 0,
    simhashLo: simhash?.readUInt32BE(4) ?? 0,
    words: row['words'] as number,
    duplicateOf: (row['duplicate_of'] as string | null) ?? '',
    duplicateKind: ((row['duplicate_kind'] as string | null) ?? '') as PageRow['duplicateKind'],
    changeRate: row['change_rate'] as number,
    nextFetchMs: row['next_fetch_ms'] as number,
    segment: (row['segment'] as string | null) ?? '',
    offset: (row['offset'] as number | null) ?? 0,
    length: (row['length'] as number | null) ?? 0,
    via: row['via'] as string,
    depth: row['depth'] as number,
    foundAtS: row['found_at_s'] as number,
    attempts: row['attempts'] as number,
    bodyBytes: row['body_bytes'] as number,
    durationMs: row['duration_ms'] as number,
  };
}

export function fateFromRow(row: Row): FateRow {
  const key = row['key'] as Buffer;
  return {
    hostId: row['host_id'] as number,
    keyHi: key.readUInt32BE(0),
    keyLo: key.readUInt32BE(4),
    reason: row['reason'] as DropReason,
    atMs: row['at_ms'] as number,
    url: row['url'] as string,
    via: row['via'] as string,
    depth: row['depth'] as number,
  };
}

/** Of a row of robots joined with its body. */
export function robotsFromRow(row: Row): RobotsRow {
  return {
    origin: row['origin'] as string,
    state: row['state'] as string,
    status: row['status'] as number,
    body: (row['body'] as Buffer | null) ?? undefined,
    bodySha256: row['body_sha256'] as string,
    fetchedAtMs: row['fetched_at_ms'] as number,
    expiresAtMs: row['expires_at_ms'] as number,
    failingSinceMs: row['failing_since_ms'] as number,
    failures: row['failures'] as number,
  };
}

/** The PortolanError for what SQLite or the file system threw. */
export function storeError(error: unknown, what: string): PortolanError {
  if (error instanceof PortolanError) return error;
  const code = (error as { code?: string }).code ?? '';
  const detail = error instanceof Error ? error.message : String(error);
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code === 'EDQUOT') {
    return new PortolanError('PORTOLAN_DISK_FULL', `${what}: the disk is full`, {
      cause: error,
      remedy: 'make space and run the same command again; nothing that was committed is lost',
    });
  }
  if (code.startsWith('SQLITE_READONLY') || code === 'EROFS' || code === 'EACCES' || code === 'SQLITE_CANTOPEN') {
    return new PortolanError('PORTOLAN_DISK_READ_ONLY', `${what}: ${detail}`, {
      cause: error,
      remedy: 'make the directory writable for this user',
    });
  }
  if (code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB') {
    return new PortolanError('PORTOLAN_STATE_DAMAGED', `${what}: ${detail}`, {
      cause: error,
      remedy: 'restore the crawl directory from a backup',
    });
  }
  return new PortolanError('PORTOLAN_STORE_COMMIT_FAILED', `${what}: ${detail}`, {
    cause: error,
    remedy: 'look at the cause, then run the same command again',
  });
}
