/**
 * How well a verdict (SimHash at most 3 bits apart, then the sketch) stands for likeness on real pages. PORTOLAN_DOCS names a directory with HTML files (documentation sites, any depth).
 * Truth is the Jaccard index of the sets of word 3-shingles, by comparing every pair. A sample of documentation holds hardly any near pair, so besides
 * the pages as they are, copies of them with known edits are judged.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { cpuUsage } from 'node:process';
import { before, describe, test } from 'node:test';
import { type DefaultTreeAdapterTypes, parse } from 'parse5';
import { unitsOf } from '../../src/core/text.ts';
import { LIKENESS_MIN, NEAR_DISTANCE_MAX, nearEligible } from '../../src/dedup/policy.ts';
import { hammingDistance, SimHasher } from '../../src/dedup/simhash.ts';
import { likeness } from '../../src/dedup/sketch.ts';
import { dice } from './texts.ts';

const docs = process.env['PORTOLAN_DOCS'];
const PAGES_MAX = 1_700;
const NEAR = 0.9;

interface Doc {
  readonly kind: string;
  readonly words: readonly string[];
  readonly hi: number;
  readonly lo: number;
  readonly sketch: Buffer;
  /** Sorted hashes of the 3-shingles. */
  readonly shingles: Int32Array;
}

const hasher = new SimHasher();

/** Undefined for a page that no near verdict would be given on. */
function docOf(kind: string, words: readonly string[]): Doc | undefined {
  const into = new Uint32Array(2);
  const count = hasher.hash(unitsOf(words.join(' ')), into);
  if (!nearEligible({ status: 200, outcome: 'ok', words: count, digitWords: hasher.digitWords })) return undefined;
  return { kind, words, hi: into[0]!, lo: into[1]!, sketch: hasher.sketch, shingles: shinglesOf(words) };
}

function shinglesOf(words: readonly string[]): Int32Array {
  const hashes = new Set<number>();
  for (let i = 0; i + 3 <= words.length; i++) hashes.add(fnv(`${words[i]} ${words[i + 1]} ${words[i + 2]}`));
  return Int32Array.from(hashes).sort();
}

function fnv(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}

function jaccard(a: Int32Array, b: Int32Array): number {
  let both = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) both++;
    const step = a[i]! <= b[j]!;
    if (a[i]! >= b[j]!) j++;
    if (step) i++;
  }
  return both / (a.length + b.length - both);
}

function isLike(a: Int32Array, b: Int32Array): boolean {
  return Math.min(a.length, b.length) >= NEAR * Math.max(a.length, b.length) && jaccard(a, b) >= NEAR;
}

const OUTSIDE = new Set(['script', 'style', 'nav', 'footer', 'header', 'noscript', 'template', 'head']);
const FRAME = /navigation|sphinxsidebar|footer|related|navheader/i;

function visibleText(node: DefaultTreeAdapterTypes.Node): string {
  if (node.nodeName === '#text') return (node as DefaultTreeAdapterTypes.TextNode).value;
  if (OUTSIDE.has(node.nodeName) || !('childNodes' in node)) return '';
  const marks = 'attrs' in node ? node.attrs.filter(({ name }) => name === 'role' || name === 'class') : [];
  if (marks.some(({ value }) => FRAME.test(value))) return '';
  return `${node.childNodes.map(visibleText).join('')} `;
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

/** Texts of different pages: a file reached by two ways is read once, and of equal texts one stays, as those never come to the SimHash. */
function readPages(root: string): string[] {
  const names = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (path) => /\.html?$/.test(path) && existsSync(join(root, path)),
  );
  const paths = [...new Set(names.map((path) => realpathSync(join(root, path))))].sort();
  const step = Math.max(1, paths.length / PAGES_MAX);
  const texts = new Map<string, string>();
  for (let i = 0; i < paths.length; i += step) {
    const text = visibleText(parse(readFileSync(paths[Math.floor(i)]!, 'utf8')));
    texts.set(textHash(text).toString('hex'), text);
  }
  return [...texts.values()];
}

interface Score {
  readonly verdicts: number;
  readonly right: number;
  readonly like: number;
  readonly byKind: Map<string, [found: number, like: number]>;
}

function score(pages: readonly Doc[]): Score {
  const byKind = new Map<string, [number, number]>();
  let [verdicts, right, like] = [0, 0, 0];
  for (const [i, a] of pages.entries()) {
    for (let j = i + 1; j < pages.length; j++) {
      const b = pages[j]!;
      const near = hammingDistance(a.hi, a.lo, b.hi, b.lo) <= NEAR_DISTANCE_MAX && likeness(a.sketch, b.sketch) >= LIKENESS_MIN;
      const isTrue = isLike(a.shingles, b.shingles);
      if (near) verdicts++;
      if (near && isTrue) right++;
      if (!isTrue) continue;
      like++;
      const kind = [a.kind, b.kind].includes('page') ? `${a.kind} – ${b.kind}` : 'copy – copy';
      const tally = byKind.get(kind) ?? [0, 0];
      byKind.set(kind, [tally[0] + (near ? 1 : 0), tally[1] + 1]);
    }
  }
  return { verdicts, right, like, byKind };
}

function tell({ verdicts, right, like, byKind }: Score): string {
  if (verdicts === 0) return `no verdict, ${like} pairs with Jaccard >= ${NEAR}: precision and recall are not defined`;
  const kinds = [...byKind].map(([kind, [found, all]]) => `${kind} ${found}/${all}`).join(', ');
  return `${verdicts} verdicts, ${like} pairs with Jaccard >= ${NEAR}: precision ${(right / verdicts).toFixed(3)}, recall ${(right / like).toFixed(3)}; ${kinds}`;
}

/** Edits as real copies have them, from a changed counter to a fifth of the text. */
function edits(
  vocabulary: readonly string[],
  roll: (below: number) => number,
): [kind: string, edit: (words: readonly string[]) => string[]][] {
  const other = (): string => vocabulary[roll(vocabulary.length)]!;
  const some = (count: number): string[] => Array.from({ length: count }, other);
  const stretch =
    (share: number) =>
    (words: readonly string[]): string[] => {
      const count = Math.max(1, Math.round(words.length * share));
      return words.toSpliced(roll(words.length - count + 1), count, ...some(count));
    };
  const scattered =
    (share: number) =>
    (words: readonly string[]): string[] => {
      const copy = [...words];
      for (let i = Math.max(1, Math.round(words.length * share)); i > 0; i--) copy[roll(copy.length)] = other();
      return copy;
    };
  return [
    ['numbers', (words) => words.map((word) => (/\p{N}/u.test(word) ? String(roll(100_000)) : word))],
    ['a line more', (words) => words.toSpliced(roll(words.length), 0, ...some(12))],
    ['1 % in one place', stretch(0.01)],
    ['3 % in one place', stretch(0.03)],
    ['10 % in one place', stretch(0.1)],
    ['20 % in one place', stretch(0.2)],
    ['0.5 % scattered', scattered(0.005)],
    ['2 % scattered', scattered(0.02)],
  ];
}

if (docs === undefined)
  console.error('SKIPPED: the quality of near-duplicate verdicts is not measured, as PORTOLAN_DOCS names no directory of HTML files');

describe('near-duplicate verdicts on documentation pages', { skip: docs === undefined ? 'PORTOLAN_DOCS is not set' : false }, () => {
  let texts: string[] = [];
  let pages: Doc[] = [];

  before(() => {
    texts = readPages(docs!);
    pages = texts.map((text) => docOf('page', wordsOf(text))).filter((doc) => doc !== undefined);
    assert.ok(pages.length > 100, `${pages.length} pages`);
  });

  test('R-H2: at most 5 % of the verdicts on the pages as they are are wrong', (t) => {
    const result = score(pages);
    t.diagnostic(`${pages.length} pages: ${tell(result)}`);
    assert.ok(result.verdicts - result.right <= 0.05 * result.verdicts);
  });

  test('R-H2: on pages and edited copies precision is at least 0.95', (t) => {
    const roll = dice(2_026);
    const kinds = edits(
      pages.flatMap(({ words }) => words.filter((word) => !/\p{N}/u.test(word)).slice(0, 50)),
      roll,
    );
    const all = pages
      .filter((_, i) => i % 5 === 0)
      .flatMap((page, i) => [
        page,
        ...kinds
          .filter((_, k) => (k + i) % 2 === 0)
          .map(([kind, edit]) => docOf(kind, edit(page.words)))
          .filter((doc) => doc !== undefined),
      ]);
    const result = score(all);
    t.diagnostic(`${all.length} pages and copies: ${tell(result)}`);
    assert.ok(result.verdicts > 200);
    assert.ok(result.right >= 0.95 * result.verdicts);
    assert.ok(result.right >= 0.35 * result.like);
  });

  test('R-H2: cost of the hash on this machine', (t) => {
    const into = new Uint32Array(2);
    const characters = texts.reduce((sum, text) => sum + text.length, 0);
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 4; round++) {
      const start = cpuUsage();
      for (const text of texts) hasher.hash(unitsOf(text), into);
      const { user, system } = cpuUsage(start);
      best = Math.min(best, (user + system) / (characters / 10_000));
    }
    t.diagnostic(`${best.toFixed(0)} µs of CPU per 10,000 characters, over ${characters} characters`);
    assert.ok(characters > 0);
  });
});

function textHash(text: string): Buffer {
  const hasher = new SimHasher();
  hasher.hash(unitsOf(text), new Uint32Array(2));
  return hasher.textHash;
}
