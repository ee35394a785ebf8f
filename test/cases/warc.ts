/** warc: raw responses through a real crawl, then the WARC files byte by byte, with two readers that know nothing of the encoder. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { readWarcs } from '../integration/warc-files.ts';
import { judgeDurability } from './durability.ts';
import { bytesOf, type Case, type Fields, type Findings, fieldsListOf, fieldsOf, listOf, show, textOf, textsOf } from './format.ts';
import { openSession, type Session } from './session.ts';
import { digestFits, fieldOf, httpParts, type RawRecord, readWarcBytes } from './warc-bytes.ts';
import type { Answer } from './web.ts';
import { GENERATED, madeBody } from './web-bodies.ts';

const WORDS = [
  ...[
    'payload_digest',
    'same_payload_digest',
    'different_payload_digest',
    'record_is_consistent',
    'reader_gets_payload_b64',
    'accepted_forms',
  ],
  ...['http_block_equals_received', 'no_crash', 'header_count', 'content_length_exact', 'each_record_ends_with', 'members'],
  ...['total_bytes_accounted', 'required_fields'],
];
const RECORD_END = 'CRLF CRLF';
const MEMBERS = 'one gzip member per record';

/** What a case feeds: its name in the case, its URL and the bytes of the whole response as sent, when the case has them. */
interface Fed {
  readonly id: string;
  readonly url: string;
  readonly raw: Buffer | undefined;
  readonly body: Buffer | undefined;
}

export async function judgeWarc(one: Case, findings: Findings): Promise<void> {
  const { input, expected } = one;
  if (input['steps'] !== undefined) return judgeDurability(one, findings);
  findings.onlyKnown('input', input, ['kind', 'responses', 'bodies', 'gzip', 'config']);
  findings.onlyKnown('expected', expected, WORDS);
  const fed = await fedBy(input, findings);
  const forms = input['gzip'] === undefined ? [undefined] : listOf(input, 'gzip');
  for (const form of forms) await judgeForm(one, fed, form, findings);
}

async function fedBy(input: Fields, findings: Findings): Promise<readonly Fed[]> {
  const fed: Fed[] = [];
  for (const entry of [...fieldsListOf(input, 'responses'), ...fieldsListOf(input, 'bodies')]) {
    findings.onlyKnown('response', entry, ['id', 'url', 'raw', 'raw_b64', 'body', 'body_b64', 'body_gen']);
    const url = textOf(entry, 'url');
    const raw = bytesOf(entry, 'raw');
    const body = entry['body_gen'] === undefined ? bytesOf(entry, 'body') : await madeBody(entry, findings);
    fed.push({ id: textOf(entry, 'id') || (url.split('/').at(-1) ?? ''), url, raw, body });
  }
  return fed;
}

/** `form` says whether the WARC files are gzip'd; undefined leaves the default. */
async function judgeForm({ input, expected }: Case, fed: readonly Fed[], form: unknown, findings: Findings): Promise<void> {
  const byUrl = new Map(fed.map((one) => [one.url, one]));
  const answer: Answer = ({ url }) => {
    const one = byUrl.get(url);
    if (one === undefined) return undefined;
    if (one.raw !== undefined) return { raw: [{ send_b64: one.raw.toString('base64') }, { end: 'keep' }] };
    return { status: 200, headers: [['Content-Type', 'text/plain']], [GENERATED]: one.body ?? Buffer.alloc(0) };
  };
  const config = form === undefined ? {} : { output: { warcGzip: form === true } };
  const session = await openSession({ answer, seeds: [...byUrl.keys()], input, findings, config });
  try {
    await session.finish(findings);
    await session.audit(findings);
    await judgeFiles(session, fed, expected, form, findings);
  } finally {
    await session.close();
  }
}

async function judgeFiles(session: Session, fed: readonly Fed[], expected: Fields, form: unknown, findings: Findings): Promise<void> {
  const dir = join(session.out, 'warc');
  const records: RawRecord[] = [];
  for (const name of readdirSync(dir)) {
    const bytes = readFileSync(join(dir, name));
    const isGzip = bytes[0] === 0x1f;
    if (form !== undefined && isGzip !== form) findings.fail(`${name} is ${isGzip ? '' : 'not '}gzip'd`);
    if (isGzip !== name.endsWith('.gz')) findings.fail(`${name} has the wrong ending`);
    const read = readWarcBytes(bytes);
    for (const wrong of read.wrong) findings.fail(`${name}: ${wrong}`);
    records.push(...read.records);
  }
  // The other reader finds the same records with the same blocks.
  const others = await readWarcs(session.out);
  findings.equal(
    'records that the second reader finds',
    others.map((record) => record.block.length),
    records.map((record) => record.block.length),
  );
  for (const record of records) judgeRecord(record, expected, findings);
  if (expected['each_record_ends_with'] !== undefined && expected['each_record_ends_with'] !== RECORD_END)
    findings.notUnderstood(`each_record_ends_with ${show(expected['each_record_ends_with'])}`);
  if (expected['members'] !== undefined && expected['members'] !== MEMBERS) findings.notUnderstood(`members ${show(expected['members'])}`);
  judgePayloads(fed, records, expected, findings);
}

function judgeRecord(record: RawRecord, expected: Fields, findings: Findings): void {
  const type = fieldOf(record, 'WARC-Type') ?? 'no type';
  const about = `${type} of ${fieldOf(record, 'WARC-Target-URI') ?? 'the file'}`;
  for (const name of textsOf(expected, 'required_fields')) {
    const exempt = name === 'WARC-Target-URI' && type === 'warcinfo'; // WARC 1.1 section 5.11: it has none
    if (!exempt && fieldOf(record, name) === undefined) findings.fail(`${about} has no ${name}`);
  }
  const block = fieldOf(record, 'WARC-Block-Digest');
  if (block !== undefined && !digestFits(block, record.block)) findings.fail(`the block digest of ${about} is not that of its block`);
  if (type !== 'response') return;
  const { head, payload } = httpParts(record.block);
  for (const name of ['WARC-Payload-Digest', 'WARC-Payload-Digest-SHA-256']) {
    const digest = fieldOf(record, name);
    if (digest !== undefined && !digestFits(digest, payload)) findings.fail(`${name} of ${about} is not that of its payload`);
  }
  if (expected['record_is_consistent'] === true) {
    const text = head.toString('latin1');
    const length = /^content-length:\s*(\d+)/im.exec(text)?.[1];
    if (/^transfer-encoding:\s*chunked/im.test(text) && !/^[0-9a-f]+\r\n/i.test(payload.toString('latin1')))
      findings.fail(`${about} promises chunks and has none`);
    if (length !== undefined && Number(length) !== payload.length)
      findings.fail(`${about} promises ${length} bytes and has ${payload.length}`);
  }
}

function judgePayloads(fed: readonly Fed[], records: readonly RawRecord[], expected: Fields, findings: Findings): void {
  const stored = new Map<string, RawRecord>();
  for (const one of fed) {
    const found = records.filter(
      (record) => fieldOf(record, 'WARC-Target-URI') === one.url && ['response', 'revisit'].includes(fieldOf(record, 'WARC-Type') ?? ''),
    );
    if (found.length !== 1) findings.fail(`${found.length} records of ${one.url}`);
    if (found[0] !== undefined) stored.set(one.id, found[0]);
    if (
      found[0] !== undefined &&
      one.body !== undefined &&
      expected['total_bytes_accounted'] === true &&
      fieldOf(found[0], 'WARC-Type') === 'response'
    )
      findings.equal(`body of ${one.url} as stored`, httpParts(found[0].block).payload.equals(one.body), true);
    if (found[0] !== undefined && one.raw !== undefined && expected['http_block_equals_received'] === true)
      judgeBlock(one, found[0], findings);
  }
  const digest = (id: unknown): string | undefined =>
    fieldOf(stored.get(String(id)) ?? { version: '', fields: [], block: Buffer.alloc(0) }, 'WARC-Payload-Digest');
  const groups = (word: string): readonly unknown[][] => listOf(expected, word).filter((group): group is unknown[] => Array.isArray(group));
  for (const group of groups('same_payload_digest'))
    if (new Set(group.map(digest)).size !== 1 || digest(group[0]) === undefined) findings.fail(`payload digests of ${show(group)} differ`);
  for (const group of groups('different_payload_digest'))
    if (new Set(group.map(digest)).size !== group.length) findings.fail(`payload digests of ${show(group)} are the same`);
  for (const [id, digests] of Object.entries(fieldsOf(expected, 'payload_digest'))) judgeDigests(id, stored.get(id), digests, findings);
  for (const [id, base64] of Object.entries(fieldsOf(expected, 'reader_gets_payload_b64')))
    judgeDecoded(id, stored.get(id), String(base64), findings);
  for (const [name, count] of Object.entries(fieldsOf(expected, 'header_count')))
    for (const [id, record] of stored) {
      const lines = httpParts(record.block).head.toString('latin1').split('\r\n');
      findings.equal(
        `lines ${name} of ${id}`,
        lines.filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`)).length,
        count,
      );
    }
}

/** The block is what was sent, but for chunk frames. */
function judgeBlock({ raw, url }: Fed, record: RawRecord, findings: Findings): void {
  const sent = httpParts(raw!);
  const kept = httpParts(record.block);
  if (!kept.head.equals(sent.head))
    findings.fail(`the head of ${url} is ${show(kept.head.toString('latin1'))}, sent was ${show(sent.head.toString('latin1'))}`);
  if (!/^transfer-encoding/im.test(sent.head.toString('latin1')) && !kept.payload.equals(sent.payload))
    findings.fail(`the payload of ${url} is not what was sent`);
}

function judgeDigests(id: string, record: RawRecord | undefined, digests: unknown, findings: Findings): void {
  if (record === undefined) return;
  const fields = [fieldOf(record, 'WARC-Payload-Digest'), fieldOf(record, 'WARC-Payload-Digest-SHA-256')];
  for (const [algorithm, digest] of Object.entries(fieldsOf({ digests }, 'digests')))
    if (!fields.includes(String(digest)))
      findings.fail(`the ${algorithm} payload digest of ${id} is ${show(fields)}, expected ${show(digest)}`);
}

/** What a reader gets that undoes the content coding named by the stored head. A revisit record has no payload of its own. */
function judgeDecoded(id: string, record: RawRecord | undefined, base64: string, findings: Findings): void {
  if (record === undefined || fieldOf(record, 'WARC-Type') === 'revisit') return;
  const { head, payload } = httpParts(record.block);
  const coding = /^content-encoding:\s*(\S+)/im.exec(head.toString('latin1'))?.[1]?.toLowerCase();
  const decoded =
    coding === 'gzip'
      ? gunzipSync(payload)
      : coding === 'br'
        ? brotliDecompressSync(payload)
        : coding === 'deflate'
          ? inflateSync(payload)
          : payload;
  findings.equal(`payload of ${id}`, decoded.toString('base64'), base64);
}
