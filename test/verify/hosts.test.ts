/** Rules of single hosts in the judgement: each is held to its own, and only with the configuration's word (R-C8). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LedgerConfig } from '../../src/output/ledger-config.ts';
import type { Violation } from '../../src/verify/findings.ts';
import { Forge } from './forge.ts';

function finds(forge: Forge, expected: Partial<Record<Violation, number>>): void {
  const report = forge.verify();
  assert.deepEqual(report.violations, expected, report.findings.map(({ text }) => text).join('\n'));
}

const HOSTS: NonNullable<LedgerConfig['hosts']> = {
  'fast.example': { delayMs: 100, addressDelayMs: 100, delayFactor: 0 },
  '*.example': { delayMs: 3_000, addressDelayMs: 1_000 },
  'fast.example:8080': { pageBudget: 2 },
};

function visits(host: string, pauseMs: number, config: Partial<LedgerConfig> = { hosts: HOSTS }): Forge {
  const forge = Forge.begun(config).robots('User-agent: *\nDisallow: /private\n', { host }).wait(10_000);
  for (let n = 0; n < 3; n++) forge.page({ host, path: `/${n}` }).wait(pauseMs);
  return forge;
}

test('a shorter delay is one only where the configuration says so', () => {
  finds(visits('fast.example', 110), {});
  finds(visits('fast.example', 90), { 'host-gap': 2, 'address-gap': 2 });
  finds(visits('fast.example', 110, {}), { 'host-gap': 2, 'address-gap': 2 });
});

test('a longer delay of a domain counts for its hosts', () => {
  finds(visits('other.example', 3_010), {});
  finds(visits('other.example', 2_000), { 'host-gap': 2 });
  finds(visits('elsewhere.test', 1_010), {});
});

test('a page budget of its own', () => {
  finds(visits('fast.example', 110), {});
  finds(visits('fast.example:8080', 110), { 'page-budget': 1 });
});

test('robots.txt is no duty where the configuration sets it aside, and is one everywhere else', () => {
  const config = { hosts: { 'own.example': { robotsIgnored: 'our own site' } } };
  for (const host of ['own.example', 'other.example']) {
    const forge = Forge.begun(config).page({ host, path: '/private' });
    finds(forge, host === 'own.example' ? {} : { 'robots-missing': 1 });
    assert.equal(forge.verify().robotsIgnored, host === 'own.example' ? 1 : 0);
  }
});

test('behind a proxy its address is no address of the hosts, which are each held to their own pause', () => {
  const config = { hosts: { '*.inside.example': { isProxied: true, robotsIgnored: 'our own sites' } } };
  const proxy = { address: '127.0.0.1' };
  const forge = Forge.begun(config)
    .page({ host: 'a.inside.example', ...proxy })
    .wait(10)
    .page({ host: 'b.inside.example', ...proxy });
  finds(forge, {});
  finds(forge.wait(10).page({ host: 'b.inside.example', path: '/2', ...proxy }), { 'host-gap': 1, 'address-gap': 1 });
  finds(Forge.begun(config).page({ host: 'own.example', ...proxy }), { 'forbidden-address': 1, 'robots-missing': 1 });
});
