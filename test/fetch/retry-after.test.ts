import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseHttpDate } from '../../src/fetch/http-date.ts';
import { parseRetryAfter, RETRY_AFTER_MS_MAX } from '../../src/fetch/retry-after.ts';

const NOW = Date.UTC(2026, 10, 10, 11, 0, 0);

test('http-09 R-C3 Retry-After is read as seconds and as each of the three dates; nothing else gives a wait', () => {
  const table: Record<string, number | undefined> = {
    '2': 2_000,
    ' 120 ': 120_000,
    'Tue, 10 Nov 2026 11:00:10 GMT': 10_000,
    'Tuesday, 10-Nov-26 11:00:10 GMT': 10_000,
    'Tue Nov 10 11:00:10 2026': 10_000,
    '0': undefined,
    '-5': undefined,
    'Tue, 10 Nov 2026 10:59:00 GMT': undefined,
    'Tue, 10 Nov 2026 11:00:00 GMT': undefined,
    '2.5': undefined,
    '1e3': undefined,
    '+3': undefined,
    '0x10': undefined,
    soon: undefined,
    '': undefined,
    '120, 60': undefined,
    '99999999': RETRY_AFTER_MS_MAX,
    ['9'.repeat(60)]: RETRY_AFTER_MS_MAX,
    ['9'.repeat(400)]: undefined,
    'Tue, 10 Nov 2037 11:00:10 GMT': RETRY_AFTER_MS_MAX,
  };
  for (const [value, expected] of Object.entries(table)) assert.equal(parseRetryAfter(value, NOW), expected, value);
});

test('R-C3 a wait is never under 1 ms nor over the ceiling, whatever the value', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.integer().map(String),
        fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
      ),
      (value) => {
        const waitMs = parseRetryAfter(value, NOW);
        assert.ok(waitMs === undefined || (waitMs > 0 && waitMs <= RETRY_AFTER_MS_MAX));
      },
    ),
  );
});

test('RFC 9110 5.6.7 the three forms of one moment are the same moment', () => {
  assert.equal(parseHttpDate('Sun, 06 Nov 1994 08:49:37 GMT', NOW), Date.UTC(1994, 10, 6, 8, 49, 37));
  assert.equal(parseHttpDate('Sunday, 06-Nov-94 08:49:37 GMT', NOW), Date.UTC(1994, 10, 6, 8, 49, 37));
  assert.equal(parseHttpDate('Sun Nov  6 08:49:37 1994', NOW), Date.UTC(1994, 10, 6, 8, 49, 37));
});

test('RFC 9110 5.6.7 a two-digit year over 50 years ahead belongs to the past century', () => {
  assert.equal(parseHttpDate('Friday, 01-Jan-76 00:00:00 GMT', NOW), Date.UTC(2076, 0, 1));
  assert.equal(parseHttpDate('Friday, 01-Jan-77 00:00:00 GMT', NOW), Date.UTC(1977, 0, 1));
});

test('every second of the calendar is read as the platform writes it', () => {
  const moments = fc.date({ min: new Date(0), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true });
  fc.assert(
    fc.property(moments, (date) => {
      assert.equal(parseHttpDate(date.toUTCString(), NOW), Math.floor(date.getTime() / 1000) * 1000);
    }),
    { numRuns: 2_000 },
  );
});

test('days and hours that do not exist are no dates', () => {
  const texts = [
    'Mon, 31 Apr 2026 00:00:00 GMT',
    'Sun, 29 Feb 2026 00:00:00 GMT',
    'Sun, 29 Feb 2100 00:00:00 GMT',
    'Sun, 00 Jan 2026 00:00:00 GMT',
  ];
  texts.push(
    'Sun, 01 Foo 2026 00:00:00 GMT',
    'Sun, 01 Jan 2026 24:00:00 GMT',
    'Sun, 01 Jan 2026 00:60:00 GMT',
    'Sun, 01 Jan 2026 00:00:00 +0200',
  );
  for (const text of [...texts, '2026-11-10T11:00:10Z', 'Sun, 01 Jan 26 00:00:00 GMT', ''])
    assert.equal(parseHttpDate(text, NOW), undefined, text);
  assert.equal(parseHttpDate('Sat, 29 Feb 2028 00:00:00 GMT', NOW), Date.UTC(2028, 1, 29));
});
