import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/time.ts';
import type { Random } from '../../src/ports/random.ts';
import {
  nextRobotsRecord,
  parseMaxAge,
  ROBOTS_DEFAULTS,
  type RobotsAnswer,
  type RobotsRecord,
  robotsGivenUp,
  rulesOfRecord,
} from '../../src/robots/policy.ts';
import { bytesOf } from './vectors.ts';

const ORIGIN = 'http://a.example';
const NOW = 1_800_000_000_000;
const BODY = bytesOf('User-agent: *\nDisallow: /closed\n');

/** Randomness that always answers the same: 0 for the longest pauses, nearly 1 for the shortest. */
function constantRandom(value: number): Random {
  return { next: () => value, int: (below) => Math.floor(value * below), uuid: () => '00000000-0000-4000-8000-000000000000' };
}
const NO_JITTER = constantRandom(0);

function response(status: number, body: Uint8Array = new Uint8Array(), maxAgeMs?: number): RobotsAnswer {
  return maxAgeMs === undefined ? { kind: 'response', status, body } : { kind: 'response', status, body, maxAgeMs };
}
const FAILED: RobotsAnswer = { kind: 'failed', code: 'timeout' };

function next(previous: RobotsRecord | undefined, answer: RobotsAnswer, nowMs = NOW, random = NO_JITTER): RobotsRecord {
  return nextRobotsRecord(ORIGIN, previous, answer, nowMs, random, ROBOTS_DEFAULTS);
}
const allows = (record: RobotsRecord, path: string) => rulesOfRecord(record, 'FooBot').isAllowed(path);

describe('answers', () => {
  it('2xx: the body is in force for 24 h, known by its SHA-256 (R-D1)', () => {
    const record = next(undefined, response(200, BODY));
    assert.deepEqual(record, {
      origin: ORIGIN,
      state: 'rules',
      body: BODY,
      bodySha256: createHash('sha256').update(BODY).digest('hex'),
      fetchedAtMs: NOW,
      expiresAtMs: NOW + DAY_MS,
      failingSinceMs: undefined,
      failures: 0,
      status: 200,
    });
    assert.deepEqual([allows(record, '/closed'), allows(record, '/open')], [false, true]);
  });

  it('the record keeps a copy of the body, cut at its bound, of which the rules say that it was cut (R-D3)', () => {
    const large = new Uint8Array(2_000_000).fill(0x0a);
    large.set(BODY);
    const record = next(undefined, response(200, large));
    large.fill(0);
    assert.equal(record.body?.length, ROBOTS_DEFAULTS.bodyBytesMax);
    assert.equal(record.body?.buffer.byteLength, ROBOTS_DEFAULTS.bodyBytesMax);
    const rules = rulesOfRecord(record, 'FooBot');
    assert.deepEqual([rules.truncated, rules.isAllowed('/closed')], [true, false]);
  });

  it('the server may lengthen the 24 h, up to 7 days, and not shorten them (R-D1)', () => {
    const ttl = (maxAgeMs: number) => next(undefined, response(200, BODY, maxAgeMs)).expiresAtMs - NOW;
    assert.deepEqual([ttl(0), ttl(HOUR_MS), ttl(3 * DAY_MS), ttl(365 * DAY_MS)], [DAY_MS, DAY_MS, 3 * DAY_MS, 7 * DAY_MS]);
  });

  it('an empty 200 and a 204 allow everything and are a copy for worse times (R-D2)', () => {
    for (const answer of [response(200), response(204)]) {
      const record = next(undefined, answer);
      assert.deepEqual([record.state, allows(record, '/x'), allows(next(record, FAILED), '/x')], ['rules', true, true]);
    }
  });

  it('4xx but 429 allows everything for 24 h and forgets an older copy (R-D2)', () => {
    for (const status of [400, 401, 403, 404, 410, 418, 451, 499]) {
      const record = next(next(undefined, response(200, BODY)), response(status, BODY, 5 * DAY_MS));
      assert.deepEqual(
        [record.state, record.body, record.bodySha256, record.expiresAtMs],
        ['allow-all', undefined, '', NOW + DAY_MS],
        `${status}`,
      );
      assert.equal(allows(record, '/closed'), true);
    }
  });

  it('a redirect left over after five hops is an unavailable robots.txt (R-D2)', () => {
    for (const status of [301, 302, 303, 307, 308]) assert.equal(next(undefined, response(status)).state, 'allow-all');
  });

  it('304 renews the copy it was asked about, and is a failure without one (R-D1)', () => {
    const renewed = next(next(undefined, response(200, BODY)), response(304, new Uint8Array(), 2 * DAY_MS), NOW + DAY_MS);
    assert.deepEqual([renewed.state, renewed.body, renewed.expiresAtMs, renewed.status], ['rules', BODY, NOW + 3 * DAY_MS, 304]);
    assert.equal(next(undefined, response(304)).state, 'deny-all');
  });

  it('5xx, 429, a status outside HTTP and no answer at all allow nothing, and the page sent with them is not read (R-D2)', () => {
    const open = bytesOf('User-agent: *\nAllow: /\n');
    for (const answer of [500, 502, 503, 504, 429, 599, 600, 999, 100, 0].map((status) => response(status, open)).concat(FAILED)) {
      const record = next(undefined, answer);
      assert.deepEqual([record.state, record.body, record.failures, record.failingSinceMs], ['deny-all', undefined, 1, NOW]);
      assert.deepEqual([allows(record, '/x'), allows(record, '/robots.txt')], [false, true]);
    }
  });

  it('a record of another origin is refused (R-D1)', () => {
    const other = nextRobotsRecord('http://b.example', undefined, response(200, BODY), NOW, NO_JITTER, ROBOTS_DEFAULTS);
    assert.throws(() => next(other, response(200, BODY)), { code: 'PORTOLAN_ENGINE_INVARIANT' });
  });
});

describe('failing', () => {
  it('the pauses double from a minute to an hour and stay there (R-D2)', () => {
    const pauses: number[] = [];
    let record: RobotsRecord | undefined;
    let now = NOW;
    for (let failure = 0; failure < 9; failure++) {
      record = next(record, failure % 2 === 0 ? response(503) : FAILED, now);
      pauses.push((record.expiresAtMs - now) / MINUTE_MS);
      now = record.expiresAtMs;
    }
    assert.deepEqual(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert.deepEqual([record!.failures, record!.failingSinceMs], [9, NOW]);
  });

  it('chance takes up to a quarter from a pause and never adds to it (R-D2)', () => {
    const shortest = next(undefined, FAILED, NOW, constantRandom(0.999_999)).expiresAtMs - NOW;
    const middle = next(undefined, FAILED, NOW, constantRandom(0.5)).expiresAtMs - NOW;
    assert.deepEqual([shortest, middle], [45_000, 52_500]);
  });

  it('very many failures keep the pause finite (R-D2)', () => {
    const record = { ...next(undefined, FAILED), failures: 100_000 };
    assert.equal(next(record, FAILED).expiresAtMs, NOW + HOUR_MS);
  });

  it('an earlier copy stays in force through the failures, under its own hash, and a good answer ends them (R-D2)', () => {
    const first = next(undefined, response(200, BODY));
    const failing = next(next(first, response(500), NOW + DAY_MS), FAILED, NOW + DAY_MS + MINUTE_MS);
    assert.deepEqual([failing.state, failing.bodySha256, failing.failures, failing.status], ['last-good', first.bodySha256, 2, 0]);
    assert.deepEqual([allows(failing, '/closed'), allows(failing, '/open')], [false, true]);
    const healed = next(failing, response(200, BODY), NOW + 2 * DAY_MS);
    assert.deepEqual([healed.state, healed.failures, healed.failingSinceMs], ['rules', 0, undefined]);
  });

  it('an earlier 404 is no copy: while robots.txt fails nothing is allowed (R-D2)', () => {
    const record = next(next(undefined, response(404)), response(500), NOW + DAY_MS);
    assert.deepEqual([record.state, allows(record, '/x')], ['deny-all', false]);
  });

  it('an origin is given up when it has failed for 30 days on end, and not a moment before (R-D2)', () => {
    let record = next(undefined, FAILED);
    while (record.expiresAtMs < NOW + 30 * DAY_MS) {
      record = next(record, FAILED, record.expiresAtMs);
      assert.equal(robotsGivenUp(record, record.fetchedAtMs, ROBOTS_DEFAULTS), false);
    }
    assert.equal(robotsGivenUp(record, NOW + 30 * DAY_MS - 1, ROBOTS_DEFAULTS), false);
    assert.equal(robotsGivenUp(record, NOW + 30 * DAY_MS, ROBOTS_DEFAULTS), true);
    assert.equal(robotsGivenUp(next(record, response(404), NOW + 30 * DAY_MS), NOW + 31 * DAY_MS, ROBOTS_DEFAULTS), false);
  });

  it('a crawl that was stopped for 40 days asks again before it gives an origin up (R-D2)', () => {
    const record = next(next(undefined, FAILED), FAILED, NOW + MINUTE_MS);
    assert.equal(robotsGivenUp(record, NOW + 40 * DAY_MS, ROBOTS_DEFAULTS), false);
  });
});

describe('max-age', () => {
  it('is read from a Cache-Control value in milliseconds (R-D1)', () => {
    assert.equal(parseMaxAge('public, Max-Age=600'), 600_000);
    assert.equal(parseMaxAge('max-age="60"'), 60_000);
    assert.equal(parseMaxAge('max-age=90, max-age=30'), 30_000);
    assert.equal(parseMaxAge('max-age=99999999999999999999'), 2_147_483_648_000);
    assert.equal(parseMaxAge('max-age=600, no-cache'), 0);
    assert.equal(parseMaxAge('no-store, max-age=600'), 0);
  });

  it('is undefined when there is no valid one (R-D1)', () => {
    for (const value of ['', 'public', 's-maxage=600', 'max-age', 'max-age=', 'max-age=-1', 'max-age=1.5', 'max-age=abc', 'x-max-age=5']) {
      assert.equal(parseMaxAge(value), undefined, value);
    }
  });
});
