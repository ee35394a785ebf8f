/** `portolan demo` as a newcomer runs it: no network, no site, one command. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { prose } from '../../src/cli/demo/prose.ts';
import { serveDemo } from '../../src/cli/demo/server.ts';
import { SERVED } from '../../src/cli/demo/site.ts';
import { capture, portolan, start } from '../support/process.ts';

interface Result {
  readonly report: {
    readonly reason: string;
    readonly unaccounted: number;
    readonly queued: number;
    readonly rejected: Readonly<Record<string, number>>;
  };
  readonly lessons: readonly { readonly name: string; readonly url: string; readonly ended: string; readonly facts: string }[];
  readonly hosts: Readonly<
    Record<string, { readonly requests: number; readonly atOnceMax: number; readonly pausesMs?: readonly [number, number] }>
  >;
}

/** What each thing of the small web must end as. */
const ENDINGS: Readonly<Record<string, string>> = {
  ...{
    'a page': 'ok',
    'robots.txt': 'robots-disallowed',
    'its exception': 'ok',
    redirect: 'redirect',
    'redirect in circles': 'redirect-loop',
  },
  ...{ 'exact copy': 'ok', 'near copy': 'ok', 'missing page': 'not-found', 'server error': 'server-error', 'no answer': 'timeout' },
  ...{
    'long page': 'truncated',
    'other type': 'unwanted-type',
    'broken coding': 'decode-error',
    nofollow: 'ok',
    '429': 'ok',
    'slow host': 'ok',
  },
  ...{ 'dead host': 'host-retired', 'private address': 'forbidden-address' },
};
const REJECTED = [
  ...['invalid-url', 'nofollow', 'not-http', 'out-of-scope', 'redirect-loop', 'too-many-parameters', 'trap-calendar'],
  ...['trap-facets', 'trap-repeating-path', 'url-too-long'],
];

describe('portolan demo', { concurrency: false }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-demo-'));
  const out = join(dir, 'portolan-demo');
  after(() => rmSync(dir, { recursive: true, force: true }));
  const run = (...args: readonly string[]) => {
    const { command, args: all } = portolan(...args);
    return capture(command, all, { cwd: dir });
  };

  test('it crawls its own web to the end, shows what became of each thing in it, and proposes commands that work', async () => {
    const { code, stdout, stderr } = await run('demo');
    assert.equal(code, 0, stderr);
    assert.match(stderr, /nothing leaves this machine/);
    for (const [name, ending] of Object.entries(ENDINGS)) assert.match(stdout, new RegExp(`^ {2}${name} +\\S+ +${ending}\\b`, 'm'));
    assert.doesNotMatch(stdout, /not met|undefined|NaN/);
    assert.match(stdout, /^ {2}unaccounted: 0$/m);
    const proposed = [...stdout.matchAll(/^ {2}portolan (.+?) {2}/gm)].map(([, command = '']) => command);
    assert.ok(proposed.length >= 1, stdout);
    for (const command of proposed) {
      const end = await run(...command.split(' '));
      assert.equal(end.code, 0, `portolan ${command}: ${end.stderr}`);
      assert.notEqual(end.stdout, '', command);
    }
    assert.equal((await run('status', 'portolan-demo', '--recount')).code, 0);
  });

  test('run again it begins anew; as JSON it gives every result, and the servers saw a polite crawler', async () => {
    const before = readFileSync(join(out, 'crawl.json'), 'utf8');
    const { code, stdout, stderr } = await run('demo', '--json');
    assert.deepEqual([code, stderr], [0, '']);
    assert.notEqual(readFileSync(join(out, 'crawl.json'), 'utf8'), before);
    const { report, lessons, hosts } = JSON.parse(stdout) as Result;
    assert.deepEqual([report.reason, report.unaccounted, report.queued], ['finished', 0, 0]);
    assert.deepEqual(Object.fromEntries(lessons.map(({ name, ended }) => [name, ended])), ENDINGS);
    const facts = (name: string): string => lessons.find((lesson) => lesson.name === name)?.facts ?? '';
    assert.equal(facts('robots.txt'), 'line 3: Disallow: /private/');
    assert.equal(facts('exact copy'), 'of /notices/tide-table');
    assert.equal(facts('near copy'), 'of /notices/storm');
    assert.deepEqual(
      Object.keys(report.rejected)
        .filter((reason) => report.rejected[reason]! > 0)
        .sort(),
      REJECTED,
    );
    assert.deepEqual(Object.keys(hosts).sort(), ['charts.harbour.test', 'ferry.harbour.test', 'market.harbour.test', 'www.harbour.test']);
    for (const [host, { atOnceMax, pausesMs }] of Object.entries(hosts)) {
      assert.equal(atOnceMax, 1, `${host}: requests at once`);
      const owed = host.startsWith('charts') ? 150 : 15;
      assert.ok(pausesMs![0] >= owed, `${host}: a pause of ${pausesMs![0]} ms, ${owed} are owed`);
    }
  });

  test('a directory that no demo made is not touched', async () => {
    const mine = join(dir, 'mine');
    mkdirSync(mine);
    writeFileSync(join(mine, 'thesis.txt'), 'years of work');
    const { code, stderr } = await run('demo', mine);
    assert.equal(code, 2);
    assert.match(stderr, /PORTOLAN_USAGE_INVALID: the demo does not touch .*mine: it holds something that no demo made/);
    assert.deepEqual(readdirSync(mine), ['thesis.txt']);
    writeFileSync(join(dir, 'file'), '');
    assert.equal((await run('demo', join(dir, 'file'))).code, 2);
  });

  test('--serve goes on serving, with a command that crawls the small web, until Ctrl-C', async () => {
    const lines: string[] = [];
    const { promise, resolve } = Promise.withResolvers<string>();
    const { command, args } = portolan('demo', '--serve', 'served');
    const running = start(command, args, {
      cwd: dir,
      onLine: (line) => {
        lines.push(line);
        if (/^ {4}--resolve /.test(line)) resolve(lines.slice(-2).join(' ').replace('\\', ''));
      },
    });
    const proposed = await Promise.race([promise, running.ended.then(() => assert.fail(running.complaints()))]);
    const words = proposed.trim().split(/\s+/).slice(1);
    const crawled = await run(...words, '--max-pages', '3', '--quiet');
    assert.equal(crawled.code, 0, crawled.stderr);
    assert.ok(existsSync(join(dir, 'mine', 'report.json')));
    running.signal('SIGINT');
    assert.equal((await running.ended).code, 0, running.complaints());
  });
});

test('where only 127.0.0.1 can be listened on, every host is served there and told apart by its name', async () => {
  const elsewhere = Object.fromEntries(SERVED.map((name, index) => [name, `192.0.2.${index + 1}`]));
  const server = await serveDemo({ ...elsewhere, 'wreck.harbour.test': '127.83.0.5' });
  try {
    for (const name of SERVED) assert.equal(server.addresses[name], '127.0.0.1');
    assert.equal(server.addresses['wreck.harbour.test'], '127.83.0.5');
    const titles = await Promise.all(SERVED.map((name) => titleOf(name, server.port)));
    assert.deepEqual(titles, ['Harbour', 'Chart 1', 'Crossing 1', 'Market']);
  } finally {
    await server.close();
  }
});

function titleOf(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/', headers: { host: `${host}:${port}` } }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (piece: string) => {
        body += piece;
      });
      response.on('end', () => resolve(/<title>(.*?)<\/title>/.exec(body)?.[1]));
    }).on('error', reject);
  });
}

test('the text of a page is the same each time, and that of two pages is not', () => {
  assert.equal(prose('a', 5), prose('a', 5));
  assert.notEqual(prose('a', 5), prose('b', 5));
  assert.equal(prose('a', 5).match(/\. /g)?.length, 4);
});
