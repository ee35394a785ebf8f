/** Delays that were set while a crawl ran stand in the ledger's configuration, and the judge holds each host to its own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LedgerConfig } from '../../src/output/ledger-config.ts';
import { Forge } from './forge.ts';

const ALLOW = 'User-agent: *\nAllow: /\n';

/** Violations of a crawl that waits so long between two pages of a host. */
function violations(host: string, waitedMs: number, config: Partial<LedgerConfig>, robots = ALLOW): Readonly<Record<string, number>> {
  const forge = Forge.begun({ addressDelayMs: 0, ...config });
  forge.robots(robots, { host }).wait(400_000).page({ host }).wait(waitedMs).page({ host, path: '/next' });
  return forge.mark().verify().violations;
}

function owes(host: string, owedMs: number, config: Partial<LedgerConfig>, robots?: string): void {
  assert.deepEqual(violations(host, owedMs, config, robots), {}, `${host} after ${owedMs} ms`);
  assert.deepEqual(violations(host, owedMs * 0.9, config, robots), { 'host-gap': 1 }, `${host} before ${owedMs} ms`);
}

test('a delay that was set for a host, its port or its domain is owed, the closest one', () => {
  const hostDelaysMs = { 'a.example': 5_000, 'a.example:81': 7_000, '*.example': 3_000, '10.0.0.9': 4_000 };
  owes('a.example', 5_000, { hostDelaysMs });
  owes('a.example:8080', 5_000, { hostDelaysMs });
  owes('a.example:81', 7_000, { hostDelaysMs });
  owes('www.a.example', 3_000, { hostDelaysMs });
  owes('example', 3_000, { hostDelaysMs });
  owes('10.0.0.9', 4_000, { hostDelaysMs });
  owes('other.test', 1_000, { hostDelaysMs });
});

test('a shorter one counts as well, but never against Crawl-delay or a slow answer', () => {
  const hostDelaysMs = { 'a.example': 200 };
  owes('a.example', 200, { hostDelaysMs, delayFactor: 0 });
  owes('a.example', 6_000, { hostDelaysMs, delayFactor: 0 }, 'User-agent: *\nCrawl-delay: 6\n');
});

test('what is set while a crawl runs is owed from the second fetch after it at the latest', () => {
  const host = 'a.example';
  const forge = Forge.begun({ addressDelayMs: 0, delayFactor: 0 }).robots(ALLOW, { host }).wait(400_000).page({ host });
  forge.config = { ...forge.config, hostDelaysMs: { [host]: 5_000 } };
  forge.writeRules().wait(1_000).page({ host, path: '/2' }).wait(1_000).page({ host, path: '/3' });
  assert.deepEqual(forge.mark().verify().violations, { 'host-gap': 1 });
});
