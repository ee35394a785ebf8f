import assert from 'node:assert/strict';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { gzipped, page, redirect, redirectUntilCookie, startWebServer, unavailable, type WebServer } from './web-server.ts';

interface Got {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly error?: string;
}

let web: WebServer;

before(async () => {
  web = await startWebServer({
    hosts: [
      {
        name: 'a.test',
        address: '127.77.0.1',
        robots: 'User-agent: *\nDisallow: /x\n',
        page: (request) => {
          switch (request.path) {
            case '/':
              return page('front', ['/one', 'http://b.test/?a=1&b=2']);
            case '/gzip':
              return gzipped(page('packed'));
            case '/busy':
              return request.nth === 1 ? unavailable('7') : page('free again');
            case '/moved':
              return redirect('/');
            case '/cookie':
              return redirectUntilCookie(request, page('inside'));
            case '/reset':
              return { fault: { kind: 'reset' } };
            case '/half':
              return { body: 'x'.repeat(100), fault: { kind: 'close', afterBytes: 40 } };
            case '/short':
              return { body: 'x'.repeat(10), fault: { kind: 'wrong-length', length: 99 } };
            case '/raw':
              return { fault: { kind: 'raw', bytes: 'SSH-2.0-no\r\n' } };
            case '/endless':
              return { fault: { kind: 'endless', piece: 'more '.repeat(1000) } };
            case '/stall':
              return { body: 'x'.repeat(100), fault: { kind: 'stall', afterBytes: 10 } };
            default:
              return undefined;
          }
        },
      },
      { name: 'b.test', address: '127.77.0.1', robots: { status: 500 }, page: () => page('b'), delayMs: 40 },
      { address: '127.77.0.2', page: () => page('by address') },
    ],
  });
});
after(() => web.close());

function get(
  host: string,
  path: string,
  options: { readonly address?: string; readonly cookie?: string; readonly stopAfter?: number } = {},
): Promise<Got> {
  return new Promise((resolve) => {
    const headers = {
      host: `${host}:${web.port}`,
      connection: 'close',
      ...(options.cookie === undefined ? {} : { cookie: options.cookie }),
    };
    const outgoing = httpRequest({ host: options.address ?? '127.77.0.1', port: web.port, path, headers, agent: false }, (response) => {
      let body = '';
      const done = (error?: string): void =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body, ...(error === undefined ? {} : { error }) });
      response.on('data', (piece: Buffer) => {
        body += piece.toString('latin1');
        if (options.stopAfter !== undefined && body.length >= options.stopAfter) outgoing.destroy();
      });
      response.on('end', () => done());
      response.on('error', (error) => done(error.message));
    });
    outgoing.on('error', (error) => resolve({ status: 0, headers: {}, body: '', error: error.message }));
    outgoing.end();
  });
}

describe('the test web', () => {
  test('tells hosts apart by the Host header on one address, and serves a nameless host by its address', async () => {
    assert.match((await get('a.test', '/')).body, /front.*b\.test\/\?a=1&amp;b=2/s);
    assert.match((await get('b.test', '/')).body, /<h1>b</);
    assert.match((await get('127.77.0.2', '/', { address: '127.77.0.2' })).body, /by address/);
    assert.equal((await get('c.test', '/')).status, 421);
    assert.deepEqual([...web.resolves()], ['a.test:127.77.0.1', 'b.test:127.77.0.1']);
  });

  test('gives robots.txt as text, as a reply of its own, or as 404', async () => {
    assert.match((await get('a.test', '/robots.txt')).body, /Disallow: \/x/);
    assert.equal((await get('b.test', '/robots.txt')).status, 500);
    assert.equal((await get('127.77.0.2', '/robots.txt', { address: '127.77.0.2' })).status, 404);
  });

  test('plays statuses, redirects, cookies and codings that depend on the request', async () => {
    assert.equal((await get('a.test', '/busy')).headers['retry-after'], '7');
    assert.equal((await get('a.test', '/busy')).status, 200);
    assert.equal((await get('a.test', '/moved')).headers.location, '/');
    assert.equal((await get('a.test', '/cookie')).status, 302);
    assert.equal((await get('a.test', '/cookie', { cookie: 'been=here' })).status, 200);
    assert.equal((await get('a.test', '/gzip')).headers['content-encoding'], 'gzip');
    assert.equal((await get('a.test', '/nowhere')).status, 404);
  });

  test('plays every fault as the client sees it, and the log says which responses were whole', async () => {
    assert.match((await get('a.test', '/reset')).error ?? '', /ECONNRESET|hang up/);
    assert.match((await get('a.test', '/half')).error ?? '', /aborted/);
    assert.match((await get('a.test', '/short')).error ?? '', /aborted/);
    assert.match((await get('a.test', '/raw')).error ?? '', /Parse Error/);
    assert.match((await get('a.test', '/endless', { stopAfter: 100_000 })).error ?? '', /aborted/);
    assert.match((await get('a.test', '/stall', { stopAfter: 10 })).error ?? '', /aborted/);
    await web.idle();
    for (const path of ['/reset', '/half', '/short', '/raw', '/endless', '/stall']) {
      const entry = web.log.entries().find((one) => one.path === path);
      assert.equal(entry?.whole, false, path);
    }
    assert.equal(web.log.entries().find((one) => one.path === '/')?.whole, true);
  });
});

describe('the access log', () => {
  test('finds two requests in flight to one host, and a gap that is too short', async () => {
    web.log.clear();
    await Promise.all([get('b.test', '/1'), get('b.test', '/2')]);
    await web.idle();
    const host = `b.test:${web.port}`;
    assert.throws(() => web.log.assertNoOverlap(host), /one at a time/);
    assert.throws(() => web.log.assertNoAddressOverlap(`127.77.0.1:${web.port}`), /one at a time/);
    web.log.clear();
    await get('b.test', '/1');
    await get('b.test', '/2');
    await web.idle();
    web.log.assertNoOverlap(host);
    assert.throws(() => web.log.assertGap(host, 500), /is owed 500 ms/);
    assert.throws(() => web.log.assertRobotsFirst(), /first request to b\.test/);
  });

  test('counts repeats, finds what is missing and what nobody expected', async () => {
    await web.idle();
    web.log.clear();
    for (const path of ['/1', '/2', '/1']) await get('a.test', path);
    await web.idle();
    const url = (path: string): string => `http://a.test:${web.port}${path}`;
    assert.deepEqual([...web.log.repeats()], [[url('/1'), 2]]);
    assert.deepEqual(web.log.missing([url('/1'), url('/3')]), [url('/3')]);
    assert.deepEqual(web.log.extra([url('/1')]), [url('/2')]);
  });

  test('numbers connections and the requests on each', async () => {
    web.log.clear();
    await new Promise<void>((done) => {
      const socket = connect(web.port, '127.77.0.2', () => {
        const head = `GET /k HTTP/1.1\r\nHost: 127.77.0.2:${web.port}\r\n`;
        socket.write(`${head}\r\n`);
        setTimeout(() => socket.write(`${head}Connection: close\r\n\r\n`), 50);
      });
      socket.resume().on('close', () => done());
    });
    await get('127.77.0.2', '/k', { address: '127.77.0.2' });
    await web.idle();
    const [first, second, third] = web.log.entries();
    assert.deepEqual([first?.nth, second?.nth, third?.nth], [1, 2, 1]);
    assert.equal(first?.connection, second?.connection);
    assert.notEqual(first?.connection, third?.connection);
  });
});
