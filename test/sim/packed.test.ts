import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type HostRecord, newHostRecord } from '../../src/core/host.ts';
import { PackedHosts } from '../../src/sim/packed-hosts.ts';
import { PackedRows } from '../../src/sim/packed-rows.ts';

const keyArb = fc.oneof(fc.nat(40), fc.constantFrom(2 ** 22, 2 ** 32 + 3, 2 ** 40 + 3, Number.MAX_SAFE_INTEGER));
const rowArb = fc.uint8Array({ maxLength: 64 });

describe('packed rows', () => {
  test('they agree with a Map under any commands', () => {
    const command = fc.record({ do: fc.constantFrom('set', 'append', 'delete'), key: keyArb, row: rowArb });
    fc.assert(
      fc.property(fc.array(command, { maxLength: 300 }), (commands) => {
        const rows = new PackedRows();
        const model = new Map<number, Buffer>();
        for (const { do: what, key, row } of commands) {
          if (what === 'delete') {
            rows.delete(key);
            model.delete(key);
          } else if (what === 'set') {
            rows.set(key, row);
            model.set(key, Buffer.from(row));
          } else {
            rows.append(key, row);
            model.set(key, Buffer.concat([model.get(key) ?? Buffer.alloc(0), row]));
          }
        }
        assert.equal(rows.count, model.size);
        assert.deepEqual(new Set(rows.keys()), new Set(model.keys()));
        for (const [key, row] of model) assert.deepEqual(Buffer.from(rows.get(key)!), row);
      }),
    );
  });

  test('rows that change their length again and again, and one larger than a slab, are all there after what is dead was cleared away', () => {
    const rows = new PackedRows();
    const large = Buffer.alloc(3_000_000, 7);
    rows.set(5_000, large);
    for (let round = 1; round <= 60; round++)
      for (let key = 0; key < 1_000; key++) rows.set(key, Buffer.alloc(100 + ((round * 37 + key) % 400), (round + key) % 251));
    for (let key = 0; key < 1_000; key += 2) rows.delete(key);
    assert.equal(rows.count, 501);
    for (let key = 1; key < 1_000; key += 2) assert.deepEqual(rows.get(key), Buffer.alloc(100 + ((60 * 37 + key) % 400), (60 + key) % 251));
    assert.ok(rows.get(5_000)!.equals(large));
    // 15 MB were written, 0.15 MB and the large one are alive: no more may be kept than twice that and what is not worth clearing away.
    assert.ok(rows.bytes < 2 * (3_000_000 + 160_000) + 8 * 1_048_576, `${rows.bytes} bytes are kept`);
  });
});

describe('packed hosts', () => {
  test('a host comes back as it was put, whatever its numbers and texts', () => {
    const number = fc.oneof(fc.constant(0), fc.nat(), fc.double({ noNaN: true, min: 1e-9, max: 2 ** 52 }), fc.constant(-1));
    fc.assert(
      fc.property(fc.array(number, { minLength: 50, maxLength: 50 }), fc.nat(254), fc.boolean(), (numbers, length, isOwnDomain) => {
        const key = 'a'.repeat(length);
        let at = 0;
        const fresh = newHostRecord(7, key, isOwnDomain ? key : 'example.org');
        const record: Record<string, unknown> = { ...fresh };
        for (const [name, value] of Object.entries(fresh)) if (typeof value === 'number' && name !== 'id') record[name] = numbers[at++];
        record['queues'] = fresh.queues.map((queue) => Object.fromEntries(Object.keys(queue).map((name) => [name, numbers[at++ % 50]])));
        record['state'] = 'retired';
        record['gapRule'] = 'crawl-delay';
        record['address'] = '192.0.2.1';
        const hosts = new PackedHosts();
        hosts.put(record as unknown as HostRecord);
        assert.deepEqual({ ...hosts.get(7) }, record);
        assert.equal(hosts.idOf(key), 7);
        assert.equal(hosts.get(8), undefined);
      }),
    );
  });

  test('hosts are read in the order of their ids', () => {
    const hosts = new PackedHosts();
    for (const id of [5, 100_000, 1, 70, 2]) hosts.put(newHostRecord(id, `h${id}.example`, 'example'));
    assert.deepEqual(
      [...hosts.all()].map((host) => [host.id, host.key, host.domain]),
      [1, 2, 5, 70, 100_000].map((id) => [id, `h${id}.example`, 'example']),
    );
  });
});
