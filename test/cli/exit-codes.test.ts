/**
 * The program as scripts meet it: exit codes, what goes to standard output and what to standard error, resuming. Real processes, real sockets.
 * The tests run one after the other, and some go on with the directory of the one before: a process costs a second.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import Database from 'better-sqlite3';
import { VERSION } from '../../src/version.ts';
import { capture, portolan, type RunningProcess, start } from '../support/process.ts';
import { page, startWebServer, type WebServer } from '../support/web-server.ts';

const NAMES = ['one.test:127.0.0.1', 'slow.test:127.0.0.2', 'stuck.test:127.0.0.3'].flatMap((pair) => ['--resolve', pair]);
const QUICK = [...'--threads 1 --delay 5ms --delay-factor 0 --allow-net 127.0.0.0/8'.split(' '), ...NAMES];
const SLOW_PAGES = 100;

interface Report {
  readonly reason: string;
  readonly finished: boolean;
  readonly unaccounted: number;
  readonly pages: number;
  readonly queued: number;
}

describe('the program', { concurrency: false }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-cli-'));
  let web: WebServer;

  before(async () => {
    web = await startWebServer({
      hosts: [
        {
          name: 'one.test',
          address: '127.0.0.1',
          page: ({ path }) => (path === '/' ? page('home', ['/a', '/b', '/c']) : /^\/[abc]$/.test(path) ? page(path, ['/']) : undefined),
        },
        {
          name: 'slow.test',
          address: '127.0.0.2',
          page: ({ path }) =>
            page(
              path,
              Array.from({ length: SLOW_PAGES - 1 }, (_, n) => `/${n}`),
            ),
          delayMs: 20,
        },
        {
          name: 'stuck.test',
          address: '127.0.0.3',
          page: ({ path }) => (path === '/' ? page('home', ['/stuck']) : { fault: { kind: 'stall' } }),
        },
      ],
    });
  });
  after(async () => {
    await web.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const out = (name: string): string => join(dir, name);
  const reportOf = (name: string): Report => JSON.parse(readFileSync(join(out(name), 'report.json'), 'utf8')) as Report;
  const run = (...args: readonly string[]) => {
    const { command, args: all } = portolan(...args);
    return capture(command, all);
  };
  const crawl = (host: string, name: string, ...more: readonly string[]) =>
    run('crawl', web.origin(host), '--out', out(name), ...QUICK, ...more);

  /** Starts a crawl and waits for its first commit of a page. */
  async function started(host: string, name: string): Promise<RunningProcess> {
    const { command, args } = portolan('crawl', web.origin(host), '--out', out(name), ...QUICK, '--json');
    const { promise, resolve } = Promise.withResolvers<void>();
    const running = start(command, args, {
      onLine: (line) => {
        const event = JSON.parse(line) as { event: string; pages: number };
        if (event.event === 'commit' && event.pages > 0) resolve();
      },
    });
    await promise;
    return running;
  }

  test('--version and --help end with 0 and say what they must', async () => {
    const version = await run('--version');
    assert.deepEqual([version.code, version.stdout, version.stderr], [0, VERSION, '']);
    const help = await run('crawl', '--help');
    assert.equal(help.code, 0);
    for (const flag of ['--seeds <file>', '--out <dir>', '--scope <mode>', '--resolve <host:addr>', '--near-duplicates <what>', '--force'])
      assert.ok(help.stdout.includes(flag), flag);
    const top = await run('--help');
    for (const verb of ['crawl', 'status']) assert.match(top.stdout, new RegExp(`^ {2}${verb} `, 'm'));
  });

  test('no verb, an unknown verb and an unknown choice end with 2', async () => {
    for (const args of [[], ['frobnicate'], ['crawl', '--scope', 'all']]) {
      const { code, stdout, stderr } = await run(...args);
      assert.equal(code, 2, args.join(' '));
      assert.equal(stdout, '');
      assert.notEqual(stderr, '');
    }
  });

  test('what is wrong with the configuration ends with 2 before anything is made', async () => {
    const cases: readonly (readonly [args: readonly string[], code: string])[] = [
      [[], 'PORTOLAN_SEED_NONE'],
      [['http://one.test/', '--include', '('], 'PORTOLAN_CONFIG_INVALID'],
      [['http://one.test/', '--resolve', 'one.test'], 'PORTOLAN_CONFIG_INVALID'],
      [['http://one.test/', '--dns', 'nameserver'], 'PORTOLAN_CONFIG_INVALID'],
      [['http://one.test/', '--blocklist', out('no-list')], 'PORTOLAN_BLOCKLIST_INVALID'],
    ];
    for (const [args, code] of cases) {
      const end = await run('crawl', ...args, '--out', out('nothing'));
      assert.equal(end.code, 2, `${args.join(' ')}: ${end.stderr}`);
      assert.match(end.stderr, new RegExp(`^portolan: ${code}: .+\n  what to do: .+\n$`));
      assert.throws(() => readFileSync(join(out('nothing'), 'crawl.json')), { code: 'ENOENT' }, args.join(' '));
    }
  });

  test('R-L2 a crawl ends with 0, and the same command again does nothing', async () => {
    const first = await crawl('one.test', 'one');
    assert.equal(first.code, 0, first.stderr);
    assert.equal(first.stdout, '');
    assert.match(first.stderr, /The crawl is finished/);
    assert.deepEqual([reportOf('one').reason, reportOf('one').pages, reportOf('one').unaccounted], ['finished', 4, 0]);
    await web.idle();
    const requests = web.log.entries().length;
    const again = await crawl('one.test', 'one', '--quiet');
    assert.deepEqual([again.code, again.stdout, again.stderr], [0, '', '']);
    assert.equal(web.log.entries().length, requests, 'a finished crawl asks for nothing');
    assert.deepEqual([reportOf('one').pages, reportOf('one').unaccounted], [4, 0]);
  });

  test('a crawl goes on only with its own rules, or with --force, and remembers its seeds', async () => {
    const other = await crawl('one.test', 'one', '--exclude', '/b$');
    assert.equal(other.code, 3);
    assert.match(other.stderr, /PORTOLAN_STATE_MISMATCH: .*exclude was "", is "\/b\$"/);
    const forced = await crawl('one.test', 'one', '--exclude', '/b$', '--force');
    assert.equal(forced.code, 0, forced.stderr);
    const withoutSeeds = await run('crawl', '--out', out('one'), '--exclude', '/b$');
    assert.equal(withoutSeeds.code, 0, withoutSeeds.stderr);
  });

  test('a URL that is lost from the state ends status --recount with 5, and says which count', async () => {
    assert.equal((await run('status', out('one'), '--recount')).code, 0);
    let deleted = 0;
    for (let shard = 0; deleted === 0; shard++) {
      const db = new Database(join(out('one'), 'state', `shard-${shard}`, 'state.db'));
      deleted = db.prepare("DELETE FROM page WHERE url LIKE '%/b'").run().changes;
      db.close();
    }
    assert.equal((await run('status', out('one'))).code, 0, 'the stored counts still agree');
    const recount = await run('status', out('one'), '--recount', '--json');
    assert.equal(recount.code, 5);
    const { unaccounted, findings } = JSON.parse(recount.stdout) as { unaccounted: number; findings: string[] };
    assert.ok(unaccounted > 0);
    assert.ok(
      findings.some((finding) => finding.includes('fetched(ok): 4 counted, 3 in rows and outputs')),
      findings.join('\n'),
    );
  });

  test('a page limit ends with 0 and is told; without it the crawl goes on', async () => {
    assert.equal((await crawl('one.test', 'pages', '--max-pages', '2')).code, 0);
    assert.deepEqual([reportOf('pages').reason, reportOf('pages').pages, reportOf('pages').queued], ['page-limit', 2, 2]);
    assert.equal((await crawl('one.test', 'pages', '--max-pages', '4')).code, 0);
    assert.deepEqual([reportOf('pages').pages, reportOf('pages').queued], [4, 0], 'the limit is over all runs');
  });

  test('a time limit ends with 0 and leaves the rest queued', async () => {
    const end = await crawl('slow.test', 'slow', '--max-time', '50ms');
    assert.equal(end.code, 0, end.stderr);
    assert.equal(reportOf('slow').reason, 'time-limit');
    assert.ok(reportOf('slow').queued > 0);
    assert.equal(reportOf('slow').unaccounted, 0);
  });

  test('Ctrl-C ends with 130 and a clean state; --json ends with the report', async () => {
    const running = await started('slow.test', 'slow');
    running.signal('SIGINT');
    assert.equal((await running.ended).code, 130, running.complaints());
    assert.deepEqual([reportOf('slow').reason, reportOf('slow').unaccounted], ['stopped', 0]);
    assert.ok(reportOf('slow').queued > 0);
    const rest = await crawl('slow.test', 'slow', '--json');
    const events = rest.stdout.split('\n').map((line) => JSON.parse(line) as { event: string } & Report);
    assert.deepEqual([rest.code, rest.stderr], [0, '']);
    assert.ok(events.some(({ event }) => event === 'commit'));
    assert.deepEqual([events.at(-1)?.event, events.at(-1)?.finished, events.at(-1)?.pages], ['end', true, SLOW_PAGES]);
  });

  test('a reader that has had enough ends every verb without a word, and a crawl in an orderly way', async () => {
    const cut = async (...args: readonly string[]) => {
      const { command, args: all } = portolan(...args);
      const { stdout, stderr } = await capture('/bin/sh', [
        '-c',
        '{ "$0" "$@"; echo "code $?" >&2; } | { head -c 20; sleep 0.2; }',
        command,
        ...all,
      ]);
      return [stdout.length, stderr];
    };
    for (const args of [
      ['simulate', '--for', '1h', '--hosts', '3', '--json'],
      ['crawl', 'http://one.test/', '--dry-run', '--resolve', 'one.test:127.0.0.1'],
      ['status', out('one'), '--json'],
      ['verify', out('one'), '--json'],
      ['export', out('one'), '--what', 'pages'],
    ]) {
      const [read, said] = await cut(...args);
      assert.equal(read, 20, args.join(' '));
      assert.match(String(said), /^code 0\n?$/, args.join(' '));
    }
    const [, said] = await cut('crawl', web.origin('slow.test'), '--out', out('unread'), ...QUICK, '--json');
    assert.match(String(said), /^code 130\n?$/);
    assert.deepEqual([reportOf('unread').reason, reportOf('unread').unaccounted], ['stopped', 0]);
  });

  test('a crawl of one page is told of in the singular', async () => {
    const told = await run('crawl', `${web.origin('one.test')}/a`, '--out', out('single'), ...QUICK, '--max-depth', '0');
    assert.match(told.stderr, /^The crawl is finished: 1 page from 1 host in /m);
    const html = readFileSync(join(out('single'), 'report.html'), 'utf8').replace(/<[^>]+>/g, ' ');
    const url = `${web.origin('one.test')}/a`;
    const texts = [told.stderr, html];
    for (const args of [
      ['status', out('single')],
      ['status', out('single'), '--recount'],
      ['explain', out('single'), url, '--requests'],
      ['verify', out('single')],
      ['verify', out('single'), '--host', new URL(url).host],
      ['retry', out('single'), '--reason', 'timeout'],
      ['crawl', url, '--out', out('single'), ...QUICK, '--max-depth', '0'],
      ['crawl', url, '--out', out('single'), ...QUICK, '--max-depth', '0', '--dry-run'],
    ]) {
      const { stdout, stderr } = await run(...args);
      texts.push(stdout, stderr);
    }
    for (const text of texts) assert.doesNotMatch(text, /(?<![\d.,]|of )\b1 (?!is\b|was\b|has\b)[A-Za-z-]*[^s\W]s\b(?! *[+=])/, text);
  });

  test('a second process on one directory ends with 3; a second Ctrl-C ends the first at once, and nothing is lost', async () => {
    const running = await started('stuck.test', 'locked');
    const second = await crawl('stuck.test', 'locked');
    assert.equal(second.code, 3);
    assert.match(second.stderr, /PORTOLAN_STATE_LOCKED/);
    running.signal('SIGINT');
    running.signal('SIGTERM');
    assert.equal((await running.ended).code, 130);
    const recount = await run('status', out('locked'), '--recount');
    assert.equal(recount.code, 0, recount.stdout);
    assert.match(recount.stdout, /^admitted 2 = queued 1 \+ fetched 1 \+ dropped 0$/m);
  });

  test('a directory of a newer version, a damaged one and a missing one end with 3', async () => {
    assert.equal((await run('status', out('never'))).code, 3);
    mkdirSync(out('newer'));
    writeFileSync(join(out('newer'), 'crawl.json'), '{"format": 99, "shards": 4}');
    for (const end of [await run('status', out('newer')), await crawl('one.test', 'newer')]) {
      assert.equal(end.code, 3);
      assert.match(end.stderr, /PORTOLAN_STATE_NEWER/);
    }
    writeFileSync(join(out('newer'), 'crawl.json'), '{');
    const damaged = await run('status', out('newer'));
    assert.equal(damaged.code, 3);
    assert.match(damaged.stderr, /PORTOLAN_STATE_DAMAGED/);
  });

  test('a directory that cannot be made ends with 4', async () => {
    writeFileSync(out('file'), '');
    const end = await run('crawl', 'http://one.test/', '--out', join(out('file'), 'crawl'));
    assert.equal(end.code, 4, end.stderr);
    assert.match(end.stderr, /PORTOLAN_DISK_FAILED: .*a part of the path is a file/);
  });
});
