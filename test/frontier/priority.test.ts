import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { levelOf, priorityScore } from '../../src/frontier/priority.ts';

/** Defaults of frontier.thresholds. */
const THRESHOLDS = [0.3, 0.15, 0.09, 0.055];

test('R-B9 the score is 0.5·domain rank + 0.3·log1p(inbound links)/20 + 0.2/(1+depth)', () => {
  const cases = [
    [0, 0, 0, 0.2],
    [0, 0, 1, 0.1],
    [0, 0, 3, 0.05],
    [1, 0, 0, 0.7],
    [0.5, 0, 4, 0.29],
    [0, Math.E - 1, 0, 0.215],
    [0, 1, 1, 0.1 + (0.3 * Math.LN2) / 20],
    [1, Math.E ** 20 - 1, 0, 1],
  ] as const;
  for (const [domainRank, inboundLinks, depth, expected] of cases) {
    assert.ok(Math.abs(priorityScore({ domainRank, inboundLinks, depth }) - expected) < 1e-9, `${domainRank} ${inboundLinks} ${depth}`);
  }
});

test('R-B9 levels are cut at the listed thresholds, each of which belongs to the better level', () => {
  const cases = [
    [1, 0],
    [0.3, 0],
    [0.2999, 1],
    [0.15, 1],
    [0.1499, 2],
    [0.09, 2],
    [0.0899, 3],
    [0.055, 3],
    [0.0549, 4],
    [0, 4],
  ] as const;
  for (const [score, level] of cases) assert.equal(levelOf(score, THRESHOLDS), level, `${score}`);
});

test('R-B9 without a rank a seed is level 1 and deeper pages fall to level 4', () => {
  const levels = [0, 1, 2, 3, 10].map((depth) => levelOf(priorityScore({ domainRank: 0, inboundLinks: 1, depth }), THRESHOLDS));
  assert.deepEqual(levels, [1, 2, 3, 3, 4]);
});

test('R-B9 a better rank, more links or less depth never worsen the level', () => {
  const input = fc.record({ domainRank: fc.double({ min: 0, max: 1, noNaN: true }), inboundLinks: fc.nat(10_000_000), depth: fc.nat(40) });
  fc.assert(
    fc.property(input, fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(1_000), fc.nat(10), (one, rank, links, depth) => {
      const better = {
        domainRank: Math.min(1, one.domainRank + rank),
        inboundLinks: one.inboundLinks + links,
        depth: Math.max(0, one.depth - depth),
      };
      assert.ok(levelOf(priorityScore(better), THRESHOLDS) <= levelOf(priorityScore(one), THRESHOLDS));
    }),
  );
});
