import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unitsOf } from '../../src/core/text.ts';
import { SimHasher } from '../../src/dedup/simhash.ts';
import { likeness, SKETCH_BINS } from '../../src/dedup/sketch.ts';
import { dice, prose } from './texts.ts';

const hasher = new SimHasher();

function sketchOf(text: string): Buffer {
  hasher.hash(unitsOf(text), new Uint32Array(2));
  return hasher.sketch;
}

/** By comparing all word 3-shingles. */
function jaccard(a: string, b: string): number {
  const [ofA, ofB] = [a, b].map((text) => {
    const words = text.split(' ');
    return new Set(words.slice(2).map((_, i) => words.slice(i, i + 3).join(' ')));
  }) as [Set<string>, Set<string>];
  const both = [...ofA].filter((shingle) => ofB.has(shingle)).length;
  return both / (ofA.size + ofB.size - both);
}

test('R-H2 the likeness of two sketches is near the Jaccard index of their word shingles', () => {
  const roll = dice(11);
  let squares = 0;
  let worst = 0;
  const texts = 200;
  for (let seed = 0; seed < texts; seed++) {
    const words = prose(seed, 800).split(' ');
    const copy = words.map((word) => (roll(1_000) < (seed * 3) / 4 ? `other${roll(9)}` : word));
    const [a, b] = [words.join(' '), copy.join(' ')];
    const error = likeness(sketchOf(a), sketchOf(b)) - jaccard(a, b);
    squares += error * error;
    worst = Math.max(worst, Math.abs(error));
  }
  // The standard error of 128 bins is 0.044 at J = 0.5 and less elsewhere.
  assert.ok(Math.sqrt(squares / texts) < 0.05, `root mean square ${Math.sqrt(squares / texts)}`);
  assert.ok(worst < 0.2, `worst ${worst}`);
});

test('R-H2 numbers count: pages that differ in every other number are not alike, though their SimHash is the same', () => {
  const page = (price: number): string =>
    Array.from({ length: 60 }, (_, i) => `the item number ${i * price} of this list costs some money`).join(' ');
  const [a, b] = [page(3), page(7)];
  assert.ok(likeness(sketchOf(a), sketchOf(b)) < 0.6);
  const date = (day: number): string => `${prose(5, 300)} seen on day ${day} of the month`;
  assert.ok(likeness(sketchOf(date(3)), sketchOf(date(28))) > 0.92);
});

test('a text is like itself whatever its case and punctuation, and a text without a shingle is like nothing', () => {
  assert.equal(likeness(sketchOf('One, two; three – FOUR'), sketchOf('one two three four')), 1);
  assert.equal(sketchOf('one two').length, SKETCH_BINS);
  assert.equal(likeness(sketchOf('one two'), sketchOf('one two')), 0);
});
