/**
 * Brings a shard that was just opened up to the world as it stands: the index of near-duplicates, the hosts and what their addresses are owed,
 * output that was lost, and the debts of requests that no commit knows of. Runs once, before the first turn.
 */
import { counted } from '../core/counted.ts';
import { replayDebts } from './debts.ts';
import { gateKey } from './host-rules.ts';
import { lossOf, restoreLostOutput } from './lost-output.ts';
import { CLOCK_STEP_MS, type ShardEnv } from './shard-env.ts';
import type { ShardState } from './shard-state.ts';

/** Ends with the first ledger record of this incarnation. */
export function restoreShard(env: ShardEnv, state: ShardState): void {
  const { content, output } = state;
  const { clock } = env.context;
  const opening = { commitSeq: state.opened.commitSeq, monoMs: clock.nowMonoMs(), epochMs: clock.nowEpochMs() };
  const now = opening.epochMs;
  env.ports.store.scanContent((print) => content.restore(print));
  restoreHosts(env, state, now);
  restoreLostOutput(env, state);
  sayWhatWasCut(env, output.reports);
  const { ledger } = output.reports;
  if (ledger.short || ledger.damaged)
    env.events.notice(env.id, `the politeness ledger ${lossOf(ledger)}: what it proved cannot be verified any more`);
  replayDebts(env, state, now);
  output.beginLedger(opening);
}

/** Output that no commit knows of was cut off when it was opened: its pages have no other trace and are fetched again. */
function sayWhatWasCut({ id, events }: ShardEnv, { warc, pages }: ShardState['output']['reports']): void {
  const cut = [
    { name: 'WARC', bytes: warc?.cutBytes ?? 0 },
    { name: 'pages.jsonl', bytes: pages?.cutBytes ?? 0 },
  ].filter(({ bytes }) => bytes > 0);
  if (cut.length === 0) return;
  const what = cut.map(({ name, bytes }) => `${counted(bytes, 'byte')} of ${name}`).join(' and ');
  events.notice(id, `${what} from after the last commit are cut off: what stood there is fetched again`);
}

/** Rows into the frontier's index, and the pauses that addresses are still owed. */
function restoreHosts(env: ShardEnv, state: ShardState, now: number): void {
  const { context, ports, events } = env;
  const { addressDelayMs } = context.rules;
  const stepMs = clockStep(env, state, now);
  if (Math.abs(stepMs) > CLOCK_STEP_MS)
    events.notice(
      env.id,
      `the clock was set ${stepMs < 0 ? 'back' : 'forward'} by ${Math.round(Math.abs(stepMs) / 1_000)} s since the last commit: pauses go on with what was left of them`,
    );
  // A host whose own pause is over may owe its address more; the delay it was fetched with is at least 0.
  const sinceMs = now - addressDelayMs;
  state.frontier.restore(state.opened.nextHostId, now, stepMs, sinceMs, (host) => {
    if (host.address === '') return;
    const rules = context.hostRules.of(host.key);
    const untilMs = Math.min(host.lastEndMs, now) + rules.addressDelayMs;
    if (untilMs > now) ports.gate.owe(gateKey(rules, host.key, host.address), untilMs);
  });
  for (const [hostKey, address, endMs] of state.marks.leftAddresses ?? []) {
    const rules = context.hostRules.of(hostKey);
    const sinceEndMs = Math.min(endMs + stepMs, now);
    ports.gate.owe(gateKey(rules, hostKey, address), sinceEndMs + rules.addressDelayMs);
    state.leftAddresses.add(hostKey, address, sinceEndMs);
  }
}

/** How far the wall clock was moved since the last commit. Within one boot its own clock tells; over a boot only a step back shows. */
function clockStep({ context }: ShardEnv, { marks }: ShardState, now: number): number {
  const { atMs, monoMs, bootId } = marks;
  if (atMs === 0) return 0;
  const nowMonoMs = context.clock.nowMonoMs();
  if (bootId !== context.bootId || monoMs === undefined || nowMonoMs < monoMs) return Math.min(0, now - atMs);
  const stepMs = now - atMs - (nowMonoMs - monoMs);
  return Math.abs(stepMs) > CLOCK_STEP_MS ? stepMs : 0;
}
