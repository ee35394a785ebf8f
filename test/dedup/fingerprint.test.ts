import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { unitsOf } from '../../src/core/text.ts';
import { contentHash } from '../../src/dedup/exact.ts';
import { exactEligible, nearEligible } from '../../src/dedup/policy.ts';
import { hammingDistance, SimHasher } from '../../src/dedup/simhash.ts';
import { prose } from './texts.ts';

interface Print {
  readonly hi: number;
  readonly lo: number;
  readonly words: number;
  readonly digitWords: number;
}

const hasher = new SimHasher();

function printOf(text: string): Print {
  const into = new Uint32Array(2);
  const words = hasher.hash(unitsOf(text), into);
  return { hi: into[0]!, lo: into[1]!, words, digitWords: hasher.digitWords };
}

function bitsApart(a: string, b: string): number {
  const [x, y] = [printOf(a), printOf(b)];
  return hammingDistance(x.hi, x.lo, y.hi, y.lo);
}

test('R-H1: the content hash is the SHA-256 of the bytes', () => {
  const bytes = Buffer.from('<p>hello</p>');
  assert.deepEqual(contentHash(bytes), createHash('sha256').update(bytes).digest());
});

test('R-H1: copies that differ in markup, white space, case, punctuation or invisible characters alone have one text hash', () => {
  const plain = textHash('Price list\nTea 3.50 EUR');
  for (const copy of [
    'Price list Tea 3.50 EUR',
    '  price\tLIST\u00a0Tea\r\n\r\n3.50 eur ',
    'Pri\u00adce li\u200bst\u3000Tea 3.50\u2028EUR',
    'Price list: Tea, 3.50 EUR\ufeff',
  ]) {
    assert.deepEqual(textHash(copy), plain, JSON.stringify(copy));
  }
  assert.equal(plain.length, 8);
});

test('R-H1: pages that differ in one number, one word or one letter of any script have different text hashes', () => {
  const texts = ['Tea 3.50', 'Tea 3.60', 'Tea 350', 'Tee 3.50', 'чай 3.50', 'чаи 3.50', '茶 3.50', '茶茶 3.50'];
  assert.equal(new Set(texts.map((text) => textHash(text).toString('hex'))).size, texts.length);
});

test('R-H2: the same words give the same hash whatever stands between them, in case and punctuation', () => {
  fc.assert(
    fc.property(fc.nat(), fc.constantFrom(', ', '\n\n', ' — ', '.', ' \u{1f600} ', ' & '), (seed, separator) => {
      const text = prose(seed, 80);
      assert.deepEqual(printOf(text.toUpperCase().replaceAll(' ', separator)), printOf(text));
    }),
  );
});

test('R-H2: words that hold a digit move no bit and are counted apart', () => {
  const [a, b] = [prose(1, 60), prose(2, 60)];
  const plain = printOf(`${a} ${b}`);
  const dated = printOf(`${a} 12 ms, 10,231 views of a3f9c0 on 2026-07-31 ٣٤ ${b}`);
  assert.equal(plain.words, 120);
  assert.equal(dated.words, 124, 'ms, views, of, on');
  assert.equal(dated.digitWords, 8);
  assert.deepEqual(printOf(`${a} 12 ${b}`), { ...plain, digitWords: 1 });
});

test('R-H2: unrelated pages are far apart, edited ones near', () => {
  const distances = Array.from({ length: 200 }, (_, i) => bitsApart(prose(i, 300), prose(i + 1_000, 300))).sort((a, b) => a - b);
  assert.ok(distances[0]! > 10, `nearest ${distances[0]}`);
  assert.ok(Math.abs(distances[100]! - 32) <= 2, `median ${distances[100]}`);
  const edited = Array.from({ length: 200 }, (_, i) => bitsApart(prose(i, 600), `${prose(i, 600)} ${prose(i + 5_000, 3)}`));
  assert.ok(edited.filter((bits) => bits <= 3).length > 150, `${edited.filter((bits) => bits <= 3).length} of 200`);
});

test('R-H2: a line repeated a hundred times does not outvote the rest of the page', () => {
  const refrain = Array.from({ length: 100 }, () => 'back to the top of this table').join(' ');
  assert.ok(bitsApart(`${prose(1, 150)} ${refrain}`, `${prose(2, 150)} ${refrain}`) > 10);
});

test('R-H2: in scripts without spaces a word is a character, the shingle a 3-gram, and two characters count as a word', () => {
  const han =
    '天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜金生丽水玉出昆冈剑号巨阙珠称夜光果珍李柰菜重芥姜海咸河淡鳞潜羽翔龙师火帝鸟官人皇始制文字乃服衣裳';
  assert.equal(printOf(han).words, han.length >>> 1);
  assert.ok(bitsApart(han, `${han.slice(0, 40)}，${han.slice(40)}。`) === 0, 'punctuation is no feature');
  assert.ok(bitsApart(han, `${han}推`) < bitsApart(han, [...han].reverse().join('')));
  assert.ok(printOf('ภาษาไทยไม่มีช่องว่างระหว่างคำ').words > 5);
  assert.equal(printOf('한국어 문장은 띄어쓰기를 한다').words, 4);
  assert.equal(printOf('𠀀𠀁𠀂𠀃').words, 2, 'characters beyond the BMP are one each');
  assert.notEqual(bitsApart('𠀀𠀁𠀂𠀃𠀄', '𠀀𠀁𠀂𠀃𠀅'), 0);
  assert.notEqual(bitsApart('𐌰𐌱𐌲 𐌳𐌴 𐌵', '𐌰𐌱𐌲 𐌳𐌴 𐌶'), 0);
});

test('R-H2: combining marks belong to their word', () => {
  assert.equal(printOf('cafe\u0301 हिन्दी कार्य').words, 3);
});

test('R-H2: counters hold over long texts: every bit is the majority of the shingles', () => {
  const a = prose(5, 100);
  const long = Array.from({ length: 40 }, (_, i) => prose(i, 500)).join(' ');
  assert.equal(bitsApart(long, long), 0);
  assert.ok(bitsApart(long, `${long} ${a}`) <= 3);
});

test('any string gives a hash, also an empty one and broken surrogates', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 200 }),
      (text) => printOf(text).words >= 0,
    ),
  );
  assert.deepEqual(printOf(''), { hi: 0, lo: 0, words: 0, digitWords: 0 });
});

test('R-H4: error pages, empty, tiny, cut and purely numeric pages are nobody’s duplicates', () => {
  const page = { status: 200, outcome: 'ok', words: 50, bodyBytes: 64 } as const;
  assert.equal(nearEligible(page) && exactEligible(page), true);
  for (const status of [203, 404, 500, 304]) assert.equal(nearEligible({ ...page, status }), status === 203);
  assert.equal(nearEligible({ ...page, words: 49 }), false);
  assert.equal(nearEligible({ ...page, words: 400, digitWords: 101 }), false);
  assert.equal(nearEligible({ ...page, words: 400, digitWords: 100 }), true);
  assert.equal(exactEligible({ ...page, bodyBytes: 0 }), false);
  assert.equal(exactEligible({ ...page, status: 404, outcome: 'not-found' }), false);
  for (const outcome of ['truncated', 'not-found', 'not-modified'] as const) assert.equal(nearEligible({ ...page, outcome }), false);
});

/** The verdict on two pages by text, as a shard comes to it. */
function verdict(a: string, b: string): 'exact' | 'near' | 'different' {
  const [x, y] = [printOf(a), printOf(b)];
  if (![x, y].every(({ words }) => nearEligible({ status: 200, outcome: 'ok', words }))) return a === b ? 'exact' : 'different';
  if (textHash(a).equals(textHash(b))) return 'exact';
  return hammingDistance(x.hi, x.lo, y.hi, y.lo) <= 3 ? 'near' : 'different';
}

test('R-H2: a new build time and view counter leave a page the same, a third more text does not (cfpb/crawl-cfgov 28)', () => {
  const report = (ms: number, views: string, more = ''): string =>
    `Yearly report ${prose(21, 420)} ${more} Served in ${ms} ms. ${views} views. Copyright 2026.`;
  assert.equal(verdict(report(12, '10,231'), report(57, '10,240')), 'near');
  assert.equal(verdict(report(57, '10,240'), report(31, '10,244', prose(22, 140))), 'different');
});

test('R-H2: items of a few words are copies only when they are equal (epi052/feroxbuster 711)', () => {
  const item = (text: string): string => `Start Offers Basket Help. ${text} All rights reserved.`;
  assert.equal(verdict(item('Green kettle, 1.5 l, 20 EUR, here today'), item('White toaster, two slots, 35 EUR, sold')), 'different');
  assert.equal(verdict('yes', 'no'), 'different');
  assert.equal(verdict('yes', 'yes'), 'exact');
});

test('R-H2: two articles in a frame of twice their length are two pages (1e0ng/simhash 60)', () => {
  const framed = (article: string): string => `${prose(31, 170)} ${article} ${prose(32, 170)}`;
  assert.equal(verdict(framed(prose(33, 160)), framed(prose(34, 160))), 'different');
});

test('R-H1: one page under two addresses is an exact copy (Norconex/crawler 579)', () => {
  assert.equal(verdict(prose(41, 220), prose(41, 220).replaceAll(' ', '\n')), 'exact');
});

function textHash(text: string): Buffer {
  const hasher = new SimHasher();
  hasher.hash(unitsOf(text), new Uint32Array(2));
  return hasher.textHash;
}
