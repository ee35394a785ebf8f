import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';
import type { UndiciTransportOptions } from '../../../src/adapters/undici/transport.ts';
import { createUndiciTransport } from '../../../src/adapters/undici/transport.ts';
import type { Transport, TransportEnd } from '../../../src/ports/transport.ts';
import type { RawServer, Step } from '../../fetch/support.ts';
import { startRawServer } from '../../fetch/support.ts';

interface Answer {
  readonly status: number;
  readonly statusText: string;
  readonly rawHeaders: readonly string[];
  readonly remoteAddress: string;
  readonly body: string;
  readonly end: TransportEnd;
}

interface Ask {
  readonly path?: string;
  readonly address?: string;
  readonly connectTimeoutMs?: number;
}

const OK: readonly Step[] = [{ send: 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok' }];

function ask(transport: Transport, origin: string, options: Ask = {}): Promise<Answer> {
  return new Promise((resolve) => {
    const seen = { status: 0, statusText: '', rawHeaders: [] as readonly string[], remoteAddress: '', body: '' };
    const request = {
      method: 'GET',
      origin,
      path: options.path ?? '/',
      address: options.address ?? '127.0.0.1',
      headers: [['User-Agent', 'PortolanTest/1.0']],
      connectTimeoutMs: options.connectTimeoutMs ?? 3_000,
      firstByteTimeoutMs: 3_000,
      stallTimeoutMs: 3_000,
    } as const;
    transport.start(request, {
      onHead: (status, statusText, rawHeaders, remoteAddress) => Object.assign(seen, { status, statusText, rawHeaders, remoteAddress }),
      onData: (bytes) => {
        seen.body += Buffer.from(bytes).toString('latin1');
      },
      onEnd: (end) => resolve({ ...seen, end }),
    });
  });
}

async function withTransport(options: UndiciTransportOptions, body: (transport: Transport) => Promise<void>): Promise<void> {
  const transport = createUndiciTransport(options);
  try {
    await body(transport);
  } finally {
    await transport.close();
  }
  assert.equal(transport.openConnections(), 0);
}

/** Waits for something that sockets bring about in their own time. */
async function eventually(condition: () => boolean, what: string): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    assert.ok(tries < 400, what);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function withServer(
  script: (path: string, nth: number) => readonly Step[],
  body: (server: RawServer) => Promise<void>,
  host?: string,
): Promise<void> {
  const server = await startRawServer(script, host);
  try {
    await body(server);
  } finally {
    await server.close();
  }
}

test('R-I3 exchanges of one host share one connection, and releasing the host closes it', async () => {
  await withServer(
    () => OK,
    async (server) => {
      await withTransport({}, async (transport) => {
        const origin = `http://a.test:${server.port}`;
        for (let index = 0; index < 5; index += 1) assert.equal((await ask(transport, origin)).body, 'ok');
        assert.deepEqual([server.connections(), transport.openConnections()], [1, 1]);
        transport.release(origin);
        await eventually(() => server.open() === 0 && transport.openConnections() === 0, 'the connection is closed');
        assert.equal((await ask(transport, origin)).body, 'ok');
        assert.equal(server.connections(), 2);
      });
    },
  );
});

test('R-I3 releasing a host while it is busy lets the exchange end and closes then', async () => {
  await withServer(
    () => [{ send: 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsl' }, { waitMs: 60 }, { send: 'ow' }],
    async (server) => {
      await withTransport({}, async (transport) => {
        const origin = `http://a.test:${server.port}`;
        const pending = ask(transport, origin);
        await eventually(() => server.requests.length === 1, 'the request has arrived');
        transport.release(origin);
        assert.equal((await pending).body, 'slow');
        await eventually(() => server.open() === 0, 'the connection is closed');
      });
    },
  );
});

test('R-E3 the name goes into the Host header and the address decides where the packets go', async () => {
  await withServer(
    () => OK,
    async (server) => {
      await withTransport({}, async (transport) => {
        const answer = await ask(transport, `http://name.that.resolves.nowhere.invalid:${server.port}`);
        assert.deepEqual([answer.body, answer.remoteAddress], ['ok', '127.0.0.1']);
        assert.match(server.requests[0] ?? '', new RegExp(`\\r\\nhost: name\\.that\\.resolves\\.nowhere\\.invalid:${server.port}\\r\\n`));
      });
    },
  );
});

test('R-E3 two addresses of one origin are two connections, each to its own', async () => {
  await withServer(
    () => OK,
    async (server) => {
      await withTransport({}, async (transport) => {
        const origin = `http://a.test:${server.port}`;
        assert.equal((await ask(transport, origin, { address: '127.0.0.1' })).remoteAddress, '127.0.0.1');
        assert.equal((await ask(transport, origin, { address: '127.0.0.3' })).remoteAddress, '127.0.0.3');
        assert.equal((await ask(transport, origin, { address: '127.0.0.1' })).remoteAddress, '127.0.0.1');
        assert.equal(server.connections(), 2);
      });
    },
    '0.0.0.0',
  );
});

test('R-E3 when the network leads to another address than the vetted one, not a byte is sent', async () => {
  await withServer(
    () => OK,
    async (server) => {
      const dial = (options: { host: string; port: number }): net.Socket => net.connect({ ...options, host: '127.0.0.1' });
      await withTransport({ dial }, async (transport) => {
        const { end } = await ask(transport, `http://a.test:${server.port}`, { address: '127.0.0.9' });
        assert.deepEqual(end, { kind: 'error', code: 'address-changed', detail: 'connected to 127.0.0.1, not to 127.0.0.9' });
        await eventually(() => server.open() === 0, 'the socket is closed');
        assert.deepEqual([server.connections(), server.requests.length], [1, 0]);
      });
    },
  );
});

test('IPv6 literals work as origin and as address, in any spelling of the address', {
  skip: !hasIpv6() && 'no ::1 on this machine',
}, async () => {
  await withServer(
    () => OK,
    async (server) => {
      await withTransport({}, async (transport) => {
        const literal = await ask(transport, `http://[::1]:${server.port}`, { address: '::1' });
        assert.deepEqual([literal.body, literal.remoteAddress], ['ok', '::1']);
        assert.match(server.requests[0] ?? '', /\r\nhost: \[::1\]:\d+\r\n/);
        assert.equal((await ask(transport, `http://a.test:${server.port}`, { address: '0:0:0:0:0:0:0:1' })).body, 'ok');
      });
    },
    '::1',
  );
});

test('R-I1 a refused connection, a silent network and a silent handshake are told apart', async () => {
  const refusing = await startRawServer(() => OK);
  await refusing.close();
  // A socket that never connects: the address of a network that answers nothing.
  const dial = (options: { host: string; port: number }): net.Socket => (options.port === 81 ? new net.Socket() : net.connect(options));
  await withServer(
    () => [],
    async (server) => {
      await withTransport({ dial }, async (transport) => {
        const refused = await ask(transport, refusing.origin);
        assert.equal(refused.end.kind === 'error' && refused.end.code, 'connect-failed');
        const silent = await ask(transport, 'http://a.test:81', { connectTimeoutMs: 100 });
        assert.deepEqual(silent.end, { kind: 'error', code: 'timeout', detail: 'no connection for 100 ms' });
        const handshake = await ask(transport, `https://a.test:${server.port}`, { connectTimeoutMs: 100 });
        assert.deepEqual(handshake.end, { kind: 'error', code: 'timeout', detail: 'no connection for 100 ms' });
        await eventually(() => server.open() === 0, 'the socket of the handshake is closed');
      });
    },
  );
});

test('the bound on connections closes the one that was idle for longest, and is never passed', async () => {
  await withServer(
    (path) => (path === '/hang' ? [] : OK),
    async (server) => {
      await withTransport({ maxConnections: 2 }, async (transport) => {
        const origin = (name: string): string => `http://${name}.test:${server.port}`;
        await ask(transport, origin('a'));
        await ask(transport, origin('b'));
        await ask(transport, origin('a'));
        await ask(transport, origin('c')); // b was idle for longest
        await eventually(() => server.open() === 2, 'one is closed');
        const before = server.connections();
        await ask(transport, origin('a'));
        assert.equal(server.connections(), before, 'a kept its connection');
        const hanging = [ask(transport, origin('a'), { path: '/hang' }), ask(transport, origin('d'), { path: '/hang' })];
        const refused = await ask(transport, origin('e'));
        assert.deepEqual(refused.end, { kind: 'error', code: 'aborted', detail: 'all 2 connections are busy' });
        await transport.close();
        for (const { end } of await Promise.all(hanging)) assert.equal(end.kind === 'error' && end.code, 'aborted');
      });
    },
  );
});

test('a connection that the server closes while idle is let go and opened anew', async () => {
  await withServer(
    () => [...OK, { waitMs: 20 }, { end: 'fin' }],
    async (server) => {
      await withTransport({}, async (transport) => {
        assert.equal((await ask(transport, server.origin)).body, 'ok');
        await eventually(() => transport.openConnections() === 0, 'the closed connection is forgotten');
        assert.equal((await ask(transport, server.origin)).body, 'ok');
        assert.equal(server.connections(), 2);
      });
    },
  );
});

test('a connection is closed after its idle life, by our limit or by the server own hint', async () => {
  const hint: readonly Step[] = [{ send: 'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok' }];
  await withServer(
    (path) => (path === '/hint' ? hint : OK),
    async (server) => {
      await withTransport({ keepAliveMs: 60 }, async (transport) => {
        await ask(transport, server.origin);
        await eventually(() => server.open() === 0, 'closed by our limit');
      });
      await withTransport({ keepAliveMs: 60_000 }, async (transport) => {
        await ask(transport, server.origin, { path: '/hint' });
        await eventually(() => server.open() === 0, 'closed by the hint');
      });
    },
  );
});

test('an exchange is never sent twice, also when a kept connection breaks under it', async () => {
  await withServer(
    (_path, nth) => (nth === 1 ? OK : [{ end: 'rst' }]),
    async (server) => {
      await withTransport({}, async (transport) => {
        await ask(transport, server.origin);
        const broken = await ask(transport, server.origin, { path: '/second' });
        assert.equal(broken.end.kind === 'error' && broken.end.code, 'reset');
        assert.match(broken.end.kind === 'error' ? broken.end.detail : '', /on a kept connection/);
        await new Promise((resolve) => setTimeout(resolve, 50));
        assert.equal(server.requests.filter((head) => head.startsWith('GET /second ')).length, 1);
      });
    },
  );
});

test('nothing is called after onEnd, and breaking off from within a callback ends the exchange once', async () => {
  const endless: readonly Step[] = [
    { send: 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n' },
    { flood: Buffer.alloc(65_536), times: 1_000 },
    { end: 'fin' },
  ];
  await withServer(
    (path) => (path === '/endless' ? endless : OK),
    async (server) => {
      await withTransport({}, async (transport) => {
        for (const when of ['head', 'data'] as const) {
          const calls: string[] = [];
          await new Promise<void>((resolve) => {
            const request = { method: 'GET', origin: server.origin, path: '/endless', address: '127.0.0.1', headers: [] } as const;
            const abort = transport.start(
              { ...request, connectTimeoutMs: 3_000, firstByteTimeoutMs: 3_000, stallTimeoutMs: 3_000 },
              {
                onHead: () => {
                  calls.push('head');
                  if (when === 'head') abort();
                },
                onData: () => {
                  calls.push('data');
                  abort();
                },
                onEnd: (end) => {
                  calls.push(end.kind === 'error' ? end.code : end.kind);
                  setTimeout(resolve, 50);
                },
              },
            );
          });
          assert.deepEqual(calls, when === 'head' ? ['head', 'aborted'] : ['head', 'data', 'aborted']);
        }
        assert.equal((await ask(transport, server.origin)).body, 'ok');
      });
    },
  );
});

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

test('TLS: a certificate is checked for the name of the origin, SNI carries it, and the address stays the vetted one', {
  skip: !hasOpenssl && 'no openssl on this machine',
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'portolan-tls-'));
  const make = (name: string, subjectAltName: string): { key: Buffer; cert: Buffer } => {
    const [key, cert] = [join(directory, `${name}.key`), join(directory, `${name}.pem`)];
    const args = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-subj',
      `/CN=${name}`,
    ];
    execFileSync('openssl', [...args, '-addext', `subjectAltName=${subjectAltName}`, '-keyout', key, '-out', cert], { stdio: 'ignore' });
    return { key: readFileSync(key), cert: readFileSync(cert) };
  };
  const pair = make('secure.test', 'DNS:secure.test,IP:127.0.0.1');
  const names: (string | false)[] = [];
  const resumed: boolean[] = [];
  const server = tls.createServer(pair, (socket) => {
    names.push(socket.servername ?? false);
    resumed.push(socket.isSessionReused());
    assert.equal(socket.alpnProtocol === 'h2', false);
    socket.on('error', () => {});
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
  });
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as net.AddressInfo;
  try {
    await withTransport({ ca: pair.cert.toString() }, async (transport) => {
      const origin = `https://secure.test:${port}`;
      const answer = await ask(transport, origin);
      assert.deepEqual([answer.body, answer.remoteAddress], ['ok', '127.0.0.1']);
      assert.deepEqual(names, ['secure.test']);
      transport.release(origin);
      await eventually(() => transport.openConnections() === 0, 'closed');
      assert.equal((await ask(transport, origin)).body, 'ok');
      assert.deepEqual(resumed, [false, true], 'the second connection resumes the session');
      const other = await ask(transport, `https://other.test:${port}`);
      assert.equal(other.end.kind === 'error' && other.end.code, 'tls-failed');
      assert.equal((await ask(transport, `https://127.0.0.1:${port}`)).body, 'ok', 'an IP literal is checked against the address');
    });
    await withTransport({}, async (transport) => {
      const { end } = await ask(transport, `https://secure.test:${port}`);
      assert.equal(end.kind === 'error' && end.code, 'tls-failed', 'an unknown authority is refused');
    });
    await withTransport({ insecureTls: true }, async (transport) => {
      assert.equal((await ask(transport, `https://secure.test:${port}`)).body, 'ok');
      assert.equal((await ask(transport, `https://other.test:${port}`)).body, 'ok');
    });
    await withServer(
      () => OK,
      async (plain) => {
        await withTransport({}, async (transport) => {
          const { end } = await ask(transport, `https://a.test:${plain.port}`, { connectTimeoutMs: 500 });
          assert.equal(end.kind, 'error');
        });
      },
    );
  } finally {
    await new Promise((resolve) => server.close(resolve));
    rmSync(directory, { recursive: true });
  }
});

function hasIpv6(): boolean {
  return (
    spawnSync(process.execPath, [
      '-e',
      "require('node:net').createServer().on('error',()=>process.exit(1)).listen(0,'::1',()=>process.exit(0))",
    ]).status === 0
  );
}

test('the reason phrase comes to the byte, as latin-1 text', async () => {
  const server = await startRawServer(() => [
    { send: Buffer.from('HTTP/1.1 404 Página perdida\r\nContent-Length: 0\r\n\r\n', 'utf8').toString('latin1') },
  ]);
  try {
    await withTransport({}, async (transport) => {
      const { status, statusText } = await ask(transport, server.origin);
      assert.deepEqual([status, Buffer.from(statusText, 'latin1').toString('utf8')], [404, 'Página perdida']);
    });
  } finally {
    await server.close();
  }
});
