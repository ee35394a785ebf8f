/** Reads the access log that test/support/nginx.ts lets nginx write. A line that does not fit is an error: a judge must not overlook a request. */
import { readFileSync } from 'node:fs';

export interface LoggedRequest {
  /** Epoch milliseconds; the resolution is 1 ms and the clock may be late by a turn of nginx's event loop. */
  readonly startMs: number;
  readonly endMs: number;
  /** address:port that was connected to. */
  readonly address: string;
  /** Host header as sent, or "-". */
  readonly host: string;
  readonly status: number;
  readonly bodyBytes: number;
  /** Content coding, or "-". */
  readonly coding: string;
  readonly connection: number;
  /** Path and query as sent, bytes outside ASCII as %XX. */
  readonly target: string;
  readonly agent: string;
}

/** nginx's clock stands still within a turn of its event loop. */
export const CLOCK_SLACK_MS = 10;

const LINE = /^([\d.]+) (\S+) (\d+) (\d+) (\S+) (\d+) "([^"]*)" "([^"]*)" ([\d.]+) "([^"]*)"$/;

export function readNginxLog(path: string): LoggedRequest[] {
  const requests: LoggedRequest[] = [];
  for (const line of readFileSync(path, 'latin1').split('\n')) {
    if (line === '') continue;
    const m = LINE.exec(line);
    if (m === null) throw new Error(`not a line of the access log: ${line.slice(0, 200)}`);
    const endMs = Math.round(Number(m[1]) * 1_000);
    requests.push({
      startMs: endMs - Math.round(Number(m[9]) * 1_000),
      endMs,
      address: m[2] ?? '',
      host: unescapeLog(m[10] ?? ''),
      status: Number(m[3]),
      bodyBytes: Number(m[4]),
      coding: m[5] ?? '-',
      connection: Number(m[6]),
      target: unescapeLog(m[7] ?? ''),
      agent: m[8] ?? '',
    });
  }
  return requests;
}

/** nginx writes quotes, backslashes and bytes outside ASCII as \xHH. */
function unescapeLog(text: string): string {
  return text.replace(/\\x([0-9A-F]{2})/g, (_, hex: string) =>
    hex === '22' || hex === '5C' ? String.fromCharCode(Number.parseInt(hex, 16)) : `%${hex}`,
  );
}

/** Requests to one address that ran at the same time, or began sooner than `gapMs` after the end of the one before (0 looks for overlaps only). */
export function measurePauses(
  requests: readonly LoggedRequest[],
  gapMs: number,
): { overlaps: number; shortGaps: number; gapMsMin: number | null } {
  const busyUntilMs = new Map<string, number>();
  let overlaps = 0;
  let shortGaps = 0;
  let gapMsMin: number | null = null;
  for (const request of requests.toSorted((a, b) => a.startMs - b.startMs || a.endMs - b.endMs)) {
    const until = busyUntilMs.get(request.address);
    if (until !== undefined) {
      const pause = request.startMs - until;
      gapMsMin = gapMsMin === null ? pause : Math.min(gapMsMin, pause);
      if (pause < -CLOCK_SLACK_MS) overlaps++;
      else if (gapMs > 0 && pause < gapMs - CLOCK_SLACK_MS) shortGaps++;
    }
    busyUntilMs.set(request.address, Math.max(until ?? 0, request.endMs));
  }
  return { overlaps, shortGaps, gapMsMin };
}
