/**
 * How the crawl went over time, for the plots of its report: at most SERIES_POINTS_MAX readings over all runs, evenly spaced in running time.
 *
 * When it is full every second point goes and the step doubles, so that months fit into the space of minutes. Pages, bytes and errors are totals since
 * the crawl began (thinning loses none of them); queued and in flight are of the moment. The time axis counts only while the crawl runs, so that a week
 * between two runs is no gap; `runs` says when each began. It is an illustration: the laws are not checked with it, and a crash may cost its last moments.
 */
import type { EpochMs } from '../core/time.ts';

export const SERIES_POINTS_MAX = 600;
export const SERIES_RUNS_MAX = 100;
export const SERIES_STEP_MS = 1_000;
export const SERIES_COLUMNS = ['ranMs', 'atMs', 'pages', 'wireBytes', 'queued', 'inFlight', 'errors'] as const;

export interface SeriesPoint {
  /** Running time over all runs. */
  readonly ranMs: number;
  readonly atMs: EpochMs;
  readonly pages: number;
  readonly wireBytes: number;
  readonly queued: number;
  readonly inFlight: number;
  readonly errors: number;
}

export interface SeriesRun {
  readonly startedAtMs: EpochMs;
  /** Running time before it. */
  readonly ranMs: number;
  /** Pages before it, those of a run that was killed included; absent in files of older versions. */
  readonly pages?: number;
}

export interface SavedSeries {
  readonly format: 1;
  readonly stepMs: number;
  /** The last SERIES_RUNS_MAX. */
  readonly runs: readonly SeriesRun[];
  readonly columns: readonly string[];
  readonly points: readonly (readonly number[])[];
}

export type SeriesReading = Omit<SeriesPoint, 'ranMs'>;

export class Series {
  #stepMs = SERIES_STEP_MS;
  #runs: SeriesRun[] = [];
  #points: SeriesPoint[] = [];
  #beganAtMs: EpochMs = 0;
  #beforeMs = 0;
  #last: SeriesPoint | undefined;

  /** Throws Error when the text is not a series. */
  static parse(text: string): Series {
    const saved = JSON.parse(text) as Partial<SavedSeries>;
    const { stepMs, runs, points, columns } = saved;
    if (saved.format !== 1 || !isNumber(stepMs) || stepMs < SERIES_STEP_MS || !Array.isArray(runs) || !Array.isArray(points))
      throw new Error('not a time series of format 1');
    if (JSON.stringify(columns) !== JSON.stringify(SERIES_COLUMNS)) throw new Error('its columns are others');
    const series = new Series();
    series.#stepMs = stepMs;
    series.#runs = runs.filter((run) => isNumber(run?.startedAtMs) && isNumber(run?.ranMs)).slice(-SERIES_RUNS_MAX);
    for (const row of points.slice(0, SERIES_POINTS_MAX)) {
      if (!Array.isArray(row) || row.length !== SERIES_COLUMNS.length || !row.every(isNumber)) throw new Error('a point is damaged');
      const point = Object.fromEntries(SERIES_COLUMNS.map((column, at) => [column, row[at]])) as unknown as SeriesPoint;
      if (point.ranMs < (series.#points.at(-1)?.ranMs ?? 0)) throw new Error('time goes back in it');
      series.#points.push(point);
    }
    return series;
  }

  /** A run begins: its running time counts from the last point on, its pages from `pages` on. */
  begin(atMs: EpochMs, pages: number): void {
    this.#beforeMs = this.#points.at(-1)?.ranMs ?? 0;
    this.#beganAtMs = atMs;
    this.#runs.push({ startedAtMs: atMs, ranMs: this.#beforeMs, pages });
    if (this.#runs.length > SERIES_RUNS_MAX) this.#runs.shift();
  }

  /** Takes the reading when a step has passed since the last point. A clock that goes back adds no time. */
  add(reading: SeriesReading): void {
    const last = this.#points.at(-1);
    const ranMs = Math.max(this.#last?.ranMs ?? this.#beforeMs, this.#beforeMs + reading.atMs - this.#beganAtMs);
    this.#last = { ...reading, ranMs };
    if (last !== undefined && ranMs - last.ranMs < this.#stepMs) return;
    this.#push(this.#last);
  }

  /** The last reading becomes a point, whenever it came. */
  end(): void {
    if (this.#last !== undefined && this.#last !== this.#points.at(-1)) this.#push(this.#last);
  }

  #push(point: SeriesPoint): void {
    if (this.#points.length >= SERIES_POINTS_MAX) {
      this.#stepMs *= 2;
      this.#points = this.#points.filter((_, at) => at % 2 === 0);
    }
    this.#points.push(point);
  }

  get points(): readonly SeriesPoint[] {
    return this.#points;
  }

  snapshot(): SavedSeries {
    return {
      format: 1,
      stepMs: this.#stepMs,
      runs: [...this.#runs],
      columns: SERIES_COLUMNS,
      points: this.#points.map((point) => SERIES_COLUMNS.map((column) => point[column])),
    };
  }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
