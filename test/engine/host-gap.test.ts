import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseConfig } from '../../src/config/schema.ts';
import { newHostRecord } from '../../src/core/host.ts';
import type { ThreadContext } from '../../src/engine/context.ts';
import { HostDelays } from '../../src/engine/host-delays.ts';
import { gapOwed, raiseGap } from '../../src/engine/host-gap.ts';
import { HostRuleTable } from '../../src/engine/host-rules.ts';

const config = parseConfig({ seeds: ['http://a.test/'], politeness: { delay: 1_000, delayFactor: 0, crawlDelayMax: 60_000 } }, 'test');
const context = {
  config,
  hostDelays: { current: new HostDelays({}) },
  hostRules: new HostRuleTable(config, '0'),
} as unknown as ThreadContext;

test('R-C3: a Crawl-delay that is learnt while 503s are in force is doubled as often as the delay was', () => {
  const record = newHostRecord(1, 'a.test', 'a.test');
  record.backoff = 4;
  Object.assign(record, gapOwed(context, record));
  assert.equal(record.owedMs, 16_000);
  record.crawlDelayMs = 3_000;
  assert.equal(raiseGap(context, record), true);
  assert.equal(record.owedMs, 48_000);
  assert.equal(raiseGap(context, record), false);
});

test('what is owed already is never lowered, and a Crawl-delay over the bound is nobody’s pause', () => {
  const record = newHostRecord(1, 'a.test', 'a.test');
  record.owedMs = 120_000;
  record.gapRule = 'retry-after';
  record.crawlDelayMs = 3_000;
  assert.equal(raiseGap(context, record), false);
  assert.equal(record.owedMs, 120_000);
  record.owedMs = 1_000;
  record.crawlDelayMs = 61_000;
  assert.equal(raiseGap(context, record), false);
});

test('a delay that is set for the host is doubled as well', () => {
  const set = { ...context, hostDelays: { current: new HostDelays({ 'a.test': 5_000 }) } } as unknown as ThreadContext;
  const record = newHostRecord(1, 'a.test', 'a.test');
  record.backoff = 2;
  record.owedMs = 4_000;
  assert.equal(raiseGap(set, record), true);
  assert.equal(record.owedMs, 20_000);
});
