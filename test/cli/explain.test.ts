/**
 * `portolan explain` and `status --hosts` over a real crawl that was stopped on the way, and while one runs: each kind of answer, in the words of the documents.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openCrawlDir } from '../../src/cli/crawl-dir.ts';
import { type ExplainFlags, explainUrl } from '../../src/cli/explain.ts';
import { explainJson } from '../../src/cli/explain-text.ts';
import { readWords } from '../../src/cli/explain-words.ts';
import { GAP_RULES } from '../../src/core/host.ts';
import { DROP_REASONS, OUTCOME_NAMES, REJECT_REASONS } from '../../src/core/reasons.ts';
import { capture, portolan, start } from '../support/process.ts';
import { notFound, page, type WebRequest, type WebServer } from '../support/web-server.ts';
import { crawlTwoHosts, LONG } from './two-hosts.ts';

const ROBOTS = '# who may do what\nUser-agent: *\nCrawl-delay: 0.02\nDisallow: /private/\nAllow: /\n';

interface Answer {
  readonly url: string;
  readonly state: string;
  readonly reason?: string;
  readonly meaning?: string;
  readonly key?: string;
  readonly canonical?: string;
  readonly scope?: { readonly allowed: boolean; readonly reason?: string; readonly rule: string };
  readonly robots?: {
    readonly allowed: boolean;
    readonly line: number;
    readonly text: string;
    readonly source: string;
    readonly state: string;
  };
  readonly known?: { readonly state: string; readonly depth?: number };
  readonly outcome?: {
    readonly status: number;
    readonly attempts: number;
    readonly duplicateOf?: string;
    readonly warc?: { readonly file: string };
  };
  readonly dropped?: { readonly reason: string };
  readonly queue?: { readonly place: number; readonly level: number; readonly hostQueued: number; readonly earliest: string };
  readonly nextFetch?: { readonly gapRule: string; readonly gapMs: number; readonly state: string; readonly at: string };
  readonly via?: readonly { readonly url: string; readonly outcome: string }[];
  readonly requests?: readonly { readonly outcome: string; readonly status: number; readonly address: string }[];
  readonly notes: readonly string[];
}

describe('asking a crawl', { concurrency: false }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-explain-'));
  const out = join(dir, 'out');
  let web: WebServer;
  let flags: readonly string[];

  before(async () => {
    const one = {
      robots: ROBOTS,
      page: ({ path, authority }: WebRequest) => {
        if (path === '/')
          return page('home', ['/a', '/copy', '/gone', '/private/x', '/deep/1', `http://two.test:${authority.split(':')[1]}/`]);
        if (path.startsWith('/deep/')) return page(path, Number(path.slice(6)) < 4 ? [`/deep/${Number(path.slice(6)) + 1}`] : []);
        return path === '/a' || path === '/copy' ? page('a', ['/'], LONG) : notFound();
      },
    };
    ({ web, flags } = await crawlTwoHosts(out, one, 60));
  });
  after(async () => {
    await web.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const url = (host: string, path: string): string => `${web.origin(host)}${path}`;
  const run = (...args: readonly string[]) => {
    const { command, args: all } = portolan(...args);
    return capture(command, all);
  };
  /** As `portolan explain … --json` would answer: the last is the URL, the one before it the directory. */
  async function explain(directory: string | undefined, asked: string, more: ExplainFlags = {}): Promise<Answer> {
    return JSON.parse(JSON.stringify(explainJson(await explainInProcess(directory, asked, more), readWords()))) as Answer;
  }

  test('a fetched page: its outcome, of which page it is a copy, where it lies, and the way to it', async () => {
    const answer = await explain(out, `${url('one.test', '/copy')}?utm_source=x#top`);
    assert.deepEqual([answer.state, answer.reason, answer.canonical], ['fetched', 'ok', url('one.test', '/copy')]);
    assert.equal(answer.outcome?.duplicateOf, url('one.test', '/a'));
    assert.match(answer.outcome?.warc?.file ?? '', /^warc\/portolan-s\d-00000\.warc\.gz$/);
    assert.deepEqual(answer.via, [{ url: url('one.test', '/'), outcome: 'ok' }]);
    const deep = await explain(out, url('one.test', '/deep/4'));
    assert.deepEqual(
      deep.via?.map((step) => step.url),
      ['/deep/3', '/deep/2', '/deep/1', '/'].map((path) => url('one.test', path)),
    );
    assert.equal(deep.known?.depth, 4);
  });

  test('R-C1 the next fetch of its host, with the rule that set it', async () => {
    const { nextFetch } = await explain(out, url('one.test', '/a'));
    assert.deepEqual([nextFetch?.gapRule, nextFetch?.gapMs, nextFetch?.state], ['crawl-delay', 20, 'open']);
    assert.equal((await explain(out, url('two.test', '/'))).nextFetch?.gapRule, 'default');
  });

  test('R-D2 a URL that robots.txt forbids: the line, its number and its text', async () => {
    const answer = await explain(out, url('one.test', '/private/x'));
    assert.deepEqual([answer.state, answer.reason], ['dropped', 'robots-disallowed']);
    assert.deepEqual([answer.robots?.allowed, answer.robots?.line, answer.robots?.text], [false, 4, 'Disallow: /private/']);
    const other = await explain(out, url('one.test', '/private/never-seen'));
    assert.deepEqual([other.state, other.reason], ['would be dropped', 'robots-disallowed']);
  });

  test('a broken link: the status and the page it stands on', async () => {
    const answer = await explain(out, url('one.test', '/gone'));
    assert.deepEqual([answer.state, answer.reason, answer.outcome?.status], ['fetched', 'not-found', 404]);
    assert.equal(answer.via?.[0]?.url, url('one.test', '/'));
  });

  test('waiting URLs: each has its place, and together they are the queue', async () => {
    const places: number[] = [];
    let hostQueued = 0;
    const crawl = openCrawlDir(out);
    for (let n = 0; n < 60; n++) {
      const answer = await explainUrl(url('two.test', `/p${n}`), crawl, {}, Date.now());
      if (answer.facts?.queue === undefined) continue;
      places.push(answer.facts.queue.ahead);
      hostQueued = answer.facts.queue.hostQueued;
      assert.equal(answer.verdict.state, 'queued');
    }
    crawl.close();
    assert.ok(places.length > 10, 'the page limit has left some');
    assert.deepEqual(
      places.toSorted((a, b) => a - b),
      places.map((_, n) => n),
    );
    assert.equal(hostQueued, places.length);
  });

  test('what was never admitted: the verdict is computed again and says so; what nothing speaks against was not found yet', async () => {
    const outside = await explain(out, 'http://three.test/x');
    assert.deepEqual([outside.state, outside.reason, outside.scope?.allowed], ['rejected', 'out-of-scope', false]);
    assert.ok(outside.notes.some((note) => note.includes('rejected URLs are not remembered')));
    const trap = await explain(out, url('one.test', '/a/b/a/b/a/b/a/b'));
    assert.deepEqual([trap.state, trap.reason], ['rejected', 'trap-repeating-path']);
    assert.match(trap.meaning ?? '', /segments repeat/);
    assert.equal((await explain(out, url('one.test', '/nobody-links-here'))).state, 'not found yet');
    assert.deepEqual(
      [(await explain(out, 'mailto:x@example.org')).reason, (await explain(out, 'http://')).reason],
      ['not-http', 'invalid-url'],
    );
  });

  test('every request that was made for a URL, on demand', async () => {
    const { requests } = await explain(out, url('one.test', '/gone'), { requests: true });
    assert.deepEqual(
      requests?.map(({ outcome, status, address }) => [outcome, status, address]),
      [['not-found', 404, '127.0.0.1']],
    );
    assert.deepEqual((await explain(out, url('one.test', '/private/x'), { requests: true })).requests, []);
  });

  test('without a directory the configuration answers, and on demand one live fetch of robots.txt', async () => {
    const config = join(dir, 'portolan.yaml');
    const resolve = web.resolves();
    writeFileSync(
      config,
      JSON.stringify({ seeds: [url('one.test', '/')], scope: { exclude: ['\\?'] }, net: { allow: ['127.0.0.0/8'] }, dns: { resolve } }),
    );
    const excluded = await explain(undefined, url('one.test', '/x?y'), { config });
    assert.deepEqual([excluded.state, excluded.reason, excluded.robots], ['rejected', 'excluded', undefined]);
    assert.match(excluded.scope?.rule ?? '', /scope\.exclude/);
    assert.equal((await explain(undefined, url('one.test', '/x'), { config })).state, 'may be crawled');
    const asked = web.log.count(new URL(web.origin('one.test')).host, '/robots.txt');
    const live = await explain(undefined, url('one.test', '/private/x'), { config, liveRobots: true });
    assert.deepEqual(
      [live.state, live.reason, live.robots?.source, live.robots?.line],
      ['would be dropped', 'robots-disallowed', 'live', 4],
    );
    assert.equal(web.log.count(new URL(web.origin('one.test')).host, '/robots.txt'), asked + 1);
    const guarded = await explain(undefined, 'http://127.0.0.1:1/x', { liveRobots: true });
    assert.deepEqual([guarded.state, guarded.reason], ['rejected', 'forbidden-address']);
    assert.ok(
      guarded.notes.some((note) => note.includes('loopback')),
      'the guard holds for the live fetch too',
    );
  });

  test('the program answers as JSON with the directory before the URL', async () => {
    const { code, stdout } = await run('explain', out, url('one.test', '/a'), '--json');
    assert.deepEqual([code, (JSON.parse(stdout) as Answer).state], [0, 'fetched']);
  });

  test('as text the answer comes first, in the words of docs/REASONS.md', async () => {
    const { stdout } = await run('explain', out, url('one.test', '/gone'));
    const words = readWords().outcomes.get('not-found');
    assert.ok(stdout.startsWith(`answer      fetched: not-found. ${words?.when}`), stdout);
    assert.match(stdout, /^next fetch .*rule crawl-delay/m);
  });

  test('the hosts that hold a crawl up', async () => {
    const { code, stdout } = await run('status', out, '--hosts', '5', '--json');
    assert.equal(code, 0);
    const lists = JSON.parse(stdout) as Record<
      'slowest' | 'longest',
      readonly { key: string; queued: number; gapRule: string; robots: string; at: string }[]
    >;
    const host = lists.longest[0];
    assert.deepEqual([host?.key, host?.gapRule, host?.robots], [new URL(url('two.test', '/')).host, 'default', 'allow-all']);
    assert.ok((host?.queued ?? 0) > 10);
    assert.equal(lists.slowest[0]?.key, host?.key);
    const text = await run('status', out, '--hosts');
    assert.match(text.stdout, /^slowest hosts[\s\S]*^longest hosts/m);
    assert.equal((await run('status', out, '--hosts', 'many')).code, 2);
  });

  test('a running crawl answers, is not held up, and goes on to its end', async () => {
    const running = join(dir, 'running');
    const { promise, resolve } = Promise.withResolvers<void>();
    const { command, args } = portolan(
      'crawl',
      url('two.test', '/'),
      '--out',
      running,
      ...flags.filter((flag) => flag !== '--quiet'),
      '--json',
    );
    const crawl = start(command, args, {
      onLine: (line) => {
        if ((JSON.parse(line) as { event: string; pages?: number }).event === 'commit' && line.includes('"pages":')) resolve();
      },
    });
    await Promise.race([promise, crawl.ended]);
    const answer = await explainInProcess(running, url('two.test', '/'));
    assert.ok(['fetched', 'queued'].includes(answer.verdict.state), answer.verdict.state);
    assert.equal((await crawl.ended).code, 0, crawl.complaints());
    assert.equal((await explainInProcess(running, url('two.test', '/'))).verdict.state, 'fetched');
  });

  test('a directory without a crawl, and no URL at all, are clear errors', async () => {
    const missing = await run('explain', dir, 'http://one.test/');
    assert.deepEqual([missing.code, missing.stderr.includes('PORTOLAN_STATE_MISSING')], [3, true]);
    assert.equal((await run('explain')).code, 2);
  });
});

test('every reason, outcome and gap rule has its words', () => {
  const words = readWords();
  assert.deepEqual([...words.rejected.keys()], [...REJECT_REASONS]);
  assert.deepEqual([...words.dropped.keys()], [...DROP_REASONS]);
  assert.deepEqual([...words.outcomes.keys()], [...OUTCOME_NAMES]);
  assert.deepEqual([...words.gapRules.keys()].sort(), [...GAP_RULES].sort());
  for (const list of Object.values(words)) for (const [name, { when }] of list) assert.notEqual(when, '', name);
});

async function explainInProcess(dir: string | undefined, url: string, flags: ExplainFlags = {}) {
  const crawl = dir === undefined ? undefined : openCrawlDir(dir);
  try {
    return await explainUrl(url, crawl, flags, Date.now());
  } finally {
    crawl?.close();
  }
}
