import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { normalForm, pathForm, utf8Octets } from '../../src/robots/normal-form.ts';
import { parseRobots } from '../../src/robots/parse.ts';
import { compilePattern, matchesPattern, type StepBudget } from '../../src/robots/pattern.ts';
import { allowAllRules, CHECK_STEPS_MAX, denyAllRules } from '../../src/robots/rules.ts';
import { bytesOf } from './vectors.ts';

interface OtherParser {
  isAllowed(url: string, agent: string): boolean | undefined;
  getSitemaps(): string[];
}
const robotsParser = createRequire(import.meta.url)('robots-parser') as (url: string, body: string) => OtherParser;

const piece = fc.constantFrom('a', 'b', 'ab', '/', '*', '?', '=', '.', '-');
const pattern = fc
  .tuple(fc.constantFrom('/', '/a', '/b/', '*', '/*'), fc.array(piece, { maxLength: 6 }), fc.constantFrom('', '', '', '$'))
  .map(([start, pieces, end]) => start + pieces.join('') + end);
const path = fc.array(fc.constantFrom('a', 'b', 'ab', '/', '?', '=', '.', '-'), { maxLength: 10 }).map((pieces) => `/${pieces.join('')}`);
const ruleLine = fc.tuple(fc.constantFrom('Allow', 'Disallow'), pattern).map(([name, value]) => `${name}: ${value}`);

/** The plain definition: every way to split the path is tried, by a set of ends. Slow, and right at a glance. */
function matchesByDefinition(text: string, url: string): boolean {
  const anchored = text.endsWith('$');
  let ends = new Set([0]);
  for (const char of anchored ? text.slice(0, -1) : text) {
    const next = new Set<number>();
    for (const end of ends) {
      if (char === '*') for (let index = end; index <= url.length; index++) next.add(index);
      else if (url[end] === char) next.add(end + 1);
    }
    ends = next;
  }
  return anchored ? ends.has(url.length) : ends.size > 0;
}

function verdictByDefinition(lines: readonly string[], url: string): boolean {
  let rank = -1;
  let allowed = true;
  for (const line of lines) {
    const [name, text] = line.split(': ') as [string, string];
    if (!matchesByDefinition(text, url) || text.length < rank) continue;
    allowed = name === 'Allow' || (text.length === rank && allowed);
    rank = text.length;
  }
  return allowed;
}

describe('matching', () => {
  it('a pattern matches exactly what its definition says (R-D1)', () => {
    fc.assert(
      fc.property(pattern, path, (text, url) => {
        assert.equal(matchesPattern(compilePattern(text)!, url, { left: 1e9 }), matchesByDefinition(text, url));
      }),
      { numRuns: 3_000 },
    );
  });

  it('the longest match decides, Allow on a tie, for few and for many rules (R-D1)', () => {
    fc.assert(
      fc.property(fc.array(ruleLine, { maxLength: 30 }), fc.array(path, { minLength: 1, maxLength: 8 }), (lines, urls) => {
        const rules = parseRobots(bytesOf(['User-agent: *', ...lines].join('\n')), 'FooBot');
        for (const url of urls) assert.equal(rules.isAllowed(url), verdictByDefinition(lines, url), url);
      }),
      { numRuns: 1_000 },
    );
  });

  it('the answer does not depend on the order of the lines (R-D1)', () => {
    const shuffled = fc
      .array(ruleLine, { maxLength: 20 })
      .chain((lines) => fc.tuple(fc.constant(lines), fc.shuffledSubarray(lines, { minLength: lines.length, maxLength: lines.length })));
    fc.assert(
      fc.property(shuffled, path, ([lines, others], url) => {
        const one = parseRobots(bytesOf(['User-agent: *', ...lines].join('\n')), 'FooBot');
        const other = parseRobots(bytesOf(['User-agent: *', ...others].join('\n')), 'FooBot');
        assert.equal(one.isAllowed(url), other.isAllowed(url));
      }),
      { numRuns: 1_000 },
    );
  });

  it('answers and sitemaps are those of robots-parser where both follow the RFC (R-D1)', () => {
    // Left out, as robots-parser differs: groups without a rule, other lines inside a list of agents, '$' before the end, reserved escapes.
    const text = fc
      .tuple(
        fc.constantFrom('/', '/a', '*', 'a', ''),
        fc.array(fc.constantFrom('a', 'b', '/', '*', 'é', '%c3%a9', '%2f'), { maxLength: 5 }),
        fc.constantFrom('', '$'),
      )
      .map((parts) => parts.flat().join(''));
    const rule = fc.tuple(fc.constantFrom('Allow', 'disallow', 'DISALLOW'), text).map(([name, value]) => `${name}:${value} # note`);
    const group = fc
      .tuple(
        fc.array(fc.constantFrom('FooBot', 'foobot/1.0', 'BarBot', '*'), { minLength: 1, maxLength: 3 }),
        fc.array(rule, { minLength: 1, maxLength: 5 }),
      )
      .map(([agents, rules]) => [...agents.map((agent) => `User-agent: ${agent}`), ...rules, 'Sitemap: http://a.example/s.xml']);
    const url = fc
      .array(fc.constantFrom('a', 'b', '/', 'é', '%C3%a9', '%2F', '?'), { maxLength: 7 })
      .map((pieces) => `/a${pieces.join('')}`);
    fc.assert(
      fc.property(
        fc.array(group, { minLength: 1, maxLength: 4 }),
        fc.array(url, { minLength: 1, maxLength: 5 }),
        fc.constantFrom('\n', '\r\n', '\r'),
        (groups, urls, eol) => {
          const body = groups.flat().join(eol);
          const ours = parseRobots(bytesOf(body), 'FooBot');
          const theirs = robotsParser('http://a.example/robots.txt', body);
          assert.deepEqual(ours.sitemaps, [...new Set(theirs.getSitemaps())]);
          for (const pathQuery of urls) {
            const parsed = new URL(pathQuery, 'http://a.example');
            assert.equal(ours.isAllowed(parsed.pathname + parsed.search), theirs.isAllowed(parsed.href, 'FooBot'), pathQuery);
          }
        },
      ),
      { numRuns: 1_500 },
    );
  });

  it('a rule among thousands is found like one alone (R-D1)', () => {
    const lines = ['User-agent: *'];
    for (let index = 0; index < 5_000; index++) lines.push(`Disallow: /d${index}/`, `Allow: /d${index}/open/`);
    const rules = parseRobots(bytesOf(lines.join('\n')), 'FooBot');
    assert.equal(rules.ruleCount, 10_000);
    assert.deepEqual(rules.explain('/d4711/x'), { allowed: false, line: 9_424, rule: 'Disallow: /d4711/' });
    assert.deepEqual(rules.explain('/d4711/open/x'), { allowed: true, line: 9_425, rule: 'Allow: /d4711/open/' });
    assert.deepEqual(rules.explain('/d4711'), { allowed: true, line: 0, rule: '' });
  });
});

describe('bounded matching', () => {
  const evilPatterns = [
    `/${'*a'.repeat(500)}*b`,
    `/${'*'.repeat(5_000)}b$`,
    `/*${'a'.repeat(400)}b`,
    `/${`*${'a'.repeat(30)}`.repeat(20)}b$`,
    `/a${'*a*'.repeat(300)}$`,
    `${'*/'.repeat(400)}x`,
  ];

  it('one pattern goes over the path once: at most path length and pattern length together in steps (R-D1)', () => {
    const paths = [`/${'a'.repeat(2_000)}`, `/${'ab'.repeat(1_000)}`, '/'.repeat(2_000), '/'];
    for (const text of evilPatterns) {
      for (const url of paths) {
        const budget: StepBudget = { left: Number.MAX_SAFE_INTEGER };
        matchesPattern(compilePattern(text)!, url, budget);
        const steps = Number.MAX_SAFE_INTEGER - budget.left;
        assert.ok(steps > 0 && steps <= url.length + text.length + 1, `${steps} steps`);
      }
    }
  });

  it('a file full of the dearest patterns ends at the step bound: the path is refused, and explain says why (R-D1)', () => {
    const lines = ['User-agent: *'];
    for (let index = 0; index < 15_000; index++) lines.push(`Allow: /*${'a'.repeat(20)}${index.toString(36)}`);
    const rules = parseRobots(bytesOf(lines.join('\n')), 'FooBot');
    const dear = `/${'a'.repeat(2_000)}`;
    assert.ok(15_000 * 2_000 > CHECK_STEPS_MAX);
    assert.equal(rules.isAllowed(dear), false);
    assert.deepEqual(rules.explain(dear), { allowed: false, line: 0, rule: 'matching the patterns takes too many steps' });
    assert.equal(rules.isAllowed('/short'), true, 'a path after it has a budget of its own');
    assert.equal(rules.isAllowed('/robots.txt'), true);
  });
});

describe('normal form', () => {
  it('is US-ASCII, and the form of a form is itself (R-D1)', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.oneof(
            fc.constantFrom('%', '2', 'f', 'A', '*', '$', '[', "'", '/', '?'),
            fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
          ),
        }),
        (text) => {
          const form = normalForm(utf8Octets(text));
          assert.match(form, /^[!-~]*$/);
          assert.equal(normalForm(form), form);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('a URL as written and as a URL parser spells it have one form, in the path and in the query (R-D1)', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', ' ', '"', '<', '`', '{', '|', '}', '^', '[', ']', "'", 'é', '%27', '%5b', '%7e', '%', '$', '*', '(', ','),
    });
    fc.assert(
      fc.property(text, text, (inPath, inQuery) => {
        const written = `/x${inPath}?q${inQuery}z`;
        const url = new URL(written, 'http://a.example');
        assert.equal(pathForm(url.pathname + url.search), pathForm(written));
      }),
      { numRuns: 2_000 },
    );
  });

  it('an escaped separator is another path, an escaped star or dollar is the literal one (R-D1)', () => {
    const rules = parseRobots(bytesOf('User-agent: *\nDisallow: /a%2Fb\nDisallow: /c%3Fd\nDisallow: /e%2a\nDisallow: /f$g\n'), 'FooBot');
    const refused = ['/a%2fb', '/c%3fd', '/e*', '/e%2A', '/f$g', '/f%24g'];
    const open = ['/a/b', '/c?d', '/e', '/ex', '/f'];
    assert.deepEqual(
      [...refused, ...open].filter((url) => !rules.isAllowed(url)),
      refused,
    );
  });
});

describe('rules without a body', () => {
  it('no robots.txt allows all, an unreachable one allows nothing but itself and says so (R-D2)', () => {
    assert.deepEqual([allowAllRules().isAllowed('/x'), allowAllRules().explain('/x').allowed], [true, true]);
    const denied = denyAllRules();
    assert.deepEqual([denied.isAllowed('/'), denied.isAllowed('/x?y'), denied.isAllowed('/robots.txt')], [false, false, true]);
    assert.deepEqual(denied.explain('/x'), { allowed: false, line: 0, rule: 'robots.txt is unreachable' });
  });
});
