/**
 * The plots of report.html: inline SVG without script, text or size of its own. Labels are HTML beside it, so that they have the page's type size at every
 * width, and every plot stands in or over a table with the same figures, which is its text alternative.
 */
import { type Content, element, type Html } from './html.ts';
import { count } from './numbers.ts';

export interface Bar {
  readonly label: string;
  readonly n: number;
  /** Class of its colour (report-style.ts); default `plain`. */
  readonly tone?: Tone;
  /** What the label means, for a row of its own text. */
  readonly note?: string;
}

export type Tone = 'plain' | 'good' | 'move' | 'bad' | 'quiet';

export interface BarTable {
  readonly caption: string;
  /** Headings of label and number. */
  readonly headings: readonly [string, string];
  readonly bars: readonly Bar[];
  /** Said instead of an empty table. */
  readonly empty: string;
  readonly format?: (n: number) => string;
  /** A last row with the sum; only where the numbers are parts of one whole. */
  readonly total?: string;
}

/** A table whose rows carry a bar; the longest bar has the whole width. */
export function barTable({ caption, headings, bars, empty, format = count, total }: BarTable): Html {
  if (bars.length === 0) return element('p', { class: 'empty' }, `${caption}: ${empty}`);
  const most = Math.max(1, ...bars.map(({ n }) => n));
  const rows = bars.map(({ label, n, tone = 'plain', note }) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, label, note === undefined ? undefined : element('span', { class: 'note' }, note)),
      element('td', { class: 'number' }, format(n)),
      element('td', { class: 'bar', 'aria-hidden': 'true' }, bar(n / most, tone)),
    ),
  );
  const sum = bars.reduce((a, { n }) => a + n, 0);
  return element(
    'table',
    { class: 'bars' },
    element('caption', {}, caption),
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        element('th', { scope: 'col' }, headings[0]),
        element('th', { scope: 'col', class: 'number' }, headings[1]),
        element('td', { class: 'bar', 'aria-hidden': 'true' }),
      ),
    ),
    element('tbody', {}, rows),
    total === undefined
      ? undefined
      : element(
          'tfoot',
          {},
          element(
            'tr',
            {},
            element('th', { scope: 'row' }, total),
            element('td', { class: 'number' }, format(sum)),
            element('td', { class: 'bar', 'aria-hidden': 'true' }),
          ),
        ),
  );
}

function bar(share: number, tone: Tone): Html {
  // Something is never drawn as nothing.
  const width = share <= 0 ? 0 : Math.max(0.6, share * 100);
  return element(
    'svg',
    { viewBox: '0 0 100 10', preserveAspectRatio: 'none', focusable: 'false' },
    element('rect', { class: `tone-${tone}`, x: 0, y: 0, width: figure(width), height: 10 }),
  );
}

/** Parts of one whole beside one another; the legend has the figures. */
export function wholeBar(title: string, parts: readonly Bar[]): Html {
  const whole = parts.reduce((a, { n }) => a + n, 0);
  let x = 0;
  const rects = parts
    .filter(({ n }) => n > 0)
    .map(({ n, tone = 'plain' }) => {
      const width = (n / Math.max(1, whole)) * 100;
      const rect = element('rect', { class: `tone-${tone}`, x: figure(x), y: 0, width: figure(width), height: 10 });
      x += width;
      return rect;
    });
  return element(
    'figure',
    { class: 'whole' },
    element('p', { class: 'title' }, title),
    element(
      'svg',
      { viewBox: '0 0 100 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': `${title}: ${inWords(parts, whole)}` },
      element('rect', { class: 'ground', x: 0, y: 0, width: 100, height: 10 }),
      rects,
    ),
    element(
      'figcaption',
      {},
      element(
        'ul',
        { class: 'legend' },
        parts.map(({ label, n, tone = 'plain' }) =>
          element(
            'li',
            {},
            element('span', { class: `key tone-${tone}` }),
            `${label} `,
            element('b', {}, count(n)),
            ` ${percent(n, whole)}`,
          ),
        ),
      ),
    ),
  );
}

function inWords(parts: readonly Bar[], whole: number): string {
  return parts.map(({ label, n }) => `${label} ${count(n)} (${percent(n, whole)})`).join(', ');
}

export function percent(n: number, whole: number): string {
  if (whole === 0) return '0 %';
  const share = (n / whole) * 100;
  if (n > 0 && share < 0.1) return 'under 0.1 %';
  return `${share > 99.9 && n < whole ? '99.9' : share.toFixed(share < 10 && share > 0 ? 1 : 0)} %`;
}

export interface Curve {
  readonly title: string;
  /** One sentence for who cannot see it. */
  readonly words: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
  readonly xMax: number;
  readonly formatX: (x: number) => string;
  readonly formatY: (y: number) => string;
  readonly tone: Tone;
  /** Where a later run began. */
  readonly marks?: readonly number[];
}

const PLOT_WIDTH = 600;
const PLOT_HEIGHT = 160;

/** A filled curve over time. */
export function curve({ title, words, points, xMax, formatX, formatY, tone, marks = [] }: Curve): Html {
  const top = niceCeiling(Math.max(0, ...points.map(({ y }) => y)));
  const x = (value: number): string => figure((value / Math.max(1e-9, xMax)) * PLOT_WIDTH);
  const y = (value: number): string => figure(PLOT_HEIGHT - (value / top) * PLOT_HEIGHT);
  const line = points.map((point, at) => `${at === 0 ? 'M' : 'L'}${x(point.x)} ${y(point.y)}`).join('');
  const [first, last] = [points[0], points.at(-1)];
  const area = first === undefined || last === undefined ? '' : `${line}L${x(last.x)} ${PLOT_HEIGHT}L${x(first.x)} ${PLOT_HEIGHT}Z`;
  const grid = [0, 0.25, 0.5, 0.75, 1].map((share) => share * PLOT_HEIGHT);
  return element(
    'figure',
    { class: 'curve' },
    element('figcaption', {}, title),
    element(
      'div',
      { class: 'frame' },
      element(
        'div',
        { class: 'axis-y', 'aria-hidden': 'true' },
        [top, top / 2, 0].map((value) => element('span', {}, formatY(value))),
      ),
      element(
        'svg',
        { viewBox: `0 0 ${PLOT_WIDTH} ${PLOT_HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${title}. ${words}` },
        grid.map((at) => element('line', { class: 'grid', x1: 0, x2: PLOT_WIDTH, y1: at, y2: at })),
        marks.map((at) => element('line', { class: 'mark', x1: x(at), x2: x(at), y1: 0, y2: PLOT_HEIGHT })),
        element('path', { class: `area tone-${tone}`, d: area }),
        element('path', { class: `line tone-${tone}`, d: line }),
      ),
      element(
        'div',
        { class: 'axis-x', 'aria-hidden': 'true' },
        [0, xMax / 2, xMax].map((value) => element('span', {}, formatX(value))),
      ),
    ),
  );
}

/** The next of 1, 2, 5 · 10ⁿ, and at least 1: a round end of an axis whose half is readable as well. */
export function niceCeiling(value: number): number {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 4, 5, 10]) if (value <= step * power) return step * power;
  return 10 * power;
}

/** A table that is folded away: the figures behind a plot. */
export function folded(summary: string, headings: readonly string[], rows: readonly (readonly string[])[]): Html {
  return element(
    'details',
    {},
    element('summary', {}, summary),
    element('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': summary }, table(headings, rows)),
  );
}

/** A plain table: the first column is text, the others are figures. */
export function table(headings: readonly string[], rows: readonly (readonly Content[])[]): Html {
  return element(
    'table',
    { class: 'figures' },
    element(
      'thead',
      {},
      element(
        'tr',
        {},
        headings.map((heading, at) => element('th', { scope: 'col', class: at === 0 ? undefined : 'number' }, heading)),
      ),
    ),
    element(
      'tbody',
      {},
      rows.map((row) =>
        element(
          'tr',
          {},
          row.map((cell, at) => (at === 0 ? element('th', { scope: 'row' }, cell) : element('td', { class: 'number' }, cell))),
        ),
      ),
    ),
  );
}

function figure(value: number): string {
  return String(Math.round(value * 100) / 100);
}
