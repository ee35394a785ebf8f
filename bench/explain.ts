/**
 * What `portolan explain` takes on a crawl of 10^7 URLs (the bound is 100 ms): fills a crawl directory through the ShardStore port as a crawl would leave it (80 %
 * queued, 15 % fetched, 5 % dropped; hosts by Zipf's law, so that the largest has some 8 % of all URLs), then asks for URLs of each kind, and last for a URL that
 * waits at the end of a host that alone holds a tenth. Answers are timed with the opening of the databases; the whole process is timed apart.
 * Options: --urls N (default 10000000), --hosts N (default 100000), --asks N (default 40), --dir DIR (kept, and used again when it is there).
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRandom } from '../src/adapters/node/random.ts';
import { createSqliteStore } from '../src/adapters/sqlite/shard-store.ts';
import { openCrawlDir } from '../src/cli/crawl-dir.ts';
import { explainUrl } from '../src/cli/explain.ts';
import { parseConfig } from '../src/config/schema.ts';
import { ByteWriter } from '../src/core/bytes.ts';
import { newHostRecord } from '../src/core/host.ts';
import { type FateRow, type PageRow, writeQueueEntry } from '../src/core/records.ts';
import { emptyTotals } from '../src/engine/accounting.ts';
import type { Batch, ChunkWrite } from '../src/ports/shard-store.ts';
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS, registrableDomain, shardOf, urlKey } from '../src/url/index.ts';
import { batch as batchOf } from '../test/contract/batches.ts';
import { capture, portolan } from '../test/support/process.ts';

const option = (name: string, fallback: string): string => {
  const at = process.argv.indexOf(name);
  return at < 0 ? fallback : process.argv[at + 1]!;
};
const urls = Number(option('--urls', '10000000'));
const hosts = Number(option('--hosts', '100000'));
const asks = Number(option('--asks', '40'));
const kept = option('--dir', '');
const SHARDS = 4;
const WHOLE_PROCESSES = 15;
const HOSTS_PER_BATCH = 2_000;
const CHUNK_BYTES = 16_384;
const FOUND_AT_S = 1_800_000_000;
const DAY_MS = 86_400_000;

const random = createRandom(7);
const canonicalize = createCanonicalizer(DEFAULT_CANONICAL_OPTIONS);
const key = new Uint32Array(2);
const harmonic = Array.from({ length: hosts }, (_, n) => 1 / (n + 1)).reduce((a, b) => a + b, 0);

const hostName = (n: number): string => `www.site-${n}.example`;
const urlOf = (host: number, n: number): string => `https://${hostName(host)}/section-${n % 37}/article-${n}.html`;
const urlsOfHost = (host: number): number => Math.max(1, Math.round(urls / harmonic / (host + 1)));
const kindOf = (n: number): 'queued' | 'fetched' | 'dropped' => (n % 20 < 16 ? 'queued' : n % 20 < 19 ? 'fetched' : 'dropped');

function pageRow(hostId: number, url: string, via: string): PageRow {
  return {
    ...{ hostId, keyHi: key[0]!, keyLo: key[1]!, url, status: 200, outcome: 'ok', fetchedAtMs: FOUND_AT_S * 1_000 },
    ...{
      etag: '"5f3a-61b2"',
      lastModified: 'Mon, 30 Nov 2026 12:00:00 GMT',
      contentHash: Buffer.alloc(32, key[0]! & 255),
      simhashHi: key[0]!,
      simhashLo: key[1]!,
    },
    ...{
      words: 400,
      duplicateOf: '',
      duplicateKind: '',
      changeRate: 0,
      nextFetchMs: 0,
      segment: 'warc/portolan-s0-00000.warc.gz',
      offset: 1,
      length: 9,
    },
    ...{ via, depth: 2, foundAtS: FOUND_AT_S, attempts: 1, bodyBytes: 41_000, durationMs: 120 },
  };
}

function fateRow(hostId: number, url: string, via: string): FateRow {
  return { hostId, keyHi: key[0]!, keyLo: key[1]!, reason: 'robots-disallowed', atMs: FOUND_AT_S * 1_000, url, via, depth: 2 };
}

async function fill(dir: string): Promise<number> {
  const meta = {
    format: 1,
    shards: SHARDS,
    shardFunction: 1,
    suffixList: '',
    canonicalizer: 1,
    parameters: '',
    scope: { mode: 'web', include: [], exclude: [] },
    createdAtMs: 0,
  };
  mkdirSync(join(dir, 'state'), { recursive: true });
  writeFileSync(join(dir, 'state', 'config.json'), JSON.stringify(parseConfig({ agent: { contact: 'bench@example.org' } }, 'bench')));
  let total = 0;
  const own = Array.from({ length: SHARDS }, () => [] as number[]);
  for (let host = 0; host < hosts; host++) own[shardOf(registrableDomain(hostName(host)), SHARDS)]!.push(host);
  for (const [shard, list] of own.entries()) {
    const store = createSqliteStore({ file: join(dir, 'state', `shard-${shard}`, 'state.db'), cacheBytes: 64 << 20 });
    store.open(shard);
    let commitSeq = 0;
    let nextId = 1;
    let batch = emptyBatch();
    const commit = async (): Promise<void> => {
      commitSeq++;
      await store.commit({ ...batch, commitSeq, nextHostId: nextId });
      batch = emptyBatch();
    };
    for (const host of list) {
      total += addHost(batch, nextId++, host);
      if (batch.hosts.length >= HOSTS_PER_BATCH || batch.pages.length > 50_000 || batch.chunks.length > 5_000) await commit();
    }
    await commit();
    store.close();
  }
  writeFileSync(join(dir, 'crawl.json'), JSON.stringify(meta));
  return total;
}

type Filling = { -readonly [K in keyof Batch]: Batch[K] extends readonly (infer T)[] ? T[] : Batch[K] };

function emptyBatch(): Filling {
  return batchOf(0, { clean: true, totals: JSON.stringify(emptyTotals()), marks: '' }) as Filling;
}

function addHost(batch: Filling, id: number, host: number): number {
  const record = newHostRecord(id, hostName(host), registrableDomain(hostName(host)));
  const out = new ByteWriter(CHUNK_BYTES * 2);
  const queue = record.queues[3]!;
  let count = 0;
  let previous: string | undefined;
  const close = (): void => {
    if (count === 0) return;
    queue.tailSeq++;
    const chunk: ChunkWrite = { hostId: id, level: 3, seq: queue.tailSeq, count, blob: out.take(), append: false };
    batch.chunks.push(chunk);
    out.reset();
    count = 0;
    previous = undefined;
  };
  const all = urlsOfHost(host);
  for (let n = 0; n < all; n++) {
    const url = urlOf(host, n);
    const via = n < 60 ? `https://${hostName(host)}/` : urlOf(host, Math.floor(n / 60) * 20 + 16);
    urlKey(canonicalize(url), key);
    record.admitted++;
    const kind = kindOf(n);
    if (kind === 'fetched') {
      record.fetched++;
      batch.pages.push(pageRow(id, url, via));
    } else if (kind === 'dropped') {
      record.dropped++;
      batch.fates.push(fateRow(id, url, via));
    } else {
      queue.queued++;
      const pathQuery = url.slice(url.indexOf('/', 8));
      writeQueueEntry(
        out,
        {
          https: true,
          pathQuery,
          keyHi: key[0]!,
          keyLo: key[1]!,
          kind: 'link',
          depth: 2,
          via,
          foundAtS: FOUND_AT_S,
          attempts: 0,
          notBeforeMs: 0,
          chain: undefined,
        },
        previous,
      );
      previous = via;
      count++;
      if (out.length > CHUNK_BYTES) close();
    }
  }
  close();
  record.lastEndMs = FOUND_AT_S * 1_000;
  record.owedMs = 1_000;
  record.gapRule = 'default';
  batch.hosts.push(record);
  const body = Buffer.from('User-agent: *\nDisallow: /private/\n');
  const expiresAtMs = FOUND_AT_S * 1_000 + DAY_MS;
  batch.robots.push({
    ...{
      origin: `https://${hostName(host)}`,
      state: 'rules',
      status: 200,
      body,
      bodySha256: 'one',
      fetchedAtMs: FOUND_AT_S * 1_000,
      expiresAtMs,
      failingSinceMs: 0,
      failures: 0,
    },
  });
  return all;
}

async function ask(dir: string, url: string, state: string): Promise<Took> {
  const started = performance.now();
  const before = process.cpuUsage();
  const crawl = openCrawlDir(dir);
  const answer = await explainUrl(url, crawl, {}, Date.now());
  crawl.close();
  if (answer.verdict.state !== state) throw new Error(`${url} is ${answer.verdict.state}, not ${state}`);
  const { user, system } = process.cpuUsage(before);
  return { wallMs: performance.now() - started, cpuMs: (user + system) / 1_000 };
}

/** On a busy machine the wall time is that of others; the CPU time is ours. */
interface Took {
  readonly wallMs: number;
  readonly cpuMs: number;
}

function both(took: readonly Took[]): string {
  return `${summary(took.map(({ wallMs }) => wallMs))}; CPU ${summary(took.map(({ cpuMs }) => cpuMs))}`;
}

function summary(times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): string => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1);
  return `median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`;
}

const dir = kept === '' ? mkdtempSync(join(tmpdir(), 'portolan-explain-')) : kept;
try {
  if (!existsSync(join(dir, 'crawl.json'))) {
    const started = performance.now();
    const total = await fill(dir);
    console.log(`${total} URLs of ${hosts} hosts filled in ${((performance.now() - started) / 1_000).toFixed(0)} s`);
  }
  const anyUrl = (kind: string): string => {
    for (;;) {
      // A host as a URL drawn at random would have it, but not the few largest.
      const host = Math.min(hosts - 1, Math.floor(hosts ** random.next()));
      const n = Math.floor(random.next() * urlsOfHost(host));
      if (kindOf(n) === kind) return urlOf(host, n);
    }
  };
  await ask(dir, anyUrl('fetched'), 'fetched');
  for (const kind of ['fetched', 'dropped', 'queued']) {
    const times: Took[] = [];
    for (let n = 0; n < asks; n++) times.push(await ask(dir, anyUrl(kind), kind));
    console.log(`${kind}: ${both(times)}`);
  }
  const unknown: Took[] = [];
  for (let n = 0; n < asks; n++)
    unknown.push(await ask(dir, `https://${hostName(Math.floor(hosts ** random.next()))}/not-there-${n}`, 'not found yet'));
  console.log(`not known: ${both(unknown)}`);
  const last = urlsOfHost(0) - 1 - ((urlsOfHost(0) - 1) % 20);
  const longest: Took[] = [];
  for (let n = 0; n < 5; n++) longest.push(await ask(dir, urlOf(0, last - n * 20), 'queued'));
  console.log(`queued last of the ${urlsOfHost(0)} URLs of the largest host: ${both(longest)}`);
  const whole: number[] = [];
  const empty: number[] = [];
  const took = async (command: string, args: readonly string[]): Promise<number> => {
    const started = performance.now();
    const { code, stderr } = await capture(command, args);
    if (code !== 0) throw new Error(stderr);
    return performance.now() - started;
  };
  for (let n = 0; n <= WHOLE_PROCESSES; n++) {
    const { command, args } = portolan('explain', dir, urlOf(3, n * 20));
    const times = [await took(command, args), await took(command, ['-e', '0'])] as const;
    // The first run fills the compile cache.
    if (n === 0) continue;
    whole.push(times[0]);
    empty.push(times[1]);
  }
  console.log(`whole process: ${summary(whole)}; an empty one of Node.js: ${summary(empty)}`);
} finally {
  if (kept === '') rmSync(dir, { recursive: true });
}
