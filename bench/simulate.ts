/**
 * What a simulated fetch costs: the engine and its rooms without sockets, kernel and page bodies. Fetches per second of CPU time and peak memory of one process,
 * with tables in memory and with SQLite below the same engine.
 *
 *   npm run bench:sim -- [--web NAME|FILE] [--body generated|links|text] [--hosts 2000] [--for 25m] [--seed 1] [--rate 0] [--shards 4]
 *                        [--store memory|sqlite|both] [--smoke] [--json]
 *
 * Each store runs in a process of its own. A fetch is an exchange with a server, robots.txt included. `--body` is the form of pages (docs/SIMULATION.md), `--rate`
 * the crawl's requests per second (0: as many as politeness allows). Both laws are checked at every commit and every pause at every request, as always.
 * The preset `broad` has pages that are handed over as generated, and about as many new hosts as fetches; `warm`, the default, is the same web with 500 hosts, as a crawl sees it that has found its hosts;
 * `cold` is the opposite: pages of hundreds of links to hosts never met, a million of them within 15 s of virtual time.
 * The same seed and options print the same `eventHash` with the memory store; SQLite's commits take no virtual time but that of the simulated disk.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createSqliteStore } from '../src/adapters/sqlite/shard-store.ts';
import { simParts } from '../src/compose-sim.ts';
import { parseConfig } from '../src/config/schema.ts';
import { parseDuration } from '../src/config/units.ts';
import type { SimParts, SimStores } from '../src/sim/parts.ts';
import { runSimulation, type SimulationResult } from '../src/sim/run.ts';
import { parseWebOptions, WEB_PRESETS, type WebOptions } from '../src/sim/web/options.ts';

interface Measured {
  readonly store: string;
  readonly web: string;
  readonly body: WebOptions['body'];
  readonly shards: number;
  readonly fetches: number;
  readonly cpuS: number;
  readonly fetchesPerCpuS: number;
  /** Largest resident memory of the process. */
  readonly rssMB: number;
  readonly hosts: number;
  readonly urls: number;
  readonly links: number;
  readonly virtualS: number;
  readonly commits: number;
  readonly eventHash: string;
  readonly findings: readonly string[];
}

const SQLITE_CACHE_BYTES = 64 * 1_048_576;

const WEBS: Readonly<Record<string, WebOptions>> = {
  ...WEB_PRESETS,
  warm: { ...WEB_PRESETS.broad, sites: 300, pagesPerHost: { min: 200, alpha: 1.5, max: 20_000 } },
  cold: { ...WEB_PRESETS.broad, sites: 2_000_000, links: { ...WEB_PRESETS.broad.links, min: 150, max: 1_000, away: 0.95 } },
};

const { values: flags } = parseArgs({
  options: {
    web: { type: 'string', default: 'warm' },
    body: { type: 'string' },
    rate: { type: 'string', default: '0' },
    shards: { type: 'string', default: '4' },
    hosts: { type: 'string', default: '2000' },
    for: { type: 'string', default: '25m' },
    seed: { type: 'string', default: '1' },
    store: { type: 'string', default: 'both' },
    smoke: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});

if (flags.store === 'both') runBoth();
else await runOne(flags.store);

function runBoth(): void {
  for (const store of ['memory', 'sqlite']) {
    const args = [import.meta.filename, ...process.argv.slice(2), '--store', store];
    process.stdout.write(execFileSync(process.execPath, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }));
  }
}

async function runOne(store: string): Promise<void> {
  const measured = await measure(store);
  process.stdout.write(`${flags.json ? JSON.stringify(measured) : describe(measured)}\n`);
  if (measured.findings.length > 0) process.exitCode = 1;
}

async function measure(store: string): Promise<Measured> {
  const dir = store === 'sqlite' ? mkdtempSync(join(tmpdir(), 'portolan-bench-sim-')) : undefined;
  try {
    const before = process.cpuUsage();
    const result = await run(dir === undefined ? simParts() : sqliteParts(dir));
    const { user, system } = process.cpuUsage(before);
    const cpuS = (user + system) / 1e6;
    return {
      store,
      web: flags.web,
      body: readWeb(flags.web).body,
      shards: result.shards,
      fetches: result.exchanges,
      cpuS,
      fetchesPerCpuS: Math.round(result.exchanges / cpuS),
      rssMB: Math.round(process.resourceUsage().maxRSS / 1_024),
      hosts: result.last.hosts,
      urls: result.overall.admitted,
      links: result.overall.found,
      virtualS: Math.round(result.tookMs / 1_000),
      commits: result.commits,
      eventHash: result.eventHash,
      findings: result.findingLines,
    };
  } finally {
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  }
}

/** As `portolan simulate` runs it: without output files and without the rows of ended URLs. */
function run(parts: SimParts): Promise<SimulationResult> {
  const config = parseConfig(
    {
      agent: { contact: 'bench@example.org' },
      scope: { mode: 'web' },
      output: { warc: false, pages: false },
      politeness: { rate: Number(flags.rate) },
      run: { shards: Number(flags.shards) },
    },
    'bench',
  );
  return runSimulation(
    {
      config,
      web: readWeb(flags.web),
      seed: Number(flags.seed),
      seedCount: flags.smoke ? 20 : Number(flags.hosts),
      forMs: flags.smoke ? 20_000 : (parseDuration(flags.for) ?? 0),
      keepOutput: false,
      checkRows: false,
      threads: 1,
    },
    parts,
  );
}

function readWeb(name: string): WebOptions {
  const web = WEBS[name] ?? parseWebOptions(JSON.parse(readFileSync(name, 'utf8')), name);
  return flags.body === undefined ? web : { ...web, body: parseWebOptions({ body: flags.body }, '--body').body };
}

/** A commit to a real file ends in real time: the loop waits for those that are under way before it goes on to the next event. */
function sqliteParts(dir: string): SimParts {
  const parts = simParts();
  const running = new Set<Promise<void>>();
  const stores: SimStores = {
    open(shard, sync) {
      const store = createSqliteStore({ file: join(dir, `shard-${shard}.db`), cacheBytes: SQLITE_CACHE_BYTES });
      const commit = store.commit.bind(store);
      store.commit = async (batch) => {
        const done = commit(batch);
        running.add(done);
        await done;
        running.delete(done);
        await sync();
      };
      return store;
    },
    crash: () => false,
  };
  return {
    ...parts,
    createStores: () => stores,
    hop: async () => {
      await parts.hop();
      while (running.size > 0) {
        await Promise.all(running);
        await parts.hop();
      }
    },
  };
}

function describe(measured: Measured): string {
  const { store, web, body, shards, fetches, cpuS, fetchesPerCpuS, rssMB, hosts, urls, links, virtualS, commits, eventHash } = measured;
  return [
    `${store.padEnd(6)} ${fetchesPerCpuS} fetches per CPU second (${fetches} in ${cpuS.toFixed(1)} s; web ${web}, pages ${body}, ${shards} shards), peak ${rssMB} MB`,
    `       ${hosts} hosts, ${urls} URLs admitted of ${links} links, ${commits} commits, ${virtualS} s of virtual time, events ${eventHash}`,
    ...measured.findings,
  ].join('\n');
}
