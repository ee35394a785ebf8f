/**
 * The manifest: which runs make up the durable part of the set, and from which delta on keys are not in them. Plain JSON, part of a batch.
 *
 * Invariant: a run stands in a manifest only after its file and directory are synced; the batch that stores a manifest deletes the delta
 * rows below `deltasFrom`. Doing either alone would lose keys, or keep them twice.
 */
import { PortolanError } from '../core/errors.ts';

export interface RunManifest {
  readonly version: 1;
  /** Number of the next run file. Never used twice, also not by a rebuild. */
  readonly nextRun: number;
  /** Delta chunks with a lower `seq` are in the runs. */
  readonly deltasFrom: number;
  /** Oldest first. */
  readonly runs: readonly RunEntry[];
}

export interface RunEntry {
  readonly name: string;
  /** 0 for a flushed table, n + 1 for a merge of runs of level n. */
  readonly level: number;
  readonly keys: number;
  readonly bytes: number;
  /** CRC-32 of the run's footer, which holds the CRCs of filter and fences: it names the content, not only the file. */
  readonly crc: number;
}

/** New keys of one stretch of time. Rows of the batch; `keys` holds (hi, lo) alternating. `seq` rises by one for each chunk. */
export interface DeltaChunk {
  readonly seq: number;
  readonly keys: Uint32Array;
}

/** The set on disk cannot be believed: rebuild it (SeenSet.rebuild) before anything is admitted. Code PORTOLAN_STATE_DAMAGED. */
export class SeenDamaged extends PortolanError {
  constructor(message: string, cause?: unknown) {
    super('PORTOLAN_STATE_DAMAGED', `seen set: ${message}`, {
      remedy: 'The set is rebuilt from the page, queue and fate rows at the next start; nothing needs to be done.',
      ...(cause === undefined ? {} : { cause }),
    });
    this.name = 'SeenDamaged';
  }
}

/** Checks a manifest that was read back from the store. Throws SeenDamaged when it is none. */
export function readManifest(value: unknown): RunManifest {
  const found = value as Partial<RunManifest> | null;
  const ok =
    typeof found === 'object' &&
    found !== null &&
    found.version === 1 &&
    isCount(found.nextRun) &&
    isCount(found.deltasFrom) &&
    Array.isArray(found.runs) &&
    found.runs.every(isRunEntry);
  if (!ok) throw new SeenDamaged('the manifest in the store is not a manifest of version 1');
  return found as RunManifest;
}

function isRunEntry(value: unknown): boolean {
  const run = value as Partial<RunEntry> | null;
  if (typeof run !== 'object' || run === null) return false;
  return typeof run.name === 'string' && [run.level, run.keys, run.bytes, run.crc].every(isCount);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

const RUN_NAME = /^run-(\d+)\.seen$/;

export function runName(number: number): string {
  return `run-${String(number).padStart(8, '0')}.seen`;
}

export function isRunName(name: string): boolean {
  return RUN_NAME.test(name);
}
