/**
 * Loaded into the crawler before anything else (NODE_OPTIONS --import): connections to a port of the case's web go to the loopback port that plays
 * it, so that pages live on ports 80 and 443 without privileges and URLs stay as a case has them. Addresses are left alone: what is
 * connected to is what was vetted, and a port that nobody plays is refused.
 */
import net from 'node:net';

const ports = JSON.parse(process.env['CASE_PORTS'] ?? '{}') as Readonly<Record<string, number>>;
const connect = net.Socket.prototype.connect;

interface Target {
  readonly host?: string;
  readonly port?: number;
}

function connectMapped(this: net.Socket, ...args: unknown[]): net.Socket {
  // net.connect hands in its arguments already put in order: [[options, callback]].
  const list = Array.isArray(args[0]) ? args[0] : args;
  const target = list[0] as Target | null;
  const mapped = typeof target === 'object' && target !== null && target.host?.startsWith('127.') ? ports[String(target.port)] : undefined;
  if (mapped !== undefined) list[0] = { ...target, port: mapped };
  return Reflect.apply(connect, this, args) as net.Socket;
}

net.Socket.prototype.connect = connectMapped as typeof connect;
