import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib from 'node:zlib';
import { createUndiciTransport } from '../../src/adapters/undici/transport.ts';
import type { ExchangeResult } from '../../src/fetch/exchange.ts';
import { runExchange } from '../../src/fetch/exchange.ts';
import { requestHead, requestHeaders } from '../../src/fetch/headers.ts';
import type { Transport } from '../../src/ports/transport.ts';
import type { FetchOptions, RawServer, Step } from './support.ts';
import { fetchOnce, makeRequest, realClock, startRawServer, textOf } from './support.ts';

const PAGE = "<!doctype html><title>Morning</title><p>one two three</p><a href='/more'>m</a>";

interface Site {
  readonly server: RawServer;
  readonly transport: Transport;
  get(path: string, options?: FetchOptions): Promise<ExchangeResult>;
}

/** A site whose paths answer with scripted bytes, met over the real transport. */
async function withSite(script: (path: string, nth: number) => readonly Step[], body: (site: Site) => Promise<void>): Promise<void> {
  const server = await startRawServer(script);
  const transport = createUndiciTransport();
  try {
    await body({ server, transport, get: (path, options) => fetchOnce(transport, server.origin, path, options) });
  } finally {
    await transport.close();
    await server.close();
  }
}

/** A response with a Content-Length. */
function reply(status: string, headers: readonly string[], body: string | Uint8Array = ''): Step {
  const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : Buffer.from(body);
  const head = [`HTTP/1.1 ${status}`, ...headers, `Content-Length: ${bytes.length}`, '', ''].join('\r\n');
  return { send: Buffer.concat([Buffer.from(head, 'latin1'), bytes]) };
}

const html = (body: string | Uint8Array, ...headers: string[]): Step => reply('200 OK', ['Content-Type: text/html', ...headers], body);

/** Answers every path of the table, in the order of the table, and gives the results by path. */
async function getAll(table: Record<string, readonly Step[]>, options?: FetchOptions): Promise<Record<string, ExchangeResult>> {
  const results: Record<string, ExchangeResult> = {};
  await withSite(
    (path) => table[path] ?? [],
    async ({ get }) => {
      for (const path of Object.keys(table)) results[path] = await get(path, options);
    },
  );
  return results;
}

test('http-01 R-I2 a body that is not coded although the header says so is taken as it is; a damaged one never passes for text', async () => {
  const gzip = zlib.gzipSync(PAGE);
  const damaged = Buffer.from(gzip);
  damaged.fill(0xff, 10, 14);
  const results = await getAll({
    '/plain-as-gzip': [html(PAGE, 'Content-Encoding: gzip')],
    '/plain-as-br': [html(PAGE, 'Content-Encoding: br')],
    '/plain-as-zstd': [html(PAGE, 'Content-Encoding: zstd')],
    '/plain-as-deflate': [html(PAGE, 'Content-Encoding: deflate')],
    '/charset-as-coding': [html(PAGE, 'Content-Encoding: utf-8')],
    '/identity': [html(PAGE, 'Content-Encoding: identity')],
    '/empty': [html('', 'Content-Encoding: gzip')],
    '/damaged': [html(damaged, 'Content-Encoding: gzip')],
  });
  for (const path of ['/plain-as-gzip', '/plain-as-br', '/plain-as-zstd', '/plain-as-deflate', '/charset-as-coding', '/identity']) {
    assert.equal(results[path]?.outcome, 'ok', path);
    assert.equal(textOf(results[path]?.body ?? new Uint8Array()), PAGE, path);
  }
  assert.equal(results['/empty']?.outcome, 'ok');
  assert.equal(results['/damaged']?.outcome, 'decode-error');
  assert.equal(results['/damaged']?.body.length, 0);
  assert.deepEqual(Buffer.from(results['/damaged']?.wireBody ?? []), damaged, 'the archive gets it as it came');
});

test('http-02 R-I2 every coding that is asked for is undone, in every form and spelling met', async () => {
  const twice = zlib.brotliCompressSync(zlib.gzipSync(PAGE));
  const results = await getAll({
    '/gzip': [html(zlib.gzipSync(PAGE), 'Content-Encoding: gzip')],
    '/upper': [html(zlib.gzipSync(PAGE), 'CONTENT-ENCODING: GZIP')],
    '/x-gzip': [html(zlib.gzipSync(PAGE), 'Content-Encoding: x-gzip')],
    '/zlib': [html(zlib.deflateSync(PAGE), 'Content-Encoding: deflate')],
    '/raw': [html(zlib.deflateRawSync(PAGE), 'Content-Encoding: deflate')],
    '/br': [html(zlib.brotliCompressSync(PAGE), 'Content-Encoding: br')],
    '/zstd': [html(zlib.zstdCompressSync(PAGE), 'Content-Encoding: zstd')],
    '/stacked': [html(twice, 'Content-Encoding: gzip, br')],
    '/stacked-lines': [html(twice, 'Content-Encoding: gzip', 'Content-Encoding: br')],
  });
  for (const [path, result] of Object.entries(results)) {
    assert.equal(result.outcome, 'ok', path);
    assert.equal(textOf(result.body), PAGE, path);
  }
});

test('http-03 R-I2 a gzip body without its trailer, or that ends in mid-stream, gives what decodes and is marked', async () => {
  const long = PAGE + Array.from({ length: 400 }, (_, index) => `<p>line ${index} ${index * 7919}</p>`).join('\n');
  const gzip = zlib.gzipSync(long);
  const results = await getAll({
    '/no-trailer': [html(gzip.subarray(0, -8), 'Content-Encoding: gzip')],
    '/half': [html(gzip.subarray(0, gzip.length >> 1), 'Content-Encoding: gzip')],
  });
  assert.equal(textOf(results['/no-trailer']?.body ?? new Uint8Array()), long);
  assert.equal(results['/half']?.outcome, 'truncated');
  assert.equal(results['/half']?.truncated, 'disconnect');
  const half = textOf(results['/half']?.body ?? new Uint8Array());
  assert.ok(half.length > PAGE.length && long.startsWith(half));
});

/** `size` zero bytes in gzip, made piece by piece. */
async function bomb(size: number): Promise<Buffer> {
  const gzip = zlib.createGzip({ level: 9 });
  const pieces: Buffer[] = [];
  const ended = new Promise<void>((resolve) => gzip.on('end', resolve));
  gzip.on('data', (piece: Buffer) => pieces.push(piece));
  const zeros = Buffer.alloc(1024 * 1024);
  for (let made = 0; made < size; made += zeros.length) {
    if (!gzip.write(zeros)) await new Promise<void>((resolve) => gzip.once('drain', resolve));
  }
  gzip.end();
  await ended;
  return Buffer.concat(pieces);
}

test('http-04 R-I2 a bomb is broken off early, gives exactly the cap, and costs little memory', async () => {
  const body = await bomb(400 * 1024 * 1024);
  const script = (path: string): readonly Step[] => (path === '/bomb' ? [html(body, 'Content-Encoding: gzip')] : [html('fine')]);
  await withSite(script, async ({ get }) => {
    const before = process.memoryUsage.rss();
    const result = await get('/bomb');
    const grown = process.memoryUsage.rss() - before;
    assert.equal(result.outcome, 'truncated');
    assert.equal(result.truncated, 'length');
    assert.equal(result.body.length, 5_000_000);
    assert.ok(result.wireBody.length < body.length, 'the rest of the bomb is not even read');
    assert.match(result.detail, /size cap/);
    assert.ok(grown < 100 * 1024 * 1024, `memory grew by ${grown}`);
    assert.equal(textOf((await get('/fine')).body), 'fine');
  });
});

test('http-05 R-I1 a body shorter than promised is kept and marked; the next connection is a fresh one', async () => {
  const short = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n${PAGE}`;
  const results = await getAll({
    '/short': [{ send: short }, { end: 'fin' }],
    '/reset': [{ send: short }, { waitMs: 50 }, { end: 'rst' }],
    '/nothing': [{ send: 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n' }, { end: 'fin' }],
    '/no-chunk': [{ send: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' }, { end: 'fin' }],
    '/no-head': [{ end: 'fin' }],
    '/after': [html(PAGE)],
  });
  for (const path of ['/short', '/reset']) {
    assert.equal(results[path]?.outcome, 'truncated', path);
    assert.equal(results[path]?.truncated, 'disconnect', path);
    assert.equal(textOf(results[path]?.body ?? new Uint8Array()), PAGE, path);
  }
  assert.equal(results['/nothing']?.outcome, 'reset');
  assert.equal(results['/no-chunk']?.outcome, 'reset');
  assert.equal(results['/no-head']?.outcome, 'reset');
  assert.equal(results['/no-head']?.status, 0);
  assert.equal(results['/after']?.outcome, 'ok');
});

test('http-06 R-I1 a chunked body without its last chunk is not whole; an HTTP/1.0 body that ends with the connection is', async () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n';
  const chunk = `${PAGE.length.toString(16)}\r\n${PAGE}\r\n`;
  const results = await getAll({
    '/cut': [{ send: head + chunk }, { waitMs: 30 }, { end: 'fin' }],
    '/whole': [{ send: `${head}${chunk}0\r\n\r\n` }],
    '/old': [{ send: `HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n${PAGE}` }, { end: 'fin' }],
    '/bad-size': [{ send: `${head}${chunk}zz\r\n` }],
  });
  assert.deepEqual([results['/cut']?.outcome, results['/cut']?.truncated], ['truncated', 'disconnect']);
  assert.equal(results['/whole']?.outcome, 'ok');
  assert.equal(textOf(results['/whole']?.body ?? new Uint8Array()), PAGE);
  assert.equal(results['/old']?.outcome, 'ok');
  assert.equal(results['/bad-size']?.outcome, 'truncated');
});

test('http-07 odd bytes in header values pass and come as they are; what is not HTTP fails with a reason and breaks nothing', async () => {
  const results = await getAll({
    '/high-bytes': [html(PAGE, 'X-Note: \xe2\x9c\xbf \xc3\xbf')],
    '/no-colon': [html(PAGE, 'Server')],
    '/control': [html(PAGE, 'X-A: a\x01b')],
    '/line-feeds': [{ send: `HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: ${PAGE.length}\n\n${PAGE}` }],
    '/not-http': [{ send: 'SSH-2.0-OpenSSH_9.2\r\n\r\n' }],
    '/two-lengths': [{ send: `HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc` }],
    '/huge-head': [html(PAGE, `X-Big: ${'x'.repeat(70_000)}`)],
    '/large-head': [html(PAGE, `Set-Cookie: ${'x'.repeat(40_000)}`)],
    '/after': [html(PAGE)],
  });
  assert.equal(results['/high-bytes']?.outcome, 'ok');
  assert.equal(results['/high-bytes']?.headers.first('x-note'), '\xe2\x9c\xbf \xc3\xbf');
  for (const path of ['/no-colon', '/control', '/line-feeds', '/not-http', '/two-lengths', '/huge-head']) {
    assert.equal(results[path]?.outcome, 'protocol-error', path);
    assert.notEqual(results[path]?.detail, '', path);
  }
  assert.equal(results['/large-head']?.outcome, 'ok');
  assert.equal(results['/after']?.outcome, 'ok');
});

test('http-08 a missing or empty Content-Type is judged as an empty media type, and a body of no bytes is a page', async () => {
  const seen: string[] = [];
  const accept = (mediaType: string): boolean => {
    seen.push(mediaType);
    return mediaType === '' || mediaType === 'text/html';
  };
  const results = await getAll(
    {
      '/none': [reply('200 OK', [], PAGE)],
      '/empty': [reply('200 OK', ['Content-Type:'], PAGE)],
      '/spelt': [reply('200 OK', ['Content-Type:  Text/HTML ; charset=utf-8'], PAGE)],
      '/zero': [reply('200 OK', [])],
      '/plain': [reply('200 OK', ['Content-Type: text/plain'], PAGE)],
    },
    { accept },
  );
  for (const path of ['/none', '/empty', '/spelt', '/zero']) assert.equal(results[path]?.outcome, 'ok', path);
  assert.equal(results['/plain']?.outcome, 'unwanted-type');
  assert.deepEqual(seen, ['', '', 'text/html', '', 'text/plain']);
});

test('http-09 R-C3 Retry-After of 429 and 503 is in the result, in both forms', async () => {
  const clock = { ...realClock, nowEpochMs: () => Date.UTC(2026, 10, 10, 11, 0, 0) };
  const results = await getAll(
    {
      '/seconds': [reply('503 Busy', ['Retry-After: 2'])],
      '/date': [reply('429 Slow down', ['Retry-After: Tue, 10 Nov 2026 11:00:10 GMT'])],
      '/bad': [reply('503 Busy', ['Retry-After: -5'])],
    },
    { clock },
  );
  assert.deepEqual([results['/seconds']?.outcome, results['/seconds']?.retryAfterMs], ['unavailable', 2_000]);
  assert.deepEqual([results['/date']?.outcome, results['/date']?.retryAfterMs], ['rate-limited', 10_000]);
  assert.equal(results['/bad']?.retryAfterMs, undefined);
});

test('http-10 R-I1 a server that drips is ended by the total limit, one that stalls by the stall limit, a steady one by neither', async () => {
  const limits = { firstByteTimeoutMs: 5_000, stallTimeoutMs: 250, totalTimeoutMs: 600 };
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';
  const results = await getAll(
    {
      '/drip': [{ send: `${head}Content-Length: 100000\r\n\r\n<p>` }, { drip: 'x'.repeat(200), everyMs: 20 }],
      '/slow-head': [{ send: 'HTTP/1.1 200 OK\r\nX-A: ' }, { drip: 'y'.repeat(200), everyMs: 20 }],
      '/stall': [{ send: `${head}Content-Length: 100\r\n\r\n<p>` }],
      '/steady': [{ send: `${head}Content-Length: 8\r\n\r\n` }, { drip: 'zzzzzzzz', everyMs: 30 }],
    },
    { limits },
  );
  assert.deepEqual([results['/drip']?.outcome, results['/drip']?.truncated], ['truncated', 'time']);
  assert.match(results['/drip']?.detail ?? '', /600 ms/);
  assert.equal(results['/slow-head']?.outcome, 'timeout');
  assert.deepEqual([results['/stall']?.outcome, results['/stall']?.truncated], ['truncated', 'time']);
  assert.match(results['/stall']?.detail ?? '', /no byte of the body for 250 ms/);
  assert.equal(results['/steady']?.outcome, 'ok');
});

test('R-I1 a server that accepts and says nothing is ended by the first-byte limit', async () => {
  await withSite(
    () => [],
    async ({ get }) => {
      const result = await get('/', { limits: { firstByteTimeoutMs: 150 } });
      assert.equal(result.outcome, 'timeout');
      assert.match(result.detail, /no response head for 150 ms/);
    },
  );
});

test('http-11 bytes after a bodiless answer never reach the next one', async () => {
  const scripts: readonly (readonly Step[])[] = [
    [{ send: 'HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\nLEFTOVERS' }],
    [{ send: 'HTTP/1.1 204 No Content\r\n\r\nLEFTOVERS' }],
    [{ send: 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\nLEFTOVERS' }],
    [{ send: 'HTTP/1.1 205 Reset Content\r\nContent-Length: 9\r\n\r\nLEFTOVERS' }],
    [{ send: 'HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nLEFTOVERS\r\n0\r\n\r\n' }],
    [{ send: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged' }],
  ];
  for (const [index, steps] of scripts.entries()) {
    await withSite(
      (path) => (path === '/first' ? steps : [html(PAGE)]),
      async ({ get }) => {
        const first = await get('/first', { isConditional: true });
        assert.ok(['ok', 'not-modified'].includes(first.outcome), `${index}: ${first.outcome} ${first.detail}`);
        const next = await get('/next');
        assert.equal(next.outcome, 'ok', `${index}: ${next.detail}`);
        assert.equal(textOf(next.body), PAGE, String(index));
      },
    );
  }
});

test('redirect-01 redirect-07 R-A6 every 3xx with a Location is an outcome with its text, and nothing is followed', async () => {
  const statuses = ['300', '301', '302', '303', '307', '308'];
  await withSite(
    (path) => [reply(`${path.slice(1)} Moved`, ['Location: ./new?v=2#part'], 'elsewhere')],
    async ({ get, server }) => {
      for (const status of statuses) {
        const result = await get(`/${status}`);
        assert.deepEqual([result.outcome, result.status, result.location], ['redirect', Number(status), './new?v=2#part']);
        assert.equal(textOf(result.wireBody), 'elsewhere');
      }
      assert.equal(server.requests.length, statuses.length);
    },
  );
});

test('redirect-02 raw bytes of a Location are read as UTF-8, or else escaped one by one', async () => {
  const results = await getAll({
    '/utf-8': [reply('301 Moved', ['Location: /n/1/\xd8\xae\xd8\xa8\xd8\xb1'])],
    '/latin-1': [reply('301 Moved', ['Location: /caf\xe9?x=\xfc'])],
    '/idn': [reply('301 Moved', ['Location: http://b\xc3\xbccher.example/'])],
  });
  const target = (path: string): string => new URL(results[path]?.location ?? '', 'http://r.example/old').href;
  assert.equal(target('/utf-8'), 'http://r.example/n/1/%D8%AE%D8%A8%D8%B1');
  assert.equal(target('/latin-1'), 'http://r.example/caf%E9?x=%FC');
  assert.equal(target('/idn'), 'http://xn--bcher-kva.example/');
});

test('redirect-06 R-A6 a 3xx without a usable Location is a bad redirect, kept as it came', async () => {
  const results = await getAll({
    '/none': [reply('302 Found', ['Content-Type: text/html'], "<a href='/linked'>here</a>")],
    '/empty': [reply('301 Moved', ['Location:   '])],
    '/choices': [reply('300 Multiple Choices', ['Content-Type: text/html'], "<a href='/v1'>1</a>")],
  });
  for (const [path, result] of Object.entries(results)) assert.equal(result.outcome, 'bad-redirect', path);
  assert.equal(textOf(results['/none']?.wireBody ?? new Uint8Array()), "<a href='/linked'>here</a>");
});

test('each status has its outcome; 304 answers only a conditional request', async () => {
  const table: Record<string, string> = {
    '200': 'ok',
    '201': 'ok',
    '203': 'ok',
    '204': 'ok',
    '206': 'truncated',
    '304': 'protocol-error',
    '305': 'bad-redirect',
  };
  Object.assign(table, { '400': 'client-error', '401': 'client-error', '403': 'client-error', '404': 'not-found', '410': 'not-found' });
  Object.assign(table, {
    '418': 'client-error',
    '429': 'rate-limited',
    '451': 'client-error',
    '500': 'server-error',
    '502': 'server-error',
  });
  Object.assign(table, { '503': 'unavailable', '599': 'server-error', '600': 'protocol-error', '999': 'protocol-error' });
  await withSite(
    (path) => [path === '/204' || path === '/304' ? { send: `HTTP/1.1 ${path.slice(1)} X\r\n\r\n` } : reply(`${path.slice(1)} X`, [], 'x')],
    async ({ get }) => {
      for (const [status, outcome] of Object.entries(table)) assert.equal((await get(`/${status}`)).outcome, outcome, status);
      assert.equal((await get('/304', { isConditional: true })).outcome, 'not-modified');
    },
  );
});

test('interim answers are skipped', async () => {
  const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </s.css>; rel=preload\r\n\r\n';
  const results = await getAll({ '/': [{ send: hints + hints }, { waitMs: 20 }, html(PAGE, 'X-Mine: 1')] });
  assert.equal(results['/']?.outcome, 'ok');
  assert.deepEqual(results['/']?.rawHeaders, ['Content-Type', 'text/html', 'X-Mine', '1', 'Content-Length', String(PAGE.length)]);
});

test('an unwanted media type is broken off after its head', async () => {
  await withSite(
    () => [
      { send: 'HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nContent-Length: 9000000000\r\n\r\n' },
      { flood: Buffer.alloc(65_536), times: 5_000 },
    ],
    async ({ get, server }) => {
      const result = await get('/', { accept: (mediaType) => mediaType === 'text/html' });
      assert.deepEqual([result.outcome, result.mediaType, result.body.length], ['unwanted-type', 'video/mp4', 0]);
      assert.ok(server.sentBytes() < 50_000_000);
    },
  );
});

test('R-I1 R-I2 a body that claims 10 GB is broken off at the cap, and the cap is kept to the byte', async () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';
  const flood = { flood: Buffer.alloc(65_536, 'a'), times: 160_000 };
  await withSite(
    (path) => [{ send: path === '/claimed' ? `${head}Content-Length: 10485760000\r\n\r\n` : `${head}\r\n` }, flood],
    async ({ get, server }) => {
      for (const path of ['/claimed', '/endless']) {
        const result = await get(path, { limits: { maxBodyBytes: 1_000_000 } });
        assert.deepEqual([result.outcome, result.truncated, result.body.length], ['truncated', 'length', 1_000_000], path);
      }
      assert.ok(server.sentBytes() < 100_000_000, `${server.sentBytes()} bytes were sent`);
    },
  );
});

test('R-I2 a coded body ends at the cap on the wire as well', async () => {
  const noise = Buffer.alloc(300_000);
  for (let index = 0, state = 1; index < noise.length; index += 1, state = (state * 48_271) % 2_147_483_647) noise[index] = state >> 8;
  const results = await getAll({ '/': [html(zlib.gzipSync(noise), 'Content-Encoding: gzip')] }, { limits: { maxWireBytes: 50_000 } });
  const result = results['/'];
  assert.deepEqual([result?.outcome, result?.truncated, result?.wireBody.length], ['truncated', 'length', 50_000]);
  assert.ok((result?.body.length ?? 0) > 0);
  assert.ok(noise.subarray(0, result?.body.length).equals(result?.body ?? new Uint8Array()));
});

test('one stalled server delays no other', async () => {
  await withSite(
    (path) => (path === '/stall' ? [] : [html(PAGE)]),
    async ({ transport, server, get }) => {
      const order: string[] = [];
      const stalled = get('/stall', { limits: { firstByteTimeoutMs: 700 } }).then(({ outcome }) => order.push(outcome));
      const others = Array.from({ length: 30 }, (_, index) =>
        fetchOnce(transport, `http://h${index}.test:${server.port}`, '/').then(({ outcome }) => order.push(outcome)),
      );
      await Promise.all([stalled, ...others]);
      assert.deepEqual(order, [...Array(30).fill('ok'), 'timeout']);
    },
  );
});

test('an exchange that is broken off ends once, as ours, wherever it stood', async () => {
  const head = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc';
  await withSite(
    (path) => (path === '/body' ? [{ send: head }] : path === '/after' ? [html(PAGE)] : []),
    async ({ transport, server, get }) => {
      for (const [path, waitMs] of [
        ['/connecting', 0],
        ['/head', 40],
        ['/body', 40],
      ] as const) {
        const results: ExchangeResult[] = [];
        const abort = runExchange(transport, realClock, makeRequest(server.origin, path), (result) => results.push(result));
        if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
        abort();
        abort();
        assert.equal(results.length, 1, path);
        assert.deepEqual([results[0]?.isAborted, results[0]?.outcome], [true, 'reset'], path);
      }
      assert.equal((await get('/after')).outcome, 'ok');
    },
  );
});

test('the result carries what the page row needs', async () => {
  const headers = ['ETag: W/"x\xe9"', 'Last-Modified: Tue, 10 Nov 2026 10:00:00 GMT', 'Set-Cookie: a=1', 'set-cookie: b=2'];
  const results = await getAll({ '/': [reply('200 Fine', ['Content-Type: text/html; charset=utf-8', ...headers], PAGE)] });
  const result = results['/'];
  assert.ok(result !== undefined);
  assert.equal(result.statusText, 'Fine');
  assert.deepEqual([result.contentType, result.mediaType], ['text/html; charset=utf-8', 'text/html']);
  assert.deepEqual([result.etag, result.lastModified], ['W/"x\xe9"', 'Tue, 10 Nov 2026 10:00:00 GMT']);
  assert.deepEqual(result.headers.all('set-cookie'), ['a=1', 'b=2']);
  assert.deepEqual(result.headers.all('x-none'), []);
  assert.equal(result.remoteAddress, '127.0.0.1');
  assert.ok((result.firstByteMs ?? -1) >= 0 && result.durationMs >= (result.firstByteMs ?? 0));
});

test('a request goes out in one stable order, as the archive is told', async () => {
  await withSite(
    () => [html(PAGE)],
    async ({ get, server }) => {
      const agent = { userAgent: 'Crawl/1.0 (+https://crawl.example/)', from: 'ops@crawl.example', acceptLanguage: 'en' };
      const headers = requestHeaders(agent, { etag: '"v1"', lastModified: 'Tue, 10 Nov 2026 10:00:00 GMT' }, [['Cookie', 'a=1']]);
      await get('/a?b=%20c', { headers });
      assert.equal(server.requests[0], requestHead(server.origin, '/a?b=%20c', headers));
      assert.deepEqual(
        headers.map(([name]) => name),
        ['User-Agent', 'From', 'Accept', 'Accept-Language', 'Accept-Encoding', 'If-None-Match', 'If-Modified-Since', 'Cookie'],
      );
      assert.match(server.requests[0] ?? '', /\r\nAccept-Encoding: gzip, deflate, br\r\n/);
    },
  );
});

test('a path that cannot be written is a failure of that URL alone', async () => {
  await withSite(
    () => [html(PAGE)],
    async ({ get, server }) => {
      const result = await get('/a b\r\nX-Smuggled: 1');
      assert.equal(result.outcome, 'protocol-error');
      assert.equal(server.requests.length, 0);
      assert.equal((await get('/ok')).outcome, 'ok');
    },
  );
});
