/**
 * Serves a generated web with nginx (bodies from the .gz twins for clients that take gzip) until it is told to stop.
 *
 *   node bench/web/serve.ts --web DIR --run RUNDIR [--workers 1]
 */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Nginx, startNginx } from '../../test/support/nginx.ts';
import { readSummary } from './generate.ts';
import { layoutWeb } from './layout.ts';

export function serveWeb(dir: string, runDir: string, workers = 1): Promise<Nginx> {
  const { options } = readSummary(dir);
  const web = layoutWeb(options);
  const root = resolve(dir, 'root');
  const listens = Array.from({ length: options.hosts }, (_, host) => `    listen ${web.address(host)}:${options.port} backlog=1024;`);
  return startNginx({
    runDir,
    workers,
    probe: { address: web.address(0), port: options.port },
    servers: `  gzip_static on; gzip_vary on;
  server {
${listens.join('\n')}
    server_name _;
    root ${root}/$server_addr;
    index index.html;
    default_type text/html;
    charset utf-8;
  }`,
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { web: { type: 'string' }, run: { type: 'string' }, workers: { type: 'string', default: '1' } },
  });
  if (values.web === undefined || values.run === undefined) throw new Error('--web DIR and --run RUNDIR are needed');
  const nginx = await serveWeb(values.web, values.run, Number(values.workers));
  process.stdout.write(`serving; log in ${nginx.accessLog}\n`);
  await new Promise<void>((done) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => done());
  });
  await nginx.stop();
}

if (import.meta.main) await main();
