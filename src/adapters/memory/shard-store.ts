/**
 * ShardStore in memory, for the simulator and for tests. The tables live in a MemoryShardState, which is the "disk": it outlives the store
 * that was opened on it, as a file outlives a process.
 *
 * Invariant: a batch is applied whole before `commit` returns, and every change leaves an undo step until the sync that covers it succeeds; so
 * `crash('lost')` gives exactly the state of the last synced batch. Opening syncs what a process that died has left. A store whose state crashed or
 * was opened again is dead: its commits never settle, as those of a killed process never do.
 * What it does not do: fence epochs, or copy blobs (a batch is a value; nobody changes it after handing it in).
 */
import { assert, PortolanError } from '../../core/errors.ts';
import { bestLevel, copyHost, type HostRecord, hostDueMs, queuedTotal } from '../../core/host.ts';
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

export interface MemoryStoreOptions {
  /** Stands for the sync of the log: a commit becomes durable, or fails, with it. Default: at once. */
  readonly sync?: () => Promise<void>;
}

interface Meta {
  readonly commitSeq: number;
  readonly clean: boolean;
  readonly totals: string;
  readonly marks: string;
  readonly seenManifest: string;
  readonly nextHostId: number;
  readonly nextContentId: number;
}

/** Chunks of one queue are numbered below this. */
const SEQ_LIMIT = 2 ** 22;
const EMPTY_META: Meta = { commitSeq: 0, clean: true, totals: '', marks: '', seenManifest: '', nextHostId: 1, nextContentId: 1 };

/** A map whose changes can be taken back. */
class Table<K, V> {
  readonly rows = new Map<K, V>();
  readonly #undo: (() => void)[];

  constructor(undo: (() => void)[]) {
    this.#undo = undo;
  }

  set(key: K, value: V): void {
    const { rows } = this;
    const before = rows.get(key);
    const had = before !== undefined || rows.has(key);
    this.#undo.push(() => (had ? rows.set(key, before as V) : rows.delete(key)));
    rows.set(key, value);
  }

  delete(key: K): void {
    const { rows } = this;
    if (!rows.has(key)) return;
    const before = rows.get(key) as V;
    this.#undo.push(() => rows.set(key, before));
    rows.delete(key);
  }
}

/** What survives a reopen: the tables of one shard. */
export class MemoryShardState {
  readonly #undo: (() => void)[] = [];
  #incarnation = 0;
  #shard: number | undefined;
  readonly hosts = new Table<number, HostRecord>(this.#undo);
  readonly hostIds = new Table<string, number>(this.#undo);
  readonly chunks = new Table<number, Uint8Array>(this.#undo);
  readonly pages = new Table<string, PageRow>(this.#undo);
  readonly fates = new Table<string, FateRow>(this.#undo);
  readonly robots = new Table<string, RobotsRow>(this.#undo);
  readonly robotsBodies = new Table<string, Uint8Array>(this.#undo);
  readonly content = new Table<number, ContentRow>(this.#undo);
  readonly contentByHash = new Table<string, number>(this.#undo);
  readonly contentByText = new Table<string, number>(this.#undo);
  readonly deltas = new Table<number, SeenDelta>(this.#undo);
  readonly outbox = new Table<string, OutboxRow>(this.#undo);
  readonly taken = new Table<number, TakenRow>(this.#undo);
  readonly scopeHosts = new Table<string, true>(this.#undo);
  readonly meta = new Table<'meta', Meta>(this.#undo);

  get isNew(): boolean {
    return this.#shard === undefined;
  }

  /** Takes the state over: stores opened before are dead. */
  take(shard: number): number {
    if (this.#shard !== undefined && this.#shard !== shard) {
      throw new PortolanError('PORTOLAN_STATE_DAMAGED', `the state of shard ${this.#shard} was opened as shard ${shard}`);
    }
    this.#shard = shard;
    return ++this.#incarnation;
  }

  isLive(incarnation: number): boolean {
    return incarnation === this.#incarnation;
  }

  /** Steps that would take back what no sync has covered; 0 when everything is durable. */
  get unsyncedSteps(): number {
    return this.#undo.length;
  }

  /** Everything applied so far is durable. */
  synced(): void {
    this.#undo.length = 0;
  }

  takeBackTo(steps: number): void {
    while (this.#undo.length > steps) this.#undo.pop()!();
  }

  /** The process dies, and with 'lost' the machine too: what no sync has covered is gone. With 'kept' it is there, as after kill -9. */
  crash(unsynced: 'lost' | 'kept'): void {
    this.#incarnation++;
    if (unsynced === 'lost') this.takeBackTo(0);
  }
}

export function createMemoryStore(state: MemoryShardState, options: MemoryStoreOptions = {}): ShardStore {
  return new MemoryStore(state, options);
}

class MemoryStore implements ShardStore {
  readonly #state: MemoryShardState;
  readonly #sync: (() => Promise<void>) | undefined;
  #incarnation = 0;
  #failed = false;

  constructor(state: MemoryShardState, options: MemoryStoreOptions) {
    this.#state = state;
    this.#sync = options.sync;
  }

  open(shard: number): OpenedShard {
    const state = this.#state;
    const { isNew } = state;
    this.#incarnation = state.take(shard);
    state.synced();
    const { commitSeq, clean, totals, marks, seenManifest, nextHostId, nextContentId } = metaOf(state);
    return {
      commitSeq,
      totals,
      marks,
      seenManifest,
      nextHostId,
      nextContentId,
      seenDeltas: [...state.deltas.rows.values()].sort((a, b) => a.seq - b.seq),
      outbox: [...state.outbox.rows.values()].sort((a, b) => a.to - b.to || a.seq - b.seq),
      taken: [...state.taken.rows.values()],
      scopeHosts: [...state.scopeHosts.rows.keys()],
      unclean: !clean,
      isNew,
    };
  }

  readHost(id: number): HostRecord | undefined {
    const host = this.#live().hosts.rows.get(id);
    return host === undefined ? undefined : copyHost(host);
  }

  findHostId(key: string): number | undefined {
    return this.#live().hostIds.rows.get(key);
  }

  scanHosts(each: (host: HostScan) => void): void {
    for (const host of [...this.#live().hosts.rows.values()].sort((a, b) => a.id - b.id)) {
      each({ id: host.id, key: host.key, domain: host.domain, level: bestLevel(host), dueMs: hostDueMs(host), queued: queuedTotal(host) });
    }
  }

  readChunk(hostId: number, level: number, seq: number): Uint8Array | undefined {
    return this.#live().chunks.rows.get(chunkKey(hostId, level, seq));
  }

  readRobots(origin: string): RobotsRow | undefined {
    const { robots, robotsBodies } = this.#live();
    const row = robots.rows.get(origin);
    return row === undefined ? undefined : { ...row, body: robotsBodies.rows.get(row.bodySha256) };
  }

  findContent(hash: Uint8Array): ContentRow | undefined {
    const id = this.#live().contentByHash.rows.get(hex(hash));
    return id === undefined ? undefined : this.readContent(id);
  }

  readContent(id: number): ContentRow | undefined {
    return this.#live().content.rows.get(id);
  }

  findText(textHash: Uint8Array): ContentRow | undefined {
    const id = this.#live().contentByText.rows.get(hex(textHash));
    return id === undefined ? undefined : this.readContent(id);
  }

  pagesBeyond(segment: string, bytes: number): PageRow[] {
    return [...this.#live().pages.rows.values()].filter(
      (page) => page.segment > segment || (page.segment === segment && page.offset + page.length > bytes),
    );
  }

  readPage(hostId: number, keyHi: number, keyLo: number): PageRow | undefined {
    return this.#live().pages.rows.get(urlKey(hostId, keyHi, keyLo));
  }

  scanPages(each: (page: PageRow) => void): void {
    for (const page of this.#live().pages.rows.values()) each(page);
  }

  scanFates(each: (fate: FateRow) => void): void {
    for (const fate of this.#live().fates.rows.values()) each(fate);
  }

  scanKeys(each: (keyHi: number, keyLo: number) => void): void {
    const { pages, fates } = this.#live();
    for (const { keyHi, keyLo } of pages.rows.values()) each(keyHi, keyLo);
    for (const { keyHi, keyLo } of fates.rows.values()) each(keyHi, keyLo);
  }

  scanContent(each: (print: ContentPrint) => void): void {
    for (const row of [...this.#live().content.rows.values()].sort((a, b) => a.id - b.id)) each(row);
  }

  scanEntries(each: (hostId: number, level: number, entry: QueueEntry) => void): void {
    const { hosts, chunks } = this.#live();
    for (const [id, blob] of [...chunks.rows].sort(([a], [b]) => a - b)) {
      const hostId = Math.floor(id / (8 * SEQ_LIMIT));
      const level = Math.floor(id / SEQ_LIMIT) % 8;
      const queue = hosts.rows.get(hostId)?.queues[level];
      if (queue === undefined) continue;
      const consumed = id % SEQ_LIMIT === queue.headSeq ? queue.headOffset : 0;
      for (const entry of readQueueEntries(blob, consumed, Number.POSITIVE_INFINITY)) each(hostId, level, entry);
    }
  }

  async commit(batch: Batch): Promise<void> {
    if (this.#failed) throw new PortolanError('PORTOLAN_STORE_COMMIT_FAILED', 'the store was closed by an earlier failure');
    const state = this.#live();
    const { commitSeq } = metaOf(state);
    if (batch.commitSeq === commitSeq) return;
    try {
      if (batch.commitSeq !== commitSeq + 1)
        throw new PortolanError('PORTOLAN_ENGINE_INVARIANT', `commit ${batch.commitSeq} follows ${commitSeq}`);
      const before = state.unsyncedSteps;
      try {
        applyBatch(state, batch);
      } catch (error) {
        state.takeBackTo(before);
        throw error;
      }
      await this.#sync?.();
    } catch (error) {
      this.#failed = true;
      throw error instanceof PortolanError
        ? error
        : new PortolanError('PORTOLAN_STORE_COMMIT_FAILED', 'a batch could not be made durable', { cause: error });
    }
    if (!state.isLive(this.#incarnation)) await new Promise<never>(() => {});
    state.synced();
  }

  close(): void {
    this.#failed = true;
  }

  #live(): MemoryShardState {
    if (!this.#state.isLive(this.#incarnation))
      throw new PortolanError('PORTOLAN_STORE_COMMIT_FAILED', 'the store belongs to a process that has ended');
    return this.#state;
  }
}

function applyBatch(state: MemoryShardState, batch: Batch): void {
  for (const chunk of batch.chunks) putChunk(state, chunk);
  for (const done of batch.chunksDone)
    for (let seq = done.fromSeq; seq < done.belowSeq; seq++) state.chunks.delete(chunkKey(done.hostId, done.level, seq));
  for (const host of batch.hosts) {
    state.hosts.set(host.id, copyHost(host));
    state.hostIds.set(host.key, host.id);
  }
  for (const page of batch.pagesGone) state.pages.delete(urlKey(page.hostId, page.keyHi, page.keyLo));
  for (const page of batch.pages) state.pages.set(urlKey(page.hostId, page.keyHi, page.keyLo), page);
  for (const fate of batch.fatesGone ?? []) state.fates.delete(urlKey(fate.hostId, fate.keyHi, fate.keyLo));
  for (const fate of batch.fates) state.fates.set(urlKey(fate.hostId, fate.keyHi, fate.keyLo), fate);
  for (const row of batch.robots) putRobots(state, row);
  for (const row of batch.content) putContent(state, row);
  for (const delta of batch.seenDeltas) state.deltas.set(delta.seq, delta);
  if (batch.seenDeltasBelow > 0) for (const seq of [...state.deltas.rows.keys()]) if (seq < batch.seenDeltasBelow) state.deltas.delete(seq);
  for (const row of batch.outbox) state.outbox.set(`${row.to}/${row.seq}`, row);
  for (const done of batch.outboxDone)
    for (const row of [...state.outbox.rows.values()])
      if (row.to === done.to && row.seq <= done.upTo) state.outbox.delete(`${row.to}/${row.seq}`);
  for (const row of batch.taken) state.taken.set(row.from, row);
  for (const host of batch.scopeHosts) state.scopeHosts.set(host, true);
  const { commitSeq, clean, totals, marks, nextHostId, nextContentId } = batch;
  state.meta.set('meta', {
    commitSeq,
    clean,
    totals,
    marks,
    nextHostId,
    nextContentId,
    seenManifest: batch.seenManifest ?? metaOf(state).seenManifest,
  });
}

function putChunk(state: MemoryShardState, chunk: ChunkWrite): void {
  assert(chunk.seq < SEQ_LIMIT, `chunk ${chunk.seq} of host ${chunk.hostId} is within the range of the format`);
  const key = chunkKey(chunk.hostId, chunk.level, chunk.seq);
  if (!chunk.append) {
    state.chunks.set(key, chunk.blob);
    return;
  }
  const stored = state.chunks.rows.get(key);
  if (stored === undefined) throw new PortolanError('PORTOLAN_STATE_DAMAGED', `queue chunk ${key} is missing`);
  state.chunks.set(key, Buffer.concat([stored, chunk.blob]));
}

function putRobots(state: MemoryShardState, row: RobotsRow): void {
  if (row.body !== undefined && row.bodySha256 !== '' && !state.robotsBodies.rows.has(row.bodySha256))
    state.robotsBodies.set(row.bodySha256, row.body);
  state.robots.set(row.origin, { ...row, body: undefined });
}

/** The first row of a hash stays, as for a page that two commits take for new. */
function putContent(state: MemoryShardState, row: ContentRow): void {
  const hash = hex(row.hash);
  if (state.content.rows.has(row.id) || state.contentByHash.rows.has(hash)) return;
  state.content.set(row.id, row);
  state.contentByHash.set(hash, row.id);
  if (row.textHash === undefined) return;
  const text = hex(row.textHash);
  const first = state.contentByText.rows.get(text);
  if (first === undefined || row.id < first) state.contentByText.set(text, row.id);
}

function metaOf(state: MemoryShardState): Meta {
  return state.meta.rows.get('meta') ?? EMPTY_META;
}

/** Orders chunks by host, level and number. */
function chunkKey(hostId: number, level: number, seq: number): number {
  return (hostId * 8 + level) * SEQ_LIMIT + seq;
}

function urlKey(hostId: number, keyHi: number, keyLo: number): string {
  return `${hostId}/${keyHi}/${keyLo}`;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}
