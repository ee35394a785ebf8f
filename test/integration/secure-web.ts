/**
 * A host that speaks http and https on one port (told apart by the first byte), so that both schemes have the same host key. Certificates are
 * made by openssl for the test; a crawl trusts them through NODE_EXTRA_CA_CERTS.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { AccessLog } from '../support/access-log.ts';

export const HAS_OPENSSL: boolean = spawnSync('openssl', ['version']).status === 0;

export interface Certificate {
  readonly key: Buffer;
  readonly cert: Buffer;
  /** File for NODE_EXTRA_CA_CERTS. */
  readonly file: string;
}

export function makeCertificate(dir: string, name: string): Certificate {
  const [key, file] = [join(dir, `${name}.key`), join(dir, `${name}.pem`)];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`];
  execFileSync('openssl', ['req', '-x509', ...kind, ...subject, '-keyout', key, '-out', file], { stdio: 'ignore' });
  return { key: readFileSync(key), cert: readFileSync(file), file };
}

export interface SecureWeb {
  readonly port: number;
  /** The host of an entry is the Host header, its method `http GET` or `https GET`. */
  readonly log: AccessLog;
  close(): Promise<void>;
}

const TLS_HANDSHAKE = 0x16;

export async function startSecureWeb(
  address: string,
  pair: Pick<Certificate, 'key' | 'cert'>,
  reply: (scheme: string, path: string) => { readonly status?: number; readonly body: string } | undefined,
): Promise<SecureWeb> {
  const log = new AccessLog();
  const now = (): number => performance.timeOrigin + performance.now();
  const answer = (scheme: string) => (request: http.IncomingMessage, response: http.ServerResponse) => {
    const startMs = now();
    const path = request.url ?? '/';
    const { status = 200, body } = reply(scheme, path) ?? { status: 404, body: 'not found' };
    response.writeHead(status, {
      'content-type': path === '/robots.txt' ? 'text/plain' : 'text/html',
      'content-length': Buffer.byteLength(body),
    });
    const { headers, method = '' } = request;
    const seen = { host: headers.host ?? '', address: `${address}:${port}`, method: `${scheme} ${method}`, path, headers };
    log.add({ ...seen, startMs, endMs: now(), connection: 0, nth: 0, remotePort: 0, status, whole: true });
    response.end(body);
  };
  const plain = http.createServer(answer('http'));
  const secure = https.createServer({ key: pair.key, cert: pair.cert }, answer('https'));
  const sockets = new Set<net.Socket>();
  const front = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    socket.once('data', (first) => {
      socket.pause();
      socket.unshift(first);
      (first[0] === TLS_HANDSHAKE ? secure : plain).emit('connection', socket);
      process.nextTick(() => socket.resume());
    });
  });
  await new Promise<void>((done) => front.listen(0, address, done));
  const { port } = front.address() as AddressInfo;
  return {
    port,
    log,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((done) => front.close(() => done()));
    },
  };
}
