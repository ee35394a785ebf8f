/**
 * What a crawl shows while it runs: a live view on a terminal, a line every ten seconds in a log, JSON events for machines (docs/REPORT.md), or nothing.
 * People are told on standard error, machines on standard output.
 */
import { sum } from '../engine/accounting.ts';
import type { CoordinatorEvents } from '../engine/coordinator.ts';
import type { ShardStatus } from '../engine/shard.ts';
import type { CrawlView } from '../engine/watch.ts';
import { LiveBlock, liveLines, plainLine, type Screen } from './live-view.ts';
import { printable } from './numbers.ts';

export const LINE_EVERY_MS = 10_000;
export const DRAW_EVERY_MS = 500;

export interface Progress extends CoordinatorEvents {
  /** Takes the live view away. */
  end(): void;
}

export type ProgressMode = 'human' | 'json' | 'quiet';

/** Where progress goes, and what is known of it. */
export interface ProgressTarget {
  readonly screen: Screen;
  readonly isTerminal: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Milliseconds that never go back. */
  readonly nowMs: () => number;
  readonly nowEpochMs: () => number;
  /** One JSON event. */
  readonly emit: (line: string) => void;
}

export function standardTarget(): ProgressTarget {
  const { stderr, stdout } = process;
  return {
    screen: {
      write: (text) => void stderr.write(text),
      columns: () => stderr.columns ?? 80,
      rows: () => stderr.rows ?? 24,
    },
    isTerminal: stderr.isTTY === true,
    env: process.env,
    nowMs: () => performance.now(),
    nowEpochMs: () => Date.now(),
    emit: (line) => void stdout.write(`${line}\n`),
  };
}

export function createProgress(mode: ProgressMode, target: ProgressTarget = standardTarget()): Progress {
  if (mode === 'json') return jsonProgress(target);
  if (mode === 'quiet') return { committed() {}, notice() {}, progress() {}, end() {} };
  return isLive(target) ? liveProgress(target) : lineProgress(target);
}

/** A terminal that can move its cursor. */
function isLive({ isTerminal, env }: ProgressTarget): boolean {
  return isTerminal && env['TERM'] !== undefined && env['TERM'] !== '' && env['TERM'] !== 'dumb';
}

function liveProgress({ screen, env, nowMs }: ProgressTarget): Progress {
  const block = new LiveBlock(screen, (env['NO_COLOR'] ?? '') === '');
  let drawnAtMs = Number.NEGATIVE_INFINITY;
  let isOver = false;
  return {
    committed() {},
    notice: (_shard, text) => block.say(`portolan: ${text}`),
    progress(_statuses, view) {
      const now = nowMs();
      if (isOver || now - drawnAtMs < DRAW_EVERY_MS) return;
      drawnAtMs = now;
      block.draw(liveLines(view, screen.columns()));
    },
    end() {
      isOver = true;
      block.end();
    },
  };
}

function lineProgress({ screen, nowMs }: ProgressTarget): Progress {
  let saidAtMs = nowMs();
  return {
    committed() {},
    notice: (_shard, text) => screen.write(`portolan: ${printable(text)}\n`),
    progress(_statuses, view) {
      const now = nowMs();
      if (now - saidAtMs < LINE_EVERY_MS) return;
      saidAtMs = now;
      screen.write(`${plainLine(view)}\n`);
    },
    end() {},
  };
}

function jsonProgress({ emit, nowEpochMs }: ProgressTarget): Progress {
  const event = (name: string, fields: Record<string, unknown>): void =>
    emit(JSON.stringify({ event: name, ...fields, atMs: nowEpochMs() }));
  return {
    committed: (shard, commitSeq, pages) => event('commit', { shard, commitSeq, pages }),
    rotated: (shard, file) => event('rotate', { shard, file }),
    notice: (shard, text) => event('notice', { shard, text }),
    progress: (statuses, view) => event('progress', progressFields(statuses, view)),
    end() {},
  };
}

function progressFields(statuses: readonly ShardStatus[], view: CrawlView): Record<string, unknown> {
  const { all, rates, eta, measures } = view;
  return {
    ranMs: view.ranMs,
    pages: view.pages,
    fetched: sum(all.fetched),
    queued: all.queued,
    dropped: sum(all.dropped),
    unaccounted: all.unaccounted,
    wireBytes: view.wireBytes,
    errors: view.errors,
    inFlight: view.inFlight,
    ceiling: view.ceiling,
    active: view.active,
    hosts: view.hosts,
    hostsApart: view.hostsApart,
    paused: statuses.find((status) => status.paused !== '')?.paused ?? '',
    nextFetchMs: Number.isFinite(view.nextFetchMs) ? Math.round(view.nextFetchMs) : null,
    pagesPerS: round(rates.pagesPerS),
    bytesPerS: round(rates.bytesPerS),
    requestsPerS: round(rates.requestsPerS),
    constraint: view.constraint,
    constraintText: view.constraintWords,
    etaMs: eta.kind === 'in' ? Math.round(eta.ms) : null,
    etaEnd: eta.kind === 'in' ? eta.end : null,
    etaText: view.etaWords,
    measures: Object.fromEntries(Object.entries(measures).map(([name, value]) => [name, typeof value === 'number' ? round(value) : value])),
  };
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
