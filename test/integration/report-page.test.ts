/**
 * report.json and report.html of a real crawl: both sums are right wherever they are shown, and the page can be read in a real browser, wide and narrow,
 * light and dark. Without Chromium the browser's part is left out loudly; never in CI.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { parse } from 'parse5';
import type { Report } from '../../src/cli/report.ts';
import { Chromium, findChromium } from '../support/chromium.ts';
import { notFound, page, startWebServer, type WebServer } from '../support/web-server.ts';
import { crawl, type Row, readRows } from './crawl.ts';

const HOSTS = 6;
const PAGES = 24;
/** What an operator may write as a reason: a URL without a place to break it, markup, a right-to-left override. */
const REASON = `our own site <b>agreed</b> on \u202ehttps://tickets.example.org/${'browse_the_agreement_'.repeat(12)}?id=1`;
const LONG = Array.from({ length: 150 }, (_, n) => `word${n % 37}x${(n * 7) % 41}`).join(' ');

function answer(host: number, path: string, authority: string) {
  const port = authority.split(':')[1];
  if (path === '/') {
    const others = Array.from({ length: HOSTS }, (_, other) => `http://h${other}.test:${port}/`);
    return page(`home of ${host} <script>alert(1)</script>`, ['/p0', '/p1', '/private/a', '/gone', 'mailto:a@b.example', ...others], LONG);
  }
  const n = Number(/^\/p(\d+)$/.exec(path)?.[1] ?? -1);
  if (n < 0 || n >= PAGES) return notFound();
  if (n % 7 === 3) return { status: 500, body: 'broken' };
  if (n % 9 === 4) return { status: 302, headers: { location: `/p${n + 1}` } };
  const text = n % 5 === 0 ? LONG : `${LONG} ${`only${host}x${n} `.repeat(20 + n * 30)}`;
  return page(`p${n}`, [`/p${n + 1}`, `/p${n + 2}`, `/p${n + 3}`, '/', `/private/${n}`, 'http://elsewhere.example/'], text);
}

type Counts = Readonly<Record<string, number>>;
const sum = (counts: Counts): number => Object.values(counts).reduce((a, n) => a + n, 0);
const whole = (numbers: readonly { readonly n: number }[]): number => numbers.reduce((a, { n }) => a + n, 0);

describe('the report of a crawl', { concurrency: false }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-report-'));
  const out = join(dir, 'out');
  let web: WebServer;
  let report: Report;
  let html: string;
  let rows: readonly Row[];

  before(async () => {
    web = await startWebServer({
      hosts: Array.from({ length: HOSTS }, (_, host) => ({
        name: `h${host}.test`,
        address: `127.0.3.${host + 1}`,
        robots: 'User-agent: *\nDisallow: /private/\n',
        page: ({ path, authority }) => answer(host, path, authority),
      })),
    });
    const options = {
      web,
      out,
      config: {
        scope: { mode: 'host' as const },
        politeness: { delay: 20 },
        fetch: { attempts: 2, retryDelay: 20 },
        hosts: {
          'h5.test': {
            robots: { ignore: true as const, reason: REASON },
            tls: { insecure: true as const, reason: 'a certificate of our own' },
          },
          [`*.${'aratherlonglabelofanameofahost.'.repeat(6)}example`]: { robots: { ignore: true as const, reason: 'a test server' } },
        },
      },
    };
    const seeds = Array.from({ length: HOSTS }, (_, host) => `${web.origin(`h${host}.test`)}/`);
    // Two runs: the report is of both.
    await crawl({ ...options, seeds, flags: ['--max-pages', '40'] });
    await crawl({ ...options, seeds });
    report = JSON.parse(readFileSync(join(out, 'report.json'), 'utf8')) as Report;
    html = readFileSync(join(out, 'report.html'), 'utf8');
    rows = readRows(out);
  });
  after(async () => {
    await web.close();
    rmSync(dir, { recursive: true, force: true });
  });

  test('report.json: both sums are right, and its parts say the same as pages.jsonl', () => {
    assert.equal(report.found, report.known + sum(report.rejected) + report.admitted + report.inTransit);
    assert.equal(report.admitted, report.queued + sum(report.fetched) + sum(report.dropped));
    assert.equal(report.unaccounted, 0);
    const fetched = rows.filter((row) => row.outcome !== 'dropped');
    assert.equal(sum(report.fetched), fetched.length);
    assert.equal(sum(report.dropped), rows.length - fetched.length);
    assert.ok(report.pages > 60 && sum(report.errors) > 0 && report.exactDuplicates > 0, JSON.stringify(report.fetched));
  });

  test('figures from rows are of all rows, and each adds up to the totals', () => {
    const { rows: figures } = report;
    assert.deepEqual([figures.coverage, figures.note], ['all', '']);
    const fetched = sum(report.fetched);
    assert.deepEqual([figures.pageRows, figures.rowsRead], [fetched, fetched]);
    assert.equal(
      figures.depths.reduce((a, n) => a + n, 0),
      fetched,
    );
    assert.equal(sum(figures.statuses), fetched);
    assert.equal(whole(figures.durations), fetched);
    assert.equal(whole(figures.sizes), report.pages);
    assert.equal(sum(figures.duplicates), report.pages);
    assert.equal(figures.duplicates['exact'], report.exactDuplicates);
    assert.equal((figures.duplicates['near'] ?? 0) + (figures.duplicates['text'] ?? 0), report.nearDuplicates);
    assert.equal(figures.hosts?.rows, HOSTS);
    assert.equal(whole(figures.hosts?.byFetched ?? []), HOSTS);
    assert.equal(sum(figures.hosts?.states ?? {}), HOSTS);
    assert.equal(
      figures.hosts?.top.reduce((a, host) => a + host.fetched, 0),
      fetched,
    );
    for (const { key, fetched: n } of figures.hosts?.top ?? [])
      assert.equal(n, rows.filter((row) => row.host === key && row.outcome !== 'dropped').length, key);
  });

  test('the time series spans both runs, never goes back, and ends with the totals', () => {
    const { columns, points, runs } = report.series;
    assert.equal(runs.length, 2);
    const at = (name: string): number[] => points.map((row) => row[columns.indexOf(name)]!);
    for (const name of ['ranMs', 'pages', 'wireBytes', 'errors']) {
      const values = at(name);
      for (let i = 1; i < values.length; i++) assert.ok(values[i]! >= values[i - 1]!, `${name}: ${values.join(' ')}`);
    }
    assert.deepEqual(
      [at('pages').at(-1), at('wireBytes').at(-1), at('errors').at(-1), at('queued').at(-1)],
      [report.pages, report.wireBytes, sum(report.errors), report.queued],
    );
    assert.equal(report.ranSeconds, at('ranMs').at(-1)! / 1_000);
    assert.deepEqual(JSON.parse(readFileSync(join(out, 'state/series.json'), 'utf8')), report.series);
  });

  test('stated exceptions are in the report, each with its hosts and its reason as text', () => {
    assert.deepEqual(
      report.exceptions.map(({ hosts, what }) => [hosts.slice(0, 10), what]),
      [
        ['h5.test', 'robots.txt is ignored'],
        ['h5.test', 'certificates are not checked'],
        ['*.aratherl', 'robots.txt is ignored'],
      ],
    );
    assert.equal(report.exceptions[0]?.reason, REASON);
    assert.ok(html.includes('Stated exceptions') && html.includes('our own site &lt;b&gt;agreed&lt;/b&gt; on \ufffdhttps://tickets'));
    const disallowed = (host: string): Row[] => rows.filter((row) => row.host.startsWith(host) && row.reason === 'robots-disallowed');
    assert.deepEqual([disallowed('h5.test').length, disallowed('h4.test').length > 0], [0, true]);
  });

  test('report.html is whole, has no script and nothing from outside, and shows both sums', () => {
    const problems: string[] = [];
    parse(html, { onParseError: (error) => void problems.push(error.code), sourceCodeLocationInfo: true });
    assert.deepEqual(problems, []);
    assert.doesNotMatch(html, /<script|javascript:|<iframe|<img|@import|url\(|\son\w+=/i);
    assert.deepEqual(
      [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, value]) => value),
      ['data:,'],
    );
    const count = (n: number): string => n.toLocaleString('en-US');
    for (const sentence of [
      `Met ${count(report.found)} = known ${count(report.known)} + rejected ${count(sum(report.rejected))} + admitted ${count(report.admitted)} + in transit 0`,
      `Admitted ${count(report.admitted)} = queued 0 + fetched ${count(sum(report.fetched))} + dropped ${count(sum(report.dropped))}`,
    ])
      assert.ok(html.includes(sentence), sentence);
  });

  const program = findChromium();
  const isMissing = program === undefined;
  if (isMissing && process.env['CI'] === undefined)
    process.stderr.write(
      'SKIPPED: report.html was NOT looked at in a browser: there is no chromium here; scripts/install-debian.sh brings it\n',
    );
  assert.ok(!isMissing || process.env['CI'] === undefined, 'CI has a chromium: scripts/install-debian.sh');

  describe('in headless Chromium', { skip: isMissing ? 'chromium is not installed' : false }, () => {
    let browser: Chromium;
    before(async () => {
      browser = await Chromium.start(program!);
    });
    after(async () => {
      await browser?.close();
    });

    for (const width of [1_280, 400]) {
      for (const scheme of ['light', 'dark'] as const) {
        test(`at ${width} px, ${scheme}: nothing overflows, nothing complains, all text has a contrast of 4.5 or more`, async () => {
          const view = await browser.open(pathToFileURL(join(out, 'report.html')).href, { width, height: 900, scheme });
          try {
            const look = await view.evaluate<Look>(LOOK);
            if (process.env['PORTOLAN_SHOTS'] !== undefined)
              writeFileSync(join(process.env['PORTOLAN_SHOTS'], `report-${width}-${scheme}.png`), await view.screenshot());
            assert.deepEqual(view.complaints, []);
            assert.deepEqual(
              view.requests.filter((url) => !url.startsWith('data:')),
              [pathToFileURL(join(out, 'report.html')).href],
            );
            assert.ok(look.pageWidth <= width, `the page is ${look.pageWidth} px wide`);
            assert.deepEqual(look.overflowing, []);
            assert.deepEqual(look.faint, []);
            assert.ok(look.texts > 100 && look.plots >= 6, JSON.stringify(look));
            assert.equal(look.isDark, scheme === 'dark');
            assert.deepEqual(look.withoutWords, []);
            assert.deepEqual(
              [look.exceptions.length, look.exceptions.filter((text) => text.includes('our own site <b>agreed</b>')).length],
              [3, 1],
            );
          } finally {
            await view.close();
          }
        });
      }
    }

    test('the tables in the page add up in their last rows', async () => {
      const view = await browser.open(pathToFileURL(join(out, 'report.html')).href, { width: 1_280, height: 900, scheme: 'light' });
      const tables = await view.evaluate<readonly { caption: string; numbers: readonly number[]; total: number | null }[]>(TABLES);
      await view.close();
      const totals = tables.filter(({ total }) => total !== null);
      assert.ok(totals.length >= 8, JSON.stringify(tables.map(({ caption }) => caption)));
      for (const { caption, numbers, total } of totals)
        assert.equal(
          numbers.reduce((a, n) => a + n, 0),
          total,
          caption,
        );
      const totalOf = (caption: string): number | null | undefined => totals.find((table) => table.caption.startsWith(caption))?.total;
      assert.equal(totalOf('URLs fetched, by outcome'), sum(report.fetched));
      assert.equal(totalOf('Links rejected'), sum(report.rejected));
      assert.equal(totalOf('URLs dropped'), sum(report.dropped));
      assert.equal(totalOf('URLs fetched, by depth'), sum(report.fetched));
    });
  });

  test('no half report is left behind', () => {
    assert.equal(existsSync(join(out, 'report.json.draft')) || existsSync(join(out, 'report.html.draft')), false);
  });
});

interface Look {
  readonly pageWidth: number;
  readonly overflowing: readonly string[];
  readonly faint: readonly string[];
  readonly withoutWords: readonly string[];
  readonly texts: number;
  readonly plots: number;
  readonly isDark: boolean;
  /** As they are read, those that have a place on the page. */
  readonly exceptions: readonly string[];
}

/** Runs in the page: every text with the colour behind it (WCAG 2.2, contrast ratio), every box against the width, every plot for its words. */
const LOOK = `(() => {
  const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const colour = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const parts = colour(getComputedStyle(at).backgroundColor);
      if (parts.length === 3 || parts[3] === 1) return parts;
    }
    return [255, 255, 255];
  };
  for (const details of document.querySelectorAll('details')) details.open = true;
  const faint = [];
  let texts = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (node.data.trim() === '' || element.closest('style') || element.getClientRects().length === 0) continue;
    texts++;
    const [a, b] = [luminance(colour(getComputedStyle(element).color)), luminance(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.push(ratio.toFixed(2) + ' ' + node.data.trim().slice(0, 40));
  }
  const width = document.documentElement.clientWidth;
  const scrolls = (element) => element.closest('.scroll') !== null;
  const overflowing = [...document.body.querySelectorAll('*')]
    .filter((element) => !scrolls(element) && element.getBoundingClientRect().right > width + 1)
    .map((element) => element.outerHTML.slice(0, 80));
  const plots = [...document.querySelectorAll('svg')];
  return {
    pageWidth: document.documentElement.scrollWidth,
    overflowing,
    faint,
    texts,
    plots: plots.length,
    withoutWords: plots
      .filter((plot) => !plot.closest('[aria-hidden=true]') && !(plot.getAttribute('role') === 'img' && plot.getAttribute('aria-label')))
      .map((plot) => plot.outerHTML.slice(0, 80)),
    isDark: luminance(behind(document.body)) < 0.2,
    exceptions: [...document.querySelectorAll('.exceptions li')].filter((item) => item.getBoundingClientRect().height > 0).map((item) => item.innerText),
  };
})()`;

const TABLES = `[...document.querySelectorAll('table.bars')].map((table) => {
  const number = (cell) => Number(cell.textContent.replaceAll(',', ''));
  const foot = table.querySelector('tfoot .number');
  return {
    caption: table.caption.textContent,
    numbers: [...table.querySelectorAll('tbody .number')].map(number),
    total: foot === null ? null : number(foot),
  };
})`;
