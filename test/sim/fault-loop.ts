/**
 * The fault loop: the N-th operation of storage (write, sync, rename, cut, removal, commit) fails, for every N until a run is clean; then the same with
 * the process killed, and with the power going, while it is under way; then with the N-th message (between shards, to and from servers and name servers).
 * Each time the process starts anew if it has ended, and the crawl must end with the same URLs as one in which nothing failed, with both laws, every checker
 * and the verifier content.
 *
 *   node test/sim/fault-loop.ts [--from 1] [--step 1] [--to N] [--by error|kill|power-cut|message] [--seed 5]
 *
 * Without --by: all four. Every N takes a few minutes; a test runs some of them.
 */
import { parseArgs } from 'node:util';
import { simulate } from '../../src/compose-sim.ts';
import { type FaultOptions, NO_FAULTS } from '../../src/sim/faults.ts';
import type { SimulationOptions, SimulationResult } from '../../src/sim/run.ts';
import { simConfig, TINY_WEB } from './swarm-options.ts';

export const WAYS = ['error', 'kill', 'power-cut', 'message'] as const;
export type Way = (typeof WAYS)[number];

/** A few hosts that always answer the same, so that every run can be held against every other; WARC files that rotate, a seen set that flushes. */
function optionsOf(seed: number): SimulationOptions {
  return {
    config: simConfig({ run: { shards: 2, memory: '256KiB' }, output: { warcSize: 15_000 } }),
    web: { ...TINY_WEB, sites: 3, pagesPerHost: { min: 3, alpha: 2, max: 8 }, hosts: {}, pages: { missing: 0.05, redirect: 0.05 } },
    seed,
    seedCount: 2,
    threads: 1,
  };
}

export interface LoopResult {
  /** Operations of storage, or messages, in the run in which nothing fails. */
  readonly places: number;
  /** How often each kind failed. */
  readonly tried: Readonly<Record<string, number>>;
  /** What differed or was found, in words. */
  readonly failures: readonly string[];
}

/** Every `step`-th place from `from` on, until a run has fewer. */
export async function faultLoop(way: Way, from: number, step: number, to = Number.POSITIVE_INFINITY, seed = 5): Promise<LoopResult> {
  const options = optionsOf(seed);
  const plain = await simulate({ ...options, faults: KILLS });
  const failures = plain.findingLines.map((line) => `without a fault: ${line}`);
  const tried: Record<string, number> = {};
  for (let place = from; place <= to; place += step) {
    const result = await simulate({ ...options, faults: faultsAt(way, place) });
    if (result.failed === undefined) break;
    tried[result.failed] = (tried[result.failed] ?? 0) + 1;
    failures.push(...differences(plain, result).map((line) => `${way} at ${place} (${result.failed}): ${line}`));
  }
  return { places: way === 'message' ? plain.messages : plain.operations, tried, failures };
}

/** Beside the one fault: kills at the beginning, so that there are openings after a crash, with their cuts and removals, to fail in. */
const KILLS: FaultOptions = { ...NO_FAULTS, untilMs: 30_000, killEveryMs: 8_000, downMsMax: 1_000 };

function faultsAt(way: Way, place: number): FaultOptions {
  return way === 'message' ? { ...KILLS, failMessage: place } : { ...KILLS, failOperation: place, failBy: way };
}

function differences(plain: SimulationResult, result: SimulationResult): string[] {
  const found = [...result.findingLines];
  if (result.reason !== 'finished') found.push(`it ended as ${result.reason}`);
  if (result.overall.unaccounted !== 0) found.push(`${result.overall.unaccounted} are unaccounted for`);
  if (JSON.stringify(result.recount?.keys) !== JSON.stringify(plain.recount?.keys)) found.push('other URLs were admitted');
  if (JSON.stringify(result.recount?.pages) !== JSON.stringify(plain.recount?.pages)) found.push('other pages were fetched');
  return found;
}

if (process.argv[1] === import.meta.filename) {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = parseArgs({ options: { from: text('1'), step: text('1'), to: text('1000000'), by: text(''), seed: text('5') } });
  let failed = 0;
  for (const way of WAYS.filter((one) => values.by === '' || values.by === one)) {
    const loop = await faultLoop(way, Number(values.from), Number(values.step), Number(values.to), Number(values.seed));
    for (const failure of loop.failures) console.log(failure);
    console.log(
      `${way}: ${JSON.stringify(loop.tried)}, ${loop.places} places in the run without a fault, ${loop.failures.length} failures`,
    );
    failed += loop.failures.length;
  }
  process.exitCode = failed === 0 ? 0 : 1;
}
