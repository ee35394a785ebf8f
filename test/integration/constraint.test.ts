/** What limits a crawl, as real crawls measure it: each scarce thing made scarce, and named in the events. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigInput } from '../../src/config/schema.ts';
import type { Constraint } from '../../src/engine/binding-constraint.ts';
import { startDnsServer } from '../support/dns-server.ts';
import { page, type WebHost } from '../support/web-server.ts';
import { crawl, scratch, webFor } from './crawl.ts';

const HOSTS = 24;
const PAGES = 400;

/** Hosts on addresses of their own, or all on one, each with PAGES pages. */
function hosts(count: number, of: Partial<WebHost> = {}): WebHost[] {
  return Array.from({ length: count }, (_, host) => ({
    name: `c${host}.test`,
    address: `127.0.4.${host + 1}`,
    page: ({ path }) =>
      page(
        path,
        Array.from({ length: PAGES }, (_, n) => `/${n}`),
      ),
    ...of,
  }));
}

interface Case {
  readonly scarce: string;
  readonly answer: Constraint;
  readonly hosts: WebHost[];
  readonly config: ConfigInput;
}

const CASES: readonly Case[] = [
  { scarce: 'few hosts with a long pause', answer: 'too-few-hosts', hosts: hosts(3), config: { politeness: { delay: 500 } } },
  {
    scarce: 'one address for all hosts',
    answer: 'address-gate',
    hosts: hosts(HOSTS, { address: '127.0.4.1' }),
    config: { politeness: { delay: 50, addressDelay: 200 } },
  },
  { scarce: 'a low request rate', answer: 'rate', hosts: hosts(HOSTS), config: { politeness: { delay: 50, rate: 8 } } },
  {
    scarce: 'few back queues',
    answer: 'back-queues',
    hosts: hosts(HOSTS),
    config: { politeness: { delay: 300 }, frontier: { backQueues: 4 } },
  },
  { scarce: 'few exchanges at once', answer: 'connections', hosts: hosts(HOSTS, { delayMs: 400 }), config: { fetch: { connections: 4 } } },
  { scarce: 'slow servers', answer: 'servers', hosts: hosts(6, { delayMs: 900 }), config: {} },
];

for (const { scarce, answer, hosts: list, config } of CASES) {
  test(`${scarce}: the answer is ${answer}`, async (t) => {
    const web = await webFor(t, ...list);
    const seeds = list.map((host) => `${web.origin(host.name!)}/`);
    const { events } = await crawl({ web, out: scratch(t), seeds, config, flags: ['--max-time', '6s'] });
    assertSeen(events, answer);
  });
}

test('a slow name server: the answer is dns', async (t) => {
  const list = hosts(HOSTS);
  const web = await webFor(t, ...list);
  const addressOf = new Map(list.map((host) => [host.name, host.address]));
  const dns = await startDnsServer((name) => ({ kind: 'answer', addresses: [addressOf.get(name) ?? ''], delayMs: 2_500 }));
  t.after(() => dns.close());
  const seeds = list.map((host) => `${web.origin(host.name!)}/`);
  const { events } = await crawl({
    out: scratch(t),
    seeds,
    config: { dns: { servers: [dns.server], timeout: 10_000 } },
    flags: ['--max-time', '6s'],
  });
  assertSeen(events, 'dns');
});

function assertSeen(events: readonly Readonly<Record<string, unknown>>[], answer: Constraint): void {
  const seen = new Map<unknown, number>();
  for (const { event, constraint } of events) if (event === 'progress') seen.set(constraint, (seen.get(constraint) ?? 0) + 1);
  assert.ok(
    (seen.get(answer) ?? 0) > 0,
    `${answer} was never the answer: ${JSON.stringify([...seen])} ${JSON.stringify(events.findLast(({ event }) => event === 'progress'))}`,
  );
}
