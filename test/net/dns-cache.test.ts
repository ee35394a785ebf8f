import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNodeResolver } from '../../src/adapters/node/resolver.ts';
import type { MonoMs } from '../../src/core/time.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/time.ts';
import { createAddressGuard } from '../../src/net/address-guard.ts';
import type { DnsCacheOptions, DnsEntry } from '../../src/net/dns-cache.ts';
import { ADDRESSES_MAX, DnsCache } from '../../src/net/dns-cache.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { DnsReply, DnsServer } from '../support/dns-server.ts';
import { startDnsServer } from '../support/dns-server.ts';

interface Bench {
  readonly cache: DnsCache;
  readonly dns: DnsServer;
  advance(ms: number): void;
}

/** A cache over a real resolver and a real name server; only time is made by hand. */
async function withCache(
  script: (name: string, type: string, nth: number) => DnsReply | undefined,
  options: Partial<DnsCacheOptions>,
  body: (bench: Bench) => Promise<void>,
): Promise<void> {
  const dns = await startDnsServer(script);
  const resolver = createNodeResolver({ servers: [dns.server], timeoutMs: 400 });
  let now: MonoMs = 1_000;
  const clock: Clock = { nowEpochMs: () => 0, nowMonoMs: () => now, setTimer: () => () => {} };
  const cache = new DnsCache({ resolver, clock, guard: createAddressGuard({ allowNets: [] }), ...options });
  try {
    await body({ cache, dns, advance: (ms) => (now += ms) });
  } finally {
    resolver.close();
    await dns.close();
  }
}

const publicAnswer = (ttlS: number): DnsReply => ({ kind: 'answer', addresses: ['93.184.216.34', '2606:2800:220:1::1'], ttlS });
const isPromise = (value: DnsEntry | Promise<DnsEntry>): value is Promise<DnsEntry> => value instanceof Promise;

test('R-E1 look-ups of one name that are under way share one question of each family', async () => {
  await withCache(
    () => publicAnswer(60),
    {},
    async ({ cache, dns }) => {
      const entries = await Promise.all(Array.from({ length: 50 }, () => cache.lookup('a.test')));
      assert.deepEqual(entries[0]?.allowed, ['93.184.216.34', '2606:2800:220:1::1']);
      assert.equal(new Set(entries).size, 1);
      assert.deepEqual([...dns.questions].sort(), ['A a.test', 'AAAA a.test']);
      assert.equal(cache.stats().joined, 49);
    },
  );
});

test('R-E2 a hit is answered without a promise, and the hit rate is counted', async () => {
  await withCache(
    () => publicAnswer(60),
    {},
    async ({ cache }) => {
      await cache.lookup('a.test');
      for (let index = 0; index < 97; index += 1) assert.equal(isPromise(cache.lookup('a.test')), false);
      const { hits, misses, entries, inFlight } = cache.stats();
      assert.deepEqual({ hits, misses, entries, inFlight }, { hits: 97, misses: 1, entries: 1, inFlight: 0 });
    },
  );
});

test('R-E2 an answer is kept past a short TTL up to the floor, and a long TTL ends at the ceiling', async () => {
  await withCache(
    (name) => publicAnswer(name === 'short.test' ? 1 : 30 * 86_400),
    {},
    async ({ cache, advance }) => {
      await cache.lookup('short.test');
      await cache.lookup('long.test');
      advance(10 * MINUTE_MS - 1);
      assert.equal(isPromise(cache.lookup('short.test')), false);
      advance(1);
      const again = cache.lookup('short.test');
      assert.equal(isPromise(again), true);
      await again;
      advance(DAY_MS - 10 * MINUTE_MS - 1);
      assert.equal(isPromise(cache.lookup('long.test')), false);
      advance(1);
      const asked = cache.lookup('long.test');
      assert.equal(isPromise(asked), true);
      await asked;
    },
  );
});

test('R-E2 with a floor of 0 the TTL decides', async () => {
  await withCache(
    () => publicAnswer(3_600),
    { ttlMinMs: 0 },
    async ({ cache, advance }) => {
      await cache.lookup('a.test');
      advance(HOUR_MS - 1);
      assert.equal(isPromise(cache.lookup('a.test')), false);
      advance(1);
      const asked = cache.lookup('a.test');
      assert.equal(isPromise(asked), true);
      await asked;
    },
  );
});

test('R-E2 failures are remembered briefly: not-found for minutes, others for seconds', async () => {
  await withCache(
    (name) => ({ kind: name === 'servfail.test' ? 'servfail' : name === 'dead.test' ? 'silence' : 'nxdomain' }),
    {},
    async ({ cache, dns, advance }) => {
      assert.equal((await cache.lookup('none.test')).kind, 'not-found');
      assert.equal((await cache.lookup('servfail.test')).kind, 'failed');
      assert.equal((await cache.lookup('dead.test')).kind, 'timeout');
      advance(30_000 - 1);
      const asked = dns.questions.length;
      for (const name of ['none.test', 'servfail.test', 'dead.test']) assert.equal(isPromise(cache.lookup(name)), false, name);
      assert.equal(dns.questions.length, asked);
      advance(1);
      const servfail = cache.lookup('servfail.test');
      assert.equal(isPromise(servfail), true);
      await servfail;
      assert.equal(isPromise(cache.lookup('none.test')), false);
      advance(5 * MINUTE_MS);
      const none = cache.lookup('none.test');
      assert.equal(isPromise(none), true);
      await none;
      assert.equal(cache.stats().failed, 5);
    },
  );
});

test('R-E3 refused addresses are kept apart from allowed ones, with the reason', async () => {
  await withCache(
    () => ({ kind: 'answer', addresses: ['10.0.0.1', '93.184.216.34', '169.254.169.254', '::1', '64:ff9b::127.0.0.1'] }),
    {},
    async ({ cache }) => {
      const entry = await cache.lookup('mixed.test');
      assert.deepEqual(entry.allowed, ['93.184.216.34']);
      assert.deepEqual(entry.refused.map((one) => one.range).sort(), ['loopback', 'metadata', 'nat64:loopback', 'private']);
      assert.equal(cache.stats().refused, 4);
    },
  );
});

test('R-E3 a name that answers with another address each time is connected to only where it was vetted', async () => {
  await withCache(
    (_name, type, nth) => ({ kind: 'answer', addresses: type === 'A' ? [nth === 0 ? '93.184.216.34' : '127.0.0.1'] : [], ttlS: 0 }),
    {},
    async ({ cache, advance }) => {
      const first = await cache.lookup('rebind.test');
      assert.deepEqual(first.allowed, ['93.184.216.34']);
      assert.equal(cache.lookup('rebind.test'), first, 'within its life the vetted answer stands');
      advance(10 * MINUTE_MS);
      const second = await cache.lookup('rebind.test');
      assert.deepEqual(second.allowed, []);
      assert.deepEqual(second.refused, [{ address: '127.0.0.1', range: 'loopback' }]);
    },
  );
});

test('R-E3 IP literals and overrides ask nobody and are vetted all the same', async () => {
  const overrides = new Map([['here.test', ['127.0.0.1', '93.184.216.34']]]);
  await withCache(
    () => publicAnswer(60),
    { overrides },
    async ({ cache, dns }) => {
      const literal = cache.lookup('8.8.8.8');
      assert.equal(isPromise(literal), false);
      assert.deepEqual((await literal).allowed, ['8.8.8.8']);
      assert.deepEqual((await cache.lookup('127.0.0.1')).allowed, []);
      assert.deepEqual((await cache.lookup('[::1]')).refused, [{ address: '::1', range: 'loopback' }]);
      assert.deepEqual((await cache.lookup('here.test')).allowed, ['93.184.216.34']);
      assert.deepEqual(dns.questions, []);
    },
  );
});

test('R-E2 a full cache lets go of the name that was not used for longest, and counts it', async () => {
  await withCache(
    () => publicAnswer(60),
    { entriesMax: 3 },
    async ({ cache }) => {
      for (const name of ['a.test', 'b.test', 'c.test']) await cache.lookup(name);
      await cache.lookup('a.test');
      await cache.lookup('d.test');
      assert.equal(isPromise(cache.lookup('a.test')), false);
      assert.equal(cache.stats().evicted, 1);
      assert.equal(cache.stats().entries, 3);
      const b = cache.lookup('b.test');
      assert.equal(isPromise(b), true);
      await b;
    },
  );
});

test('a name with very many addresses keeps a bounded number of them', async () => {
  const addresses = Array.from({ length: 24 }, (_, index) => `93.184.216.${index + 1}`);
  await withCache(
    () => ({ kind: 'answer', addresses }),
    {},
    async ({ cache }) => {
      assert.equal((await cache.lookup('many.test')).allowed.length, ADDRESSES_MAX);
    },
  );
});
