/**
 * Replays the politeness ledger of a crawl, offline, and finds whatever it did that it was not allowed to do (PROTOCOL section 4, docs/LEDGER.md).
 *
 * It needs nothing but the ledger's files. What the state says of their length may be handed in: then bytes missing at the very end are
 * found, too. Nothing of the crawler's scheduler, robots parser or address guard is used: a defect there cannot hide itself.
 * Memory: about 900 bytes for each host with an address and a robots.txt of its own, 64 MiB of parsed rules at most, and a window of 1 MiB for
 * each shard. Requests cost time only, about 15 µs each. The files are read twice: first for the order of the boots, by their headers alone.
 */
import type { LedgerPrior } from '../output/politeness-ledger.ts';
import { type Finding, Findings, UNDECIDABLES, type Undecidable, VIOLATIONS, type Violation } from './findings.ts';
import { Judge, type JudgeCounts, type JudgeListener } from './judge.ts';
import { type LedgerSource, ledgerFiles, mergeShards, orderOfBoots, ShardReader } from './shard-reader.ts';

export type { Finding, Undecidable, Violation } from './findings.ts';
export type { LedgerSource } from './shard-reader.ts';
export { UNDECIDABLES, VIOLATIONS };

export interface VerifyOptions {
  /** What the last commit of each shard says of the ledger; without it, what is missing at the end cannot be seen. */
  readonly committed?: ReadonlyMap<number, LedgerPrior>;
  readonly listener?: JudgeListener;
}

export interface VerifyReport extends Readonly<JudgeCounts> {
  readonly shards: number;
  readonly files: number;
  readonly bytes: number;
  readonly hosts: number;
  readonly addresses: number;
  readonly violations: Readonly<Partial<Record<Violation, number>>>;
  readonly violationsTotal: number;
  /** The first FINDINGS_MAX of them. */
  readonly findings: readonly Finding[];
  /** What the clocks or the evidence cannot decide; never counted as fine. */
  readonly undecidable: Readonly<Partial<Record<Undecidable, number>>>;
}

/** Throws PORTOLAN_STATE_NEWER for a ledger of a newer format, PORTOLAN_DISK_* when it cannot be read. */
export function verifyLedger(source: LedgerSource, options: VerifyOptions = {}): VerifyReport {
  const findings = new Findings();
  const judge = new Judge(source, findings, options.listener);
  const files = ledgerFiles(source);
  const committed = options.committed ?? new Map<number, LedgerPrior>();
  const shards = [...new Set([...files.keys(), ...committed.keys()])].sort((a, b) => a - b);
  const readers = shards.map((shard) => new ShardReader(shard, files.get(shard) ?? [], source, findings));
  const order = orderOfBoots(readers.map((reader) => reader.boots()));
  const streams = readers.map((reader) => reader.events(committed.get(reader.shard)));
  for (const event of mergeShards(streams, order)) judge.take(event);
  judge.finish();
  return {
    ...judge.counts,
    shards: readers.length,
    files: [...files.values()].reduce((count, own) => count + own.length, 0),
    bytes: readers.reduce((bytes, reader) => bytes + reader.bytes, 0),
    hosts: judge.hosts,
    addresses: judge.addresses,
    violations: Object.fromEntries(findings.violations),
    violationsTotal: findings.total,
    findings: findings.kept,
    undecidable: Object.fromEntries(findings.undecidable),
  };
}
