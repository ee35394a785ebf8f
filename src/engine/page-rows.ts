/** One recorded answer in its two forms: the row of the store and the line of pages.jsonl. Pure: what is known, put under the names of each. */
import type { OutcomeClass, OutcomeCode } from '../core/reasons.ts';
import type { PageRow } from '../core/records.ts';
import type { PageLineRecord } from '../output/pages-jsonl.ts';
import { keyHex } from '../url/index.ts';
import type { ContentVerdict } from './content-desk.ts';
import { rowDepth } from './entries.ts';
import type { LinkTally } from './find-router.ts';
import type { Answer } from './page-recorder.ts';

/** Where the body is kept. */
export interface StoredBody {
  readonly segment: string;
  readonly offset: number;
  readonly length: number;
  readonly payloadSha1: string;
}

/** What was found out about an answer beyond the exchange itself. */
export interface PageFindings {
  /** SHA-256 of the decoded body; undefined without one that counts. */
  readonly hash: Buffer | undefined;
  readonly verdict: ContentVerdict | undefined;
  readonly stored: StoredBody | undefined;
  readonly tally: LinkTally | undefined;
  readonly title: string;
  /** As the page names it. */
  readonly canonical: string | undefined;
  /** '' unless it is a redirect. */
  readonly redirectTo: string;
  readonly robots: readonly string[];
  readonly text: string | undefined;
}

export function pageRowOf(answer: Answer, outcome: OutcomeCode, findings: PageFindings): PageRow {
  const { memory, entry, url, result } = answer;
  const { hash, verdict, stored } = findings;
  return {
    hostId: memory.record.id,
    keyHi: entry.keyHi,
    keyLo: entry.keyLo,
    url,
    status: result.status,
    outcome,
    fetchedAtMs: result.startedAtEpoch,
    etag: result.etag ?? '',
    lastModified: result.lastModified ?? '',
    contentHash: hash,
    simhashHi: verdict?.simhashHi ?? 0,
    simhashLo: verdict?.simhashLo ?? 0,
    words: verdict?.words ?? 0,
    duplicateOf: verdict?.original?.url ?? '',
    duplicateKind: verdict?.kind ?? '',
    changeRate: 0,
    nextFetchMs: 0,
    segment: stored?.segment ?? '',
    offset: stored?.offset ?? 0,
    length: stored?.length ?? 0,
    via: entry.via,
    depth: rowDepth(entry),
    foundAtS: entry.foundAtS,
    attempts: entry.attempts,
    bodyBytes: result.body.length,
    durationMs: result.durationMs,
  };
}

export function pageLineOf(answer: Answer, outcome: OutcomeCode, outcomeClass: OutcomeClass, findings: PageFindings): PageLineRecord {
  const { memory, entry, url, result } = answer;
  const { verdict, stored, tally } = findings;
  return {
    url,
    canonical: findings.canonical,
    key: keyHex(entry.keyHi, entry.keyLo),
    host: memory.record.key,
    status: result.status === 0 ? undefined : result.status,
    outcome,
    class: outcomeClass,
    via: entry.via === '' ? undefined : entry.via,
    kind: entry.kind,
    depth: entry.depth,
    foundAtMs: entry.foundAtS * 1_000,
    fetchedAtMs: result.startedAtEpoch,
    durationMs: result.durationMs,
    firstByteMs: result.firstByteMs,
    address: result.remoteAddress === '' ? undefined : result.remoteAddress,
    bytesWire: result.wireBody.length,
    bytesBody: result.body.length,
    contentType: result.contentType,
    title: findings.title === '' ? undefined : findings.title,
    contentHash: findings.hash?.toString('hex'),
    simhash: verdict !== undefined && verdict.words > 0 ? keyHex(verdict.simhashHi, verdict.simhashLo) : undefined,
    duplicateOf: verdict?.kind === 'exact' ? verdict.original?.url : undefined,
    nearDuplicateOf: verdict?.kind === 'near' || verdict?.kind === 'text' ? verdict.original?.url : undefined,
    etag: result.etag,
    lastModified: result.lastModified,
    robots: findings.robots.length > 0 ? findings.robots : undefined,
    redirectTo: findings.redirectTo === '' ? undefined : findings.redirectTo,
    attempts: entry.attempts,
    links:
      tally === undefined
        ? undefined
        : { found: tally.found, rejected: tally.rejected, known: tally.known, sent: tally.local + tally.sent },
    warc: stored === undefined ? undefined : { file: stored.segment, offset: stored.offset, length: stored.length },
    detail: result.detail === '' ? undefined : result.detail,
    text: findings.text,
  };
}
