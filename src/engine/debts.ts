/**
 * Politeness debts after a stop (PROTOCOL section 4): what the ledger says beyond the last commit, and what was in flight at it, becomes debts
 * of hosts and addresses. A stop may make the crawl slower than it had to be, never faster than it may.
 */
import { BACKOFF_MAX } from '../frontier/gap.ts';
import { hostOfKey } from './entries.ts';
import { gapOwed } from './host-gap.ts';
import { gateKey } from './host-rules.ts';
import type { ShardEnv } from './shard-env.ts';
import type { ShardState } from './shard-state.ts';

/** Share of a pause that is added at random, so that hosts owed since the same stop do not all come back at once. */
const RESTART_JITTER = 0.5;

type DebtState = Pick<ShardState, 'marks' | 'output' | 'frontier' | 'unwritten' | 'leftAddresses'>;

/** What one host owes after a stop, from the ledger. */
interface LedgerDebt {
  readonly addresses: Set<string>;
  /** Greatest pause that an end record names. */
  owedMs: number;
  /** Answers 429 and 503. */
  slowDowns: number;
}

export function replayDebts(env: ShardEnv, state: DebtState, now: number): void {
  for (const [hostKey, debt] of readDebts(state)) restoreDebt(env, state, hostKey, debt, now);
}

function readDebts(state: DebtState): ReadonlyMap<string, LedgerDebt> {
  const debts = new Map<string, LedgerDebt>();
  const owe = (hostKey: string, address: string): LedgerDebt => {
    const debt = debts.get(hostKey) ?? { addresses: new Set(), owedMs: 0, slowDowns: 0 };
    debts.set(hostKey, debt);
    debt.addresses.add(address);
    return debt;
  };
  const open = new Map<number, LedgerDebt>();
  for (const [lease, hostKey, address] of state.marks.inFlight) open.set(lease, owe(hostKey, address));
  for (const record of state.output.ledgerBeyondMark()) {
    if (record.kind === 'start') {
      const debt = owe(record.hostKey, record.address);
      if (record.gapRule === 'crawl-delay') debt.owedMs = Math.max(debt.owedMs, record.gapOwedMs);
      open.set(record.lease, debt);
    } else if (record.kind === 'end') {
      const debt = open.get(record.lease);
      if (debt === undefined) continue;
      debt.owedMs = Math.max(debt.owedMs, record.owedMs ?? 0);
      if (record.status === 429 || record.status === 503) debt.slowDowns++;
    } else if (record.kind === 'header' && record.opens) open.clear(); // the next incarnation numbers its leases anew
  }
  return debts;
}

/** The whole pause counts from now: when the exchange ended, if it did, is not known for sure. */
function restoreDebt(env: ShardEnv, state: DebtState, hostKey: string, debt: LedgerDebt, now: number): void {
  const { hostRules, random, domains } = env.context;
  const rules = hostRules.of(hostKey);
  const jitter = random.next() * RESTART_JITTER;
  for (const address of debt.addresses) env.ports.gate.owe(gateKey(rules, hostKey, address), now + rules.addressDelayMs * (1 + jitter));
  // Its row may name another address, and the next stop may come before this one is owed no more.
  for (const address of debt.addresses) state.leftAddresses.add(hostKey, address, now);
  const memory = state.frontier.hostOrCreate(hostKey, domains.registrableDomain(hostOfKey(hostKey)));
  if (memory === undefined) return;
  const { record } = memory;
  record.backoff = Math.min(record.backoff + debt.slowDowns, BACKOFF_MAX);
  const gap = gapOwed(env.context, record);
  const wholeMs = Math.max(gap.owedMs, debt.owedMs);
  // What a commit already knows may reach further, as a Retry-After does; it counted from the end that it knows of.
  const knownMs = Math.min(record.lastEndMs, now) + record.owedMs - now;
  record.lastEndMs = now;
  record.owedMs = Math.ceil(Math.max(wholeMs + jitter * gap.owedMs, knownMs));
  record.gapRule = 'restart';
  state.frontier.touch(memory);
  state.unwritten.mark();
}
