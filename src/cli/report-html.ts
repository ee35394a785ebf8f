/**
 * report.html: the closing report as one page that needs nothing else. No script, no outside resource (its own policy forbids them), light and dark, wide
 * and narrow, and a table with the same figures for each plot. It shows what report.json holds and computes nothing that is not there.
 */
import type { Bucket, HostFigures, RowFigures } from '../adapters/sqlite/report-rows.ts';
import { DEPTH_MAX } from '../adapters/sqlite/report-rows.ts';
import { OUTCOME_CODES, type OutcomeCode } from '../core/reasons.ts';
import { sum } from '../engine/accounting.ts';
import { durationInWords } from '../engine/eta.ts';
import { type SavedSeries, SERIES_COLUMNS } from '../engine/series.ts';
import { VERSION } from '../version.ts';
import { type Content, element, type Html, markupOf, raw } from './html.ts';
import { bytes, count, counted, isPace, numbered, pause, rate } from './numbers.ts';
import { ENDINGS, pagesPerS, type Report } from './report.ts';
import { type Bar, barTable, curve, folded, percent, type Tone, table, wholeBar } from './report-plots.ts';
import { REPORT_STYLE } from './report-style.ts';

/** Rows of the table under the curves; the plots have all points. */
const SERIES_ROWS_MAX = 60;
const SEEDS_SHOWN = 5;
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

export function reportHtml(report: Report): string {
  const title = `Crawl of ${subjectOf(report)}`;
  const page = element(
    'html',
    { lang: 'en' },
    element(
      'head',
      {},
      element('meta', { charset: 'utf-8' }),
      element('meta', { 'http-equiv': 'Content-Security-Policy', content: POLICY }),
      element('meta', { name: 'viewport', content: 'width=device-width, initial-scale=1' }),
      element('meta', { name: 'robots', content: 'noindex' }),
      element('link', { rel: 'icon', href: 'data:,' }),
      element('title', {}, title),
      element('style', {}, raw(REPORT_STYLE)),
    ),
    element(
      'body',
      {},
      header(title, report),
      element(
        'main',
        {},
        laws(report),
        overTime(report.series),
        outcomes(report),
        reasons(report),
        exceptions(report),
        hosts(report),
        pages(report),
        duplicates(report),
      ),
      footer(report),
    ),
  );
  return `<!doctype html>\n${markupOf(page)}\n`;
}

function subjectOf({ seeds, seedCount }: Report): string {
  const first = seeds[0]?.replace(/^https?:\/\//, '').replace(/\/$/, '');
  if (first === undefined) return 'a web';
  return seedCount === 1 ? first : `${first} and ${count(seedCount - 1)} more`;
}

function header(title: string, report: Report): Html {
  const tiles: readonly (readonly [string, string])[] = [
    [count(report.pages), numbered(report.pages, 'page')],
    [count(report.hosts), numbered(report.hosts, 'host')],
    [count(report.queued), numbered(report.queued, 'URL still queued', 'URLs still queued')],
    [bytes(report.wireBytes), 'over the wire'],
    [durationInWords(report.ranSeconds * 1_000), 'running time'],
    [rate(pagesPerS(report)), report.series.runs.length > 1 ? 'pages per second in the last run' : 'pages per second'],
  ];
  return element(
    'header',
    {},
    element('h1', {}, title),
    element('p', {}, `${ENDINGS[report.reason] ?? report.reason}. Last run from ${moment(report.startedAt)} to ${moment(report.endedAt)}.`),
    report.error === undefined ? undefined : element('p', { class: 'wrong' }, `${report.error.code}: ${report.error.message}`),
    report.seedCount > 1
      ? element(
          'p',
          { class: 'soft' },
          'Seeds: ',
          report.seeds.slice(0, SEEDS_SHOWN).flatMap((seed, at) => [at === 0 ? '' : ', ', element('code', {}, seed)]),
          report.seedCount > SEEDS_SHOWN ? ` and ${count(report.seedCount - SEEDS_SHOWN)} more` : '',
        )
      : undefined,
    element(
      'ul',
      { class: 'tiles' },
      tiles.map(([figure, label]) => element('li', {}, element('b', {}, figure), element('span', {}, label))),
    ),
  );
}

function moment(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

// ── the laws ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function laws(report: Report): Content {
  const { found, known, admitted, inTransit, queued, unaccounted } = report;
  const rejected = sum(report.rejected);
  const fetched = sum(report.fetched);
  const dropped = sum(report.dropped);
  const verdict =
    unaccounted === 0
      ? element('p', { class: 'ok' }, 'Both sums are right: every link that was met, and every URL that was admitted, is accounted for.')
      : element('p', { class: 'wrong' }, `${counted(unaccounted, 'is', 'are')} unaccounted for.`);
  return [
    element('h2', {}, 'Do the numbers add up?'),
    verdict,
    element(
      'div',
      { class: 'pair' },
      element(
        'section',
        { 'aria-label': 'Links, seeds and redirect targets' },
        wholeBar('Links, seeds and redirect targets that were met', [
          { label: 'known already', n: known, tone: 'quiet' },
          { label: 'rejected', n: rejected, tone: 'bad' },
          { label: 'admitted', n: admitted, tone: 'good' },
          { label: 'in transit', n: inTransit, tone: 'move' },
        ]),
        element(
          'p',
          { class: 'law' },
          `Met ${count(found)} = known ${count(known)} + rejected ${count(rejected)} + admitted ${count(admitted)} + in transit ${count(inTransit)}`,
        ),
      ),
      element(
        'section',
        { 'aria-label': 'URLs' },
        wholeBar('URLs that were admitted', [
          { label: 'fetched', n: fetched, tone: 'good' },
          { label: 'queued', n: queued, tone: 'move' },
          { label: 'dropped', n: dropped, tone: 'bad' },
        ]),
        element(
          'p',
          { class: 'law' },
          `Admitted ${count(admitted)} = queued ${count(queued)} + fetched ${count(fetched)} + dropped ${count(dropped)}`,
        ),
      ),
    ),
  ];
}

// ── over time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

type Column = (typeof SERIES_COLUMNS)[number];

function overTime(series: SavedSeries): Content {
  const at = (row: readonly number[], column: Column): number => row[SERIES_COLUMNS.indexOf(column)] ?? 0;
  const { points } = series;
  const last = points.at(-1);
  if (last === undefined || points.length < 2)
    return [element('h2', {}, 'Over time'), element('p', { class: 'empty' }, 'The crawl was too short for a curve.')];
  const xMax = Math.max(1, at(last, 'ranMs'));
  const marks = series.runs.slice(1).map((run) => run.ranMs);
  const of = (column: Column) => points.map((row) => ({ x: at(row, 'ranMs'), y: at(row, column) }));
  const plot = (title: string, y: readonly { x: number; y: number }[], tone: Tone, formatY: (n: number) => string, words: string): Html =>
    curve({ title, points: y, tone, formatY, words, xMax, marks, formatX: durationInWords });
  const ended = (column: Column, format: (n: number) => string): string => `At the end ${format(at(last, column))}.`;
  const most = (column: Column, format: (n: number) => string): string =>
    `At most ${format(Math.max(...points.map((row) => at(row, column))))}, at the end ${format(at(last, column))}.`;
  const speed = speedOf(of('pages'));
  return [
    element('h2', {}, 'Over time'),
    element(
      'p',
      { class: 'soft' },
      `Time while the crawl ran, ${durationInWords(xMax)} in ${series.runs.length === 1 ? 'one run' : `${count(series.runs.length)} runs`}`,
      marks.length > 0 ? '; a dashed line marks where a run began again.' : '.',
    ),
    element(
      'div',
      { class: 'pair' },
      plot('Pages', of('pages'), 'good', short, ended('pages', count)),
      plot('Pages per second', speed, 'good', short, `At most ${rate(Math.max(...speed.map(({ y }) => y)))}.`),
      plot('URLs queued', of('queued'), 'move', short, most('queued', count)),
      plot('Requests in flight', of('inFlight'), 'move', short, most('inFlight', count)),
      plot('Bytes over the wire', of('wireBytes'), 'plain', shortBytes, ended('wireBytes', bytes)),
      plot('Fetches that failed', of('errors'), 'bad', short, ended('errors', count)),
    ),
    folded(
      'The same as a table',
      ['Running time', 'Pages', 'Bytes', 'Queued', 'In flight', 'Failed'],
      thinned(points).map((row) => [
        durationInWords(at(row, 'ranMs')),
        count(at(row, 'pages')),
        bytes(at(row, 'wireBytes')),
        count(at(row, 'queued')),
        count(at(row, 'inFlight')),
        count(at(row, 'errors')),
      ]),
    ),
  ];
}

function thinned<T>(rows: readonly T[]): readonly T[] {
  const every = Math.ceil(rows.length / SERIES_ROWS_MAX);
  return rows.filter((_, at) => at % every === 0 || at === rows.length - 1);
}

/** Between neighbouring points; a moving average over a fiftieth of the time, so that commits once a second make no comb. */
function speedOf(pages: readonly { readonly x: number; readonly y: number }[]): { x: number; y: number }[] {
  const span = Math.max(1, Math.round(pages.length / 50));
  return pages.map((point, at) => {
    const from = pages[Math.max(0, at - span)]!;
    const to = pages[Math.min(pages.length - 1, at + span)]!;
    const ms = to.x - from.x;
    return { x: point.x, y: ms <= 0 ? 0 : Math.max(0, ((to.y - from.y) * 1_000) / ms) };
  });
}

/** `1.5k`, `2M`: for axes. */
function short(n: number): string {
  if (n >= 1e6) return `${trimmed(n / 1e6)}M`;
  if (n >= 10_000) return `${trimmed(n / 1e3)}k`;
  return n >= 1_000 ? count(n) : trimmed(n);
}

function shortBytes(n: number): string {
  return bytes(n).replace('.0 ', ' ');
}

function trimmed(n: number): string {
  return String(Math.round(n * 10) / 10);
}

// ── outcomes and reasons ──────────────────────────────────────────────────────────────────────────────────────────────────────────

function outcomes(report: Report): Content {
  return [
    element('h2', {}, 'How fetches ended'),
    element(
      'div',
      { class: 'pair' },
      barTable({
        caption: 'URLs fetched, by outcome',
        headings: ['Outcome', 'URLs'],
        bars: barsOf(report.fetched, outcomeTone),
        empty: 'nothing was fetched.',
        total: 'fetched',
      }),
      report.rows.rowsRead === 0
        ? undefined
        : element(
            'div',
            {},
            barTable({
              caption: 'HTTP status',
              headings: ['Status', 'URLs'],
              bars: barsOf(report.rows.statuses, statusTone).map((bar) => ({
                ...bar,
                label: bar.label === '0' ? 'no response' : bar.label,
              })),
              empty: 'none.',
              total: 'URLs',
            }),
            note(report.rows),
          ),
    ),
  ];
}

function outcomeTone(code: string): Tone {
  if (code === 'redirect') return 'move';
  return OUTCOME_CODES[code as OutcomeCode] === 'success' ? 'good' : 'bad';
}

function statusTone(status: string): Tone {
  if (status.startsWith('2')) return 'good';
  return status.startsWith('3') ? 'move' : 'bad';
}

function reasons(report: Report): Content {
  return [
    element('h2', {}, 'What was left out, and why'),
    element('p', { class: 'soft' }, 'What each reason means, and which key changes it, is in docs/REASONS.md.'),
    element(
      'div',
      { class: 'pair' },
      element(
        'section',
        { 'aria-label': 'Links rejected' },
        barTable({
          caption: 'Links rejected, by reason',
          headings: ['Reason', 'Links'],
          bars: barsOf(report.rejected, () => 'plain'),
          empty: 'none.',
          total: 'rejected',
        }),
      ),
      element(
        'section',
        { 'aria-label': 'URLs dropped' },
        barTable({
          caption: 'URLs dropped without a fetch, by reason',
          headings: ['Reason', 'URLs'],
          bars: barsOf(report.dropped, () => 'plain'),
          empty: 'none.',
          total: 'dropped',
        }),
      ),
    ),
  ];
}

/** What the operator has excepted, in the words of the configuration. */
function exceptions({ exceptions: stated }: Report): Content {
  if (stated.length === 0) return undefined;
  return [
    element('h2', {}, 'Stated exceptions'),
    element('p', { class: 'soft' }, 'Set in the configuration (hosts) for these hosts alone, each with its reason.'),
    element(
      'ul',
      { class: 'exceptions' },
      stated.map(({ hosts, what, reason }) => element('li', {}, element('code', {}, hosts), `: ${what}: ${reason}`)),
    ),
  ];
}

function barsOf(counts: Readonly<Record<string, number>>, tone: (name: string) => Tone): Bar[] {
  return Object.entries(counts)
    .filter(([, n]) => n > 0)
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .map(([label, n]) => ({ label, n, tone: tone(label) }));
}

// ── hosts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const STATES: Readonly<Record<string, string>> = {
  open: 'open',
  retired: 'retired: failed too often',
  'robots-given-up': 'robots.txt could not be had',
  'over-budget': 'page budget spent',
  forbidden: 'only forbidden addresses',
};

function hosts({ rows, hostsApart }: Report): Content {
  const heading = element('h2', {}, 'Hosts');
  if (rows.hosts === undefined) return [heading, element('p', { class: 'empty' }, rows.note)];
  const { top, waiting, states, byFetched } = rows.hosts;
  return [
    heading,
    hostsApart > 0
      ? element(
          'p',
          {},
          `${counted(hostsApart, 'host asks', 'hosts ask')} for a longer pause than the crawl waits for; ${numbered(hostsApart, 'its', 'their')} URLs stay queued.`,
        )
      : undefined,
    element(
      'div',
      { class: 'pair' },
      barTable({
        caption: `Hosts with most URLs fetched${rows.hosts.rows > top.length ? ` (${top.length} of ${count(rows.hosts.rows)})` : ''}`,
        headings: ['Host', 'URLs'],
        bars: top.map((host) => ({ label: host.key, n: host.fetched, tone: 'plain' as const, ...hostNote(host) })),
        empty: 'none.',
      }),
      element(
        'div',
        {},
        barTable({
          caption: 'Hosts by URLs fetched',
          headings: ['URLs fetched', 'Hosts'],
          bars: bucketBars(byFetched, (from, below) => wholeRange(from, below)),
          empty: 'none.',
          total: 'hosts',
        }),
        barTable({
          caption: 'State of hosts',
          headings: ['State', 'Hosts'],
          bars: barsOf(states, (state) => (state === 'open' ? 'good' : 'bad')).map((bar) => ({
            ...bar,
            label: STATES[bar.label] ?? bar.label,
          })),
          empty: 'none.',
          total: 'hosts',
        }),
      ),
    ),
    waiting.length === 0
      ? undefined
      : [
          element('h3', {}, 'Longest queues'),
          element(
            'div',
            { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Longest queues' },
            table(
              ['Host', 'Queued', 'Pause', 'Rule of the pause', 'Needs at least'],
              waiting.map((host) => [
                host.key,
                count(host.queued),
                isPace(host.gapRule) && host.owedMs > 0 ? pause(host.owedMs) : 'none',
                host.gapRule,
                isPace(host.gapRule) && host.owedMs > 0 ? durationInWords(host.queued * host.owedMs) : '',
              ]),
            ),
          ),
        ],
  ];
}

function hostNote({ queued, dropped, state }: HostFigures): { note?: string } {
  const parts = [
    queued > 0 ? `${count(queued)} queued` : '',
    dropped > 0 ? `${count(dropped)} dropped` : '',
    state === 'open' ? '' : (STATES[state] ?? state),
  ].filter((part) => part !== '');
  return parts.length === 0 ? {} : { note: parts.join(', ') };
}

// ── pages ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function pages({ rows }: Report): Content {
  const heading = element('h2', {}, 'Pages');
  if (rows.rowsRead === 0) return [heading, element('p', { class: 'empty' }, rows.note === '' ? 'No page was fetched.' : rows.note)];
  return [
    heading,
    note(rows),
    element(
      'div',
      { class: 'pair' },
      barTable({
        caption: 'URLs fetched, by depth (links from a seed)',
        headings: ['Depth', 'URLs'],
        bars: rows.depths.map((n, depth) => ({
          label: depth === DEPTH_MAX ? `${depth} and more` : String(depth),
          n,
          tone: 'plain' as const,
        })),
        empty: 'none.',
        total: 'URLs',
      }),
      element(
        'div',
        {},
        barTable({
          caption: 'Pages by size of the body',
          headings: ['Size', 'Pages'],
          bars: bucketBars(rows.sizes, (from, below) =>
            from === 0 && below === 1 ? 'empty' : range(from === 1 ? 0 : from, below, shortBytes),
          ),
          empty: 'none.',
          total: 'pages',
        }),
        barTable({
          caption: 'How long fetches took',
          headings: ['Time', 'URLs'],
          bars: bucketBars(rows.durations, (from, below) => range(from, below, pause)),
          empty: 'none.',
          total: 'URLs',
        }),
      ),
    ),
  ];
}

function note(rows: RowFigures): Content {
  return rows.coverage === 'all' ? undefined : element('p', { class: 'soft' }, rows.note);
}

/** From the first to the last bucket that is not empty. */
function bucketBars(buckets: readonly Bucket[], label: (from: number, below: number | null) => string): Bar[] {
  const first = buckets.findIndex(({ n }) => n > 0);
  if (first < 0) return [];
  const last = buckets.findLastIndex(({ n }) => n > 0);
  return buckets
    .map(({ below, n }, at) => ({ label: label(at === 0 ? 0 : buckets[at - 1]!.below!, below), n, tone: 'plain' as const }))
    .slice(first, last + 1);
}

/** Of whole numbers: both ends belong to it. */
function wholeRange(from: number, below: number | null): string {
  if (below === null) return `${count(from)} and more`;
  return below - from === 1 ? count(from) : `${count(from)} to ${count(below - 1)}`;
}

function range(from: number, below: number | null, format: (n: number) => string): string {
  if (below === null) return `${format(from)} and more`;
  return from === 0 ? `under ${format(below)}` : `${format(from)} to ${format(below)}`;
}

// ── duplicates ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function duplicates({ rows, storedPages, pages: all, exactDuplicates, nearDuplicates }: Report): Content {
  const heading = element('h2', {}, 'Duplicates');
  const judged = sum(rows.duplicates);
  if (judged === 0) return [heading, element('p', { class: 'empty' }, 'No page has a body to compare.')];
  const { exact = 0, text = 0, near = 0 } = rows.duplicates;
  return [
    heading,
    wholeBar('Pages by what their body is', [
      { label: 'content of its own', n: rows.duplicates[''] ?? 0, tone: 'good' },
      { label: 'exact copy', n: exact, tone: 'quiet' },
      { label: 'same text', n: text, tone: 'plain' },
      { label: 'nearly the same', n: near, tone: 'move' },
    ]),
    note(rows),
    element(
      'p',
      { class: 'soft' },
      `Over all ${counted(all, 'page')}: ${counted(exactDuplicates, 'exact copy', 'exact copies')} (${percent(exactDuplicates, all)}), ${counted(nearDuplicates, 'near-duplicate')} (${percent(nearDuplicates, all)}), ${counted(storedPages, 'response')} of any kind stored.`,
    ),
  ];
}

function footer(report: Report): Html {
  const details: readonly (readonly [string, string])[] = [
    ['Requests', `${count(report.requests)}, of them ${count(report.robotsRequests)} for robots.txt`],
    ['Decoded bodies', bytes(report.bodyBytes)],
    ['Names answered from the DNS cache', percent(report.dns.hits, report.dns.hits + report.dns.misses)],
    ['Scope', report.scope],
    ['Shards', count(report.shards)],
  ];
  return element(
    'footer',
    {},
    element('p', {}, details.map(([name, value], at) => `${at === 0 ? '' : ' · '}${name}: ${value}`).join('')),
    element('p', {}, `Portolan ${VERSION}. The same figures are in report.json; docs/REPORT.md explains each.`),
  );
}
