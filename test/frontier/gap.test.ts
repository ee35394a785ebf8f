import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { afterFault, BACKOFF_MAX, type FaultOptions, type GapInput, type GapOptions, gapAfter } from '../../src/frontier/gap.ts';

const OPTIONS: GapOptions = { delayMs: 1_000, delayFactor: 5, delayFactorMaxMs: 30_000, retryAfterMaxMs: 86_400_000 };
const PLAIN: GapInput = { durationMs: 50, crawlDelayMs: -1, backoff: 0, retryAfterMs: undefined };

interface Case {
  readonly title: string;
  readonly input: Partial<GapInput>;
  readonly options?: Partial<GapOptions>;
  readonly owedMs: number;
  readonly rule: string;
}

const CASES: readonly Case[] = [
  { title: 'R-C1 a quick fetch leaves the default', input: {}, owedMs: 1_000, rule: 'default' },
  {
    title: 'R-C1 a 0.2 s fetch at k = 5 is exactly the default, and the default names it',
    input: { durationMs: 200 },
    owedMs: 1_000,
    rule: 'default',
  },
  { title: 'R-C1 a slower fetch is paid k times', input: { durationMs: 201 }, owedMs: 1_005, rule: 'duration' },
  { title: 'R-C1 the k term has an upper bound', input: { durationMs: 20_000 }, owedMs: 30_000, rule: 'duration' },
  {
    title: 'R-C1 the bound is of the k term alone: a longer default stands',
    input: { durationMs: 20_000 },
    options: { delayMs: 60_000 },
    owedMs: 60_000,
    rule: 'default',
  },
  {
    title: 'R-C1 the bound is of the k term alone: Crawl-delay is honoured to 300 s',
    input: { crawlDelayMs: 300_000 },
    owedMs: 300_000,
    rule: 'crawl-delay',
  },
  {
    title: 'R-C1 a k of 0 switches the term off',
    input: { durationMs: 20_000 },
    options: { delayFactor: 0 },
    owedMs: 1_000,
    rule: 'default',
  },
  { title: 'R-C1 Crawl-delay over the default counts', input: { crawlDelayMs: 2_500 }, owedMs: 2_500, rule: 'crawl-delay' },
  { title: 'R-C1 Crawl-delay under the default does not shorten it', input: { crawlDelayMs: 500 }, owedMs: 1_000, rule: 'default' },
  { title: 'R-C1 Crawl-delay 0 is a delay of nothing, and the default stands', input: { crawlDelayMs: 0 }, owedMs: 1_000, rule: 'default' },
  {
    title: 'R-C1 of Crawl-delay and the k term the greater counts',
    input: { crawlDelayMs: 2_000, durationMs: 500 },
    owedMs: 2_500,
    rule: 'duration',
  },
  { title: 'R-C3 one 429 or 503 doubles the gap', input: { backoff: 1 }, owedMs: 2_000, rule: 'backoff' },
  { title: 'R-C3 each further one doubles again', input: { backoff: 3 }, owedMs: 8_000, rule: 'backoff' },
  {
    title: 'R-C3 the doubling is of the whole gap, Crawl-delay included',
    input: { backoff: 2, crawlDelayMs: 3_000 },
    owedMs: 12_000,
    rule: 'backoff',
  },
  { title: 'R-C3 doublings have an end', input: { backoff: 50 }, owedMs: 1_000 * 2 ** BACKOFF_MAX, rule: 'backoff' },
  {
    title: 'R-C3 with no delay at all a doubling starts from a second',
    input: { backoff: 1, durationMs: 0 },
    options: { delayMs: 0 },
    owedMs: 2_000,
    rule: 'backoff',
  },
  { title: 'R-C3 Retry-After adds to the gap', input: { retryAfterMs: 120_000 }, owedMs: 120_000, rule: 'retry-after' },
  { title: 'R-C3 Retry-After never shortens the gap', input: { retryAfterMs: 500 }, owedMs: 1_000, rule: 'default' },
  { title: 'R-C3 Retry-After 0 changes nothing', input: { retryAfterMs: 0, backoff: 1 }, owedMs: 2_000, rule: 'backoff' },
  {
    title: 'R-C3 the greater of Retry-After and the doubled gap counts',
    input: { retryAfterMs: 3_000, backoff: 2 },
    owedMs: 4_000,
    rule: 'backoff',
  },
  { title: 'R-C3 Retry-After has a bound', input: { retryAfterMs: 10 ** 12 }, owedMs: 86_400_000, rule: 'retry-after' },
  { title: 'R-C1 a fraction of a millisecond is rounded up', input: { durationMs: 300.1 }, owedMs: 1_501, rule: 'duration' },
];

describe('the gap owed after an exchange', () => {
  for (const { title, input, options, owedMs, rule } of CASES) {
    test(title, () => assert.deepEqual(gapAfter({ ...PLAIN, ...input }, { ...OPTIONS, ...options }), { owedMs, rule }));
  }

  test('R-C1 R-C3 no input gives less than the default, than Crawl-delay, or than a bounded Retry-After', () => {
    fc.assert(
      fc.property(
        fc.record({
          durationMs: fc.double({ min: 0, max: 60_000, noNaN: true }),
          crawlDelayMs: fc.integer({ min: -1, max: 300_000 }),
          backoff: fc.nat(20),
          retryAfterMs: fc.option(fc.nat(200_000_000), { nil: undefined }),
        }),
        (input) => {
          const { owedMs, rule } = gapAfter(input, OPTIONS);
          const { owedMs: without } = gapAfter({ ...input, backoff: 0, retryAfterMs: undefined }, OPTIONS);
          assert.ok(owedMs >= Math.max(OPTIONS.delayMs, input.crawlDelayMs, Math.min(input.retryAfterMs ?? 0, OPTIONS.retryAfterMaxMs)));
          assert.ok(owedMs >= without * 2 ** Math.min(input.backoff, BACKOFF_MAX) - 2 ** BACKOFF_MAX);
          assert.ok(Number.isInteger(owedMs));
          assert.notEqual(rule, 'none');
        },
      ),
    );
  });
});

const FAULTS: FaultOptions = { faultLimit: 5, faultPauseMs: 10_000, setAsideMs: 3_600_000, setAsideLimit: 5 };

describe('faults of a whole host', () => {
  test('R-C5 pauses double from the first, and the fifth in a row sets the host aside for an hour', () => {
    let [faults, setAside] = [0, 0];
    const pauses: number[] = [];
    for (let i = 0; i < 5; i++) {
      const after = afterFault(faults, setAside, 0, FAULTS);
      ({ faults, setAside } = after);
      pauses.push(after.pauseMs);
      assert.equal(after.retire, false);
      assert.equal(after.rule, i < 4 ? 'fault' : 'set-aside');
    }
    assert.deepEqual(pauses, [10_000, 20_000, 40_000, 80_000, 3_600_000]);
    assert.deepEqual([faults, setAside], [0, 1]);
  });

  test('R-C5 after five such times, which is 25 faults without an answer, the host is retired', () => {
    let [faults, setAside, count] = [0, 0, 0];
    for (let retired = false; !retired; count++) {
      const after = afterFault(faults, setAside, 0.5, FAULTS);
      ({ faults, setAside, retire: retired } = after);
    }
    assert.equal(count, 25);
  });

  for (const [title, faults, setAside, jitter, options, expected] of [
    [
      'R-C5 a limit of 1 sets the host aside at its first fault',
      0,
      0,
      0,
      { faultLimit: 1 },
      { faults: 0, setAside: 1, pauseMs: 3_600_000, rule: 'set-aside', retire: false },
    ],
    [
      'R-C5 a limit of 1 of both retires it at once',
      0,
      0,
      0,
      { faultLimit: 1, setAsideLimit: 1 },
      { faults: 0, setAside: 1, pauseMs: 3_600_000, rule: 'set-aside', retire: true },
    ],
    [
      'R-C5 a pause is not longer than ten minutes before jitter',
      20,
      0,
      0,
      { faultLimit: 100 },
      { faults: 21, setAside: 0, pauseMs: 600_000, rule: 'fault', retire: false },
    ],
    ['R-C4 jitter adds up to a quarter to a pause', 0, 0, 1, {}, { faults: 1, setAside: 0, pauseMs: 12_500, rule: 'fault', retire: false }],
    [
      'R-C4 and up to a tenth to an hour aside',
      4,
      0,
      1,
      {},
      { faults: 0, setAside: 1, pauseMs: 3_960_000, rule: 'set-aside', retire: false },
    ],
  ] as const) {
    test(title, () => {
      const after = afterFault(faults, setAside, jitter, { ...FAULTS, ...options });
      assert.deepEqual({ ...after, pauseMs: Math.round(after.pauseMs) }, expected);
    });
  }
});
