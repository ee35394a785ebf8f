/**
 * CONNECT through a proxy (RFC 9110 section 9.3.6): asks it for a tunnel to one host and port, and reads its answer up to the empty line. Any 2xx opens
 * the tunnel; bytes behind the head are the server's and are put back. The answer's head is bounded, and its content is not read.
 */
import type net from 'node:net';
import { ConnectFailure } from './connector.ts';

const HEAD_BYTES_MAX = 16_384;
const END_OF_HEAD = '\r\n\r\n';

/** Calls `done` once, without a failure when the tunnel stands. The caller watches the time, and the socket's errors. */
export function openTunnel(
  socket: net.Socket,
  target: string,
  authorization: string | undefined,
  done: (failure: ConnectFailure | undefined) => void,
): void {
  let head = Buffer.alloc(0);
  const end = (failure: ConnectFailure | undefined): void => {
    socket.off('data', onData).off('close', onClose);
    socket.pause();
    done(failure);
  };
  const onClose = (): void => end(new ConnectFailure('connect-failed', 'the proxy closed the connection instead of opening a tunnel'));
  const onData = (bytes: Buffer): void => {
    head = Buffer.concat([head, bytes]);
    const at = head.indexOf(END_OF_HEAD);
    if (at < 0) {
      if (head.length > HEAD_BYTES_MAX) end(new ConnectFailure('connect-failed', 'the proxy answers with a head that does not end'));
      return;
    }
    const [line = ''] = head.toString('latin1', 0, at).split('\r\n');
    const status = Number(/^HTTP\/1\.\d (\d{3})(?: |$)/.exec(line)?.[1] ?? 0);
    socket.off('data', onData);
    const rest = head.subarray(at + END_OF_HEAD.length);
    if (rest.length > 0) socket.unshift(rest);
    end(status >= 200 && status < 300 ? undefined : new ConnectFailure('connect-failed', refusal(status, target)));
  };
  socket.on('data', onData).once('close', onClose);
  const lines = [`CONNECT ${target} HTTP/1.1`, `Host: ${target}`];
  if (authorization !== undefined) lines.push(`Proxy-Authorization: ${authorization}`);
  socket.write(`${lines.join('\r\n')}${END_OF_HEAD}`);
}

function refusal(status: number, target: string): string {
  if (status === 0) return 'the proxy answers with something else than HTTP';
  if (status === 407) return 'the proxy wants a user name and a password, or others (407)';
  return `the proxy opens no tunnel to ${target} (${status})`;
}
