/** The crawler on a real terminal (a pseudo-terminal of `script`): the live view is there while it runs and gone when it ends, however it ends. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { portolan, start } from '../support/process.ts';
import { Terminal } from '../support/terminal.ts';
import { page, type WebServer } from '../support/web-server.ts';
import { scratch, webFor } from './crawl.ts';

const COLUMNS = 100;

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ');

/** Runs the crawl with a terminal of COLUMNS columns as its standard streams; `script` keeps all that was written to it. */
function onTerminal(
  web: WebServer,
  dir: string,
  more: { readonly flags?: readonly string[]; readonly env?: Readonly<Record<string, string>> } = {},
) {
  const flags = '--delay 20ms --delay-factor 0 --allow-net 127.0.0.0/8 --threads 1'.split(' ');
  const resolves = web.resolves().flatMap((pair) => ['--resolve', pair]);
  const { command, args } = portolan(
    'crawl',
    web.origin('one.test'),
    '--out',
    join(dir, 'out'),
    ...flags,
    ...resolves,
    ...(more.flags ?? []),
  );
  const typescript = join(dir, 'typescript');
  const pidFile = join(dir, 'pid');
  const running = start(
    'script',
    ['-qefc', `stty cols ${COLUMNS} rows 40; echo $$ > '${pidFile}'; exec ${quoted([command, ...args])}`, typescript],
    {
      env: { TERM: 'xterm', ...more.env },
    },
  );
  return {
    running,
    pid: () => Number(readFileSync(pidFile, 'utf8')),
    written: () =>
      readFileSync(typescript, 'utf8')
        .replace(/^Script started.*\n/, '')
        .replace(/\nScript done[\s\S]*$/, ''),
  };
}

function shownAfter(written: string): readonly string[] {
  const terminal = new Terminal(COLUMNS);
  terminal.write(written);
  return terminal.shown;
}

const web = (t: Parameters<typeof webFor>[0]): Promise<WebServer> =>
  webFor(t, {
    name: 'one.test',
    address: '127.0.0.1',
    delayMs: 5,
    page: ({ path }) =>
      page(
        path,
        Array.from({ length: 60 }, (_, n) => `/${n}`),
      ),
  });

test('on a terminal the live view is drawn over in place, and at the end only the report stands there', async (t) => {
  const dir = scratch(t);
  const { running, written } = onTerminal(await web(t), dir);
  assert.equal((await running.ended).code, 0);
  const text = written();
  assert.match(text, /limited by/);
  assert.match(text, /\x1b\[\d+A/);
  const shown = shownAfter(text);
  assert.match(shown[0] ?? '', /^The crawl is finished: 61 pages from 1 host/);
  assert.doesNotMatch(shown.join('\n'), /limited by/);
});

test('after Ctrl-C the view goes on until the exchanges have ended, and then it is gone', async (t) => {
  const dir = scratch(t);
  const { running, written, pid } = onTerminal(await web(t), dir, { flags: ['--delay', '200ms'] });
  while (!/limited by/.test(readOr(written))) await new Promise((resolve) => void setTimeout(resolve, 50));
  process.kill(pid(), 'SIGINT');
  await running.ended;
  const shown = shownAfter(written()).join('\n');
  assert.match(shown, /portolan: stopping/);
  assert.match(shown, /Stopped; run the same command again to go on/);
  assert.doesNotMatch(shown, /limited by/);
});

for (const [what, env] of [
  ['a dumb terminal', { TERM: 'dumb' }],
  ['NO_COLOR', { NO_COLOR: '1' }],
] as const) {
  test(`${what} gets no colours`, async (t) => {
    const { running, written } = onTerminal(await web(t), scratch(t), { env });
    assert.equal((await running.ended).code, 0);
    assert.doesNotMatch(written(), what === 'NO_COLOR' ? /\x1b\[\d*m/ : /\x1b/);
    assert.match(written(), /The crawl is finished/);
  });
}

function readOr(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
