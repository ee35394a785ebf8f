/** What a batch says of things outside the store: how far the output files reach, and what was under way. Stored as JSON with every commit. */
import type { EpochMs, MonoMs } from '../core/time.ts';
import type { DeliveryMarks } from './delivery.ts';
import type { LeftAddress } from './left-addresses.ts';
import type { OutputMarks } from './shard-output.ts';

/** A request whose end is not known: lease as the ledger numbers it, host key, address. */
export type OpenRequest = readonly [lease: number, hostKey: string, address: string];

export interface SavedMarks extends OutputMarks {
  /** Last message number of each lane, by receiver. */
  readonly lanes: Readonly<Record<string, number>>;
  /** Time of the freeze, by the wall and by the boot's own clock: at open they tell whether the wall clock was moved. */
  readonly atMs: EpochMs;
  readonly monoMs?: MonoMs | undefined;
  readonly bootId?: string | undefined;
  /** Requests whose start record lies before the ledger's mark and whose end does not. */
  readonly inFlight: readonly OpenRequest[];
  /** Addresses that hosts have left and that are still owed their delay. */
  readonly leftAddresses?: readonly LeftAddress[];
  /** What the program that runs the crawl was handed, and what of it waits. */
  readonly delivery?: DeliveryMarks | undefined;
}

/** `text` as the store gives it: '' before the first commit. */
export function parseMarks(text: string): SavedMarks {
  if (text === '') return { warc: undefined, pages: undefined, ledger: undefined, lanes: {}, atMs: 0, inFlight: [] };
  return JSON.parse(text) as SavedMarks;
}
