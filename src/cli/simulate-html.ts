/** The page of `portolan simulate --html`: one file without script or outside parts; each plot stands over the table of the same figures. */

import type { Sample } from '../sim/series.ts';
import { element, type Html, markupOf, raw } from './html.ts';
import { count, rate } from './numbers.ts';
import { curve, folded, table } from './report-plots.ts';
import { REPORT_STYLE } from './report-style.ts';
import { days, type SimulatedRun } from './simulate.ts';

const DAY_MS = 86_400_000;
const ROWS_MAX = 40;

interface Plot {
  readonly title: string;
  readonly of: (sample: Sample, before: Sample | undefined) => number;
}

const PLOTS: readonly Plot[] = [
  { title: 'Pages per second', of: (one, before) => perSecond(one.ok - (before?.ok ?? 0), one, before) },
  { title: 'Requests per second', of: (one, before) => perSecond(one.requests - (before?.requests ?? 0), one, before) },
  { title: 'URLs waiting', of: (one) => one.queued },
  { title: 'Hosts with an exchange under way', of: (one) => one.inFlight },
  { title: 'Hosts with a back queue', of: (one) => one.active },
  { title: 'Hosts met', of: (one) => one.hosts },
];

export function simulationHtml(runs: readonly SimulatedRun[], web: string, seed: number): string {
  const page = element(
    'html',
    { lang: 'en' },
    element(
      'head',
      {},
      element('meta', { charset: 'utf-8' }),
      element('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
      element('title', {}, `Simulation of the web "${web}"`),
      element('style', {}, raw(REPORT_STYLE)),
    ),
    element(
      'body',
      {},
      element(
        'header',
        {},
        element('h1', {}, `Simulation of the web “${web}”`),
        element('p', { class: 'soft' }, `Seed ${seed}. Nothing was fetched.`),
      ),
      element('main', {}, summary(runs), runs.map(section)),
    ),
  );
  return `<!doctype html>\n${markupOf(page)}\n`;
}

function summary(runs: readonly SimulatedRun[]): Html {
  const rows: readonly (readonly [string, (run: SimulatedRun) => string])[] = [
    ['Simulated', ({ plan }) => days(plan.days)],
    ['Pages per day', ({ plan }) => count(plan.pagesPerDay)],
    ['Requests per day', ({ plan }) => count(plan.requestsPerDay)],
    ['Hosts in flight, mean', ({ plan }) => rate(plan.hostsInFlight)],
    ['URLs waiting at the end', ({ plan }) => count(plan.queued)],
    ['Queue growth per day', ({ plan }) => count(plan.queueGrowthPerDay)],
    ['Dropped by page budgets', ({ plan }) => count(plan.budgetDrops)],
    ['Held back by', ({ plan }) => plan.constraint],
    ['Event hash', ({ result }) => result.eventHash],
  ];
  return table(
    ['', ...runs.map(({ name }) => name)],
    rows.map(([label, of]) => [label, ...runs.map(of)]),
  );
}

function section({ name, result, plan }: SimulatedRun): Html {
  const { series, tail } = result;
  return element(
    'section',
    {},
    element('h2', {}, name),
    element('p', {}, `Held back by ${plan.constraintWords}.`),
    PLOTS.map((plot) => plotOf(plot, series)),
    folded(
      'The figures behind the plots',
      ['Time', ...PLOTS.map(({ title }) => title)],
      everyNth(series, ROWS_MAX).map((one, at, all) => [days(one.atMs / DAY_MS), ...PLOTS.map(({ of }) => rate(of(one, all[at - 1])))]),
    ),
    tail.length === 0
      ? element('p', { class: 'empty' }, 'No host has URLs left.')
      : table(
          ['Hosts with the most URLs left', 'Left', 'Fetched', 'Pause', 'Set by'],
          tail.map(({ host, queued, fetched, gapMs, gapRule }) => [
            host,
            count(queued),
            count(fetched),
            `${rate(gapMs / 1_000)} s`,
            gapRule,
          ]),
        ),
  );
}

function plotOf({ title, of }: Plot, series: readonly Sample[]): Html {
  const points = series.map((one, at) => ({ x: one.atMs / DAY_MS, y: of(one, series[at - 1]) }));
  const most = Math.max(0, ...points.map(({ y }) => y));
  return curve({
    title,
    words: `From ${rate(points[0]?.y ?? 0)} at the start to ${rate(points.at(-1)?.y ?? 0)} at the end, ${rate(most)} at most.`,
    points,
    xMax: points.at(-1)?.x ?? 1,
    formatX: days,
    formatY: rate,
    tone: 'plain',
  });
}

function perSecond(n: number, one: Sample, before: Sample | undefined): number {
  return (n / Math.max(1, one.atMs - (before?.atMs ?? 0))) * 1_000;
}

function everyNth(series: readonly Sample[], most: number): readonly Sample[] {
  const step = Math.max(1, Math.ceil(series.length / most));
  return series.filter((_, at) => at % step === 0);
}
