/**
 * What one seed of the swarm runs: a small web, a configuration and faults, each part of them switched on or off by the seed, so that features meet
 * in ever new combinations. The same seed is the same run.
 */
import { createRandom } from '../../src/adapters/node/random.ts';
import { type Config, type ConfigInput, parseConfig } from '../../src/config/schema.ts';
import { type FaultOptions, NO_FAULTS } from '../../src/sim/faults.ts';
import type { SimulationOptions } from '../../src/sim/run.ts';
import { HOST_KINDS, PAGE_KINDS, ROBOTS_KINDS, WEB_PRESETS, type WebOptions } from '../../src/sim/web/options.ts';

export const MINUTE = 60_000;

/** Waits that are hours by default are minutes here: a run is as long in events, and shorter in idle time. */
export function simConfig(input: ConfigInput = {}): Config {
  return parseConfig(
    {
      agent: { contact: 'mailto:test@example.org' },
      scope: { mode: 'web' },
      ...input,
      politeness: { setAside: '10m', setAsideLimit: 3, ...input.politeness },
      robots: { giveUp: '12h', retryMax: '1h', ...input.robots },
      fetch: { maxBody: '128KB', ...input.fetch },
      run: { shards: 3, ...input.run },
    },
    'test',
  );
}

export const TINY_WEB: WebOptions = {
  ...WEB_PRESETS.small,
  sites: 12,
  hostsPerSite: { alpha: 2, max: 3 },
  pagesPerHost: { min: 3, alpha: 1.2, max: 25 },
  words: { median: 70, sigma: 0.4 },
};

/** Some URLs, which are not admitted; and a part of the addresses, whose hosts' URLs are dropped when their names have been looked up. */
const BLOCKLIST = '/7$/\n21.0.0.0/8\n';

export function swarmOptions(seed: number): SimulationOptions {
  const random = createRandom(seed * 7 + 3);
  const on = (share = 0.5): boolean => random.next() < share;
  const some = <K extends string>(names: readonly K[], most: number): Partial<Record<K, number>> => {
    const shares: Partial<Record<K, number>> = {};
    for (const name of names) if (on(0.4)) shares[name] = random.next() * most;
    return shares;
  };
  const web: WebOptions = {
    ...TINY_WEB,
    sites: 4 + random.int(14),
    body: on(0.7) ? 'text' : 'links',
    links: { ...TINY_WEB.links, odd: on() ? 0.3 : 0, nofollow: on() ? 0.05 : 0 },
    shared: { share: on() ? 0.7 : 0.1, addresses: 1 + random.int(4), skew: 2 },
    latencyMs: { median: 20 + random.int(800), sigma: 0.8 },
    hosts: some(HOST_KINDS, 0.12),
    robots: { ...(on() ? { rules: 0.5 } : {}), ...some(ROBOTS_KINDS, 0.12) },
    pages: some(PAGE_KINDS, 0.06),
    changeDays: { median: on(0.3) ? 0.01 : 0, sigma: 1 },
  };
  const config = simConfig({
    politeness: {
      delay: on() ? 1_000 : 200 + random.int(3_000),
      ...(on(0.3) ? { rate: 1 + random.int(20) } : {}),
      ...(on(0.3) ? { addressDelay: random.int(4_000) } : {}),
    },
    frontier: {
      ...(on(0.4) ? { backQueues: 1 + random.int(8) } : {}),
      ...(on(0.4) ? { quantum: 1 + random.int(4) } : {}),
      ...(on(0.3) ? { hostsPerAddress: 1 + random.int(2) } : {}),
      ...(on(0.2) ? { pageBudget: 1 + random.int(20), budgetCycle: '1d' } : {}),
      ...(on(0.15) ? { maxQueuedPerHost: 3 + random.int(10) } : {}),
    },
    fetch: { ...(on(0.3) ? { connections: 3 + random.int(6) } : {}), ...(on(0.3) ? { maxLinks: 5 + random.int(20) } : {}) },
    scope: {
      mode: on(0.85) ? 'web' : 'domain',
      ...(on(0.2) ? { maxDepth: 2 + random.int(4) } : {}),
      ...(on(0.15) ? { maxSubdomains: 1 + random.int(2) } : {}),
      ...(on(0.1) ? { exclude: ['/[^/?]*[02468][^/?]*$'] } : {}),
      ...(on(0.1) ? { include: ['(/|[0-7])([?&]utm_source=site)?$'] } : {}),
    },
    output: { warc: on(0.7), pages: on(0.8), ...(on(0.3) ? { warcSize: 20_000 } : {}) },
    dedup: { nearDuplicates: on() ? 'skip' : 'keep' },
    run: {
      shards: 1 + random.int(4),
      ...(on(0.3) ? { commitInterval: 100 + random.int(3_000) } : {}),
      ...(on(0.3) ? { memory: '1MiB' } : {}),
    },
    ...(on(0.15) ? { limits: { maxPages: 5 + random.int(60) } } : {}),
  });
  return {
    config,
    web,
    seed,
    seedCount: 1 + random.int(4),
    threads: 1 + random.int(3),
    faults: swarmFaults(random, on),
    ...(on(0.15) ? { blocklist: { text: BLOCKLIST, atMs: on() ? 0 : random.int(5 * MINUTE) } } : {}),
    ...(on(0.1) ? { hooks: { handlers: [], admits: (url: string) => !url.includes('5') } } : {}),
  };
}

function swarmFaults(random: { int(below: number): number }, on: (share?: number) => boolean): FaultOptions {
  const storage = on();
  const network = on();
  return {
    ...NO_FAULTS,
    untilMs: 10 * MINUTE + random.int(30 * MINUTE),
    downMsMax: on(0.8) ? 60_000 : 6 * 3_600_000,
    killEveryMs: on(0.6) ? 5_000 + random.int(200_000) : 0,
    powerCuts: on() ? 0.5 : 0,
    powerCutAtOperation: on(0.3) ? 0.002 : 0,
    failMessage: on(0.3) ? 1 + random.int(400) : 0,
    failOperation: on(0.3) ? 1 + random.int(400) : 0,
    appendFailed: storage && on() ? 0.003 : 0,
    syncFailed: storage && on() ? 0.004 : 0,
    syncSlow: storage && on() ? 0.1 : 0,
    commitFailed: storage && on() ? 0.004 : 0,
    diskFull: storage && on() ? 0.003 : 0,
    diskLow: storage && on() ? 0.02 : 0,
    linkSlow: network && on() ? 0.2 : 0,
    linkLost: network && on() ? 0.03 : 0,
    netReset: network && on() ? 0.05 : 0,
    netUnreachable: network && on() ? 0.05 : 0,
    netStall: network && on() ? 0.02 : 0,
    dnsFailed: network && on() ? 0.1 : 0,
    dnsSlow: network && on() ? 0.1 : 0,
    clockBack: on(0.3) ? 0.3 : 0,
    clockForward: on(0.3) ? 0.3 : 0,
  };
}
