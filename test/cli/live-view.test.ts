/** What a crawl shows while it runs, looked at on a small terminal that keeps what a real one would show. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cut, LiveBlock, liveLines, plainLine } from '../../src/cli/live-view.ts';
import { createProgress, DRAW_EVERY_MS, LINE_EVERY_MS, type ProgressMode, type ProgressTarget } from '../../src/cli/progress.ts';
import type { CrawlView } from '../../src/engine/watch.ts';
import { Terminal } from '../support/terminal.ts';
import { VIEW } from './views.ts';

function on(
  terminal: Terminal,
  mode: ProgressMode = 'human',
  env: Readonly<Record<string, string>> = { TERM: 'xterm' },
  isTerminal = true,
) {
  const clock = { ms: 1_000_000 };
  const emitted: string[] = [];
  const target: ProgressTarget = {
    screen: { write: (text) => terminal.write(text), columns: () => terminal.columns, rows: () => terminal.rows },
    isTerminal,
    env,
    nowMs: () => clock.ms,
    nowEpochMs: () => 1_700_000_000_000 + clock.ms,
    emit: (line) => emitted.push(line),
  };
  const progress = createProgress(mode, target);
  const step = (view: CrawlView = VIEW, ms = DRAW_EVERY_MS): void => {
    clock.ms += ms;
    progress.progress([], view);
  };
  return { progress, emitted, step };
}

describe('the live view', () => {
  test('it says pages, pace, queue, exchanges against the ceiling, bytes, errors by kind, the constraint and the time left', () => {
    const text = liveLines(VIEW, 100).join('\n');
    for (const part of [
      '12,345 pages',
      '48.2 pages/s',
      '4,210 URLs',
      '32 of 256',
      '57 of 812 hosts',
      '312 MB',
      '38: not-found 30, timeout 8',
      'limited by   too few hosts: 57 have URLs, each in its pause',
      'about 1 min 27 s until the queue is empty',
    ])
      assert.ok(text.includes(part), `${part} is in\n${text}`);
    assert.doesNotMatch(text, /unaccounted/);
  });

  test('URLs that are unaccounted for are said', () => {
    const view = { ...VIEW, all: { ...VIEW.all, unaccounted: 3 } };
    assert.match(liveLines(view, 100).join('\n'), /WARNING +3 URLs are unaccounted for/);
  });

  for (const columns of [20, 40, 72, 80, 200]) {
    test(`frames of a terminal of ${columns} columns replace one another, each with one write, and leave nothing behind`, () => {
      const terminal = new Terminal(columns);
      const { progress, step } = on(terminal);
      for (let n = 0; n < 5; n++) step({ ...VIEW, constraintWords: n % 2 === 0 ? VIEW.constraintWords : 'DNS', pages: n });
      assert.equal(terminal.writes, 5);
      assert.deepEqual(
        terminal.shown,
        liveLines({ ...VIEW, pages: 4 }, columns).map((line) => cut(line, columns - 1)),
      );
      assert.equal(terminal.column, 0);
      progress.end();
      assert.deepEqual([terminal.shown, terminal.row, terminal.column], [[], 0, 0]);
    });
  }

  test('a notice scrolls by above it', () => {
    const terminal = new Terminal(100);
    const { progress, step } = on(terminal);
    step();
    progress.notice(0, 'one.test is closed');
    progress.notice(0, 'two.test is closed');
    assert.deepEqual(terminal.shown, ['portolan: one.test is closed', 'portolan: two.test is closed', ...liveLines(VIEW, 100)]);
    progress.end();
    assert.deepEqual(terminal.shown, ['portolan: one.test is closed', 'portolan: two.test is closed']);
    progress.notice(0, 'after the end');
    assert.deepEqual(terminal.shown.at(-1), 'portolan: after the end');
  });

  test('a terminal made narrower, which wraps what was drawn, is drawn over all the same', () => {
    const terminal = new Terminal(200);
    const { progress, step } = on(terminal);
    step();
    const wrapped = terminal.lines.flatMap((line) => (line === '' ? [''] : (line.match(/.{1,60}/g) ?? [''])));
    terminal.lines = wrapped;
    terminal.row = wrapped.length - 1;
    terminal.columns = 60;
    step();
    assert.deepEqual(
      terminal.shown,
      liveLines(VIEW, 60).map((line) => cut(line, 59)),
    );
    progress.end();
    assert.deepEqual(terminal.shown, []);
  });

  test('on a low terminal the most important lines stay', () => {
    const terminal = new Terminal(100);
    terminal.rows = 3;
    on(terminal).step();
    assert.deepEqual(terminal.shown, liveLines(VIEW, 100).slice(0, 2));
  });

  test('the cursor is never hidden, so that no end has to give it back', () => {
    const terminal = new Terminal(100);
    const { progress, step } = on(terminal);
    step();
    progress.notice(0, 'x');
    progress.end();
    assert.doesNotMatch(terminal.written, /\x1b\[\?/);
  });

  test('NO_COLOR takes the colours away and nothing else', () => {
    const plain = new Terminal(100);
    on(plain, 'human', { TERM: 'xterm', NO_COLOR: '1' }).step();
    const coloured = new Terminal(100);
    on(coloured).step();
    assert.match(coloured.written, /\x1b\[1m/);
    assert.doesNotMatch(plain.written, /\x1b\[\d*m/);
    assert.deepEqual(plain.shown, coloured.shown);
  });

  test('text from the web cannot move the cursor', () => {
    const terminal = new Terminal(200);
    const screen = { write: (text: string) => terminal.write(text), columns: () => 200, rows: () => 24 };
    new LiveBlock(screen, false).say('evil\x1b[2J\x1b]0;title\x07\r\nhost\u009b31m');
    assert.deepEqual(terminal.shown, ['evil [2J ]0;title   host 31m']);
  });

  for (const [what, env, isTerminal] of [
    ['a file', { TERM: 'xterm' }, false],
    ['a dumb terminal', { TERM: 'dumb' }, true],
    ['a terminal of no kind', {}, true],
  ] as const) {
    test(`${what} gets one plain line every ten seconds`, () => {
      const terminal = new Terminal(400);
      const { progress, step } = on(terminal, 'human', env, isTerminal);
      for (let ms = 0; ms < 3 * LINE_EVERY_MS; ms += 250) step(VIEW, 250);
      progress.end();
      assert.doesNotMatch(terminal.written, /\x1b|\r/);
      assert.deepEqual(terminal.shown, [plainLine(VIEW), plainLine(VIEW), plainLine(VIEW)]);
    });
  }

  test('quiet says nothing', () => {
    const terminal = new Terminal(100);
    const { progress, step } = on(terminal, 'quiet');
    step();
    progress.notice(0, 'x');
    progress.end();
    assert.equal(terminal.written, '');
  });
});

describe('events for machines', () => {
  test('each is one JSON object with its name and time', () => {
    const terminal = new Terminal(100);
    const { progress, emitted, step } = on(terminal, 'json');
    progress.committed(2, 7, 31);
    progress.rotated?.(2, 'warc/a.warc.gz');
    progress.notice(-1, 'a\nb');
    step();
    const events = emitted.map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(
      events.map(({ event }) => event),
      ['commit', 'rotate', 'notice', 'progress'],
    );
    for (const event of events) assert.ok(Number(event['atMs']) > 1_700_000_000_000);
    assert.ok(emitted.every((line) => !line.includes('\n')));
    assert.equal(terminal.written, '');
    const last = events[3]!;
    assert.deepEqual(
      [last['pages'], last['queued'], last['constraint'], last['etaMs'], last['etaEnd'], last['ceiling']],
      [12_345, 4_210, 'too-few-hosts', 87_000, 'queue', 256],
    );
  });

  test('numbers that are none are null, never left out', () => {
    const { emitted, step } = on(new Terminal(100), 'json');
    step({ ...VIEW, nextFetchMs: Number.POSITIVE_INFINITY, eta: { kind: 'none', why: 'growing' } });
    const event = JSON.parse(emitted[0]!) as Record<string, unknown>;
    assert.deepEqual([event['nextFetchMs'], event['etaMs'], event['etaEnd']], [null, null, null]);
  });
});
