/**
 * Runs many seeds of the simulator and adds up what happened: `node test/sim/swarm.ts --from 1 --seeds 100 [--quiet]`. Each line is one seed; a seed with
 * a finding is printed with it and the exit code is 1. With `--least N` each fault must have struck N times, each outcome and each reason once. To look at one seed: `--from N --seeds 1 --events`.
 */
import { parseArgs } from 'node:util';
import { simulate } from '../../src/compose-sim.ts';
import { DROP_REASONS, OUTCOME_NAMES, REJECT_REASONS } from '../../src/core/reasons.ts';
import { FAULT_NAMES } from '../../src/sim/faults.ts';
import { swarmOptions } from './swarm-options.ts';

/** No request is conditional; and that a host has no address is known before there is an exchange, which the resolver's metrics tell. */
const NO_OUTCOMES = ['not-modified', 'dns-failed'];
const OUTCOMES = OUTCOME_NAMES.filter((name) => !NO_OUTCOMES.includes(name));

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '20' },
    least: { type: 'string', default: '0' },
    quiet: { type: 'boolean', default: false },
    events: { type: 'boolean', default: false },
    notices: { type: 'boolean', default: false },
  },
});
const from = Number(values.from);
const least = Number(values.least);
const counts = new Map<string, number>();
const add = (name: string, by: number): void => void counts.set(name, (counts.get(name) ?? 0) + by);
const failed: number[] = [];

for (let seed = from; seed < from + Number(values.seeds); seed++) {
  const before = process.cpuUsage();
  const result = await simulate({
    ...swarmOptions(seed),
    ...(values.events ? { onEvent: (event) => console.log('  ', ...event) } : {}),
    ...(values.notices ? { onNotice: (atMs: number, shard: number, text: string) => console.log('  ', atMs, shard, text) } : {}),
  });
  const { user, system } = process.cpuUsage(before);
  const bad = Object.keys(result.findings).length > 0;
  if (bad) failed.push(seed);
  add('seeds', 1);
  add('fetches', result.exchanges);
  add('starts', result.starts);
  add('commits', result.commits);
  add('checks', result.checked);
  add('look-ups failed', result.metrics['portolan_dns_failures_total'] ?? 0);
  for (const [name, count] of Object.entries(result.faults)) add(`fault ${name}`, count);
  for (const [name, count] of Object.entries(result.overall.fetched)) add(`outcome ${name}`, count);
  for (const [name, count] of Object.entries(result.exchangeOutcomes)) add(`exchange ${name}`, count);
  for (const [name, count] of Object.entries(result.overall.rejected)) add(`reject ${name}`, count);
  for (const [name, count] of Object.entries(result.overall.dropped)) add(`drop ${name}`, count);
  if (!values.quiet || bad) {
    const { reason, eventHash, tookMs, exchanges, starts } = result;
    console.log(
      `seed ${seed}: ${reason}, hash ${eventHash}, ${exchanges} fetches in ${Math.round(tookMs / 1_000)} s, ${starts} starts, ${((user + system) / 1e6).toFixed(1)} s CPU${bad ? `  FOUND ${JSON.stringify(result.findings)}` : ''}`,
    );
    for (const line of result.findingLines) console.log(`    ${line.replaceAll('\n', '\n      ')}`);
  }
}

const all = [
  ...FAULT_NAMES.map((name) => `fault ${name}`),
  ...OUTCOMES.map((name) => `exchange ${name}`),
  ...REJECT_REASONS.map((name) => `reject ${name}`),
  ...DROP_REASONS.map((name) => `drop ${name}`),
];
for (const name of [
  'seeds',
  'fetches',
  'starts',
  'commits',
  'checks',
  'look-ups failed',
  ...OUTCOMES.map((name) => `outcome ${name}`),
  ...all,
])
  console.log(`${String(counts.get(name) ?? 0).padStart(12)}  ${name}`);
console.log(failed.length === 0 ? 'no findings' : `findings in seeds ${failed.join(', ')}`);
const rare = all.filter((name) => (counts.get(name) ?? 0) < (name.startsWith('fault ') ? least : Math.min(1, least)));
if (rare.length > 0) console.log(`too rare: ${rare.join(', ')}`);
process.exitCode = failed.length === 0 && rare.length === 0 ? 0 : 1;
