/**
 * pages.jsonl: one JSON object per line and outcome, in a fixed order of keys. Absent values are left out, so that a line is about 700 bytes.
 *
 * Each fetch that ended, well or badly, is one line (a URL that is fetched again later gets another); an admitted URL that is
 * let go without a request has a line of another kind (drop-line.ts), a rejected one has none. Dates are ISO 8601 in UTC with milliseconds, durations milliseconds, sizes bytes.
 * JSON.stringify writes it, 7 µs a line; the same text put together by hand took as long on Node 24.
 */
import type { FindKind, OutcomeClass, OutcomeCode, RejectReason } from '../core/reasons.ts';
import type { EpochMs } from '../core/time.ts';
import { isoDate } from './iso-date.ts';
import type { ReadBytes } from './segment-writer.ts';

type Maybe<T> = T | undefined;

export interface PageLineRecord {
  /** URL as it was requested. */
  readonly url: string;
  /** URL that the page itself names as canonical (rel=canonical), when it does. */
  readonly canonical?: Maybe<string>;
  /** URL key, 16 hex digits. */
  readonly key: string;
  /** Host key. */
  readonly host: string;
  /** HTTP status; absent when no response came. */
  readonly status?: Maybe<number>;
  readonly outcome: OutcomeCode;
  readonly class: OutcomeClass;
  /** Page the URL was first found on; absent for a seed. */
  readonly via?: Maybe<string>;
  readonly kind: FindKind;
  /** Links from a seed; a seed is 0. */
  readonly depth: number;
  readonly foundAtMs: EpochMs;
  /** Moment of the request. */
  readonly fetchedAtMs: EpochMs;
  /** From the request to the end of the exchange. */
  readonly durationMs: number;
  /** From the request to the first byte of the response. */
  readonly firstByteMs?: Maybe<number>;
  /** Peer's address. */
  readonly address?: Maybe<string>;
  /** Body as it came over the wire, without transfer coding. */
  readonly bytesWire?: Maybe<number>;
  /** Body with the content coding undone. */
  readonly bytesBody?: Maybe<number>;
  readonly contentType?: Maybe<string>;
  readonly charset?: Maybe<string>;
  readonly title?: Maybe<string>;
  /** SHA-256 of the decoded body, hex. */
  readonly contentHash?: Maybe<string>;
  /** 16 hex digits. */
  readonly simhash?: Maybe<string>;
  /** URL with the same content hash that was there first. */
  readonly duplicateOf?: Maybe<string>;
  readonly nearDuplicateOf?: Maybe<string>;
  readonly etag?: Maybe<string>;
  /** As the server wrote it. */
  readonly lastModified?: Maybe<string>;
  /** Directives of meta robots and X-Robots-Tag that applied. */
  readonly robots?: Maybe<readonly string[]>;
  /** Absolute URL of a redirect's target. */
  readonly redirectTo?: Maybe<string>;
  /** Requests made for this URL until this outcome, this one included. */
  readonly attempts: number;
  readonly links?: Maybe<PageLinks>;
  /** Estimated changes per day, when revisits are planned. */
  readonly changeRate?: Maybe<number>;
  readonly nextFetchAtMs?: Maybe<EpochMs>;
  /** Where the response or revisit record begins. Absent when nothing was stored. */
  readonly warc?: Maybe<{ readonly file: string; readonly offset: number; readonly length: number }>;
  /** What went wrong, in words, for an outcome that is not a success. */
  readonly detail?: Maybe<string>;
  /** Visible text, only on request. */
  readonly text?: Maybe<string>;
}

export interface PageLinks {
  /** Links on the page, each counted. found = known + sent + the sum of rejected, once all are decided. */
  readonly found: number;
  readonly rejected: Readonly<Partial<Record<RejectReason, number>>>;
  readonly known?: Maybe<number>;
  readonly sent?: Maybe<number>;
}

/** The line, with its line feed. Numbers that are not finite become null; lone surrogates are escaped, so the line is always valid UTF-8. */
export function encodePageLine(record: PageLineRecord): string {
  return `${JSON.stringify({
    url: record.url,
    canonical: record.canonical,
    key: record.key,
    host: record.host,
    status: record.status,
    outcome: record.outcome,
    class: record.class,
    via: record.via,
    kind: record.kind,
    depth: record.depth,
    foundAt: isoDate(record.foundAtMs),
    fetchedAt: isoDate(record.fetchedAtMs),
    durationMs: toMicroseconds(record.durationMs),
    firstByteMs: record.firstByteMs === undefined ? undefined : toMicroseconds(record.firstByteMs),
    address: record.address,
    bytesWire: record.bytesWire,
    bytesBody: record.bytesBody,
    contentType: record.contentType,
    charset: record.charset,
    title: record.title,
    contentHash: record.contentHash,
    simhash: record.simhash,
    duplicateOf: record.duplicateOf,
    nearDuplicateOf: record.nearDuplicateOf,
    etag: record.etag,
    lastModified: record.lastModified,
    robots: record.robots,
    redirectTo: record.redirectTo,
    attempts: record.attempts,
    links: record.links,
    changeRate: record.changeRate,
    nextFetchAt: record.nextFetchAtMs === undefined ? undefined : isoDate(record.nextFetchAtMs),
    warc: record.warc,
    detail: record.detail,
    text: record.text,
  })}\n`;
}

/** A duration with the digits that mean something. */
function toMicroseconds(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}

/** End of the last whole line, at or after `from`: for a file that a crash left with a torn end. */
export function wholeLinesLength(read: ReadBytes, from: number, length: number): number {
  const windowBytes = 64 << 10;
  for (let end = length; end > from; end -= windowBytes) {
    const start = Math.max(from, end - windowBytes);
    const at = read(start, end - start).lastIndexOf(0x0a);
    if (at >= 0) return start + at + 1;
  }
  return from;
}
