/** dedup, the part that needs a crawl: which links of copies are followed, how many bodies are stored, and what a copy's record says. */
import { readWarcs } from '../integration/warc-files.ts';
import { bytesOf, type Case, type Findings, fieldsListOf, listOf, show, textOf, textsOf } from './format.ts';
import { openSession } from './session.ts';

const ONE_BODY = 'two records, one stored body; the second names the first';

export async function crawlDocs({ input, expected }: Case, findings: Findings): Promise<void> {
  const docs = new Map(fieldsListOf(input, 'docs').map((doc) => [textOf(doc, 'url'), bytesOf(doc, 'body') ?? Buffer.alloc(0)]));
  const seeds = [...docs.keys()];
  const session = await openSession({
    seeds,
    input,
    findings,
    answer: ({ url }) =>
      docs.has(url)
        ? { status: 200, headers: [['Content-Type', 'text/html; charset=utf-8']], body_b64: docs.get(url)!.toString('base64') }
        : undefined,
  });
  try {
    await session.finish(findings);
    await session.audit(findings);
    const asked = new Set(session.web.log.map((request) => request.url));
    for (const url of textsOf(expected, 'follow')) if (!asked.has(url)) findings.fail(`${url} was not followed`);
    for (const url of textsOf(expected, 'must_not_follow')) if (asked.has(url)) findings.fail(`${url} was followed`);
    if (expected['records'] === undefined) return;
    if (expected['records'] !== ONE_BODY) return findings.notUnderstood(`records ${show(expected['records'])}`);
    const rows = session.rows().filter((row) => docs.has(row.url));
    const stored = (await readWarcs(session.out)).filter((record) => docs.has(record.url));
    for (const pair of listOf(expected, 'exact_duplicate')) {
      const urls = (Array.isArray(pair) ? pair : []).map((id) =>
        textOf(fieldsListOf(input, 'docs').find((doc) => doc['id'] === id) ?? {}, 'url'),
      );
      const ofPair = rows.filter((row) => urls.includes(row.url));
      findings.equal('records of a pair', ofPair.length, 2);
      findings.equal(
        'bodies stored of a pair',
        stored.filter((record) => record.type === 'response' && urls.includes(record.url)).length,
        1,
      );
      findings.equal(
        'the copy names its original',
        ofPair.filter((row) => row.duplicateOf !== undefined && urls.includes(row.duplicateOf)).length,
        1,
      );
    }
  } finally {
    await session.close();
  }
}
