/** The time series behind the plots: bounded, thinned without loss of totals, and taken up again by a later run. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { SERIES_POINTS_MAX, SERIES_RUNS_MAX, SERIES_STEP_MS, Series, type SeriesReading } from '../../src/engine/series.ts';

const BEGAN = 1_700_000_000_000;

function reading(ms: number, pages = ms / 100): SeriesReading {
  return { atMs: BEGAN + ms, pages, wireBytes: pages * 1_000, queued: 5, inFlight: 2, errors: 1 };
}

function run(ms: number, everyMs: number, series = new Series()): Series {
  series.begin(BEGAN, 0);
  for (let at = 0; at <= ms; at += everyMs) series.add(reading(at));
  series.end();
  return series;
}

describe('the time series', () => {
  test('it has a point a second, however often it is read', () => {
    assert.equal(run(10_000, 50).points.length, 11);
  });

  test('a day fits into the bound, evenly spaced, and ends with its last reading', () => {
    const day = 86_400_000;
    const { points } = run(day, 250);
    assert.ok(points.length <= SERIES_POINTS_MAX && points.length >= SERIES_POINTS_MAX / 2, String(points.length));
    assert.deepEqual([points[0]?.ranMs, points.at(-1)?.ranMs, points.at(-1)?.pages], [0, day, day / 100]);
    const gaps = new Set(points.slice(1, -1).map((point, at) => point.ranMs - points[at]!.ranMs));
    assert.equal(gaps.size, 1, `gaps of ${[...gaps].join(', ')}`);
  });

  test('a later run goes on where the last one stopped: the pause between is no time', () => {
    const saved = JSON.stringify(run(5_000, 500).snapshot());
    const series = Series.parse(saved);
    series.begin(BEGAN + 7 * 86_400_000, 0);
    series.add({ ...reading(7 * 86_400_000), pages: 50 });
    series.add({ ...reading(7 * 86_400_000 + 2_000), pages: 70 });
    assert.deepEqual(
      series.points.slice(-2).map(({ ranMs, pages }) => [ranMs, pages]),
      [
        [5_000, 50],
        [7_000, 70],
      ],
    );
    assert.deepEqual(
      series.snapshot().runs.map(({ ranMs }) => ranMs),
      [0, 5_000],
    );
  });

  test('whatever clock and pace, it stays in its bound and time never goes back', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -5_000, max: 400_000 }), { maxLength: 3_000 }), (steps) => {
        const series = new Series();
        series.begin(BEGAN, 0);
        let at = 0;
        for (const step of steps) {
          at += step;
          series.add(reading(at, 1));
        }
        series.end();
        assert.ok(series.points.length <= SERIES_POINTS_MAX);
        for (let i = 1; i < series.points.length; i++) assert.ok(series.points[i]!.ranMs >= series.points[i - 1]!.ranMs);
        assert.deepEqual(Series.parse(JSON.stringify(series.snapshot())).snapshot(), series.snapshot());
      }),
      { numRuns: 50 },
    );
  });

  test('the list of runs is bounded', () => {
    const series = new Series();
    for (let n = 0; n < SERIES_RUNS_MAX + 20; n++) series.begin(BEGAN + n, 0);
    assert.equal(series.snapshot().runs.length, SERIES_RUNS_MAX);
    assert.equal(series.snapshot().runs.at(-1)?.startedAtMs, BEGAN + SERIES_RUNS_MAX + 19);
  });

  test('what is not a series is refused', () => {
    const saved = run(3_000, SERIES_STEP_MS).snapshot();
    const bad = [
      '',
      '{}',
      'null',
      JSON.stringify({ ...saved, format: 2 }),
      JSON.stringify({ ...saved, columns: ['ranMs'] }),
      JSON.stringify({ ...saved, points: [[1, 2]] }),
      JSON.stringify({ ...saved, points: [[1, 2, 3, 4, 5, 6, null]] }),
      JSON.stringify({ ...saved, points: [...saved.points].reverse() }),
    ];
    for (const text of bad) assert.throws(() => Series.parse(text), Error, text.slice(0, 60));
  });
});
