/** The parts of report.html: text from the web stays text, plots say in words what they show, numbers are told alike everywhere. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseFragment } from 'parse5';
import { element, escapeHtml, markupOf } from '../../src/cli/html.ts';
import { bytes, count, kinds, pause, printable, rate } from '../../src/cli/numbers.ts';
import { reportJson } from '../../src/cli/report.ts';
import { barTable, curve, niceCeiling, percent, wholeBar } from '../../src/cli/report-plots.ts';

interface Node {
  readonly nodeName: string;
  readonly value?: string;
  readonly attrs?: readonly { readonly name: string; readonly value: string }[];
  readonly childNodes?: readonly Node[];
}

const names = (node: Node): string[] => [node.nodeName, ...(node.childNodes ?? []).flatMap(names)];
const textOf = (node: Node): string => node.value ?? (node.childNodes ?? []).map(textOf).join('');

describe('markup', () => {
  test('whatever a host is called, its name is text and its element the only one', () => {
    const hostile = fc.oneof(
      fc.string(),
      fc.constantFrom('</td><script>x</script>', '"><img src=x onerror=y>', '&lt;b&gt;', '<!--', ']]>', "' x='"),
    );
    fc.assert(
      fc.property(hostile, hostile, (text, attribute) => {
        const fragment = parseFragment(markupOf(element('p', { title: attribute }, text))) as unknown as Node;
        assert.deepEqual(
          names(fragment).filter((name) => name !== '#text'),
          ['#document-fragment', 'p'],
        );
        const clean = (value: string): string =>
          value.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
        assert.equal(textOf(fragment), clean(text));
        assert.equal(fragment.childNodes?.[0]?.attrs?.[0]?.value, clean(attribute));
      }),
      { numRuns: 1_000 },
    );
  });

  test('characters that turn the direction of text round are not let through', () => {
    assert.equal(escapeHtml('a\u202egnp.exe\u2066b'), 'a\ufffdgnp.exe\ufffdb');
  });
});

describe('plots', () => {
  test('a table of bars has the numbers as text and their sum, and its bars are hidden from who listens', () => {
    const markup = markupOf(
      barTable({
        caption: 'Outcomes',
        headings: ['Outcome', 'URLs'],
        bars: [
          { label: 'ok', n: 1_200 },
          { label: '<x>', n: 3 },
        ],
        empty: '',
        total: 'all',
      }),
    );
    const text = textOf(parseFragment(markup) as unknown as Node);
    for (const part of ['Outcomes', 'ok', '1,200', '<x>', 'all', '1,203']) assert.ok(text.includes(part), part);
    assert.equal(markup.match(/<svg/g)?.length, markup.match(/aria-hidden="true"><svg/g)?.length);
  });

  test('nothing to show is said in words', () => {
    assert.equal(
      textOf(parseFragment(markupOf(barTable({ caption: 'Drops', headings: ['', ''], bars: [], empty: 'none.' }))) as unknown as Node),
      'Drops: none.',
    );
  });

  test('parts of a whole are told in words with their shares', () => {
    const markup = markupOf(
      wholeBar('URLs', [
        { label: 'fetched', n: 3 },
        { label: 'queued', n: 1 },
        { label: 'dropped', n: 0 },
      ]),
    );
    assert.match(markup, /role="img" aria-label="URLs: fetched 3 \(75 %\), queued 1 \(25 %\), dropped 0 \(0 %\)"/);
  });

  test('a curve keeps within its frame and has no broken number', () => {
    const points = fc.array(
      fc.record({ x: fc.double({ min: 0, max: 1e9, noNaN: true }), y: fc.double({ min: 0, max: 1e15, noNaN: true }) }),
    );
    fc.assert(
      fc.property(points, (unsorted) => {
        const sorted = [...unsorted].sort((a, b) => a.x - b.x);
        const xMax = sorted.at(-1)?.x ?? 0;
        const plot = curve({ title: 't', words: 'w', points: sorted, xMax, formatX: String, formatY: String, tone: 'plain' });
        const { markup } = plot;
        assert.doesNotMatch(markup, /NaN|Infinity/);
        for (const [, x, y] of markup.matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)) {
          assert.ok(Number(x) >= 0 && Number(x) <= 600, x);
          assert.ok(Number(y) >= 0 && Number(y) <= 160, y);
        }
      }),
    );
  });

  test('an axis ends at a round number that holds all values', () => {
    assert.deepEqual([0, 0.3, 1, 3, 7, 12, 4_100].map(niceCeiling), [1, 1, 1, 4, 10, 20, 5_000]);
  });

  test('a share is 0 or 100 per cent only when it is', () => {
    assert.deepEqual(
      [percent(0, 0), percent(0, 5), percent(1, 5_000), percent(1, 3), percent(4_999_999, 5_000_000), percent(5, 5)],
      ['0 %', '0 %', 'under 0.1 %', '33 %', '99.9 %', '100 %'],
    );
  });
});

describe('numbers', () => {
  test('they are short and keep their unit', () => {
    assert.deepEqual([0, 999, 1_000, 12_345, 312_400_000, 5e15].map(bytes), ['0 B', '999 B', '1.0 kB', '12.3 kB', '312 MB', '5.0 PB']);
    assert.deepEqual([0, 700, 1_000, 1_540, 90_000].map(pause), ['0 ms', '700 ms', '1 s', '1.5 s', '90 s']);
    assert.deepEqual([count(1_234_567), rate(0), rate(48.23), rate(312.7)], ['1,234,567', '0.0', '48.2', '313']);
  });

  test('kinds are told most frequent first, and what is left out is counted', () => {
    assert.equal(kinds({ a: 1, b: 1_000, c: 0, d: 2 }), 'b 1,000, d 2, a 1');
    assert.equal(kinds({ a: 1, b: 3, d: 2 }, 1), 'b 3, and 2 more kinds');
  });

  test('text for a terminal has no control character', () => {
    assert.equal(printable('a\x1b[2Jb\r\n\u009bc'), 'a [2Jb   c');
  });

  test('report.json stays the same JSON with its number arrays on one line', () => {
    const value = { a: [1, -2.5, 3e21], b: [[1, 2], [3]], c: [], d: ['x'], e: { f: 'a [ 1, 2 ] b' } };
    const text = reportJson(value as never);
    assert.deepEqual(JSON.parse(text), value);
    assert.match(text, /"a": \[1, -2\.5, 3e\+21\]/);
  });
});
