/** The pages.jsonl line of an admitted URL that was let go without a request: outcome "dropped" and the reason from the closed list. */
import type { DropReason } from '../core/reasons.ts';
import type { EpochMs } from '../core/time.ts';
import { isoDate } from './iso-date.ts';

export interface DropLineRecord {
  readonly url: string;
  /** URL key, 16 hex digits. */
  readonly key: string;
  readonly host: string;
  readonly reason: DropReason;
  /** The rule, line or range that decided, in words; '' when the reason says all. */
  readonly detail: string;
  readonly via: string;
  readonly depth: number;
  readonly atMs: EpochMs;
}

export function encodeDropLine(record: DropLineRecord): string {
  const detail = record.detail === '' ? '' : `,"detail":${JSON.stringify(record.detail)}`;
  const via = record.via === '' ? '' : `,"via":${JSON.stringify(record.via)}`;
  return (
    `{"url":${JSON.stringify(record.url)},"key":"${record.key}","host":${JSON.stringify(record.host)},"outcome":"dropped","reason":"${record.reason}"` +
    `${detail}${via},"depth":${record.depth},"droppedAt":"${isoDate(record.atMs)}"}\n`
  );
}
