/** What went wrong in other crawlers, as cases for this one; each names the public report in test/vectors/robots.json. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Random } from '../../src/ports/random.ts';
import { RobotsCache } from '../../src/robots/cache.ts';
import { pathQueryOf } from '../../src/robots/normal-form.ts';
import { parseRobots } from '../../src/robots/parse.ts';
import { nextRobotsRecord, ROBOTS_DEFAULTS, type RobotsAnswer } from '../../src/robots/policy.ts';
import { bytesOf, type Incident, readRobotsVectors, type ServedPage } from './vectors.ts';

const NOW = 1_800_000_000_000;
const RANDOM: Random = { next: () => 0.5, int: () => 0, uuid: () => '' };
const incidents = new Map(readRobotsVectors().incidents.map((incident) => [incident.id, incident]));

function recordOf(origin: string, answer: RobotsAnswer) {
  return nextRobotsRecord(origin, undefined, answer, NOW, RANDOM, ROBOTS_DEFAULTS);
}

function answerOf(reply: { readonly status: number; readonly body?: string }): RobotsAnswer {
  return { kind: 'response', status: reply.status, body: bytesOf(reply.body ?? '') };
}

function find(pages: readonly ServedPage[], url: URL): ServedPage {
  const page = pages.find(
    ({ host, port, path }) => host === url.hostname && (port ?? 80) === Number(url.port || 80) && path === url.pathname,
  );
  assert.ok(page !== undefined, `the case has no answer for ${url.href}`);
  return page;
}

/** Follows the redirects of a robots.txt, as the caller of this room does: the record is that of the origin asked first. */
function crawlRobots(cache: RobotsCache, pages: readonly ServedPage[], origin: string, requested: string[]): void {
  let url = new URL('/robots.txt', origin);
  for (let hop = 0; ; hop++) {
    requested.push(url.href);
    const { reply } = find(pages, url);
    const location = reply.headers?.find(([name]) => name === 'Location')?.[1];
    if (location === undefined || hop === 5) return void cache.put(recordOf(origin, answerOf(reply)));
    url = new URL(location, url);
  }
}

/** The seeds that robots.txt allows when each origin is asked at its first URL, and the requests made for it. */
function allowedSeeds(pages: readonly ServedPage[], seeds: readonly string[]) {
  const cache = new RobotsCache('ExampleBot', 1_000_000);
  const requested: string[] = [];
  const allowed = seeds.filter((seed) => {
    const { origin } = new URL(seed);
    if (cache.get(origin) === undefined) crawlRobots(cache, pages, origin, requested);
    return cache.get(origin)!.rules().isAllowed(pathQueryOf(seed));
  });
  return { allowed: allowed.sort(), requested: requested.sort() };
}

/** Agents of an incident with the paths that are open and closed to each. */
function agentsOf({ input, expected }: Incident) {
  return [
    { agent: input.agent, allowed: expected.allowed, disallowed: expected.disallowed },
    { agent: input.other_agent, allowed: expected.other_allowed, disallowed: expected.other_disallowed },
    { agent: input.third_agent, allowed: expected.third_allowed, disallowed: expected.third_disallowed },
  ].filter(({ agent }) => agent !== undefined);
}

describe('incidents', () => {
  for (const id of ['robots-01', 'robots-02', 'robots-03', 'robots-04', 'robots-05', 'robots-06', 'robots-10']) {
    const incident = incidents.get(id)!;
    it(`${id} does not happen: ${incident.happened} (R-D1)`, () => {
      const { robots, robots_b64: base64 } = incident.input;
      const body = base64 === undefined ? bytesOf(robots!) : Buffer.from(base64, 'base64');
      for (const { agent, allowed, disallowed } of agentsOf(incident)) {
        const rules = parseRobots(body, agent!);
        assert.deepEqual(
          [...allowed!, ...disallowed!].filter((path) => rules.isAllowed(path)),
          allowed,
          agent,
        );
      }
    });
  }

  it(`robots-07 does not happen: ${incidents.get('robots-07')!.happened} (R-D2)`, () => {
    const { input, expected } = incidents.get('robots-07')!;
    const cache = new RobotsCache('ExampleBot', 1_000_000);
    const open = input.answers!.filter(({ status = 0, body = '', error }) => {
      const answer: RobotsAnswer =
        error === undefined ? { kind: 'response', status, body: bytesOf(body) } : { kind: 'failed', code: error };
      return cache.put(recordOf('http://a.example', answer)).rules().isAllowed('/page');
    });
    assert.deepEqual(
      open.map(({ id }) => id),
      expected.allowed,
    );
  });

  it(`robots-08 does not happen in either order: ${incidents.get('robots-08')!.happened} (R-D1)`, () => {
    const { input, expected } = incidents.get('robots-08')!;
    for (const seeds of [input.seeds!, input.seeds!.toReversed()]) {
      assert.deepEqual(allowedSeeds(input.server!, seeds).allowed, expected.allowed);
    }
  });

  it(`robots-09 does not happen: ${incidents.get('robots-09')!.happened} (R-D1)`, () => {
    const { input, expected } = incidents.get('robots-09')!;
    const { allowed, requested } = allowedSeeds(input.server!, input.seeds!);
    assert.deepEqual(allowed, expected.allowed.toSorted());
    assert.deepEqual(requested, expected.must_request!.toSorted());
  });
});
