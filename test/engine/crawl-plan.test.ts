import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ConfigInput, parseConfig } from '../../src/config/schema.ts';
import { PortolanError } from '../../src/core/errors.ts';
import { emptyTotals, type TotalsSnapshot } from '../../src/engine/accounting.ts';
import { gatePlan, shardsOfThread, threadOfShard } from '../../src/engine/crawl-plan.ts';
import { dnsOverrides } from '../../src/engine/dns-overrides.ts';

const config = (input: ConfigInput) => parseConfig({ agent: { contact: 'mailto:test@example.org' }, ...input }, 'test');

const fetched = (counts: Record<string, number>): TotalsSnapshot => ({ ...emptyTotals(), fetched: counts });

test('every shard is run by one thread, the one that messages to it go to', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 16 }), fc.integer({ min: 1, max: 64 }), (threads, shards) => {
      const run = Array.from({ length: threads }, (_, thread) => shardsOfThread(thread, threads, shards));
      assert.deepEqual(
        run.flat().sort((a, b) => a - b),
        Array.from({ length: shards }, (_, shard) => shard),
      );
      run.forEach((own, thread) => {
        for (const shard of own) assert.equal(threadOfShard(shard, threads), thread);
      });
    }),
  );
});

test('a limit of pages counts those of earlier runs, of every shard, and only successes', () => {
  const totals = [fetched({ ok: 3, 'not-found': 7 }), fetched({ truncated: 1, redirect: 2 })];
  assert.equal(gatePlan(config({ limits: { maxPages: 10 } }), () => totals).pagesLeft, 6);
  assert.equal(gatePlan(config({ limits: { maxPages: 2 } }), () => totals).pagesLeft, 0);
});

test('without a limit of pages the state of the shards is not read', () => {
  const plan = gatePlan(config({}), () => assert.fail('read'));
  assert.equal(plan.pagesLeft, -1);
});

test('addresses given by hand: several for one name, IPv6 with and without brackets; anything else is refused', () => {
  const overrides = dnsOverrides(['WWW.example.com:192.0.2.7', 'www.example.com:[2001:db8::1]', 'b.example:2001:db8::2']);
  assert.deepEqual(
    [...overrides],
    [
      ['www.example.com', ['192.0.2.7', '2001:db8::1']],
      ['b.example', ['2001:db8::2']],
    ],
  );
  for (const bad of ['www.example.com', ':192.0.2.7', 'a.example:', 'a.example:b.example', 'a.example:1.2.3', 'a.example:1.2.3.256']) {
    assert.throws(
      () => dnsOverrides([bad]),
      (error) => error instanceof PortolanError && error.code === 'PORTOLAN_CONFIG_INVALID',
      bad,
    );
  }
});
