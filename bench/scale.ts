/**
 * What a page costs when much waits: 10^6 queued URLs over 10^5 hosts against 10^4 over 10^3 (the bound is 1.2 times). Both crawls fetch the same number of
 * pages from as many hosts, robots.txt included; admission and start are measured apart and taken off. Hosts are loopback addresses.
 * Options: --pages N (default 900), --large HOSTS (default 100000), --runs N (default 3).
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { portolan } from '../test/support/process.ts';
import { measure } from './measure.ts';

const URLS_PER_HOST = 10;
const option = (name: string, fallback: number): number => {
  const at = process.argv.indexOf(name);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
};
const pages = option('--pages', 900);
const runs = option('--runs', 3);
const large = option('--large', 100_000);

const server = createServer((request, response) => {
  if (request.url === '/robots.txt') response.writeHead(404).end();
  else response.writeHead(200, { 'Content-Type': 'text/html' }).end(`<title>${request.url}</title><p>A page of ${request.headers.host}`);
});
await new Promise<void>((listening) => server.listen(0, '0.0.0.0', listening));
const { port } = server.address() as AddressInfo;

async function costPerPage(hosts: number): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'portolan-scale-'));
  try {
    const seeds: string[] = [];
    for (let host = 0; host < hosts; host++) {
      const address = `127.${2 + (host >> 16)}.${(host >> 8) & 255}.${host & 255}`;
      for (let page = 0; page < URLS_PER_HOST; page++) seeds.push(`http://${address}:${port}/section/page-${page}.html`);
    }
    writeFileSync(join(dir, 'seeds.txt'), seeds.join('\n'));
    const base = [
      '--out',
      join(dir, 'out'),
      '--scope',
      'web',
      '--contact',
      'bench@example.org',
      '--allow-net',
      '127.0.0.0/8',
      '--delay',
      '20ms',
      '--delay-factor',
      '0',
      '--quiet',
    ];
    const run = async (limit: number, ...more: string[]): Promise<number> => {
      const { command, args } = portolan('crawl', ...base, '--max-pages', String(limit), ...more);
      const cost = await measure(command, args, { outputFile: join(dir, 'out.txt') });
      if (cost.code !== 0) throw new Error(`the crawl ended with ${cost.code}: ${readFileSync(join(dir, 'out.txt'), 'utf8')}`);
      return cost.userS + cost.systemS;
    };
    await run(1, '--seeds', join(dir, 'seeds.txt'));
    const opening = await run(1);
    const whole = await run(1 + pages);
    return ((whole - opening) * 1_000) / pages;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

const ratios: number[] = [];
for (let run = 0; run < runs; run++) {
  const small = await costPerPage(Math.round(large / 100));
  const many = await costPerPage(large);
  ratios.push(many / small);
  console.log(
    `${large / 100} hosts: ${small.toFixed(3)} ms CPU a page; ${large} hosts: ${many.toFixed(3)} ms; ratio ${(many / small).toFixed(2)}`,
  );
}
server.close();
ratios.sort((a, b) => a - b);
console.log(`ratio ${ratios[Math.floor(ratios.length / 2)]!.toFixed(2)} (median of ${runs}; bound 1.2)`);
