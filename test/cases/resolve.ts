/** resolve: each reference against its base, as a browser would, without fragment and user info. */
import { LinkResolver } from '../../src/url/index.ts';
import { type Case, type Findings, listOf, textOf } from './format.ts';

export function judgeResolve(one: Case, findings: Findings): void {
  findings.onlyKnown('input', one.input, ['kind', 'base', 'refs']);
  findings.onlyKnown('expected', one.expected, ['resolved']);
  const resolver = new LinkResolver(textOf(one.input, 'base'));
  const refs = listOf(one.input, 'refs');
  const resolved = listOf(one.expected, 'resolved');
  if (refs.length !== resolved.length) findings.fail(`${refs.length} references, ${resolved.length} answers expected`);
  refs.forEach((ref, index) => {
    const found = resolver.resolve(String(ref));
    findings.equal(`reference ${JSON.stringify(ref)}`, found === '' ? null : found, resolved[index] ?? null);
  });
}
