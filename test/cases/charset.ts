/** charset: bytes with their headers to text. */
import { decodeBody } from '../../src/parse/charset.ts';
import { bytesOf, type Case, type Findings, headersOf, show, textOf, textsOf } from './format.ts';
import { headerOf, readPage } from './pages.ts';

export function judgeCharset(one: Case, findings: Findings): void {
  const { input, expected } = one;
  findings.onlyKnown('input', input, ['kind', 'url', 'headers', 'body', 'body_b64']);
  findings.onlyKnown('expected', expected, ['encoding', 'title', 'text_contains', 'text_not_contains', 'links']);
  const headers = headersOf(input, findings);
  const body = bytesOf(input, 'body') ?? Buffer.alloc(0);
  const read = readPage(textOf(input, 'url'), headers, body);
  if (expected['encoding'] !== undefined)
    findings.equal('encoding', decodeBody(body, headerOf(headers, 'content-type')).charset, String(expected['encoding']).toLowerCase());
  if (expected['title'] !== undefined) findings.equal('title', read.page?.title, expected['title']);
  const text = read.page?.text ?? '';
  for (const part of textsOf(expected, 'text_contains'))
    if (!text.includes(part)) findings.fail(`the text has no ${show(part)}: ${show(text)}`);
  for (const part of textsOf(expected, 'text_not_contains')) if (text.includes(part)) findings.fail(`the text has ${show(part)}`);
  for (const link of textsOf(expected, 'links'))
    if (!read.found.includes(link)) findings.fail(`${link} is not found; ${show(read.found)} are`);
}
