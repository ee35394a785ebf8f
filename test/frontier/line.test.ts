/** Hosts with slots that wait for one address: who asks, in which order, and that nobody is forgotten. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hashText } from '../../src/frontier/host-index.ts';
import { TextCounts } from '../../src/frontier/text-counts.ts';
import { type Bench, makeBench, urlEntry } from './support.ts';

const ADDRESS = '192.0.2.1';

/** Every host has found the gate shut at 0, until 20. */
function lineOf(hosts: number): Bench {
  const bench = makeBench(hosts);
  const { frontier } = bench;
  for (let number = 0; number < hosts; number++) frontier.add(`h${number}.example`, 'example', urlEntry(number), 0);
  for (let place = 0; place < hosts; place++) assert.equal(frontier.waitInLine(frontier.nextTurn(0)!, ADDRESS, 20, 0), place);
  return bench;
}

test('R-C2 of the hosts that wait for one address only the first asks, and one that is sent back stays the first', () => {
  const { frontier } = lineOf(4);
  assert.equal(frontier.nextTurn(19), undefined);
  const first = frontier.nextTurn(20)!;
  assert.equal(frontier.nextTurn(20), undefined, 'the others do not ask meanwhile');
  assert.equal(frontier.waitInLine(first, ADDRESS, 40, 20), 0);
  assert.equal(frontier.waitUntil(20), 40);
  assert.equal(frontier.nextTurn(40), first);
});

test('R-C2 an address that becomes free is told to the first of its line, however long that was to wait', () => {
  const { frontier } = lineOf(2);
  const first = frontier.nextTurn(20)!;
  frontier.waitInLine(first, ADDRESS, 9_000, 20);
  frontier.addressFree(ADDRESS, 500);
  assert.equal(frontier.waitUntil(20), 501);
  assert.equal(frontier.nextTurn(501), first);
  frontier.addressFree('192.0.2.2', 600);
});

test('R-B5 every host of a line gets its turn, also when those before it go away without using the address', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('fetch', 'sleep', 'again'), { minLength: 5, maxLength: 40 }), (ways) => {
      const { frontier } = lineOf(5);
      const seen = new Set<string>();
      let now = 20;
      for (let step = 0; seen.size < 5; step++) {
        assert.ok(step < 200, 'the line does not stand still');
        const host = frontier.nextTurn(now);
        if (host === undefined) {
          now = frontier.waitUntil(now);
          assert.notEqual(now, Number.POSITIVE_INFINITY, 'somebody in the line has a time');
          continue;
        }
        const way = ways[step] ?? 'fetch';
        if (way === 'again') {
          frontier.waitInLine(host, ADDRESS, now + 50, now);
          continue;
        }
        seen.add(host.record.key);
        if (way === 'sleep') frontier.sleep(host, now + 3_600_000);
        else {
          frontier.peek(host, now);
          frontier.consume(host);
          frontier.endTurn(host, now);
          frontier.addressFree(ADDRESS, now + 100);
        }
      }
    }),
  );
});

test('counts of texts are those of a Map', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3_000), { maxLength: 5_000 }), (numbers) => {
      const counts = new TextCounts();
      const model = new Map<string, number>();
      const hash = new Uint32Array(2);
      for (const number of numbers) {
        const text = `site${number}.example`;
        hashText(text, 5, hash);
        counts.add(hash[0]!, hash[1]!);
        model.set(text, (model.get(text) ?? 0) + 1);
      }
      assert.equal(counts.texts, model.size);
      for (const [text, count] of model) {
        hashText(text, 5, hash);
        assert.equal(counts.get(hash[0]!, hash[1]!), count);
      }
    }),
    { numRuns: 30 },
  );
});
