/** What every AddressGate promises (src/ports/address-gate.ts). `holders` gates share one memory, each with a holder of its own. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { AddressGate } from '../../src/ports/address-gate.ts';

export interface GateOptions {
  readonly slots: number;
  readonly ratePerS: number;
  readonly pagesLeft: number;
}

/** How late a request may come, at most, without the next one being later for it: the rate is exact but for this. */
export const RATE_CREDIT_MS = 10;

const NOW = 1_700_000_000_000;

export function addressGateContract(name: string, makeGates: (options: GateOptions, holders: number) => readonly AddressGate[]): void {
  const gates = (parts: Partial<GateOptions> = {}, holders = 2): readonly AddressGate[] =>
    makeGates({ slots: 4, ratePerS: 0, pagesLeft: -1, ...parts }, holders);

  describe(`AddressGate contract: ${name}`, () => {
    test('R-C2 an address has one holder; others are told a later time, and its own holder is not let in twice', () => {
      const [one, other] = gates();
      assert.equal(one!.tryAcquire('192.0.2.1', NOW), 'held');
      for (const gate of [one!, other!]) {
        const again = gate.tryAcquire('192.0.2.1', NOW);
        assert.ok(typeof again === 'number' && again > NOW, `${again}`);
      }
      assert.equal(other!.tryAcquire('192.0.2.2', NOW), 'held', 'another address is free');
    });

    test('R-C2 after the release the address owes its gap, to everybody, to the millisecond', () => {
      const [one, other] = gates();
      one!.tryAcquire('a', NOW);
      one!.release('a', NOW + 1_000);
      for (const gate of [one!, other!]) {
        assert.equal(gate.tryAcquire('a', NOW), NOW + 1_000);
        assert.equal(gate.tryAcquire('a', NOW + 999), NOW + 1_000);
      }
      assert.equal(other!.tryAcquire('a', NOW + 1_000), 'held');
    });

    test('R-C2 only the holder releases', () => {
      const [one, other] = gates();
      one!.tryAcquire('a', NOW);
      other!.release('a', NOW);
      assert.notEqual(other!.tryAcquire('a', NOW + 5), 'held');
      one!.release('a', NOW + 10);
      one!.release('a', NOW); // a second release of one holding
      assert.equal(other!.tryAcquire('a', NOW + 9), NOW + 10);
    });

    test('R-C8 a debt owed at the opening holds, and a smaller one does not lower it', () => {
      const [one, other] = gates();
      one!.owe('a', NOW + 5_000);
      one!.owe('a', NOW + 1_000);
      assert.equal(other!.tryAcquire('a', NOW), NOW + 5_000);
      other!.owe('a', NOW + 6_000);
      assert.equal(one!.tryAcquire('a', NOW + 5_500), NOW + 6_000);
      assert.equal(one!.tryAcquire('a', NOW + 6_000), 'held');
      other!.owe('a', NOW + 9_000);
      assert.notEqual(other!.tryAcquire('a', NOW + 10_000), 'held', 'a debt frees nobody’s holding');
    });

    test('R-C2 a fraction of a millisecond is not given away', () => {
      const [gate] = gates();
      gate!.tryAcquire('a', NOW);
      gate!.release('a', NOW + 1_000.2);
      assert.equal(gate!.tryAcquire('a', NOW + 1_000), NOW + 1_001);
    });

    test('R-B2 slots: as many as the pool has, over all holders, and what is given back can be taken', () => {
      const [one, other] = gates({ slots: 3 });
      assert.equal(one!.slotsTotal(), 3);
      assert.deepEqual(
        [one!.tryTakeSlot(), other!.tryTakeSlot(), one!.tryTakeSlot(), other!.tryTakeSlot(), one!.tryTakeSlot()],
        [true, true, true, false, false],
      );
      assert.equal(other!.slotsInUse(), 3, 'a refusal takes nothing');
      one!.giveSlot();
      assert.equal(other!.slotsInUse(), 2);
      assert.equal(other!.tryTakeSlot(), true);
      assert.equal(one!.tryTakeSlot(), false);
    });

    test('--max-pages: as many reservations as pages, over all holders; one given back can be taken', () => {
      const [one, other] = gates({ pagesLeft: 2 });
      assert.deepEqual([one!.tryTakePage(), other!.tryTakePage(), one!.tryTakePage(), other!.tryTakePage()], [true, true, false, false]);
      other!.givePage();
      assert.deepEqual([one!.tryTakePage(), other!.tryTakePage()], [true, false]);
    });

    test('--max-pages: a budget of 0 gives none, and without a limit there is always one', () => {
      assert.equal(gates({ pagesLeft: 0 })[0]!.tryTakePage(), false);
      const [gate] = gates({ pagesLeft: -1 });
      for (let i = 0; i < 1_000; i++) assert.equal(gate!.tryTakePage(), true);
      gate!.givePage();
      assert.equal(gate!.tryTakePage(), true);
    });

    for (const ratePerS of [0.5, 1, 3, 10, 64, 100, 333, 700, 999, 1_000, 1_500, 3_000]) {
      test(`--rate ${ratePerS}: asked every millisecond it gives exactly that many, and never two too near`, () => {
        const [one, other] = gates({ ratePerS });
        const spanMs = Math.max(10_000, 10_000 / ratePerS);
        const gone: number[] = [];
        for (let now = NOW; now < NOW + spanMs; now++) {
          for (const gate of [one!, other!]) while (gate.tryTakeRate(now) === 'go') gone.push(now);
        }
        const expected = (spanMs * ratePerS) / 1_000;
        // Intervals are whole microseconds, rounded up.
        assert.ok(gone.length <= expected + 2 && gone.length >= expected * (1 - ratePerS * 1e-6) - 1, `${gone.length} of ${expected}`);
        assertRate(gone, ratePerS);
      });
    }

    test('--rate: the refusal names a time, and asking then is enough', () => {
      fc.assert(
        fc.property(
          fc.double({ min: 0.2, max: 5_000, noNaN: true }),
          fc.array(fc.nat(50), { minLength: 1, maxLength: 60 }),
          (ratePerS, late) => {
            const [gate] = makeGates({ slots: 1, ratePerS, pagesLeft: -1 }, 1);
            const gone: number[] = [];
            let now = NOW;
            for (const lateMs of late) {
              const answer = gate!.tryTakeRate(now);
              if (answer === 'go') gone.push(now);
              else {
                assert.ok(answer > now, 'a time to come');
                now = answer;
                assert.equal(gate!.tryTakeRate(now), 'go');
                gone.push(now);
              }
              now += lateMs;
            }
            assertRate(gone, ratePerS);
          },
        ),
        { numRuns: 40 },
      );
    });

    test('--rate: no limit means no limit', () => {
      const [gate] = gates({ ratePerS: 0 });
      for (let i = 0; i < 10_000; i++) assert.equal(gate!.tryTakeRate(NOW), 'go');
    });
  });
}

/** In every span at most (span + credit) × rate + 1 requests go. `gone`: times in milliseconds, in the order of the grants. */
export function assertRate(gone: readonly number[], ratePerS: number): void {
  const intervalMs = 1_000 / ratePerS;
  const creditMs = Math.max(1, Math.min(intervalMs / 2, RATE_CREDIT_MS));
  // The gap of the n-th to the first of a span: its greatest lead over the even beat, so far, is enough to know.
  let lead = Number.NEGATIVE_INFINITY;
  gone.forEach((at, index) => {
    const beat = at - index * intervalMs;
    assert.ok(
      lead - beat <= creditMs + 1e-6 * intervalMs * index + 1e-3,
      `request ${index} at ${at} is ${lead - beat} ms ahead of the beat, ${creditMs} is allowed`,
    );
    lead = Math.max(lead, beat);
  });
}
