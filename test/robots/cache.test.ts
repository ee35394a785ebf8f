import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Random } from '../../src/ports/random.ts';
import { RobotsCache } from '../../src/robots/cache.ts';
import { nextRobotsRecord, ROBOTS_DEFAULTS, type RobotsRecord } from '../../src/robots/policy.ts';
import { bytesOf } from './vectors.ts';

const NOW = 1_800_000_000_000;
const RANDOM: Random = { next: () => 0, int: () => 0, uuid: () => '' };

function recordOf(origin: string, body: string, nowMs = NOW): RobotsRecord {
  return nextRobotsRecord(origin, undefined, { kind: 'response', status: 200, body: bytesOf(body) }, nowMs, RANDOM, ROBOTS_DEFAULTS);
}
const CLOSED = 'User-agent: *\nDisallow: /closed\n';

describe('robots cache', () => {
  it('rules are parsed once and kept with their record (R-D1)', () => {
    const cache = new RobotsCache('FooBot', 1_000_000);
    const record = recordOf('http://a.example', CLOSED);
    cache.put(record);
    const bytesUnparsed = cache.bytes;
    const rules = cache.get('http://a.example')!.rules();
    assert.equal(rules.isAllowed('/closed'), false);
    assert.equal(cache.get('http://a.example')!.rules(), rules);
    assert.equal(cache.get('http://a.example')!.record, record);
    assert.equal(cache.bytes, bytesUnparsed + rules.sizeBytes);
    assert.equal(cache.get('http://b.example'), undefined);
  });

  it('a renewed record with the same body keeps its parsed rules, another body has its own (R-D1)', () => {
    const cache = new RobotsCache('FooBot', 1_000_000);
    const rules = cache.put(recordOf('http://a.example', CLOSED)).rules();
    assert.equal(cache.put(recordOf('http://a.example', CLOSED, NOW + 1)).rules(), rules);
    assert.equal(cache.get('http://a.example')!.record.fetchedAtMs, NOW + 1);
    assert.equal(cache.put(recordOf('http://a.example', 'User-agent: *\nDisallow:\n')).rules().isAllowed('/closed'), true);
    assert.deepEqual([cache.count, cache.evictions], [1, 0]);
  });

  it('the least recently used goes first, and is counted (R-D1)', () => {
    const one = new RobotsCache('FooBot', 1_000_000);
    one.put(recordOf('http://a.example', CLOSED));
    const cache = new RobotsCache('FooBot', 3 * one.bytes);
    for (const name of ['a', 'b', 'c']) cache.put(recordOf(`http://${name}.example`, CLOSED));
    cache.get('http://a.example');
    cache.put(recordOf('http://d.example', CLOSED));
    const held = ['a', 'b', 'c', 'd'].filter((name) => cache.get(`http://${name}.example`) !== undefined);
    assert.deepEqual([held, cache.evictions, cache.count], [['a', 'c', 'd'], 1, 3]);
  });

  it('parsing counts too, and rules that alone pass the bound are answered and not held (R-D1)', () => {
    const lines = Array.from({ length: 200 }, (_, index) => `Disallow: /${index}`);
    const record = recordOf('http://a.example', `User-agent: *\n${lines.join('\n')}`);
    const cache = new RobotsCache('FooBot', 10_000);
    const entry = cache.put(record);
    assert.equal(cache.count, 1);
    assert.equal(entry.rules().isAllowed('/17'), false);
    assert.deepEqual([cache.count, cache.bytes, cache.evictions, cache.get('http://a.example')], [0, 0, 1, undefined]);
    assert.equal(entry.rules().isAllowed('/17'), false, 'a handle outlives its place in the cache');
  });

  it('the bytes are what is held, within the bound, after any calls (R-D1)', () => {
    const call = fc.record({ kind: fc.constantFrom('put', 'get', 'delete', 'rules'), name: fc.nat(9), rules: fc.nat(30) });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 60 }), fc.integer({ min: 500, max: 20_000 }), (calls, bound) => {
        const cache = new RobotsCache('FooBot', bound);
        for (const { kind, name, rules } of calls) {
          const origin = `http://${name}.example`;
          if (kind === 'put') cache.put(recordOf(origin, `User-agent: *\n${`Disallow: /${name}\n`.repeat(rules)}`));
          else if (kind === 'delete') cache.delete(origin);
          else if (kind === 'rules') cache.get(origin)?.rules();
          else assert.equal(cache.get(origin)?.record.origin ?? origin, origin);
          assert.ok(cache.bytes >= 0 && cache.bytes <= bound);
        }
        for (let name = 0; name < 10; name++) cache.delete(`http://${name}.example`);
        assert.deepEqual([cache.bytes, cache.count], [0, 0]);
      }),
    );
  });
});
