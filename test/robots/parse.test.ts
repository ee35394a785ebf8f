import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { normalForm, pathQueryOf, utf8Octets } from '../../src/robots/normal-form.ts';
import { CRAWL_DELAY_MS_MAX, LINE_BYTES_MAX, PARSE_BYTES_MAX, parseRobots, SITEMAPS_MAX } from '../../src/robots/parse.ts';
import { isProductToken } from '../../src/robots/product-token.ts';
import { type AccessVector, bytesOf, readRobotsVectors } from './vectors.ts';

const vectors = readRobotsVectors();

function isAllowed(vector: AccessVector): boolean {
  return parseRobots(vector.body, vector.agent).isAllowed(pathQueryOf(vector.url));
}

/** Google's own behaviour that Portolan does not share, with the reason. Exact: what passes must not be listed. */
const NOT_TAKEN_OVER: Readonly<Record<string, string>> = {
  'g-encoding-utf8-raw-url#1':
    'a raw URL is brought to the normal form here, so that it cannot slip past a rule; Google leaves that to the caller',
  'g-encoding-utf8-raw-url#2': 'as above',
  'g-encoding-unreserved#1': 'RFC 9309 section 2.2.2 decodes unreserved octets before comparison; Google does not',
  'g-index-html#1': 'allowing /dir/index.html allows /dir/ only at Google; the RFC matches octets',
};

describe('access vectors', () => {
  for (const kind of ['rfc', 'rfc-strict', 'google-doc', 'common'] as const) {
    const cases = vectors.access.filter((vector) => vector.kind === kind);
    it(`all ${cases.length} cases of kind ${kind} are answered as written (R-D1)`, () => {
      assert.ok(cases.length > 0);
      const wrong = cases.filter((vector) => isAllowed(vector) !== vector.allowed).map((vector) => vector.id);
      assert.deepEqual(wrong, []);
    });
  }

  it('the cases that only Google demands are answered as written but for exactly those listed with a reason (R-D1)', () => {
    const cases = vectors.access.filter((vector) => vector.kind === 'google-only');
    const different = cases.filter((vector) => isAllowed(vector) !== vector.allowed).map((vector) => vector.id);
    assert.equal(cases.length, 34);
    assert.deepEqual(different.sort(), Object.keys(NOT_TAKEN_OVER).sort());
  });

  it('the answer and its explanation agree, and the line named holds the rule (R-D1)', () => {
    for (const vector of vectors.access) {
      const rules = parseRobots(vector.body, vector.agent);
      const explanation = rules.explain(pathQueryOf(vector.url));
      assert.equal(explanation.allowed, rules.isAllowed(pathQueryOf(vector.url)), vector.id);
      if (explanation.line === 0) continue;
      const line = Buffer.from(vector.body)
        .toString('latin1')
        .split(/\r\n|\r|\n/)[explanation.line - 1]!;
      assert.match(line, explanation.allowed ? /^\s*allow/i : /^\s*dis?s?al+ow/i, vector.id);
    }
  });
});

describe('tables', () => {
  it('path and query of a URL text are what the table says (R-D1)', () => {
    for (const { url, path } of vectors.paths) assert.equal(pathQueryOf(url), path, url);
  });

  it('a pattern is escaped as the table says (R-D1)', () => {
    for (const { pattern, escaped } of vectors.escapes) assert.equal(normalForm(utf8Octets(pattern)), escaped);
  });

  it('a text is a product token or not as the table says (R-D1)', () => {
    for (const { token, valid } of vectors.agentTokens) assert.equal(isProductToken(token), valid, token);
  });

  it('Sitemap lines count wherever they stand (R-D3)', () => {
    for (const { body, sitemaps } of vectors.sitemaps) assert.deepEqual(parseRobots(bytesOf(body), 'FooBot').sitemaps, sitemaps);
  });

  it('Crawl-delay is that of the group that applies (R-C1, R-D3)', () => {
    for (const { body, agent, seconds } of vectors.crawlDelays) {
      assert.equal(parseRobots(bytesOf(body), agent).crawlDelayMs, seconds === null ? undefined : seconds * 1_000, body);
    }
  });
});

describe('Crawl-delay', () => {
  const delayOf = (value: string) => parseRobots(bytesOf(`User-agent: *\nCrawl-delay: ${value}\n`), 'FooBot').crawlDelayMs;

  it('plain decimal numbers of seconds are read, and nothing else asks for a pause (R-C1)', () => {
    const read = ['0', '2', '.5', '3.', '0.0015', '10 # x', '10 seconds', '7s', '7S'].map(delayOf);
    assert.deepEqual(read, [0, 2_000, 500, 3_000, 2, 10_000, 10_000, 7_000, 7_000]);
    for (const value of ['', '-1', '+1', '1e3', '1.2.3', '10ms', '.', 'NaN', 'Infinity', '1,5', '0x10'])
      assert.equal(delayOf(value), undefined, value);
  });

  it('a number too large to mean anything is taken as the longest pause (R-C1)', () => {
    assert.equal(delayOf('9'.repeat(400)), CRAWL_DELAY_MS_MAX);
  });

  it('of several in merged groups the longest pause holds (R-C1)', () => {
    const body =
      'User-agent: FooBot\nCrawl-delay: 2\nDisallow: /a\nUser-agent: b\nCrawl-delay: 90\nDisallow:\nUser-agent: foobot\nCrawl-delay: 7\nCrawl-delay: 3\n';
    assert.equal(parseRobots(bytesOf(body), 'FooBot').crawlDelayMs, 7_000);
  });

  it('an agent named below the Crawl-delay line shares the rules and not the pause (R-C1)', () => {
    const body = bytesOf('User-agent: SlowBot\nCrawl-delay: 5\nUser-agent: FooBot\nDisallow: /x\n');
    assert.deepEqual([parseRobots(body, 'SlowBot').crawlDelayMs, parseRobots(body, 'FooBot').crawlDelayMs], [5_000, undefined]);
    assert.deepEqual([parseRobots(body, 'SlowBot').isAllowed('/x'), parseRobots(body, 'FooBot').isAllowed('/x')], [false, false]);
  });
});

describe('bounds', () => {
  it('rules in the first 512,000 bytes count, the line across the bound and all behind it do not, and that is said (R-D3)', () => {
    const head = 'User-agent: *\nDisallow: /first\n';
    const last = 'Disallow: /last\n';
    const filler = `${'#'.repeat(PARSE_BYTES_MAX - head.length - last.length - 1)}\n`;
    const whole = parseRobots(bytesOf(head + filler + last), 'FooBot');
    assert.deepEqual([whole.truncated, whole.isAllowed('/first'), whole.isAllowed('/last')], [false, false, false]);
    const over = parseRobots(bytesOf(`${head}#${filler}${last}Disallow: /beyond\n`), 'FooBot');
    assert.deepEqual(
      [over.truncated, over.isAllowed('/first'), over.isAllowed('/last'), over.isAllowed('/beyond')],
      [true, false, true, true],
    );
    assert.equal(over.ruleCount, 1);
  });

  it('a body without a line end is cut at the bound itself and read as one long line (R-D3)', () => {
    const rules = parseRobots(bytesOf(`Sitemap: http://a.example/s.xml #${'x'.repeat(PARSE_BYTES_MAX)}`), 'FooBot');
    assert.deepEqual([rules.truncated, rules.sitemaps], [true, ['http://a.example/s.xml']]);
  });

  it('a line is read up to its bound (R-D3)', () => {
    const name = 'Disallow: ';
    const kept = `/${'a'.repeat(LINE_BYTES_MAX - name.length - 1)}`;
    const rules = parseRobots(bytesOf(`User-agent: *\n${name}${kept}bbb\n`), 'FooBot');
    assert.deepEqual([rules.isAllowed(`${kept}c`), rules.isAllowed(kept.slice(0, -1))], [false, true]);
  });

  it('sitemaps over the bound, and those too long, are counted and left out; repeats are one (R-D3)', () => {
    const lines = Array.from({ length: SITEMAPS_MAX + 5 }, (_, index) => `Sitemap: http://a.example/${index}.xml`);
    const rules = parseRobots(bytesOf([lines[0], ...lines, `Sitemap: http://a.example/${'x'.repeat(3_000)}`].join('\r\n')), 'FooBot');
    assert.deepEqual([rules.sitemaps.length, rules.sitemapsDropped], [SITEMAPS_MAX, 6]);
  });

  it('rules keep no reference to the body: overwriting it changes nothing (R-D3)', () => {
    const body = bytesOf('User-agent: *\nDisallow: /private-area/of/the/house\nSitemap: http://a.example/sitemap.xml\n');
    const rules = parseRobots(body, 'FooBot');
    body.fill(0x23);
    assert.equal(rules.isAllowed('/private-area/of/the/house'), false);
    assert.deepEqual(rules.sitemaps, ['http://a.example/sitemap.xml']);
  });

  it('a body in the middle of a larger buffer is read alone (R-D1)', () => {
    const buffer = bytesOf('User-agent: *\nDisallow: /x\nDisallow: /y\n');
    const rules = parseRobots(buffer.subarray(0, 26), 'FooBot');
    assert.deepEqual([rules.isAllowed('/x'), rules.isAllowed('/y')], [false, true]);
  });
});

describe('forgiving reading', () => {
  it('an HTML page served as robots.txt gives no rules (R-D1)', () => {
    const page =
      '<!DOCTYPE html>\n<html><head><title>Not found: allow / disallow</title></head>\n<body style="color: red">\nDisallow: /\n</body></html>\n';
    const rules = parseRobots(bytesOf(page), 'FooBot');
    assert.deepEqual([rules.ruleCount, rules.isAllowed('/'), rules.sitemaps], [0, true, []]);
  });

  it('common misspellings and a missing colon are understood, sentences are not (R-D1)', () => {
    const body = 'User agent: FooBot\nDisalow: /a\nDissallow: /b\nDISALLOW\t/c\nDisallow /d:e\nDisallow /f or /g\nUser agents everywhere\n';
    const rules = parseRobots(bytesOf(body), 'FooBot');
    assert.deepEqual(
      ['/a', '/b', '/c', '/d:e', '/f', '/'].map((path) => rules.isAllowed(path)),
      [false, false, false, false, true, true],
    );
  });

  it('a token that is no product token is named by no line and gets the rules for * (R-D1)', () => {
    const body = bytesOf('User-agent: 12345\nDisallow: /digits\nUser-agent: *\nDisallow: /any\n');
    for (const token of ['', '12345', 'Foo Bar']) {
      const rules = parseRobots(body, token);
      assert.deepEqual([rules.isAllowed('/digits'), rules.isAllowed('/any')], [true, false], token);
    }
  });

  it('any bytes give rules, and /robots.txt stays allowed (R-D1)', () => {
    for (let seed = 0; seed < 64; seed++) {
      const bytes = Uint8Array.from({ length: 600 }, (_, index) => (index * index * (seed + 3) + seed * 7 + (index >> 2)) & 255);
      assert.equal(parseRobots(bytes, 'FooBot').isAllowed('/robots.txt'), true);
    }
  });
});
