/**
 * A forward proxy on a loopback address: absolute-form requests for http, CONNECT tunnels for https. It resolves every name to one upstream address, as the
 * proxy of an intranet knows names that nobody else does, and keeps the request lines and headers that it was given.
 */
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';

export interface ProxyRequest {
  /** `GET http://…` or `CONNECT host:port`. */
  readonly line: string;
  readonly headers: http.IncomingHttpHeaders;
}

export interface Proxy {
  readonly port: number;
  readonly requests: readonly ProxyRequest[];
  close(): Promise<void>;
}

export interface ProxyOptions {
  readonly address: string;
  /** Where every name leads to; the port of the request stays. */
  readonly upstream: string;
  /** Value of Proxy-Authorization without which it answers 407. */
  readonly authorization?: string;
  /** TLS to the proxy itself. */
  readonly pair?: { readonly key: Buffer; readonly cert: Buffer };
}

export async function startProxy(options: ProxyOptions): Promise<Proxy> {
  const requests: ProxyRequest[] = [];
  const sockets = new Set<net.Socket>();
  const isAllowed = (headers: http.IncomingHttpHeaders): boolean =>
    options.authorization === undefined || headers['proxy-authorization'] === options.authorization;
  const server = options.pair === undefined ? http.createServer() : https.createServer(options.pair);
  server.on('request', (request, response) => {
    requests.push({ line: `${request.method} ${request.url}`, headers: request.headers });
    if (!isAllowed(request.headers)) {
      response.writeHead(407, { 'proxy-authenticate': 'Basic realm="proxy"' }).end('who are you?');
      return;
    }
    const { pathname, search, port } = new URL(request.url ?? '');
    const { 'proxy-authorization': _own, ...headers } = request.headers;
    const onward = http.get({ host: options.upstream, port, path: pathname + search, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
  });
  server.on('connect', (request, socket: net.Socket) => {
    requests.push({ line: `CONNECT ${request.url}`, headers: request.headers });
    socket.on('error', () => {});
    if (!isAllowed(request.headers)) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const port = Number((request.url ?? '').split(':').at(-1));
    const onward = net.connect({ host: options.upstream, port }, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
    sockets.add(onward);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((done) => server.listen(0, options.address, done));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((done) => server.close(() => done()));
    },
  };
}
