/** Each answer to "what keeps the crawl from being faster", from the measures that mean it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  BUSY_SHARE,
  bindingConstraint,
  CONSTRAINTS,
  type Constraint,
  type CrawlMeasures,
  constraintInWords,
  HELD_BACK_SHARE,
} from '../../src/engine/binding-constraint.ts';

/** Twelve hosts with URLs, each in its pause, and nothing scarce. */
const CALM: CrawlMeasures = {
  windowMs: 10_000,
  paused: '',
  queued: 500,
  exchanging: 1,
  resolving: 0,
  pausing: 11,
  atAddressGate: 0,
  atRate: 0,
  withoutSlot: 0,
  slotsInUse: 12,
  slotsTotal: 1_024,
  ceiling: 256,
  ratePerS: 0,
  requestsPerS: 10,
  busy: 0.2,
  heldBack: 0,
  commitMs: 12,
};

const CASES: readonly (readonly [promise: string, changes: Partial<CrawlMeasures>, answer: Constraint, words: RegExp])[] = [
  ['hosts that only wait for their own pause are too few', {}, 'too-few-hosts', /^too few hosts: 11 have URLs, each in its pause$/],
  ['one host that waits for its own pause is too few', { pausing: 1, exchanging: 0 }, 'too-few-hosts', /1 has URLs and is in its pause/],
  ['a pause of the operator is named before all else', { paused: 'operator', busy: 1, heldBack: 1 }, 'operator', /paused by the operator/],
  ['a disk without space is named', { paused: 'disk' }, 'disk-space', /nearly full/],
  ['a spent page limit is named', { paused: 'pages' }, 'page-limit', /page limit/],
  ['a program that does not take its pages is named', { paused: 'program' }, 'program', /^the program:/],
  ['a crawl that stops says so', { paused: 'stopping' }, 'stopping', /^stopping/],
  ['an empty queue with nothing in flight', { queued: 0, exchanging: 0, pausing: 0 }, 'no-urls', /no URLs wait/],
  ['results that wait for their commit mean the disk', { heldBack: HELD_BACK_SHARE, commitMs: 900 }, 'disk', /20 % .*900 ms each/],
  ['a busy thread means the processor', { busy: BUSY_SHARE }, 'cpu', /busy 90 % of the time/],
  ['a disk that holds results back outweighs the processor it keeps busy', { heldBack: 0.5, busy: 1 }, 'disk', /disk/],
  ['requests at the rate mean the rate', { ratePerS: 10, requestsPerS: 9.8, atRate: 4, pausing: 7 }, 'rate', /rate of 10\/s/],
  ['a rate that is not reached is not blamed', { ratePerS: 100, requestsPerS: 9.8, atRate: 0 }, 'too-few-hosts', /too few hosts/],
  ['most hosts waiting for a name mean DNS', { resolving: 40, pausing: 11 }, 'dns', /DNS: 40 hosts/],
  ['a ceiling full of look-ups means DNS too', { resolving: 200, exchanging: 56 }, 'dns', /DNS/],
  ['a ceiling full of exchanges is the ceiling', { exchanging: 250 }, 'connections', /ceiling of 256 exchanges/],
  [
    'hosts without a slot while all are in use mean back queues',
    { withoutSlot: 90, slotsInUse: 1_020 },
    'back-queues',
    /all 1,024 are in use, 90 hosts/,
  ],
  ['hosts in front queues while slots are free are on their way', { withoutSlot: 3 }, 'too-few-hosts', /too few hosts/],
  ['full slots do not matter when DNS holds them', { withoutSlot: 90, slotsInUse: 1_024, resolving: 100 }, 'dns', /DNS/],
  ['hosts behind one address mean the gate', { atAddressGate: 300 }, 'address-gate', /300 hosts share their IP address/],
  [
    'full slots do not matter when one address holds the hosts',
    { atAddressGate: 300, withoutSlot: 9, slotsInUse: 1_024 },
    'address-gate',
    /gate/,
  ],
  ['most hosts with a request under way mean the servers', { exchanging: 20 }, 'servers', /servers: 20 hosts/],
  ['the first second is busy with itself', { windowMs: 900, busy: 1 }, 'nothing', /too little/],
  ['URLs without a host that could be seen mean nothing yet', { exchanging: 0, pausing: 0 }, 'nothing', /too little/],
];

describe('the binding constraint', () => {
  for (const [promise, changes, answer, words] of CASES) {
    test(promise, () => {
      const measures = { ...CALM, ...changes };
      assert.equal(bindingConstraint(measures), answer);
      assert.match(constraintInWords(answer, measures), words);
    });
  }

  test('every answer is reached by a case', () => {
    assert.deepEqual(new Set(CASES.map(([, , answer]) => answer)), new Set(CONSTRAINTS));
  });

  test('any measures have one answer, with words of one line and no broken number', () => {
    const amount = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e6, noNaN: true }));
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(
        fc.record({
          windowMs: amount,
          paused: fc.constantFrom('', 'operator', 'disk', 'pages', 'stopping') as fc.Arbitrary<CrawlMeasures['paused']>,
          queued: amount,
          exchanging: amount,
          resolving: amount,
          pausing: amount,
          atAddressGate: amount,
          atRate: amount,
          withoutSlot: amount,
          slotsInUse: amount,
          slotsTotal: amount,
          ceiling: amount,
          ratePerS: amount,
          requestsPerS: amount,
          busy: share,
          heldBack: share,
          commitMs: amount,
        }),
        (measures) => {
          const answer = bindingConstraint(measures);
          assert.ok(CONSTRAINTS.includes(answer));
          const words = constraintInWords(answer, measures);
          assert.match(words, /^[^\n]{5,160}$/);
          assert.doesNotMatch(words, /NaN|Infinity|undefined/);
        },
      ),
    );
  });
});
