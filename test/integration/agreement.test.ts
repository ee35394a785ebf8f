/**
 * The simulator against the world: one small web is crawled twice with one configuration, in virtual time by the simulator and in real time by the real
 * program over sockets, name server and disk. Both crawls wait most of the time for politeness, so that the machine's load hardly counts.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { simulate } from '../../src/compose-sim.ts';
import { type ConfigInput, parseConfig } from '../../src/config/schema.ts';
import { simulatedWeb } from '../../src/sim/run.ts';
import { WEB_PRESETS, type WebOptions } from '../../src/sim/web/options.ts';
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS } from '../../src/url/index.ts';
import { urlOf } from '../support/access-log.ts';
import { serveSimulatedWeb } from '../support/simulated-web.ts';
import { configOf, crawl, scratch } from './crawl.ts';

/** What is stated of the simulator. */
const TOLERANCE = 0.1;
/** A machine that stands still for seconds makes a real crawl slower; then it is tried again. */
const TRIES = 3;
const THREADS = 2;

const WEB: WebOptions = {
  ...WEB_PRESETS.small,
  sites: 9,
  hostsPerSite: { alpha: 2, max: 3 },
  pagesPerHost: { min: 5, alpha: 1.2, max: 40 },
  latencyMs: { median: 60, sigma: 0.4 },
  shared: { share: 0.3, addresses: 2, skew: 1 },
  cdn: { share: 0.2, addresses: 4 },
  ipv6: 0,
  https: 0,
  hosts: { 'dead-name': 0.05 },
  robots: { rules: 0.4, redirect: 0.05, forbidden: 0.05 },
  pages: {
    ...{ missing: 0.03, gone: 0.02, redirect: 0.04, 'redirect-away': 0.02, 'redirect-chain': 0.01, 'redirect-loop': 0.01 },
    ...{ 'cookie-wall': 0.02, 'bad-redirect': 0.01, 'other-type': 0.02, empty: 0.01, noindex: 0.02, copy: 0.02, 'near-copy': 0.02 },
    ...{ 'bad-coding': 0.01 },
  },
  changeDays: { median: 0, sigma: 0 },
};

/** A name that does not exist is given up within seconds, not hours. */
const HURRY: ConfigInput = { dns: { negativeTtl: 1_000 }, run: { threads: THREADS, shards: 4 }, scope: { mode: 'web' } };
const SET_ASIDE = { setAside: 2_000, setAsideLimit: 2 };

interface Case {
  readonly name: string;
  readonly seed: number;
  readonly seedHosts: number;
  /** Second byte of the addresses. */
  readonly net: number;
  readonly web: WebOptions;
  readonly config: ConfigInput;
}

const CASES: readonly Case[] = [
  {
    name: 'hosts in their own pauses, some on shared addresses',
    seed: 4,
    seedHosts: 2,
    net: 90,
    web: WEB,
    config: { ...HURRY, politeness: { delay: 600, delayFactor: 0, addressDelay: 600, ...SET_ASIDE } },
  },
  {
    name: 'more hosts than back queues, and pauses that grow with slow answers',
    seed: 9,
    seedHosts: 3,
    net: 91,
    web: { ...WEB, sites: 14, pagesPerHost: { min: 5, alpha: 4, max: 8 }, latencyMs: { median: 120, sigma: 0.4 } },
    config: {
      ...HURRY,
      politeness: { delay: 400, delayFactor: 4, addressDelay: 400, ...SET_ASIDE },
      frontier: { backQueues: 6, quantum: 3 },
    },
  },
];

/** How one crawl went. */
interface Course {
  /** Canonical: which spelling of a URL is met first is chance. */
  readonly urls: readonly string[];
  /** From the first request to the last answer. */
  readonly pagesPerS: number;
  /** From the first request until the crawl is over: that a process has to start is not simulated. */
  readonly finishMs: number;
}

async function simulated({ web, seed, seedHosts }: Case, config: ConfigInput): Promise<Course> {
  const urls: string[] = [];
  let [firstMs, lastMs] = [-1, 0];
  const result = await simulate({
    ...{ config: parseConfig(config, 'test'), web, seed, seedCount: seedHosts, threads: THREADS, pollMs: 0 },
    onEvent: ([name, atMs, host, path]) => {
      if (name === 'answer') lastMs = Number(atMs);
      if (name !== 'request') return;
      if (firstMs < 0) firstMs = Number(atMs);
      if (path !== '/robots.txt') urls.push(`http://${host}${path}`);
    },
  });
  assert.equal(result.reason, 'finished');
  assert.deepEqual(result.findingLines, []);
  return courseOf(urls, lastMs - firstMs, result.tookMs - firstMs);
}

async function real(one: Case, config: ConfigInput, out: string): Promise<Course> {
  const web = simulatedWeb(one.seed, one.web);
  const server = await serveSimulatedWeb(web, one.net);
  try {
    const seeds = web.seeds(one.seedHosts).map(server.here);
    const { report } = await crawl({ out, seeds, config: { ...config, dns: { ...config.dns, servers: [server.nameServer] } } });
    await server.web.idle();
    const accesses = server.web.log.entries();
    const firstMs = accesses[0]?.startMs ?? 0;
    const lastMs = Math.max(...accesses.map(({ endMs }) => endMs));
    const urls = server.web.log.pages().map((access) => server.there(urlOf(access)));
    return courseOf(urls, lastMs - firstMs, Date.parse(report.endedAt) - firstMs);
  } finally {
    await server.close();
  }
}

const canonical = createCanonicalizer(DEFAULT_CANONICAL_OPTIONS);

function courseOf(urls: readonly string[], spanMs: number, finishMs: number): Course {
  return { urls: [...new Set(urls.map(canonical))].sort(), pagesPerS: (urls.length / spanMs) * 1_000, finishMs };
}

function differ(expected: number, found: number): number {
  return Math.abs(expected - found) / found;
}

function describeCourse({ pagesPerS, finishMs }: Course): string {
  return `${pagesPerS.toFixed(2)} pages/s, finished in ${(finishMs / 1_000).toFixed(1)} s`;
}

describe('a simulated and a real crawl of one web', { concurrency: true }, () => {
  for (const one of CASES) {
    test(`ask for the same URLs and agree within 10 % on pages/s and on the time to finish: ${one.name}`, async (t) => {
      const config = configOf({ config: one.config });
      const expected = await simulated(one, config);
      const dir = scratch(t);
      for (let attempt = 1; ; attempt++) {
        const found = await real(one, config, join(dir, `out-${attempt}`));
        t.diagnostic(`${found.urls.length} URLs; simulated ${describeCourse(expected)}; real ${describeCourse(found)}`);
        assert.deepEqual(found.urls, expected.urls);
        const rate = differ(expected.pagesPerS, found.pagesPerS);
        const time = differ(expected.finishMs, found.finishMs);
        if (attempt < TRIES && Math.max(rate, time) > TOLERANCE) continue;
        assert.ok(rate <= TOLERANCE, `pages/s differ by ${(rate * 100).toFixed(1)} %`);
        assert.ok(time <= TOLERANCE, `times to finish differ by ${(time * 100).toFixed(1)} %`);
        return;
      }
    });
  }
});
