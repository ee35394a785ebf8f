/** html_links: what a page leads to. Embedded resources are not crawled by this program, so `resources` has nothing to judge. */
import { bytesOf, type Case, type Findings, fieldsOf, headersOf, isFields, listOf, show, textOf, textsOf } from './format.ts';
import { type Headers, headerOf, type ReadPage, readPage } from './pages.ts';

const HEADER = /^HEADER\s+([^:\s]+)\s*:\s*([\s\S]*)$/;

export function judgeHtmlLinks(one: Case, findings: Findings): void {
  const { input, expected } = one;
  findings.onlyKnown('input', input, ['kind', 'page_url', 'content_type', 'html', 'html_b64', 'headers', 'variants', 'agent']);
  findings.onlyKnown('expected', expected, ['follow', 'must_not_follow', 'resources', 'variants', 'title']);
  const url = textOf(input, 'page_url');
  const body = bytesOf(input, 'html') ?? Buffer.alloc(0);
  const headers = pageHeaders(one, findings);
  const token = textOf(input, 'agent') || undefined;
  judgeLinks('', readPage(url, headers, body, token), expected, findings);
  const answers = listOf(expected, 'variants');
  for (const [index, variant] of listOf(input, 'variants').entries()) {
    if (typeof variant !== 'string') {
      findings.notUnderstood(`variant ${index + 1}`);
      continue;
    }
    const line = HEADER.exec(variant.trim());
    const read =
      line === null
        ? readPage(url, headers, Buffer.from(withHead(body.toString('utf8'), variant)), token)
        : readPage(url, [...headers, [line[1]!, Buffer.from(line[2]!).toString('latin1')]], body, token);
    judgeVariant(`variant ${index + 1}: `, read, answers[index], findings);
  }
}

function pageHeaders({ input }: Case, findings: Findings): Headers {
  const headers = headersOf(input, findings);
  return headerOf(headers, 'content-type') === undefined
    ? [['Content-Type', textOf(input, 'content_type') || 'text/html'], ...headers]
    : headers;
}

/** A variant is another head: in front of the body when the page has one behind its head, otherwise a page by itself. */
function withHead(html: string, head: string): string {
  const end = /<\/head\s*>/i.exec(html);
  return end === null ? head : head + html.slice(end.index + end[0].length);
}

function judgeLinks(where: string, read: ReadPage, expected: Readonly<Record<string, unknown>>, findings: Findings): void {
  for (const link of textsOf(expected, 'follow'))
    if (!read.followed.includes(link)) findings.fail(`${where}${link} is not followed; ${show(read.followed)} are`);
  for (const link of textsOf(expected, 'must_not_follow'))
    if (read.found.includes(link)) findings.fail(`${where}${link} is found as a link`);
  if (typeof expected['title'] === 'string') findings.equal(`${where}title`, read.page?.title, expected['title']);
}

/** null: nothing is followed; a URL: that and nothing else; a list: exactly these; or the words of a whole page. */
function judgeVariant(where: string, read: ReadPage, answer: unknown, findings: Findings): void {
  if (answer === null || answer === undefined) findings.equal(`${where}links`, read.followed, []);
  else if (typeof answer === 'string') findings.equal(`${where}links`, read.followed, [answer]);
  else if (Array.isArray(answer)) findings.equal(`${where}links`, [...read.followed].sort(), answer.map(String).sort());
  else if (isFields(answer)) judgeLinks(where, read, fieldsOf({ answer }, 'answer'), findings);
  else findings.notUnderstood(`${where}${show(answer)}`);
}
