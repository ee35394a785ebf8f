/** Fetching (rows I1–I3, A4): what servers send, and what becomes of it. One crawl asks one host for everything that can go right or wrong. */
import assert from 'node:assert/strict';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { page, type WebReply, type WebServer } from '../support/web-server.ts';
import { type Crawl, crawl, scratch, webFor } from './crawl.ts';

const GREETING = '<!doctype html><title>Greeting page</title><p>alpha beta gamma</p><a href="/next">n</a>';
const PARAGRAPHS = `${GREETING}${Array.from({ length: 4_000 }, (_, at) => `<p>para ${at} ${(at * 2_654_435_761) % 9_973}</p>`).join('\n')}`;
const MAX_BODY = 1_000_000;
const BOMB = Buffer.alloc(64 * 1_048_576, 0x20);
const BOMB_GZIP = gzipSync(BOMB, { level: 1 });
const BOMB_BROTLI = brotliCompressSync(BOMB, { params: { [constants.BROTLI_PARAM_QUALITY]: 2 } });
const coded = (body: Uint8Array, coding: string, more: Partial<WebReply> = {}): WebReply => ({
  body,
  headers: { 'content-encoding': coding },
  ...more,
});
const typed = (type: string, body: string | Uint8Array, more: Partial<WebReply> = {}): WebReply => ({
  body,
  headers: { 'content-type': type },
  ...more,
});
const raw = (head: string, body: string | Uint8Array = GREETING): WebReply => ({
  fault: { kind: 'raw', bytes: Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]) },
});
const cyrillic = Buffer.from([0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]); // Привет in windows-1251
const wrapped = (title: Uint8Array, meta = ''): Buffer =>
  Buffer.concat([Buffer.from(`<!doctype html>${meta}<title>`), title, Buffer.from('</title>')]);

const REPLIES: Readonly<Record<string, () => WebReply>> = {
  '/gzip': () => coded(gzipSync(GREETING), 'gzip'),
  '/x-gzip': () => coded(gzipSync(GREETING), 'x-gzip'),
  '/upper': () => coded(gzipSync(GREETING), 'GZIP'),
  '/zlib': () => coded(deflateSync(GREETING), 'deflate'),
  '/rawdef': () => coded(deflateRawSync(GREETING), 'deflate'),
  '/br': () => coded(brotliCompressSync(GREETING), 'br'),
  '/zstd': () => coded(zstdCompressSync(GREETING), 'zstd'),
  '/twice': () => coded(gzipSync(deflateSync(GREETING)), 'deflate, gzip'),
  '/pretends': () => coded(Buffer.from(GREETING), 'gzip'),
  '/charset-as-coding': () => coded(Buffer.from(GREETING), 'utf-8'),
  '/damaged': () => coded(Buffer.concat([gzipSync(GREETING).subarray(0, 10), Buffer.alloc(80, 0xff)]), 'gzip'),
  '/half': () => coded(gzipSync(PARAGRAPHS).subarray(0, 9_000), 'gzip'),
  '/notrailer': () => coded(gzipSync(GREETING).subarray(0, -8), 'gzip'),
  '/bomb': () => coded(BOMB_GZIP, 'gzip'),
  '/bomb-br': () => coded(BOMB_BROTLI, 'br'),
  '/endless': () => ({ fault: { kind: 'endless', piece: 'x'.repeat(65_536) } }),
  '/long': () => ({ fault: { kind: 'wrong-length', length: 5_000 }, body: GREETING }),
  '/short': () => ({ fault: { kind: 'wrong-length', length: 40 }, body: GREETING }),
  '/closed': () => ({ fault: { kind: 'close', afterBytes: 60 }, body: GREETING }),
  '/stalled': () => ({ fault: { kind: 'stall', afterBytes: 60 }, body: GREETING }),
  '/film': () => typed('video/mp4', '', { fault: { kind: 'endless', piece: 'x'.repeat(65_536) } }),
  '/pdf': () => typed('application/pdf', '%PDF-1.4 <a href="/in-pdf">x</a>'),
  '/untyped': () => raw(`HTTP/1.1 200 OK\r\nContent-Length: ${GREETING.length}\r\n\r\n`),
  '/untyped-pdf': () => raw('HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n', '%PDF-1.4 <a href="/in-pdf">x</a>'.slice(0, 30)),
  '/octets': () => typed('application/octet-stream', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')),
  '/plain': () => typed('text/plain', 'http://f.test/not-a-link <a href="/in-text">x</a>'),
  '/empty': () => ({ body: '' }),
  '/nocontent': () => ({ status: 204 }),
  '/cp1251': () => typed('text/html; charset=windows-1251', wrapped(cyrillic)),
  '/meta1251': () => typed('text/html', wrapped(cyrillic, '<meta charset="windows-1251">')),
  '/bom': () => typed('text/html; charset=windows-1251', Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), wrapped(Buffer.from('Привет'))])),
  '/latin1': () => typed('text/html; charset=iso-8859-1', wrapped(Buffer.from([0x93, 0x80, 0x94]))),
  '/flower': () => raw(`HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Note: \xe2\x9d\x80\r\nContent-Length: ${GREETING.length}\r\n\r\n`),
  '/http10': () => raw('HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n'),
  '/garbage': () => raw('GOPHER 1 hello\r\n\r\n'),
  '/headers': () => raw(`HTTP/1.1 200 OK\r\n${`X-Long: ${'y'.repeat(4_000)}\r\n`.repeat(80)}\r\n`),
  '/304': () => ({ status: 304 }),
  '/206': () => ({ status: 206, headers: { 'content-range': 'bytes 0-9/100' }, body: GREETING }),
};

describe('fetching', () => {
  const cleanups: (() => unknown)[] = [];
  const t = { after: (fn: () => unknown) => void cleanups.push(fn) };
  let web: WebServer;
  let done: Crawl;
  let drip: http.Server;
  let dripOrigin: string;
  const url = (path: string): string => `${web.origin('f.test')}${path}`;
  const outcome = (path: string): string => done.row(url(path)).outcome;

  before(async () => {
    web = await webFor(t, {
      name: 'f.test',
      address: '127.46.1.1',
      page: (request) => {
        if (request.path === '/') return page('home', Object.keys(REPLIES));
        if (request.path === '/next') return page('next');
        if (request.path === '/reset')
          return request.nth === 1 ? { fault: { kind: 'reset', afterBytes: 20 }, body: GREETING } : page('second try');
        return REPLIES[request.path]?.();
      },
    });
    // A byte now and then, for ever: only the limit of the whole exchange ends it.
    drip = http.createServer((request, response) => {
      if (request.url === '/robots.txt') return void response.writeHead(404).end();
      const timer = setInterval(() => response.write('x'), 50);
      response.writeHead(200, { 'content-type': 'text/html' });
      response.once('close', () => clearInterval(timer));
    });
    await new Promise<void>((listening) => drip.listen(0, '127.46.1.2', listening));
    t.after(() => new Promise((closed) => drip.close(closed).closeAllConnections()));
    dripOrigin = `http://drip.test:${(drip.address() as AddressInfo).port}`;
    done = await crawl({
      web,
      out: join(scratch(t), 'out'),
      seeds: [url('/'), url('/reset'), `${dripOrigin}/`],
      config: {
        politeness: { delay: 0, faultLimit: 50 },
        fetch: { stallTimeout: 1_000, totalTimeout: 3_000, firstByteTimeout: 3_000, retryDelay: 10, attempts: 2 },
        dns: { resolve: ['drip.test:127.46.1.2'] },
      },
      flags: ['--max-body', '1MB'],
    });
  });
  after(async () => {
    for (const clean of cleanups.reverse()) await clean();
  });

  test('R-I2: gzip, deflate with and without its wrapper, br, zstd and stacked codings are undone', () => {
    for (const path of ['/gzip', '/x-gzip', '/upper', '/zlib', '/rawdef', '/br', '/zstd', '/twice']) {
      const row = done.row(url(path));
      assert.deepEqual([row.outcome, row.title, row.bytesBody], ['ok', 'Greeting page', GREETING.length], path);
    }
    assert.equal(web.log.count(`f.test:${web.port}`, '/next'), 1);
    for (const { headers } of web.log.entries()) assert.match(String(headers['accept-encoding']), /gzip.*br/);
  });

  test('R-I2: a coding that was only promised is none; a damaged one is not stored as text', () => {
    for (const path of ['/pretends', '/charset-as-coding'])
      assert.deepEqual([outcome(path), done.row(url(path)).title], ['ok', 'Greeting page'], path);
    const damaged = done.row(url('/damaged'));
    assert.equal(damaged.outcome, 'decode-error');
    assert.equal(damaged.title, undefined);
  });

  test('R-I2: a coded body that ends early is kept as far as it came, and marked', () => {
    const half = done.row(url('/half'));
    assert.deepEqual([half.outcome, half.title], ['truncated', 'Greeting page']);
    assert.ok((half.bytesBody ?? 0) > 9_000);
    assert.ok(['ok', 'truncated'].includes(outcome('/notrailer')));
  });

  test('R-I2: 64 MiB that came as a few KB are inflated up to the cap and no further', () => {
    for (const path of ['/bomb', '/bomb-br']) {
      const row = done.row(url(path));
      assert.deepEqual([row.outcome, row.bytesBody], ['truncated', MAX_BODY], path);
    }
  });

  test('R-I1: a body without end is cut at the cap, one that drips at the time limit, one that stalls at its pause', () => {
    assert.deepEqual([outcome('/endless'), done.row(url('/endless')).bytesBody], ['truncated', MAX_BODY]);
    assert.equal(web.log.entries().find((entry) => entry.path === '/endless')?.whole, false);
    assert.equal(done.row(`${dripOrigin}/`).outcome, 'truncated');
    assert.deepEqual([outcome('/stalled'), done.row(url('/stalled')).bytesBody], ['truncated', 60]);
  });

  test('R-I1: a body that is not as long as was promised is never called whole', () => {
    for (const [path, length] of [
      ['/long', GREETING.length],
      ['/closed', 60],
    ] as const) {
      assert.deepEqual([outcome(path), done.row(url(path)).bytesBody], ['truncated', length], path);
    }
    assert.equal(done.row(url('/short')).bytesBody, 40);
    assert.deepEqual([outcome('/206')], ['truncated'], 'a part that nobody asked for');
  });

  test('R-A4: the header decides the type, the first bytes only when it says nothing; unwanted types are broken off', () => {
    assert.deepEqual([outcome('/untyped'), done.row(url('/untyped')).title], ['ok', 'Greeting page']);
    for (const path of ['/film', '/pdf', '/untyped-pdf', '/octets']) assert.equal(outcome(path), 'unwanted-type', path);
    assert.equal(web.log.entries().find((entry) => entry.path === '/film')?.whole, false);
    assert.deepEqual([outcome('/plain'), done.row(url('/plain')).links?.found], ['ok', 0]);
    assert.ok(!done.rows.some((row) => /in-pdf|in-text|not-a-link/.test(row.url)));
  });

  test('R-I1: empty answers are pages without a body', () => {
    for (const path of ['/empty', '/nocontent'])
      assert.deepEqual([outcome(path), done.row(url(path)).bytesBody, done.row(url(path)).duplicateOf], ['ok', 0, undefined], path);
  });

  test('R-A4: the charset is that of the byte order mark, else of the header, else of meta', () => {
    for (const path of ['/cp1251', '/meta1251', '/bom'])
      assert.deepEqual([outcome(path), done.row(url(path)).title], ['ok', 'Привет'], path);
    assert.equal(done.row(url('/latin1')).title, '“€”', 'iso-8859-1 means windows-1252');
  });

  test('R-I1: odd heads pass, and what is not HTTP is an outcome', () => {
    for (const path of ['/flower', '/http10']) assert.deepEqual([outcome(path), done.row(url(path)).title], ['ok', 'Greeting page'], path);
    for (const path of ['/garbage', '/headers', '/304']) assert.equal(outcome(path), 'protocol-error', path);
  });

  test('R-C4: an answer that broke off before its body was whole is not the last word when it can be had whole', () => {
    const row = done.row(url('/reset'));
    assert.deepEqual([row.outcome, row.title, row.attempts], ['ok', 'second try', 2]);
    for (const path of ['/long', '/closed', '/stalled', '/half']) assert.equal(done.row(url(path)).attempts, 2, path);
    for (const path of ['/endless', '/bomb', '/damaged']) assert.equal(done.row(url(path)).attempts, 1, path);
  });

  test('R-C6: every request names the crawler and where its operator is reached', () => {
    for (const { headers } of web.log.entries())
      assert.match(String(headers['user-agent']), /^PortolanTest\/[\d.]+ \(\+https:\/\/example\.org\/bot\)$/);
    assert.ok(web.log.entries().every((entry) => entry.headers['cookie'] === undefined));
  });
});

test('R-A4 R-I1: --accept chooses the types that are read and --max-body how much of them', async (t) => {
  const web = await webFor(t, {
    name: 'types.test',
    address: '127.46.2.1',
    page: ({ path }) => {
      if (path === '/') return page('home', ['/pdf', '/image', '/page']);
      if (path === '/pdf') return typed('application/pdf', `%PDF-1.4 ${'x'.repeat(5_000)}`);
      return path === '/image' ? typed('image/png', '\x89PNG') : page('page');
    },
  });
  const done = await crawl({
    web,
    out: join(scratch(t), 'out'),
    seeds: [`${web.origin('types.test')}/`],
    flags: ['--accept', 'text/*,application/pdf', '--max-body', '2KB'],
  });
  const at = (path: string) => done.row(`${web.origin('types.test')}${path}`);
  assert.deepEqual([at('/pdf').outcome, at('/pdf').bytesBody], ['truncated', 2_000]);
  assert.equal(at('/image').outcome, 'unwanted-type');
  assert.equal(at('/page').outcome, 'ok');
});
