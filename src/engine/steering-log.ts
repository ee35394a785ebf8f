/**
 * What was asked of a crawl, in the order in which it was asked: state/steering.jsonl, one line for each change, also those that end with the run.
 *
 * Invariant: a record is in `state` only when its line is durable. One process writes, the one that holds the crawl's lock. A torn last line is
 * what a crash left of a change that nobody was told of: it is cut off at open. A whole one may be that as well: it counts, so it is synced first.
 */
import { PortolanError } from '../core/errors.ts';
import type { Disk, DiskFile } from '../ports/disk.ts';
import { applyRecord, decodeRecord, encodeRecord, NOTHING_STEERED, type SteeringRecord, type SteeringState } from './steering.ts';

export const STEERING_LOG = 'state/steering.jsonl';
const LOG_BYTES_MAX = 256 * 1_048_576;
const LINE_FEED = 0x0a;

export class SteeringLog {
  readonly #disk: Disk;
  #state: SteeringState;
  #file: DiskFile | undefined;
  #length: number;
  /** After a failed write nothing more is taken: what the file holds is not known. */
  #failure: unknown;

  private constructor(disk: Disk, state: SteeringState, length: number) {
    this.#disk = disk;
    this.#state = state;
    this.#length = length;
  }

  /** With the lock of the crawl held. Throws PORTOLAN_STATE_DAMAGED, PORTOLAN_STATE_NEWER, PORTOLAN_DISK_*. */
  static async open(disk: Disk): Promise<SteeringLog> {
    if (!disk.exists(STEERING_LOG)) return new SteeringLog(disk, NOTHING_STEERED, 0);
    const bytes = Buffer.from(disk.readWhole(STEERING_LOG));
    const whole = bytes.lastIndexOf(LINE_FEED) + 1;
    if (whole < bytes.length) disk.truncate(STEERING_LOG, whole);
    const log = new SteeringLog(disk, replay(bytes.toString('utf8', 0, whole)), whole);
    if (whole > 0) await log.#keepWhatIsThere();
    return log;
  }

  /** Shards take seeds of the log by their numbers: were a line gone after a power cut, the next seeds would get numbers that are taken, and be lost. */
  async #keepWhatIsThere(): Promise<void> {
    this.#file = this.#disk.openAppend(STEERING_LOG);
    await this.#file.sync();
    await this.#disk.syncDir('state');
  }

  get state(): SteeringState {
    return this.#state;
  }

  /** Durable, and in `state`, when it resolves. */
  async append(record: SteeringRecord): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const bytes = Buffer.from(encodeRecord(record));
    if (this.#length + bytes.length > LOG_BYTES_MAX) {
      throw new PortolanError('PORTOLAN_CONTROL_INVALID', `${STEERING_LOG} is full: ${LOG_BYTES_MAX} bytes are its bound`, {
        remedy: 'give further seeds and blocks to the next run with --seeds and --blocklist',
      });
    }
    try {
      const isNew = this.#length === 0;
      this.#file ??= this.#disk.openAppend(STEERING_LOG);
      this.#file.append(bytes);
      await this.#file.sync();
      if (isNew) await this.#disk.syncDir('state');
    } catch (error) {
      this.#failure = error;
      this.#takeBack();
      throw error;
    }
    this.#length += bytes.length;
    this.#state = applyRecord(this.#state, record);
  }

  /** As well as it goes: who asked is told that nothing was changed. */
  #takeBack(): void {
    try {
      this.#disk.truncate(STEERING_LOG, this.#length);
    } catch {
      // the failure that is told already says that the disk is not well
    }
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }
}

/** What is blocked and set by the text of a log that somebody else may be writing to. Seeds, which may be many, are passed over. */
export function rulesInLog(text: string): Pick<SteeringState, 'blocks' | 'delays'> {
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return replay(lines.map((line) => (line.includes('"verb":"seeds"') ? '' : line)).join('\n'));
}

function replay(text: string): SteeringState {
  let state = NOTHING_STEERED;
  let number = 0;
  for (const line of text.split('\n')) {
    number++;
    if (line !== '') state = applyRecord(state, decodeRecord(line, `${STEERING_LOG}, line ${number}`));
  }
  return state;
}
