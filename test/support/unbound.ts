/**
 * unbound as the name server of a test: answers for the given names, and NXDOMAIN for all others; loopback only, UDP and TCP, no root needed.
 * It asks nobody else. It does not install unbound: scripts/install-debian.sh does.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Unbound {
  /** For --dns. */
  readonly server: string;
  stop(): Promise<void>;
}

const START_DEADLINE_MS = 10_000;
const TTL_S = 60;

export async function startUnbound(options: {
  readonly dir: string;
  readonly port: number;
  /** Name → address. */
  readonly names: Iterable<readonly [string, string]>;
}): Promise<Unbound> {
  const dir = resolve(options.dir);
  mkdirSync(dir, { recursive: true });
  const records = [...options.names].map(([name, address]) => `  local-data: "${name}. ${TTL_S} IN A ${address}"`);
  writeFileSync(
    join(dir, 'unbound.conf'),
    `server:
  interface: 127.0.0.1@${options.port}
  access-control: 127.0.0.0/8 allow
  do-ip6: no
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "${dir}"
  pidfile: "${dir}/unbound.pid"
  logfile: "${dir}/unbound.log"
  use-syslog: no
  num-threads: 1
  so-rcvbuf: 0
  module-config: "iterator"
  local-zone: "." static
${records.join('\n')}
remote-control:
  control-enable: no
`,
  );
  const child = spawn('unbound', ['-d', '-c', join(dir, 'unbound.conf')], {
    stdio: 'ignore',
    env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` },
  });
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (cause) => reject(new Error('unbound cannot be started; scripts/install-debian.sh installs it', { cause })));
    child.once('exit', (code) =>
      reject(new Error(`unbound ended with ${code}: ${readFileSync(join(dir, 'unbound.log'), 'utf8').slice(-1_000)}`)),
    );
  });
  failed.catch(() => {});
  await Promise.race([failed, untilListens(options.port)]);
  return {
    server: `127.0.0.1:${options.port}`,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function untilListens(port: number): Promise<void> {
  for (const deadline = Date.now() + START_DEADLINE_MS; Date.now() < deadline; await sleep(30)) {
    const open = await new Promise<boolean>((done) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        done(true);
      });
      socket.on('error', () => done(false));
    });
    if (open) return;
  }
  throw new Error(`unbound does not listen on port ${port}`);
}
