/**
 * nginx as a child process on loopback addresses, with a log that a judge can read. One worker unless told otherwise.
 *
 * Log line: end (epoch s, ms resolution), address:port, status, body bytes, content encoding or "-", connection number, "path and query as sent",
 * "user agent", duration in s, "Host header". nginx reads the clock once per turn of its event loop, so times may be late by a few milliseconds.
 * It serves loopback clients only. It does not install nginx: scripts/install-debian.sh does.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface NginxOptions {
  /** Directory of its own: configuration, logs, pid. Made when missing. */
  readonly runDir: string;
  /** `server { … }` blocks. */
  readonly servers: string;
  /** Where to knock to learn that it is up. */
  readonly probe: { readonly address: string; readonly port: number };
  readonly workers?: number;
}

export interface Nginx {
  readonly accessLog: string;
  readonly pid: number;
  /** Starts an empty access log; the old one is complete on return and its path is the answer. */
  rotate(): Promise<string>;
  /** Stops it; the access log is complete on return. Idempotent. */
  stop(): Promise<void>;
}

const START_DEADLINE_MS = 10_000;
const STOP_DEADLINE_MS = 5_000;

export async function startNginx(options: NginxOptions): Promise<Nginx> {
  const runDir = resolve(options.runDir);
  mkdirSync(join(runDir, 'tmp'), { recursive: true });
  chmodSync(runDir, 0o755);
  const accessLog = join(runDir, 'access.log');
  writeFileSync(accessLog, '');
  writeFileSync(join(runDir, 'nginx.conf'), configuration(runDir, options));
  const child = spawn('nginx', ['-c', join(runDir, 'nginx.conf'), '-p', runDir, '-e', join(runDir, 'error.log')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (piece: Buffer) => {
    if (said.length < 4_000) said += piece.toString();
  });
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (cause) => reject(new Error('nginx cannot be started; scripts/install-debian.sh installs it', { cause })));
    child.once('exit', (code) => reject(new Error(`nginx ended with ${code}: ${said}${errorLog(runDir)}`)));
  });
  failed.catch(() => {});
  await Promise.race([failed, untilAnswers(options.probe.address, options.probe.port)]);
  const pid = child.pid ?? 0;
  let rotations = 0;
  return {
    accessLog,
    pid,
    rotate: async () => {
      const old = join(runDir, `access.${++rotations}.log`);
      renameSync(accessLog, old);
      child.kill('SIGUSR1');
      await untilSettled(accessLog, old);
      return old;
    },
    stop: () => stopChild(child),
  };
}

function configuration(runDir: string, options: NginxOptions): string {
  const asRoot = process.getuid?.() === 0 ? 'user root;\n' : '';
  return `${asRoot}daemon off;
worker_processes ${options.workers ?? 1};
pid ${runDir}/nginx.pid;
worker_rlimit_nofile 16384;
events { worker_connections 8192; multi_accept on; }
http {
  default_type application/octet-stream;
  types {
    text/html html htm; application/xhtml+xml xhtml; text/plain txt py c h; text/css css; application/javascript js; application/xml xml;
    image/png png; image/gif gif; image/jpeg jpg jpeg; image/svg+xml svg; application/json json; application/pdf pdf;
  }
  sendfile on; tcp_nopush on; tcp_nodelay on;
  keepalive_timeout 120s; keepalive_requests 1000000;
  server_tokens off; reset_timedout_connection on; absolute_redirect off;
  client_body_temp_path ${runDir}/tmp; proxy_temp_path ${runDir}/tmp; fastcgi_temp_path ${runDir}/tmp; uwsgi_temp_path ${runDir}/tmp; scgi_temp_path ${runDir}/tmp;
  log_format judged '$msec $server_addr:$server_port $status $body_bytes_sent $sent_http_content_encoding $connection "$request_uri" "$http_user_agent" $request_time "$http_host"';
  access_log ${runDir}/access.log judged buffer=1m flush=1s;
  allow 127.0.0.0/8; deny all;
${options.servers}
}
`;
}

function errorLog(runDir: string): string {
  const path = join(runDir, 'error.log');
  return existsSync(path) ? readFileSync(path, 'utf8').slice(-2_000) : '';
}

async function untilAnswers(address: string, port: number): Promise<void> {
  for (const deadline = Date.now() + START_DEADLINE_MS; ; ) {
    const open = await new Promise<boolean>((done) => {
      const socket = connect(port, address, () => {
        socket.destroy();
        done(true);
      });
      socket.on('error', () => done(false));
    });
    if (open) return;
    if (Date.now() > deadline) throw new Error(`no answer from ${address}:${port}`);
    await sleep(30);
  }
}

/** The master opens the new file, then each worker writes out its buffer into the old one and follows. */
async function untilSettled(fresh: string, old: string): Promise<void> {
  for (let i = 0; i < 100 && !existsSync(fresh); i++) await sleep(20);
  let size = -1;
  for (let i = 0; i < 50; i++) {
    await sleep(100);
    const now = statSync(old).size;
    if (now === size) return;
    size = now;
  }
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  child.kill('SIGQUIT');
  const late = sleep(STOP_DEADLINE_MS, 'late', { ref: false });
  if ((await Promise.race([ended, late])) === 'late') child.kill('SIGTERM');
  await ended;
}
