/**
 * How long from the start of the process to its first request, and what a whole crawl of one page costs: each run a new process, a new directory and a
 * loopback server. Prints the median of `--runs` (default 15). A benchmark, not a test: an idle machine is needed for the figure of the README.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { portolan, start } from '../test/support/process.ts';

const at = process.argv.indexOf('--runs');
const runs = at < 0 ? 15 : Number(process.argv[at + 1]);
let firstRequestAt = 0;
const server = createServer((request, response) => {
  if (firstRequestAt === 0) firstRequestAt = performance.now();
  response.statusCode = request.url === '/' ? 200 : 404;
  response.setHeader('Content-Type', 'text/html');
  response.end('<title>start</title>');
});
await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const firsts: number[] = [];
const wholes: number[] = [];
for (let run = 0; run <= runs; run++) {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-start-'));
  firstRequestAt = 0;
  const begun = performance.now();
  const { command, args } = portolan('crawl', url, '--out', join(dir, 'out'), '--allow-net', '127.0.0.0/8', '--delay', '0', '--quiet');
  await start(command, args).ended;
  // The first run fills the compile cache.
  if (run > 0) {
    firsts.push(firstRequestAt - begun);
    wholes.push(performance.now() - begun);
  }
  rmSync(dir, { recursive: true });
}
server.close();
const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
console.log(
  `first request after ${median(firsts).toFixed(0)} ms, whole crawl of one page ${median(wholes).toFixed(0)} ms (median of ${runs}; min ${Math.min(...firsts).toFixed(0)})`,
);
