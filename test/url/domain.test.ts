import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DomainTable, hasKnownSuffix, registrableDomain, shardOf } from '../../src/url/index.ts';

test('R-M1 the registrable domain is public suffix + 1, private suffixes included; what has none is itself', () => {
  const cases = [
    ['www.example.com', 'example.com'],
    ['a.b.example.co.uk', 'example.co.uk'],
    ['user.github.io', 'user.github.io'],
    ['x.user.github.io', 'user.github.io'],
    ['github.io', 'github.io'],
    ['co.uk', 'co.uk'],
    ['localhost', 'localhost'],
    ['wiki.corp', 'wiki.corp'],
    ['a.b.shop.test', 'a.b.shop.test'],
    ['127.0.0.1', '127.0.0.1'],
    ['[2001:db8::1]', '[2001:db8::1]'],
    ['xn--bcher-kva.de', 'xn--bcher-kva.de'],
    ['www.xn--bcher-kva.de', 'xn--bcher-kva.de'],
    ['a_b.example.com', 'example.com'],
  ] as const;
  const table = new DomainTable();
  for (const [host, domain] of cases) {
    assert.equal(registrableDomain(host), domain);
    assert.equal(table.registrableDomain(host), domain);
    assert.equal(table.registrableDomain(host), domain);
  }
  assert.ok(hasKnownSuffix('www.example.com') && hasKnownSuffix('github.io'));
  assert.ok(!hasKnownSuffix('wiki.corp') && !hasKnownSuffix('127.0.0.1') && !hasKnownSuffix('[::1]'));
});

test('R-M1 the table of domains never holds more than its capacity', () => {
  const table = new DomainTable(100);
  for (let i = 0; i < 1_000; i++) {
    assert.equal(table.registrableDomain(`h${i}.example.com`), 'example.com');
    assert.ok(table.size <= 100);
  }
});

test('R-M1 shard function version 1 gives these shards for ever', () => {
  const domains = ['example.com', 'example.org', 'xn--bcher-kva.de', '127.0.0.1', ''];
  assert.deepEqual(
    domains.map((domain) => [shardOf(domain, 4), shardOf(domain, 256)]),
    [
      [3, 241],
      [2, 164],
      [0, 32],
      [2, 141],
      [2, 171],
    ],
  );
});
test('R-M1 domains spread evenly over any number of shards, even when their names differ by one digit', () => {
  for (const shards of [1, 3, 4, 256]) {
    const counts = new Array<number>(shards).fill(0);
    const domains = 200 * shards;
    for (let i = 0; i < domains; i++) counts[shardOf(`site${i}.example`, shards)]!++;
    const chiSquare = counts.reduce((sum, count) => sum + (count - 200) ** 2 / 200, 0);
    // Mean shards − 1, standard deviation sqrt(2 (shards − 1)): five deviations above.
    assert.ok(chiSquare <= shards - 1 + 5 * Math.sqrt(2 * (shards - 1)) + 1e-9, `${shards} shards: ${chiSquare}`);
  }
});
