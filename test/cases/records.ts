/**
 * What the crawl's own output says of a URL, against the words of a case. Outcomes come in prose ("ok or partial, never ok"): the five outcome
 * words in it are the right answers, but for those behind "never" or "not"; a quoted text must be in what was kept.
 */
import { createCanonicalizer, DEFAULT_CANONICAL_OPTIONS, keyHex, urlKey } from '../../src/url/index.ts';
import type { Report, Row } from '../integration/crawl.ts';
import { type Fields, type Findings, fieldsListOf, numberOf, show, textOf, textsOf } from './format.ts';
import type { CaseWeb } from './web.ts';

export const RECORD_WORDS = ['records', 'no_crash', 'all_seeds_outcome', 'permanent', 'queues'];
const FIELDS = [
  'url',
  'outcome',
  'reason',
  'title',
  'status',
  'text_contains',
  'text_not_contains',
  'attempts_min',
  'fetches',
  'final_url',
  'truncated',
];

type Word = 'ok' | 'partial' | 'failed' | 'skipped' | 'redirected';
const WORDS: readonly Word[] = ['ok', 'partial', 'failed', 'skipped', 'redirected'];
const HOPS_MAX = 30;

export interface Records {
  readonly rows: readonly Row[];
  readonly report: Report | undefined;
  readonly web: CaseWeb;
  readonly seeds: readonly string[];
}

export function judgeRecords(records: Records, expected: Fields, findings: Findings): void {
  for (const record of fieldsListOf(expected, 'records')) {
    findings.onlyKnown('record', record, FIELDS);
    judgeRecord(records, record, findings);
  }
  if (expected['records'] !== undefined && !Array.isArray(expected['records']))
    findings.notUnderstood(`records ${show(expected['records'])}`);
  if (expected['no_crash'] === true)
    for (const seed of records.seeds)
      if (chainOf(records, seed).length === 0 && records.report === undefined) findings.fail(`nothing is recorded of ${seed}`);
  const outcome = expected['all_seeds_outcome'];
  if (typeof outcome === 'string') for (const seed of records.seeds) judgeRecord(records, { url: seed, outcome }, findings);
  if (typeof expected['queues'] === 'number')
    findings.equal('hosts with a queue of their own', new Set(records.rows.map((row) => row.host)).size, expected['queues']);
  judgePermanent(records, expected, findings);
}

/** Which redirects change the address that is visited next: a line keeps URL, status and target apart, so nothing else may name the target. */
function judgePermanent({ rows }: Records, expected: Fields, findings: Findings): void {
  if (expected['permanent'] === undefined) return;
  for (const row of rows) {
    if (row.outcome !== 'redirect') continue;
    if (row.status === undefined || row.status < 300 || row.status > 399 || row.redirectTo === undefined)
      findings.fail(`the redirect of ${row.url} is recorded without status or target`);
  }
}

function judgeRecord(records: Records, record: Fields, findings: Findings): void {
  const url = plainUrl(textOf(record, 'url'));
  const chain = chainOf(records, url);
  const last = chain.at(-1);
  const prose = textOf(record, 'outcome');
  if (prose !== '') judgeOutcome(records, url, chain, prose, findings);
  if (typeof record['reason'] === 'string') judgeReason(records, url, chain, record['reason'], findings);
  if (last === undefined) return;
  const text = last.text ?? '';
  if (typeof record['title'] === 'string') findings.equal(`title of ${url}`, last.title ?? '', record['title']);
  if (typeof record['status'] === 'number')
    findings.equal(
      `status of ${url}`,
      chain.some((row) => row.status === record['status']) ? record['status'] : last.status,
      record['status'],
    );
  if (typeof record['final_url'] === 'string') findings.equal(`last of the chain of ${url}`, last.url, record['final_url']);
  if (typeof record['truncated'] === 'boolean') findings.equal(`${url} is cut off`, last.outcome === 'truncated', record['truncated']);
  for (const part of textsOf(record, 'text_contains')) if (!text.includes(part)) findings.fail(`the text of ${url} has no ${show(part)}`);
  for (const part of textsOf(record, 'text_not_contains')) if (text.includes(part)) findings.fail(`the text of ${url} has ${show(part)}`);
  const attempts = numberOf(record, 'attempts_min');
  if (attempts !== undefined && (last.attempts ?? 0) < attempts)
    findings.fail(`${url} was tried ${last.attempts} times, at least ${attempts}`);
  const fetches = numberOf(record, 'fetches');
  if (fetches !== undefined) findings.equal(`fetches of ${url}`, records.web.log.filter((request) => request.url === url).length, fetches);
}

/** The line of a URL and those of the redirects it leads to, in order. */
export function chainOf({ rows }: Pick<Records, 'rows'>, url: string): readonly Row[] {
  const chain: Row[] = [];
  let at: string | undefined = plainUrl(url);
  while (at !== undefined && chain.length < HOPS_MAX) {
    const url: string = at;
    const fresh = rows.filter((one) => !chain.includes(one));
    // A spelling that leads to another of the same page has its line under the one that answered.
    const row: Row | undefined = fresh.findLast((one) => one.url === url) ?? fresh.findLast((one) => one.key === keyOf(url));
    if (row === undefined) break;
    chain.push(row);
    at = row.redirectTo;
  }
  return chain;
}

const canonicalize = createCanonicalizer(DEFAULT_CANONICAL_OPTIONS);

/** The URL key as lines have it. */
function keyOf(url: string): string {
  const key = new Uint32Array(2);
  urlKey(canonicalize(url), key);
  return keyHex(key[0]!, key[1]!);
}

/** Without fragment and user info, as URLs are kept. */
function plainUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text;
  url.hash = '';
  url.username = '';
  url.password = '';
  url.hostname = url.hostname.replace(/\.$/, '');
  return url.href;
}

function judgeOutcome(records: Records, url: string, chain: readonly Row[], prose: string, findings: Findings): void {
  const right = rightWords(prose);
  if (right.length === 0) {
    findings.notUnderstood(`outcome ${show(prose)}`);
    return;
  }
  const found = wordsOf(records, url, chain);
  const last = chain.at(-1);
  const texts = [...prose.matchAll(/'([^']+)'/g)].map(([, text]) => text!);
  if (found.some((word) => right.includes(word))) {
    if (/\bempty\b/.test(prose) && last?.outcome === 'ok' && (last.bytesBody ?? 0) > 0) findings.fail(`${url} is ok but not empty`);
    if (/\bclear reason\b/.test(prose) && last !== undefined && !['ok', 'truncated'].includes(last.outcome) && last.outcome === '')
      findings.fail(`${url} failed without a reason`);
    if (/\bstored\b/.test(prose) && !found.includes('failed'))
      for (const text of texts) judgeStored(records, text, /\bonce\b/.test(prose), findings);
  } else
    findings.fail(
      `${url} is ${found.join(' and ') || 'not in the output'} (${last?.outcome ?? 'no line'} ${last?.reason ?? ''} ${last?.detail ?? ''}), expected ${prose}`,
    );
}

function judgeStored({ rows }: Records, text: string, once: boolean, findings: Findings): void {
  const times = rows.filter((row) => row.text?.includes(text)).length;
  if (times === 0 || (once && times !== 1)) findings.fail(`the text ${show(text)} is stored ${times} times`);
}

function rightWords(prose: string): readonly Word[] {
  const told = prose.replace(/\b(?:never|not)\s+\w+/g, '');
  const words = WORDS.filter((word) => new RegExp(`\\b${word}\\b`).test(told));
  // "text '…' stored" is an ok in other words.
  return /'[^']+' stored/.test(told) && !words.includes('ok') ? [...words, 'ok'] : words;
}

/** Outcome words that fit: of the URL itself and, for a redirect, of where its chain ends. */
function wordsOf({ report, web }: Records, url: string, chain: readonly Row[]): readonly Word[] {
  if (chain.length === 0) {
    const wasAsked = web.log.some((request) => request.url === url);
    return !wasAsked && Object.keys(report?.rejected ?? {}).length > 0 ? ['skipped'] : [];
  }
  return [...new Set([wordOf(chain[0]!), wordOf(chain.at(-1)!)])];
}

function wordOf(row: Row): Word {
  switch (row.outcome) {
    case 'ok':
    case 'not-modified':
      return 'ok';
    case 'truncated':
      return 'partial';
    case 'redirect':
      return 'redirected';
    case 'dropped':
      return 'skipped';
    default:
      return 'failed';
  }
}

/** Words of reasons as cases have them, each with what this program says in such a case. */
const REASONS: readonly (readonly [prose: RegExp, said: RegExp])[] = [
  [/decoded|size|too (?:large|big)|body limit/, /size cap|over the cap|length/],
  [/total time|time ?-?out|time limit/, /not done after|timeout|no (?:byte|response head|connection)/],
  [/idle/, /no byte/],
  [/redirect (?:limit|loop)|too many redirects/, /redirect-loop|too-many-redirects/],
  [/robots/, /robots-/],
  [/depth/, /too-deep/],
  [/scope/, /out-of-scope|not-included|excluded/],
  [/nofollow/, /nofollow/],
  [/(?:private|inner|forbidden|internal) (?:address|ip)|ssrf|address guard/, /forbidden-address/],
  [/dns|name/, /dns-failed/],
  [/tls|certificate/, /tls-failed/],
  [/decod|coding|encoding/, /decode-error/],
  [/url (?:length|too long)/, /url-too-long/],
  [/content.?type|media type|mime/, /unwanted-type/],
  [/budget|page limit/, /page-budget/],
];

function judgeReason(records: Records, url: string, chain: readonly Row[], prose: string, findings: Findings): void {
  const last = chain.at(-1);
  const said =
    last === undefined
      ? Object.keys(records.report?.rejected ?? {}).join(' ')
      : `${last.outcome} ${last.reason ?? ''} ${last.detail ?? ''}`;
  const known = REASONS.filter(([words]) => words.test(prose.toLowerCase()));
  if (known.length === 0) findings.notUnderstood(`reason ${show(prose)}`);
  else if (!known.some(([, words]) => words.test(said))) findings.fail(`the reason of ${url} is ${show(said)}, expected ${prose}`);
}
