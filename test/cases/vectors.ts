/**
 * `npm run vectors -- FILE…`: robots.txt vectors (test/vectors/robots.json has the form): access, paths, escapes, agentTokens, sitemaps, crawlDelays
 * and incidents. One line for each that is not answered as written, a summary in JSON at the end, exit code 1 when one fails.
 *
 * Vectors of the kind google-only are Google's own reading: where Portolan differs they are counted apart as optional, neither passed nor failed.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { normalForm, pathQueryOf, utf8Octets } from '../../src/robots/normal-form.ts';
import { parseRobots } from '../../src/robots/parse.ts';
import { isProductToken } from '../../src/robots/product-token.ts';
import { type Fields, Findings, fieldsOf, isFields, listOf, show, textOf } from './format.ts';
import { judgeRobots } from './robots.ts';

type Verdict = 'passed' | 'failed' | 'optional';

export interface VectorResult {
  readonly id: string;
  readonly group: string;
  readonly verdict: Verdict;
  readonly why: string;
}

/** What a vector finds, against what it expects; `undefined` as the answer: the vector is not understood. */
type Check = (vector: Fields, file: Fields) => Answers | undefined;
interface Answers {
  readonly found: unknown;
  readonly expected: unknown;
}

const CHECKS: Readonly<Record<string, Check>> = {
  access: (vector, file) => {
    const body = bodyOf(vector, file);
    const url = textIn(vector['url']);
    if (body === undefined || url === undefined || typeof vector['allowed'] !== 'boolean') return undefined;
    return { found: parseRobots(body, textOf(vector, 'agent')).isAllowed(pathQueryOf(url)), expected: vector['allowed'] };
  },
  paths: (vector) => ({ found: pathQueryOf(textOf(vector, 'url')), expected: vector['path'] }),
  escapes: (vector) => ({ found: normalForm(utf8Octets(textOf(vector, 'pattern'))), expected: vector['escaped'] }),
  agentTokens: (vector) => ({ found: isProductToken(textOf(vector, 'token')), expected: vector['valid'] }),
  sitemaps: (vector, file) => {
    const body = bodyOf(vector, file);
    return body === undefined ? undefined : { found: parseRobots(body, 'FooBot').sitemaps, expected: listOf(vector, 'sitemaps') };
  },
  crawlDelays: (vector, file) => {
    const body = bodyOf(vector, file);
    if (body === undefined) return undefined;
    const { crawlDelayMs } = parseRobots(body, textOf(vector, 'agent'));
    return { found: crawlDelayMs === undefined ? null : crawlDelayMs / 1_000, expected: vector['seconds'] ?? null };
  },
};
/** Parts of a file that say something about it. */
const ABOUT = ['about', 'title', 'version', 'sources', 'kinds', 'fields', 'bodies', 'conventions'];
const OPTIONAL_KIND = 'google-only';

export async function runVectors(file: Fields): Promise<readonly VectorResult[]> {
  const results: VectorResult[] = [];
  for (const [group, vectors] of Object.entries(file)) {
    if (ABOUT.includes(group)) continue;
    const check = Object.hasOwn(CHECKS, group) ? CHECKS[group] : undefined;
    for (const [index, vector] of (Array.isArray(vectors) ? vectors : [vectors]).entries()) {
      const id = (isFields(vector) && textOf(vector, 'id')) || `${group}#${index + 1}`;
      const why = !isFields(vector) ? 'not understood' : group === 'incidents' ? await incident(vector) : whyWrong(check, vector, file);
      const optional = isFields(vector) && vector['kind'] === OPTIONAL_KIND;
      results.push({ id, group, verdict: why === '' ? 'passed' : optional ? 'optional' : 'failed', why });
    }
  }
  return results;
}

function whyWrong(check: Check | undefined, vector: Fields, file: Fields): string {
  try {
    const answers = check?.(vector, file);
    if (answers === undefined) return `not understood: ${show(vector)}`;
    return show(answers.found) === show(answers.expected) ? '' : `${show(answers.found)} instead of ${show(answers.expected)}`;
  } catch (error) {
    return `cannot be run: ${String(error)}`;
  }
}

async function incident(vector: Fields): Promise<string> {
  const findings = new Findings();
  try {
    const input = { kind: 'robots', ...fieldsOf(vector, 'input') };
    await judgeRobots(
      { id: textOf(vector, 'id'), group: 'robots', kind: 'robots', input, expected: fieldsOf(vector, 'expected') },
      findings,
    );
  } catch (error) {
    findings.fail(`cannot be run: ${String(error)}`);
  }
  return findings.reasons.join('; ');
}

/** A body as text, in base64, or by its number in the file's list; text may come in pieces, [text, times] a repetition. */
function bodyOf(vector: Fields, file: Fields): Uint8Array | undefined {
  const packed = vector['bodyBase64'] ?? vector['body'];
  if (typeof vector['bodyBase64'] === 'string') return Buffer.from(vector['bodyBase64'], 'base64');
  const value: unknown = typeof packed === 'number' ? listOf(file, 'bodies')[packed] : packed;
  if (isFields(value)) return Buffer.from(textOf(value, 'base64'), 'base64');
  const text = textIn(value);
  return text === undefined ? undefined : Buffer.from(text, 'utf8');
}

function textIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return undefined;
  return value.map((part) => (Array.isArray(part) ? String(part[0]).repeat(Number(part[1])) : String(part))).join('');
}

async function main(files: readonly string[]): Promise<number> {
  if (files.length === 0) {
    process.stderr.write('usage: npm run vectors -- FILE…\n');
    return 2;
  }
  const results: VectorResult[] = [];
  for (const name of files) {
    const file: unknown = JSON.parse(readFileSync(name, 'utf8'));
    if (!isFields(file)) throw new Error(`${name} holds no vectors`);
    results.push(...(await runVectors(file)));
  }
  for (const { id, verdict, why } of results)
    process.stdout.write(verdict === 'passed' ? `ok   ${id}\n` : `${verdict === 'failed' ? 'FAIL' : '---  optional'} ${id}: ${why}\n`);
  const byGroup: Record<string, Record<Verdict, number>> = {};
  for (const { group, verdict } of results) {
    byGroup[group] ??= { passed: 0, failed: 0, optional: 0 };
    byGroup[group][verdict]++;
  }
  const of = (verdict: Verdict) => results.filter((result) => result.verdict === verdict);
  const list = (verdict: Verdict) => of(verdict).map(({ id, why }) => ({ id, why }));
  const summary = {
    total: results.length,
    passed: of('passed').length,
    failed: of('failed').length,
    notYet: {},
    optional: list('optional'),
    byGroup,
    failures: list('failed'),
  };
  process.stdout.write(`${JSON.stringify(summary, undefined, 2)}\n`);
  return summary.failed === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`vectors: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 2;
  }
}
