/** What a crawl leaves behind (rows J1, J2): WARC files that a foreign reader understands, one line per outcome, and the switches for both. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import { prose } from '../dedup/texts.ts';
import { page, redirect, type WebServer } from '../support/web-server.ts';
import { type Crawl, crawl, scratch, webFor } from './crawl.ts';
import { readWarcs, type WarcRecord, warcRecordAt } from './warc-files.ts';

const TEXT = prose(3, 80);
const ZIPPED = gzipSync(page('zipped', [], prose(4, 200)).body as string);

describe('output', () => {
  const cleanups: (() => unknown)[] = [];
  const t = { after: (fn: () => unknown) => void cleanups.push(fn) };
  let web: WebServer;
  let out: string;
  let done: Crawl;
  let records: readonly WarcRecord[];
  const url = (path: string): string => `${web.origin('out.test')}${path}`;

  before(async () => {
    out = join(scratch(t), 'out');
    web = await webFor(t, {
      name: 'out.test',
      address: '127.48.1.1',
      robots: 'User-agent: *\nDisallow: /closed\n',
      page: ({ path }) => {
        if (path === '/') return page('home', ['/text', '/zipped', '/moved', '/gone', '/closed', '/chunked', '/film', '/reset']);
        if (path === '/text') return page('text', ['/text?utm_source=x', '/text#x', 'mailto:a@b.c'], TEXT);
        if (path === '/zipped')
          return { body: ZIPPED, headers: { 'content-encoding': 'gzip', etag: '"v1"', 'last-modified': 'Mon, 05 Jan 2026 00:00:00 GMT' } };
        if (path === '/moved') return redirect('/landed');
        if (path === '/landed') return page('landed');
        if (path === '/chunked') return { ...page('chunked', [], prose(5, 100)), headers: { 'transfer-encoding': 'chunked' } };
        if (path === '/film') return { headers: { 'content-type': 'video/mp4' }, body: 'x' };
        return path === '/reset' ? { fault: { kind: 'reset' } } : undefined;
      },
    });
    done = await crawl({
      web,
      out,
      seeds: [url('/')],
      config: { politeness: { delay: 10 }, fetch: { retryDelay: 10 }, output: { warcSize: 3_000 } },
      flags: ['--text', 'on', '--cdxj', 'on'],
    });
    records = await readWarcs(out);
  });
  after(async () => {
    for (const clean of cleanups.reverse()) await clean();
  });

  test('R-J1: --cdxj on leaves an index with one sorted line for each answer in the WARC files', () => {
    const lines = readFileSync(join(out, 'warc', 'index.cdxj'), 'utf8')
      .trimEnd()
      .split('\n');
    const answers = records.filter(({ type }) => type === 'response' || type === 'revisit');
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line.slice(line.indexOf('{'))) as { url: string }).url).sort(),
      answers.map((answer) => answer.url).sort(),
    );
    assert.deepEqual(lines, lines.toSorted());
  });

  test('R-J2: one line per outcome, with where the URL came from and what it was', () => {
    const outcomes = Object.fromEntries(done.rows.map((row) => [row.url.slice(url('').length), row.reason ?? row.outcome]));
    assert.deepEqual(outcomes, {
      ...{ '/': 'ok', '/text': 'ok', '/zipped': 'ok', '/moved': 'redirect', '/landed': 'ok', '/gone': 'not-found' },
      ...{ '/closed': 'robots-disallowed', '/chunked': 'ok', '/film': 'unwanted-type', '/reset': 'reset' },
    });
    assert.equal(done.rows.length, 10);
    const row = done.row(url('/text'));
    assert.deepEqual(
      [row.via, row.depth, row.kind, row.status, row.title, row.address, row.attempts],
      [url('/'), 1, 'link', 200, 'text', '127.48.1.1', 1],
    );
    assert.deepEqual(row.links, { found: 3, rejected: { 'not-http': 1 }, known: 0, sent: 2 });
    assert.deepEqual([done.row(url('/gone')).status, done.row(url('/gone')).class], [404, 'permanent']);
    assert.deepEqual([done.row(url('/reset')).status, done.row(url('/reset')).attempts], [undefined, 3]);
  });

  test('R-J3: visible text is in the line on request', () => {
    assert.ok(done.row(url('/text')).text?.includes(TEXT.slice(0, 200)));
  });

  test('R-J1: every WARC file is readable to its end by warcio and begins with a warcinfo record', () => {
    const files = [...new Set(records.map((record) => record.file))];
    assert.ok(files.length > 1, 'files are closed at their size');
    for (const file of files) assert.equal(records.find((record) => record.file === file)?.type, 'warcinfo', file);
    const info = records[0]?.block.toString() ?? '';
    assert.match(info, /software: Portolan\//);
    assert.match(info, /http-header-user-agent: PortolanTest\//);
    assert.match(info, /operator: https:\/\/example\.org\/bot/);
    const ids = records.map((record) => record.fields.get('WARC-Record-ID'));
    assert.equal(new Set(ids).size, ids.length);
  });

  test('R-J1: each answer is a response and a request record, body as it came over the wire, where pages.jsonl says', async () => {
    for (const path of ['/', '/text', '/zipped', '/moved', '/gone', '/chunked', '/landed']) {
      const { warc, status } = done.row(url(path));
      assert.ok(warc !== undefined, path);
      const response = await warcRecordAt(out, warc);
      assert.deepEqual([response.type, response.url], ['response', url(path)]);
      assert.match(response.block.toString('latin1'), new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.equal(response.fields.get('WARC-IP-Address'), '127.48.1.1');
      const request = records.find((record) => record.type === 'request' && record.url === url(path));
      assert.equal(request?.fields.get('WARC-Concurrent-To'), response.fields.get('WARC-Record-ID'));
      assert.match(request?.block.toString() ?? '', new RegExp(`^GET ${path} HTTP/1\\.1\r\n`));
      assert.match(response.fields.get('WARC-Payload-Digest') ?? '', /^sha(1|256):/);
    }
    const zipped = await warcRecordAt(out, done.row(url('/zipped')).warc!);
    const body = zipped.block.subarray(zipped.block.indexOf('\r\n\r\n') + 4);
    assert.deepEqual(body, ZIPPED);
    assert.match(gunzipSync(body).toString(), /<title>zipped/);
    assert.equal(records.filter((record) => record.type === 'response').length, done.rows.filter((row) => row.warc !== undefined).length);
    for (const path of ['/film', '/reset', '/closed']) assert.equal(done.row(url(path)).warc, undefined, path);
  });

  test('R-J2: the counts of the report are those of the lines', () => {
    const count = (outcome: string): number => done.rows.filter((row) => row.outcome === outcome).length;
    for (const [outcome, n] of Object.entries(done.report.fetched)) assert.equal(count(outcome), n, outcome);
    assert.equal(count('dropped'), 1);
    assert.equal(done.report.requests, web.log.entries().length);
    assert.equal(done.events.filter((event) => event.event === 'end').length, 1);
    assert.ok(done.events.some((event) => event.event === 'commit'));
  });
});

test('R-J1: --warc off and --pages off leave no such files, and the crawl is as complete and as resumable', async (t) => {
  const web = await webFor(t, {
    name: 'bare.test',
    address: '127.48.2.1',
    page: ({ path }) => page(path, path === '/' ? ['/1', '/2', '/3', '/4'] : []),
  });
  const out = join(scratch(t), 'out');
  const options = { web, out, seeds: [`${web.origin('bare.test')}/`], config: { politeness: { delay: 10 } } };
  await crawl({ ...options, flags: ['--warc', 'off', '--pages', 'off', '--max-pages', '2'] });
  const done = await crawl({ ...options, flags: ['--warc', 'off', '--pages', 'off'] });
  assert.deepEqual([done.report.reason, done.report.fetched, done.report.storedPages], ['finished', { ok: 5 }, 0]);
  for (const dir of ['warc', 'pages']) assert.ok(!existsSync(join(out, dir)) || readdirSync(join(out, dir)).length === 0, dir);
  assert.deepEqual([...web.log.repeats().keys()], []);
});

test('R-J1: --warc off alone still writes the lines, without places in a WARC', async (t) => {
  const web = await webFor(t, { name: 'lines.test', address: '127.48.3.1', page: () => page('lines') });
  const out = join(scratch(t), 'out');
  const done = await crawl({ web, out, seeds: [`${web.origin('lines.test')}/`], flags: ['--warc', 'off'] });
  assert.deepEqual([done.row(`${web.origin('lines.test')}/`).title, done.row(`${web.origin('lines.test')}/`).warc], ['lines', undefined]);
});
