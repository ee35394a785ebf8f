/** A bad place to work in (row L1): each trouble is one clear sentence and an exit code, and leaves nothing damaged behind. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { EXIT } from '../../src/cli/exit-codes.ts';
import { capture, portolan } from '../support/process.ts';
import { page, type WebServer } from '../support/web-server.ts';
import { crawl, endings, recount, scratch, webFor } from './crawl.ts';
import { readWarcs } from './warc-files.ts';

const run = (...args: readonly string[]) => {
  const { command, args: all } = portolan(...args);
  return capture(command, all);
};

/** Pages of 100 KB that do not compress. */
const HEAVY_PAGES = 160;
const heavy = (path: string): string => {
  let x = 1 + (Number(path.slice(1)) || 0);
  let text = '';
  while (text.length < 100_000) {
    x = Math.imul(x, 48_271) & 0x7fffffff;
    text += (x >>> 0).toString(36) + ((x >> 3) % 7 === 0 ? ' ' : '');
  }
  return text;
};

function heavyWeb(t: { after: (fn: () => unknown) => void }, name: string, address: string): Promise<WebServer> {
  return webFor(t, {
    name,
    address,
    page: ({ path }) =>
      path === '/'
        ? page(
            'home',
            Array.from({ length: HEAVY_PAGES }, (_, at) => `/${at}`),
          )
        : page(path, [], heavy(path)),
  });
}

const MAY_MOUNT: boolean = ((): boolean => {
  if (process.getuid?.() !== 0) return false;
  const dir = mkdtempSync(join(tmpdir(), 'portolan-it-may-mount-'));
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', dir]).status === 0;
  if (mounted) execFileSync('umount', [dir]);
  rmdirSync(dir);
  return mounted;
})();
const NEEDS_MOUNT = { skip: !MAY_MOUNT && 'SKIPPED: a small tmpfs must be mounted, which needs root on Linux' };

/** A small file system of its own, gone with the test (one hook: what is mounted cannot be removed). */
function mountTmpfs(t: { after: (fn: () => unknown) => void }, options: string): string {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-it-mount-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', dir]);
  t.after(() => {
    execFileSync('umount', ['--lazy', dir]);
    rmdirSync(dir);
  });
  return dir;
}
const remount = (dir: string, options: string): void => void execFileSync('mount', ['-o', `remount,${options}`, dir]);

describe('a bad place to work in', () => {
  test('R-L1: an --out that cannot be a directory is named, with exit code 4', async (t) => {
    const dir = scratch(t);
    writeFileSync(join(dir, 'file'), '');
    const { code, stderr } = await run('crawl', 'http://127.0.0.1:1/', '--out', join(dir, 'file', 'out'));
    assert.equal(code, EXIT.disk, stderr);
    assert.match(stderr, /PORTOLAN_DISK_\w+: .*file\/out.*\n {2}what to do: .*--out/);
    assert.ok(!/ {4}at /.test(stderr), 'no stack trace');
  });

  test('R-L1: a read-only directory is named, with exit code 4', {
    skip: process.getuid?.() === 0 && !MAY_MOUNT && 'SKIPPED: root writes everywhere',
  }, async (t) => {
    const dir = MAY_MOUNT ? mountTmpfs(t, 'size=1m,ro') : scratch(t);
    if (!MAY_MOUNT) chmodSync(dir, 0o555);
    const { code, stderr } = await run('crawl', 'http://127.0.0.1:1/', '--out', join(dir, 'out'));
    assert.equal(code, EXIT.disk, stderr);
    assert.match(stderr, /PORTOLAN_DISK_READ_ONLY: .*\/out.*\n {2}what to do: /);
  });

  test('R-L2: a second process on the same directory is refused, and the first one goes on', async (t) => {
    const out = join(scratch(t), 'out');
    const web = await webFor(t, {
      name: 'taken.test',
      address: '127.49.1.1',
      page: ({ path }) => page(path, path === '/' ? Array.from({ length: 12 }, (_, at) => `/${at}`) : []),
    });
    const options = { web, out, seeds: [`${web.origin('taken.test')}/`] };
    let second: Promise<unknown> | undefined;
    const done = await crawl({
      ...options,
      config: { politeness: { delay: 300 } },
      onEvent: () => {
        if (second !== undefined || web.log.pages().length < 2) return;
        second = crawl({ ...options, code: EXIT.state, recount: false }).then((refused) => {
          assert.match(refused.stderr, /PORTOLAN_STATE_LOCKED: another process is crawling into .*\n {2}what to do: /);
        });
      },
    });
    assert.ok(second !== undefined);
    await second;
    assert.deepEqual([done.report.reason, done.report.pages], ['finished', 13]);
    assert.deepEqual([...web.log.repeats().keys()], []);
  });

  test(
    'R-L1: a full disk ends the run with exit code 4 and no damage; with more space the same command finishes',
    NEEDS_MOUNT,
    async (t) => {
      const dir = mountTmpfs(t, 'size=9m');
      const web = await heavyWeb(t, 'full.test', '127.49.2.1');
      const options = {
        web,
        out: join(dir, 'out'),
        seeds: [`${web.origin('full.test')}/`],
        config: { politeness: { delay: 0 }, output: { reserve: 0 } },
      };
      const full = await crawl({ ...options, code: EXIT.disk });
      assert.match(full.stderr, /PORTOLAN_DISK_FULL: .*\n {2}what to do: .*space/);
      assert.ok(!/ {4}at /.test(full.stderr), full.stderr);
      const fetchedFirst = web.log.pages().length;
      assert.ok(fetchedFirst < HEAVY_PAGES, 'the disk was full before the end');
      // Still full: the same sentence again, and still no damage.
      const again = await crawl({ ...options, code: EXIT.disk });
      assert.match(again.stderr, /PORTOLAN_DISK_FULL/);
      remount(dir, 'size=80m');
      const done = await crawl(options);
      assert.deepEqual([done.report.reason, done.report.fetched], ['finished', { ok: HEAVY_PAGES + 1 }]);
      const responses = (await readWarcs(options.out)).filter((record) => record.type === 'response');
      assert.equal(new Set(responses.map((record) => record.url)).size, HEAVY_PAGES + 1);
      assert.equal(responses.length, HEAVY_PAGES + 1, 'each page is stored once');
      assert.equal(done.rows.length, HEAVY_PAGES + 1);
    },
  );

  test('R-L1: free space under the reserve pauses the crawl, which goes on by itself when there is space', NEEDS_MOUNT, async (t) => {
    const dir = mountTmpfs(t, 'size=24m');
    const web = await heavyWeb(t, 'low.test', '127.49.3.1');
    let requestsAtPause = 0;
    const done = await crawl({
      web,
      out: join(dir, 'out'),
      seeds: [`${web.origin('low.test')}/`],
      config: { politeness: { delay: 15 }, output: { reserve: '16MiB' }, run: { commitInterval: 200 } },
      onEvent: (event) => {
        if (event.event !== 'notice' || requestsAtPause > 0 || !String(event['text']).includes('reserve')) return;
        requestsAtPause = web.log.pages().length;
        setTimeout(() => {
          assert.ok(web.log.pages().length <= requestsAtPause + 20, `${web.log.pages().length} requests, ${requestsAtPause} at the pause`);
          remount(dir, 'size=80m');
        }, 1_500);
      },
    });
    assert.ok(requestsAtPause > 0 && requestsAtPause < HEAVY_PAGES, `paused after ${requestsAtPause} requests`);
    assert.ok(done.notices.some((text) => text.includes('there is space again')));
    assert.deepEqual([done.report.reason, done.report.fetched], ['finished', { ok: HEAVY_PAGES + 1 }]);
    assert.deepEqual([...web.log.repeats().keys()], []);
  });

  test('R-L3: status of a directory without a crawl says so, with exit code 3', async (t) => {
    const dir = scratch(t);
    const { code, stderr } = await run('status', join(dir, 'nothing'), '--recount');
    assert.equal(code, EXIT.state, stderr);
    assert.match(stderr, /PORTOLAN_STATE_MISSING/);
    assert.ok(!existsSync(join(dir, 'nothing')), 'asking creates nothing');
  });
});

describe('mistakes on the command line', () => {
  const mistakes: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['an unknown flag', ['crawl', 'http://a.test/', '--max-page', '3'], /unknown option '--max-page'.*\n?.*--max-pages/],
    ['an unknown verb', ['crawll'], /unknown command 'crawll'/],
    ['a choice that is none', ['crawl', 'http://a.test/', '--scope', 'planet'], /--scope.*planet.*host.*domain.*prefix.*web/],
    ['a number that is none', ['crawl', 'http://a.test/', '--max-pages', 'many'], /--max-pages takes a number, not "many"/],
    ['a duration that is none', ['crawl', 'http://a.test/', '--delay', '1 fortnight'], /--delay: "1 fortnight" is not a duration/],
    ['a size that is none', ['crawl', 'http://a.test/', '--max-body', 'huge'], /--max-body: "huge" is not a size/],
    [
      'a pattern that does not compile',
      ['crawl', 'http://a.test/', '--include', '(open'],
      /PORTOLAN_CONFIG_INVALID: .*scope\.include.*\(open/,
    ],
    ['a range that is none', ['crawl', 'http://a.test/', '--allow-net', '10.0.0.0/99'], /10\.0\.0\.0\/99/],
    ['a name without an address', ['crawl', 'http://a.test/', '--resolve', 'a.test'], /"a\.test" is not HOST:ADDR/],
    ['a switch that is neither on nor off', ['crawl', 'http://a.test/', '--warc', 'maybe'], /--warc takes on or off, not "maybe"/],
    [
      'a broad crawl without a contact',
      ['crawl', 'http://a.test/', '--scope', 'web'],
      /contact for webmasters.*\n {2}what to do: .*--contact/,
    ],
    ['no seed at all', ['crawl'], /PORTOLAN_SEED_NONE: there is nothing to start from/],
    ['a seed that cannot be crawled', ['crawl', 'ftp://a.test/'], /PORTOLAN_SEED_INVALID: seed "ftp:\/\/a\.test\/".*only http and https/],
    [
      'a blocklist that is not there',
      ['crawl', 'http://a.test/', '--blocklist', 'missing.txt'],
      /PORTOLAN_BLOCKLIST_INVALID: the blocklist missing\.txt cannot be read/,
    ],
    [
      'a configuration file that is not there',
      ['crawl', 'http://a.test/', '--config', 'missing.yaml'],
      /PORTOLAN_CONFIG_UNREADABLE: missing\.yaml/,
    ],
  ];

  for (const [what, args, message] of mistakes) {
    test(`R-A3: ${what} is said in one sentence, with exit code 2 and nothing written`, async (t) => {
      const dir = scratch(t);
      const { command, args: all } = portolan(...args);
      const { code, stderr } = await capture(command, all, { cwd: dir });
      assert.match(stderr, message);
      assert.equal(code, EXIT.usage, stderr);
      assert.ok(!/ {4}at /.test(stderr), `no stack trace: ${stderr}`);
      assert.ok(!existsSync(join(dir, 'portolan-out')), 'nothing is written');
    });
  }

  test('R-A3: an unknown key names the nearest right one, a bad seed its line, a bad blocklist entry its line', async (t) => {
    const dir = scratch(t);
    const file = (name: string, text: string): string => {
      writeFileSync(join(dir, name), text);
      return join(dir, name);
    };
    const out = ['--out', join(dir, 'out')];
    const key = await run('crawl', 'http://a.test/', ...out, '--config', file('bad.yaml', 'politeness:\n  dely: 2s\n'));
    assert.match(
      key.stderr,
      /PORTOLAN_CONFIG_UNKNOWN_KEY: .*bad\.yaml:2: unknown key "politeness\.dely" \(did you mean "politeness\.delay"\?\)/,
    );
    const seed = await run('crawl', ...out, '--seeds', file('seeds.txt', '# seeds\nhttp://a.test/\n\nhttp://[broken\n'));
    assert.match(seed.stderr, /PORTOLAN_SEED_INVALID: .*seeds\.txt:4: /);
    const entry = await run('crawl', 'http://a.test/', ...out, '--blocklist', file('block.txt', 'good.test\nbad host\n'));
    assert.match(entry.stderr, /PORTOLAN_BLOCKLIST_INVALID: .*block\.txt, line 2: "bad host"/);
    assert.deepEqual([key.code, seed.code, entry.code], [2, 2, 2]);
    assert.ok(!existsSync(join(dir, 'out')));
  });

  test('R-A2: seeds come from arguments, from a file with comments, and from the configuration', async (t) => {
    const dir = scratch(t);
    const web = await webFor(t, { name: 'seeds.test', address: '127.49.4.1', page: ({ path }) => page(path) });
    const origin = web.origin('seeds.test');
    writeFileSync(join(dir, 'seeds.txt'), `# two\n${origin}/file\n\n  ${origin}/spaces  \n${origin}/file\n`);
    const done = await crawl({ web, out: join(dir, 'out'), seeds: [`${origin}/argument`], flags: ['--seeds', join(dir, 'seeds.txt')] });
    assert.deepEqual(endings(done.rows), Object.fromEntries(['/argument', '/file', '/spaces'].map((path) => [origin + path, 'ok'])));
    assert.deepEqual([done.report.found, done.report.known], [4, 1]);
    await recount(join(dir, 'out'));
  });
});
