/** Plain progress for people on standard error, events for machines on standard output. */
import { type Overall, overall, sum } from '../engine/accounting.ts';
import type { CoordinatorEvents } from '../engine/coordinator.ts';
import type { ShardStatus } from '../engine/shard.ts';

const LINE_EVERY_MS = 5_000;
const TERMINAL_EVERY_MS = 500;

export interface Progress extends CoordinatorEvents {
  /** Clears an unfinished line. */
  end(): void;
}

export function createProgress(mode: 'human' | 'json' | 'quiet', now: () => number): Progress {
  if (mode === 'json') return jsonProgress();
  if (mode === 'quiet') return { committed() {}, notice() {}, progress() {}, end() {} };
  return humanProgress(now);
}

function jsonProgress(): Progress {
  const emit = (event: Record<string, unknown>): void => void process.stdout.write(`${JSON.stringify(event)}\n`);
  return {
    committed: (shard, commitSeq, pages) => emit({ event: 'commit', shard, commitSeq, pages }),
    rotated: (shard, file) => emit({ event: 'rotate', shard, file }),
    notice: (shard, text) => emit({ event: 'notice', shard, text }),
    progress: (statuses) => emit({ event: 'progress', ...summary(statuses) }),
    end() {},
  };
}

function humanProgress(now: () => number): Progress {
  const terminal = process.stderr.isTTY === true;
  let last = { at: now(), fetched: -1 };
  let drawn = false;
  const clear = (): void => {
    if (drawn) process.stderr.write('\r\x1b[K');
    drawn = false;
  };
  return {
    committed() {},
    notice(_shard, text) {
      clear();
      process.stderr.write(`portolan: ${text}\n`);
    },
    progress(statuses) {
      const at = now();
      const all = summary(statuses);
      if (last.fetched < 0) last = { at, fetched: all.fetched };
      if (at - last.at < (terminal ? TERMINAL_EVERY_MS : LINE_EVERY_MS)) return;
      const rate = ((all.fetched - last.fetched) * 1_000) / Math.max(1, at - last.at);
      last = { at, fetched: all.fetched };
      const line = `${all.fetched} fetched (${rate.toFixed(1)}/s), ${all.queued} queued, ${all.inFlight} in flight, ${all.active} of ${all.hosts} hosts in back queues${all.waiting}`;
      if (terminal) {
        process.stderr.write(`\r\x1b[K${line}`);
        drawn = true;
      } else process.stderr.write(`${line}\n`);
    },
    end: clear,
  };
}

function summary(statuses: readonly ShardStatus[]) {
  const all: Overall = overall(statuses.map((status) => status.totals));
  const total = (pick: (status: ShardStatus) => number): number => statuses.reduce((a, status) => a + pick(status), 0);
  const wait = Math.min(...statuses.map((status) => (status.inFlight > 0 ? 0 : status.waitMs)));
  const paused = statuses.find((status) => status.paused !== '')?.paused ?? '';
  return {
    fetched: sum(all.fetched),
    queued: all.queued,
    dropped: sum(all.dropped),
    unaccounted: all.unaccounted,
    inFlight: total((s) => s.inFlight),
    active: total((s) => s.active),
    hosts: total((s) => s.hosts),
    waiting:
      paused !== ''
        ? `, paused (${paused})`
        : Number.isFinite(wait) && wait > 2_000 && all.queued > 0
          ? `, next fetch in ${Math.round(wait / 1_000)} s`
          : '',
  };
}
