/** The crawls that are killed: each shape tries another part of what a restart has to put together again. */
import type { KillWebOptions } from './kill-web.ts';

export interface Shape {
  readonly name: string;
  readonly web: Omit<KillWebOptions, 'seed' | 'net'>;
  /** Kills in one CI run. */
  readonly kills: number;
  readonly gapMs: number;
  readonly delayFactor?: number;
  /** More of the configuration file. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly flags?: readonly string[];
  readonly commitIntervalMs?: number;
  readonly shards?: number;
}

const PLAIN = { troubledHosts: 0, wide: 0, shared: 0 };

export const SHAPES: readonly Shape[] = [
  {
    name: 'many hosts on two threads, shipped commit interval',
    web: { ...PLAIN, hosts: 24, pages: 60, slowHosts: 3, slowPages: 6, crawlDelayS: 3 },
    kills: 26,
    gapMs: 250,
    flags: ['--threads', '2'],
  },
  {
    name: 'one host',
    web: { ...PLAIN, hosts: 1, pages: 150, slowHosts: 0, slowPages: 0, crawlDelayS: 0 },
    kills: 14,
    gapMs: 100,
    flags: ['--threads', '1'],
    config: { run: { shards: 1, commitInterval: '400ms' } },
    commitIntervalMs: 400,
    shards: 1,
  },
  {
    name: 'redirects, loops, cookies, resets, 429 and 503 with Retry-After, pauses by duration',
    web: { ...PLAIN, hosts: 10, pages: 40, slowHosts: 2, slowPages: 5, crawlDelayS: 3, troubledHosts: 6 },
    kills: 20,
    gapMs: 200,
    delayFactor: 4,
    config: { fetch: { retryDelay: '300ms' }, run: { commitInterval: '500ms' } },
    commitIntervalMs: 500,
  },
  {
    name: 'WARC files of 20 kB, so that they rotate all the time',
    web: { ...PLAIN, hosts: 16, pages: 60, slowHosts: 1, slowPages: 4, crawlDelayS: 3 },
    kills: 20,
    gapMs: 150,
    config: { output: { warcSize: 20_000 }, run: { commitInterval: '300ms' } },
    commitIntervalMs: 300,
  },
  {
    name: 'a seen set that flushes and merges, one shard',
    web: { ...PLAIN, hosts: 12, pages: 40, slowHosts: 1, slowPages: 4, crawlDelayS: 3, wide: 40 },
    kills: 16,
    gapMs: 250,
    flags: ['--memory', '256KiB'],
    config: { run: { shards: 1, commitInterval: '400ms' } },
    commitIntervalMs: 400,
    shards: 1,
  },
  {
    name: 'hosts that share one address',
    web: { ...PLAIN, hosts: 12, pages: 8, slowHosts: 0, slowPages: 0, crawlDelayS: 0, shared: 1 },
    kills: 12,
    gapMs: 120,
    config: { run: { commitInterval: '300ms' } },
    commitIntervalMs: 300,
  },
];
