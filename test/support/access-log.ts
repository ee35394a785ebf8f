/**
 * The exact record of what reached a test server, and the questions that a test asks it. It is filled by test/support/web-server.ts in the same
 * process, or read back from the file that a server in another process wrote (one JSON object a line).
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

export interface Access {
  /** Host header in lower case, with the port when one was sent. */
  readonly host: string;
  /** address:port that was connected to. */
  readonly address: string;
  readonly method: string;
  /** Path and query as sent. */
  readonly path: string;
  /** Epoch ms with fractions; request head parsed. */
  readonly startMs: number;
  /** Just before the last byte was handed to the operating system, or when the connection was found gone. */
  readonly endMs: number;
  /** Number of the connection, from 1, and of the request on it, from 1. */
  readonly connection: number;
  readonly nth: number;
  readonly remotePort: number;
  /** 0 when no status line was sent. */
  readonly status: number;
  /** False when the connection went away before the response was whole. */
  readonly whole: boolean;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Both clocks of a gap are this machine's; timers of 1 ms resolution and the hand-over to the kernel account for this much. */
export const CLOCK_SLACK_MS = 2;
const SAMPLES_MAX = 10;

export class AccessLog {
  readonly #entries: Access[] = [];

  static read(path: string): AccessLog {
    const log = new AccessLog();
    const lines = readFileSync(path, 'utf8').split('\n');
    for (const line of lines) if (line !== '') log.add(JSON.parse(line) as Access);
    return log;
  }

  add(access: Access): void {
    this.#entries.push(access);
  }

  clear(): void {
    this.#entries.length = 0;
  }

  /** In order of their start. With a host: its own only. */
  entries(host?: string): readonly Access[] {
    const wanted = host === undefined ? this.#entries : this.#entries.filter((entry) => entry.host === host);
    return wanted.toSorted((a, b) => a.startMs - b.startMs);
  }

  /** Entries without robots.txt. */
  pages(host?: string): readonly Access[] {
    return this.entries(host).filter((entry) => entry.path !== '/robots.txt');
  }

  hosts(): readonly string[] {
    return [...new Set(this.#entries.map((entry) => entry.host))].sort();
  }

  count(host: string, path: string): number {
    return this.#entries.filter((entry) => entry.host === host && entry.path === path).length;
  }

  /** URLs (http://host/path) that were never asked for. */
  missing(expected: Iterable<string>): readonly string[] {
    const seen = new Set(this.#entries.map(urlOf));
    return [...expected].filter((url) => !seen.has(url));
  }

  /** Page URLs asked for that are not in the list. */
  extra(expected: Iterable<string>): readonly string[] {
    const known = new Set(expected);
    return [...new Set(this.pages().map(urlOf))].filter((url) => !known.has(url));
  }

  /** URL → how often it was asked for, for those asked more than once. */
  repeats(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const entry of this.#entries) counts.set(urlOf(entry), (counts.get(urlOf(entry)) ?? 0) + 1);
    return new Map([...counts].filter(([, count]) => count > 1));
  }

  /** Pairs of consecutive requests of one host (or one address) with the pause between the end of the first and the start of the second. */
  pauses(by: 'host' | 'address', name: string): readonly Pause[] {
    const own = this.entries().filter((entry) => entry[by] === name);
    const pauses: Pause[] = [];
    let busy: Access | undefined;
    for (const entry of own) {
      if (busy !== undefined) pauses.push({ before: busy, after: entry, ms: entry.startMs - busy.endMs });
      if (busy === undefined || entry.endMs > busy.endMs) busy = entry;
    }
    return pauses;
  }

  /** Every request of the host began at least `minMs` after the end of the one before. */
  assertGap(host: string, minMs: number): void {
    failOn(
      host,
      this.pauses('host', host).filter((pause) => pause.ms < minMs - CLOCK_SLACK_MS),
      `${minMs} ms`,
    );
  }

  assertAddressGap(address: string, minMs: number): void {
    failOn(
      address,
      this.pauses('address', address).filter((pause) => pause.ms < minMs - CLOCK_SLACK_MS),
      `${minMs} ms`,
    );
  }

  /** No two requests to the host were in flight at once. */
  assertNoOverlap(host: string): void {
    failOn(
      host,
      this.pauses('host', host).filter((pause) => pause.ms < 0),
      'one at a time',
    );
  }

  assertNoAddressOverlap(address: string): void {
    failOn(
      address,
      this.pauses('address', address).filter((pause) => pause.ms < 0),
      'one at a time',
    );
  }

  /** robots.txt was answered before anything else was asked for, on every host. */
  assertRobotsFirst(): void {
    for (const host of this.hosts()) assert.equal(this.entries(host)[0]?.path, '/robots.txt', `first request to ${host}`);
  }
}

export interface Pause {
  readonly before: Access;
  readonly after: Access;
  readonly ms: number;
}

export function urlOf(access: Access): string {
  return `http://${access.host}${access.path}`;
}

function failOn(name: string, bad: readonly Pause[], rule: string): void {
  const told = bad.slice(0, SAMPLES_MAX).map((pause) => `${pause.before.path} → ${pause.after.path}: ${pause.ms.toFixed(1)} ms`);
  assert.equal(bad.length, 0, `${name} is owed ${rule}: ${told.join('; ')}`);
}
