/** url_keys: which URLs are one page and which are two, by the seen-set key; and that canonical is a fixed point. */
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS, LinkResolver } from '../../src/url/index.ts';
import { type Case, type Findings, listOf, textsOf } from './format.ts';

const WORDS = ['same_key', 'different_key', 'canonicalise_twice_is_once'];

export function judgeUrlKeys(one: Case, findings: Findings): void {
  findings.onlyKnown('input', one.input, ['kind', 'same', 'different', 'idempotent']);
  findings.onlyKnown('expected', one.expected, WORDS);
  for (const word of WORDS) if ((one.expected[word] ?? true) !== true) findings.notUnderstood(`expected.${word} that is not true`);
  const canonicalize = createCanonicalizer(DEFAULT_CANONICAL_OPTIONS);
  const keyOf = (url: string): string => {
    const found = new LinkResolver(url).resolve(url);
    return found === '' ? `refused ${url}` : canonicalize(found);
  };
  for (const group of listOf(one.input, 'same')) {
    const urls = Array.isArray(group) ? group.map(String) : [];
    if (new Set(urls.map(keyOf)).size !== 1)
      findings.fail(`one page has several keys: ${urls.map((url) => `${url} → ${keyOf(url)}`).join(', ')}`);
  }
  for (const group of listOf(one.input, 'different')) {
    const urls = Array.isArray(group) ? group.map(String) : [];
    if (new Set(urls.map(keyOf)).size !== urls.length)
      findings.fail(`different pages share a key: ${urls.map((url) => `${url} → ${keyOf(url)}`).join(', ')}`);
  }
  for (const url of textsOf(one.input, 'idempotent')) findings.equal(`canonical form of ${url} again`, keyOf(keyOf(url)), keyOf(url));
}
