/**
 * dedup: the verdict on each pair of documents, by the crawl's own desk with an empty store and index. What a case says of records and links is
 * judged on a real crawl of the documents.
 */
import { createMemoryStore, MemoryShardState } from '../../src/adapters/memory/shard-store.ts';
import { contentHash } from '../../src/dedup/exact.ts';
import { NearIndex } from '../../src/dedup/near-index.ts';
import { SimHasher } from '../../src/dedup/simhash.ts';
import { ContentDesk, type ContentVerdict } from '../../src/engine/content-desk.ts';
import { NO_UNITS } from '../../src/parse/page.ts';
import { TestDisk } from '../support/test-disk.ts';
import { crawlDocs } from './dedup-crawl.ts';
import { bytesOf, type Case, type Fields, type Findings, fieldsListOf, fieldsOf, headersOf, listOf, show, textOf } from './format.ts';
import { type ReadPage, readPage } from './pages.ts';

interface Doc {
  readonly id: string;
  readonly url: string;
  readonly body: Uint8Array;
  readonly read: ReadPage;
}

type Kind = ContentVerdict['kind'];

const LISTS = ['exact_duplicate', 'near_duplicate', 'not_duplicate'];
/** Words of a changed page, and of one that is the same but for what changes with each load. */
const CHANGE_WORDS: Readonly<Record<string, (kind: Kind) => boolean>> = {
  changed: (kind) => kind === '',
  unchanged: (kind) => kind !== '',
  'unchanged or minor': (kind) => kind !== '',
  minor: (kind) => kind !== '',
};

export async function judgeDedup(one: Case, findings: Findings): Promise<void> {
  const { input, expected } = one;
  findings.onlyKnown('input', input, ['kind', 'docs', 'config']);
  findings.onlyKnown('expected', expected, [...LISTS, 'change_detection', 'follow', 'must_not_follow', 'records']);
  if (Object.keys(fieldsOf(input, 'config')).length > 0) findings.notUnderstood('input.config');
  const docs = new Map(fieldsListOf(input, 'docs').map((doc) => [textOf(doc, 'id'), readDoc(doc, findings)]));
  judgePairs(expected, docs, findings);
  judgeChanges(fieldsOf(expected, 'change_detection'), docs, findings);
  if (['follow', 'must_not_follow', 'records'].some((word) => word in expected)) await crawlDocs(one, findings);
}

function readDoc(doc: Fields, findings: Findings): Doc {
  findings.onlyKnown('doc', doc, ['id', 'url', 'body', 'body_b64', 'headers']);
  const body = bytesOf(doc, 'body') ?? Buffer.alloc(0);
  const headers = headersOf(doc, findings);
  const read = readPage(textOf(doc, 'url'), headers.length === 0 ? [['Content-Type', 'text/html; charset=utf-8']] : headers, body);
  return { id: textOf(doc, 'id'), url: textOf(doc, 'url'), body, read };
}

function judgePairs(expected: Fields, docs: ReadonlyMap<string, Doc>, findings: Findings): void {
  // One hash of the main text: pages whose visible text is the same outside it too are exact, the others near.
  const right: Readonly<Record<string, (kind: Kind, sameText: boolean) => boolean>> = {
    exact_duplicate: (kind, same) => kind === 'exact' || (kind === 'text' && same),
    near_duplicate: (kind, same) => kind === 'near' || (kind === 'text' && !same),
    not_duplicate: (kind) => kind === '',
  };
  for (const list of LISTS) {
    for (const pair of listOf(expected, list)) {
      const ids = Array.isArray(pair) ? pair.map(String) : [];
      const [first, second] = ids.map((id) => docs.get(id));
      if (first === undefined || second === undefined || ids.length !== 2) findings.notUnderstood(`pair ${show(pair)}`);
      else {
        const kind = verdictOn(first, second);
        const sameText = first.read.page?.text === second.read.page?.text;
        if (!right[list]!(kind, sameText))
          findings.fail(`${first.id} and ${second.id} are ${kind === '' ? 'two pages' : `one page (${kind})`}, expected ${list}`);
      }
    }
  }
}

function judgeChanges(changes: Fields, docs: ReadonlyMap<string, Doc>, findings: Findings): void {
  for (const [step, word] of Object.entries(changes)) {
    const [first, second] = step.split('->').map((id) => docs.get(id.trim()));
    const right = CHANGE_WORDS[String(word)];
    if (first === undefined || second === undefined || right === undefined) findings.notUnderstood(`change ${step}: ${show(word)}`);
    else if (!right(verdictOn(first, second)))
      findings.fail(`${step} counts as ${verdictOn(first, second) || 'changed'}, expected ${word}`);
  }
}

/** What the desk says of `second` when `first` is all it knows. Each document stands for a URL of its own, as two loads of one URL may be compared. */
function verdictOn(first: Doc, second: Doc): Kind {
  const { disk, remove } = TestDisk.temporary();
  const near = new NearIndex({ disk, dir: 'near', memoryBytes: 2_097_152 });
  try {
    const store = createMemoryStore(new MemoryShardState());
    store.open(0);
    const desk = new ContentDesk(store, near, new SimHasher(), 3, 1);
    const judge = (doc: Doc): ContentVerdict =>
      desk.judge({
        url: `http://doc.test/${doc.id}`,
        status: 200,
        outcome: 'ok',
        bodyBytes: doc.body.length,
        hash: contentHash(doc.body),
        mainText: doc.read.page?.mainText ?? NO_UNITS,
      });
    const entry = { hash: contentHash(first.body), url: `http://doc.test/${first.id}`, fetchedAtMs: 0, payloadSha1: '' };
    desk.add(entry, judge(first));
    return judge(second).kind;
  } finally {
    near.close();
    remove();
  }
}
