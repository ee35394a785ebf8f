/** The judge's reading of robots.txt: the vectors, and the crawler's own reading, which was written apart from it, on made-up files. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { pathQueryOf } from '../../src/robots/normal-form.ts';
import { parseRobots } from '../../src/robots/parse.ts';
import { mayFetch, readRobotsFile } from '../../src/verify/robots-file.ts';
import { bytesOf, readRobotsVectors } from '../robots/vectors.ts';

const TOKEN = 'TestBot';

test('R-D1: RFC 9309 by the same vectors as the crawler', () => {
  const { access, crawlDelays } = readRobotsVectors();
  const wrong = access.filter(({ body, agent, url, allowed }) => mayFetch(readRobotsFile(body, agent), pathQueryOf(url)) !== allowed);
  assert.deepEqual(
    wrong.filter(({ kind }) => kind !== 'google-only').map(({ id }) => id),
    [],
  );
  assert.ok(access.length > 100 && wrong.length < access.length / 10);
  for (const { body, agent, seconds } of crawlDelays)
    assert.equal(readRobotsFile(bytesOf(body), agent).crawlDelayMs, seconds === null ? -1 : seconds * 1_000, body);
});

const piece = fc.constantFrom('a', 'b', '/', '*', '$', '%2f', '%61', '%7E', '%', '?', '=', 'é', '.', "'", '[', '+', ' ', '/robots.txt');
const path = fc.array(piece, { maxLength: 7 }).map((pieces) => `/${pieces.join('').replace(/ /g, '%20')}`);
const agent = fc.constantFrom('*', 'testbot', 'TestBot/2.0', 'Test', 'otherbot', '* x', '');
const line = fc.oneof(
  { weight: 3, arbitrary: agent.map((name) => `User-agent: ${name}`) },
  { weight: 4, arbitrary: fc.array(piece, { maxLength: 6 }).map((pieces) => `Disallow: /${pieces.join('')}`) },
  { weight: 3, arbitrary: fc.array(piece, { maxLength: 6 }).map((pieces) => `Allow: ${pieces.join('')}`) },
  {
    weight: 2,
    arbitrary: fc.constantFrom('Crawl-delay: 3', 'crawl-delay : 0.5s', 'Crawl-delay: x', 'Crawl-delay: 7 # long', 'Crawl-delay .5'),
  },
  fc.constantFrom(
    '',
    '# note',
    'Sitemap: x',
    'disalow /b',
    'user agent: testbot',
    'useragent testbot',
    'user testbot',
    '\ufeffUser-agent: *',
    'junk',
  ),
);

test('R-D1 property: both readings of any robots.txt allow the same paths and ask for the same pause', () => {
  fc.assert(
    fc.property(
      fc.array(line, { maxLength: 14 }),
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.array(path, { minLength: 1, maxLength: 6 }),
      (lines, end, paths) => {
        const body = Buffer.from(lines.join(end));
        const [ours, judges] = [parseRobots(body, TOKEN), readRobotsFile(body, TOKEN)];
        assert.equal(judges.crawlDelayMs, ours.crawlDelayMs ?? -1);
        for (const one of paths) assert.equal(mayFetch(judges, one), ours.isAllowed(one), one);
      },
    ),
    { numRuns: 3_000 },
  );
});

test('what lies beyond 500 KiB has no say, and the cut is made at a line end', () => {
  const body = Buffer.from(`User-agent: *\n${'Disallow: /x\n'.repeat(39_383)}Disallow: /cut\nDisallow: /beyond\n`);
  const judges = readRobotsFile(body, TOKEN);
  const ours = parseRobots(body, TOKEN);
  for (const one of ['/x', '/cut', '/beyond', '/c']) assert.equal(mayFetch(judges, one), ours.isAllowed(one), one);
  assert.equal(mayFetch(judges, '/beyond'), true);
});
