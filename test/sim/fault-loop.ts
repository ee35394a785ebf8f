/**
 * The fault loop: the N-th operation of storage (append, sync, rename, removal, cut, commit) fails, for every N until a run is clean. After each the
 * process starts anew, and the crawl must end with the same URLs as one that never failed, with every law and the verifier content.
 *
 * `node test/sim/fault-loop.ts [--from 1] [--step 1] [--to N]`; a test runs some of them.
 */
import { parseArgs } from 'node:util';
import { simulate } from '../../src/compose-sim.ts';
import { NO_FAULTS } from '../../src/sim/faults.ts';
import type { SimulationOptions, SimulationResult } from '../../src/sim/run.ts';
import { simConfig, TINY_WEB } from './swarm-options.ts';

/** A few hosts that always answer the same, so that every run can be held against every other. */
const OPTIONS: SimulationOptions = {
  config: simConfig({ run: { shards: 2 }, output: { warcSize: 30_000 } }),
  web: { ...TINY_WEB, sites: 3, pagesPerHost: { min: 3, alpha: 2, max: 8 }, hosts: {}, pages: { missing: 0.05, redirect: 0.05 } },
  seed: 5,
  seedCount: 2,
};

export interface LoopResult {
  /** Operations of storage in the run that never failed. */
  readonly operations: number;
  readonly tried: number;
  /** What differed or was found, in words. */
  readonly failures: readonly string[];
}

export async function faultLoop(from: number, step: number, to = Number.POSITIVE_INFINITY): Promise<LoopResult> {
  const plain = await simulate(OPTIONS);
  const failures = plain.findingLines.map((line) => `without a fault: ${line}`);
  let tried = 0;
  for (let operation = from; operation <= to; operation += step) {
    const result = await simulate({ ...OPTIONS, faults: { ...NO_FAULTS, failOperation: operation } });
    if (result.faults['operation-failed'] === undefined) break;
    tried++;
    failures.push(...differences(plain, result).map((line) => `operation ${operation}: ${line}`));
  }
  return { operations: plain.operations, tried, failures };
}

function differences(plain: SimulationResult, result: SimulationResult): string[] {
  const found = [...result.findingLines];
  if (result.reason !== 'finished') found.push(`it ended as ${result.reason}`);
  if (JSON.stringify(result.recount?.keys) !== JSON.stringify(plain.recount?.keys)) found.push('other URLs were admitted');
  if (JSON.stringify(result.recount?.pages) !== JSON.stringify(plain.recount?.pages)) found.push('other pages were fetched');
  if (result.starts !== 2) found.push(`${result.starts} starts instead of 2`);
  return found;
}

if (process.argv[1] === import.meta.filename) {
  const { values } = parseArgs({
    options: { from: { type: 'string', default: '1' }, step: { type: 'string', default: '1' }, to: { type: 'string', default: '1000000' } },
  });
  const { operations, tried, failures } = await faultLoop(Number(values.from), Number(values.step), Number(values.to));
  for (const failure of failures) console.log(failure);
  console.log(`${tried} of ${operations} operations failed in turn, ${failures.length} failures`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}
