/** What is remembered of addresses that hosts have left, and for how long (R-C2). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LeftAddresses } from '../../src/engine/left-addresses.ts';

describe('R-C2 addresses that a host has left', () => {
  test('are kept until their delay is over, by the rule of their host, and forgotten then', () => {
    const left = new LeftAddresses();
    left.add('a.example', '192.0.2.1', 1_000);
    left.add('a.example', '192.0.2.2', 1_500);
    left.add('slow.example', '192.0.2.1', 1_000);
    left.add('new.example', '', 1_000);
    const delayMs = (host: string): number => (host === 'slow.example' ? 60_000 : 1_000);
    assert.deepEqual(left.owed(1_999, delayMs), [
      ['a.example', '192.0.2.1', 1_000],
      ['a.example', '192.0.2.2', 1_500],
      ['slow.example', '192.0.2.1', 1_000],
    ]);
    left.add('a.example', '192.0.2.1', 5_000);
    assert.deepEqual(left.owed(5_000, delayMs), [
      ['a.example', '192.0.2.1', 5_000],
      ['slow.example', '192.0.2.1', 1_000],
    ]);
    assert.deepEqual(left.owed(61_000, delayMs), []);
  });
});
